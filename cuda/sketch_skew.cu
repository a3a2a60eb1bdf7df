/*
 * sketch_skew.cu
 *		Chooses how a batch is inserted, and treats keys that occur often separately.
 *
 * In a partitioned batch one block counts all keys of a tile.  So a key that occurs often would
 * keep one block busy.  To avoid this, one block first samples 4096 keys of the batch.  Keys that
 * occur at least three times in the sample are hot.  If hot keys are a noticeable fraction of the
 * sample, a pass over the batch counts hot keys in shared memory, and copies all other keys, which
 * are cold.  Then the hot keys are inserted with their counts as weights, and the cold keys by
 * bulk.  A batch without hot keys costs only the sample, about 20 us.
 *
 * Floor per key of a skewed batch: 8 bytes read, and 8 written for each cold
 * key, in addition to inserting the cold keys.
 *
 * In batches that are not partitioned, the walk of a warp handles equal keys (sketch_kernels.cuh).
 *
 * SQL: as in sketch_bulk.cu.
 *
 * cuda/sketch_skew.cu
 */
#include "sketch_bulk.cuh"

#include "base/slot.h"

#define SAMPLE_BLOCK 1024
#define SAMPLE       4096
#define SAMPLE_SLOTS (2 * SAMPLE)
#define HOT_HITS     3  /* occurrences in the sample that make a key hot */
#define SPLIT_HITS   16 /* occurrences of all hot keys in the sample that make splitting pay */
#define SPLIT_BLOCK  512
#define SPLIT_EACH   8 /* keys of a thread in a step */

/* Number of keys that qs_cuda_gains_together() assumes for several chunks of a column. */
#define TOGETHER_KEYS (UINT64_C(1) << 24)

/* Hash table of the hot keys of a batch. */
struct hot_keys
{
	uint64_t *key;
	uint64_t *weight;
};

#define HOT_SLOTS 2048

static_assert(2 * HOT_SLOTS <= QS_SCRATCH_WORDS, "keys and weights fit");

/* The table of hot keys of a device, in its scratch memory. */
static inline hot_keys
hot_of(const qs_cuda *gpu)
{
	return { gpu->scratch, gpu->scratch + HOT_SLOTS };
}

static_assert(HOT_SLOTS * 2 >= 3 * SAMPLE / HOT_HITS, "at most two thirds full");

/*
 * Marks a free slot in hash tables.  A key with this value is never hot, so a batch of such keys
 * takes longer than a batch of another key, but is added correctly.
 */
#define NO_KEY UINT64_C(0x6B1D5C0FFEE5A17E)

/* Return the slot of a key in a table with open addressing, or the free slot for this key. */
__device__ __forceinline__ uint32_t
find_slot(const uint64_t *slots, uint32_t count, uint64_t key, const qb_secret &secret)
{
	uint32_t i = (uint32_t) qb_slot_of(qb_slot_hash_by(&secret, key), count);

	while (slots[i] != key && slots[i] != NO_KEY)
		i = (i + 1) % count;
	return i;
}

/*
 * Return the slot of a key, and store the key if the slot is free.  Several threads may call this
 * function at the same time.
 */
__device__ __forceinline__ uint32_t
take_slot(uint64_t *slots, uint32_t count, uint64_t key, const qb_secret &secret)
{
	uint32_t i = (uint32_t) qb_slot_of(qb_slot_hash_by(&secret, key), count);

	for (;; i = (i + 1) % count)
	{
		uint64_t found = atomicCAS((qs_u64 *) &slots[i], NO_KEY, key);

		if (found == NO_KEY || found == key)
			return i;
	}
}

/*
 * Fill hot.key with the hot keys of a sample, and add the number of sampled keys that are hot to
 * *hits.  Runs as one block.
 */
