/*
 * cells.c
 *		Structures with plain counters: thread, warp, half_warp and sub_warp.
 *
 * thread is Count-Min with d independent rows.  Paper: Algorithm 1, after Cormode and
 * Muthukrishnan's Count-Min sketch.  The table has d rows of n counters, row after row.  A key owns
 * one counter in each row.  The high bits of a second mix of hv choose the counter.  Every
 * operation accesses d random cache lines, so thread is slower than the bucketed structures.  In
 * thread, a key's counters are independent.  So, with counters of equal number and width, thread
 * has the most accurate estimates of all structures.
 *
 * Invariant: the sum of every row is N.
 *
 * In warp, half_warp and sub_warp a key has one bucket, and owns the d counters of this bucket that
 * the key's mask selects.  Paper: Algorithms 2 and 3.  The table has n buckets of m counters, where
 * m is 32, 16 or 8.  With counters of 4 bytes, an operation accesses 4, 2 or 1 neighbouring sectors
 * of 32 bytes, while thread accesses d random sectors.  The keys of a bucket share its counters, so
 * estimates are less accurate than the estimates of thread.  The error grows as m gets smaller.
 *
 * Invariants: the sum of a bucket's counters is d times the weight of its keys, and no counter
 * exceeds this weight.  The sum of the table is d * N.
 *
 * src/sketch/cells.c
 */
#include "sketch/cells.h"

/* ---- thread ---- */

/* If "wide" is a constant, the compiler makes a loop for this width. */
QB_INLINE qs_cells
rows_of(const qs_sketch *sk, bool wide)
{
	return (qs_cells){ .table = sk->table, .wide = wide, .locate = qs_thread_cells };
}

static void
thread_add(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	if (sk->wide)
		qs_cells_add(sk, rows_of(sk, true), hv, weight, count);
	else
		qs_cells_add(sk, rows_of(sk, false), hv, weight, count);
}

static size_t
thread_remove(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	return qs_cells_remove(sk, rows_of(sk, sk->wide), hv, weight, count);
}

static void
thread_query(const qs_sketch *sk, const uint64_t *hv, size_t count, int64_t *estimate)
{
	qs_cells_query(sk, rows_of(sk, sk->wide), hv, count, estimate);
}

static int64_t
thread_query_one(const qs_sketch *sk, uint64_t hv)
{
	return qs_cells_query_one(sk, rows_of(sk, sk->wide), hv);
}

const qs_ops qs_thread_ops = {
	.add = thread_add,
	.remove = thread_remove,
	.query = thread_query,
	.query_one = thread_query_one,
	.accumulate = qs_cells_accumulate,
	.widen = qs_cells_widen,
	.write = qs_cells_write,
	.check = qs_cells_check,
};

/* ---- warp, half_warp and sub_warp ---- */

/*
 * True if a bucket is one sector of 32 bytes.  Buckets of one sector have loops in which m is a
 * constant.
 */
static bool
is_sector(const qs_sketch *sk)
{
	return !sk->wide && qs_bucket_width(sk->params.structure) == 8;
}

QB_INLINE void
locate_in(const qs_sketch *sk, uint32_t m, uint64_t hv, uint64_t *cell)
{
	qs_bucket_cells(qb_reduce(hv, sk->params.n) * m, qs_mask_in(sk, m, hv), cell);
}

QB_INLINE void
locate8(const qs_sketch *sk, uint64_t hv, uint64_t *cell)
{
	locate_in(sk, 8, hv, cell);
}

QB_INLINE void
locate_any(const qs_sketch *sk, uint64_t hv, uint64_t *cell)
{
	locate_in(sk, qs_bucket_width(sk->params.structure), hv, cell);
}

QB_INLINE qs_cells
buckets_of(const qs_sketch *sk, uint32_t m, bool wide, qs_locate locate)
{
	return (qs_cells){
		.table = sk->table, .wide = wide, .together = true, .width = m, .locate = locate
	};
}

static void
bucketed_add(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	uint32_t m = qs_bucket_width(sk->params.structure);

	if (sk->wide)
		qs_cells_add(sk, buckets_of(sk, m, true, locate_any), hv, weight, count);
	else if (is_sector(sk))
		qs_cells_add(sk, buckets_of(sk, 8, false, locate8), hv, weight, count);
	else
		qs_cells_add(sk, buckets_of(sk, m, false, locate_any), hv, weight, count);
}

