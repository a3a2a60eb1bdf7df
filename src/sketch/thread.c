/*
 * thread.c
 *		The thread sketch: Count-Min with d independent rows.
 *
 * Paper: Algorithm 1, after Cormode and Muthukrishnan's Count-Min sketch.  The table
 * is d rows of n counters, row after row.  A key owns one counter in each row, n *
 * row + (second mix of hv, high bits).  Every operation touches d random cache
 * lines, which is why the bucketed structures exist.  In return the counters of a
 * key are independent, and the estimate is the best of all structures with counters
 * of one size.
 *
 * Invariant: every row sums to N.
 *
 * src/sketch/thread.c
 */
#include "sketch/cells.h"

static uint64_t
table_bytes(const qs_params *p, bool wide)
{
	return p->n * p->depth * (wide ? 8 : 4);
}

QB_INLINE void
fetch(const qs_sketch *sk, const uint8_t *table, uint64_t hv)
{
	uint64_t cell[QS_DEPTH_MAX];

	qs_thread_cells(sk, hv, cell);
	qs_cells_fetch(table, sk->wide, cell, sk->params.depth);
}

static void
thread_add(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	if (sk->wide)
		qs_cells_add(sk, sk->table, true, qs_thread_cells, fetch, hv, weight, count);
	else
		qs_cells_add(sk, sk->table, false, qs_thread_cells, fetch, hv, weight, count);
}

static size_t
thread_remove(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	return qs_cells_remove(sk, sk->table, sk->wide, 0, qs_thread_cells, hv, weight, count);
}

static void
thread_query(const qs_sketch *sk, const uint64_t *hv, size_t count, int64_t *estimate)
{
	qs_cells_query(sk, sk->table, sk->wide, qs_thread_cells, fetch, hv, count, estimate);
}

static qb_status
accumulate(qs_sketch *into, const qs_sketch *from, bool negative)
{
	qs_layout layout = { .buckets = into->params.n * into->params.depth, .width = 1, .owned = 1 };

	return qs_table_accumulate(into, from, false, layout, negative);
}

static void
widen(qs_sketch *to, const qs_sketch *from)
{
	qs_table_convert(to->table, true, from->table, false, to->params.n * to->params.depth);
}

static void
write(const qs_sketch *sk, bool wide, uint8_t *out)
{
	qs_table_convert(out, wide, sk->table, sk->wide, sk->params.n * sk->params.depth);
}

/* A row is one bucket of n counters, of which each key owns one. */
static bool
check(const qs_sketch *sk)
{
	uint64_t n = sk->params.n;
	uint32_t j;

	for (j = 0; j < sk->params.depth; j++)
		if (!qs_table_check(sk->table + n * j * (sk->wide ? 8 : 4), sk->wide, n, 1, 1, sk->total))
			return false;
	return true;
}

const qs_ops qs_thread_ops = {
	.table_bytes = table_bytes,
	.extra_bytes = qs_no_extra_bytes,
	.add = thread_add,
	.remove = thread_remove,
	.query = thread_query,
	.accumulate = accumulate,
	.widen = widen,
	.write = write,
	.check = check,
};
