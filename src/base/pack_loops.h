/*
 * pack_loops.h
 *		Packing and unpacking word by word, with any instructions for a word.
 *
 * The functions for a word are constants where these are called, so they are
 * inlined.
 *
 * src/base/pack_loops.h
 */
#ifndef QS_PACK_LOOPS_H
#define QS_PACK_LOOPS_H

#include "base/pack.h"

#define QS_PACK_COUNT_BYTES 4
#define QS_PACK_WORD        8

/* Words that one run of zeros stands for at most. */
#define QS_PACK_LONGEST_RUN 256

/*
 * Write which bytes of a word are set, and these, and that no word of zeros follows
 * if it is one; 9 bytes at most.  Returns where that ends.
 */
typedef uint8_t *(*qs_put_word)(uint64_t word, uint8_t *out);

/*
 * A word of which these bytes are set, from the bytes that follow: as many, at
 * least, and "left" of them.  False: one of them is zero.
 */
typedef bool (*qs_get_word)(unsigned set, const uint8_t *in, size_t left, uint64_t *word);

QS_INLINE uint64_t
qs_pack_load(const uint8_t *bytes, size_t left)
{
	uint64_t word = 0;

	if (left >= QS_PACK_WORD)
		return qs_load64(bytes);
	memcpy(&word, bytes, left);
	return word;
}

/* How many words from here are nothing but zeros. */
QS_INLINE size_t
qs_pack_zero_run(const uint8_t *bytes, size_t left)
{
	size_t run = 0;

	while (run < QS_PACK_LONGEST_RUN && left > run * QS_PACK_WORD &&
		   qs_pack_load(bytes + run * QS_PACK_WORD, left - run * QS_PACK_WORD) == 0)
		run++;
	return run;
}

/* Are this word and the next one zeros? */
QS_INLINE bool
qs_pack_run_starts(uint64_t word, const uint8_t *bytes, size_t left)
{
	return left >= 2 * QS_PACK_WORD && (word | qs_load64(bytes + QS_PACK_WORD)) == 0;
}

/* See qs_pack_plain(). */
QS_INLINE size_t
qs_pack_by(const uint8_t *bytes, uint32_t count, uint8_t *packed, size_t room, qs_put_word put)
{
	uint8_t *out = packed + QS_PACK_COUNT_BYTES;
	const uint8_t *end = packed + room;
	size_t left = count;

	qs_store32(packed, count);
	while (left > 0 && out <= end)
	{
		uint64_t word = qs_pack_load(bytes, left);
		size_t words = 1;
		size_t taken;

		/* most single zeros come as if by chance, which no branch foretells */
		if (!qs_pack_run_starts(word, bytes, left))
			out = put(word, out);
		else
		{
			words = qs_pack_zero_run(bytes, left);
			*out++ = 0;
			*out++ = (uint8_t) (words - 1);
		}
		taken = words * QS_PACK_WORD < left ? words * QS_PACK_WORD : left;
		bytes += taken;
		left -= taken;
	}
	return out <= end ? (size_t) (out - packed) : 0;
}

/* See qs_unpack_plain(). */
QS_INLINE bool
qs_unpack_by(const uint8_t *packed, size_t length, uint8_t *bytes, uint32_t count, qs_get_word get)
{
	const uint8_t *in = packed + QS_PACK_COUNT_BYTES;
	const uint8_t *end = packed + length;
	size_t left = ((size_t) count + QS_PACK_WORD - 1) / QS_PACK_WORD;

	while (left > 0 && end - in >= 2)
	{
		unsigned set = *in++;
		size_t words = 1;

		if ((set == 0) & (*in > 0))
		{
			words = (size_t) *in++ + 1;
			if (words > left)
				return false;
			memset(bytes, 0, words * QS_PACK_WORD);
		}
		else
		{
			int set_bytes = __builtin_popcount(set);
			uint64_t word;

			if (end - in < set_bytes || !get(set, in, (size_t) (end - in), &word))
				return false;
			qs_store64(bytes, word);
			in += set_bytes + (set == 0);
		}
		bytes += words * QS_PACK_WORD;
		left -= words;
	}
	return left == 0 && in == end;
}

#endif
