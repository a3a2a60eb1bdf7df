/*
 * sf.c
 *		The sf sketch: slim table on the device, fat table on the host.
 *
 * Paper: Algorithm 6 (SFSWS).  The fat table ("extra") has n buckets.  Each bucket has 8
 * sub-buckets of z cells.  A key owns one cell in each of the d sub-buckets that its mask selects.
 * The slim table ("table") has n buckets of 8 counters.  Each slim counter is the maximum of the z
 * cells of its sub-bucket.  Queries read the slim table, which has the size and speed of a sub_warp
 * sketch.  The accuracy of sf is nearly the accuracy of a sub_warp sketch of z times the size.
 *
 * A device part is only the slim table.  A device part answers queries, and merging adds slim
 * counters.  The sum of two maxima is an upper bound of the maximum of sums, so estimates of merged
 * device parts remain upper bounds.  These estimates can be larger than the estimates of a device
 * part that was made from the merged sketches.  A device part is never explicit.  Keys cannot be
 * added to a device part, and nothing can be subtracted.
 *
 * A host part is only the fat table.  A full sketch can be made from a host part.  A host part
 * supports all operations, except that no device part can be made from it.
 *
 * Invariants: the fat table obeys the invariants of a bucketed sketch with m = 8z, and each slim
 * counter is the maximum of its cells.  So the true count <= estimate(fat) <= estimate(slim) <=
 * estimate(sub_warp of the same n, d, masks and seed).
 *
 * src/sketch/sf.c
 */
#include "sketch/cells.h"
#include "sketch/sf.h"

QB_INLINE qs_cells
slim_of(const qs_sketch *sk)
{
	return (qs_cells){ sk->table, sk->wide, true, QS_SF_WIDTH, qs_sf_slim_cells };
}

QB_INLINE qs_cells
fat_of(const qs_sketch *sk)
{
	return (qs_cells){ sk->extra, sk->wide, false, QS_SF_WIDTH * sk->params.z, qs_sf_fat_cells };
}

static uint64_t
slim_counters(const qs_params *p)
{
	return qs_table_bytes(p, false) / 4;
}

/* Returns the maximum of sub-bucket "sub" of the fat table. */
static uint64_t
sub_bucket_max(const qs_sketch *sk, uint64_t sub)
{
	uint64_t most = 0;
	uint32_t k;

	for (k = 0; k < sk->params.z; k++)
	{
		uint64_t v = qb_counter_get(sk->extra, sub * sk->params.z + k, sk->wide);

		if (v > most)
			most = v;
	}
	return most;
}

void
qs_sf_refresh(qs_sketch *sk)
{
	uint64_t count = sk->params.part == QS_PART_FULL ? slim_counters(&sk->params) : 0;
	uint64_t i;

	for (i = 0; i < count; i++)
		qb_counter_set(sk->table, i, sk->wide, sub_bucket_max(sk, i));
}

/* Raises the slim counters of keys that were added to the fat table. */
static void
raise_slim(qs_sketch *sk, const uint64_t *hv, size_t count)
{
	uint32_t z = sk->params.z;
	uint64_t cell[QS_DEPTH_MAX];
	size_t i;

	for (i = 0; i < count; i++)
	{
		uint32_t j;

		qs_sf_fat_cells(sk, hv[i], cell);
		for (j = 0; j < sk->params.depth; j++)
		{
			uint64_t v = qb_counter_get(sk->extra, cell[j], sk->wide);

			if (v > qb_counter_get(sk->table, cell[j] / z, sk->wide))
				qb_counter_set(sk->table, cell[j] / z, sk->wide, v);
		}
	}
}

static void
sf_add(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	qs_cells_add(sk, fat_of(sk), hv, weight, count);
	if (sk->params.part == QS_PART_FULL)
		raise_slim(sk, hv, count);
}

static size_t
sf_remove(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	size_t done = qs_cells_remove(sk, fat_of(sk), hv, weight, count);
	uint64_t cell[QS_DEPTH_MAX];
	size_t i;

	if (sk->params.part == QS_PART_FULL)
		for (i = 0; i < done; i++)
		{
			uint32_t j;

			qs_sf_slim_cells(sk, hv[i], cell);
			for (j = 0; j < sk->params.depth; j++)
				qb_counter_set(sk->table, cell[j], sk->wide, sub_bucket_max(sk, cell[j]));
		}
	return done;
}

static void
sf_query(const qs_sketch *sk, const uint64_t *hv, size_t count, int64_t *estimate)
{
	if (qs_has_table(&sk->params))
		qs_cells_query(sk, slim_of(sk), hv, count, estimate);
	else
		qs_cells_query(sk, fat_of(sk), hv, count, estimate);
}

static int64_t
sf_query_one(const qs_sketch *sk, uint64_t hv)
{
	return qs_has_table(&sk->params) ? qs_cells_query_one(sk, slim_of(sk), hv)
									 : qs_cells_query_one(sk, fat_of(sk), hv);
}

/* Adds the slim tables of device parts.  For all other parts, adds or subtracts the fat tables. */
static qb_status
accumulate(qs_sketch *into, const qs_sketch *from, bool negative)
{
	bool device = into->params.part == QS_PART_DEVICE;
	qb_status status =
		negative && device ? QB_READ_ONLY : qs_cells_accumulate(into, from, negative);

	if (status == QB_OK)
		qs_sf_refresh(into);
	return status;
}

/*
 * Checks a slim table without its fat table.  The weight W of a bucket's keys is unknown, but has
 * bounds.  No counter exceeds W, the counters sum to at most d * W, and the cells of the bucket sum
 * to exactly d * W.  True if the bounds of all buckets allow weights with the sum N.  Merging and
 * folding preserve this property.
 */
static bool
check_device(const qs_sketch *sk)
{
	uint32_t d = sk->params.depth;
	unsigned __int128 least = 0;
	unsigned __int128 most = 0;
	uint64_t b;

	for (b = 0; b < sk->params.n; b++)
	{
		qs_tally tally = { 0, 0 };
		unsigned __int128 shared;
		uint32_t i;

		for (i = 0; i < QS_SF_WIDTH; i++)
			qs_tally_add(&tally, qb_counter_get(sk->table, b * QS_SF_WIDTH + i, sk->wide));
		shared = (tally.sum + d - 1) / d;
		least += shared > tally.most ? shared : tally.most;
		most += tally.sum * sk->params.z / d;
	}
	return least <= (uint64_t) sk->total && most >= (uint64_t) sk->total;
}

static bool
check(const qs_sketch *sk)
{
	uint64_t count = slim_counters(&sk->params);
	uint64_t i;

	if (!qs_has_extra(&sk->params))
		return check_device(sk);
	if (!qs_cells_check(sk))
		return false;
	for (i = 0; i < count; i++)
		if (qb_counter_get(sk->table, i, sk->wide) != sub_bucket_max(sk, i))
			return false;
	return true;
}

const qs_ops qs_sf_ops = {
	.add = sf_add,
	.remove = sf_remove,
	.query = sf_query,
	.query_one = sf_query_one,
	.accumulate = accumulate,
	.widen = qs_cells_widen,
	.write = qs_cells_write,
	.check = check,
};
