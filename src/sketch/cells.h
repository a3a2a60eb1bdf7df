/*
 * cells.h
 *		Loops and table arithmetic of structures with plain counters.
 *
 * In every structure but multilevel, a key owns d counters of a table.  Each structure has a
 * function that locates these counters (qs_locate), and shares the loops of this file.  Callers
 * pass this function as a constant, and some callers also pass a constant as "wide".  So the
 * compiler makes a specialized loop for each caller.
 *
 * This file also declares the arithmetic on whole tables: adding, widening, writing and checking.
 *
 * src/sketch/cells.h
 */
#ifndef QS_CELLS_H
#define QS_CELLS_H

#include "sketch/structure.h"

/* Writes to "cell" the indexes of the d counters that hv owns. */
typedef void (*qs_locate)(const qs_sketch *sk, uint64_t hv, uint64_t *cell);

/* A table of counters, and the function that locates a key's counters. */
typedef struct qs_cells
{
	uint8_t *table;
	bool wide;
	bool together;  /* a key's counters are in one bucket, which is prefetched as a whole */
	uint32_t width; /* counters of a bucket; 0: there are no buckets */
	qs_locate locate;
} qs_cells;

/*
 * Sum and maximum of a bucket's counters.  If each key owns d counters, the sum is d times the
 * weight of the bucket's keys, and no counter exceeds this weight.  Removing a key that was never
 * added can break this rule although no counter becomes negative.  As a result a counter could
 * exceed N, and be too large for its width.  Further removals never repair the rule, so one check
 * after all removals finds every violation.
 */
typedef struct qs_tally
{
	unsigned __int128 sum;
	uint64_t most;
} qs_tally;

QB_INLINE void
qs_tally_add(qs_tally *tally, uint64_t counter)
{
	tally->sum += counter;
	if (counter > tally->most)
		tally->most = counter;
}

/* True if no counter exceeds the weight that follows from the sum. */
QB_INLINE bool
qs_tally_fits(const qs_tally *tally, uint32_t per_key)
{
	return (unsigned __int128) tally->most * per_key <= tally->sum;
}

/* Prefetches the bucket of hv. */
QB_INLINE void
qs_bucket_fetch(const qs_sketch *sk, qs_cells in, uint64_t hv)
{
	uint32_t bytes = in.width * (in.wide ? 8 : 4);
	const uint8_t *bucket = in.table + qb_reduce(hv, sk->params.n) * bytes;
	uint32_t offset;

	for (offset = 0; offset < bytes; offset += QB_CACHE_LINE)
		__builtin_prefetch(bucket + offset, 1);
}

/* Prefetches the counters of a later key. */
QB_INLINE void
qs_cells_fetch(const qs_sketch *sk, qs_cells in, uint64_t hv)
{
	uint64_t cell[QS_DEPTH_MAX];
	uint32_t j;

	if (in.together)
	{
		qs_bucket_fetch(sk, in, hv);
		return;
	}
	in.locate(sk, hv, cell);
	for (j = 0; j < sk->params.depth; j++)
		__builtin_prefetch(in.table + cell[j] * (in.wide ? 8 : 4), 1);
}

QB_INLINE void
qs_cells_add(qs_sketch *sk, qs_cells in, const uint64_t *hv, const int64_t *weight, size_t count)
{
	uint32_t d = sk->params.depth;
	uint64_t cell[QS_DEPTH_MAX];
	size_t i;

	for (i = 0; i < count; i++)
	{
		uint64_t w = weight ? (uint64_t) weight[i] : 1;
		uint32_t j;

		if (i + QS_PREFETCH_AHEAD < count)
			qs_cells_fetch(sk, in, hv[i + QS_PREFETCH_AHEAD]);
		in.locate(sk, hv[i], cell);
		for (j = 0; j < d; j++)
			qb_counter_set(in.table, cell[j], in.wide,
						   qb_counter_get(in.table, cell[j], in.wide) + w);
	}
}

QB_INLINE uint64_t
qs_cells_min(const uint8_t *table, bool wide, const uint64_t *cell, uint32_t d)
{
	uint64_t least = qb_counter_get(table, cell[0], wide);
	uint32_t j;

	for (j = 1; j < d; j++)
	{
		uint64_t v = qb_counter_get(table, cell[j], wide);

		if (v < least)
			least = v;
	}
	return least;
}

/* Subtracts w from the d counters.  With -w, adds w again. */
QB_INLINE void
qs_cells_take(qs_cells in, const uint64_t *cell, uint32_t d, uint64_t w)
{
	uint32_t j;

	for (j = 0; j < d; j++)
		qb_counter_set(in.table, cell[j], in.wide, qb_counter_get(in.table, cell[j], in.wide) - w);
}

