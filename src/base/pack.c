/*
 * pack.c
 *		Bytes most of which are zero, in fewer.
 *
 * src/base/pack.c
 */
#include "base/pack.h"

#define COUNT_BYTES 4
#define WORD        8

/* Words that one run of zeros stands for at most. */
#define LONGEST_RUN 256

static inline uint64_t
load_word(const uint8_t *bytes, size_t left)
{
	uint64_t word = 0;

	if (left >= WORD)
		return qs_load64(bytes);
	memcpy(&word, bytes, left);
	return word;
}

/* The bits of those bytes of a word that are not zero. */
static inline unsigned
bytes_set(uint64_t word)
{
	const uint64_t low = UINT64_C(0x7F7F7F7F7F7F7F7F);
	uint64_t high = ((word & low) + low) | word;

	/* one bit for each byte, then all of them in the highest byte */
	return (
		unsigned) (((high >> 7 & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080)) >>
				   56);
}

/* How many words from here are nothing but zeros. */
static inline size_t
zero_run(const uint8_t *bytes, size_t left)
{
	size_t run = 0;

	while (run < LONGEST_RUN && left > run * WORD &&
		   load_word(bytes + run * WORD, left - run * WORD) == 0)
		run++;
	return run;
}

static inline uint8_t *
put_word(uint64_t word, uint8_t *out)
{
	unsigned set = bytes_set(word);

	*out++ = (uint8_t) set;
	for (; set != 0; set &= set - 1)
		*out++ = (uint8_t) (word >> (8 * __builtin_ctz(set)));
	return out;
}

size_t
qs_pack(const uint8_t *bytes, uint32_t count, uint8_t *packed, size_t room)
{
	uint8_t *out = packed + COUNT_BYTES;
	const uint8_t *end = packed + room;
	size_t left = count;

	qs_store32(packed, count);
	while (left > 0 && out <= end)
	{
		size_t words = zero_run(bytes, left);
		size_t taken;

		if (words > 0)
		{
			*out++ = 0;
			*out++ = (uint8_t) (words - 1);
		}
		else
		{
			out = put_word(load_word(bytes, left), out);
			words = 1;
		}
		taken = words * WORD < left ? words * WORD : left;
		bytes += taken;
		left -= taken;
	}
	return out <= end ? (size_t) (out - packed) : 0;
}

bool
qs_unpacked_count(const uint8_t *packed, size_t length, uint32_t *count)
{
	if (length < COUNT_BYTES)
		return false;
	*count = qs_load32(packed);
	return *count <= (uint64_t) (length - COUNT_BYTES) / 2 * LONGEST_RUN * WORD;
}

/* Bytes of a word, with these set.  As many as are set have been found to be there. */
static inline uint64_t
get_word(unsigned set, const uint8_t *in)
{
	uint64_t word = 0;

	for (; set != 0; set &= set - 1)
		word |= (uint64_t) *in++ << (8 * __builtin_ctz(set));
	return word;
}

bool
qs_unpack(const uint8_t *packed, size_t length, uint8_t *bytes, uint32_t count)
{
	const uint8_t *in = packed + COUNT_BYTES;
	const uint8_t *end = packed + length;
	size_t left = ((size_t) count + WORD - 1) / WORD;

	while (left > 0 && end - in >= 2)
	{
		unsigned set = *in++;
		size_t words = 1;

		if (set == 0)
		{
			words = (size_t) *in++ + 1;
			if (words > left)
				return false;
			memset(bytes, 0, words * WORD);
		}
		else
		{
			uint64_t word;

			if (end - in < __builtin_popcount(set))
				return false;
			word = get_word(set, in);
			if (bytes_set(word) != set)
				return false;
			qs_store64(bytes, word);
			in += __builtin_popcount(set);
		}
		bytes += words * WORD;
		left -= words;
	}
	return left == 0 && in == end;
}
