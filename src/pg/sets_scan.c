/*
 * sets_scan.c
 *		All pairs of sets: pulling pairs from the prepared input.
 *
 * The collections are read, measured and written into one block, by the method that
 * costs least.  After that only the block, the ids and a row of counters are needed.
 * Pairs are pulled from the block in batches by this process.  If there is enough to
 * do, parallel workers help (sets_parallel.c).  Pairs can also come from a GPU, which
 * may even have kept the collection.  The pairs and their order are always the same.
 *
 * src/pg/sets_scan.c
 */
#include "pg/sets_scan.h"

#include "engine/sets_kernels.h"
#include "miscadmin.h"
#include "pgbase/stored.h"
#include "sets/collection.h"
#include "utils/memutils.h"

/* Raise an error unless both collections have elements of one kind. */
static void
check_keys(const qset_request *request)
{
	const qset_collection *a = request->rows, *b = request->columns;

	if (b && a->sets > 0 && b->sets > 0)
		SetsCheckSame(&a->keys, a->wide, &b->keys, b->wide);
}

/* Measure the input and choose a method. */
void
PairsPrepare(qset_preparation *preparation, const qset_request *request)
{
	check_keys(request);
	SetsCheck(qset_prepare(preparation, request));
}

static int64 *
copied_ids(const qb_memory *memory, const qset_collection *c)
{
	int64 *id = SetsAlloc(memory, c->sets, sizeof(int64));

	memcpy(id, c->id, c->sets * sizeof(int64));
	return id;
}

static uint32 *
sizes_of(const qb_memory *memory, const qset_collection *c)
{
	uint32 *size = SetsAlloc(memory, c->sets, sizeof(uint32));
	uint64 set;

	for (set = 0; set < c->sets; set++)
		size[set] = qset_set_size(c, set);
	return size;
}

/* A scan in the current context.  The request allocates there, too. */
PairScan *
PairScanCreate(qset_request *request)
{
	PairScan *scan = palloc0(sizeof(PairScan));

	request->memory = ContextMemory(CurrentMemoryContext, &scan->memory);
	scan->room = PAIRS_BATCH;
	scan->own = SetsAlloc(&scan->memory, scan->room, sizeof(qset_pair));
	return scan;
}

static void
end_activity(void *activity)
{
	ActivityEnd(activity);
}

/* Report the scan's progress while its context exists, and count the pairs that it finds. */
void
PairScanShow(PairScan *scan)
{
	scan->shown = true;
	scan->activity = ActivityBegin(ACTIVITY_PAIRS, InvalidOid, 0);
	scan->callback.func = end_activity;
	scan->callback.arg = &scan->activity;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &scan->callback);
}

/* Let others see that the search runs, among so many rows. */
static void
show_search(const PairScan *scan, uint64 rows, bool on_gpu)
{
	ActivitySet(&scan->activity, ACTIVITY_TOTAL, rows);
	ActivitySet(&scan->activity, ACTIVITY_ON_GPU, on_gpu);
	ActivitySet(&scan->activity, ACTIVITY_WORKERS, scan->launched);
	ActivitySet(&scan->activity, ACTIVITY_PHASE, PHASE_RUNNING);
}

/* The CPU's search begins. */
static void
begin_search(const PairScan *scan, uint64 rows)
{
	show_search(scan, rows, false);
	if (scan->shown)
		StatCount(STAT_SEARCHES_CPU, 1);
}

/* A GPU's search has begun, which may take long to find its first pair, or fail before. */
static void
show_gpu_search(void *scan, uint64 rows)
{
	show_search(scan, rows, true);
}

/* A GPU's search failed before its first pair: the CPU has to prepare one. */
static void
show_no_search(const PairScan *scan)
{
	ActivitySet(&scan->activity, ACTIVITY_PHASE, PHASE_STARTING);
	ActivitySet(&scan->activity, ACTIVITY_ON_GPU, false);
	ActivitySet(&scan->activity, ACTIVITY_TOTAL, 0);
}

/* The job calls this now and then: report progress, and check for interrupts. */
static bool
stop(void *context)
{
	const PairScan *scan = context;

	ActivitySet(&scan->activity, ACTIVITY_DONE, scan->job.row);
	CHECK_FOR_INTERRUPTS();
	return false;
}

