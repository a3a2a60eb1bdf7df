/*
 * sets_scan.c
 *		All pairs of sets: pulls pairs from the prepared input, or from a GPU.
 *
 * The collections are read and measured.  Unless the caller names a method, the cheapest method is
 * chosen.  The input is written into one block in the form that this method needs.  The search then
 * needs only the block, the ids of the sets and one row of counters.  This process pulls pairs from
 * the block in batches.  For a large input, parallel workers help (sets_parallel.c).  A GPU can
 * also find the pairs, and may have cached the collection in an earlier query.  The pairs and their
 * order do not depend on the process or device that finds the pairs.
 *
 * src/pg/sets_scan.c
 */
#include "pg/sets_scan.h"

#include "engine/sets_kernels.h"
#include "miscadmin.h"
#include "pgbase/stored.h"
#include "sets/collection.h"
#include "utils/memutils.h"

/* Raise an error unless the elements of the two collections can be compared. */
static void
check_keys(const qset_request *request)
{
	const qset_collection *a = request->rows, *b = request->columns;

	if (b && a->sets > 0 && b->sets > 0)
		SetsCheckSame(&a->keys, a->wide, &b->keys, b->wide);
}

/* Check and measure the input, and choose a method. */
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

/* Create a scan in the current context.  The request then allocates in this context, too. */
PairScan *
PairScanCreate(qset_request *request)
{
	PairScan *scan = palloc0(sizeof(PairScan));

	request->memory = ContextMemory(CurrentMemoryContext, &scan->memory);
	scan->room = PAIRS_BATCH;
	scan->buffer = SetsAlloc(&scan->memory, scan->room, sizeof(qset_pair));
	return scan;
}

static void
end_activity(void *activity)
{
	ActivityEnd(activity);
}

/*
 * Report the scan's progress until the scan is closed, or the current context is reset.  From now
 * on, the scan's pairs are counted in qsketch_stat.
 */
void
PairScanShow(PairScan *scan)
{
	scan->reported = true;
	scan->activity = ActivityBegin(ACTIVITY_PAIRS, InvalidOid, 0);
	scan->callback.func = end_activity;
	scan->callback.arg = &scan->activity;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &scan->callback);
}

/* Show in the progress view that the search runs, with "rows" rows in all. */
static void
show_search(const PairScan *scan, uint64 rows, bool on_gpu)
{
	ActivitySet(&scan->activity, ACTIVITY_TOTAL, rows);
	ActivitySet(&scan->activity, ACTIVITY_ON_GPU, on_gpu);
	ActivitySet(&scan->activity, ACTIVITY_WORKERS, scan->launched);
	ActivitySet(&scan->activity, ACTIVITY_PHASE, PHASE_RUNNING);
}

/* Show that a search on the CPU has begun.  If scan->reported, also count the search. */
static void
begin_search(const PairScan *scan, uint64 rows)
{
	show_search(scan, rows, false);
	if (scan->reported)
		StatCount(STAT_SEARCHES_CPU, 1);
}

/* Show that a search on a GPU has begun.  The search may still fail before its first pair. */
static void
show_gpu_search(void *scan, uint64 rows)
{
	show_search(scan, rows, true);
}

/* Undo show_gpu_search(), after a search on a GPU failed before its first pair. */
static void
show_no_search(const PairScan *scan)
{
	ActivitySet(&scan->activity, ACTIVITY_PHASE, PHASE_STARTING);
	ActivitySet(&scan->activity, ACTIVITY_ON_GPU, false);
	ActivitySet(&scan->activity, ACTIVITY_TOTAL, 0);
}

/* The job's callback: report progress, and check for interrupts.  Returns false: do not stop. */
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
 * Set the name under which a device may cache a stored collection.  Set the sizes in "kept" from
 * the header of the collection.  False: the collection has no name.  The header is not checked,
 * because an invalid header matches no cached collection.
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

/*
 * Fill in the source of a GPU's search, and the number of elements.  False: the collection "rows"
 * is not at source->origin.
 */
static bool
find_source(PairScan *scan, GpuPairsSource *source, Datum rows, uint64 *elements)
{
	const qset_request *request = source->request;
	bool found = true;

	if (source->origin == PAIRS_KEPT)
		found = name_stored(scan, rows, &source->known);
	else if (source->origin == PAIRS_ON_DEVICE)
		found = (source->memberships = SetsOnGpu(rows, &source->known)) != NULL;
	if (scan->named && source->origin != PAIRS_ON_DEVICE)
		source->name = &scan->name;
	*elements = source->known.elements;
	if (source->origin == PAIRS_READ)
		*elements = request->rows->elements + (request->columns ? request->columns->elements : 0);
	return found;
}

