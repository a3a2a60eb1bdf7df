/*
 * compact_write.h
 *		Writes the compact encoding, and finds the blocks of a sketch that are not all zero.
 *
 * The tables of a sketch of few keys are mostly zeros, and reading these zeros takes most of the
 * time.  So there are fast loops for three tasks.  The first task finds the present blocks among 64
 * blocks.  The second task computes the bytes that these blocks take.  The third task writes blocks
 * whose counters are all below 128.  Fast loops exist for low buckets and for counters of 4 bytes.
 * compact_write.c measures and writes all other blocks one by one.
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
	uint64_t present;         /* number of blocks that are not all zero */
	uint64_t bytes;           /* bytes of the body */
	const uint64_t *presence; /* presence bitmap; NULL: all blocks are read */
} qs_compact_size;

/*
 * True if a dense sketch, whose tables take "dense" bytes in dense encoding, is to be written in
 * compact encoding.  In this case, sets size->present and size->bytes.  The caller has set
 * size->presence.
 */
extern bool qs_compact_fits(const qs_sketch *sk, uint64_t dense, qs_compact_size *size);

/* Writes the compact body.  qs_compact_fits() has set "size". */
extern void qs_compact_write(const qs_sketch *sk, const qs_compact_size *size, uint8_t *out);

/*
 * ---- writing the body of a compact sketch, block by block (compact.h has its layout) ----
 *
 * The size of groups depends on the number of present blocks, so the caller counts them before it
 * writes the first block.  The caller writes blocks in ascending order.
 */

/* Computes the number of absent blocks before each present block. */
typedef struct qs_gaps
{
	uint32_t shift; /* groups have 2^shift blocks */
	uint64_t free;  /* number of the block after the last present block */
} qs_gaps;

typedef struct qs_block_writer
{
	qs_gaps gaps;
	uint8_t *ends; /* ends of the groups' data */
	uint8_t *data;
	uint8_t *next;
	uint64_t group; /* number of the first group whose end is not yet written */
	uint64_t groups;
} qs_block_writer;

/*
 * Returns the number of absent blocks between the preceding present block, or the start of the
 * group, and "block".  "block" is then the preceding present block.
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

/* Starts the body for a table of "blocks" blocks.  "present" of these blocks will be written. */
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

/* Writes the gap before a block.  The caller then writes mask and counters to w->next. */
QB_INLINE void
qs_blocks_begin(qs_block_writer *w, uint64_t block)
{
	qs_blocks_end_groups(w, block >> w->gaps.shift);
	w->next = qs_put_varint(w->next, qs_gap_before(&w->gaps, block));
}

/* Finishes the body after the last block.  Returns the bytes of the body. */
static inline uint64_t
qs_blocks_end(qs_block_writer *w)
{
	qs_blocks_end_groups(w, w->groups);
	return (uint64_t) (w->next - w->ends);
}

/* ---- fast loops over blocks ---- */

/* Number of blocks that are processed together.  Each block has a bit in a word of 64 bits. */
#define QS_PRESENCE_BITS 64

/* A counter below QS_SHORT takes one byte.  In a short block, all counters are below QS_SHORT. */
#define QS_SHORT 128

/*
 * The maximum number of bytes that writing a short block (gap, mask and counters) changes.  The
 * last 8 bytes are beyond the block, and the next block overwrites them.
 */
#define QS_SHORT_BLOCK (10 + 4 + QS_MASK_BITS_MAX + 8)

