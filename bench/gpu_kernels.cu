/*
 * gpu_kernels.cu
 *		Kernels of the GPU benchmark: keys, ceilings, and a plain reference.
 *
 * bench/gpu_kernels.cu
 */
#include <cuda_runtime.h>

extern "C"
{
#include "sketch/cells.h"
}

#include "gpu_kernels.h"

#define BLOCK 256

/* The values of key_kind in test/gpu/support.h that gk_keys() accepts. */
enum
{
	UNIFORM,
	ZIPF_11,
	ZIPF_12,
	ZIPF_15,
	EQUAL
};

#define ZIPF_UNIVERSE 268435456.0

/* Call each(i) for i = 0 .. count - 1. */
template <typename Each>
__device__ __forceinline__ void
for_each(uint64_t count, Each each)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		each(i);
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

__device__ uint64_t
zipf(double s, uint64_t random)
{
	double u = (double) (random >> 11) * (1.0 / 9007199254740992.0);

	return (uint64_t) pow(1.0 - u * (1.0 - pow(ZIPF_UNIVERSE, 1.0 - s)), 1.0 / (1.0 - s));
}

__global__ void
__launch_bounds__(BLOCK) fill_keys(int kind, double s, uint64_t seed, uint64_t *key, uint64_t count)
{
	for_each(count, [&](uint64_t i) {
		uint64_t random = qb_mix64(i * QB_ROW_STEP + seed);

		key[i] = kind == UNIFORM ? random
				 : kind == EQUAL ? UINT64_C(0x123456789)
								 : qb_mix64(zipf(s, random) + 77);
	});
}

int
gk_keys(void *stream, int kind, uint64_t seed, uint64_t *key, uint64_t count)
{
	double s = kind == ZIPF_11 ? 1.1 : kind == ZIPF_12 ? 1.2 : 1.5;

	fill_keys<<<full_grid(fill_keys), BLOCK, 0, (cudaStream_t) stream>>>(kind, s, seed, key, count);
	return cudaGetLastError();
}

/*
 * Return the index for a key.  RANDOM: from the key's hash.  Not RANDOM: from the key's number and
 * one bit of the hash, and n is a power of two.
 */
template <bool RANDOM>
__device__ __forceinline__ uint64_t
index_of(uint64_t key, uint64_t i, uint64_t n)
{
	uint64_t hv = qb_hash(key, qb_seed_key(0));

	return RANDOM ? qb_reduce(hv, n) : (i + (hv >> 63)) & (n - 1);
}

template <bool RANDOM, typename Answer>
__global__ void
__launch_bounds__(BLOCK) read_sectors(const uint64_t *key, uint64_t count, const uint4 *table,
									  uint64_t sectors, Answer *answer)
{
	for_each(count, [&](uint64_t i) {
		uint64_t at = index_of<RANDOM>(__ldcs(&key[i]), i, sectors);
		uint4 a = __ldg(&table[at * 2]);
		uint4 b = __ldg(&table[at * 2 + 1]);

		__stcs(&answer[i],
			   (Answer) min(min(min(a.x, a.y), min(a.z, a.w)), min(min(b.x, b.y), min(b.z, b.w))));
	});
}

template <bool RANDOM>
__global__ void
__launch_bounds__(BLOCK)
	add_ones(const uint64_t *key, uint64_t count, uint32_t *table, uint64_t counters)
{
	for_each(count, [&](uint64_t i) {
		atomicAdd(&table[index_of<RANDOM>(__ldcs(&key[i]), i, counters)], 1u);
	});
}

