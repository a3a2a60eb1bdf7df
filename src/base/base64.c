/*
 * base64.c
 *		Base64: the plain loops.
 *
 * Padding stands at the end only, and there must be just as much as it takes.
 * Bits that the last character has beyond the last byte do not matter.
 *
 * src/base/base64.c
 */
#include "base/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of each character, from '+' on; what is none has its high bit set. */
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

/* Four characters as 24 bits, or a number with NONE in its highest byte. */
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
qs_base64_encode_plain(const uint8_t *bytes, size_t count, char *text)
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
qs_base64_decode_plain(const char *text, size_t length, uint8_t *bytes, size_t *count)
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
