/*
 * block_present.h
 *		Which blocks of tables hold something, and the bytes of a low bucket's counters.
 *
 * src/sketch/block_present.h
 */
#ifndef QS_BLOCK_PRESENT_H
#define QS_BLOCK_PRESENT_H

#include "sketch/multilevel_buckets.h"
#include "sketch/block_kernels.h"

#define QS_EVERY_BYTE(x) (UINT64_C(0x0101010101010101) * (x))

/* The table that has the blocks' counters, if they are plain counters. */
static inline const uint8_t *
qs_block_table(const qs_sketch *sk)
{
	return qs_has_extra(&sk->params) ? sk->extra : sk->table;
}

/* The bytes of a counter; zero takes none.  Counters of 4 bytes take no branch. */
QB_INLINE uint32_t
qs_counter_bytes(uint64_t v, bool wide)
{
	uint32_t bytes = (v != 0) + (v >> 7 != 0) + (v >> 14 != 0) + (v >> 21 != 0) + (v >> 28 != 0);
	uint64_t rest;

	if (wide)
		for (rest = v >> 35; rest != 0; rest >>= 7)
			bytes++;
	return bytes;
}

/* Words of the counters in a low bucket. */
#define QS_LOW_WORDS 4

/* The counters from 8 * i on, and zeros in place of the high index. */
QB_INLINE uint64_t
qs_low_word(const uint8_t *low, uint32_t i)
{
	uint64_t word = qb_load64(low + 8 * i);

	return i == QS_LOW_WORDS - 1 ? word & UINT32_MAX : word;
}

/* Which bytes of a word are not zero?  The top bit of each says so. */
QB_INLINE uint64_t
qs_nonzero_bytes(uint64_t word)
{
	return (((word & QS_EVERY_BYTE(0x7F)) + QS_EVERY_BYTE(0x7F)) | word) & QS_EVERY_BYTE(0x80);
}

/* The fast loops that look at the blocks of this sketch; NULL: there are none. */
extern const qs_block_kernels *qs_blocks_fast(const qs_sketch *sk);

/* Bytes of the counters of a low bucket. */
extern uint32_t qs_bucket_bytes(const qs_sketch *sk, const uint8_t *low);

/* A bit for each of 1 to QS_PRESENCE_BITS blocks, of "width" counters, that is present. */
extern uint64_t
qs_blocks_present(const qs_sketch *sk, uint32_t width, uint64_t first, uint64_t count);

#endif
