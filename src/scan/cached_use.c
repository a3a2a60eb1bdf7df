/*
 * cached_use.c
 *		Cached columns in a scan: the worker counts their keys, and the scan reads
 *		the other pages.
 *
 * A page is taken from cached columns if all that the query names are true for
 * it.  It is left out if all aggregates have got its keys.  A chunk may go
 * while it is used.  Then an aggregate has keys of some pages that another one
 * lacks: these pages are read, for the other one alone.
 *
 * src/scan/cached_use.c
 */
#include "scan/cached.h"
#include "scan/groups.h"
#include "scan/version.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

static const char *
find_refusal(Relation relation, const ScanAggregate *aggregate, int count, const WantedRows *rows,
			 const CustomScan *plan, const Var *group)
{
	const char *refusal = CachedTableRefusal(relation);
	bool parallel = plan->scan.plan.parallel_aware;
	int i;

	if (refusal)
		return refusal;
	if (!ScanReturnsOneRow(plan))
		refusal = group ? CachedGroupsRefusal(relation, group)
						: "GROUP BY of something other than a column";
	if (refusal == NULL)
		refusal = CachedConditionsRefusal(relation, rows);
	for (i = 0; i < count && refusal == NULL; i++)
	{
		refusal = CachedAggregateRefusal(relation, &aggregate[i], group != NULL);
		if (refusal == NULL && parallel && (group || !CachedTakesInParallel(aggregate[i].family)))
			refusal = "a parallel plan";
	}
	return refusal;
}

/* The number of a column that the scan needs. */
int
CachedColumnNumber(CachedColumns *copies, const GpuColumn *column)
{
	int i;

	for (i = 0; i < copies->columns; i++)
		if (memcmp(&copies->column[i], column, sizeof(*column)) == 0)
			return i;
	copies->column[copies->columns] = *column;
	return copies->columns++;
}

/*
 * The column of an aggregate's keys.  count(*) has none: any cached column can
 * tell the number of rows, so it gets the column of the first aggregate that
 * has one.
 */
static GpuColumn
key_column(Relation relation, const ScanAggregate *aggregate, int i)
{
	const ScanAggregate *from = &aggregate[i];

	if (from->location.attribute == 0)
		for (from = aggregate; from->location.attribute == 0; from++)
			continue;
	return CachedColumn(
		relation, from->location.attribute,
		CachedKeyCollation(relation, from->family, from->location.attribute, from->collation));
}

/* List the columns that the scan needs. */
static void
list_columns(CachedColumns *copies, Relation relation, const ScanAggregate *aggregate, int count,
			 const WantedRows *rows, const Var *group)
{
	int i;

	copies->column = palloc((2 * count + CachedConditionsCount(rows) + 1) * sizeof(GpuColumn));
	copies->key = palloc(count * sizeof(int));
	copies->id = palloc(count * sizeof(int));
	for (i = 0; i < count; i++)
	{
		GpuColumn key = key_column(relation, aggregate, i);

		copies->key[i] = CachedColumnNumber(copies, &key);
		copies->id[i] = -1;
		if (aggregate[i].weight.attribute)
		{
			GpuColumn id = CachedColumn(relation, aggregate[i].weight.attribute, InvalidOid);

			copies->id[i] = CachedColumnNumber(copies, &id);
		}
	}
	CachedConditionsColumns(copies, relation, rows);
	copies->group = -1;
	if (group)
	{
		GpuColumn grouping = CachedColumn(relation, group->varattno, InvalidOid);

		copies->group = CachedColumnNumber(copies, &grouping);
	}
}

/*
 * Look whether a scan can use cached columns; NULL: no table has any.  "group":
 * the grouping column, if there is one and nothing else.
 */
CachedColumns *
CachedColumnsCreate(Relation relation, const ScanAggregate *aggregate, int count,
					const WantedRows *rows, const CustomScan *plan, const Var *group)
{
	CachedColumns *copies;

	if (!GpuColumnsExist())
		return NULL;
	copies = palloc0(sizeof(CachedColumns));
	copies->refusal = find_refusal(relation, aggregate, count, rows, plan, group);
	if (copies->refusal)
		return copies;
	list_columns(copies, relation, aggregate, count, rows, group);
	copies->taken = palloc0(count * sizeof(PageSet));
	copies->memory = AllocSetContextCreate(CurrentMemoryContext, "QSketchScan cached columns",
										   ALLOCSET_DEFAULT_SIZES);
	return copies;
}

/* The chunks of all columns; false: a column has none. */
static bool
find_copies(CachedRun *run)
{
	const CachedColumns *copies = run->copies;
	int found = 1;
	int i;

	run->ref = palloc(copies->columns * sizeof(GpuRef *));
	for (i = 0; i < copies->columns && found > 0; i++)
	{
		run->ref[i] = palloc(Max(run->chunks, 1) * sizeof(GpuRef));
		found = GpuColumnFind(&copies->column[i], run->ref[i], run->chunks);
	}
	return found > 0;
}

