/*
 * key_bits.cu
 *		The bits in which keys differ.
 *
 * cuda/key_bits.cu
 */
#include "key_bits.cuh"
#include "kernels.cuh"

/* The bits that any and that all of the keys have: bits[0], bits[1]. */
__global__ void
__launch_bounds__(QS_BLOCK) find_bits(const int64_t *key, uint64_t count, unsigned long long *bits)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;
	uint64_t any = 0, all = ~UINT64_C(0);

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
	{
		any |= (uint64_t) key[i];
		all &= (uint64_t) key[i];
	}
	any = (uint64_t) __reduce_or_sync(QS_ALL_LANES, (uint32_t) (any >> 32)) << 32 |
		  __reduce_or_sync(QS_ALL_LANES, (uint32_t) any);
	all = (uint64_t) __reduce_and_sync(QS_ALL_LANES, (uint32_t) (all >> 32)) << 32 |
		  __reduce_and_sync(QS_ALL_LANES, (uint32_t) all);
	if (qs_lane() == 0)
	{
		atomicOr(&bits[0], any);
		atomicAnd(&bits[1], all);
	}
}

qb_status
qs_learn_bits(qs_cuda *gpu, const int64_t *key, uint64_t count, qs_key_bits *bits)
{
	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result, 0, sizeof(uint64_t), gpu->stream));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result + 1, 0xff, sizeof(uint64_t), gpu->stream));
	QS_TRY(qs_launch(gpu, find_bits, count, key, count, (unsigned long long *) gpu->result));
	QS_TRY(qs_read_result(gpu, 2));
	bits->any |= gpu->host_result[0];
	bits->all &= gpu->host_result[1];
	return QB_OK;
}
