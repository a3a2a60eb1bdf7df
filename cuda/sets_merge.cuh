/*
 * sets_merge.cuh
 *		A piece of a pair's merge path, merged by a block: for sets_pairwise.cu.
 *
 * Both parts come to shared memory 16 bytes at a time.  There each warp takes an
 * equal share of the path, and of its share 32 elements of the shorter side at
 * once: one a lane, found among the next WINDOW elements of the other side,
 * which begin where the last 32 ended.  Neighbouring lanes look at neighbouring
 * places or at the same ones, so that they seldom meet in a bank.
 *
 * Floor: the elements read once, 4 bytes each.  Of shared memory a lane's
 * element takes one read, one of the window's end, 7 to search WINDOW elements,
 * two shuffles: about 5 an element of both sides, less than the time to bring it.
 *
 * cuda/sets_merge.cuh
 */
#ifndef QI_SETS_MERGE_CUH
#define QI_SETS_MERGE_CUH

#include <cuda_pipeline.h>

#include "sets_pairwise.cuh"

#define WARPS        (THREADS / 32)
#define MERGE_PIECE  8000 /* elements of both sides: six blocks to a multiprocessor of 228 kB */
#define MERGE_BLOCKS 6
#define WINDOW       64
#define QUAD         4 /* elements of 16 bytes */

/* Two parts, each from a 16-byte boundary on, less than a quad before it begins. */
struct merging
{
	__align__(16) uint32_t element[MERGE_PIECE + 1 + 4 * QUAD + WINDOW];
	uint32_t x[WARPS + 1], y[WARPS + 1]; /* the warps' cuts */
};

/* Words from the 16-byte boundary before it. */
__device__ __forceinline__ uint32_t
before_boundary(const uint32_t *p)
{
	return (uint32_t) ((uintptr_t) p / sizeof(*p) % QUAD);
}

/*
 * Queue the copy of a part to "to", which is a boundary; nothing behind its end is
 * read.  Returns the words from "to" to the next boundary behind it.
 */
__device__ __forceinline__ uint32_t
queue_part(uint32_t *to, const uint32_t *from, uint32_t count)
{
	uint32_t skip = before_boundary(from);
	uint32_t words = count > 0 ? skip + count : 0;

	for (uint32_t i = threadIdx.x * QUAD; i < words; i += THREADS * QUAD)
		__pipeline_memcpy_async(to + i, from - skip + i, 16,
								words - i < QUAD ? (QUAD - (words - i)) * sizeof(*to) : 0);
	return (words + QUAD - 1) / QUAD * QUAD;
}

/* As qi_path_cut(), by a warp in shared memory. */
__device__ __forceinline__ void
cut_share(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m, uint32_t diagonal,
		  uint32_t *x, uint32_t *y)
{
	uint32_t low = diagonal > m ? diagonal - m : 0;
	uint32_t high = diagonal < n ? diagonal : n;

	while (low < high)
	{
		uint32_t step = (high - low + 31) / 32;
		uint32_t at = low + qs_lane() * step;
		bool before = at < high && a[at] <= b[diagonal - at - 1];
		uint32_t lanes = __popc(__ballot_sync(QS_ALL_LANES, before));

		high = lanes < 32 && low + lanes * step < high ? low + lanes * step : high;
		low = lanes > 0 ? low + (lanes - 1) * step + 1 : low;
	}
	*x = low;
	*y = diagonal - low;
	if (*x > 0 && *y < m && a[*x - 1] == b[*y])
		(*y)++;
}

/* The first place of b from "at" on, before "end", that is not below "element". */
__device__ __forceinline__ uint32_t
skip_below(const uint32_t *b, uint32_t at, uint32_t end, uint32_t element)
{
	while (at < end)
	{
		uint32_t middle = (at + end) / 2;

		if (b[middle] < element)
			at = middle + 1;
		else
			end = middle;
	}
	return at;
}

/*
 * Elements that a[0 .. n-1] and b have in common, by a warp; of b the first m may
 * be among them, and behind these is something larger, WINDOW words at least.
 */
__device__ uint32_t
merge_share(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
	uint32_t common = 0, at = 0;

	for (uint32_t i = 0; i < n; i += 32)
	{
		uint32_t last = n - i < 32 ? n - 1 : i + 31;
		uint32_t element = a[i + qs_lane() < n ? i + qs_lane() : last];
		uint32_t place = at;

		if (b[at + WINDOW - 1] >= a[last])
		{
#pragma unroll
			for (uint32_t step = WINDOW / 2; step > 0; step /= 2)
				place += b[place + step - 1] < element ? step : 0;
		}
		else
			place = skip_below(b, at, m, element);
		common += b[place] == element && i + qs_lane() < n;
		at = __shfl_sync(QS_ALL_LANES, place, 31);
	}
	return common;
}

/* A piece: n elements from "a" on, m from "b" on; all threads come here. */
__device__ uint32_t
merge_piece(merging *s, const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
	uint32_t *to_b = s->element + queue_part(s->element, a, n);
	const uint32_t *x = s->element + before_boundary(a), *y = to_b + before_boundary(b);
	uint32_t warp = threadIdx.x / 32;
	uint32_t i, j;

	queue_part(to_b, b, m);
	__pipeline_commit();
	__pipeline_wait_prior(0);
	__syncthreads();
	for (i = threadIdx.x; i < WINDOW; i += THREADS)
		to_b[before_boundary(b) + m + i] = NOTHING;
	__syncthreads();
	cut_share(x, n, y, m, (n + m) * warp / WARPS, &i, &j);
	if (qs_lane() == 0)
	{
		s->x[warp] = i;
		s->y[warp] = j;
	}
	if (threadIdx.x == 0)
	{
		s->x[WARPS] = n;
		s->y[WARPS] = m;
	}
	__syncthreads();
	uint32_t count_x = s->x[warp + 1] - i, count_y = s->y[warp + 1] - j;

	/*
	 * Behind a share of y is more of it, or nothing, but behind one of x may be
	 * y, which begins anew: so x is searched only where this is not so.
	 */
	if (count_x > count_y && s->x[warp + 1] + WINDOW <= n)
		return merge_share(y + j, count_y, x + i, count_x);
	return merge_share(x + i, count_x, y + j, count_y);
}

#endif
