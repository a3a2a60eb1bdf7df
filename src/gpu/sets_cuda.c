/*
 * sets_cuda.c
 *		Collections of sets on a GPU: the worker's operations on the CUDA engine.
 *
 * The engine asks for room before each allocation: its index, its bits and its
 * counts count as a collection's elements do.
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
} Sets;

/* The device, which may take what the settings say now. */
static qs_cuda *
limited(GpuCudaDevice *device)
{
	uint64 limit = GpuMemoryLimit();

	qi_cuda_limit(device->gpu, limit < PG_UINT64_MAX ? device->base + limit : 0);
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

/* What was made of it. */
static qs_status
finish(Sets *sets, qs_status status, void **made)
{
	*made = status == QS_OK ? sets : NULL;
	if (status != QS_OK)
		free(sets);
	return status;
}

static qs_status
cuda_create(void *device, const GpuSetsShape *shape, void **made)
{
	Sets *sets = new_sets(device);
	qs_status status = QS_NO_MEMORY;

	if (sets)
		status = qi_cuda_sets_create(limited(device), shape->sets, shape->elements, shape->universe,
									 &sets->sets);
	return finish(sets, status, made);
}

static qs_status
cuda_copy(void *device, void *from, void **made)
{
	Sets *sets = new_sets(device);
	qs_status status = QS_NO_MEMORY;

	if (sets)
		status = qi_cuda_sets_copy(limited(device), ((Sets *) from)->sets, &sets->sets);
	return finish(sets, status, made);
}

static void
cuda_destroy(void *made)
{
	qi_cuda_sets_destroy(((Sets *) made)->sets);
	free(made);
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
cuda_index(void *made)
{
	Sets *sets = made;

	limited(sets->device);
	return qi_cuda_sets_index(sets->sets);
}

static uint64
cuda_bytes(const void *made)
{
	return qi_cuda_sets_bytes(((const Sets *) made)->sets);
}

static qs_status
cuda_search(void *made, void *columns, const GpuSetsSearch *wanted, void **search,
			GpuSetsReply *reply)
{
	Sets *sets = made;
	qi_cuda_request request = { .rows = sets->sets,
								.columns = columns ? ((Sets *) columns)->sets : NULL,
								.filter = wanted->filter,
								.method = wanted->method,
								.directed = wanted->directed };
	qi_cuda_report report;
	qi_cuda_pairs *pairs;
	qs_status status = qi_cuda_pairs_open(limited(sets->device), &request, &pairs);

	*search = pairs;
	if (status != QS_OK)
		return status;
	qi_cuda_pairs_report(pairs, &report);
	reply->ms = report.expected_ms;
	reply->method = report.method;
	return QS_OK;
}

static void
cuda_end(void *search)
{
	qi_cuda_pairs_close(search);
}

static uint64
cuda_search_bytes(const void *search)
{
	return qi_cuda_pairs_bytes(search);
}

static qs_status
cuda_begin(void *search, const GpuSetsRows *rows)
{
	qi_cuda_pairs_rows(search, rows->first, rows->first + rows->count);
	return qi_cuda_pairs_start(search);
}

static qs_status
cuda_next(void *search, bool (*patience)(void), qi_pair *out, uint64 room, uint64 *count,
		  GpuSetsReply *reply)
{
	qs_status status = qi_cuda_pairs_start(search);
	qi_cuda_report report;
	bool ready = false;

	qi_cuda_pairs_report(search, &report);
	*count = 0;
	*reply = (GpuSetsReply){ .at = report.strips };
	while (status == QS_OK && !ready)
	{
		status = qi_cuda_pairs_ready(search, &ready);
		if (!ready && !patience())
			return status;
	}
	return status == QS_OK ? qi_cuda_pairs_next(search, out, room, count, &reply->over) : status;
}

const GpuSetsDeviceOps gpu_cuda_sets = {
	.create = cuda_create,
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
