/*
 * sketch_cuda.c
 *		Sketches on a GPU: the worker's operations on the CUDA engine.
 *
 * src/gpu/sketch_cuda.c
 */
#include "gpu/cuda.h"
#include "gpu/sketch_device.h"

#include "sketch/format.h"
#include "sketch_cuda.h"

static qb_status
cuda_create(void *device, const qs_params *params, void **sketch)
{
	const GpuCudaDevice *d = device;

	*sketch = NULL;
	if (!GpuCudaHasRoom(d, qs_dense_size(params, false)))
		return QB_NO_MEMORY;
	return qs_cuda_create(d->gpu, params, (qs_cuda_sketch **) sketch);
}

static qb_status
cuda_load(void *device, const qs_sketch *from, void **sketch)
{
	const GpuCudaDevice *d = device;

	*sketch = NULL;
	if (!GpuCudaHasRoom(d, qs_dense_size(&from->params, from->wide)))
		return QB_NO_MEMORY;
	return qs_cuda_load(d->gpu, from, (qs_cuda_sketch **) sketch);
}

static void
cuda_destroy(void *sketch)
{
	qs_cuda_destroy(sketch);
}

static qb_status
cuda_insert(void *sketch, const uint64 *key, const int64 *weight, size_t count)
{
	return qs_cuda_insert(sketch, key, weight, count);
}

static qb_status
cuda_insert_all(void *sketch, const GpuKeys *batch, int batches)
{
	qs_cuda_keys keys[GPU_TOGETHER];
	int i;

	StaticAssertStmt(GPU_TOGETHER <= QS_CUDA_TOGETHER, "too many batches for a launch");
	for (i = 0; i < batches; i++)
		keys[i] = (qs_cuda_keys){ batch[i].key, batch[i].weight, batch[i].count };
	return qs_cuda_insert_all(sketch, keys, batches);
}

static qb_status
cuda_insert_device(void *sketch, const uint64 *key, size_t count)
{
	return qs_cuda_insert_device(sketch, key, NULL, count);
}

static qb_status
cuda_insert_groups(void *const *sketch, const uint64 *count, uint32 sketches, const uint64 *key)
{
	return qs_cuda_insert_groups((qs_cuda_sketch *const *) sketch, count, sketches, key);
}

static qb_status
cuda_query(void *sketch, const uint64 *key, size_t count, int64 *estimate)
{
	return qs_cuda_query(sketch, key, count, estimate);
}

static qb_status
cuda_merge_begin(void *sketch, const qs_params *from, int64 total)
{
	return qs_cuda_merge_begin(sketch, from, total);
}

static qb_status
cuda_merge_slice(void *sketch, qs_slice to, const void *from, qs_slice units)
{
	return qs_cuda_merge_slice(sketch, to, from, units);
}

static qb_status
cuda_take_slice(void *sketch, qs_slice units, qs_sketch *to, const qb_memory *memory)
{
	return qs_cuda_take_slice(sketch, units, to, memory);
}

static qb_status
cuda_freeze(void *sketch, qs_sketch *head)
{
	return qs_cuda_freeze(sketch, head);
}

static qb_status
cuda_read(void *sketch, uint64 offset, uint64 bytes, uint8 *to)
{
	return qs_cuda_read(sketch, offset, bytes, to);
}

static uint64
cuda_bytes(const void *sketch)
{
	return qs_cuda_bytes(sketch);
}

static int64
cuda_total(const void *sketch)
{
	return qs_cuda_total(sketch);
}

const GpuSketchDeviceOps gpu_cuda_sketches = {
	.create = cuda_create,
	.load = cuda_load,
	.destroy = cuda_destroy,
	.insert = cuda_insert,
	.insert_all = cuda_insert_all,
	.insert_device = cuda_insert_device,
	.insert_groups = cuda_insert_groups,
	.query = cuda_query,
	.merge_begin = cuda_merge_begin,
	.merge_slice = cuda_merge_slice,
	.take_slice = cuda_take_slice,
	.freeze = cuda_freeze,
	.read = cuda_read,
	.bytes = cuda_bytes,
	.total = cuda_total,
};
