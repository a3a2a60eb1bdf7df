/*
 * base64.c
 *		Base64: plain loops, and loops with the instructions that isa.h chooses.
 *
 * Padding stands only at the end, and its length must be exact.  The last character
 * may have bits beyond the last byte; these bits are ignored.
 *
 * The AVX2 loops turn 24 bytes into 32 characters at a time: each of a register's
 * two lanes takes 12 bytes and 16 characters.  The plain loops do the rest: what
 * does not fill a register, and text with padding or with a character that is not
 * base64.
 *
 * The NEON loops turn 48 bytes into 64 characters at a time.  One load puts every third
 * byte, or every fourth character, into the same register.  One instruction looks 16 bytes
 * up in a table of 64, so the tables are those of the plain loops.  With GCC 12 it takes 17
 * instructions to write 64 characters and 44 to read them.  The plain loops take 368 and 848.
 * The speed was not measured on an ARM processor.
 *
 * src/base/base64.c
 */
#include "base/base64.h"

#include "base/isa.h"

/* FAST: the least isa for which encode_fast() and decode_fast() are. */
#ifdef __x86_64__
#include <immintrin.h>
#define FAST QB_ISA_AVX2
#elif defined(__aarch64__)
#include "base/neon.h"
#define FAST QB_ISA_NEON
#endif

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/*
 * The value of each character, from '+' on.  NONE, the high bit, marks a character
 * that is not base64.
 */
#define NONE 0x80

static const uint8_t values['z' - '+' + 1] = {
	62,   NONE, NONE, NONE, 63,   52,   53, 54, 55, 56, 57, 58, 59, 60, 61, NONE,
	NONE, NONE, NONE, NONE, NONE, NONE, 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
	10,   11,   12,   13,   14,   15,   16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
	NONE, NONE, NONE, NONE, NONE, NONE, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,
	36,   37,   38,   39,   40,   41,   42, 43, 44, 45, 46, 47, 48, 49, 50, 51,
};

static inline uint32_t
value_of(char c)
{
	uint8_t place = (uint8_t) (c - '+');

	return place < sizeof(values) ? values[place] : NONE;
}

/* Four characters as 24 bits; the highest byte has NONE if one of them is not base64. */
static inline uint32_t
quad(const char *text)
{
	uint32_t a = value_of(text[0]);
	uint32_t b = value_of(text[1]);
	uint32_t c = value_of(text[2]);
	uint32_t d = value_of(text[3]);

	return (a | b | c | d) & NONE ? (uint32_t) NONE << 24 : a << 18 | b << 12 | c << 6 | d;
}

static inline void
put_quad(uint32_t bits, char *text)
{
	text[0] = digits[bits >> 18 & 63];
	text[1] = digits[bits >> 12 & 63];
	text[2] = digits[bits >> 6 & 63];
	text[3] = digits[bits & 63];
}

void
qb_base64_encode_plain(const uint8_t *bytes, size_t count, char *text)
{
	for (; count >= 3; count -= 3, bytes += 3, text += 4)
		put_quad((uint32_t) bytes[0] << 16 | (uint32_t) bytes[1] << 8 | bytes[2], text);
	if (count == 0)
		return;
	put_quad((uint32_t) bytes[0] << 16 | (count == 2 ? (uint32_t) bytes[1] << 8 : 0), text);
	text[3] = '=';
	if (count == 1)
		text[2] = '=';
}

/* The last four characters, of which some may be padding. */
static bool
decode_last(const char *text, uint8_t *bytes, size_t *count)
{
	size_t padding = text[3] != '=' ? 0 : text[2] != '=' ? 1 : 2;
	char full[4] = { text[0], text[1], padding == 2 ? 'A' : text[2], padding >= 1 ? 'A' : text[3] };
	uint32_t bits = quad(full);

	if (bits >> 24)
		return false;
	bytes[0] = (uint8_t) (bits >> 16);
	if (padding < 2)
		bytes[1] = (uint8_t) (bits >> 8);
	if (padding < 1)
		bytes[2] = (uint8_t) bits;
	*count += 3 - padding;
	return true;
}

bool
qb_base64_decode_plain(const char *text, size_t length, uint8_t *bytes, size_t *count)
{
	*count = 0;
	if (length % 4 != 0)
		return false;
	for (; length > 4; length -= 4, text += 4, bytes += 3)
	{
		uint32_t bits = quad(text);

		if (bits >> 24)
			return false;
		bytes[0] = (uint8_t) (bits >> 16);
		bytes[1] = (uint8_t) (bits >> 8);
		bytes[2] = (uint8_t) bits;
		*count += 3;
	}
	return length == 0 || decode_last(text, bytes, count);
}

