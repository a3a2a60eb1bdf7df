/*
 * sketch_kernels.cuh
 *		What the kernels of sketches share: masks, the walk of a warp over a batch,
 *		rounds, batches of many sketches.
 *
 * Structures with buckets add keys as follows.  A warp reads 32 keys, and each lane hashes one of
 * them.  Then all lanes add the 32 keys in rounds (qs_rounds).  So each key is hashed once, and
 * neighbouring lanes change the counters of one bucket by one instruction.
 *
 * Equal keys.  Changes of one counter are serialized in the L2 cache.  So a warp adds equal keys of
 * its 32 keys together, with their number as weight, unless the keys have weights.  The search for
 * equal keys costs about as much as hashing.  So a warp searches only in every eighth step, and in
 * each step that follows a step with equal keys (qs_walk).  In partitioned batches sketch_skew.cu
 * handles equal keys.
 *
 * SQL: qsketch_agg() (insert_keys), with GROUP BY on cached columns (insert_groups), and lookups of
 * arrays (query_keys).
 *
 * cuda/sketch_kernels.cuh
 */
#ifndef QS_SKETCH_KERNELS_CUH
#define QS_SKETCH_KERNELS_CUH

#include "device.cuh"
#include "sketch.cuh"

#define QS_SHARED_MASKS 1024 /* if a sketch has more masks, all are read through the cache */
#define QS_EQUAL_STEPS  8    /* steps between two checks for equal keys; 2^k */

/* qs_mask_rotate_by() for a constant M, in 32 bits if they suffice. */
template <int M>
__device__ __forceinline__ uint32_t
qs_rotate(uint32_t mask, uint32_t positions)
{
	if (M == 32)
		return __funnelshift_l(mask, mask, positions);
	if (M <= 16)
		return (mask << positions | mask << positions >> M % 32) & ((1u << M % 32) - 1);
	return qs_mask_rotate_by(mask, M, positions);
}

/*
 * Looks up the mask of hv, for buckets of M counters.  All threads of the block must call the
 * constructor.
 */
template <int M> struct qs_mask_lookup
{
	const uint32_t *shared, *global;
	uint32_t last;
	bool is_shared;

	__device__ __forceinline__
	qs_mask_lookup(const qs_view &v, uint32_t *room)
		: shared(room), global(v.masks), last(v.mask_count - 1),
		  is_shared(v.mask_count <= QS_SHARED_MASKS)
	{
		if (is_shared)
			for (uint32_t i = threadIdx.x; i < v.mask_count; i += blockDim.x)
				room[i] = v.masks[i];
		__syncthreads();
	}

	__device__ __forceinline__ uint32_t
	operator()(uint64_t hv) const
	{
		uint32_t index = (uint32_t) hv & last;

		return qs_rotate<M>(is_shared ? shared[index] : __ldg(&global[index]),
							qs_mask_positions(M, hv));
	}
};

/*
 * A warp's walk over a batch, 32 keys per step.  After next() each lane has one key, and adds it
 * with weight "weight" if "active" is true.  Lanes behind the end of the batch are not active.
 * If "ones" is true, all weights of the warp are 1.  All lanes of the warp make the same steps, so
 * the caller may use shuffles.
 */
template <bool WEIGHTED> struct qs_walk
{
	const qs_batch &batch;
	uint64_t seed_key, at, stride;
	uint64_t hv, weight;
	uint32_t step;
	bool active, ones, skewed;

	/*
	 * A walk from key "first" on.  Each step has 32 keys.  The next step begins "keys" keys behind
	 * the beginning of this step.
	 */
	__device__ __forceinline__
	qs_walk(const qs_view &v, const qs_batch &b, uint64_t first, uint64_t keys)
		: batch(b), seed_key(v.seed_key), at(first), stride(keys), step(0), ones(!WEIGHTED),
		  skewed(false)
	{
	}

	/* A walk in which the warps of the launch together process the whole batch. */
	__device__ __forceinline__
	qs_walk(const qs_view &v, const qs_batch &b)
		: qs_walk(v, b, (uint64_t) blockIdx.x * blockDim.x + (threadIdx.x & ~31u),
				  (uint64_t) gridDim.x * blockDim.x)
	{
	}

	__device__ __forceinline__ bool
	next()
	{
		uint64_t i = at + qs_lane();

		if (at >= batch.count)
			return false;
		active = i < batch.count;
		hv = qb_hash(active ? __ldcs(&batch.key[i]) : 0, seed_key);
		if (WEIGHTED)
			weight = !active ? 0 : batch.weight ? (uint64_t) __ldcs(&batch.weight[i]) : 1;
		else
			join_equal();
		at += stride;
		return true;
	}

  private:
	__device__ __forceinline__ void
	join_equal()
	{
		weight = 1;
		ones = true;
		if (skewed || step++ % QS_EQUAL_STEPS == 0)
		{
			uint32_t same =
				__match_any_sync(QS_ALL_LANES, hv) & __ballot_sync(QS_ALL_LANES, active);

			skewed = __any_sync(QS_ALL_LANES, active && (same & (same - 1)) != 0);
			if (skewed)
			{
				weight = __popc(same);
				active = active && __ffs(same) - 1 == (int) qs_lane();
				ones = false;
			}
		}
	}
};

/* Pack the bucket and the mask of a key into one word, for the shuffles of qs_rounds(). */
__device__ __forceinline__ uint64_t
qs_target(uint64_t bucket, uint32_t mask)
{
	return bucket << 32 | mask;
}

