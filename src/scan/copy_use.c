/*
 * copy_use.c
 *		Copies of columns in a scan: the worker counts their keys, and the scan reads
 *		the other pages.
 *
 * A page is taken from copies if those of all columns that the query names are true for
 * it.  It is left out if all aggregates have got its keys.  A copy may go
 * while it is used.  Then an aggregate has keys of some pages that another one lacks:
 * these pages are read, for the other one alone.
 *
 * src/scan/copy_use.c
 */
#include "scan/copy.h"
#include "scan/groups.h"
#include "scan/version.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

static const char *
find_refusal(Relation relation, const ScanAggregate *column, int count, const WantedRows *rows,
			 const CustomScan *plan, const Var *group)
{
	const char *refusal = CopyTableRefusal(relation);
	bool parallel = plan->scan.plan.parallel_aware;
	int i;

	if (refusal)
		return refusal;
	if (!ScanReturnsOneRow(plan))
		refusal = group ? CopyGroupsRefusal(relation, group)
						: "GROUP BY of something other than a column";
	if (refusal == NULL)
		refusal = CopyConditionsRefusal(relation, rows);
	for (i = 0; i < count && refusal == NULL; i++)
	{
		refusal = CopyAggregateRefusal(relation, &column[i], group != NULL);
		if (refusal == NULL && parallel && (group || !CopyTakesInParallel(column[i].family)))
			refusal = "a parallel plan";
	}
	return refusal;
}

/* The number of a column that the scan needs. */
int
CopyColumnNumber(ScanCopies *copies, const GpuColumn *column)
{
	int i;

	for (i = 0; i < copies->columns; i++)
		if (memcmp(&copies->column[i], column, sizeof(*column)) == 0)
			return i;
	copies->column[copies->columns] = *column;
	return copies->columns++;
}

/*
 * The column of an aggregate's keys.  count(*) has none: any copy can tell the number of rows,
 * so it gets the column of the first aggregate that has one.
 */
static GpuColumn
key_column(Relation relation, const ScanAggregate *column, int i)
{
	const ScanAggregate *from = &column[i];

	if (from->place.attribute == 0)
		for (from = column; from->place.attribute == 0; from++)
			continue;
	return CopyColumn(
		relation, from->place.attribute,
		CopyKeyCollation(relation, from->family, from->place.attribute, from->collation));
}

/* List the columns that the scan needs. */
static void
list_columns(ScanCopies *copies, Relation relation, const ScanAggregate *column, int count,
			 const WantedRows *rows, const Var *group)
{
	int i;

	copies->column = palloc((2 * count + CopyConditionsCount(rows) + 1) * sizeof(GpuColumn));
	copies->key = palloc(count * sizeof(int));
	copies->id = palloc(count * sizeof(int));
	for (i = 0; i < count; i++)
	{
		GpuColumn key = key_column(relation, column, i);

		copies->key[i] = CopyColumnNumber(copies, &key);
		copies->id[i] = -1;
		if (column[i].weight.attribute)
		{
			GpuColumn id = CopyColumn(relation, column[i].weight.attribute, InvalidOid);

			copies->id[i] = CopyColumnNumber(copies, &id);
		}
	}
	CopyConditionsColumns(copies, relation, rows);
	copies->group = -1;
	if (group)
	{
		GpuColumn grouping = CopyColumn(relation, group->varattno, InvalidOid);

		copies->group = CopyColumnNumber(copies, &grouping);
	}
}

/*
 * Look whether a scan can use copies; NULL: there are no copies of any table.  "group":
 * the grouping column, if there is one and nothing else.
 */
ScanCopies *
ScanCopiesCreate(Relation relation, const ScanAggregate *column, int count, const WantedRows *rows,
				 const CustomScan *plan, const Var *group)
{
	ScanCopies *copies;

	if (!GpuColumnsExist())
		return NULL;
	copies = palloc0(sizeof(ScanCopies));
	copies->refusal = find_refusal(relation, column, count, rows, plan, group);
	if (copies->refusal)
		return copies;
	list_columns(copies, relation, column, count, rows, group);
	copies->taken = palloc0(count * sizeof(PageSet));
	copies->memory =
		AllocSetContextCreate(CurrentMemoryContext, "QSketchScan copies", ALLOCSET_DEFAULT_SIZES);
	return copies;
}

/* The copies of all columns; false: a column has none. */
static bool
find_copies(CopyRun *run)
{
	const ScanCopies *copies = run->copies;
	int found = 1;
	int i;

	run->ref = palloc(copies->columns * sizeof(GpuRef *));
	for (i = 0; i < copies->columns && found > 0; i++)
	{
		run->ref[i] = palloc(Max(run->ranges, 1) * sizeof(GpuRef));
		found = GpuColumnFind(&copies->column[i], run->ref[i], run->ranges);
	}
	return found > 0;
}

