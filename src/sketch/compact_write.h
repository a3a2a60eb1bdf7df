/*
 * compact_write.h
 *		Writing the compact encoding; which blocks of a sketch hold something: fast loops, and a
 *		bitmap kept up to date.
 *
 * The tables of a sketch of few keys are mostly zeros, and looking at the zeros takes most of the
 * time.  There are three kinds of fast loops.  The first kind finds which of 64 blocks hold
 * something.  The second counts the bytes that these blocks take.  The third writes blocks whose
 * counters are all below 128.  Fast loops exist for low buckets, and for counters of 4 bytes.
 * Blocks of other tables, and rare kinds of blocks, are measured and written one by one in
 * compact_write.c.
 *
 * src/sketch/compact_write.h
 */
#ifndef QS_COMPACT_WRITE_H
#define QS_COMPACT_WRITE_H

#include "sketch/compact.h"
#include "sketch/multilevel.h"

/* The size of a compact body. */
typedef struct qs_compact_size
{
	uint64_t present;         /* blocks that are not all zero */
	uint64_t bytes;           /* bytes of the body */
	const uint64_t *presence; /* presence bitmap (see below); NULL: look at all blocks */
} qs_compact_size;

/*
 * True if a dense sketch, whose tables will take "dense" bytes, is to be written in compact
 * encoding.  Then "size" is set to the size of its body.  The caller has set size->presence.
 */
extern bool qs_compact_fits(const qs_sketch *sk, uint64_t dense, qs_compact_size *size);

/* Write the body of this size. */
extern void qs_compact_write(const qs_sketch *sk, const qs_compact_size *size, uint8_t *out);

/*
 * ---- writing the body of a compact sketch, block by block (compact.h has its layout) ----
 *
 * The caller knows how many blocks are present before it writes the first one, since
 * the size of groups depends on that.  Blocks come in ascending order.
 */

/* Counts how many blocks are left out before each present block. */
typedef struct qs_gaps
{
	uint32_t shift; /* groups have 2^shift blocks */
	uint64_t free;  /* the block after the last present one */
} qs_gaps;

typedef struct qs_block_writer
{
	qs_gaps gaps;
	uint8_t *ends; /* ends of the groups' data */
	uint8_t *data;
	uint8_t *next;
	uint64_t group; /* the end is set for all groups before this one */
	uint64_t groups;
} qs_block_writer;

/*
 * The number of blocks left out between the last present block, or the start of the group, and
 * "block".
 */
QB_INLINE uint64_t
qs_gap_before(qs_gaps *gaps, uint64_t block)
{
	uint64_t first = block >> gaps->shift << gaps->shift;
	uint64_t gap = block - (gaps->free < first ? first : gaps->free);

	gaps->free = block + 1;
	return gap;
}

QB_INLINE uint8_t *
qs_put_varint(uint8_t *out, uint64_t v)
{
	for (; v > 0x7F; v >>= 7)
		*out++ = (uint8_t) (v | 0x80);
	*out++ = (uint8_t) v;
	return out;
}

/* Start the body of a table of "blocks" blocks, of which "present" will be written. */
static inline qs_block_writer
qs_blocks_start(uint64_t blocks, uint64_t present, uint8_t *out)
{
	qs_block_writer w = { .gaps.shift = qs_group_shift(blocks, present), .ends = out };

	w.groups = qb_group_count(blocks, w.gaps.shift);
	w.data = w.next = out + 4 * w.groups;
	return w;
}

QB_INLINE void
qs_blocks_end_groups(qs_block_writer *w, uint64_t before)
{
	for (; w->group < before; w->group++)
		qb_store32(w->ends + 4 * w->group, (uint32_t) (w->next - w->data));
}

/* Start a block: its mask and counters follow at "next". */
QB_INLINE void
qs_blocks_begin(qs_block_writer *w, uint64_t block)
{
	qs_blocks_end_groups(w, block >> w->gaps.shift);
	w->next = qs_put_varint(w->next, qs_gap_before(&w->gaps, block));
}

/* Call this after the last block.  Returns the bytes of the body. */
static inline uint64_t
qs_blocks_end(qs_block_writer *w)
{
	qs_blocks_end_groups(w, w->groups);
	return (uint64_t) (w->next - w->ends);
}

/* ---- fast loops over blocks ---- */

/* Number of blocks that are looked at together, with a bit of a word for each. */
#define QS_PRESENCE_BITS 64

/* A counter below this takes one byte. */
#define QS_SHORT 128

/*
 * The most bytes of a short block (gap, mask and counters).  A loop that writes short blocks also
 * needs room for 8 bytes beyond, which the next block overwrites.
 */