static void
keep_ids(PairScan *scan, const qset_request *request)
{
	scan->row_id = copied_ids(&scan->memory, request->rows);
	scan->column_id = request->columns ? copied_ids(&scan->memory, request->columns) : scan->row_id;
	if (request->filter.order != QSET_BY_JACCARD)
		scan->row_size = sizes_of(&scan->memory, request->rows);
}

/*
 * Learn the name of a collection that is stored out of line, under which a
 * device may keep it, and what its header says.  False: it has no name.  The
 * header is not checked here: what is kept under this name was made of a valid value.
 */
static bool
name_stored(PairScan *scan, Datum datum, GpuKept *kept)
{
	qset_collection sizes;

	if (gpu_shared == NULL || !VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)) ||
		!GpuNameStored(&gpu_stored_sets, datum, &scan->name))
		return false;
	scan->named = true;
	qset_read_sizes(scan->name.header, &sizes);
	kept->sets = sizes.sets;
	kept->elements = sizes.elements;
	return true;
}

/* Take the pairs from a GPU; false if it has no search. */
static bool
use_gpu(PairScan *scan, GpuPairs *pairs)
{
	scan->gpu = pairs;
	if (pairs == NULL)
	{
		show_no_search(scan);
		return false;
	}
	scan->method = GpuPairsMethod(pairs);
	scan->devices = GpuPairsDevices(pairs);
	if (scan->shown)
		StatCount(STAT_SEARCHES_GPU, 1);
	return true;
}

/*
 * Let a GPU that keeps the collection find all pairs of its sets, so that the
 * collection is not read; false if none keeps it.
 */
bool
PairScanOpenKept(PairScan *scan, qset_request *request, Datum rows)
{
	GpuPairsWatch watch = { show_gpu_search, scan };
	GpuKept kept;

	if (!name_stored(scan, rows, &kept) || !GpuWantsPairs(kept.elements, scan->why) ||
		!use_gpu(scan, GpuPairsOpenKept(request, &scan->name, &watch, &kept)))
		return false;
	scan->row_id = scan->column_id = kept.id;
	return true;
}

/*
 * Let a GPU find all pairs of the sets of a collection whose rows are there and nowhere
 * else; false if the collection has to come here.
 */
bool
PairScanOpenMade(PairScan *scan, const qset_request *request, Datum rows)
{
	GpuPairsWatch watch = { show_gpu_search, scan };
	GpuKept made;
	const GpuRef *memberships = SetsOnGpu(rows, &made);

	if (memberships == NULL || !GpuWantsPairs(made.elements, scan->why) ||
		!use_gpu(scan, GpuPairsOpenMade(request, memberships, &watch, &made, scan->why)))
		return false;
	scan->row_id = scan->column_id = made.id;
	return true;
}

/* Have a GPU find the pairs of the request; false if the CPU is to do it, or the GPU has no room. */
bool
PairScanOpenGpu(PairScan *scan, const qset_request *request)
{
	uint64 elements = request->rows->elements + (request->columns ? request->columns->elements : 0);
	GpuPairsWatch watch = { show_gpu_search, scan };

	if (!GpuWantsPairs(elements, scan->why))
		return false;
	check_keys(request);
	if (!use_gpu(scan, GpuPairsOpen(request, scan->named ? &scan->name : NULL, &watch, scan->why)))
	{
		ereport(DEBUG1,
				(errmsg_internal("the CPU looks for pairs of sets, not the GPU: %s", scan->why)));
		return false;
	}
	keep_ids(scan, request);
	return true;
}

/*
 * Open the pairs of the request on the CPU: prepare the input, then open a job on it or
 * start workers.
 */
