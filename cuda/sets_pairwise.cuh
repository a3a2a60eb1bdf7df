/*
 * sets_pairwise.cuh
 *		What counting pair by pair shares: sets, and hash tables of elements.
 *
 * cuda/sets_pairwise.cuh
 */
#ifndef QI_SETS_PAIRWISE_CUH
#define QI_SETS_PAIRWISE_CUH

#include "kernels.cuh"
#include "sets.cuh"

#define THREADS 256

#define NOTHING UINT32_MAX /* no element has this number */

struct pairs
{
	const uint64_t *row_offset, *column_offset;
	const uint32_t *row_element, *column_element;
	uint64_t first, rows, columns;
	bool tail;
	qi_filter filter;
	uint32_t *count;
	uint64_t width;
	uint32_t *table; /* hash, bitmap: of each block */
	uint64_t table_words;
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

/* Are both sets large enough?  What is not counted stays 0. */
__device__ __forceinline__ bool
is_possible(const pairs &p, const set &a, const set &b, uint64_t least)
{
	return a.count > 0 && b.count > 0 && a.count >= least && b.count >= least;
}

__device__ __forceinline__ uint32_t
slot_of(uint32_t element, uint32_t mask)
{
	return (element * 0x9E3779B1u >> 7) & mask;
}

__device__ __forceinline__ void
put_slot(uint32_t *table, uint32_t mask, uint32_t element)
{
	uint32_t i = slot_of(element, mask);

	while (atomicCAS(&table[i], NOTHING, element) != NOTHING)
		i = (i + 1) & mask;
}

__device__ __forceinline__ bool
find_slot(const uint32_t *table, uint32_t mask, uint32_t element)
{
	uint32_t i = slot_of(element, mask);

	while (table[i] != NOTHING && table[i] != element)
		i = (i + 1) & mask;
	return table[i] == element;
}

/* ---- sets_probe.cu ---- */

/* A table of each row, which all columns probe. */
extern qs_status qi_probe_rows(qs_cuda *gpu, const qi_pairwise *p, pairs *t);

#endif
