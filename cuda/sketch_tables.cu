/*
 * sketch_tables.cu
 *		Arithmetic on whole tables of plain counters, and sums of weights.
 *
 * A thread takes a counter; neighbouring threads take neighbouring counters.
 * Floor: each counter is read once and written once.
 *
 * cuda/sketch_tables.cu
 */
#include "sketch_kernels.cuh"

template <typename Into, typename From>
__global__ void
__launch_bounds__(QS_BLOCK) merge_counters(Into *into, const From *from, uint64_t count)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		into[i] += (Into) __ldcs(&from[i]);
}

template <typename Into, typename From>
static qb_status
merge(qs_cuda *gpu, const qs_view *into, const qs_view *from, uint64_t count)
{
	auto kernel = merge_counters<Into, From>;

	return qs_launch(gpu, kernel, count, (Into *) into->table, (const From *) from->table, count);
}

qb_status
qs_counters_merge(qs_cuda *gpu, const qs_view *into, const qs_view *from, uint64_t counters)
{
	if (into->wide)
		return from->wide ? merge<qs_u64, qs_u64>(gpu, into, from, counters)
						  : merge<qs_u64, uint32_t>(gpu, into, from, counters);
	return from->wide ? merge<uint32_t, qs_u64>(gpu, into, from, counters)
					  : merge<uint32_t, uint32_t>(gpu, into, from, counters);
}

__global__ void
__launch_bounds__(QS_BLOCK) widen_counters(uint64_t *to, const uint32_t *from, uint64_t count)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		__stcs(&to[i], (uint64_t) __ldcs(&from[i]));
}

qb_status
qs_counters_widen(qs_cuda *gpu, uint8_t *to, const uint8_t *from, uint64_t counters)
{
	return qs_launch(gpu, widen_counters, counters, (uint64_t *) to, (const uint32_t *) from,
					 counters);
}

/* Sum the low halves and the high halves of weights; neither sum can overflow. */
__global__ void
__launch_bounds__(QS_BLOCK)
	sum_weights(const int64_t *weight, uint64_t count, uint64_t *low, uint64_t *high)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;
	uint64_t low_sum = 0, high_sum = 0;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
	{
		uint64_t w = (uint64_t) __ldcs(&weight[i]);

		low_sum += w & UINT32_MAX;
		high_sum += w >> 32;
	}
	for (int lanes = 16; lanes > 0; lanes /= 2)
	{
		low_sum += __shfl_down_sync(QS_ALL_LANES, low_sum, lanes);
		high_sum += __shfl_down_sync(QS_ALL_LANES, high_sum, lanes);
	}
	if (qs_lane() == 0)
	{
		atomicAdd((qs_u64 *) low, low_sum);
		atomicAdd((qs_u64 *) high, high_sum);
	}
}

qb_status
qs_weights_sum(qs_cuda *gpu, const int64_t *weight, uint64_t count, int64_t *sum)
{
	unsigned __int128 total;

	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result, 0, 2 * sizeof(uint64_t), gpu->stream));
	QS_TRY(qs_launch(gpu, sum_weights, count, weight, count, &gpu->result[0], &gpu->result[1]));
	QS_TRY(qs_read_result(gpu, 2));
	total = ((unsigned __int128) gpu->host_result[1] << 32) + gpu->host_result[0];
	*sum = total > INT64_MAX ? -1 : (int64_t) total;
	return QB_OK;
}
