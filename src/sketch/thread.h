/*
 * thread.h
 *		The thread sketch: Count-Min with d independent rows.
 *
 * src/sketch/thread.h
 */
#ifndef QS_THREAD_H
#define QS_THREAD_H

#include "sketch/sketch.h"

extern const qs_ops qs_thread_ops;

/* The second mix of hv that chooses the counter of row j. */
QB_INLINE uint64_t
qs_row_hash(uint64_t hv, uint32_t row)
{
	return qb_mix64(hv + QB_ROW_STEP * row);
}

/* Counter of row j, 0 .. n-1. */
QB_INLINE uint64_t
qs_row_cell(uint64_t hv, uint32_t row, uint64_t n)
{
	return qb_reduce(qs_row_hash(hv, row), n);
}

/* Which counters of the table hv owns: one in each row. */
QB_INLINE void
qs_thread_cells(const qs_sketch *sk, uint64_t hv, uint64_t *cell)
{
	uint64_t n = sk->params.n;
	uint32_t j;

	for (j = 0; j < sk->params.depth; j++)
		cell[j] = n * j + qs_row_cell(hv, j, n);
}

#endif
