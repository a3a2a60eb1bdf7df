/*
 * sets_merge.cuh
 *		A piece of a pair's merge path, merged by a block: for sets_pairwise.cu.
 *
 * Both parts come to shared memory 16 bytes at a time.  There each thread takes an
 * equal share of the path and goes along it, one element a step.
 *
 * Floor: the elements read once, 4 bytes each.  A step takes some 15 instructions
 * and one read of shared memory; finding where a share begins, as much as ten.
 * Blocks that run at the same time load and merge in turns more than side by side:
 * what is left to the floor is waiting for memory, not instructions (13.7 million
 * instead of 24.2, by steps written in PTX and larger shares, took the same time).
 *
 * cuda/sets_merge.cuh
 */
#ifndef QI_SETS_MERGE_CUH
#define QI_SETS_MERGE_CUH

#include <cuda_pipeline.h>

#include "sets_pairwise.cuh"

#define WARPS        (THREADS / 32)
#define MERGE_PIECE  (31 * THREADS) /* elements of both sides; */
#define MERGE_BLOCKS 6              /* so many such fit a multiprocessor of 228 kB */
#define QUAD         4              /* elements of 16 bytes */

/* Two parts, each from a 16-byte boundary on, less than a quad before it begins. */
struct merging
{
	__align__(16) uint32_t element[MERGE_PIECE + 1 + 6 * QUAD];
};

/* Words from the 16-byte boundary before it. */
__device__ __forceinline__ uint32_t
before_boundary(const uint32_t *p)
{
	return (uint32_t) ((uintptr_t) p / sizeof(*p) % QUAD);
}

/*
 * Copy a part to "to", which is a boundary, 16 bytes at a time as far as it fills
 * them; nothing behind its end is read.  Returns the words up to the boundary behind it.
 */
__device__ __forceinline__ uint32_t
queue_part(uint32_t *to, const uint32_t *from, uint32_t count)
{
	uint32_t skip = before_boundary(from);
	uint32_t words = skip + count, whole = words / QUAD * QUAD;

	from -= skip;
	for (uint32_t i = threadIdx.x * QUAD; i < whole; i += THREADS * QUAD)
		__pipeline_memcpy_async(to + i, from + i, QUAD * sizeof(*to));
	if (threadIdx.x < words - whole && whole + threadIdx.x >= skip)
		to[whole + threadIdx.x] = from[whole + threadIdx.x];
	return whole + QUAD;
}

/*
 * How many of the first "diagonal" elements of the merged parts are of a, whose
 * elements come before equal ones of b.
 */
__device__ __forceinline__ uint32_t
cut_share(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m, uint32_t diagonal)
{
	uint32_t low = diagonal > m ? diagonal - m : 0;
	uint32_t high = diagonal < n ? diagonal : n;

	while (low < high)
	{
		uint32_t middle = (low + high) / 2;
		bool before = a[middle] <= b[diagonal - middle - 1];

		low = before ? middle + 1 : low;
		high = before ? high : middle;
	}
	return low;
}

/*
 * Take so many elements off the heads of a and b, the lesser first, of equal ones
 * a's, which is when an element in common is seen; behind the last ones is NOTHING.
 */
__device__ __forceinline__ uint32_t
merge_share(const uint32_t *element, uint32_t a, uint32_t b, uint32_t steps)
{
	uint32_t head_a = element[a], head_b = element[b], common = 0;

#pragma unroll 4
	for (uint32_t i = 0; i < steps; i++)
	{
		bool take_a = head_a <= head_b;
		uint32_t next;

		common += head_a == head_b;
		a += take_a;
		b += !take_a;
		next = element[take_a ? a : b];
		head_a = take_a ? next : head_a;
		head_b = take_a ? head_b : next;
	}
	return common;
}

/* A piece: n elements from "a" on, m from "b" on; all threads come here. */
__device__ uint32_t
merge_piece(merging *s, const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
	uint32_t first_a = before_boundary(a);
	uint32_t to_b = queue_part(s->element, a, n);
	uint32_t first_b = to_b + before_boundary(b);
	uint32_t share = (n + m + THREADS - 1) / THREADS;
	uint32_t from = min(threadIdx.x * share, n + m), steps = min(share, n + m - from);
	uint32_t x;

	queue_part(s->element + to_b, b, m);
	__pipeline_commit();
	__pipeline_wait_prior(0);
	__syncthreads();
	if (threadIdx.x == 0)
		s->element[first_a + n] = s->element[first_b + m] = NOTHING;
	__syncthreads();
	x = cut_share(s->element + first_a, n, s->element + first_b, m, from);
	return merge_share(s->element, first_a + x, first_b + from - x, steps);
}

#endif
