/*
 * gpu_filter_kernels.cu
 *		Kernels of the benchmark of filters on a GPU: keys, ceilings, and the paper's kernels.
 *
 * bench/gpu_filter_kernels.cu
 */
#include "gpu_filter.h"
#include "device.cuh"

#define BLOCK 256

template <typename Each>
__device__ __forceinline__ void
for_each(uint64_t count, Each each)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

#pragma unroll 4
	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		each(i);
}

__global__ void
__launch_bounds__(BLOCK) fill_keys(uint64_t *key, uint64_t count, uint64_t first, uint64_t distinct)
{
	for_each(count,
			 [&](uint64_t i) { key[i] = qb_mix64((first + i % distinct) * QB_ROW_STEP + 12345); });
}

/* Make key number first + i for odd i, and number i % distinct for even i; see gf_keys_half(). */
__global__ void
__launch_bounds__(BLOCK)
	fill_keys_half(uint64_t *key, uint64_t count, uint64_t first, uint64_t distinct)
{
	for_each(count, [&](uint64_t i) {
		key[i] = qb_mix64((i % 2 ? first + i : i % distinct) * QB_ROW_STEP + 12345);
	});
}

__global__ void
__launch_bounds__(BLOCK)
	read_random(const uint32_t *word, uint64_t words, uint64_t count, uint32_t *sum)
{
	uint32_t ones = 0;

	for_each(count,
			 [&](uint64_t i) { ones += __ldcg(&word[qs_reduce_short(qb_mix64(i), words)]) & 1; });
	if (ones == UINT32_MAX) /* never true, but the compiler must keep the reads */
		*sum = ones;
}

__global__ void
__launch_bounds__(BLOCK) or_random(uint32_t *word, uint64_t words, uint64_t count)
{
	for_each(count, [&](uint64_t i) {
		uint64_t random = qb_mix64(i);

		atomicOr(&word[qs_reduce_short(random, words)], 1u << (random & 31));
	});
}

/*
 * Return i / k for inverse = inverse_of(k), i < 2^44 and 1 < k < 2^20.  The function multiplies,
 * because a division would take most of the time.
 */
__device__ __forceinline__ uint64_t
divide(uint64_t i, uint64_t inverse)
{
	return qb_mul_high(i, inverse);
}

static uint64_t
inverse_of(uint32_t k)
{
	return UINT64_MAX / k + 1;
}

/* Process each pair of a key and a hash separately, with one random number. */
__global__ void
__launch_bounds__(BLOCK)
	insert_each(qf_params p, uint64_t inverse, uint64_t seed_key, uint64_t nonce_key,
				const uint64_t *key, uint64_t count, uint32_t *word)
{
	for_each(count * p.k, [&](uint64_t i) {
		uint64_t row = divide(i, inverse);
		uint32_t j = (uint32_t) (i - row * p.k);
		uint32_t position;

		if (qf_draw(qf_draw_base(nonce_key, row), j) < p.q)
			return;
		position = qf_position(qf_hash(key[row], seed_key), j, p.m);
		atomicOr(&word[position / 32], 1u << position % 32);
	});
}

__global__ void
__launch_bounds__(BLOCK)
	query_each(qf_params p, uint64_t inverse, uint64_t seed_key, const uint64_t *key,
			   uint64_t count, const uint32_t *word, int64_t *set)
{
	for_each(count * p.k, [&](uint64_t i) {
		uint64_t at = divide(i, inverse);
		uint32_t position = qf_position(qf_hash(key[at], seed_key), (uint32_t) (i - at * p.k), p.m);

		if (word[position / 32] >> position % 32 & 1)
			atomicAdd((qs_u64 *) &set[at], 1);
	});
}

/* Return the number of blocks that fill the device. */
template <typename Kernel>
static int
full_grid(Kernel kernel)
{
	int device = 0, multiprocessors = 0, blocks = 0;

	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
	cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, BLOCK, 0);
	return multiprocessors * blocks;
}

int
gf_keys(void *stream, uint64_t *key, uint64_t count, uint64_t first, uint64_t distinct)
{
	fill_keys<<<full_grid(fill_keys), BLOCK, 0, (cudaStream_t) stream>>>(key, count, first,
																		 distinct);
	return cudaGetLastError();
}

int
gf_keys_half(void *stream, uint64_t *key, uint64_t count, uint64_t first, uint64_t distinct)
{
	fill_keys_half<<<full_grid(fill_keys_half), BLOCK, 0, (cudaStream_t) stream>>>(key, count,
																				   first, distinct);
	return cudaGetLastError();
}

int
gf_read_random(void *stream, uint32_t *word, uint64_t words, uint64_t count)
{
	read_random<<<full_grid(read_random), BLOCK, 0, (cudaStream_t) stream>>>(word, words, count,
																			 word);
	return cudaGetLastError();
}

int
gf_or_random(void *stream, uint32_t *word, uint64_t words, uint64_t count)
{
	or_random<<<full_grid(or_random), BLOCK, 0, (cudaStream_t) stream>>>(word, words, count);
	return cudaGetLastError();
}

int
gf_insert_paper(void *stream, const qf_filter *f, uint64_t nonce, const uint64_t *key,
				uint64_t count, uint32_t *word)
{
	insert_each<<<full_grid(insert_each), BLOCK, 0, (cudaStream_t) stream>>>(
		f->params, inverse_of(f->params.k), f->seed_key, qf_nonce_key(nonce), key, count, word);
	return cudaGetLastError();
}

int
gf_query_paper(void *stream, const qf_filter *f, const uint64_t *key, uint64_t count,
			   const uint32_t *word, int64_t *set)
{
	query_each<<<full_grid(query_each), BLOCK, 0, (cudaStream_t) stream>>>(
		f->params, inverse_of(f->params.k), f->seed_key, key, count, word, set);
	return cudaGetLastError();
}
