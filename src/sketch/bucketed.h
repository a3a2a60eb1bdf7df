/*
 * bucketed.h
 *		warp, half_warp and sub_warp: one bucket per key, counters by mask.
 *
 * src/sketch/bucketed.h
 */
#ifndef QS_BUCKETED_H
#define QS_BUCKETED_H

#include "sketch/sketch.h"

extern const qs_ops qs_bucketed_ops;

/* Indexes of the counters in a bucket that a mask selects, lowest first. */
QB_INLINE void
qs_bucket_cells(uint64_t first, uint32_t mask, uint64_t *cell)
{
	for (; mask != 0; mask &= mask - 1)
		*cell++ = first + (uint32_t) __builtin_ctz(mask);
}

#endif