/* Return the packed bucket and mask of a lane's key; 0: the lane has no active key. */
template <int M, bool WEIGHTED>
__device__ __forceinline__ uint64_t
qs_target_of(const qs_view &v, const qs_walk<WEIGHTED> &walk, const qs_mask_lookup<M> &mask_of)
{
	return walk.active ? qs_target(qs_reduce_short(walk.hv, v.n), mask_of(walk.hv)) : 0;
}

/*
 * Call apply(bucket, mask, weight) for the 32 keys of a warp, in rounds
 * of 32 / LANES keys; LANES neighbouring lanes share a key.  Inactive keys have
 * target 0, which selects no counter.
 */
template <int LANES, bool ONES, typename Apply>
__device__ __forceinline__ void
qs_rounds(uint64_t target, uint64_t weight, Apply apply)
{
#pragma unroll
	for (int round = 0; round < LANES; round++)
	{
		int source = round * (32 / LANES) + qs_lane() / LANES;
		uint64_t t = __shfl_sync(QS_ALL_LANES, target, source);
		uint64_t w = ONES ? 1 : __shfl_sync(QS_ALL_LANES, weight, source);

		apply((uint32_t) (t >> 32), (uint32_t) t, w);
	}
}

/* Call qs_rounds() for the 32 keys of one step of a walk. */
template <int LANES, bool WEIGHTED, typename Apply>
__device__ __forceinline__ void
qs_walk_rounds(const qs_walk<WEIGHTED> &walk, uint64_t target, Apply apply)
{
	if (walk.ones)
		qs_rounds<LANES, true>(target, 1, apply);
	else
		qs_rounds<LANES, false>(target, walk.weight, apply);
}

/*
 * Add a batch by an Adder, which a structure defines.  All threads of a block construct the Adder
 * with shared memory for masks.  Its add() adds all keys of a walk.
 */
template <typename Adder, bool WEIGHTED>
__global__ void
__launch_bounds__(QS_BLOCK) insert_keys(const qs_view v, const qs_batch b)
{
	__shared__ uint32_t room[QS_SHARED_MASKS];
	Adder adder(v, room);
	qs_walk<WEIGHTED> walk(v, b);

	adder.add(v, walk);
}

template <typename Adder>
static qb_status
qs_add_batch(qs_cuda *gpu, const qs_view *v, const qs_batch *b)
{
	auto kernel = b->weight ? insert_keys<Adder, true> : insert_keys<Adder, false>;

	return qs_launch(gpu, kernel, b->count, *v, *b);
}

/*
 * Estimate each key, a thread per key.  A Table is constructed like an Adder, and its least()
 * returns the estimate.
 */
template <typename Table>
__global__ void
__launch_bounds__(QS_BLOCK) query_keys(const qs_view v, const qs_batch b, int64_t *estimate)
{
	__shared__ uint32_t room[QS_SHARED_MASKS];
	Table table(v, room);

	qs_for_each(b.count, [&](uint64_t i) {
		uint64_t hv = qb_hash(__ldcs(&b.key[i]), v.seed_key);

		__stcs(&estimate[i], (int64_t) table.least(v, hv));
	});
}

/*
 * ---- one launch that adds keys to many sketches; the keys are ordered by sketch ----
 *
 * A warp adds a chunk of neighbouring keys.  It looks up the sketch of the first key, and continues
 * with the next sketch where the keys of this sketch end.  The chunk's keys of one sketch are added
 * as a batch.  Therefore many small batches together fill the device, and each block loads the
 * masks only once.
 *
 * Floor: as for adding the keys of one sketch.
 */

/* The members of a view that differ between sketches with equal parameters. */
struct qs_group
{
	uint8_t *table;
	uint8_t *extra;
	uint32_t *high_used;
	uint64_t end; /* index behind the sketch's last key */
};

/* Keys without weights, ordered by group. */
struct qs_grouped
{
	const uint64_t *key;
	uint64_t count;        /* number of keys, at least 1 */
	const qs_group *group; /* in device memory; the end of the last group is "count" */
	uint32_t groups;
	uint64_t chunk; /* keys of a warp */
};

/*
 * Return the number of keys of a warp if "warps" warps share "count" keys, rounded up to whole
 * steps of a walk.
 */
static inline uint64_t
qs_chunk(uint64_t count, uint64_t warps)
{
	return qs_ceil_div(count, warps * 32) * 32;
}

template <typename Adder>
__global__ void
__launch_bounds__(QS_BLOCK) insert_groups(const qs_view common, const qs_grouped all)
{
	__shared__ uint32_t room[QS_SHARED_MASKS];
	Adder adder(common, room);
	uint64_t warp = ((uint64_t) blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint64_t at = warp * all.chunk;
	uint64_t end = min(at + all.chunk, all.count);
	uint32_t g = at < end ? qs_group_at(all.group, all.groups, at) : 0;

	for (; at < end; g++)
	{
		qs_group group = all.group[g];
		qs_batch batch = { all.key + at, NULL, min(group.end, end) - at };
		qs_view v = common;

		v.table = group.table;
		v.extra = group.extra;
		v.high_used = group.high_used;
		qs_walk<false> walk(v, batch, 0, 32);
		adder.add(v, walk);
		at += batch.count;
	}
}

template <typename Adder>
static qb_status
qs_add_groups(qs_cuda *gpu, const qs_view *v, qs_grouped *all)
{
	uint64_t blocks = qs_ceil_div(all->count, QS_BLOCK);
	int grid;

	QS_TRY(qs_grid(gpu, insert_groups<Adder>, QS_BLOCK, 0, blocks, &grid));
	all->chunk = qs_chunk(all->count, (uint64_t) grid * (QS_BLOCK / 32));
	insert_groups<Adder><<<grid, QS_BLOCK, 0, gpu->stream>>>(*v, *all);
	return qs_launched(gpu);
}

#endif
