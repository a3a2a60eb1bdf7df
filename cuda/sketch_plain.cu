/*
 * sketch_plain.cu
 *		Sketches of plain counters on the device: thread, warp, half_warp, sub_warp, and the slim
 *		table of sf.
 *
 * thread (Count-Min): layout as in src/sketch/cells.c, counters of 4 or 8 bytes in d rows of n.  A
 * thread processes a key, which has one counter in each row.  Floor per inserted key: 8 bytes of
 * key, and d random atomics.  Floor per query: 8 bytes of key, 8 bytes of estimate, and d random
 * sectors.  The bucketed structures avoid this factor d.
 *
 * warp, half_warp, sub_warp: layout as in src/sketch/cells.c.  One template serves all three, with
 * M = 32, 16 or 8 counters of 4 or 8 bytes per bucket.
 *
 * Insert: M lanes share a key, one lane for each counter of the bucket.  One instruction changes
 * the d counters that the mask selects, without reading them (RED).  Floor per key: 8 bytes of key
 * and one atomic transaction for each 32-byte sector with a selected counter.  With counters of 4
 * bytes sub_warp has 1 such sector; half_warp and warp with d = 3 have 1.8 and 2.37 on average.
 *
 * Query: a thread processes a key.  Two loads of 16 bytes read a bucket of one sector.  In larger
 * buckets only the selected counters are read, with four loads in flight.  Floor per key: 8 bytes
 * read, 8 bytes written, and the same number of sectors as for insert.
 *
 * SQL: qsketch_agg() with these structures, and lookups of arrays.  merge_counters:
 * parallel plans, and cached columns on several GPUs.
 *
 * cuda/sketch_plain.cu
 */
#include "sketch_bulk.cuh"

/* Loads in flight when single counters are read. */
#define GATHER 4

/*
 * Add counters, a thread per counter, with coalesced accesses.  Floor: each counter of both tables
 * is read once, and each counter of "into" is written once.
 */
template <typename Into, typename From>
__global__ void
__launch_bounds__(QS_BLOCK) merge_counters(Into *into, const From *from, uint64_t count)
{
	qs_for_each(count, [&](uint64_t i) { into[i] += (Into) __ldcs(&from[i]); });
}

template <typename Into, typename From>
static qb_status
merge(qs_cuda *gpu, const qs_view *into, const qs_view *from, uint64_t count)
{
	return qs_launch(gpu, merge_counters<Into, From>, count, (Into *) into->table,
					 (const From *) from->table, count);
}

/* into += from, for "counters" counters. */
static qb_status
merge_tables(qs_cuda *gpu, const qs_view *into, const qs_view *from, uint64_t counters)
{
	if (into->wide)
		return from->wide ? merge<qs_u64, qs_u64>(gpu, into, from, counters)
						  : merge<qs_u64, uint32_t>(gpu, into, from, counters);
	return from->wide ? merge<uint32_t, qs_u64>(gpu, into, from, counters)
					  : merge<uint32_t, uint32_t>(gpu, into, from, counters);
}

/* The tables of thread. */
template <typename Counter> struct rows_table
{
	using adder = rows_table;
	using tile = qs_plain_tile<1, Counter>;

	__device__ __forceinline__
	rows_table(const qs_view &, uint32_t *)
	{
	}

	template <bool WEIGHTED>
	__device__ __forceinline__ void
	add(const qs_view &v, qs_walk<WEIGHTED> &walk) const
	{
		Counter *table = (Counter *) v.table;

		while (walk.next())
			if (walk.active)
				for (uint32_t row = 0; row < v.depth; row++)
					atomicAdd(&table[v.n * row + qs_reduce_short(qs_row_hash(walk.hv, row), v.n)],
							  (Counter) walk.weight);
	}

	__device__ __forceinline__ Counter
	least(const qs_view &v, uint64_t hv) const
	{
		const Counter *table = (const Counter *) v.table;
		Counter least = (Counter) -1;

		for (uint32_t row = 0; row < v.depth; row += GATHER)
		{
			Counter counter[GATHER];

#pragma unroll
			for (uint32_t k = 0; k < GATHER; k++)
				counter[k] = row + k < v.depth
								 ? __ldg(&table[v.n * (row + k) +
												qs_reduce_short(qs_row_hash(hv, row + k), v.n)])
								 : (Counter) -1;
#pragma unroll
			for (uint32_t k = 0; k < GATHER; k++)
				least = min(least, counter[k]);
		}
		return least;
	}

	static qb_status
	merge(qs_cuda *gpu, const qs_view *into, const qs_view *from)
	{
		return merge_tables(gpu, into, from, into->n * into->depth);
	}
};