typedef struct qs_block_kernels
{
	/*
	 * Return a bit for each block.  "count" is 1 to QS_PRESENCE_BITS.  present_low sets the bits of
	 * low buckets with a counter that is not zero.  have_index sets the bits of low buckets with a
	 * high index.  present_cells sets the bits of blocks that are not all zero.  A block of
	 * present_cells has 4 bytes or a multiple of 32 bytes.
	 */
	uint64_t (*present_low)(const uint8_t *low, uint64_t count);
	uint64_t (*have_index)(const uint8_t *low, uint64_t count);
	uint64_t (*present_cells)(const uint8_t *table, uint32_t bytes, uint64_t count);

	/*
	 * Return the bytes that the counters of a word's present blocks take.  measure_low is for low
	 * buckets.  measure_low skips buckets with a high index, and sets their bits in *apart.
	 * measure_cells is for blocks of 1, 8, 16 or 32 counters of 4 bytes.
	 */
	uint64_t (*measure_low)(const uint8_t *low, uint64_t present, uint64_t *apart);
	uint64_t (*measure_cells)(const uint8_t *table, uint32_t width, uint64_t present);

	/*
	 * Write the blocks whose bits are set in the word "bits", in ascending order.  Bit 0 stands for
	 * block "first".  The functions stop at the first block that is not short, or that might not
	 * end before "limit".  They return the bits of the blocks that were not written.  put_cells is
	 * for blocks of 8, 16 or 32 counters of 4 bytes.
	 */
	uint64_t (*put_low)(qs_block_writer *w, const uint8_t *limit, const uint8_t *low,
						uint64_t first, uint64_t bits);
	uint64_t (*put_cells)(qs_block_writer *w, const uint8_t *limit, const uint8_t *table,
						  uint32_t width, uint64_t first, uint64_t bits);
} qs_block_kernels;

/* Returns the fast loops in use, or NULL.  A member without a fast loop is NULL. */
extern const qs_block_kernels *(*qs_block_kernels_now)(void);

/* ---- which blocks are present, and how many bytes the counters of a low bucket take ---- */

#define QS_EVERY_BYTE(x) (UINT64_C(0x0101010101010101) * (x))

/* Returns the table whose counters make the blocks.  Not for multilevel. */
static inline const uint8_t *
qs_block_table(const qs_sketch *sk)
{
	return qs_has_extra(&sk->params) ? sk->extra : sk->table;
}

/*
 * Returns the bytes of a counter as a varint, or 0 if the counter is 0.  Has no branch for counters
 * of 4 bytes.
 */
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

/* Number of 8-byte words in a low bucket. */
#define QS_LOW_WORDS 4

/* Returns counters 8 * i to 8 * i + 7, with zeros instead of the high index. */
QB_INLINE uint64_t
qs_low_word(const uint8_t *low, uint32_t i)
{
	uint64_t word = qb_load64(low + 8 * i);

	return i == QS_LOW_WORDS - 1 ? word & UINT32_MAX : word;
}

/* Returns a word with the top bit set in each byte that is not zero, and all other bits clear. */
QB_INLINE uint64_t
qs_nonzero_bytes(uint64_t word)
{
	return (((word & QS_EVERY_BYTE(0x7F)) + QS_EVERY_BYTE(0x7F)) | word) & QS_EVERY_BYTE(0x80);
}

/* Returns the fast loops for the blocks of this sketch, or NULL. */
extern const qs_block_kernels *qs_blocks_fast(const qs_sketch *sk);

/* Returns the bytes that the counters of a low bucket take. */
extern uint32_t qs_bucket_bytes(const qs_sketch *sk, const uint8_t *low);

/*
 * Returns a bit for each block, from block "first" on.  The bit is set if the block is present.  A
 * block has "width" counters.  "count" is 1 to QS_PRESENCE_BITS.
 */
extern uint64_t
qs_blocks_present(const qs_sketch *sk, uint32_t width, uint64_t first, uint64_t count);

/*
 * ---- presence bitmap: updated when keys are added and removed ----
 *
 * A moving window writes a sketch again after every few keys.  With a presence bitmap, writing need
 * not read all tables each time.  The bitmap has one bit for each block, and QS_PRESENCE_BITS bits
 * in a word.  The bitmap is exact: when a block becomes all zero, its bit is cleared.
 */

/* Returns the number of words in a presence bitmap of a sketch with these parameters. */
extern uint64_t qs_presence_words(const qs_params *p);

/* Computes the bitmap of a dense sketch from its tables. */
extern void qs_presence_all(const qs_sketch *sk, uint64_t *presence);

/* Updates the bitmap after these keys were added or removed.  Takes a few steps for each key. */
extern void qs_presence_keys(const qs_sketch *sk, uint64_t *presence, const uint64_t *fingerprint,
							 size_t count);

#endif
