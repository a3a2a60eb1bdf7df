/*
 * filter_query.cu
 *		Lookups in filters on the device, and the number of their bits.
 *
 * Counting set positions: a warp takes a key, and each lane some of its k
 * positions.  Testing whether all are set: a thread takes a key and stops at
 * the first position that is not set, which comes soon for almost all absent
 * keys.  In blocked filters the test reads a whole line at once
 * (filter_blocked.cu).
 *
 * Floor of counting: a key's positions are anywhere, so each is a random read
 * of a sector from L2, k reads a key.  If the filter fits into shared memory
 * and the keys are many, each block has a copy there.
 *
 * cuda/filter_query.cu
 */
#include "filter.cuh"
#include "kernels.cuh"

#define LARGE_BLOCK 1024

__device__ __forceinline__ uint32_t
is_set(const uint32_t *word, uint32_t position)
{
	return word[position / 32] >> position % 32 & 1;
}

/* Position j in any layout, as by qf_any_position(). */
__device__ __forceinline__ uint32_t
any_position(const qf_view &v, uint64_t h, uint32_t j)
{
	uint64_t draw;

	if (v.lines == 0)
		return qs_reduce_short(qb_mix64(qf_position_input(h, j)), v.m);
	draw = qf_block_draw(h, j / QF_BLOCK_DRAWS) >> j % QF_BLOCK_DRAWS * QF_BLOCK_LOG;
	return qf_block(h, v.m) + (uint32_t) (draw % QF_BLOCK_BITS);
}

/* Count set positions: a warp takes key after key. */
__device__ __forceinline__ void
count_keys(const qf_view &v, const uint32_t *word, const uint64_t *key, uint64_t count,
		   int64_t *set)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x / 32;

	for (uint64_t i = ((uint64_t) blockIdx.x * blockDim.x + threadIdx.x) / 32; i < count;
		 i += stride)
	{
		uint64_t h = qf_hash(__ldcs(&key[i]), v.seed_key);
		uint32_t ones = 0;

#pragma unroll 4
		for (uint32_t j = qs_lane(); j < v.k; j += 32)
			ones += is_set(word, any_position(v, h, j));
		for (int step = 16; step > 0; step /= 2)
			ones += __shfl_xor_sync(QS_ALL_LANES, ones, step);
		if (qs_lane() == 0)
			__stcs((long long *) &set[i], (long long) ones);
	}
}

__global__ void
__launch_bounds__(QS_BLOCK) query(qf_view v, const uint64_t *key, uint64_t count, int64_t *set)
{
	count_keys(v, v.word, key, count, set);
}

__global__ void
__launch_bounds__(LARGE_BLOCK)
	query_shared(qf_view v, const uint64_t *key, uint64_t count, int64_t *set)
{
	extern __shared__ uint32_t copy[];

	for (uint32_t i = threadIdx.x; i < v.words; i += blockDim.x)
		copy[i] = v.word[i];
	__syncthreads();
	count_keys(v, copy, key, count, set);
}

/* Test keys in the standard layout: a thread takes key after key. */
__device__ __forceinline__ void
find_keys_in(const qf_view &v, const uint32_t *word, const uint64_t *key, uint64_t count,
			 bool *found)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
	{
		uint64_t h = qf_hash(__ldcs(&key[i]), v.seed_key);
		uint32_t j = 0;

		while (j < v.k && is_set(word, any_position(v, h, j)))
			j++;
		found[i] = j == v.k;
	}
}

__global__ void
__launch_bounds__(QS_BLOCK) contains(qf_view v, const uint64_t *key, uint64_t count, bool *found)
{
	find_keys_in(v, v.word, key, count, found);
}

__global__ void
__launch_bounds__(LARGE_BLOCK)
	contains_shared(qf_view v, const uint64_t *key, uint64_t count, bool *found)
{
	extern __shared__ uint32_t copy[];

	for (uint32_t i = threadIdx.x; i < v.words; i += blockDim.x)
		copy[i] = v.word[i];
	__syncthreads();
	find_keys_in(v, copy, key, count, found);
}

/*
 * Copying the filter to each block takes as long as reading this many bits for
 * each of its bytes.
 */
#define READS_PER_BYTE 4