void
PairScanOpen(PairScan *scan, const qset_request *request, bool parallel)
{
	qset_preparation preparation;
	uint64 rows;

	PairsPrepare(&preparation, request);
	rows = preparation.plan.rows;
	keep_ids(scan, request);
	scan->method = preparation.plan.method;
	scan->planned = parallel ? PairWorkersPlanned(&preparation.plan, scan->method) : 0;
	if (scan->planned > 0)
		scan->workers = PairWorkersStart(&preparation, scan->planned, &scan->activity);
	if (scan->workers)
	{
		scan->launched = PairWorkersLaunched(scan->workers);
		begin_search(scan, rows);
		return;
	}
	scan->block = SetsAlloc(&scan->memory, preparation.plan.bytes, 1);
	SetsCheck(qset_fill(&preparation, scan->block));
	qset_prepared_free(&preparation);
	scan->interrupt = (qset_interrupt){ stop, scan };
	SetsCheck(qset_job_open(&scan->job, scan->block, qset_kernels_now(), &scan->memory,
							&scan->interrupt));
	qset_job_shard(&scan->job, 0, qset_job_rows(&scan->job), 1);
	begin_search(scan, rows);
}

/* Count and report pairs that were found. */
static void
report(PairScan *scan, const qset_pair *pair, uint64 count)
{
	scan->found += count;
	ActivitySet(&scan->activity, ACTIVITY_FOUND, scan->found);
	if (scan->gpu && count > 0)
		ActivitySet(&scan->activity, ACTIVITY_DONE, pair[count - 1].a);
	if (scan->shown)
		StatCount(STAT_PAIRS, count);
}

/*
 * Up to PAIRS_BATCH further pairs, in "room" or in the GPU's last reply.  *count 0:
 * there are no more.
 */
static const qset_pair *
pull(PairScan *scan, qset_pair *room, uint64 *count)
{
	const qset_pair *pair = room;

	CHECK_FOR_INTERRUPTS(); /* the caller may take longer for the pairs than finding them took */
	if (scan->gpu)
		pair = GpuPairsNext(scan->gpu, PAIRS_BATCH, count);
	else if (scan->workers)
		*count = PairWorkersNext(scan->workers, room, PAIRS_BATCH);
	else
		SetsCheck(qset_job_next(&scan->job, room, PAIRS_BATCH, count));
	report(scan, pair, *count);
	if (*count == 0)
		PairScanClose(scan);
	return pair;
}

/*
 * Room for twice as many pairs, or for some.  Even small collections can have many pairs, and
 * work_mem does not limit them: they may take as much as a value of PostgreSQL.
 */
void
PairsGrow(const qb_memory *memory, qset_pair **pair, uint64 count, uint64 *room)
{
	uint64 more = *room > 0 ? *room * 2 : 16;
	qset_pair *larger;

	if (more * sizeof(qset_pair) > MaxAllocSize)
		SetsTooManyPairs(*room);
	larger = SetsAlloc(memory, more, sizeof(qset_pair));
	if (count > 0)
		memcpy(larger, *pair, count * sizeof(qset_pair));
	qset_release(memory, *pair);
	*pair = larger;
	*room = more;
}

/* Collect all pairs. */
void
PairScanCollect(PairScan *scan)
{
	uint64 pulled;

	do
	{
		qset_pair *room;
		const qset_pair *pair;

		if (scan->room - scan->count < PAIRS_BATCH)
			PairsGrow(&scan->memory, &scan->own, scan->count, &scan->room);
		room = scan->own + scan->count;
		pair = pull(scan, room, &pulled);
		if (pair != room)
			memcpy(room, pair, pulled * sizeof(qset_pair));
		scan->count += pulled;
	}
	while (pulled > 0);
	scan->pair = scan->own;
	scan->complete = true;
}

/* Pull the next batch of pairs; false if there are none. */
bool
PairScanFill(PairScan *scan)
{
	if (scan->complete)
		return false;
	scan->next = 0;
	scan->pair = pull(scan, scan->own, &scan->count);
	scan->complete = scan->count == 0;
	return !scan->complete;
}

/* End the workers or the GPU's search, if still running.  The context frees the memory. */
void
PairScanClose(PairScan *scan)
{
	if (scan->workers)
		PairWorkersEnd(scan->workers);
	if (scan->gpu)
		GpuPairsClose(scan->gpu);
	scan->workers = NULL;
	scan->gpu = NULL;
	scan->complete = true;
	ActivityEnd(&scan->activity);
}