#ifdef __x86_64__

#define AVX2 __attribute__((target("avx2")))

#define BYTES 24
#define CHARS 32

/*
 * A lane uses twelve bytes, but sixteen are read or written.  The second lane ends
 * four bytes later.
 */
#define BYTES_TOUCHED 28

/* 24 bytes to 32 values of 6 bits: three bytes spread over the four bytes of a 32-bit lane. */
AVX2 static inline __m256i
split_avx2(const uint8_t *bytes)
{
	const __m256i doubled = _mm256_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10, 1,
											 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10);
	__m256i lanes =
		_mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const void *) bytes)),
								_mm_loadu_si128((const void *) (bytes + 12)), 1);
	__m256i x = _mm256_shuffle_epi8(lanes, doubled);

	/* each 16-bit half now has bytes 0 and 1, or bytes 1 and 2; a product shifts each half */
	__m256i even = _mm256_mulhi_epu16(_mm256_and_si256(x, _mm256_set1_epi32(0x0fc0fc00)),
									  _mm256_set1_epi32(0x04000040));
	__m256i odd = _mm256_mullo_epi16(_mm256_and_si256(x, _mm256_set1_epi32(0x003f03f0)),
									 _mm256_set1_epi32(0x01000010));

	return _mm256_or_si256(even, odd);
}

/* Values to characters: a character is its value plus a constant of its range. */
AVX2 static inline __m256i
digits_avx2(__m256i value)
{
	/* ranges: 0 small letters, 1 to 10 digits, 11 plus, 12 slash, 13 capitals */
	const __m256i added =
		_mm256_setr_epi8('a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
						 '0' - 52, '0' - 52, '0' - 52, '0' - 52, '+' - 62, '/' - 63, 'A', 0, 0,
						 'a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
						 '0' - 52, '0' - 52, '0' - 52, '0' - 52, '+' - 62, '/' - 63, 'A', 0, 0);
	__m256i capital = _mm256_cmpgt_epi8(_mm256_set1_epi8(26), value);
	__m256i range = _mm256_or_si256(_mm256_subs_epu8(value, _mm256_set1_epi8(51)),
									_mm256_and_si256(capital, _mm256_set1_epi8(13)));

	return _mm256_add_epi8(value, _mm256_shuffle_epi8(added, range));
}

AVX2 static void
encode_fast(const uint8_t *bytes, size_t count, char *text)
{
	for (; count >= BYTES_TOUCHED; count -= BYTES, bytes += BYTES, text += CHARS)
		_mm256_storeu_si256((void *) text, digits_avx2(split_avx2(bytes)));
	qb_base64_encode_plain(bytes, count, text);
}

/* What turns the characters of a range into values; zero for all other characters. */
AVX2 static inline __m256i
in_range(__m256i c, char first, char last, int value_of_first)
{
	__m256i inside = _mm256_and_si256(_mm256_cmpgt_epi8(c, _mm256_set1_epi8((char) (first - 1))),
									  _mm256_cmpgt_epi8(_mm256_set1_epi8((char) (last + 1)), c));

	return _mm256_and_si256(inside, _mm256_set1_epi8((char) (value_of_first - first)));
}

/*
 * 32 characters to values; false if one is not base64.  No range adds zero, so zero
 * marks such a one.
 */
AVX2 static inline bool
values_avx2(const char *text, __m256i *value)
{
	__m256i c = _mm256_loadu_si256((const void *) text);
	__m256i letters = _mm256_or_si256(in_range(c, 'A', 'Z', 0), in_range(c, 'a', 'z', 26));
	__m256i others =
		_mm256_or_si256(_mm256_or_si256(in_range(c, '0', '9', 52), in_range(c, '+', '+', 62)),
						in_range(c, '/', '/', 63));
	__m256i added = _mm256_or_si256(letters, others);

	*value = _mm256_add_epi8(c, added);
	return _mm256_movemask_epi8(_mm256_cmpeq_epi8(added, _mm256_setzero_si256())) == 0;
}

