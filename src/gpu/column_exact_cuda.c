/*
 * column_exact_cuda.c
 *		Exact counts of keys on a GPU: the worker's operations on the CUDA engine.
 *
 * src/gpu/column_exact_cuda.c
 */
#include "gpu/column_exact_device.h"
#include "gpu/cuda.h"

#include "column_exact_cuda.h"

typedef struct Exact
{
	qs_cuda_exact *exact;
	uint64 bytes;
} Exact;

static qb_status
cuda_create(void *device, uint64 room, void **exact)
{
	GpuCudaDevice *d = device;
	Exact *made;
	qb_status status;

	*exact = NULL;
	if (!GpuCudaHasRoom(d, room * QS_CUDA_EXACT_BYTES))
		return QB_NO_MEMORY;
	made = calloc(1, sizeof(Exact));
	if (made == NULL)
		return QB_NO_MEMORY;
	made->bytes = room * QS_CUDA_EXACT_BYTES;
	status = qs_cuda_exact_create(d->gpu, room, &made->exact);
	if (status == QB_OK)
		*exact = made;
	else
		free(made);
	return status;
}

static void
cuda_destroy(void *exact)
{
	qs_cuda_exact_destroy(((Exact *) exact)->exact);
	free(exact);
}

static qb_status
cuda_add(void *exact, const uint64 *key, size_t count)
{
	return qs_cuda_exact_add(((Exact *) exact)->exact, key, count);
}

static qb_status
cuda_add_device(void *exact, const uint64 *key, size_t count)
{
	return qs_cuda_exact_add_device(((Exact *) exact)->exact, key, count);
}

static qb_status
cuda_order(void *exact, uint64 *found)
{
	return qs_cuda_exact_order(((Exact *) exact)->exact, found);
}

static qb_status
cuda_get(void *exact, uint64 first, size_t count, uint64 *key, int64 *times)
{
	return qs_cuda_exact_get(((Exact *) exact)->exact, first, count, key, times);
}

static uint64
cuda_bytes(const void *exact)
{
	return ((const Exact *) exact)->bytes;
}

const GpuExactDeviceOps gpu_cuda_exact = {
	.create = cuda_create,
	.destroy = cuda_destroy,
	.add = cuda_add,
	.add_device = cuda_add_device,
	.order = cuda_order,
	.get = cuda_get,
	.bytes = cuda_bytes,
};