const qs_cuda_ops qs_thread_cuda = qs_structure_ops<rows_table<uint32_t>, rows_table<qs_u64>>::ops;

/* Return the least counter that the mask selects in a bucket of one sector. */
__device__ __forceinline__ uint32_t
sector_min(const uint4 *sector, uint32_t mask)
{
	uint4 low = __ldg(&sector[0]);
	uint4 high = __ldg(&sector[1]);
	uint32_t counter[8] = { low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w };
	uint32_t least = UINT32_MAX;

#pragma unroll
	for (int i = 0; i < 8; i++)
		least = min(least, mask >> i & 1 ? counter[i] : UINT32_MAX);
	return least;
}

/*
 * Return the least counter that the mask selects in a bucket of any size.  Only selected counters
 * are read.
 */
template <typename Counter>
__device__ __forceinline__ Counter
gather_min(const Counter *bucket, uint32_t mask)
{
	Counter least = (Counter) -1;

	while (mask != 0)
	{
		Counter counter[GATHER];

#pragma unroll
		for (int i = 0; i < GATHER; i++)
		{
			counter[i] = mask != 0 ? __ldg(&bucket[__ffs(mask) - 1]) : (Counter) -1;
			mask &= mask - 1;
		}
#pragma unroll
		for (int i = 0; i < GATHER; i++)
			least = min(least, counter[i]);
	}
	return least;
}

/*
 * The tables of warp, half_warp and sub_warp.  All threads of the block must call the constructor.
 */
template <int M, typename Counter> struct buckets_table
{
	using adder = buckets_table;
	using tile = qs_plain_tile<M, Counter>;
	qs_mask_lookup<M> mask_of;

	__device__ __forceinline__
	buckets_table(const qs_view &v, uint32_t *room)
		: mask_of(v, room)
	{
	}

	template <bool WEIGHTED>
	__device__ __forceinline__ void
	add(const qs_view &v, qs_walk<WEIGHTED> &walk) const
	{
		uint32_t lane = qs_lane() % M;
		Counter *counters = (Counter *) v.table + lane;

		while (walk.next())
			qs_walk_rounds<M>(walk, qs_target_of(v, walk, mask_of),
							  [&](uint32_t bucket, uint32_t mask, uint64_t weight) {
								  if (mask >> lane & 1)
									  atomicAdd(&counters[(uint64_t) bucket * M], (Counter) weight);
							  });
	}

	__device__ __forceinline__ Counter
	least(const qs_view &v, uint64_t hv) const
	{
		const Counter *bucket = (const Counter *) v.table + (uint64_t) qs_reduce_short(hv, v.n) * M;

		if (M * sizeof(Counter) == 32)
			return sector_min((const uint4 *) bucket, mask_of(hv));
		return gather_min(bucket, mask_of(hv));
	}

	static qb_status
	merge(qs_cuda *gpu, const qs_view *into, const qs_view *from)
	{
		return merge_tables(gpu, into, from, into->n * M);
	}
};

template <int M>
using bucketed = qs_structure_ops<buckets_table<M, uint32_t>, buckets_table<M, qs_u64>>;

const qs_cuda_ops qs_sub_warp_cuda = bucketed<8>::ops;
const qs_cuda_ops qs_half_warp_cuda = bucketed<16>::ops;
const qs_cuda_ops qs_warp_cuda = bucketed<32>::ops;
