/*
 * sets_emulate.c
 *		Collections of sets on a device that is made of the CPU engine.
 *
 * src/gpu/sets_emulate.c
 */
#include "gpu/emulate.h"
#include "gpu/sets_device.h"

#include "engine/sets_kernels.h"

typedef struct Sets
{
	GpuEmulatedDevice *device;
	qi_collection collection;
	void *block; /* of the search, or NULL */
	uint64 block_bytes;
	qi_job job;
} Sets;

static void
end_search(Sets *sets)
{
	if (sets->block == NULL)
		return;
	qi_job_close(&sets->job);
	qi_release(&sets->device->memory, sets->block);
	sets->block = NULL;
	sets->block_bytes = 0;
}

static qs_status
emulated_create(void *device, const GpuSetsShape *shape, void **made)
{
	Sets *sets = calloc(1, sizeof(Sets));
	qs_status status = QS_NO_MEMORY;
	uint64 i;

	*made = NULL;
	if (sets)
	{
		sets->device = device;
		sets->collection.sets = shape->sets;
		sets->collection.elements = shape->elements;
		sets->collection.universe = shape->universe;
		status = qi_collection_alloc(&sets->collection, &sets->device->memory);
	}
	if (status != QS_OK)
	{
		free(sets);
		return status;
	}
	/* what an element stands for is not known here: its number */
	for (i = 0; i < shape->universe; i++)
		sets->collection.low[i] = i;
	*made = sets;
	return QS_OK;
}

static void
emulated_destroy(void *made)
{
	end_search(made);
	qi_collection_free(&((Sets *) made)->collection);
	free(made);
}

static qs_status
emulated_put_offsets(void *made, uint64 first, const uint64 *offset, size_t count)
{
	memcpy(((Sets *) made)->collection.offset + first, offset, count * sizeof(*offset));
	return QS_OK;
}

static qs_status
emulated_put_elements(void *made, uint64 first, const uint32 *element, size_t count)
{
	memcpy(((Sets *) made)->collection.rank + first, element, count * sizeof(*element));
	return QS_OK;
}

/* Prepare and open; the block is there if and only if all went well. */
static qs_status
begin(Sets *sets, const qi_request *request)
{
	qi_preparation preparation;
	qs_status status = qi_prepare(&preparation, request);
	void *block = NULL;

	if (status == QS_OK)
	{
		sets->block_bytes = preparation.plan.bytes;
		block = qi_alloc(request->memory, preparation.plan.bytes, 1);
		status = block ? qi_fill(&preparation, block) : QS_NO_MEMORY;
	}
	qi_prepared_free(&preparation);
	if (status == QS_OK)
	{
		status = qi_job_open(&sets->job, block, qi_kernels_now(), request->memory, NULL);
		if (status != QS_OK)
			qi_job_close(&sets->job);
	}
	if (status != QS_OK)
	{
		qi_release(request->memory, block);
		return status;
	}
	sets->block = block;
	qi_job_share(&sets->job, 0, qi_job_rows(&sets->job), 1);
	return QS_OK;
}

static qs_status
emulated_search(void *made, void *columns, const GpuSetsSearch *search)
{
	Sets *sets = made;
	qi_request request = { .rows = &sets->collection,
						   .columns = columns ? &((Sets *) columns)->collection : NULL,
						   .filter = search->filter,
						   .method = search->method,
						   .directed = search->directed,
						   .memory = &sets->device->memory };

	end_search(sets);
	return begin(sets, &request);
}

static qs_status
emulated_next(void *made, qi_pair *out, uint64 room, uint64 *count, bool *over)
{
	Sets *sets = made;
	qs_status status = sets->block ? qi_job_next(&sets->job, out, room, count) : QS_NO_MEMORY;

	*over = status == QS_OK && *count == 0;
	return status;
}

static uint64
emulated_bytes(const void *made)
{
	const Sets *sets = made;

	return qi_collection_memory(&sets->collection) + sets->block_bytes;
}

const GpuSetsDeviceOps gpu_emulated_sets = {
	.create = emulated_create,
	.destroy = emulated_destroy,
	.put_offsets = emulated_put_offsets,
	.put_elements = emulated_put_elements,
	.search = emulated_search,
	.next = emulated_next,
	.bytes = emulated_bytes,
};
