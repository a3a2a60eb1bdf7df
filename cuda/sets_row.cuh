/*
 * sets_row.cuh
 *		What the parts of the kernel in sets_rows.cu share: a unit of its work.
 *
 * cuda/sets_row.cuh
 */
#ifndef QSET_SETS_ROW_CUH
#define QSET_SETS_ROW_CUH

#include "device.cuh"
#include "sets.cuh"

#define THREADS_MAX 1024
#define WARPS_MAX   (THREADS_MAX / 32)

/* Arguments of the kernel. */
struct task
{
	const uint64_t *row_offset, *column_offset;
	const uint32_t *row_element;
	const uint32_t *start, *end;
	const uint2 *rest;
	const void *list;
	uint32_t *strip;
	uint64_t strip_first, strip_width;
	uint32_t columns, block_columns, blocks;
	bool tail, same, lists, into_strip;
	qset_filter filter;
	qset_output out;
	uint32_t *next;
};

/* The unit that a block works on. */
struct unit
{
	uint32_t row;
	uint32_t from, to; /* the unit's columns */
	uint32_t first;    /* the column of the first counter */
	uint32_t size;     /* size of the row */
	uint32_t least;    /* smaller counts are not wanted */
	bool counted;      /* there are counters */
	uint32_t *strip;   /* the row's counts in the strip, or NULL */
};

/* The count of a column so far. */
__device__ __forceinline__ uint32_t
get_count(const uint32_t *counter, const unit &u, uint32_t column)
{
	uint32_t c = u.counted ? counter[column - u.first] : 0;

	return u.strip ? c + u.strip[column] : c;
}

#endif