__global__ void
__launch_bounds__(SAMPLE_BLOCK)
	sample_keys(const qs_batch b, const __grid_constant__ qb_secret secret, const hot_keys hot,
				uint64_t *hits)
{
	extern __shared__ uint64_t slots[];
	uint32_t *count = (uint32_t *) (slots + SAMPLE_SLOTS);

	for (uint32_t i = threadIdx.x; i < SAMPLE_SLOTS; i += SAMPLE_BLOCK)
	{
		slots[i] = NO_KEY;
		count[i] = 0;
	}
	for (uint32_t i = threadIdx.x; i < HOT_SLOTS; i += SAMPLE_BLOCK)
	{
		hot.key[i] = NO_KEY;
		hot.weight[i] = 0;
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < SAMPLE; i += SAMPLE_BLOCK)
	{
		uint64_t key = b.key[qb_reduce(qb_mix64(i + 1), b.count)];

		if (key != NO_KEY)
			atomicAdd(&count[take_slot(slots, SAMPLE_SLOTS, key, secret)], 1);
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < SAMPLE_SLOTS; i += SAMPLE_BLOCK)
		if (count[i] >= HOT_HITS)
		{
			take_slot(hot.key, HOT_SLOTS, slots[i], secret);
			atomicAdd((qs_u64 *) hits, count[i]);
		}
}

/* A block's data of split_keys, in shared memory. */
struct split_block
{
	uint64_t key[HOT_SLOTS];
	uint32_t weight[HOT_SLOTS];
	uint32_t cold;  /* number of cold keys of this step */
	uint64_t first; /* index of the block's first cold key in the output */
};

/*
 * One step of a block: count hot keys, and copy cold keys.  Each warp first counts its cold keys,
 * and then reserves the output for them.
 */
__device__ __forceinline__ void
split_step(split_block &block, const qs_batch &b, uint64_t first, const qb_secret &secret,
		   uint64_t *cold, uint64_t *cold_count)
{
	uint64_t key[SPLIT_EACH];
	uint32_t rank[SPLIT_EACH]; /* rank among the cold keys of the warp, or -1 */
	uint32_t kept = 0, base = 0;

#pragma unroll
	for (int k = 0; k < SPLIT_EACH; k++)
	{
		uint64_t i = first + k * SPLIT_BLOCK + threadIdx.x;

		key[k] = i < b.count ? __ldcs(&b.key[i]) : 0;
	}
#pragma unroll
	for (int k = 0; k < SPLIT_EACH; k++)
	{
		bool valid = first + k * SPLIT_BLOCK + threadIdx.x < b.count;
		uint32_t slot = find_slot(block.key, HOT_SLOTS, key[k], secret);
		bool hot = block.key[slot] != NO_KEY;
		uint32_t colds = __ballot_sync(QS_ALL_LANES, valid && !hot);

		if (valid && hot)
			atomicAdd(&block.weight[slot], 1);
		rank[k] = valid && !hot ? kept + __popc(colds & ((1u << qs_lane()) - 1)) : UINT32_MAX;
		kept += __popc(colds);
	}
	if (qs_lane() == 0)
		base = atomicAdd(&block.cold, kept);
	base = __shfl_sync(QS_ALL_LANES, base, 0);
	__syncthreads();
	if (threadIdx.x == 0)
	{
		block.first = atomicAdd((qs_u64 *) cold_count, block.cold);
		block.cold = 0;
	}
	__syncthreads();
#pragma unroll
	for (int k = 0; k < SPLIT_EACH; k++)
		if (rank[k] != UINT32_MAX)
			cold[block.first + base + rank[k]] = key[k];
}

__global__ void
__launch_bounds__(SPLIT_BLOCK)
	split_keys(const qs_batch b, const __grid_constant__ qb_secret secret, const hot_keys hot,
			   uint64_t *cold, uint64_t *cold_count)
{
	__shared__ split_block block;
	uint64_t stride = (uint64_t) gridDim.x * SPLIT_BLOCK * SPLIT_EACH;

	for (uint32_t i = threadIdx.x; i < HOT_SLOTS; i += SPLIT_BLOCK)
	{
		block.key[i] = hot.key[i];
		block.weight[i] = 0;
	}
	if (threadIdx.x == 0)
		block.cold = 0;
	__syncthreads();
	for (uint64_t first = (uint64_t) blockIdx.x * SPLIT_BLOCK * SPLIT_EACH; first < b.count;
		 first += stride)
		split_step(block, b, first, secret, cold, cold_count);
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < HOT_SLOTS; i += SPLIT_BLOCK)
		if (block.weight[i] != 0)
			atomicAdd((qs_u64 *) &hot.weight[i], block.weight[i]);
}

/* How a batch is inserted by bulk. */
struct way
{
	bool split; /* count hot keys first */
	uint8_t *work;
	size_t cold_bytes; /* bytes of the workspace for cold keys */
};

