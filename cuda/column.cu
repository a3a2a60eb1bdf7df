/*
 * column.cu
 *		Arrays of keys in device memory: columns of tables that are kept there.
 *
 * cuda/column.cu
 */
#include "column_cuda.h"

#include "device.cuh"

qb_status
qs_cuda_keys_create(qs_cuda *gpu, uint64_t room, uint64_t **key)
{
	void *made = NULL;

	*key = NULL;
	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(qs_device_alloc(gpu, room * sizeof(uint64_t), &made));
	*key = (uint64_t *) made;
	return QB_OK;
}

void
qs_cuda_keys_destroy(qs_cuda *gpu, uint64_t *key, uint64_t room)
{
	cudaSetDevice(gpu->device); /* qs_cuda_enter() would forget why a call failed */
	qs_device_free(gpu, key, room * sizeof(uint64_t));
}

static qb_status
copy_keys(qs_cuda *gpu, uint64_t *to, const uint64_t *from, uint64_t count, cudaMemcpyKind kind)
{
	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(to, from, count * sizeof(uint64_t), kind, gpu->stream));
	return QB_OK;
}

qb_status
qs_cuda_keys_copy(qs_cuda *gpu, uint64_t *to, const uint64_t *from, uint64_t count)
{
	return copy_keys(gpu, to, from, count, cudaMemcpyDeviceToDevice);
}

qb_status
qs_cuda_keys_put(qs_cuda *gpu, uint64_t *to, const uint64_t *from, uint64_t count)
{
	QS_TRY(copy_keys(gpu, to, from, count, cudaMemcpyHostToDevice));
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	gpu->stats.bytes_in += count * sizeof(uint64_t);
	return QB_OK;
}

qb_status
qs_cuda_keys_get(qs_cuda *gpu, uint64_t *to, const uint64_t *from, uint64_t count)
{
	QS_TRY(copy_keys(gpu, to, from, count, cudaMemcpyDeviceToHost));
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	gpu->stats.bytes_out += count * sizeof(uint64_t);
	return QB_OK;
}

/* A block copies the keys of a run; blocks take runs in strides. */
static __global__ void
gather_kernel(uint64_t *to, const uint64_t *from, const qs_cuda_run *run, uint32_t runs)
{
	for (uint32_t r = blockIdx.x; r < runs; r += gridDim.x)
		for (uint64_t i = threadIdx.x; i < run[r].count; i += blockDim.x)
			to[run[r].to + i] = from[run[r].first + i];
}

qb_status
qs_cuda_keys_gather(qs_cuda *gpu, uint64_t *to, const uint64_t *from, const qs_cuda_run *run,
					uint32_t runs, void *buffer)
{
	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(buffer, run, runs * sizeof(*run), cudaMemcpyHostToDevice,
									 gpu->stream));
	return qs_launch(gpu, gather_kernel, (uint64_t) runs * QS_BLOCK, to, from,
					 (const qs_cuda_run *) buffer, runs);
}
