/*
 * sets.c
 *		Collections of sets on a device that is made of the CPU engine.
 *
 * test/modules/qsketch_emulate/sets.c
 */
#include "emulate.h"
#include "gpu/sets_device.h"
#include "gpu/sets_members_device.h"

#include "engine/sets_kernels.h"
#include "portability/instr_time.h"

/*
 * The device looks after some rows whether others wait: after at most STEP_MAX, and
 * after as many as should take STEP_MS, by the time of the last ones.
 */
#define STEP_MAX 1024
#define STEP_MS  10

typedef struct Sets
{
	GpuEmulatedDevice *device;
	qset_collection collection;
} Sets;

typedef struct Search
{
	Sets *sets;
	void *block; /* prepared input */
	uint64 bytes;
	qset_job job;
	uint64 row; /* of the block: the next to begin with */
	uint64 end;
	uint64 step; /* rows to begin with at a time */
	double ms;   /* time that the last ones took so far */
} Search;

static qb_status
emulated_create(void *device, const GpuSetsShape *shape, void **made)
{
	Sets *sets = calloc(1, sizeof(Sets));
	qb_status status = QB_NO_MEMORY;
	uint64 i;

	*made = NULL;
	if (sets)
	{
		sets->device = device;
		sets->collection.sets = shape->sets;
		sets->collection.elements = shape->elements;
		sets->collection.universe = shape->universe;
		status = qset_collection_alloc(&sets->collection, &sets->device->memory);
	}
	if (status != QB_OK)
	{
		free(sets);
		return status;
	}
	/* an element stands for its number: the device knows nothing else of it */
	for (i = 0; i < shape->universe; i++)
		sets->collection.low[i] = i;
	*made = sets;
	return QB_OK;
}

static qb_status
emulated_make(void *device, void *members, const GpuSetsShape *shape, void **made)
{
	const GpuMembersDeviceOps *from = &gpu_emulated_members;
	qb_status status = emulated_create(device, shape, made);
	qset_collection *c;

	if (status != QB_OK)
		return status;
	c = &((Sets *) *made)->collection;
	(void) from->get(members, MEMBERS_OFFSETS, 0, c->sets + 1, c->offset);
	return from->get(members, MEMBERS_RANKS, 0, c->elements, c->rank);
}

static qb_status
emulated_copy(void *device, void *from, void **made)
{
	const qset_collection *c = &((Sets *) from)->collection;
	Sets *sets = calloc(1, sizeof(Sets));
	qb_status status = QB_NO_MEMORY;

	*made = NULL;
	if (sets)
	{
		sets->device = device;
		status = qset_collection_copy(&sets->collection, c, &sets->device->memory);
	}
	if (status != QB_OK)
		free(sets);
	else
		*made = sets;
	return status;
}

static void
emulated_destroy(void *made)
{
	qset_collection_free(&((Sets *) made)->collection);
	free(made);
}

static qb_status
emulated_put_offsets(void *made, uint64 first, const uint64 *offset, size_t count)
{
	memcpy(((Sets *) made)->collection.offset + first, offset, count * sizeof(*offset));
	return QB_OK;
}

static qb_status
emulated_put_elements(void *made, uint64 first, const uint32 *element, size_t count)
{
	memcpy(((Sets *) made)->collection.rank + first, element, count * sizeof(*element));
	return QB_OK;
}

/* The index is made for each search. */
static qb_status
emulated_index(void *made)
{
	return QB_OK;
}

static uint64
emulated_bytes(const void *made)
{
	return qset_collection_memory(&((const Sets *) made)->collection);
}

static void
emulated_end(void *made)
{
	Search *search = made;

	qset_job_close(&search->job);
	qset_release(&search->sets->device->memory, search->block);
	free(search);
}