/* Sets of pages, one for each chunk; a table may have thousands. */
static GpuPages *
make_sets(uint32 chunks)
{
	return MemoryContextAllocExtended(CurrentMemoryContext, Max(chunks, 1) * sizeof(GpuPages),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

static PageSet
set_of(GpuPages *pages, uint32 chunks)
{
	PageSet set = { .chunks = chunks, .chunk = palloc0(Max(chunks, 1) * sizeof(GpuPages *)) };
	uint32 chunk;

	for (chunk = 0; chunk < chunks; chunk++)
		if (!GpuPagesAreNone(&pages[chunk]))
			set.chunk[chunk] = &pages[chunk];
	return set;
}

/* Pages of the table that are true in all columns. */
static GpuPages *
true_pages(const CachedRun *run, BlockNumber blocks)
{
	GpuPages *pages = make_sets(run->chunks);
	GpuPages *more = make_sets(run->chunks);
	uint32 chunk;
	int i;

	for (i = 0; i < run->copies->columns; i++)
	{
		CachedTruePages(run->relation, run->ref[i], 0, run->chunks, blocks, i == 0 ? pages : more);
		for (chunk = 0; chunk < run->chunks && i > 0; chunk++)
			GpuPagesKeep(&pages[chunk], &more[chunk]);
	}
	pfree(more);
	return pages;
}

/* Keys of a chunk's pages, of rows that pass the tests.  "key": the number of their column. */
GpuColumnChunk
CachedChunk(const CachedRun *run, int key, const CachedTests *tests, uint32 chunk, GpuPages *pages)
{
	GpuColumnChunk wanted = { .ref = run->ref[key][chunk], .pages = pages };
	uint32 i;

	if (tests->selection.columns > 0)
		wanted.tests = &tests->selection;
	if (tests->pairs)
	{
		wanted.projection = PROJECT_PAIRS;
		wanted.pair = tests->pair;
	}
	for (i = 0; i < tests->selection.columns; i++)
		wanted.tested[i] = run->ref[tests->column[i]][chunk];
	return wanted;
}

/* A copy of the sets of pages that a run uses, one for each chunk. */
GpuPages *
CachedPages(const CachedRun *run)
{
	GpuPages *pages = make_sets(run->chunks);

	memcpy(pages, run->pages, run->chunks * sizeof(GpuPages));
	return pages;
}

/* Keys of all chunks that have pages, which are taken off "pages" when they are done. */
GpuColumnChunk *
CachedChunks(const CachedRun *run, int key, const CachedTests *tests, GpuPages *pages,
			 int *wanted_count)
{
	GpuColumnChunk *wanted = palloc(Max(run->chunks, 1) * sizeof(GpuColumnChunk));
	uint32 chunk;

	*wanted_count = 0;
	for (chunk = 0; chunk < run->chunks; chunk++)
		if (!GpuPagesAreNone(&pages[chunk]))
			wanted[(*wanted_count)++] = CachedChunk(run, key, tests, chunk, &pages[chunk]);
	GpuColumnInterleave(wanted, *wanted_count);
	return wanted;
}

/* Count keys for one aggregate.  Returns the pages whose keys were counted. */
GpuPages *
CachedTake(const CachedRun *run, int key, const CachedTests *tests, ScanAggregate *aggregate)
{
	GpuPages *taken = make_sets(run->chunks);
	GpuPages *left = CachedPages(run);
	int wanted_count;
	GpuColumnChunk *wanted = CachedChunks(run, key, tests, left, &wanted_count);
	uint32 chunk;
	int i;

	if (tests->none)
		memset(left, 0, run->chunks * sizeof(GpuPages));
	else
		CachedAddKeys(aggregate, wanted, wanted_count);
	for (chunk = 0; chunk < run->chunks; chunk++)
		for (i = 0; i < GPU_CHUNK_BYTES; i++)
			taken[chunk].bits[i] = run->pages[chunk].bits[i] & ~left[chunk].bits[i];
	pfree(left);
	pfree(wanted);
	return taken;
}

/* Note which pages are not read. */
static void
leave_out(const CachedRun *run)
{
	CachedColumns *copies = run->copies;
	uint32 chunk;

	copies->all = set_of(run->pages, run->chunks);
	for (chunk = 0; chunk < run->chunks; chunk++)
		copies->pages += GpuPagesCount(&run->pages[chunk]);
}

/* Count keys of these pages for all aggregates.  Notes the pages that were counted for all. */
static void
take_pages(const CachedRun *run, ScanAggregate *aggregate, int count, const CachedTests *tests)
{
	CachedColumns *copies = run->copies;
	uint32 chunk;
	int i;

	for (i = 0; i < count; i++)
	{
		GpuPages *taken = CachedTake(run, copies->key[i], &tests[i], &aggregate[i]);

		copies->taken[i] = set_of(taken, run->chunks);
		for (chunk = 0; chunk < run->chunks; chunk++)
			GpuPagesKeep(&run->pages[chunk], &taken[chunk]);
	}
	leave_out(run);
}

/* What is tested for the i-th aggregate in this run.  False: it is too much for the worker. */
static bool
make_test(const CachedRun *run, const ScanAggregate *aggregate, int i, CachedTests *tests)
{
	const qb_test not_null = { .kind = QB_TEST_NULL, .negated = 1 };
	const CachedColumns *copies = run->copies;

	return CachedConditionsTests(run, aggregate[i].filter_number, tests) &&
		   (copies->id[i] < 0 || CachedTestsPair(tests, copies->id[i])) &&
		   (!CachedCountsValues(&aggregate[i]) || CachedTestsAdd(tests, copies->key[i], &not_null));
}

/* What is tested for each aggregate in this run; NULL: it is too much for the worker. */
static CachedTests *
make_tests(const CachedRun *run, const ScanAggregate *aggregate, int count)
{
	CachedTests *tests = palloc(count * sizeof(CachedTests));
	int i;

	for (i = 0; i < count; i++)
		if (!make_test(run, aggregate, i, &tests[i]))
			return NULL;
	return tests;
}

/* Note the pages that were not taken, although other processes were told not to read them. */
static void
note_lost(const CachedRun *run, GpuPages *told)
{
	CachedColumns *copies = run->copies;
	uint32 chunk;
	int i;

	for (chunk = 0; chunk < run->chunks; chunk++)
	{
		for (i = 0; i < GPU_CHUNK_BYTES; i++)
			told[chunk].bits[i] &= ~run->pages[chunk].bits[i];
		copies->any_lost |= !GpuPagesAreNone(&told[chunk]);
	}
	copies->lost = set_of(told, run->chunks);
}

/*
 * Have keys of true pages counted, after other processes were told not to read these pages.
 * Returns why not, or NULL.
 */
static const char *
take_shared(const CachedRun *run, const CachedUse *use, const CachedTests *tests)
{
	GpuPages *told = CachedPages(run);

	if (!SharedPagesTell(use->shared, use->area, told, run->chunks, use->blocks))
		return "no shared memory";
	CachedTestPoint(2);
	take_pages(run, use->aggregate, use->count, tests);
	note_lost(run, told);
	return NULL;
}

/* Have keys counted; why none were, or NULL. */
static const char *
take_all(CachedRun *run, const CachedUse *use)
{
	const CachedTests *tests = make_tests(run, use->aggregate, use->count);
	const char *refusal;

	if (tests == NULL)
		return "too many conditions";
	run->pages = true_pages(run, use->blocks);
	CachedTestPoint(1);
	if (use->shared)
		return take_shared(run, use, tests);
	if (use->groups == NULL)
	{
		take_pages(run, use->aggregate, use->count, tests);
		return NULL;
	}
	refusal = CachedGroupsTake(run, use->groups, use->count);
	if (refusal == NULL)
		leave_out(run);
	return refusal;
}

/* Use no cached columns until CachedColumnsUse() is called. */
void
CachedColumnsForget(CachedColumns *copies, int count)
{
	copies->pages = 0;
	copies->used = copies->any_lost = false;
	if (copies->memory == NULL)
		return;
	MemoryContextReset(copies->memory);
	memset(&copies->all, 0, sizeof(copies->all));
	memset(copies->taken, 0, count * sizeof(PageSet));
	copies->refusal = NULL;
}

/* Use cached columns if there are any; why they cannot be used, or NULL. */
static const char *
use_copies(CachedColumns *copies, const CachedUse *use)
{
	CachedRun run = { .copies = copies,
					  .relation = use->rows->relation,
					  .rows = use->rows,
					  .chunks = CachedChunksOf(use->blocks) };
	const char *refusal = NULL;

	if (!IsMVCCSnapshot(use->snapshot) || use->snapshot->takenDuringRecovery)
		return "a snapshot of another kind";
	if (use->groups == NULL)
		refusal = CachedStatesRefusal(use->aggregate, use->count);
	if (refusal == NULL && find_copies(&run))
		refusal = take_all(&run, use);
	copies->used = refusal == NULL;
	return refusal;
}

/*
 * Have keys of the aggregates counted from cached columns, or those of their groups.  "all" then
 * has the pages to leave out.
 */
void
CachedColumnsUse(CachedColumns *copies, const CachedUse *use)
{
	MemoryContext old;

	if (copies->memory == NULL)
		return;
	old = MemoryContextSwitchTo(copies->memory);
	copies->refusal = use_copies(copies, use);
	MemoryContextSwitchTo(old);
}

/* Has the table cached columns, whether they are used or not? */
static bool
has_copies(Oid relid)
{
	int count;
	GpuCachedColumn *copy = GpuColumnList(&count);
	bool found = false;
	int i;

	for (i = 0; i < count && !found; i++)
		found = copy[i].column.database == MyDatabaseId && copy[i].column.relation == relid;
	pfree(copy);
	return found;
}

/* Say in EXPLAIN (VERBOSE) why cached columns of the table are not used. */
void
CachedColumnsExplain(const CachedColumns *copies, Relation relation, ExplainState *es)
{
	if (es->verbose && copies->refusal && has_copies(RelationGetRelid(relation)))
		ExplainPropertyText("Cached Columns Not Used", copies->refusal, es);
}
