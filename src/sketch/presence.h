/*
 * presence.h
 *		Which blocks of a sketch hold something: fast loops, and a bitmap kept up to date.
 *
 * The tables of a sketch of few keys are mostly zeros, and most of the time goes into looking
 * at these.  There are three kinds of loops.  The first says which of 64 blocks hold something,
 * the second how many bytes these take, and the third writes blocks whose counters are all
 * below 128.  They are for low buckets, and for counters of 4 bytes.  Other tables, and blocks
 * that are rare, are measured and written one by one in compact_write.c.
 *
 * src/sketch/presence.h
 */
#ifndef QS_PRESENCE_H
#define QS_PRESENCE_H

#include "sketch/blocks.h"
#include "sketch/multilevel.h"

/* Blocks that are looked at together: a bit of a word for each. */
#define QS_PRESENCE_BITS 64

/* A counter below this takes one byte. */
#define QS_SHORT 128

/*
 * A loop that writes short blocks needs room for the longest one (its gap, its mask and its
 * counters), and for 8 bytes beyond its end, which the next block overwrites.
 */
#define QS_SHORT_BLOCK (10 + 4 + QS_MASK_BITS_MAX + 8)

typedef struct qs_block_kernels
{
	/*
	 * Which of 1 to QS_PRESENCE_BITS low buckets have counters that are not
	 * zero, and which have a high index?  Which blocks of 4 bytes, or of a
	 * multiple of 32, hold something?
	 */
	uint64_t (*present_low)(const uint8_t *low, uint64_t count);
	uint64_t (*have_index)(const uint8_t *low, uint64_t count);
	uint64_t (*present_cells)(const uint8_t *table, uint32_t bytes, uint64_t count);

	/*
	 * The bytes that the counters of a word's present blocks take: of low buckets, but those
	 * with a high index are left out and become bits of *apart; or of blocks of 1, 8, 16 or 32
	 * counters of 4 bytes.
	 */
	uint64_t (*measure_low)(const uint8_t *low, uint64_t present, uint64_t *apart);
	uint64_t (*measure_cells)(const uint8_t *table, uint32_t width, uint64_t present);

	/*
	 * Write blocks of a word, which begins at block "first", in their order: those whose bits
	 * are set, up to the first one that is not short, or that might not end before "limit".
	 * Returns the bits of the blocks not written.  Blocks of cells have 8, 16 or 32 counters.
	 */
	uint64_t (*put_low)(qs_block_writer *w, const uint8_t *limit, const uint8_t *low,
						uint64_t first, uint64_t bits);
	uint64_t (*put_cells)(qs_block_writer *w, const uint8_t *limit, const uint8_t *table,
						  uint32_t width, uint64_t first, uint64_t bits);
} qs_block_kernels;

/* The loops in use; NULL, and any member NULL: there is no fast loop. */
extern const qs_block_kernels *(*qs_block_kernels_now)(void);

/* ---- which blocks of tables hold something, and the bytes of a low bucket's counters ---- */

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

/*
 * ---- presence bitmap: kept up to date as keys come and go ----
 *
 * A sketch that is written again after every few keys, as a moving window does, need not have
 * all its tables looked at each time.  There is one bit for each block, QS_PRESENCE_BITS of them
 * to a word.  The bits are exact: a block that got all zero again has none.
 */

/* Words that the presence bitmap of a sketch with these parameters takes. */
extern uint64_t qs_presence_words(const qs_params *p);

/* Mark the blocks of a dense sketch, all of whose tables are looked at. */
extern void qs_presence_all(const qs_sketch *sk, uint64_t *presence);

/* Correct the bitmap after these keys were added or removed.  Takes some steps for each key. */
extern void qs_presence_keys(const qs_sketch *sk, uint64_t *presence, const uint64_t *fingerprint,
							 size_t count);

#endif
