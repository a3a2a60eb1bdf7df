/*
 * block_kernels.h
 *		Fast loops over the blocks of tables, for measuring and writing the compact encoding.
 *
 * The tables of a sketch of few keys are mostly zeros, and most of the time goes into looking
 * at these.  There are three kinds of loops.  The first says which blocks of a block of 64 hold
 * something, the second how many bytes these take, and the third writes blocks whose counters
 * are all below 128.  They are for low buckets, and for counters of 4 bytes.  Other tables, and
 * blocks that are rare, are measured and written one by one in compact_write.c.
 *
 * src/sketch/block_kernels.h
 */
#ifndef QS_BLOCK_KERNELS_H
#define QS_BLOCK_KERNELS_H

#include "sketch/block_writer.h"

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
	 * Which of 1 to QS_PRESENCE_BITS low buckets have counters that are not zero, and which have a high
	 * index?  Which blocks of 4 bytes, or of a multiple of 32, hold something?
	 */
	uint64_t (*present_low)(const uint8_t *low, uint64_t count);
	uint64_t (*have_index)(const uint8_t *low, uint64_t count);
	uint64_t (*present_cells)(const uint8_t *table, uint32_t bytes, uint64_t count);

	/*
	 * The bytes that the counters of a block's present blocks take: of low buckets, but those
	 * with a high index are left out and become bits of *apart; or of blocks of 1, 8, 16 or 32
	 * counters of 4 bytes.
	 */
	uint64_t (*measure_low)(const uint8_t *low, uint64_t present, uint64_t *apart);
	uint64_t (*measure_cells)(const uint8_t *table, uint32_t width, uint64_t present);

	/*
	 * Write blocks of a block, which begins at block "first", in their order: those whose bits
	 * are set, up to the first one that is not short, or that might not end before "limit".
	 * Returns the bits of the blocks not written.  Blocks of cells have 8, 16 or 32 counters.
	 */
	uint64_t (*put_low)(qs_block_writer *w, const uint8_t *limit, const uint8_t *low, uint64_t first,
						uint64_t bits);
	uint64_t (*put_cells)(qs_block_writer *w, const uint8_t *limit, const uint8_t *table,
						  uint32_t width, uint64_t first, uint64_t bits);
} qs_block_kernels;

/* The loops in use; NULL, and any member NULL: there is no fast loop. */
extern const qs_block_kernels *(*qs_block_kernels_now)(void);

#endif
