/*
 * filter_blocked.cu
 *		Blocked Bloom filters on the device: rows into them, and lookups.
 *
 * Insertion.  Few keys go to the filter directly (qf_warp_insert).  If the
 * filter fits into the shared memory of a block, each block fills a filter of
 * its own there and in the end ORs it into the filter of the device.  Many
 * keys for a larger filter are partitioned first (filter_blocked_bulk.cu).
 *
 * Lookups.  A warp brings the lines of 32 keys to shared memory, four lanes a
 * line, and each lane then tests its key's bits there.  L1 looks up one line a
 * cycle: a thread that loads its line alone, in four pieces, asks for the line
 * four times.  A filter that fits is copied to the shared memory of each
 * block.  No lookup stops early: an absent key costs the same line.
 *
 * Floor per key in device memory: one random line (two sectors) read, and an
 * atomic on each sector that changes.
 *
 * cuda/filter_blocked.cu
 */
#include <cuda_pipeline.h>

#include "filter_blocked.cuh"

/* Threads of a block that has a filter in shared memory. */
#define LARGE_BLOCK 1024

/* Is row i inserted at all? */
__device__ __forceinline__ bool
counts(const qf_rows &r, uint64_t i)
{
	return i < r.count && (!r.copies || r.copies[i] > 0);
}

/* Call each(index of the lane's key) with all lanes of a warp, also for the last keys. */
template <typename Each>
__device__ __forceinline__ void
for_warps(uint64_t count, Each each)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t at = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x - qs_lane(); at < count;
		 at += stride)
		each(at + qs_lane());
}

__global__ void
__launch_bounds__(QS_BLOCK) insert_lines(const qf_view v, const qf_rows r)
{
	__shared__ uint4 rows[QS_BLOCK * QF_LINE_QUADS];
	uint4 *own = rows + threadIdx.x / 32 * 32 * QF_LINE_QUADS;

	for_warps(r.count, [&](uint64_t i) {
		uint64_t key = i < r.count ? __ldcs(&r.fingerprint[i]) : 0;

		qf_warp_insert(v, own, qf_hash(key, v.seed_key), counts(r, i));
	});
}

template <bool ONE_DRAW>
__global__ void
__launch_bounds__(LARGE_BLOCK) insert_lines_shared(const qf_view v, const qf_rows r)
{
	extern __shared__ uint32_t filter[];
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint32_t i = threadIdx.x; i < v.words; i += LARGE_BLOCK)
		filter[i] = 0;
	__syncthreads();
	for (uint64_t i = (uint64_t) blockIdx.x * LARGE_BLOCK + threadIdx.x; i < r.count; i += stride)
	{
		uint64_t h = qf_hash(__ldcs(&r.fingerprint[i]), v.seed_key);

		if (counts(r, i))
			qf_line_set<ONE_DRAW>(filter + qf_line_of(v, h) * QF_LINE_WORDS, v, h);
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < v.words; i += LARGE_BLOCK)
		if (filter[i] & ~__ldcg(&v.word[i]))
			atomicOr(&v.word[i], filter[i]);
}

/* Are all bits of h set in a line in shared memory? */
__device__ __forceinline__ bool
has_all(const uint32_t *line, const qf_view &v, uint64_t h)
{
	uint32_t missing = 0;

	qf_line_bits(v, h, [&](uint32_t bit) { missing |= ~line[bit / 32] >> bit % 32; });
	return !(missing & 1);
}

/* Queue the copies of the lines of 32 keys. */
__device__ __forceinline__ void
bring_lines(const qf_view &v, uint4 *rows, uint32_t line)
{
	const uint4 *table = (const uint4 *) v.word + qs_lane() % QF_LINE_QUADS;

#pragma unroll
	for (int turn = 0; turn < QF_LINE_QUADS; turn++)
	{
		uint32_t from = turn * (32 / QF_LINE_QUADS) + qs_lane() / QF_LINE_QUADS;
		uint64_t first = (uint64_t) __shfl_sync(QS_ALL_LANES, line, from) * QF_LINE_QUADS;

		__pipeline_memcpy_async(&rows[turn * 32 + qs_lane()], table + first, sizeof(uint4));
	}
	__pipeline_commit();
}

