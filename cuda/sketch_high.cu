/*
 * sketch_high.cu
 *		Work on all buckets of a multilevel sketch: merging, renumbering.
 *
 * A warp takes a bucket, and lane i counter i, so low buckets and high buckets
 * are read and written whole.  Floor: each low bucket is read once, and
 * written once if it changes; so is each high bucket.
 *
 * cuda/sketch_high.cu
 */
#include "sketch_kernels.cuh"

#define INDEX_WORD 7

/* Number of the high bucket, or -1. */
__device__ __forceinline__ int64_t
high_number(const uint8_t *low)
{
	uint32_t index = ((const uint32_t *) low)[INDEX_WORD];

	return index < QS_HIGH_INDEX_MIN ? -1 : (int64_t) index - QS_HIGH_INDEX_MIN;
}

/* A lane's counter of a high bucket. */
__device__ __forceinline__ uint64_t
high_counter(const qs_view &v, int64_t number)
{
	if (number < 0 || qs_lane() >= QS_LOW_COUNTERS)
		return 0;
	return qb_counter_get(v.extra, (uint64_t) number * QS_HIGH_COUNTERS + qs_lane(), v.wide);
}

__device__ __forceinline__ void
set_high_counter(uint8_t *extra, bool wide, int64_t number, uint64_t value)
{
	qb_counter_set(extra, (uint64_t) number * QS_HIGH_COUNTERS + qs_lane(), wide, value);
}

/* A lane's counter of a bucket: low part and high part. */
__device__ __forceinline__ uint64_t
counter(const qs_view &v, uint64_t bucket)
{
	const uint8_t *low = v.table + bucket * QS_LOW_BYTES;

	if (qs_lane() >= QS_LOW_COUNTERS)
		return 0;
	return low[qs_lane()] + (high_counter(v, high_number(low)) << 8);
}

/* Call each(bucket) for all buckets; whole warps make a call. */
template <typename Each>
__device__ __forceinline__ void
for_each_bucket(uint64_t n, Each each)
{
	uint64_t warps = (uint64_t) gridDim.x * blockDim.x / 32;

	for (uint64_t b = ((uint64_t) blockIdx.x * blockDim.x + threadIdx.x) / 32; b < n; b += warps)
		each(b);
}

/* Set a bucket to new values, and take a high bucket if it needs one. */
__device__ __forceinline__ void
set_bucket(const qs_view &v, uint64_t bucket, uint64_t value)
{
	uint8_t *low = v.table + bucket * QS_LOW_BYTES;
	int64_t number = high_number(low);

	if (number < 0 && __any_sync(QS_ALL_LANES, value > 255))
	{
		uint32_t taken = qs_lane() == 0 ? atomicAdd(v.high_used, 1) : 0;

		number = __shfl_sync(QS_ALL_LANES, taken, 0);
		if (qs_lane() == 0)
			((uint32_t *) low)[INDEX_WORD] = (uint32_t) number + QS_HIGH_INDEX_MIN;
	}
	__syncwarp();
	if (qs_lane() < QS_LOW_COUNTERS)
		low[qs_lane()] = (uint8_t) value;
	if (number >= 0)
		set_high_counter(v.extra, v.wide, number, value >> 8);
}

__global__ void
__launch_bounds__(QS_BLOCK) merge_buckets(const qs_view into, const qs_view from)
{
	for_each_bucket(into.n, [&](uint64_t bucket) {
		uint64_t value = counter(into, bucket);
		uint64_t gain = counter(from, bucket);

		__syncwarp();
		if (__any_sync(QS_ALL_LANES, gain != 0))
			set_bucket(into, bucket, value + gain);
	});
}

qb_status
qs_high_merge(qs_cuda *gpu, const qs_view *into, const qs_view *from)
{
	return qs_launch(gpu, merge_buckets, into->n * 32, *into, *from);
}

__global__ void
__launch_bounds__(QS_BLOCK) sanitize_buckets(const qs_view v, uint64_t high)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t b = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; b < v.n; b += stride)
	{
		uint8_t *low = v.table + b * QS_LOW_BYTES;

		if (high_number(low) < 0 || (uint64_t) high_number(low) >= high)
			((uint32_t *) low)[INDEX_WORD] = 0;
	}
}

qb_status
qs_high_sanitize(qs_cuda *gpu, const qs_view *v, uint64_t high)
{
	return qs_launch(gpu, sanitize_buckets, v->n, *v, high);
}

/*
 * Count the live high buckets in *live.  If "to" is not NULL, copy each live
 * high bucket to the place of its number in the count, and change the low
 * bucket's index.
 */
__global__ void
__launch_bounds__(QS_BLOCK) collect_live(const qs_view v, uint8_t *to, uint64_t *live)
{
	for_each_bucket(v.n, [&](uint64_t bucket) {
		uint8_t *low = v.table + bucket * QS_LOW_BYTES;
		int64_t number = high_number(low);
		uint64_t value = high_counter(v, number);
		bool is_live = __any_sync(QS_ALL_LANES, value != 0);
		uint64_t next = 0;

		if (is_live && qs_lane() == 0)
			next = atomicAdd((qs_u64 *) live, 1);
		next = __shfl_sync(QS_ALL_LANES, next, 0);
		if (!to || number < 0)
			return;
		if (qs_lane() == 0)
			((uint32_t *) low)[INDEX_WORD] = is_live ? (uint32_t) next + QS_HIGH_INDEX_MIN : 0;
		if (is_live)
			set_high_counter(to, v.wide, (int64_t) next, value);
	});
}

static qb_status
collect(qs_cuda *gpu, const qs_view *v, uint8_t *to)
{
	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result, 0, sizeof(uint64_t), gpu->stream));
	return qs_launch(gpu, collect_live, v->n * 32, *v, to, gpu->result);
}

qb_status
qs_high_live(qs_cuda *gpu, const qs_view *v, uint64_t *live)
{
	QS_TRY(collect(gpu, v, NULL));
	QS_TRY(qs_read_result(gpu, 1));
	*live = gpu->host_result[0];
	return QB_OK;
}

qb_status
qs_high_compact(qs_cuda *gpu, const qs_view *v, uint8_t *to)
{
	return collect(gpu, v, to);
}

qb_status
qs_high_widen(qs_cuda *gpu, uint8_t *to, const uint8_t *from, uint64_t high)
{
	return high == 0 ? QB_OK : qs_counters_widen(gpu, to, from, high * QS_HIGH_COUNTERS);
}
