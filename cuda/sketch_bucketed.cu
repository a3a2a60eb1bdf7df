/*
 * sketch_bucketed.cu
 *		warp, half_warp and sub_warp on the device; also the slim table of sf.
 *
 * Layout: src/sketch/cells.c.  One template, M = 32, 16 or 8 counters of 4 or
 * 8 bytes a bucket.
 *
 * Insert: M lanes take a key, one lane for each counter of the bucket.  One
 * instruction changes the d counters that the mask selects, without reading
 * them (RED).  Floor per key: 8 bytes of key and one atomic transaction for
 * each 32-byte sector with a selected counter: sub_warp 1; half_warp and warp
 * with d = 3: 1.8 and 2.37.
 *
 * Query: a thread for each key.  Two loads of 16 bytes read the whole of a
 * bucket of one sector.  In larger buckets only the selected counters are
 * read, with four loads in flight.  Floor per key: 8 bytes in, 8 out, and as
 * many sectors as for insert.
 *
 * cuda/sketch_bucketed.cu
 */
#include "sketch_bulk.cuh"
#include "sketch_groups.cuh"

/* Loads in flight when single counters are read. */
#define GATHER 4

/* Adds the keys of a walk.  All threads of the block must call the constructor. */
template <int M, typename Counter> struct bucketed_adder
{
	qs_mask_lookup<M> mask_of;

	__device__ __forceinline__
	bucketed_adder(const qs_view &v, uint32_t *room)
		: mask_of(v, room)
	{
	}

	template <bool WEIGHTED>
	__device__ __forceinline__ void
	add(const qs_view &v, qs_walk<WEIGHTED> &walk) const
	{
		uint32_t own = qs_lane() % M;
		Counter *counters = (Counter *) v.table + own;

		while (walk.next())
			qs_walk_rounds<M>(walk, qs_target_of(v, walk, mask_of),
							  [&](uint32_t bucket, uint32_t mask, uint64_t weight) {
								  if (mask >> own & 1)
									  atomicAdd(&counters[(uint64_t) bucket * M], (Counter) weight);
							  });
	}
};

/* The least of the counters that the mask selects, in a bucket of one sector. */
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

/* The least selected counter of any bucket; only selected counters are read. */
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

template <int M, typename Counter>
__global__ void
__launch_bounds__(QS_BLOCK) query_keys(const qs_view v, const qs_batch b, int64_t *estimate)
{
	__shared__ uint32_t room[QS_SHARED_MASKS];
	qs_mask_lookup<M> mask_of(v, room);
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < b.count; i += stride)
	{
		uint64_t hv = qb_hash(__ldcs(&b.key[i]), v.seed_key);
		const Counter *bucket = (const Counter *) v.table + (uint64_t) qs_reduce_short(hv, v.n) * M;
		Counter least;

		if (M * sizeof(Counter) == 32)
			least = sector_min((const uint4 *) bucket, mask_of(hv));
		else
			least = gather_min(bucket, mask_of(hv));
		__stcs(&estimate[i], (int64_t) least);
	}
}

template <int M>
static qb_status
insert(qs_cuda *gpu, const qs_view *v, const qs_batch *b)
{
	return v->wide ? qs_add_batch<bucketed_adder<M, qs_u64>>(gpu, v, b)
				   : qs_add_batch<bucketed_adder<M, uint32_t>>(gpu, v, b);
}

template <int M>
static qb_status
query(qs_cuda *gpu, const qs_view *v, const qs_batch *b, int64_t *estimate)
{
	auto kernel = v->wide ? query_keys<M, qs_u64> : query_keys<M, uint32_t>;

	return qs_launch(gpu, kernel, b->count, *v, *b, estimate);
}

template <int M>
static qb_status
merge(qs_cuda *gpu, const qs_view *into, const qs_view *from)
{
	return qs_counters_merge(gpu, into, from, into->n * M);
}

template <int M>
static qb_status
bulk(qs_cuda *gpu, const qs_view *v, const qs_parted *parted)
{
	return v->wide ? qs_add_tiles<qs_plain_tile<M, qs_u64>>(gpu, v, parted)
				   : qs_add_tiles<qs_plain_tile<M, uint32_t>>(gpu, v, parted);
}

template <int M>
static uint32_t
bucket_bytes(bool wide)
{
	return M * (wide ? 8 : 4);
}

template <int M>
static qb_status
groups(qs_cuda *gpu, const qs_view *v, qs_grouped *grouped)
{
	return qs_add_groups<bucketed_adder<M, uint32_t>>(gpu, v, grouped);
}

template <int M>
static constexpr qs_cuda_ops
make_ops()
{
	return { insert<M>, query<M>, merge<M>, bulk<M>, groups<M>, M, bucket_bytes<M> };
}

const qs_cuda_ops qs_sub_warp_cuda = make_ops<8>();
const qs_cuda_ops qs_half_warp_cuda = make_ops<16>();
const qs_cuda_ops qs_warp_cuda = make_ops<32>();
