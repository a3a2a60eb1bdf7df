/*
 * sets_cuda.c
 *		Collections of sets on a GPU: the worker's operations on the CUDA engine.
 *
 * The engine checks the limit before each allocation.  The memory of the index, of
 * bits and of counts counts like that of elements.
 *
 * src/gpu/sets_cuda.c
 */
#include "gpu/cuda.h"
#include "gpu/sets_device.h"

#include "sets_cuda.h"

typedef struct Sets
{
	GpuCudaDevice *device;
	qset_cuda_sets *sets;
} Sets;

/* The device, with the limit of memory that the settings have now. */
static qs_cuda *
limited(GpuCudaDevice *device)
{
	qset_cuda_limit(device->gpu, GpuCudaLimit(device));
	return device->gpu;
}

static Sets *
new_sets(GpuCudaDevice *device)
{
	Sets *sets = calloc(1, sizeof(Sets));

	if (sets)
		sets->device = device;
	return sets;
}

/* Return a collection that was made, or free it if that failed. */
static qb_status
finish(Sets *sets, qb_status status, void **made)
{
	*made = status == QB_OK ? sets : NULL;
	if (status != QB_OK)
		free(sets);
	return status;
}

static qb_status
cuda_create(void *device, const GpuSetsShape *shape, void **made)
{
	Sets *sets = new_sets(device);
	qb_status status = QB_NO_MEMORY;

	if (sets)
		status = qset_cuda_sets_create(limited(device), shape->sets, shape->elements,
									   shape->universe, &sets->sets);
	return finish(sets, status, made);
}

static qb_status
cuda_make(void *device, void *members, const GpuSetsShape *shape, void **made)
{
	Sets *sets = new_sets(device);
	qb_status status = QB_NO_MEMORY;

	if (sets)
		status = GpuCudaMakeSets(members, &sets->sets);
	return finish(sets, status, made);
}

static qb_status
cuda_copy(void *device, void *from, void **made)
{
	Sets *sets = new_sets(device);
	qb_status status = QB_NO_MEMORY;

	if (sets)
		status = qset_cuda_sets_copy(limited(device), ((Sets *) from)->sets, &sets->sets);
	return finish(sets, status, made);
}

static void
cuda_destroy(void *made)
{
	qset_cuda_sets_destroy(((Sets *) made)->sets);
	free(made);
}

static qb_status
cuda_put_offsets(void *made, uint64 first, const uint64 *offset, size_t count)
{
	return qset_cuda_sets_put_offsets(((Sets *) made)->sets, first, offset, count);
}

static qb_status
cuda_put_elements(void *made, uint64 first, const uint32 *element, size_t count)
{
	return qset_cuda_sets_put_elements(((Sets *) made)->sets, first, element, count);
}

static qb_status
cuda_index(void *made)
{
	Sets *sets = made;

	limited(sets->device);
	return qset_cuda_sets_index(sets->sets);
}

static uint64
cuda_bytes(const void *made)
{
	return qset_cuda_sets_bytes(((const Sets *) made)->sets);
}

static qb_status
cuda_search(void *made, void *columns, const GpuSetsSearch *wanted, void **search,
			GpuSetsReply *reply)
{
	Sets *sets = made;
	qset_cuda_request request = { .rows = sets->sets,
								  .columns = columns ? ((Sets *) columns)->sets : NULL,
								  .filter = wanted->filter,
								  .method = wanted->method,
								  .directed = wanted->directed };
	qset_cuda_report report;
	qset_cuda_pairs *pairs;
	qb_status status = qset_cuda_pairs_open(limited(sets->device), &request, &pairs);

	*search = pairs;
	if (status != QB_OK)
		return status;
	qset_cuda_pairs_report(pairs, &report);
	reply->ms = report.expected_ms;
	reply->method = report.method;
	return QB_OK;
}

static void
cuda_end(void *search)
{
	qset_cuda_pairs_close(search);
}

static uint64
cuda_search_bytes(const void *search)
{
	return qset_cuda_pairs_bytes(search);
}

static qb_status
cuda_begin(void *search, const GpuSetsRows *rows)
{
	qset_cuda_pairs_rows(search, rows->first, rows->first + rows->count);
	return qset_cuda_pairs_start(search);
}

static qb_status
cuda_next(void *search, bool (*patience)(void), qset_pair *out, uint64 room, uint64 *count,
		  GpuSetsReply *reply)
{
	qb_status status = qset_cuda_pairs_start(search);
	qset_cuda_report report;
	bool ready = false;

	qset_cuda_pairs_report(search, &report);
	*count = 0;
	*reply = (GpuSetsReply){ .at = report.strips };
	while (status == QB_OK && !ready)
	{
		status = qset_cuda_pairs_ready(search, &ready);
		if (!ready && !patience())
			return status;
	}
	return status == QB_OK ? qset_cuda_pairs_next(search, out, room, count, &reply->over) : status;
}

const GpuSetsDeviceOps gpu_cuda_sets = {
	.create = cuda_create,
	.make = cuda_make,
	.copy = cuda_copy,
	.destroy = cuda_destroy,
	.put_offsets = cuda_put_offsets,
	.put_elements = cuda_put_elements,
	.index = cuda_index,
	.bytes = cuda_bytes,
	.search = cuda_search,
	.end = cuda_end,
	.search_bytes = cuda_search_bytes,
	.begin = cuda_begin,
	.next = cuda_next,
};