/*
 * Begin a search on a GPU.  A GPU supports only the order by Jaccard similarity.  False: the pairs
 * must be found in another way.
 */
static bool
open_on_gpu(PairScan *scan, GpuPairsSource *source, Datum rows)
{
	uint64 elements;

	if (!find_source(scan, source, rows, &elements) || !GpuWantsPairs(elements, scan->why))
		return false;
	if (source->request->filter.order != QSET_BY_JACCARD)
	{
		strlcpy(scan->why, "a GPU orders pairs only by the Jaccard index", sizeof(scan->why));
		return false;
	}
	if (source->origin == PAIRS_READ)
		check_keys(source->request);
	scan->gpu = GpuPairsOpen(source, scan->why);
	if (scan->gpu == NULL)
	{
		show_no_search(scan);
		if (source->origin == PAIRS_READ)
			ereport(DEBUG1, (errmsg_internal("the CPU looks for pairs of sets, not the GPU: %s",
											 scan->why)));
		return false;
	}
	scan->method = GpuPairsMethod(scan->gpu);
	scan->devices = GpuPairsDevices(scan->gpu);
	if (scan->reported)
		StatCount(STAT_SEARCHES_GPU, 1);
	return true;
}

/* Prepare the input on the CPU, and start workers or open a job in this process. */
static void
open_on_cpu(PairScan *scan, const qset_request *request)
{
	qset_preparation preparation;
	uint64 rows;

	PairsPrepare(&preparation, request);
	rows = preparation.plan.rows;
	scan->method = preparation.plan.method;
	scan->planned = scan->parallel ? PairWorkersPlanned(&preparation.plan, scan->method) : 0;
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

/*
 * Open the scan of a request.  If "place" is PAIRS_READ, this process has read the collections of
 * the request, and the scan is always opened.  If "place" has another value, this process has not
 * read the only collection, whose value is "rows".  False: no GPU searches a collection of this
 * origin, and the caller must open the scan with another value of "place".
 */
bool
PairScanOpen(PairScan *scan, const qset_request *request, GpuPairsOrigin place, Datum rows)
{
	GpuPairsSource source = {
		.origin = place, .request = request, .begun = show_gpu_search, .context = scan
	};
	bool on_gpu = open_on_gpu(scan, &source, rows);

	if (place == PAIRS_READ)
	{
		if (!on_gpu)
			open_on_cpu(scan, request);
		keep_ids(scan, request);
		return true;
	}
	scan->row_id = scan->column_id = source.known.id;
	return on_gpu;
}

/* Count pairs that were found, and report progress. */
static void
report(PairScan *scan, const qset_pair *pair, uint64 count)
{
	scan->found += count;
	ActivitySet(&scan->activity, ACTIVITY_FOUND, scan->found);
	if (scan->gpu && count > 0)
		ActivitySet(&scan->activity, ACTIVITY_DONE, pair[count - 1].a);
	if (scan->reported)
		StatCount(STAT_PAIRS, count);
}

/*
 * Return the next pairs, at most PAIRS_BATCH, in "room" or in the GPU's last reply.  *count 0: no
 * pair is left, and the scan is closed.
 */
static const qset_pair *
pull(PairScan *scan, qset_pair *room, uint64 *count)
{
	const qset_pair *pair = room;

	CHECK_FOR_INTERRUPTS(); /* processing the pairs may take longer than finding them */
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
 * Double the size of an array of pairs, or allocate the array.  Even small collections can have
 * many pairs.  The array's limit is MaxAllocSize, not work_mem.
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

/* Collect all pairs in "buffer". */
void
PairScanCollect(PairScan *scan)
{
	uint64 pulled;

	do
	{
		qset_pair *room;
		const qset_pair *pair;

		if (scan->room - scan->count < PAIRS_BATCH)
			PairsGrow(&scan->memory, &scan->buffer, scan->count, &scan->room);
		room = scan->buffer + scan->count;
		pair = pull(scan, room, &pulled);
		if (pair != room)
			memcpy(room, pair, pulled * sizeof(qset_pair));
		scan->count += pulled;
	}
	while (pulled > 0);
	scan->pair = scan->buffer;
	scan->complete = true;
}

/* Pull the next batch of pairs; false: no pair is left. */
bool
PairScanFill(PairScan *scan)
{
	if (scan->complete)
		return false;
	scan->next = 0;
	scan->pair = pull(scan, scan->buffer, &scan->count);
	scan->complete = scan->count == 0;
	return !scan->complete;
}

/*
 * End the workers or the search on a GPU, and stop reporting progress.  The scan's memory stays
 * until its context is reset.
 */
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
