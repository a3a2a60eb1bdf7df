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
QS_INLINE uint64_t
qs_row_hash(uint64_t hv, uint32_t row)
{
	return qs_mix64(hv + QS_ROW_STEP * row);
}

/* Counter of row j, 0 .. n-1. */
QS_INLINE uint64_t
qs_row_cell(uint64_t hv, uint32_t row, uint64_t n)
{
	return qs_reduce(qs_row_hash(hv, row), n);
}

#endif
