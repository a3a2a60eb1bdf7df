/*
 * sets_techniques.cuh
 *		What the paper's techniques share: sets, hash tables of elements, cuts.
 *
 * cuda/sets_techniques.cuh
 */
#ifndef QSET_SETS_TECHNIQUES_CUH
#define QSET_SETS_TECHNIQUES_CUH

#include "device.cuh"
#include "sets.cuh"

#include "base/slot.h"

#define THREADS 256

#define NOTHING UINT32_MAX /* no element has this number */

struct pairs
{
	const uint64_t *row_offset, *column_offset;
	const uint32_t *row_element, *column_element;
	uint64_t first, rows, columns;
	bool tail;
	qset_filter filter;
	uint32_t *count;
	uint64_t width;
	uint32_t *table; /* hash, bitmap: a table for each block */
	uint64_t table_words;
	qb_secret secret;
};

struct set
{
	const uint32_t *element;
	uint64_t count;
};

__device__ __forceinline__ set
set_of(const uint64_t *offset, const uint32_t *element, uint64_t s)
{
	return { element + offset[s], offset[s + 1] - offset[s] };
}

/* Are both sets large enough to pass?  The count of any other pair stays 0. */
__device__ __forceinline__ bool
is_possible(const pairs &p, const set &a, const set &b, uint64_t least)
{
	return a.count > 0 && b.count > 0 && a.count >= least && b.count >= least;
}

__device__ __forceinline__ uint32_t
slot_of(const qb_secret &secret, uint32_t element, uint32_t mask)
{
	return (uint32_t) qb_slot_hash_by(&secret, element) & mask;
}

__device__ __forceinline__ void
put_slot(uint32_t *table, uint32_t mask, const qb_secret &secret, uint32_t element)
{
	uint32_t i = slot_of(secret, element, mask);

	while (atomicCAS(&table[i], NOTHING, element) != NOTHING)
		i = (i + 1) & mask;
}

__device__ __forceinline__ bool
find_slot(const uint32_t *table, uint32_t mask, const qb_secret &secret, uint32_t element)
{
	uint32_t i = slot_of(secret, element, mask);

	while (table[i] != NOTHING && table[i] != element)
		i = (i + 1) & mask;
	return table[i] == element;
}

/*
 * Find where a diagonal meets the merge path of a pair; of two equal elements
 * a's comes first.  A warp does it: 32 points are looked at together in each
 * round.
 */
__device__ __forceinline__ void
cut_by_warp(const set &a, const set &b, uint64_t diagonal, uint64_t *x, uint64_t *y)
{
	uint64_t low = diagonal > b.count ? diagonal - b.count : 0;
	uint64_t high = diagonal < a.count ? diagonal : a.count;

	while (low < high)
	{
		uint64_t step = (high - low + 31) / 32;
		uint64_t at = low + qs_lane() * step;
		bool before = at < high && a.element[at] <= b.element[diagonal - at - 1];
		uint32_t lanes = __popc(__ballot_sync(QS_ALL_LANES, before));

		/* high: the first index that is not before; low: the index behind the last that is */
		high = lanes < 32 && low + lanes * step < high ? low + lanes * step : high;
		low = lanes > 0 ? low + (lanes - 1) * step + 1 : low;
	}
	*x = low;
	*y = diagonal - low;
}

/* ---- sets_techniques.cu ---- */

/* Merge pairs; "largest" is the most elements that both sets of a pair can have together. */
extern qb_status qset_merge_pairs(qs_cuda *gpu, const pairs *t, uint64_t largest);

/* Make a table of each row; all columns probe it. */
extern qb_status qset_probe_rows(qs_cuda *gpu, const qset_pairwise *p, pairs *t);

#endif
