/*
 * sets.c
 *		Collections of sets on an emulated device, which is the CPU.
 *
 * test/modules/qsketch_emulate/sets.c
 */
#include "emulate.h"

#include "engine/sets_kernels.h"
#include "portability/instr_time.h"
#include "sets_cuda.h"

/*
 * A search calls "patience" after each step of rows.  A step has at most STEP_MAX rows.  Its number
 * of rows depends on the time of the last step, so that a step takes about STEP_MS ms at most.
 */
#define STEP_MAX 1024
#define STEP_MS  10

struct qset_cuda_sets
{
	qs_cuda *device;
	qset_collection collection;
};

struct qset_cuda_pairs
{
	qset_cuda_sets *sets;
	void *block; /* prepared input */
	uint64 bytes;
	qset_job job;
	uint64 row; /* first row of the next step */
	uint64 end;
	uint64 step; /* number of rows of a step */
	double ms;   /* ms that the last step has taken so far */
	int method;
	double expected_ms;
};

static qb_status
emulated_create(qs_cuda *device, uint64 count, uint64 elements, uint64 universe,
				qset_cuda_sets **created)
{
	qset_cuda_sets *sets = calloc(1, sizeof(*sets));
	qb_status status = QB_NO_MEMORY;
	uint64 i;

	*created = NULL;
	if (sets)
	{
		sets->device = device;
		sets->collection.sets = count;
		sets->collection.elements = elements;
		sets->collection.universe = universe;
		status = qset_collection_alloc(&sets->collection, &sets->device->memory);
	}
	if (status != QB_OK)
	{
		free(sets);
		return status;
	}
	/* the value of an element is its number, because the device has no values */
	for (i = 0; i < universe; i++)
		sets->collection.low[i] = i;
	*created = sets;
	return QB_OK;
}

static qb_status
emulated_copy(qs_cuda *device, const qset_cuda_sets *from, qset_cuda_sets **created)
{
	qset_cuda_sets *sets = calloc(1, sizeof(*sets));
	qb_status status = QB_NO_MEMORY;

	*created = NULL;
	if (sets)
	{
		sets->device = device;
		status = qset_collection_copy(&sets->collection, &from->collection, &sets->device->memory);
	}
	if (status != QB_OK)
		free(sets);
	else
		*created = sets;
	return status;
}

static void
emulated_destroy(qset_cuda_sets *sets)
{
	qset_collection_free(&sets->collection);
	free(sets);
}

static qb_status
emulated_put_offsets(qset_cuda_sets *sets, uint64 first, const uint64 *offset, size_t count)
{
	memcpy(sets->collection.offset + first, offset, count * sizeof(*offset));
	return QB_OK;
}

static qb_status
emulated_put_elements(qset_cuda_sets *sets, uint64 first, const uint32 *element, size_t count)
{
	memcpy(sets->collection.rank + first, element, count * sizeof(*element));
	return QB_OK;
}

/* Does nothing, because each search makes its index. */
static qb_status
emulated_index(qset_cuda_sets *sets)
{
	return QB_OK;
}

static uint64
emulated_bytes(const qset_cuda_sets *sets)
{
	return qset_collection_memory(&sets->collection);
}

static void
emulated_end(qset_cuda_pairs *search)
{
	qset_job_close(&search->job);
	qset_release(&search->sets->device->memory, search->block);
	free(search);
}

/* Prepare a search, and open it. */
static qb_status
open_search(qset_cuda_pairs *search, const qset_request *request)
{
	qset_preparation preparation;
	qb_status status = qset_prepare(&preparation, request);

	if (status == QB_OK)
	{
		search->method = preparation.plan.method;
		search->expected_ms = preparation.plan.cost[search->method] / 1e6;
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
emulated_search(qs_cuda *device, const qset_cuda_request *wanted, qset_cuda_pairs **created)
{
	qset_cuda_pairs *search = calloc(1, sizeof(*search));
	qset_request request = { .rows = &wanted->rows->collection,
							 .columns = wanted->columns ? &wanted->columns->collection : NULL,
							 .filter = wanted->filter,
							 .method = wanted->method,
							 .directed = wanted->directed,
							 .memory = &device->memory };
	qb_status status;

	*created = NULL;
	if (search == NULL)
		return QB_NO_MEMORY;
	search->sets = wanted->rows;
	search->step = 1;
	search->job.memory = request.memory;
	status = open_search(search, &request);
	if (status != QB_OK)
		emulated_end(search);
	else
		*created = search;
	return status;
}

static uint64
emulated_search_bytes(const qset_cuda_pairs *search)
{
	return search->bytes;
}

/* Returns the first row of the prepared input whose set has at least this number. */
static uint64
row_from(const qset_cuda_pairs *search, uint64 set)
{
	const qset_collection *c = &search->sets->collection;
	int64 row = -1;

	while (set < c->sets && (row = qset_job_row_of(&search->job, (uint32) set)) < 0)
		set++;
	return row < 0 ? qset_job_rows(&search->job) : (uint64) row;
}

static qb_status
emulated_begin(qset_cuda_pairs *search, uint64 first, uint64 end)
{
	search->row = row_from(search, first);
	search->end = row_from(search, end);
	qset_job_shard(&search->job, 0, 0, 1);
	return QB_OK;
}

/*
 * Begin the next step.  It has more rows if the last step took little time, and fewer rows if the
 * last step took too long.
 */
static void
begin_rows(qset_cuda_pairs *search)
{
	uint64 end;

	if (search->ms > STEP_MS)
		search->step = Max(search->step / 2, 1);
	else if (search->ms < STEP_MS / 4.0)
		search->step = Min(search->step * 2, STEP_MAX);
	search->ms = 0;
	end = Min(search->row + search->step, search->end);
	qset_job_shard(&search->job, search->row, end, 1);
	search->row = end;
}

/* Call qset_job_next(), and measure its time. */
static qb_status
next_pairs(qset_cuda_pairs *search, qset_pair *out, uint64 room, uint64 *count)
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
emulated_next(qset_cuda_pairs *search, bool (*patience)(void), qset_pair *out, uint64 room,
			  uint64 *count, bool *over)
{
	for (;;)
	{
		qb_status status = next_pairs(search, out, room, count);

		*over = false;
		if (status != QB_OK || *count > 0)
			return status;
		*over = search->row >= search->end;
		if (*over)
			return QB_OK;
		begin_rows(search);
		if (!patience())
			return QB_OK;
	}
}

static void
emulated_report(const qset_cuda_pairs *search, qset_cuda_report *report)
{
	*report = (qset_cuda_report){ .method = search->method,
								  .expected_ms = search->expected_ms,
								  .strips = search->row };
}

const qset_sets_ops gpu_emulated_sets = {
	.create = emulated_create,
	.copy = emulated_copy,
	.destroy = emulated_destroy,
	.put_offsets = emulated_put_offsets,
	.put_elements = emulated_put_elements,
	.index = emulated_index,
	.bytes = emulated_bytes,
	.search = emulated_search,
	.end = emulated_end,
	.search_bytes = emulated_search_bytes,
	.report = emulated_report,
	.begin = emulated_begin,
	.next = emulated_next,
};