/* True if the bucket whose first counter has index "first" obeys the rule of qs_tally. */
QB_INLINE bool
qs_bucket_fits(qs_cells in, uint64_t first, uint32_t per_key)
{
	qs_tally tally = { 0, 0 };
	uint32_t lane;

	for (lane = 0; lane < in.width; lane++)
		qs_tally_add(&tally, qb_counter_get(in.table, first + lane, in.wide));
	return qs_tally_fits(&tally, per_key);
}

/* See qs_ops.remove. */
QB_INLINE size_t
qs_cells_remove(qs_sketch *sk, qs_cells in, const uint64_t *hv, const int64_t *weight, size_t count)
{
	uint32_t d = sk->params.depth;
	uint64_t cell[QS_DEPTH_MAX];
	size_t i;

	for (i = 0; i < count; i++)
	{
		uint64_t w = weight ? (uint64_t) weight[i] : 1;

		in.locate(sk, hv[i], cell);
		if (qs_cells_min(in.table, in.wide, cell, d) < w)
			break;
		qs_cells_take(in, cell, d, w);
		if (in.width > 0 && !qs_bucket_fits(in, cell[0] / in.width * in.width, d))
		{
			qs_cells_take(in, cell, d, -w);
			break;
		}
	}
	return i;
}

QB_INLINE void
qs_cells_query(const qs_sketch *sk, qs_cells in, const uint64_t *hv, size_t count,
			   int64_t *estimate)
{
	uint32_t d = sk->params.depth;
	uint64_t cell[QS_DEPTH_MAX];
	size_t i;

	for (i = 0; i < count; i++)
	{
		if (i + QS_PREFETCH_AHEAD < count)
			qs_cells_fetch(sk, in, hv[i + QS_PREFETCH_AHEAD]);
		in.locate(sk, hv[i], cell);
		estimate[i] = (int64_t) qs_cells_min(in.table, in.wide, cell, d);
	}
}

/* See qs_ops.query_one. */
QB_INLINE int64_t
qs_cells_query_one(const qs_sketch *sk, qs_cells in, uint64_t hv)
{
	uint64_t cell[QS_DEPTH_MAX];

	cell[0] = 0; /* the compiler cannot know that d > 0 */
	in.locate(sk, hv, cell);
	return (int64_t) qs_cells_min(in.table, in.wide, cell, sk->params.depth);
}

/*
 * qs_ops.accumulate for the table that counts keys.  The slim table of a full sf sketch does not
 * change.
 */
extern qb_status qs_cells_accumulate(qs_sketch *into, const qs_sketch *from, bool negative);

/* qs_ops.widen and qs_ops.write, for all tables of a sketch. */
extern void qs_cells_widen(qs_sketch *to, const qs_sketch *from);
extern void qs_cells_write(const qs_sketch *sk, bool wide, uint8_t *out);

/*
 * True if the sum of each bucket is d times a weight that none of its counters exceeds, and the sum
 * of all buckets is d * total.  For thread: true if the sum of each row is the total.
 */
extern bool qs_cells_check(const qs_sketch *sk);

/* ---- warp, half_warp and sub_warp: one bucket per key, counters by mask ---- */

extern const qs_ops qs_bucketed_ops;

/*
 * Writes the indexes of the counters that a mask selects, ascending.  "first" is the index of the
 * bucket's first counter.
 */
QB_INLINE void
qs_bucket_cells(uint64_t first, uint32_t mask, uint64_t *cell)
{
	for (; mask != 0; mask &= mask - 1)
		*cell++ = first + (uint32_t) __builtin_ctz(mask);
}

/* ---- the thread sketch: Count-Min with d independent rows ---- */

extern const qs_ops qs_thread_ops;

/* Returns the second mix of hv, which chooses the counter in a row. */
QB_INLINE uint64_t
qs_row_hash(uint64_t hv, uint32_t row)
{
	return qb_mix64(hv + QB_ROW_STEP * row);
}

/* Returns the number of hv's counter in a row, 0 .. n-1. */
QB_INLINE uint64_t
qs_row_cell(uint64_t hv, uint32_t row, uint64_t n)
{
	return qb_reduce(qs_row_hash(hv, row), n);
}

/* Writes the indexes of the counters that hv owns: one in each row. */
QB_INLINE void
qs_thread_cells(const qs_sketch *sk, uint64_t hv, uint64_t *cell)
{
	uint64_t n = sk->params.n;
	uint32_t j;

	for (j = 0; j < sk->params.depth; j++)
		cell[j] = n * j + qs_row_cell(hv, j, n);
}

#endif