/* Sets of pages, one for each range; a table may have thousands. */
static GpuPages *
make_sets(uint32 ranges)
{
	return MemoryContextAllocExtended(CurrentMemoryContext, Max(ranges, 1) * sizeof(GpuPages),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

static PageSet
set_of(GpuPages *pages, uint32 ranges)
{
	PageSet set = { .ranges = ranges, .range = palloc0(Max(ranges, 1) * sizeof(GpuPages *)) };
	uint32 range;

	for (range = 0; range < ranges; range++)
		if (!GpuPagesAreNone(&pages[range]))
			set.range[range] = &pages[range];
	return set;
}

/* Pages of the table that are true in the copies of all columns. */
static GpuPages *
true_pages(const CopyRun *run, BlockNumber blocks)
{
	GpuPages *pages = make_sets(run->ranges);
	GpuPages *more = make_sets(run->ranges);
	uint32 range;
	int i;

	for (i = 0; i < run->copies->columns; i++)
	{
		CopyTruePages(run->relation, run->ref[i], 0, run->ranges, blocks, i == 0 ? pages : more);
		for (range = 0; range < run->ranges && i > 0; range++)
			GpuPagesKeep(&pages[range], &more[range]);
	}
	pfree(more);
	return pages;
}

/* Keys of a range's pages, of rows that pass the tests.  "key": the number of their column. */
GpuColumnPart
CopyPart(const CopyRun *run, int key, const CopyTests *tests, uint32 range, GpuPages *pages)
{
	GpuColumnPart part = { .ref = run->ref[key][range], .pages = pages };
	uint32 i;

	if (tests->selection.columns > 0)
		part.tests = &tests->selection;
	if (tests->pairs)
	{
		part.wish = WISH_PAIRS;
		part.pair = tests->pair;
	}
	for (i = 0; i < tests->selection.columns; i++)
		part.tested[i] = run->ref[tests->column[i]][range];
	return part;
}

/* A copy of the sets of pages that a run uses, one for each range. */
GpuPages *
CopyPages(const CopyRun *run)
{
	GpuPages *pages = make_sets(run->ranges);

	memcpy(pages, run->pages, run->ranges * sizeof(GpuPages));
	return pages;
}

/* Keys of all ranges that have pages, which are taken off "pages" when they are done. */
GpuColumnPart *
CopyParts(const CopyRun *run, int key, const CopyTests *tests, GpuPages *pages, int *parts)
{
	GpuColumnPart *part = palloc(Max(run->ranges, 1) * sizeof(GpuColumnPart));
	uint32 range;

	*parts = 0;
	for (range = 0; range < run->ranges; range++)
		if (!GpuPagesAreNone(&pages[range]))
			part[(*parts)++] = CopyPart(run, key, tests, range, &pages[range]);
	return part;
}

/* Count keys for one aggregate.  Returns the pages whose keys were counted. */
GpuPages *
CopyTake(const CopyRun *run, int key, const CopyTests *tests, ScanAggregate *column)
{
	GpuPages *taken = make_sets(run->ranges);
	GpuPages *left = CopyPages(run);
	int parts;
	GpuColumnPart *part = CopyParts(run, key, tests, left, &parts);
	uint32 range;
	int i;

	if (tests->none)
		memset(left, 0, run->ranges * sizeof(GpuPages));
	else
		CopyAddKeys(column, part, parts);
	for (range = 0; range < run->ranges; range++)
		for (i = 0; i < GPU_RANGE_BYTES; i++)
			taken[range].bits[i] = run->pages[range].bits[i] & ~left[range].bits[i];
	pfree(left);
	pfree(part);
	return taken;
}

/* Note which pages are not read. */
static void
leave_out(const CopyRun *run)
{
	ScanCopies *copies = run->copies;
	uint32 range;

	copies->all = set_of(run->pages, run->ranges);
	for (range = 0; range < run->ranges; range++)
		copies->pages += GpuPagesCount(&run->pages[range]);
}

/* Count keys of these pages for all aggregates.  Notes the pages that were counted for all. */
static void
take_pages(const CopyRun *run, ScanAggregate *column, int count, const CopyTests *tests)
{
	ScanCopies *copies = run->copies;
	uint32 range;
	int i;

	for (i = 0; i < count; i++)
	{
		GpuPages *taken = CopyTake(run, copies->key[i], &tests[i], &column[i]);

		copies->taken[i] = set_of(taken, run->ranges);
		for (range = 0; range < run->ranges; range++)
			GpuPagesKeep(&run->pages[range], &taken[range]);
	}
	leave_out(run);
}

/* What is tested for the i-th aggregate in this run.  False: it is too much for the worker. */
static bool
make_test(const CopyRun *run, const ScanAggregate *column, int i, CopyTests *tests)
{
	const qb_test not_null = { .kind = QB_TEST_NULL, .negated = 1 };
	const ScanCopies *copies = run->copies;

	return CopyConditionsTests(run, column[i].filter_number, tests) &&
		   (copies->id[i] < 0 || CopyTestsPair(tests, copies->id[i])) &&
		   (!CopyCountsValues(&column[i]) || CopyTestsAdd(tests, copies->key[i], &not_null));
}

/* What is tested for each aggregate in this run; NULL: it is too much for the worker. */
static CopyTests *
make_tests(const CopyRun *run, const ScanAggregate *column, int count)
{
	CopyTests *tests = palloc(count * sizeof(CopyTests));
	int i;

	for (i = 0; i < count; i++)
		if (!make_test(run, column, i, &tests[i]))
			return NULL;
	return tests;
}

/* Note the pages that were not taken, although other processes were told not to read them. */
static void
note_lost(const CopyRun *run, GpuPages *told)
{
	ScanCopies *copies = run->copies;
	uint32 range;
	int i;

	for (range = 0; range < run->ranges; range++)
	{
		for (i = 0; i < GPU_RANGE_BYTES; i++)
			told[range].bits[i] &= ~run->pages[range].bits[i];
		copies->any_lost |= !GpuPagesAreNone(&told[range]);
	}
	copies->lost = set_of(told, run->ranges);
}

/*
 * Have keys of true pages counted, after other processes were told not to read these pages.
 * Returns why not, or NULL.
 */
static const char *
take_shared(const CopyRun *run, const CopyUse *use, const CopyTests *tests)
{
	GpuPages *told = CopyPages(run);

	if (!SharedPagesTell(use->shared, use->area, told, run->ranges, use->blocks))
		return "no shared memory";
	CopyTestPoint(2);
	take_pages(run, use->column, use->count, tests);
	note_lost(run, told);
	return NULL;
}

/* Have keys counted; why none were, or NULL. */
static const char *
take_all(CopyRun *run, const CopyUse *use)
{
	const CopyTests *tests = make_tests(run, use->column, use->count);
	const char *refusal;

	if (tests == NULL)
		return "too many conditions";
	run->pages = true_pages(run, use->blocks);
	CopyTestPoint(1);
	if (use->shared)
		return take_shared(run, use, tests);
	if (use->groups == NULL)
	{
		take_pages(run, use->column, use->count, tests);
		return NULL;
	}
	refusal = CopyGroupsTake(run, use->groups, use->count);
	if (refusal == NULL)
		leave_out(run);
	return refusal;
}

/* Use no copies until ScanCopiesUse() is called. */
void
ScanCopiesForget(ScanCopies *copies, int count)
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

/* Use copies if there are any; why they cannot be used, or NULL. */
static const char *
use_copies(ScanCopies *copies, const CopyUse *use)
{
	CopyRun run = { .copies = copies,
					.relation = use->rows->relation,
					.rows = use->rows,
					.ranges = CopyRanges(use->blocks) };
	const char *refusal = NULL;

	if (!IsMVCCSnapshot(use->snapshot) || use->snapshot->takenDuringRecovery)
		return "a snapshot of another kind";
	if (use->groups == NULL)
		refusal = CopyStatesRefusal(use->column, use->count);
	if (refusal == NULL && find_copies(&run))
		refusal = take_all(&run, use);
	copies->used = refusal == NULL;
	return refusal;
}

/*
 * Have keys of the aggregates counted from copies, or those of their groups.  "all" then
 * has the pages to leave out.
 */
void
ScanCopiesUse(ScanCopies *copies, const CopyUse *use)
{
	MemoryContext old;

	if (copies->memory == NULL)
		return;
	old = MemoryContextSwitchTo(copies->memory);
	copies->refusal = use_copies(copies, use);
	MemoryContextSwitchTo(old);
}

/* Has the table copies, whether they are used or not? */
static bool
has_copies(Oid relid)
{
	int count;
	GpuColumnCopy *copy = GpuColumnList(&count);
	bool found = false;
	int i;

	for (i = 0; i < count && !found; i++)
		found = copy[i].column.database == MyDatabaseId && copy[i].column.relation == relid;
	pfree(copy);
	return found;
}

/* Say in EXPLAIN (VERBOSE) why copies of the table are not used. */
void
ScanCopiesExplain(const ScanCopies *copies, Relation relation, ExplainState *es)
{
	if (es->verbose && copies->refusal && has_copies(RelationGetRelid(relation)))
		ExplainPropertyText("GPU Copies Not Used", copies->refusal, es);
}
