/*
 * cells.h
 *		Structures with plain counters: their loops and tables.
 *
 * In every structure but multilevel a key simply owns d counters of a table.  A
 * structure says where they are (qs_locate) and which cache lines to fetch ahead
 * (qs_fetch); the loops here do the rest.  Both functions and "wide" are constants
 * at each call, so the compiler makes one tight loop of each use.
 *
 * The arithmetic on whole tables (adding, widening, writing, checking) is here, too.
 *
 * src/sketch/cells.h
 */
#ifndef QS_CELLS_H
#define QS_CELLS_H

#include "sketch/structure.h"

/* Writes the indexes of hv's d counters in the table. */
typedef void (*qs_locate)(const qs_sketch *sk, uint64_t hv, uint64_t *cell);

/* Prefetches the counters that locate() will name. */
typedef void (*qs_fetch)(const qs_sketch *sk, const uint8_t *table, uint64_t hv);

/* Buckets one after another.  thread has d rows of buckets with one counter. */
typedef struct qs_layout
{
	uint64_t buckets;
	uint32_t width;
	uint32_t owned; /* counters of a bucket that each of its keys owns */
} qs_layout;

/*
 * Sum and maximum of a bucket's counters.  If each key owns d of them, they sum to d
 * times the weight of the bucket's keys, and none exceeds that weight.  Removing
 * what was never there can break this rule without any counter falling below zero.
 * Counters above N could then be left, too large for their width.  No removal
 * reduces a violation again, so checking after each key finds the same as checking
 * once at the end.
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

/* Does no counter exceed the weight that the sum stands for? */
QB_INLINE bool
qs_tally_fits(const qs_tally *tally, uint32_t owned)
{
	return (unsigned __int128) tally->most * owned <= tally->sum;
}

/* Prefetch d counters. */
QB_INLINE void
qs_cells_fetch(const uint8_t *table, bool wide, const uint64_t *cell, uint32_t d)
{
	uint32_t j;

	for (j = 0; j < d; j++)
		__builtin_prefetch(table + cell[j] * (wide ? 8 : 4), 1);
}

QB_INLINE void
qs_cells_add(qs_sketch *sk, uint8_t *table, bool wide, qs_locate locate, qs_fetch fetch,
			 const uint64_t *hv, const int64_t *weight, size_t count)
{
	uint32_t d = sk->params.depth;
	uint64_t cell[QS_DEPTH_MAX];
	size_t i;

	for (i = 0; i < count; i++)
	{
		uint64_t w = weight ? (uint64_t) weight[i] : 1;
		uint32_t j;

		if (i + QS_PREFETCH_AHEAD < count)
			fetch(sk, table, hv[i + QS_PREFETCH_AHEAD]);
		locate(sk, hv[i], cell);
		for (j = 0; j < d; j++)
			qb_counter_set(table, cell[j], wide, qb_counter_get(table, cell[j], wide) + w);
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

/* Take w from the d counters; a negated w gives it back. */
QB_INLINE void
qs_cells_take(uint8_t *table, bool wide, const uint64_t *cell, uint32_t d, uint64_t w)
{
	uint32_t j;

	for (j = 0; j < d; j++)
		qb_counter_set(table, cell[j], wide, qb_counter_get(table, cell[j], wide) - w);
}

/* Do the counters of one bucket fit each other?  See qs_tally. */
QB_INLINE bool
qs_bucket_fits(const uint8_t *table, bool wide, uint64_t first, uint32_t width, uint32_t owned)
{
	qs_tally tally = { 0, 0 };
	uint32_t lane;

	for (lane = 0; lane < width; lane++)
		qs_tally_add(&tally, qb_counter_get(table, first + lane, wide));
	return qs_tally_fits(&tally, owned);
}

/* See qs_ops.remove; "width" counters make a bucket, 0 if they stand alone. */
QB_INLINE size_t
qs_cells_remove(qs_sketch *sk, uint8_t *table, bool wide, uint32_t width, qs_locate locate,
				const uint64_t *hv, const int64_t *weight, size_t count)
{
	uint32_t d = sk->params.depth;
	uint64_t cell[QS_DEPTH_MAX];
	size_t i;

	for (i = 0; i < count; i++)
	{
		uint64_t w = weight ? (uint64_t) weight[i] : 1;

		locate(sk, hv[i], cell);
		if (qs_cells_min(table, wide, cell, d) < w)
			break;
		qs_cells_take(table, wide, cell, d, w);
		if (width > 0 && !qs_bucket_fits(table, wide, cell[0] / width * width, width, d))
		{
			qs_cells_take(table, wide, cell, d, -w);
			break;
		}
	}
	return i;
}

QB_INLINE void
qs_cells_query(const qs_sketch *sk, const uint8_t *table, bool wide, qs_locate locate,
			   qs_fetch fetch, const uint64_t *hv, size_t count, int64_t *estimate)
{
	uint32_t d = sk->params.depth;
	uint64_t cell[QS_DEPTH_MAX];
	size_t i;

	for (i = 0; i < count; i++)
	{
		if (i + QS_PREFETCH_AHEAD < count)
			fetch(sk, table, hv[i + QS_PREFETCH_AHEAD]);
		locate(sk, hv[i], cell);
		estimate[i] = (int64_t) qs_cells_min(table, wide, cell, d);
	}
}

/* See qs_ops.extra_bytes: there is nothing beside the table. */
extern uint64_t qs_no_extra_bytes(const qs_params *p, bool wide);

/* See qs_ops.accumulate; "extra" says which of the sketch's tables this is about. */
extern qb_status qs_table_accumulate(qs_sketch *into, const qs_sketch *from, bool extra,
									 qs_layout layout, bool negative);

/* Copy counters between widths.  The values fit, because no counter exceeds N. */
extern void
qs_table_convert(uint8_t *to, bool to_wide, const uint8_t *from, bool from_wide, uint64_t count);

/*
 * Does each bucket sum to d times some weight that no counter exceeds, and do all
 * buckets sum to d * total?
 */
extern bool qs_table_check(const uint8_t *table, bool wide, uint64_t n, uint32_t width,
						   uint32_t depth, int64_t total);

/* ---- warp, half_warp and sub_warp: one bucket per key, counters by mask ---- */

extern const qs_ops qs_bucketed_ops;

/* Indexes of the counters in a bucket that a mask selects, lowest first. */
QB_INLINE void
qs_bucket_cells(uint64_t first, uint32_t mask, uint64_t *cell)
{
	for (; mask != 0; mask &= mask - 1)
		*cell++ = first + (uint32_t) __builtin_ctz(mask);
}

/* ---- the thread sketch: Count-Min with d independent rows ---- */

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
