/*
 * bins.h
 *		Bins of values by their distance from a least one.
 *
 * Each small distance has a bin of its own.  Above them each doubling has 2^8 bins,
 * so a bin's width is at most 1/256 of its distance.  There are 14,592 bins for all
 * distances below 2^64.
 *
 * src/sketch/bins.h
 */
#ifndef QS_BINS_H
#define QS_BINS_H

#include "base/port.h"

#define QS_BINS_LOG2 8
#define QS_BINS_FINE (UINT32_C(1) << QS_BINS_LOG2)

QB_INLINE uint32_t
qs_bin_of(uint64_t distance)
{
	uint32_t shift;

	if (distance < 2 * QS_BINS_FINE)
		return (uint32_t) distance;
	shift = 63 - (uint32_t) __builtin_clzll(distance) - QS_BINS_LOG2;
	return (shift << QS_BINS_LOG2) + (uint32_t) (distance >> shift);
}

/* How many distances fall into the bin. */
QB_INLINE uint64_t
qs_bin_width(uint32_t bin)
{
	return bin < 2 * QS_BINS_FINE ? 1 : UINT64_C(1) << ((bin >> QS_BINS_LOG2) - 1);
}

/* The least distance that falls into the bin. */
QB_INLINE uint64_t
qs_bin_start(uint32_t bin)
{
	return bin < 2 * QS_BINS_FINE ? bin : (QS_BINS_FINE + bin % QS_BINS_FINE) * qs_bin_width(bin);
}

#endif