bool
qs_wants_bulk(const qs_cuda_sketch *sk, uint64_t count)
{
	if (sk->gpu->bulk == QS_BULK_NEVER || !qs_bulk_possible(sk))
		return false;
	return sk->gpu->bulk == QS_BULK_ALWAYS || qs_bulk_pays(sk, count);
}

static qb_status
sample(qs_cuda_sketch *sk, const qs_batch *b, bool *split)
{
	qs_cuda *gpu = sk->gpu;
	size_t shared = SAMPLE_SLOTS * (sizeof(uint64_t) + sizeof(uint32_t));

	*split = false;
	if (shared > gpu->shared_max)
		return QB_OK;
	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result, 0, sizeof(uint64_t), gpu->stream));
	QS_TRY(qs_launch_blocks(gpu, sample_keys, { 1, SAMPLE_BLOCK, shared }, *b, qb_process_secret,
							hot_of(gpu), gpu->result));
	QS_TRY(qs_read_result(gpu, 1));
	*split = gpu->host_result[0] >= SPLIT_HITS;
	return QB_OK;
}

/* Search for hot keys, and allocate the workspace; QB_NO_MEMORY if there is too little memory. */
static qb_status
choose(qs_cuda_sketch *sk, const qs_batch *b, way *w)
{
	uint64_t most = qs_bulk_most(sk);

	*w = {};
	QS_TRY(sample(sk, b, &w->split));
	if (w->split)
		w->cold_bytes = qs_ceil_div(b->count * sizeof(uint64_t), 256) * 256;
	return qs_workspace(
		sk->gpu, w->cold_bytes + qs_bulk_bytes(sk, b->count < most ? b->count : most), &w->work);
}

/* Insert the hot keys with their counts as weights.  *b becomes the batch of cold keys. */
static qb_status
split(qs_cuda_sketch *sk, const way *w, qs_batch *b)
{
	qs_cuda *gpu = sk->gpu;
	hot_keys hot = hot_of(gpu);
	qs_batch counted = { hot.key, (const int64_t *) hot.weight, HOT_SLOTS };
	uint64_t *cold = (uint64_t *) w->work;

	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result, 0, sizeof(uint64_t), gpu->stream));
	QS_TRY(qs_launch_blocks(gpu, split_keys,
							{ qs_ceil_div(b->count, SPLIT_BLOCK * SPLIT_EACH), SPLIT_BLOCK, 0 }, *b,
							qb_process_secret, hot, cold, gpu->result));
	QS_TRY(qs_insert_keys(sk, &counted));
	QS_TRY(qs_read_result(gpu, 1));
	b->key = cold;
	b->count = gpu->host_result[0];
	return QB_OK;
}

static qb_status
insert_bulk(qs_cuda_sketch *sk, const qs_batch *b, uint8_t *work)
{
	uint64_t most = qs_bulk_most(sk);
	uint64_t at;

	for (at = 0; at < b->count; at += most)
	{
		qs_batch slice = { b->key + at, NULL, b->count - at < most ? b->count - at : most };

		QS_TRY(qs_bulk_insert(sk, &slice, work));
	}
	return QB_OK;
}

qb_status
qs_insert_fastest(qs_cuda_sketch *sk, const qs_batch *b)
{
	qs_batch left = *b;
	qb_status status;
	way w;

	if (b->count == 0)
		return QB_OK;
	if (!qs_wants_bulk(sk, b->count))
		return qs_insert_keys(sk, b);
	status = choose(sk, b, &w);
	if (status == QB_NO_MEMORY)
		return qs_insert_keys(sk, b);
	QS_TRY(status);
	if (w.split)
		QS_TRY(split(sk, &w, &left));
	if (left.count == 0)
		return QB_OK;
	/* if few keys are left, partitioning may no longer pay */
	return qs_wants_bulk(sk, left.count) ? insert_bulk(sk, &left, w.work + w.cold_bytes)
										 : qs_insert_keys(sk, &left);
}

uint64_t
qs_fastest_launches(const qs_cuda_sketch *sk, uint64_t count)
{
	/* by bulk: one launch for the hot keys, and one for each slice of the cold keys */
	return qs_wants_bulk(sk, count) ? 1 + qs_ceil_div(count, qs_bulk_most(sk)) : 1;
}

bool
qs_cuda_gains_together(const qs_cuda_sketch *sk)
{
	return qs_wants_bulk(sk, TOGETHER_KEYS);
}
