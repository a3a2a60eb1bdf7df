/*
 * sketch_thread.cu
 *		The thread sketch (Count-Min) on the device.
 *
 * Layout: src/sketch/cells.c.  Counters of 4 or 8 bytes in d rows of n.
 *
 * A thread takes a key, with one counter in each row.  Floor per key: 8 bytes
 * of key (query: 8 more for the estimate) and d random sectors, for insert d
 * random atomics.  The bucketed structures save this factor of d.
 *
 * cuda/sketch_thread.cu
 */
#include "sketch_bulk.cuh"
#include "sketch_groups.cuh"

/* Rows whose counters are read before the first counter is used. */
#define GATHER 4

/* Adds the keys of a walk. */
template <typename Counter> struct thread_adder
{
	__device__ __forceinline__
	thread_adder(const qs_view &, uint32_t *)
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
};

template <typename Counter>
__global__ void
__launch_bounds__(QS_BLOCK) query_keys(const qs_view v, const qs_batch b, int64_t *estimate)
{
	const Counter *table = (const Counter *) v.table;
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < b.count; i += stride)
	{
		uint64_t hv = qb_hash(__ldcs(&b.key[i]), v.seed_key);
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
		__stcs(&estimate[i], (int64_t) least);
	}
}

static qb_status
insert(qs_cuda *gpu, const qs_view *v, const qs_batch *b)
{
	return v->wide ? qs_add_batch<thread_adder<qs_u64>>(gpu, v, b)
				   : qs_add_batch<thread_adder<uint32_t>>(gpu, v, b);
}

static qb_status
query(qs_cuda *gpu, const qs_view *v, const qs_batch *b, int64_t *estimate)
{
	auto kernel = v->wide ? query_keys<qs_u64> : query_keys<uint32_t>;

	return qs_launch(gpu, kernel, b->count, *v, *b, estimate);
}

static qb_status
merge(qs_cuda *gpu, const qs_view *into, const qs_view *from)
{
	return qs_counters_merge(gpu, into, from, into->n * into->depth);
}

static qb_status
bulk(qs_cuda *gpu, const qs_view *v, const qs_parted *parted)
{
	return v->wide ? qs_add_tiles<qs_plain_tile<1, qs_u64>>(gpu, v, parted)
				   : qs_add_tiles<qs_plain_tile<1, uint32_t>>(gpu, v, parted);
}

static qb_status
groups(qs_cuda *gpu, const qs_view *v, qs_grouped *grouped)
{
	return qs_add_groups<thread_adder<uint32_t>>(gpu, v, grouped);
}

static uint32_t
bucket_bytes(bool wide)
{
	return wide ? 8 : 4;
}

const qs_cuda_ops qs_thread_cuda = { insert, query, merge, bulk, groups, 1, bucket_bytes };