static size_t
bucketed_remove(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	uint32_t m = qs_bucket_width(sk->params.structure);

	return qs_cells_remove(sk, buckets_of(sk, m, sk->wide, locate_any), hv, weight, count);
}

/* Returns the least of the counters that the mask selects. */
QB_INLINE uint64_t
least_of(const uint8_t *bucket, bool wide, uint32_t mask)
{
	uint64_t least = UINT64_MAX;

	for (; mask != 0; mask &= mask - 1)
	{
		uint64_t v = qb_counter_get(bucket, (uint32_t) __builtin_ctz(mask), wide);

		least = v < least ? v : least;
	}
	return least;
}

QB_INLINE int64_t
query_key(const qs_sketch *sk, uint32_t m, bool wide, uint64_t hv)
{
	const uint8_t *bucket = sk->table + qb_reduce(hv, sk->params.n) * (m * (wide ? 8 : 4));

	return (int64_t) least_of(bucket, wide, qs_mask_in(sk, m, hv));
}

QB_INLINE void
query_in(const qs_sketch *sk, uint32_t m, bool wide, const uint64_t *hv, size_t count,
		 int64_t *estimate)
{
	size_t i;

	for (i = 0; i < count; i++)
	{
		if (i + QS_PREFETCH_AHEAD < count)
			qs_bucket_fetch(sk, buckets_of(sk, m, wide, NULL), hv[i + QS_PREFETCH_AHEAD]);
		estimate[i] = query_key(sk, m, wide, hv[i]);
	}
}

static void
bucketed_query(const qs_sketch *sk, const uint64_t *hv, size_t count, int64_t *estimate)
{
	if (is_sector(sk))
		query_in(sk, 8, false, hv, count, estimate);
	else
		query_in(sk, qs_bucket_width(sk->params.structure), sk->wide, hv, count, estimate);
}

/* Prefetches the bucket, so that it is loaded while the mask is computed. */
QB_INLINE int64_t
query_one_in(const qs_sketch *sk, uint32_t m, bool wide, uint64_t hv)
{
	qs_bucket_fetch(sk, buckets_of(sk, m, wide, NULL), hv);
	return query_key(sk, m, wide, hv);
}

static int64_t
bucketed_query_one(const qs_sketch *sk, uint64_t hv)
{
	if (is_sector(sk))
		return query_one_in(sk, 8, false, hv);
	return query_one_in(sk, qs_bucket_width(sk->params.structure), sk->wide, hv);
}

const qs_ops qs_bucketed_ops = {
	.add = bucketed_add,
	.remove = bucketed_remove,
	.query = bucketed_query,
	.query_one = bucketed_query_one,
	.accumulate = qs_cells_accumulate,
	.widen = qs_cells_widen,
	.write = qs_cells_write,
	.check = qs_cells_check,
};

/* ---- arithmetic on whole tables of counters ---- */

/* A table as an array of buckets.  In thread, each counter is a bucket. */
typedef struct layout
{
	uint64_t buckets;
	uint32_t width;
	uint32_t per_key; /* number of counters that each key of a bucket owns */
} layout;

static layout
layout_of(const qs_params *p)
{
	if (qs_has_rows(p->structure))
		return (layout){ .buckets = p->n * p->depth, .width = 1, .per_key = 1 };
	return (layout){ .buckets = p->n,
					 .width = qs_bucket_width(p->structure) * (qs_has_extra(p) ? p->z : 1u),
					 .per_key = p->depth };
}

/* Returns the table that counts keys: the fat table if the sketch has one. */
static uint8_t *
table_of(const qs_sketch *sk)
{
	return qs_has_extra(&sk->params) ? sk->extra : sk->table;
}

/* Adds or subtracts counters.  The widths are constants at each call, so the loop vectorizes. */
QB_INLINE void
add_each(uint8_t *into, bool into_wide, const uint8_t *from, bool from_wide, uint64_t count,
		 bool negative)
{
	uint64_t i;

	for (i = 0; i < count; i++)
	{
		uint64_t v = qb_counter_get(from, i, from_wide);
		uint64_t old = qb_counter_get(into, i, into_wide);

		qb_counter_set(into, i, into_wide, negative ? old - v : old + v);
	}
}