__global__ void
__launch_bounds__(QS_BLOCK)
	find_lines(const qf_view v, const uint64_t *key, uint64_t count, bool *found)
{
	__shared__ uint4 rows[QS_BLOCK * QF_LINE_QUADS];
	uint4 *own = rows + threadIdx.x / 32 * 32 * QF_LINE_QUADS;
	const uint32_t *mine = (const uint32_t *) (own + qs_lane() * QF_LINE_QUADS);

	for_warps(count, [&](uint64_t i) {
		uint64_t h = qf_hash(i < count ? __ldcs(&key[i]) : 0, v.seed_key);

		bring_lines(v, own, qf_line_of(v, h));
		__pipeline_wait_prior(0);
		__syncwarp();
		if (i < count)
			found[i] = has_all(mine, v, h);
		__syncwarp();
	});
}

__global__ void
__launch_bounds__(LARGE_BLOCK)
	find_lines_shared(const qf_view v, const uint64_t *key, uint64_t count, bool *found)
{
	extern __shared__ uint4 copy[];
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint32_t i = threadIdx.x; i < v.lines * QF_LINE_QUADS; i += LARGE_BLOCK)
		copy[i] = ((const uint4 *) v.word)[i];
	__syncthreads();
	for (uint64_t i = (uint64_t) blockIdx.x * LARGE_BLOCK + threadIdx.x; i < count; i += stride)
	{
		uint64_t h = qf_hash(__ldcs(&key[i]), v.seed_key);

		found[i] = has_all((const uint32_t *) (copy + qf_line_of(v, h) * QF_LINE_QUADS), v, h);
	}
}

/* Insert keys one by one, into the filter in device memory or in shared memory. */
static qb_status
insert_straight(const qf_cuda_filter *f, const qf_rows *r)
{
	qs_cuda *gpu = f->gpu;
	auto kernel =
		f->view.k == QF_BLOCK_DRAWS ? insert_lines_shared<true> : insert_lines_shared<false>;
	size_t bytes = qf_bits_bytes(f);
	bool shared;
	int grid;

	QS_TRY(qf_wants_shared(f, kernel, r->count, &shared));
	if (!shared)
		return qs_launch(gpu, insert_lines, r->count, f->view, *r);
	QS_TRY(qs_grid(gpu, kernel, LARGE_BLOCK, bytes, qs_ceil_div(r->count, LARGE_BLOCK), &grid));
	kernel<<<grid, LARGE_BLOCK, bytes, gpu->stream>>>(f->view, *r);
	return qs_launched(gpu);
}

/* Keys are inserted one by one if there is no memory to partition them. */
qb_status
qf_insert_blocked(const qf_cuda_filter *f, const qf_rows *r)
{
	qf_rows rest = *r;

	while (!r->copies && rest.count > 0 && qf_bulk_pays(f, rest.count))
	{
		uint64_t some = rest.count < QF_BULK_KEYS ? rest.count : QF_BULK_KEYS;
		qb_status status = qf_bulk_insert(f, rest.fingerprint, some);

		if (status == QB_NO_MEMORY)
			break;
		if (status != QB_OK)
			return status;
		rest.fingerprint += some;
		rest.count -= some;
	}
	return rest.count > 0 ? insert_straight(f, &rest) : QB_OK;
}

/*
 * If the filter is in device memory, each key has its own thread.  Short
 * blocks spread their reads better than blocks that stay and take keys in
 * strides: 7 % faster.
 */
qb_status
qf_contains_blocked(const qf_cuda_filter *f, const uint64_t *key, uint64_t count, bool *found)
{
	qs_cuda *gpu = f->gpu;
	size_t bytes = qf_bits_bytes(f);
	bool shared;
	int grid;

	QS_TRY(qf_wants_shared(f, find_lines_shared, count, &shared));
	if (!shared)
	{
		find_lines<<<(uint32_t) qs_ceil_div(count, QS_BLOCK), QS_BLOCK, 0, gpu->stream>>>(
			f->view, key, count, found);
		return qs_launched(gpu);
	}
	QS_TRY(qs_grid(gpu, find_lines_shared, LARGE_BLOCK, bytes, qs_ceil_div(count, LARGE_BLOCK),
				   &grid));
	find_lines_shared<<<grid, LARGE_BLOCK, bytes, gpu->stream>>>(f->view, key, count, found);
	return qs_launched(gpu);
}