/* 32 values to 24 bytes.  Writes 28 bytes. */
AVX2 static inline void
join_avx2(__m256i value, uint8_t *bytes)
{
	const __m256i order = _mm256_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1,
										   2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1);
	__m256i pairs = _mm256_maddubs_epi16(value, _mm256_set1_epi32(0x01400140));
	__m256i quads = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00011000));
	__m256i packed = _mm256_shuffle_epi8(quads, order);

	_mm_storeu_si128((void *) bytes, _mm256_castsi256_si128(packed));
	_mm_storeu_si128((void *) (bytes + 12), _mm256_extracti128_si256(packed, 1));
}

AVX2 static bool
decode_fast(const char *text, size_t length, uint8_t *bytes, size_t *count)
{
	size_t done = 0;
	__m256i value;

	/* join_avx2() writes a few bytes more, which the next ones overwrite: there must be room */
	while (qb_base64_bytes(length) >= BYTES_TOUCHED && values_avx2(text, &value))
	{
		join_avx2(value, bytes + done);
		done += BYTES;
		text += CHARS;
		length -= CHARS;
	}
	if (!qb_base64_decode_plain(text, length, bytes + done, count))
		return false;
	*count += done;
	return true;
}

#elif defined(__aarch64__)

#define BYTES 48
#define CHARS 64

static void
encode_fast(const uint8_t *bytes, size_t count, char *text)
{
	const uint8x16x4_t table = vld1q_u8_x4((const uint8_t *) digits);
	const uint8x16_t low = vdupq_n_u8(63);

	for (; count >= BYTES; count -= BYTES, bytes += BYTES, text += CHARS)
	{
		uint8x16x3_t x = vld3q_u8(bytes);
		uint8x16_t second = vsriq_n_u8(vshlq_n_u8(x.val[0], 4), x.val[1], 4);
		uint8x16_t third = vsriq_n_u8(vshlq_n_u8(x.val[1], 2), x.val[2], 6);
		uint8x16x4_t out;

		out.val[0] = vqtbl4q_u8(table, vshrq_n_u8(x.val[0], 2));
		out.val[1] = vqtbl4q_u8(table, vandq_u8(second, low));
		out.val[2] = vqtbl4q_u8(table, vandq_u8(third, low));
		out.val[3] = vqtbl4q_u8(table, vandq_u8(x.val[2], low));
		vst4q_u8((uint8_t *) text, out);
	}
	qb_base64_encode_plain(bytes, count, text);
}

/* A lookup leaves NONE where the index is beyond its part of the table. */
static inline uint8x16_t
values_neon(uint8x16_t c)
{
	uint8x16_t place = vsubq_u8(c, vdupq_n_u8('+'));
	uint8x16_t value = vqtbx4q_u8(vdupq_n_u8(NONE), vld1q_u8_x4(values), place);

	return vqtbx1q_u8(value, vld1q_u8(values + 64), vsubq_u8(place, vdupq_n_u8(64)));
}

static bool
decode_fast(const char *text, size_t length, uint8_t *bytes, size_t *count)
{
	size_t done = 0;

	for (; length >= CHARS; length -= CHARS, text += CHARS, done += BYTES)
	{
		uint8x16x4_t c = vld4q_u8((const uint8_t *) text);
		uint8x16_t a = values_neon(c.val[0]);
		uint8x16_t b = values_neon(c.val[1]);
		uint8x16_t d = values_neon(c.val[2]);
		uint8x16_t e = values_neon(c.val[3]);
		uint8x16x3_t out;

		if (vmaxvq_u8(vorrq_u8(vorrq_u8(a, b), vorrq_u8(d, e))) >= NONE)
			break;
		out.val[0] = vsliq_n_u8(vshrq_n_u8(b, 4), a, 2);
		out.val[1] = vsliq_n_u8(vshrq_n_u8(d, 2), b, 4);
		out.val[2] = vsliq_n_u8(e, d, 6);
		vst3q_u8(bytes + done, out);
	}
	if (!qb_base64_decode_plain(text, length, bytes + done, count))
		return false;
	*count += done;
	return true;
}

#endif

void
qb_base64_encode(const uint8_t *bytes, size_t count, char *text)
{
#ifdef FAST
	if (qb_isa_now() >= FAST)
	{
		encode_fast(bytes, count, text);
		return;
	}
#endif
	qb_base64_encode_plain(bytes, count, text);
}

bool
qb_base64_decode(const char *text, size_t length, uint8_t *bytes, size_t *count)
{
#ifdef FAST
	if (qb_isa_now() >= FAST)
		return decode_fast(text, length, bytes, count);
#endif
	return qb_base64_decode_plain(text, length, bytes, count);
}
