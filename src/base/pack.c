/*
 * pack.c
 *		Bytes most of which are zero, in fewer: the plain loops.
 *
 * src/base/pack.c
 */
#include "base/pack.h"

#define WORD QS_PACK_WORD

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

	while (run < QS_PACK_RUN && left > run * WORD &&
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

uint8_t *
qs_pack_words(const uint8_t *bytes, size_t count, uint8_t *out, const uint8_t *end)
{
	while (count > 0 && out <= end)
	{
		size_t words = zero_run(bytes, count);
		size_t taken;

		if (words > 0)
		{
			*out++ = 0;
			*out++ = (uint8_t) (words - 1);
		}
		else
		{
			out = put_word(load_word(bytes, count), out);
			words = 1;
		}
		taken = words * WORD < count ? words * WORD : count;
		bytes += taken;
		count -= taken;
	}
	return out;
}

size_t
qs_pack_plain(const uint8_t *bytes, uint32_t count, uint8_t *packed, size_t room)
{
	const uint8_t *end = packed + room;
	uint8_t *out = qs_pack_words(bytes, count, packed + QS_PACK_HEADER, end);

	qs_store32(packed, count);
	return out <= end ? (size_t) (out - packed) : 0;
}

bool
qs_unpacked_count(const uint8_t *packed, size_t length, uint32_t *count)
{
	if (length < QS_PACK_HEADER)
		return false;
	*count = qs_load32(packed);
	return *count <= (uint64_t) (length - QS_PACK_HEADER) / 2 * QS_PACK_RUN * WORD;
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
qs_unpack_words(const uint8_t *in, const uint8_t *end, uint8_t *bytes, size_t words)
{
	while (words > 0 && end - in >= 2)
	{
		unsigned set = *in++;
		size_t run = 1;

		if (set == 0)
		{
			run = (size_t) *in++ + 1;
			if (run > words)
				return false;
			memset(bytes, 0, run * WORD);
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
		bytes += run * WORD;
		words -= run;
	}
	return words == 0 && in == end;
}

bool
qs_unpack_plain(const uint8_t *packed, size_t length, uint8_t *bytes, uint32_t count)
{
	return qs_unpack_words(packed + QS_PACK_HEADER, packed + length, bytes,
						   ((size_t) count + WORD - 1) / WORD);
}
