/*
 * use.c
 *		Uses cached columns in a scan: the worker counts the keys of valid cached pages, and the
 *		scan reads all other pages.
 *
 * A page is used from cached columns if it is valid in all columns that the query needs.  The scan
 * does not read a page if all aggregates have received its keys.  A chunk may be freed while it is
 * used.  With GROUP BY, all pages are then read (groups.c).  Without GROUP BY, some aggregates may
 * then lack keys that other aggregates have received.  The pages of these keys are read only for
 * the aggregates that lack them.
 *
 * Scans of partitions fill the same aggregates.  The first scan uses the cached columns of all
 * tables as if the tables were one: it requests the chunks of all tables before it waits for the
 * first chunk.  Each scan then reads the remaining pages of its own table.
 *
 * In a parallel scan, the first process that arrives checks the map, announces the valid pages to
 * the other processes, and lets the worker count their keys.  The other processes wait only for
 * this check.  They do not check the map themselves, because a page might change between two
 * checks, and would then be counted twice or never.  All processes have the same snapshot, and none
 * reads a page before the check.  So the proof in cached.h applies to all processes together.
 *
 * The process that uses the cached columns may fail to receive the keys of some announced
 * pages.  It reads these pages itself, before any other page.
 *
 * If the first process uses no cached columns, each process reads the pages that PostgreSQL's
 * parallel scan assigns to it.
 *
 * src/scan/cached/use.c
 */
#include "scan/cached/cached.h"
#include "scan/groups/groups.h"

#include "miscadmin.h"
#include "pgbase/segment.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

/* Bytes of the text that says why cached columns are not used. */
#define REFUSAL_BYTES 96

typedef enum MapCheck
{
	MAP_CHECK_WANTED, /* no process has arrived */
	MAP_CHECK_BEGUN,
	MAP_CHECK_DONE
} MapCheck;

struct SharedPages
{
	slock_t mutex; /* guards "map_check"; MAP_CHECK_DONE is set after all other members */
	MapCheck map_check;
	uint32 chunks;
	dsa_pointer pages; /* GpuPages[chunks]: pages that other processes do not read; invalid: none */
	char refusal[REFUSAL_BYTES]; /* why cached columns are not used; empty: no reason */
	ConditionVariable map_checked;
};

Size
SharedPagesSize(void)
{
	return MAXALIGN(sizeof(SharedPages));
}

void
SharedPagesInit(SharedPages *shared)
{
	memset(shared, 0, sizeof(*shared));
	SpinLockInit(&shared->mutex);
	ConditionVariableInit(&shared->map_checked);
}

/* Prepare another run, after all processes of the last run have left. */
void
SharedPagesReset(SharedPages *shared, dsa_area *area)
{
	if (DsaPointerIsValid(shared->pages))
		dsa_free(area, shared->pages);
	shared->pages = InvalidDsaPointer;
	shared->map_check = MAP_CHECK_WANTED;
	shared->refusal[0] = '\0';
}

/* ---- the check of the map ---- */

/*
 * True: this process must check the map and announce the result.  False: another process has
 * announced the result.
 */
