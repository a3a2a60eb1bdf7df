/*
 * keynumeric.c
 *		Numerics and intervals as keys: their bytes, and the short ones as numbers.
 *
 * A numeric is read as it is stored.  PostgreSQL cannot change that, because tables of
 * earlier versions have it.
 *
 * src/pgbase/keynumeric.c
 */
#include "pgbase/keynumeric.h"

/* How PostgreSQL stores a numeric: a header of 2 bytes, or 4 with the weight, and digits. */
#define DIGIT_BYTES       2
#define HEADER_SPECIAL    0xC000
#define HEADER_SHORT      0x8000
#define HEADER_NEGATIVE   0x4000
#define SHORT_NEGATIVE    0x2000
#define SHORT_WEIGHT_SIGN 0x0040
#define SHORT_WEIGHT      0x003F
#define SHORT_WEIGHT_MIN  (-0x0040)

/* The most digits of a numeric that is a number, and bits of them. */
#define SHORT_DIGITS 4
#define DIGITS_BITS  54

/* Kinds of numerics; SPECIAL stands for NaN and the infinities. */
#define KIND_ZERO     0
#define KIND_POSITIVE 1
#define KIND_NEGATIVE 2
#define KIND_SPECIAL  3
#define KIND_BITS     2

/* Follows the digits, which are less. */
#define NO_DIGIT PG_UINT16_MAX

static inline uint16
digit_at(const char *data)
{
	uint16 digit;

	memcpy(&digit, data, sizeof(digit));
	return digit;
}

static inline void
put_head(KeyBytes *bytes, int32 rest, int32 kind)
{
	int32 head = rest * (1 << KIND_BITS) + kind;

	KeyBytesPut(bytes, &head, sizeof(head));
}

/* A numeric without zeros at either end. */
typedef struct Decimal
{
	bool special; /* NaN or an infinity, which "weight" is */
	bool negative;
	int32 weight;
	const char *digit; /* digits to base 10,000, the first one has the weight */
	const char *end;
} Decimal;

static inline Decimal
decimal_of(const char *data, Size length)
{
	uint16 header = digit_at(data);
	Decimal n = { .end = data + length, .digit = data + sizeof(header) };

	if ((header & HEADER_SPECIAL) == HEADER_SPECIAL)
		return (Decimal){ .special = true, .weight = header };
	if (header & HEADER_SHORT)
	{
		n.negative = header & SHORT_NEGATIVE;
		n.weight = (header & SHORT_WEIGHT) - (header & SHORT_WEIGHT_SIGN);
	}
	else
	{
		n.negative = header & HEADER_NEGATIVE;
		n.weight = (int16) digit_at(n.digit);
		n.digit += sizeof(header);
	}
	for (; n.digit < n.end && digit_at(n.digit) == 0; n.digit += DIGIT_BYTES)
		n.weight--;
	while (n.digit < n.end && digit_at(n.end - DIGIT_BYTES) == 0)
		n.end -= DIGIT_BYTES;
	return n;
}

void
KeyPutNumeric(KeyBytes *bytes, const char *data, Size length)
{
	const uint16 last = NO_DIGIT;
	Decimal n = decimal_of(data, length);

	if (n.special || n.digit >= n.end)
	{
		put_head(bytes, n.special ? n.weight : 0, n.special ? KIND_SPECIAL : KIND_ZERO);
		return;
	}
	put_head(bytes, n.weight, n.negative ? KIND_NEGATIVE : KIND_POSITIVE);
	for (; n.digit < n.end; n.digit += DIGIT_BYTES)
		KeyBytesPut(bytes, n.digit, DIGIT_BYTES);
	KeyBytesPut(bytes, &last, sizeof(last));
}

/*
 * The number that a numeric of at most four digits to base 10,000 is, in 62 bits: these
 * digits, the first one at the top, below 8 bits of weight and sign.  False: it has more.
 */
bool
KeyShortNumeric(const char *data, Size length, int64 *number)
{
	Decimal n = decimal_of(data, length);
	int64 digits = 0;
	int i;

	if (n.special || n.end - n.digit > SHORT_DIGITS * DIGIT_BYTES)
		return false;
	*number = 0;
	if (n.digit >= n.end)
		return true;
	if (n.weight < SHORT_WEIGHT_MIN || n.weight > SHORT_WEIGHT)
		return false;
	for (i = 0; i < SHORT_DIGITS; i++, n.digit += DIGIT_BYTES)
		digits = digits * 10000 + (n.digit < n.end ? digit_at(n.digit) : 0);
	*number = digits | (int64) (n.weight - SHORT_WEIGHT_MIN) << DIGITS_BITS |
			  (int64) n.negative << (DIGITS_BITS + 7);
	return true;
}

/* The microseconds of a day have so many bits; the days of an interval fit in 43. */
#define TIME_BITS 37

/* An interval of fewer days than this is a number of microseconds. */
#define SHORT_DAYS (PG_INT64_MAX / USECS_PER_DAY)

/* An interval, with months of 30 days, as days and less than a day of microseconds. */
static inline int64
days_of(const Interval *span, int64 *time)
{
	int64 days = (int64) span->month * DAYS_PER_MONTH + span->day + span->time / USECS_PER_DAY;

	*time = span->time % USECS_PER_DAY;
	if (*time < 0)
	{
		*time += USECS_PER_DAY;
		days--;
	}
	return days;
}

void
KeyPutInterval(KeyBytes *bytes, const Interval *span)
{
	int64 time;
	int64 days = days_of(span, &time);
	int16 high = (int16) (days >> (64 - TIME_BITS));

	KeyBytesPutNumber(bytes, time | (int64) ((uint64) days << TIME_BITS));
	KeyBytesPut(bytes, &high, sizeof(high));
}

bool
KeyShortInterval(const Interval *span, int64 *number)
{
	int64 time;
	int64 days = days_of(span, &time);

	*number = days * USECS_PER_DAY + time;
	return days > -SHORT_DAYS && days < SHORT_DAYS;
}