/* Calls add_each() with constant widths. */
static void
add_all(uint8_t *into, bool into_wide, const uint8_t *from, bool from_wide, uint64_t count,
		bool negative)
{
	if (into_wide && from_wide)
		add_each(into, true, from, true, count, negative);
	else if (into_wide)
		add_each(into, true, from, false, count, negative);
	else if (from_wide)
		add_each(into, false, from, true, count, negative);
	else
		add_each(into, false, from, false, count, negative);
}

/* True if after a subtraction no counter is negative, and all buckets obey the rule of qs_tally. */
static bool
covers(const uint8_t *into, bool into_wide, const uint8_t *from, bool from_wide, layout all)
{
	uint64_t i = 0;
	uint64_t b;

	for (b = 0; b < all.buckets; b++)
	{
		qs_tally rest = { 0, 0 };
		uint32_t lane;

		for (lane = 0; lane < all.width; lane++, i++)
		{
			uint64_t old = qb_counter_get(into, i, into_wide);
			uint64_t v = qb_counter_get(from, i, from_wide);

			if (old < v)
				return false;
			qs_tally_add(&rest, old - v);
		}
		if (!qs_tally_fits(&rest, all.per_key))
			return false;
	}
	return true;
}

qb_status
qs_cells_accumulate(qs_sketch *into, const qs_sketch *from, bool negative)
{
	layout all = layout_of(&into->params);
	uint8_t *to = table_of(into);
	const uint8_t *source = table_of(from);

	if (negative && !covers(to, into->wide, source, from->wide, all))
		return QB_UNDERFLOW;
	add_all(to, into->wide, source, from->wide, all.buckets * all.width, negative);
	return QB_OK;
}

/* Copies counters, and converts their width.  Each value fits, because no counter exceeds N. */
static void
convert(uint8_t *to, bool to_wide, const uint8_t *from, bool from_wide, uint64_t count)
{
	uint64_t i;

	if (to_wide == from_wide)
		memcpy(to, from, count * (to_wide ? 8 : 4));
	else
		for (i = 0; i < count; i++)
			qb_counter_set(to, i, to_wide, qb_counter_get(from, i, from_wide));
}

static void
convert_tables(uint8_t *table, uint8_t *extra, bool wide, const qs_sketch *from)
{
	const qs_params *p = &from->params;

	if (from->table)
		convert(table, wide, from->table, from->wide, qs_table_bytes(p, false) / 4);
	if (from->extra)
		convert(extra, wide, from->extra, from->wide, qs_extra_bytes(p, false) / 4);
}

void
qs_cells_widen(qs_sketch *to, const qs_sketch *from)
{
	convert_tables(to->table, to->extra, true, from);
}

void
qs_cells_write(const qs_sketch *sk, bool wide, uint8_t *out)
{
	convert_tables(out, out + qs_table_bytes(&sk->params, wide), wide, sk);
}

/* Checks the buckets of one row, or all buckets if the structure has no rows. */
static bool
check_row(const uint8_t *table, bool wide, layout row, int64_t total)
{
	unsigned __int128 rest = (unsigned __int128) (uint64_t) total * row.per_key;
	uint64_t b;

	for (b = 0; b < row.buckets; b++)
	{
		qs_tally tally = { 0, 0 };
		uint32_t lane;

		for (lane = 0; lane < row.width; lane++)
			qs_tally_add(&tally, qb_counter_get(table, b * row.width + lane, wide));
		if (tally.sum > rest || tally.sum % row.per_key != 0 || !qs_tally_fits(&tally, row.per_key))
			return false;
		rest -= tally.sum;
	}
	return rest == 0;
}

bool
qs_cells_check(const qs_sketch *sk)
{
	uint32_t rows = qs_has_rows(sk->params.structure) ? sk->params.depth : 1;
	layout row = layout_of(&sk->params);
	uint32_t j;

	row.buckets /= rows;
	for (j = 0; j < rows; j++)
		if (!check_row(table_of(sk) + row.buckets * j * (sk->wide ? 8 : 4), sk->wide, row,
					   sk->total))
			return false;
	return true;
}
