/*
 * sets_cuda.c
 *		Collections of sets on a GPU: the worker's operations on the CUDA engine.
 *
 * src/gpu/sets_cuda.c
 */
#include "gpu/cuda.h"
#include "gpu/sets_device.h"

#include "sets_cuda.h"

typedef struct Sets
{
	GpuCudaDevice *device;
	qi_cuda_sets *sets;
	qi_cuda_pairs *pairs; /* the search, or NULL */
	uint64 search_bytes;
} Sets;

static void
end_search(Sets *sets)
{
	qi_cuda_pairs_close(sets->pairs);
	sets->pairs = NULL;
	sets->search_bytes = 0;
}

static qs_status
cuda_create(void *device, const GpuSetsShape *shape, void **made)
{
	uint64 bytes = shape->sets * sizeof(uint64) + shape->elements * sizeof(uint32);
	Sets *sets;
	qs_status status;

	*made = NULL;
	if (!GpuCudaHasRoom(device, bytes))
		return QS_NO_MEMORY;
	sets = calloc(1, sizeof(Sets));
	if (sets == NULL)
		return QS_NO_MEMORY;
	sets->device = device;
	status = qi_cuda_sets_create(sets->device->gpu, shape->sets, shape->elements, shape->universe,
								 &sets->sets);
	if (status != QS_OK)
	{
		free(sets);
		return status;
	}
	*made = sets;
	return QS_OK;
}

static void
cuda_destroy(void *made)
{
	Sets *sets = made;

	end_search(sets);
	qi_cuda_sets_destroy(sets->sets);
	free(sets);
}

static qs_status
cuda_put_offsets(void *made, uint64 first, const uint64 *offset, size_t count)
{
	return qi_cuda_sets_put_offsets(((Sets *) made)->sets, first, offset, count);
}

static qs_status
cuda_put_elements(void *made, uint64 first, const uint32 *element, size_t count)
{
	return qi_cuda_sets_put_elements(((Sets *) made)->sets, first, element, count);
}

static qs_status
cuda_search(void *made, void *columns, const GpuSetsSearch *search)
{
	Sets *sets = made;
	qi_cuda_request request = { .rows = sets->sets,
								.columns = columns ? ((Sets *) columns)->sets : NULL,
								.filter = search->filter,
								.method = search->method,
								.directed = search->directed };
	uint64 before;
	qs_status status;

	end_search(sets);
	before = GpuCudaHeld(sets->device);
	status = qi_cuda_pairs_open(sets->device->gpu, &request, &sets->pairs);
	sets->search_bytes = GpuCudaHeld(sets->device) - before;
	return status;
}

static qs_status
cuda_next(void *made, qi_pair *out, uint64 room, uint64 *count, bool *over)
{
	Sets *sets = made;

	return sets->pairs ? qi_cuda_pairs_next(sets->pairs, out, room, count, over) : QS_NO_MEMORY;
}

static uint64
cuda_bytes(const void *made)
{
	const Sets *sets = made;

	return qi_cuda_sets_bytes(sets->sets) + sets->search_bytes;
}

const GpuSetsDeviceOps gpu_cuda_sets = {
	.create = cuda_create,
	.destroy = cuda_destroy,
	.put_offsets = cuda_put_offsets,
	.put_elements = cuda_put_elements,
	.search = cuda_search,
	.next = cuda_next,
	.bytes = cuda_bytes,
};