static bool
must_check_map(SharedPages *shared)
{
	MapCheck before;

	for (;;)
	{
		SpinLockAcquire(&shared->mutex);
		before = shared->map_check;
		if (before == MAP_CHECK_WANTED)
			shared->map_check = MAP_CHECK_BEGUN;
		SpinLockRelease(&shared->mutex);
		if (before != MAP_CHECK_BEGUN)
			break;
		ConditionVariableSleep(&shared->map_checked, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	return before == MAP_CHECK_WANTED;
}

static void
end_map_check(SharedPages *shared)
{
	SpinLockAcquire(&shared->mutex);
	shared->map_check = MAP_CHECK_DONE;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->map_checked);
}

/*
 * Announce the valid pages of the table, which other processes then do not read.  False: there
 * is not enough shared memory, and nothing was announced.
 */
static bool
announce(const CachedUse *use, const GpuPages *pages, uint32 chunks)
{
	SharedPages *shared = use->shared;
	Size size = (Size) chunks * sizeof(GpuPages);

	if (use->area == NULL || !SegmentHasRoom(size))
		return false;
	shared->pages = dsa_allocate_extended(use->area, Max(size, 1), DSA_ALLOC_HUGE);
	memcpy(dsa_get_address(use->area, shared->pages), pages, size);
	shared->chunks = chunks;
	end_map_check(shared);
	return true;
}

/* ---- in one process ---- */

/*
 * List the columns that a scan needs, with a refusal if it cannot use cached columns.  NULL:
 * there are no cached columns that this process may use.
 */
CachedColumns *
CachedColumnsCreate(Relation relation, const CustomScan *plan, const ScanAggregate *aggregate,
					int count)
{
	CachedQuery query = { .clauses = ScanClauses(plan),
						  .grouped = ScanGroupExprs(plan) != NIL,
						  .parallel = plan->scan.plan.parallel_aware };
	CachedColumns *cached;
	int i;

	if (!GpuColumnsExist())
		return NULL;
	if (query.grouped)
		query.group = ScanGroupedColumn(ScanGroupExprs(plan));
	for (i = 0; i < count; i++)
		query.calls = lappend(query.calls, aggregate[i].call);
	cached = palloc0(sizeof(CachedColumns));
	cached->refusal = CachedColumnsNeed(cached, relation, &query);
	if (cached->refusal)
		return cached;
	cached->taken = palloc0(count * sizeof(PageSet));
	cached->memory = AllocSetContextCreate(CurrentMemoryContext, "QSketchScan cached columns",
										   ALLOCSET_START_SMALL_SIZES);
	return cached;
}

/* Find the cached chunks of all columns; false: a column has no cached chunk. */
static bool
find_cached_chunks(CachedRun *run)
{
	const CachedColumns *cached = run->cached;
	int found = 1;
	int i;

	run->ref = palloc(cached->columns * sizeof(GpuRef *));
	for (i = 0; i < cached->columns && found > 0; i++)
	{
		run->ref[i] = palloc(Max(run->chunks, 1) * sizeof(GpuRef));
		found = GpuColumnFind(&cached->column[i], run->ref[i], run->chunks);
	}
	return found > 0;
}

/*
 * Find the pages of each table that are valid in all columns.  The chunks of all tables are
 * checked together.
 */
static void
find_true_pages(const CachedRun *run, int runs)
{
	CachedCheck *check;
	int checks = 0;
	int i;
	int j;

	for (i = 0; i < runs; i++)
		checks += run[i].cached->columns;
	check = palloc(checks * sizeof(CachedCheck));
	checks = 0;
	for (i = 0; i < runs; i++)
		for (j = 0; j < run[i].cached->columns; j++)
			check[checks++] = (CachedCheck){ run[i].relation, run[i].blocks, 0,
											 run[i].chunks,   run[i].ref[j], run[i].pages };
	CachedTruePages(check, checks);
	pfree(check);
}

/* Set the pages that the scan does not read, because all aggregates have received their keys. */
static void
leave_out(const CachedRun *run)
{
	CachedColumns *cached = run->cached;
	uint32 chunk;

	cached->all = (PageSet){ run->chunks, run->pages };
	for (chunk = 0; chunk < run->chunks; chunk++)
		cached->pages += GpuPagesCount(&run->pages[chunk]);
}

/*
 * Set the pages whose keys the i-th aggregate has received: all pages of the run except the pages
 * in "left".  Removes the pages in "left" from the run.
 */
static void
note_taken(const CachedRun *run, int i, GpuPages *left)
{
	uint32 chunk;

	for (chunk = 0; chunk < run->chunks; chunk++)
		if (!GpuPagesAreNone(&left[chunk]))
			GpuPagesTakeOff(&run->pages[chunk], &left[chunk]);
	memcpy(left, run->pages, run->chunks * sizeof(GpuPages));
	run->cached->taken[i] = (PageSet){ run->chunks, left };
}

/*
 * Count the keys of all tables' pages for all aggregates, and set the pages that were counted
 * for all aggregates.
 */
static void
take_pages(const CachedRun *run, int runs, ScanAggregate *aggregate, int count)
{
	CachedKeys *keys = palloc(runs * sizeof(CachedKeys));
	int i;
	int j;

	for (i = 0; i < count; i++)
	{
		for (j = 0; j < runs; j++)
			keys[j] = (CachedKeys){ &run[j], run[j].cached->key[i], &run[j].tests[i],
									CachedPages(&run[j]) };
		CachedTake(keys, runs, &aggregate[i]);
		for (j = 0; j < runs; j++)
			note_taken(&run[j], i, keys[j].pages);
	}
	for (j = 0; j < runs; j++)
		leave_out(&run[j]);
	pfree(keys);
}

/* The tests of each aggregate in this run; NULL: they exceed the limits of the worker. */
static CachedTests *
make_tests(const CachedRun *run, const ScanAggregate *aggregate, int count)
{
	const qb_test not_null = { .kind = QB_TEST_NULL, .negated = 1 };
	const CachedColumns *cached = run->cached;
	CachedTests *tests = palloc0(count * sizeof(CachedTests));
	int i;

	for (i = 0; i < count; i++)
		if (!CachedConditionsTests(run, aggregate[i].filter_number, &tests[i]) ||
			(cached->id[i] >= 0 && !CachedTestsPair(&tests[i], cached->id[i])) ||
			(CachedCountsValues(&aggregate[i]) &&
			 !CachedTestsAdd(&tests[i], cached->key[i], &not_null)))
			return NULL;
	return tests;
}

/* Set cached->uncounted to the pages that were announced to other processes but not counted. */
static void
note_uncounted(const CachedRun *run, GpuPages *announced_pages)
{
	CachedColumns *cached = run->cached;
	uint32 chunk;

	for (chunk = 0; chunk < run->chunks; chunk++)
	{
		GpuPagesTakeOff(&announced_pages[chunk], &run->pages[chunk]);
		cached->any_uncounted |= !GpuPagesAreNone(&announced_pages[chunk]);
	}
	cached->uncounted = (PageSet){ run->chunks, announced_pages };
}

/*
 * Announce the valid pages to the other processes, and count their keys.  Returns the reason
 * for a failure, or NULL.
 */
static const char *
take_shared(const CachedRun *run, const CachedUse *use)
{
	GpuPages *announced_pages = CachedPages(run);

	if (!announce(use, announced_pages, run->chunks))
		return "no shared memory";
	CachedTestPoint(2);
	take_pages(run, 1, use->aggregate, use->count);
	note_uncounted(run, announced_pages);
	return NULL;
}

/* Count the keys for all groups.  Returns the reason for a failure, or NULL. */
static const char *
take_groups(const CachedRun *run, int runs, const CachedUse *use)
{
	const char *refusal = CachedGroupsTake(run, runs, use->groups, use->count);
	int i;

	for (i = 0; i < runs && refusal == NULL; i++)
		leave_out(&run[i]);
	return refusal;
}

/* Count the keys of all tables.  A parallel scan has only one table. */
static void
take_all(const CachedRun *run, int runs, const CachedUse *use)
{
	MemoryContext old = MemoryContextSwitchTo(run->cached->memory);
	const char *refusal = NULL;
	int i;

	find_true_pages(run, runs);
	CachedTestPoint(1);
	if (use->shared)
		refusal = take_shared(run, use);
	else if (use->groups)
		refusal = take_groups(run, runs, use);
	else
		take_pages(run, runs, use->aggregate, use->count);
	MemoryContextSwitchTo(old);
	for (i = 0; i < runs && refusal; i++)
	{
		run[i].cached->refusal = refusal;
		run[i].cached->used = false;
	}
}

/* Forget the last run.  Cached columns are not used until use_cached_columns() is called. */
static void
forget(const CachedUse *use)
{
	CachedColumns *cached = use->cached;

	cached->pages = 0;
	cached->used = cached->any_uncounted = false;
	if (cached->memory == NULL)
		return;
	MemoryContextReset(cached->memory);
	memset(&cached->all, 0, sizeof(cached->all));
	memset(cached->taken, 0, use->count * sizeof(PageSet));
	cached->refusal = NULL;
}

/*
 * Prepare the use of cached columns.  Returns why they cannot be used, or NULL.  Sets
 * run->tests if they will be used.
 */
static const char *
prepare(CachedRun *run, const CachedUse *use)
{
	if (!IsMVCCSnapshot(use->snapshot) || use->snapshot->takenDuringRecovery)
		return "a snapshot of another kind";
	*run = (CachedRun){ .cached = use->cached,
						.relation = use->rows->relation,
						.rows = use->rows,
						.blocks = use->blocks,
						.chunks = CachedChunksOf(use->blocks) };
	if (!find_cached_chunks(run))
		return NULL;
	run->tests = make_tests(run, use->aggregate, use->count);
	run->pages = CachedAllPages(run->chunks);
	return run->tests ? NULL : "too many conditions";
}

/*
 * Returns why the states of the aggregates receive no keys from cached columns; NULL: they do,
 * or the groups do not exist yet.
 */
static const char *
states_refusal(const CachedUse *use)
{
	if (use->begun)
		return "the groups have rows of another table";
	return use->groups ? NULL : CachedStatesRefusal(use->aggregate, use->count);
}

/* Use the cached columns of all tables that have cached columns. */
static void
use_cached_columns(const CachedUse *use, int uses)
{
	CachedRun *run = palloc0(uses * sizeof(CachedRun));
	const char *refusal = states_refusal(use);
	int runs = 0;
	int i;

	for (i = 0; i < uses; i++)
	{
		CachedColumns *cached = use[i].cached;
		MemoryContext old;

		if (cached == NULL || cached->memory == NULL)
			continue;
		old = MemoryContextSwitchTo(cached->memory);
		cached->refusal = refusal ? refusal : prepare(&run[runs], &use[i]);
		MemoryContextSwitchTo(old);
		cached->used = cached->refusal == NULL;
		runs += cached->used && run[runs].tests;
	}
	if (runs > 0)
		take_all(run, runs, use);
	pfree(run);
}

/* ---- the pages that a process of a parallel scan reads ---- */

/*
 * Announce that no cached columns are used, unless pages were announced before.  "refusal":
 * the reason, or NULL.
 */
static void
announce_none(SharedPages *shared, const char *refusal)
{
	if (DsaPointerIsValid(shared->pages))
		return;
	if (refusal)
		strlcpy(shared->refusal, refusal, sizeof(shared->refusal));
	end_map_check(shared);
}

/*
 * Returns the reason why no cached columns were used, as a copy in the current memory context.
 * NULL: no reason was announced.
 */
const char *
SharedPagesRefusal(const SharedPages *shared)
{
	return shared->refusal[0] ? pstrdup(shared->refusal) : NULL;
}

/*
 * The pages that were announced, which other processes do not read.  The pages are known after the
 * check of the map.
 */
static PageSet
announced(SharedPages *shared, dsa_area *area)
{
	if (!DsaPointerIsValid(shared->pages))
		return (PageSet){ 0 };
	return (PageSet){ shared->chunks, dsa_get_address(area, shared->pages) };
}

/*
 * Begin the runs of scans that fill the same aggregates or groups.  The first scan has the states.
 * The keys of the cached columns of all tables are counted together.  A parallel scan is always the
 * only scan, and another of its processes may count the keys.  In serial scans, "all" of each scan
 * becomes the pages that the scan does not read.  Returns the first table's pages that this process
 * does not read.
 */
LeftOut
CachedColumnsBegin(const CachedUse *use, int uses)
{
	const CachedColumns *cached = use->cached;
	bool checks_map = use->shared == NULL || must_check_map(use->shared);
	LeftOut left_out = { 0 };
	int i;

	for (i = 0; i < uses; i++)
		if (use[i].cached)
			forget(&use[i]);
	if (checks_map)
		use_cached_columns(use, uses);
	if (use->shared == NULL)
	{
		if (cached)
			left_out.pages = cached->all;
		return left_out;
	}
	if (checks_map)
		announce_none(use->shared, cached ? cached->refusal : NULL);
	left_out.pages = announced(use->shared, use->area);
	if (cached && cached->any_uncounted)
		left_out.uncounted = &cached->uncounted;
	return left_out;
}

/* True if columns of the table are cached, or had chunks that were evicted. */
static bool
has_cached_columns(Oid relid)
{
	int count;
	GpuCachedColumn *cached = GpuColumnList(&count);
	bool found = false;
	int i;

	for (i = 0; i < count && !found; i++)
		found = cached[i].column.database == MyDatabaseId && cached[i].column.relation == relid;
	pfree(cached);
	return found;
}

/* Show in EXPLAIN (VERBOSE) why cached columns of the table are not used. */
void
CachedColumnsExplain(const CachedColumns *cached, Relation relation, ExplainState *es)
{
	if (es->verbose && cached->refusal && has_cached_columns(RelationGetRelid(relation)))
		ExplainPropertyText("Cached Columns Not Used", cached->refusal, es);
}