static qb_status
launch_query(const qf_cuda_filter *f, const uint64_t *key, uint64_t count, void *answer)
{
	qs_cuda *gpu = f->gpu;
	int64_t *set = (int64_t *) answer;
	bool pays = gpu->bulk == QS_BULK_ALWAYS ||
				count * f->view.k >= (uint64_t) READS_PER_BYTE * qf_bits_bytes(f);
	bool shared = false;
	int grid;

	if (pays)
		QS_TRY(qf_fits_shared(f, query_shared, &shared));
	if (!shared)
		return qs_launch(gpu, query, count * 32, f->view, key, count, set);
	QS_TRY(qs_grid(gpu, query_shared, LARGE_BLOCK, qf_bits_bytes(f),
				   qs_ceil_div(count, LARGE_BLOCK / 32), &grid));
	query_shared<<<grid, LARGE_BLOCK, qf_bits_bytes(f), gpu->stream>>>(f->view, key, count, set);
	QS_CUDA_LAUNCHED(gpu);
	return QB_OK;
}

static qb_status
launch_contains(const qf_cuda_filter *f, const uint64_t *key, uint64_t count, void *answer)
{
	qs_cuda *gpu = f->gpu;
	size_t bytes = qf_bits_bytes(f);
	bool *found = (bool *) answer;
	bool shared;
	int grid;

	if (f->view.lines > 0)
		return qf_contains_blocked(f, key, count, found);
	QS_TRY(qf_wants_shared(f, contains_shared, count, &shared));
	if (!shared)
		return qs_launch(gpu, contains, count, f->view, key, count, found);
	QS_TRY(
		qs_grid(gpu, contains_shared, LARGE_BLOCK, bytes, qs_ceil_div(count, LARGE_BLOCK), &grid));
	contains_shared<<<grid, LARGE_BLOCK, bytes, gpu->stream>>>(f->view, key, count, found);
	QS_CUDA_LAUNCHED(gpu);
	return QB_OK;
}

/* A kind of lookup. */
struct lookup
{
	size_t answer_bytes;
	qb_status (*launch)(const qf_cuda_filter *f, const uint64_t *key, uint64_t count, void *answer);
};

static const lookup count_set = { sizeof(int64_t), launch_query };
static const lookup find_keys = { sizeof(bool), launch_contains };

static qb_status
look_up_device(qf_cuda_filter *f, const lookup *l, const uint64_t *key, size_t count, void *answer)
{
	QS_TRY(qs_cuda_enter(f->gpu));
	if (count == 0)
		return QB_OK;
	f->gpu->stats.query_keys += count;
	return l->launch(f, key, count, answer);
}

static qb_status
look_up(qf_cuda_filter *f, const lookup *l, const uint64_t *key, size_t count, void *answer)
{
	qs_host_batch b;

	QS_TRY(qs_cuda_enter(f->gpu));
	b = qs_describe(key, NULL, answer, l->answer_bytes, count);
	f->gpu->stats.query_keys += count;
	return qs_for_pieces(f->gpu, &b, [&](const qs_batch *ready, uint64_t, void *answers) {
		return l->launch(f, ready->key, ready->count, answers);
	});
}

qb_status
qf_cuda_query(qf_cuda_filter *f, const uint64_t *fingerprint, size_t count, int64_t *set)
{
	return look_up(f, &count_set, fingerprint, count, set);
}

qb_status
qf_cuda_contains(qf_cuda_filter *f, const uint64_t *fingerprint, size_t count, bool *found)
{
	return look_up(f, &find_keys, fingerprint, count, found);
}

qb_status
qf_cuda_query_device(qf_cuda_filter *f, const uint64_t *fingerprint, size_t count, int64_t *set)
{
	return look_up_device(f, &count_set, fingerprint, count, set);
}

qb_status
qf_cuda_contains_device(qf_cuda_filter *f, const uint64_t *fingerprint, size_t count, bool *found)
{
	return look_up_device(f, &find_keys, fingerprint, count, found);
}

__global__ void
__launch_bounds__(QS_BLOCK) count_ones(const uint32_t *word, uint64_t words, qs_u64 *ones)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;
	qs_u64 sum = 0;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < words; i += stride)
		sum += __popc(word[i]);
	for (int step = 16; step > 0; step /= 2)
		sum += __shfl_xor_sync(QS_ALL_LANES, sum, step);
	if (qs_lane() == 0)
		atomicAdd(ones, sum);
}

qb_status
qf_cuda_ones(qf_cuda_filter *f, uint64_t *ones)
{
	qs_cuda *gpu = f->gpu;

	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result, 0, sizeof(*gpu->result), gpu->stream));
	QS_TRY(qs_launch(gpu, count_ones, f->view.words, (const uint32_t *) f->view.word,
					 (uint64_t) f->view.words, (qs_u64 *) gpu->result));
	QS_TRY(qs_read_result(gpu, 1));
	*ones = gpu->host_result[0];
	return QB_OK;
}
