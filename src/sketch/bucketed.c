/*
 * bucketed.c
 *		warp, half_warp and sub_warp: one bucket per key, counters by mask.
 *
 * Paper: Algorithms 2 and 3.  The table is n buckets of m counters, m = 32, 16 or
 * 8.  A key owns the d counters of its bucket that its mask selects.  So an
 * operation touches 4, 2 or 1 neighbouring sectors of 32 bytes instead of d random
 * ones.  The keys of a bucket share its counters, which costs some accuracy: the
 * smaller m, the more.
 *
 * Invariants: the counters of a bucket sum to d times the weight of its keys, and
 * none exceeds that weight; the table sums to d * N.
 *
 * src/sketch/bucketed.c
 */
#include "sketch/cells.h"

static uint64_t
table_counters(const qs_params *p)
{
	return p->n * qs_bucket_width(p->structure);
}

static uint64_t
table_bytes(const qs_params *p, bool wide)
{
	return table_counters(p) * (wide ? 8 : 4);
}

/* Buckets of one sector have code of their own, where m is a constant to the compiler. */
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
fetch_in(const qs_sketch *sk, uint32_t m, bool wide, const uint8_t *table, uint64_t hv)
{
	uint32_t bytes = m * (wide ? 8 : 4);
	const uint8_t *bucket = table + qb_reduce(hv, sk->params.n) * bytes;
	uint32_t offset;

	for (offset = 0; offset < bytes; offset += QB_CACHE_LINE)
		__builtin_prefetch(bucket + offset, 1);
}

QB_INLINE void
locate8(const qs_sketch *sk, uint64_t hv, uint64_t *cell)
{
	locate_in(sk, 8, hv, cell);
}

QB_INLINE void
fetch8(const qs_sketch *sk, const uint8_t *table, uint64_t hv)
{
	fetch_in(sk, 8, false, table, hv);
}

QB_INLINE void
locate_any(const qs_sketch *sk, uint64_t hv, uint64_t *cell)
{
	locate_in(sk, qs_bucket_width(sk->params.structure), hv, cell);
}

QB_INLINE void
fetch_any(const qs_sketch *sk, const uint8_t *table, uint64_t hv)
{
	fetch_in(sk, qs_bucket_width(sk->params.structure), sk->wide, table, hv);
}

static void
bucketed_add(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	if (sk->wide)
		qs_cells_add(sk, sk->table, true, locate_any, fetch_any, hv, weight, count);
	else if (is_sector(sk))
		qs_cells_add(sk, sk->table, false, locate8, fetch8, hv, weight, count);
	else
		qs_cells_add(sk, sk->table, false, locate_any, fetch_any, hv, weight, count);
}

static size_t
bucketed_remove(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	uint32_t m = qs_bucket_width(sk->params.structure);

	return qs_cells_remove(sk, sk->table, sk->wide, m, locate_any, hv, weight, count);
}

/* Least of the counters that the mask selects. */
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
			fetch_in(sk, m, wide, sk->table, hv[i + QS_PREFETCH_AHEAD]);
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

/* Fetches the bucket first, so that it is on its way while the mask is looked up. */
QB_INLINE int64_t
query_one_in(const qs_sketch *sk, uint32_t m, bool wide, uint64_t hv)
{
	fetch_in(sk, m, wide, sk->table, hv);
	return query_key(sk, m, wide, hv);
}

static int64_t
bucketed_query_one(const qs_sketch *sk, uint64_t hv)
{
	if (is_sector(sk))
		return query_one_in(sk, 8, false, hv);
	return query_one_in(sk, qs_bucket_width(sk->params.structure), sk->wide, hv);
}

static qb_status
accumulate(qs_sketch *into, const qs_sketch *from, bool negative)
{
	qs_layout layout = { .buckets = into->params.n,
						 .width = qs_bucket_width(into->params.structure),
						 .owned = into->params.depth };

	return qs_table_accumulate(into, from, false, layout, negative);
}

static void
widen(qs_sketch *to, const qs_sketch *from)
{
	qs_table_convert(to->table, true, from->table, false, table_counters(&to->params));
}

static void
write(const qs_sketch *sk, bool wide, uint8_t *out)
{
	qs_table_convert(out, wide, sk->table, sk->wide, table_counters(&sk->params));
}

static bool
check(const qs_sketch *sk)
{
	return qs_table_check(sk->table, sk->wide, sk->params.n, qs_bucket_width(sk->params.structure),
						  sk->params.depth, sk->total);
}

const qs_ops qs_bucketed_ops = {
	.table_bytes = table_bytes,
	.extra_bytes = qs_no_extra_bytes,
	.add = bucketed_add,
	.remove = bucketed_remove,
	.query = bucketed_query,
	.query_one = bucketed_query_one,
	.accumulate = accumulate,
	.widen = widen,
	.write = write,
	.check = check,
};

/* ---- arithmetic on whole tables of counters ---- */

uint64_t
qs_no_extra_bytes(const qs_params *p, bool wide)
{
	(void) p;
	(void) wide;
	return 0;
}

/* Counter by counter.  The widths are constants at each call, so the loop vectorizes. */
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

/* The widths are constants at each call. */
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

/* Would the subtraction leave counters that are not negative and that fit each other? */
static bool
covers(const uint8_t *into, bool into_wide, const uint8_t *from, bool from_wide, qs_layout layout)
{
	uint64_t i = 0;
	uint64_t b;

	for (b = 0; b < layout.buckets; b++)
	{
		qs_tally rest = { 0, 0 };
		uint32_t lane;

		for (lane = 0; lane < layout.width; lane++, i++)
		{
			uint64_t old = qb_counter_get(into, i, into_wide);
			uint64_t v = qb_counter_get(from, i, from_wide);

			if (old < v)
				return false;
			qs_tally_add(&rest, old - v);
		}
		if (!qs_tally_fits(&rest, layout.owned))
			return false;
	}
	return true;
}

qb_status
qs_table_accumulate(qs_sketch *into, const qs_sketch *from, bool extra, qs_layout layout,
					bool negative)
{
	uint8_t *to = extra ? into->extra : into->table;
	const uint8_t *source = extra ? from->extra : from->table;

	if (negative && !covers(to, into->wide, source, from->wide, layout))
		return QB_UNDERFLOW;
	add_all(to, into->wide, source, from->wide, layout.buckets * layout.width, negative);
	return QB_OK;
}

void
qs_table_convert(uint8_t *to, bool to_wide, const uint8_t *from, bool from_wide, uint64_t count)
{
	uint64_t i;

	if (to_wide == from_wide)
		memcpy(to, from, count * (to_wide ? 8 : 4));
	else
		for (i = 0; i < count; i++)
			qb_counter_set(to, i, to_wide, qb_counter_get(from, i, from_wide));
}

bool
qs_table_check(const uint8_t *table, bool wide, uint64_t n, uint32_t width, uint32_t depth,
			   int64_t total)
{
	unsigned __int128 rest = (unsigned __int128) (uint64_t) total * depth;
	uint64_t b;

	for (b = 0; b < n; b++)
	{
		qs_tally tally = { 0, 0 };
		uint32_t lane;

		for (lane = 0; lane < width; lane++)
			qs_tally_add(&tally, qb_counter_get(table, b * width + lane, wide));
		if (tally.sum > rest || tally.sum % depth != 0 || !qs_tally_fits(&tally, depth))
			return false;
		rest -= tally.sum;
	}
	return rest == 0;
}
