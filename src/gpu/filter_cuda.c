/*
 * filter_cuda.c
 *		Filters on a GPU: the worker's operations on the CUDA engine.
 *
 * src/gpu/filter_cuda.c
 */
#include "gpu/cuda.h"
#include "gpu/filter_device.h"

#include "filter/format.h"
#include "filter_cuda.h"

/* An insert of so much work is waited for, so that its time is known. */
#define LONG_INSERT 1e7

typedef struct Filter
{
	GpuCudaDevice *device;
	double each; /* work of a row */
	qf_cuda_filter *filter;
	uint64 bytes;
} Filter;

static qb_status
cuda_create(void *device, const qf_params *params, void **filter)
{
	GpuCudaDevice *d = device;
	uint64 before = GpuCudaHeld(d);
	Filter *made;
	qb_status status;

	*filter = NULL;
	if (!GpuCudaHasRoom(d, qf_dense_size(params)))
		return QB_NO_MEMORY;
	made = calloc(1, sizeof(Filter));
	if (made == NULL)
		return QB_NO_MEMORY;
	status = qf_cuda_create(d->gpu, params, &made->filter);
	if (status != QB_OK)
	{
		free(made);
		return status;
	}
	made->device = d;
	made->each = params->k * qf_probability(params);
	made->bytes = GpuCudaHeld(d) - before;
	*filter = made;
	return QB_OK;
}

static void
cuda_destroy(void *filter)
{
	qf_cuda_destroy(((Filter *) filter)->filter);
	free(filter);
}

static qb_status
cuda_write(void *filter, uint64 offset, const uint8 *from, size_t bytes)
{
	return qf_cuda_put(((Filter *) filter)->filter, offset, from, bytes);
}

static qb_status
cuda_read(void *filter, uint64 offset, uint8 *to, size_t bytes)
{
	return qf_cuda_get(((Filter *) filter)->filter, offset, to, bytes);
}

static qb_status
cuda_set(void *filter, const uint32 *position, size_t count)
{
	return qf_cuda_set(((Filter *) filter)->filter, position, count);
}

static qb_status
cuda_insert(void *filter, const qf_batch *batch)
{
	Filter *f = filter;
	qb_status status = qf_cuda_insert(f->filter, batch);

	if (status == QB_OK && (batch->copies || f->each * batch->count > LONG_INSERT))
		status = qs_cuda_sync(f->device->gpu);
	return status;
}

static qb_status
cuda_insert_device(void *filter, const qf_batch *batch)
{
	Filter *f = filter;
	qb_status status = qf_cuda_insert_device(f->filter, batch);

	if (status == QB_OK && f->each * batch->count > LONG_INSERT)
		status = qs_cuda_sync(f->device->gpu);
	return status;
}

static qb_status
cuda_query(void *filter, const uint64 *key, size_t count, int64 *set)
{
	return qf_cuda_query(((Filter *) filter)->filter, key, count, set);
}

static qb_status
cuda_contains(void *filter, const uint64 *key, size_t count, bool *found)
{
	return qf_cuda_contains(((Filter *) filter)->filter, key, count, found);
}

static qb_status
cuda_ones(void *filter, uint64 *ones)
{
	return qf_cuda_ones(((Filter *) filter)->filter, ones);
}

static uint64
cuda_bytes(const void *filter)
{
	return ((const Filter *) filter)->bytes;
}

const GpuFilterDeviceOps gpu_cuda_filters = {
	.create = cuda_create,
	.destroy = cuda_destroy,
	.write = cuda_write,
	.read = cuda_read,
	.set = cuda_set,
	.insert = cuda_insert,
	.insert_device = cuda_insert_device,
	.query = cuda_query,
	.contains = cuda_contains,
	.ones = cuda_ones,
	.bytes = cuda_bytes,
};
