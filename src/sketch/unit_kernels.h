/*
 * unit_kernels.h
 *		Fast loops over the units of tables, for measuring and writing the compact form.
 *
 * The tables of a sketch of few keys are mostly zeros, and most of the time goes into looking
 * at these.  There are three kinds of loops.  The first says which units of a block of 64 hold
 * something, the second how many bytes these take, and the third writes units whose counters
 * are all below 128.  They are for low buckets, and for counters of 4 bytes.  Other tables, and
 * units that are rare, are measured and written one by one in compact_write.c.
 *
 * src/sketch/unit_kernels.h
 */
#ifndef QS_UNIT_KERNELS_H
#define QS_UNIT_KERNELS_H

#include "sketch/unit_writer.h"

/* Units that are looked at together: a bit of a word for each. */
#define QS_BLOCK 64

/* A counter below this takes one byte. */
#define QS_SHORT 128

/*
 * A loop that writes short units needs room for the longest one (its gap, its mask and its
 * counters), and for 8 bytes beyond its end, which the next unit overwrites.
 */
#define QS_SHORT_UNIT (10 + 4 + QS_MASK_BITS_MAX + 8)

typedef struct qs_unit_kernels
{
	/*
	 * Which of 1 to QS_BLOCK low buckets have counters that are not zero, and which have a high
	 * index?  Which units of 4 bytes, or of a multiple of 32, hold something?
	 */
	uint64_t (*present_low)(const uint8_t *low, uint64_t count);
	uint64_t (*have_index)(const uint8_t *low, uint64_t count);
	uint64_t (*present_cells)(const uint8_t *table, uint32_t bytes, uint64_t count);

	/*
	 * The bytes that the counters of a block's present units take: of low buckets, but those
	 * with a high index are left out and become bits of *apart; or of units of 1, 8, 16 or 32
	 * counters of 4 bytes.
	 */
	uint64_t (*measure_low)(const uint8_t *low, uint64_t present, uint64_t *apart);
	uint64_t (*measure_cells)(const uint8_t *table, uint32_t width, uint64_t present);

	/*
	 * Write units of a block, which begins at unit "first", in their order: those whose bits
	 * are set, up to the first one that is not short, or that might not end before "limit".
	 * Returns the bits of the units not written.  Units of cells have 8, 16 or 32 counters.
	 */
	uint64_t (*put_low)(qs_unit_writer *w, const uint8_t *limit, const uint8_t *low, uint64_t first,
						uint64_t bits);
	uint64_t (*put_cells)(qs_unit_writer *w, const uint8_t *limit, const uint8_t *table,
						  uint32_t width, uint64_t first, uint64_t bits);
} qs_unit_kernels;

/* The loops in use; NULL, and any member NULL: there is no fast loop. */
extern const qs_unit_kernels *(*qs_unit_kernels_now)(void);

#endif
