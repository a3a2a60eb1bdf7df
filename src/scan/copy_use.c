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

#include "access/table.h"
#include "gpu/sketch_gpu.h"
#include "miscadmin.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/* Why the keys of this aggregate cannot come from a copy; NULL: they can. */
static const char *
aggregate_refusal(Relation relation, const ScanAggregate *column)
{
	Form_pg_attribute form;

	if (column->family != &column_families[0])
		return "an aggregate that makes no sketch";
	if (column->row)
		return "a key of several columns";
	if (column->weight.attribute)
		return "weights";
	if (column->given)
		return "a template that is not a constant";
	form = TupleDescAttr(RelationGetDescr(relation), column->place.attribute - 1);
	if (!CopyTakesKeys(form) || form->atttypid != column->key_type)
		return "keys of a type that is not copied";
	return NULL;
}

static const char *
find_refusal(Relation relation, const ScanAggregate *column, int count, const WantedRows *rows,
			 const CustomScan *plan, const Var *group)
{
	const char *refusal = CopyTableRefusal(relation);
	int i;

	if (refusal)
		return refusal;
	if (!ScanReturnsOneRow(plan))
		refusal = group ? CopyGroupsRefusal(relation, group)
						: "GROUP BY of something other than a column";
	if (refusal == NULL)
		refusal = CopyConditionsRefusal(relation, rows);
	for (i = 0; i < count && refusal == NULL; i++)
		refusal = aggregate_refusal(relation, &column[i]);
	if (refusal == NULL && plan->scan.plan.parallel_aware)
		refusal = "a parallel plan";
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

/* List the columns that the scan needs. */
static void
list_columns(ScanCopies *copies, Relation relation, const ScanAggregate *column, int count,
			 const WantedRows *rows, const Var *group)
{
	int i;

	copies->column = palloc((count + CopyConditionsCount(rows) + 1) * sizeof(GpuColumn));
	copies->key = palloc(count * sizeof(int));
	for (i = 0; i < count; i++)
	{
		GpuColumn key = CopyColumn(relation, column[i].place.attribute, column[i].collation);

		copies->key[i] = CopyColumnNumber(copies, &key);
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

/* Why the state of an aggregate takes no keys from copies; NULL: it does. */
static const char *
state_refusal(const ScanAggregate *column)
{
	const SketchState *sketch = ScanAggregateState(column, &sketch_state_type);

	if (sketch == NULL || sketch->engine == &qs_engine_cpu)
		return "the sketch is made on the CPU";
	return GpuSketchOnlyOnCpu(&sketch->sketch.params)
			   ? "sketches of structure sf are made on the CPU"
			   : NULL;
}

/* Why states of a run take no keys from copies; NULL: they do. */
const char *
CopyStatesRefusal(const ScanAggregate *column, int count)
{
	const char *refusal = NULL;
	int i;

	for (i = 0; i < count && refusal == NULL; i++)
		refusal = state_refusal(&column[i]);
	return refusal;
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
	for (i = 0; i < tests->selection.columns; i++)
		part.tested[i] = run->ref[tests->column[i]][range];
	return part;
}

/* Count keys for one aggregate.  Returns the pages whose keys were counted. */
GpuPages *
CopyTake(const CopyRun *run, int key, const CopyTests *tests, ScanAggregate *column)
{
	GpuColumnPart *part = palloc(Max(run->ranges, 1) * sizeof(GpuColumnPart));
	GpuPages *taken = make_sets(run->ranges);
	GpuPages *left = make_sets(run->ranges);
	int parts = 0;
	uint32 range;
	int i;

	for (range = 0; range < run->ranges; range++)
		if (!GpuPagesAreNone(&run->pages[range]))
		{
			left[range] = run->pages[range];
			part[parts++] = CopyPart(run, key, tests, range, &left[range]);
		}
	if (tests->none)
		memset(left, 0, run->ranges * sizeof(GpuPages));
	else
		SketchAddColumn((SketchState *) column->state, part, parts);
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

/* What is tested for each aggregate in this run; NULL: it is too much for the worker. */
static CopyTests *
make_tests(const CopyRun *run, const ScanAggregate *column, int count)
{
	CopyTests *tests = palloc(count * sizeof(CopyTests));
	int i;

	for (i = 0; i < count; i++)
		if (!CopyConditionsTests(run, column[i].filter_number, &tests[i]))
			return NULL;
	return tests;
}

/* Have keys counted; why none were, or NULL. */
static const char *
take_all(CopyRun *run, BlockNumber blocks, ScanAggregate *column, int count, ScanGroups *groups)
{
	const CopyTests *tests = make_tests(run, column, count);
	const char *refusal;

	if (tests == NULL)
		return "too many conditions";
	run->pages = true_pages(run, blocks);
	CopyTestPoint(1);
	if (groups == NULL)
	{
		take_pages(run, column, count, tests);
		return NULL;
	}
	refusal = CopyGroupsTake(run, groups, count);
	if (refusal == NULL)
		leave_out(run);
	return refusal;
}

/*
 * Have keys of the aggregates counted from copies, or those of their groups.  "all" then
 * has the pages to leave out.
 */
void
ScanCopiesUse(ScanCopies *copies, const WantedRows *rows, Snapshot snapshot, BlockNumber blocks,
			  ScanAggregate *column, int count, ScanGroups *groups)
{
	CopyRun run = {
		.copies = copies, .relation = rows->relation, .rows = rows, .ranges = CopyRanges(blocks)
	};
	MemoryContext old;

	copies->pages = 0;
	copies->used = false;
	if (copies->memory == NULL)
		return;
	MemoryContextReset(copies->memory);
	memset(&copies->all, 0, sizeof(copies->all));
	memset(copies->taken, 0, count * sizeof(PageSet));
	copies->refusal = NULL;
	if (!IsMVCCSnapshot(snapshot) || snapshot->takenDuringRecovery)
		copies->refusal = "a snapshot of another kind";
	else if (groups == NULL)
		copies->refusal = CopyStatesRefusal(column, count);
	if (copies->refusal)
		return;
	old = MemoryContextSwitchTo(copies->memory);
	if (find_copies(&run))
		copies->refusal = take_all(&run, blocks, column, count, groups);
	copies->used = copies->refusal == NULL;
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

/* ---- while planning ---- */

/* The ranges of the grouping column that have copies, if so many groups can be made of them. */
static int
group_ranges(Relation relation, const Var *group, double states, uint32 ranges)
{
	GpuRef *ref;
	GpuColumn column;
	int there;

	if (states > COPY_STATES_MAX || CopyGroupsRefusal(relation, group))
		return 0;
	ref = palloc(Max(ranges, 1) * sizeof(GpuRef));
	column = CopyColumn(relation, group->varattno, InvalidOid);
	there = GpuColumnFind(&column, ref, ranges);
	pfree(ref);
	return there;
}

/*
 * Which share of a table's pages need not be read, as far as the planner can know?
 * "group" is the grouping column or NULL, of so many values.
 */
double
ScanCopiedShare(PlannerInfo *root, const RelOptInfo *table, List *aggregates, const Var *group,
				double groups)
{
	uint32 ranges = CopyRanges(table->pages);
	int there = 0;
	Relation relation;

	if (!GpuColumnsExist() || ranges == 0)
		return 0;
	relation = table_open(planner_rt_fetch(table->relid, root)->relid, NoLock);
	if (CopyTableRefusal(relation) == NULL)
		there = CopyRangesThere(relation, extract_actual_clauses(table->baserestrictinfo, false),
								aggregates, ranges);
	if (group && there > 0)
		there = Min(there, group_ranges(relation, group, groups * list_length(aggregates), ranges));
	table_close(relation, NoLock);
	return table->allvisfrac * there / ranges;
}