#define QS_SHORT_BLOCK (10 + 4 + QS_MASK_BITS_MAX + 8)

typedef struct qs_block_kernels
{
	/*
	 * For 1 to QS_PRESENCE_BITS blocks, a bit for each: low buckets with counters that are not
	 * zero; low buckets with a high index; blocks of 4 bytes, or of a multiple of 32, that are not
	 * all zero.
	 */
	uint64_t (*present_low)(const uint8_t *low, uint64_t count);
	uint64_t (*have_index)(const uint8_t *low, uint64_t count);
	uint64_t (*present_cells)(const uint8_t *table, uint32_t bytes, uint64_t count);

	/*
	 * The bytes that the counters of a word's present blocks take.  measure_low is for low buckets;
	 * it leaves out buckets with a high index, and sets their bits in *apart.  measure_cells is for
	 * blocks of 1, 8, 16 or 32 counters of 4 bytes.
	 */
	uint64_t (*measure_low)(const uint8_t *low, uint64_t present, uint64_t *apart);
	uint64_t (*measure_cells)(const uint8_t *table, uint32_t width, uint64_t present);

	/*
	 * Write the blocks of a word whose bits are set, in their order.  The word begins at block
	 * "first".  Stops at the first block that is not short, or that might not end before "limit".
	 * Returns the bits of the blocks that were not written.  Blocks of cells have 8, 16 or 32
	 * counters.
	 */
	uint64_t (*put_low)(qs_block_writer *w, const uint8_t *limit, const uint8_t *low,
						uint64_t first, uint64_t bits);
	uint64_t (*put_cells)(qs_block_writer *w, const uint8_t *limit, const uint8_t *table,
						  uint32_t width, uint64_t first, uint64_t bits);
} qs_block_kernels;

/* The fast loops in use.  NULL, also for a member, means that there is no fast loop. */
extern const qs_block_kernels *(*qs_block_kernels_now)(void);

/* ---- which blocks of tables hold something, and the bytes of a low bucket's counters ---- */

#define QS_EVERY_BYTE(x) (UINT64_C(0x0101010101010101) * (x))

/* The table with the counters of the blocks, if these are plain counters. */
static inline const uint8_t *
qs_block_table(const qs_sketch *sk)
{
	return qs_has_extra(&sk->params) ? sk->extra : sk->table;
}

/* The bytes of a counter as a varint; 0 for a counter of 0.  Counters of 4 bytes take no branch. */
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

/* The eight counters from 8 * i on, with zeros in place of the high index. */
QB_INLINE uint64_t
qs_low_word(const uint8_t *low, uint32_t i)
{
	uint64_t word = qb_load64(low + 8 * i);

	return i == QS_LOW_WORDS - 1 ? word & UINT32_MAX : word;
}

/* Sets the top bit of each byte of the word that is not zero, and clears all other bits. */
QB_INLINE uint64_t
qs_nonzero_bytes(uint64_t word)
{
	return (((word & QS_EVERY_BYTE(0x7F)) + QS_EVERY_BYTE(0x7F)) | word) & QS_EVERY_BYTE(0x80);
}

/* The fast loops for the blocks of this sketch; NULL: there are none. */
extern const qs_block_kernels *qs_blocks_fast(const qs_sketch *sk);

/* Bytes of the counters of a low bucket. */
extern uint32_t qs_bucket_bytes(const qs_sketch *sk, const uint8_t *low);

/* A bit for each of 1 to QS_PRESENCE_BITS blocks of "width" counters: is the block present? */
extern uint64_t
qs_blocks_present(const qs_sketch *sk, uint32_t width, uint64_t first, uint64_t count);

/*
 * ---- presence bitmap: kept up to date as keys come and go ----
 *
 * A moving window writes a sketch again after every few keys.  With a presence bitmap it need not
 * look at all tables each time.  The bitmap has one bit for each block, and QS_PRESENCE_BITS bits
 * in a word.  It is exact, because the bit of a block that becomes all zero again is cleared.
 */

/* Words that the presence bitmap of a sketch with these parameters takes. */
extern uint64_t qs_presence_words(const qs_params *p);

/* Make the bitmap of a dense sketch from all of its tables. */
extern void qs_presence_all(const qs_sketch *sk, uint64_t *presence);

/* Correct the bitmap after these keys were added or removed.  Takes a few steps for each key. */
extern void qs_presence_keys(const qs_sketch *sk, uint64_t *presence, const uint64_t *fingerprint,
							 size_t count);

#endif