/* Prepare and open. */
static qb_status
open_search(Search *search, const qset_request *request, GpuSetsReply *reply)
{
	qset_preparation preparation;
	qb_status status = qset_prepare(&preparation, request);

	if (status == QB_OK)
	{
		reply->method = preparation.plan.method;
		reply->ms = preparation.plan.cost[preparation.plan.method] / 1e6;
		search->bytes = preparation.plan.bytes;
		search->block = qset_alloc(request->memory, search->bytes, 1);
		status = search->block ? qset_fill(&preparation, search->block) : QB_NO_MEMORY;
	}
	qset_prepared_free(&preparation);
	if (status == QB_OK)
		status =
			qset_job_open(&search->job, search->block, qset_kernels_now(), request->memory, NULL);
	return status;
}

static qb_status
emulated_search(void *rows, void *columns, const GpuSetsSearch *wanted, void **made,
				GpuSetsReply *reply)
{
	Sets *sets = rows;
	Search *search = calloc(1, sizeof(Search));
	qset_request request = { .rows = &sets->collection,
							 .columns = columns ? &((Sets *) columns)->collection : NULL,
							 .filter = wanted->filter,
							 .method = wanted->method,
							 .directed = wanted->directed,
							 .memory = &sets->device->memory };
	qb_status status;

	*made = NULL;
	if (search == NULL)
		return QB_NO_MEMORY;
	search->sets = sets;
	search->step = 1;
	search->job.memory = request.memory;
	status = open_search(search, &request, reply);
	if (status != QB_OK)
		emulated_end(search);
	else
		*made = search;
	return status;
}

static uint64
emulated_search_bytes(const void *search)
{
	return ((const Search *) search)->bytes;
}

/* The first row of the block whose set has this number or a higher one. */
static uint64
row_from(const Search *search, uint64 set)
{
	const qset_collection *c = &search->sets->collection;
	int64 row = -1;

	while (set < c->sets && (row = qset_job_row_of(&search->job, (uint32) set)) < 0)
		set++;
	return row < 0 ? qset_job_rows(&search->job) : (uint64) row;
}

static qb_status
emulated_begin(void *made, const GpuSetsRows *rows)
{
	Search *search = made;

	search->row = row_from(search, rows->first);
	search->end = row_from(search, rows->first + rows->count);
	qset_job_share(&search->job, 0, 0, 1);
	return QB_OK;
}

/*
 * Begin with the next rows: more than the last time if those took little time, fewer
 * if they took too much.
 */
static void
begin_rows(Search *search)
{
	uint64 end;

	if (search->ms > STEP_MS)
		search->step = Max(search->step / 2, 1);
	else if (search->ms < STEP_MS / 4.0)
		search->step = Min(search->step * 2, STEP_MAX);
	search->ms = 0;
	end = Min(search->row + search->step, search->end);
	qset_job_share(&search->job, search->row, end, 1);
	search->row = end;
}

/* qset_job_next(), with its time. */
static qb_status
next_pairs(Search *search, qset_pair *out, uint64 room, uint64 *count)
{
	instr_time start;
	instr_time passed;
	qb_status status;

	INSTR_TIME_SET_CURRENT(start);
	status = qset_job_next(&search->job, out, room, count);
	INSTR_TIME_SET_CURRENT(passed);
	INSTR_TIME_SUBTRACT(passed, start);
	search->ms += INSTR_TIME_GET_MILLISEC(passed);
	return status;
}

static qb_status
emulated_next(void *made, bool (*patience)(void), qset_pair *out, uint64 room, uint64 *count,
			  GpuSetsReply *reply)
{
	Search *search = made;

	for (;;)
	{
		qb_status status = next_pairs(search, out, room, count);

		*reply = (GpuSetsReply){ .at = search->row };
		if (status != QB_OK || *count > 0)
			return status;
		reply->over = search->row >= search->end;
		if (reply->over)
			return QB_OK;
		begin_rows(search);
		if (!patience())
			return QB_OK;
	}
}

const GpuSetsDeviceOps gpu_emulated_sets = {
	.create = emulated_create,
	.make = emulated_make,
	.copy = emulated_copy,
	.destroy = emulated_destroy,
	.put_offsets = emulated_put_offsets,
	.put_elements = emulated_put_elements,
	.index = emulated_index,
	.bytes = emulated_bytes,
	.search = emulated_search,
	.end = emulated_end,
	.search_bytes = emulated_search_bytes,
	.begin = emulated_begin,
	.next = emulated_next,
};