int
gk_run_ceiling(void *stream, gk_ceiling ceiling, const uint64_t *key, uint64_t count, void *table,
			   uint64_t bytes, int64_t *answer)
{
	cudaStream_t s = (cudaStream_t) stream;
	const uint4 *sectors = (const uint4 *) table;
	int grid = full_grid(read_sectors<true, int64_t>);

	switch (ceiling)
	{
		case GK_READ_SECTOR:
			read_sectors<true><<<grid, BLOCK, 0, s>>>(key, count, sectors, bytes / 32, answer);
			break;
		case GK_READ_SECTOR_OF4:
			read_sectors<true>
				<<<grid, BLOCK, 0, s>>>(key, count, sectors, bytes / 32, (int32_t *) answer);
			break;
		case GK_READ_SEQUENTIAL:
			read_sectors<false><<<grid, BLOCK, 0, s>>>(key, count, sectors, bytes / 32, answer);
			break;
		case GK_ADD_RANDOM:
			add_ones<true><<<grid, BLOCK, 0, s>>>(key, count, (uint32_t *) table, bytes / 4);
			break;
		case GK_ADD_SEQUENTIAL:
			add_ones<false><<<grid, BLOCK, 0, s>>>(key, count, (uint32_t *) table, bytes / 4);
			break;
	}
	return cudaGetLastError();
}

/* Call each(counter) for a key's counters if its bucket is below "limit" (for thread, always). */
template <typename Each>
__device__ __forceinline__ void
for_each_counter(const qs_params &p, uint32_t m, uint64_t limit, uint64_t key, Each each)
{
	uint64_t seed_key = qb_seed_key(p.seed);
	uint64_t hv = qb_hash(key, seed_key);

	if (p.structure == QS_THREAD)
		for (uint32_t row = 0; row < p.depth; row++)
			each(p.n * row + qs_row_cell(hv, row, p.n));
	else if (qb_reduce(hv, p.n) < limit)
	{
		uint32_t index = (uint32_t) hv & (qs_mask_count(&p) - 1);
		uint32_t mask = qs_mask_rotation(qs_mask(seed_key, m, p.depth, index), m, hv);

		for (; mask != 0; mask &= mask - 1)
			each(qb_reduce(hv, p.n) * m + __ffs(mask) - 1);
	}
}

__global__ void
__launch_bounds__(BLOCK) reference_insert(const qs_params p, uint32_t m, uint64_t limit,
										  const uint64_t *key, uint64_t count, uint32_t *counter)
{
	for_each(count, [&](uint64_t i) {
		/* equal keys of a warp share one atomic; with one atomic per key, skewed data take minutes */
		uint32_t active = __activemask();
		uint32_t same = __match_any_sync(active, key[i]);

		if (__ffs(same) - 1 == (int) (threadIdx.x % 32))
			for_each_counter(p, m, limit, key[i],
							 [&](uint64_t c) { atomicAdd(&counter[c], __popc(same)); });
	});
}

__global__ void
__launch_bounds__(BLOCK)
	reference_compare(const qs_params p, uint32_t m, uint64_t limit, const uint64_t *key,
					  uint64_t count, const uint32_t *counter, const int64_t *estimate,
					  uint64_t *wrong)
{
	for_each(count, [&](uint64_t i) {
		uint32_t least = UINT32_MAX;
		bool known = false;

		for_each_counter(p, m, limit, key[i], [&](uint64_t c) {
			least = min(least, counter[c]);
			known = true;
		});
		if (known && estimate[i] != (int64_t) least)
			atomicAdd((unsigned long long *) wrong, 1);
	});
}

uint64_t
gk_reference_counters(const qs_params *p, uint64_t limit)
{
	return p->structure == QS_THREAD ? p->n * p->depth : limit * qs_bucket_width(p->structure);
}

int
gk_reference_insert(void *stream, const qs_params *p, uint64_t limit, const uint64_t *key,
					uint64_t count, uint32_t *counter)
{
	reference_insert<<<full_grid(reference_insert), BLOCK, 0, (cudaStream_t) stream>>>(
		*p, qs_bucket_width(p->structure), limit, key, count, counter);
	return cudaGetLastError();
}

int
gk_reference_compare(void *stream, const qs_params *p, uint64_t limit, const uint64_t *key,
					 uint64_t count, const uint32_t *counter, const int64_t *estimate,
					 uint64_t *wrong)
{
	reference_compare<<<full_grid(reference_compare), BLOCK, 0, (cudaStream_t) stream>>>(
		*p, qs_bucket_width(p->structure), limit, key, count, counter, estimate, wrong);
	return cudaGetLastError();
}
