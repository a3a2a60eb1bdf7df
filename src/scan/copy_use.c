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

#include "access/table.h"
#include "commands/explain.h"
#include "gpu/sketch_gpu.h"
#include "miscadmin.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

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
	form = TupleDescAttr(RelationGetDescr(relation), column->place.attribute - 1);
	if (!CopyTakesKeys(form) || form->atttypid != column->key_type)
		return "keys of a type that is not copied";
	return NULL;
}

static const char *
find_refusal(Relation relation, const ScanAggregate *column, int count, const WantedRows *rows,
			 const CustomScan *plan)
{
	const char *refusal = CopyTableRefusal(relation);
	int i;

	if (refusal)
		return refusal;
	if (!ScanReturnsOneRow(plan))
		return "GROUP BY";
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
			 const WantedRows *rows)
{
	int i;

	copies->column = palloc((count + CopyConditionsCount(rows)) * sizeof(GpuColumn));
	copies->key = palloc(count * sizeof(int));
	for (i = 0; i < count; i++)
	{
		GpuColumn key = CopyColumn(relation, column[i].place.attribute, column[i].collation);

		copies->key[i] = CopyColumnNumber(copies, &key);
	}
	CopyConditionsColumns(copies, relation, rows);
}

/* Look whether a scan can use copies; NULL: there are no copies of any table. */
ScanCopies *
ScanCopiesCreate(Relation relation, const ScanAggregate *column, int count, const WantedRows *rows,
				 const CustomScan *plan)
{
	ScanCopies *copies;

	if (!GpuColumnsExist())
		return NULL;
	copies = palloc0(sizeof(ScanCopies));
	copies->refusal = find_refusal(relation, column, count, rows, plan);
	if (copies->refusal)
		return copies;
	list_columns(copies, relation, column, count, rows);
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

static const char *
run_refusal(Snapshot snapshot, const ScanAggregate *column, int count)
{
	const char *refusal = NULL;
	int i;

	if (!IsMVCCSnapshot(snapshot) || snapshot->takenDuringRecovery)
		return "a snapshot of another kind";
	for (i = 0; i < count && refusal == NULL; i++)
		refusal = state_refusal(&column[i]);
	return refusal;
}

/* The copies of all columns; false: a column has none. */
static bool
find_copies(const ScanCopies *copies, uint32 ranges, GpuRef **ref)
{
	int found = 1;
	int i;

	for (i = 0; i < copies->columns && found > 0; i++)
	{
		ref[i] = palloc(Max(ranges, 1) * sizeof(GpuRef));
		found = GpuColumnFind(&copies->column[i], ref[i], ranges);
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
true_pages(Relation relation, uint32 ranges, BlockNumber blocks, GpuRef *const *ref, int count)
{
	GpuPages *pages = make_sets(ranges);
	GpuPages *more = make_sets(ranges);
	uint32 range;
	int i;

	for (i = 0; i < count; i++)
	{
		CopyTruePages(relation, ref[i], 0, ranges, blocks, i == 0 ? pages : more);
		for (range = 0; range < ranges && i > 0; range++)
			GpuPagesKeep(&pages[range], &more[range]);
	}
	pfree(more);
	return pages;
}

/* What is wanted of a range's copies. */
static GpuColumnPart
part_of(const CopyTests *tests, GpuRef *const *ref, int key, uint32 range, GpuPages *pages)
{
	GpuColumnPart part = { .ref = ref[key][range], .pages = pages };
	uint32 i;

	if (tests->selection.tests > 0)
		part.tests = &tests->selection;
	for (i = 0; i < tests->selection.columns; i++)
		part.tested[i] = ref[tests->column[i]][range];
	return part;
}

/* Have one aggregate's keys of these pages counted; the pages whose keys were. */
static GpuPages *
take(SketchState *state, uint32 ranges, GpuRef *const *ref, int key, const CopyTests *tests,
	 const GpuPages *pages)
{
	GpuColumnPart *part = palloc(Max(ranges, 1) * sizeof(GpuColumnPart));
	GpuPages *taken = make_sets(ranges);
	GpuPages *left = make_sets(ranges);
	int parts = 0;
	uint32 range;
	int i;

	for (range = 0; range < ranges; range++)
		if (!GpuPagesAreNone(&pages[range]))
		{
			left[range] = pages[range];
			part[parts++] = part_of(tests, ref, key, range, &left[range]);
		}
	if (tests->none)
		memset(left, 0, ranges * sizeof(GpuPages));
	else
		SketchAddColumn(state, part, parts);
	for (range = 0; range < ranges; range++)
		for (i = 0; i < GPU_RANGE_BYTES; i++)
			taken[range].bits[i] = pages[range].bits[i] & ~left[range].bits[i];
	pfree(left);
	return taken;
}

/* Have keys of these pages counted for all aggregates, and note which pages all of them have. */
static void
take_pages(ScanCopies *copies, ScanAggregate *column, int count, uint32 ranges, GpuRef *const *ref,
		   const CopyTests *tests, GpuPages *pages)
{
	uint32 range;
	int i;

	for (i = 0; i < count; i++)
	{
		GpuPages *taken =
			take((SketchState *) column[i].state, ranges, ref, copies->key[i], &tests[i], pages);

		copies->taken[i] = set_of(taken, ranges);
		for (range = 0; range < ranges; range++)
			GpuPagesKeep(&pages[range], &taken[range]);
	}
	copies->all = set_of(pages, ranges);
	for (range = 0; range < ranges; range++)
		copies->pages += GpuPagesCount(&pages[range]);
}

/* What is tested for each aggregate in this run; NULL: it is too much for the worker. */
static CopyTests *
make_tests(ScanCopies *copies, Relation relation, const ScanAggregate *column, int count,
		   const WantedRows *rows)
{
	CopyTests *tests = palloc(count * sizeof(CopyTests));
	int i;

	for (i = 0; i < count; i++)
		if (!CopyConditionsTests(copies, relation, rows, column[i].filter_number, &tests[i]))
		{
			copies->refusal = "too many conditions";
			return NULL;
		}
	return tests;
}

static void
take_all(ScanCopies *copies, Relation relation, BlockNumber blocks, ScanAggregate *column,
		 int count, const WantedRows *rows)
{
	uint32 ranges = CopyRanges(blocks);
	GpuRef **ref = palloc(copies->columns * sizeof(GpuRef *));
	const CopyTests *tests;
	GpuPages *pages;

	memset(&copies->all, 0, sizeof(copies->all));
	memset(copies->taken, 0, count * sizeof(PageSet));
	copies->used = true;
	if (!find_copies(copies, ranges, ref))
		return;
	tests = make_tests(copies, relation, column, count, rows);
	copies->used = tests != NULL;
	if (tests == NULL)
		return;
	pages = true_pages(relation, ranges, blocks, ref, copies->columns);
	CopyTestPoint(1);
	take_pages(copies, column, count, ranges, ref, tests, pages);
}

/* Have keys of the aggregates counted from copies.  "all" then has the pages to leave out. */
void
ScanCopiesUse(ScanCopies *copies, Relation relation, Snapshot snapshot, BlockNumber blocks,
			  ScanAggregate *column, int count, const WantedRows *rows)
{
	MemoryContext old;

	copies->pages = 0;
	copies->used = false;
	if (copies->memory == NULL)
		return;
	MemoryContextReset(copies->memory);
	copies->refusal = run_refusal(snapshot, column, count);
	if (copies->refusal)
		return;
	old = MemoryContextSwitchTo(copies->memory);
	take_all(copies, relation, blocks, column, count, rows);
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

/* Which share of a table's pages need not be read, as far as the planner can know? */
double
ScanCopiedShare(PlannerInfo *root, const RelOptInfo *table, List *aggregates)
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
	table_close(relation, NoLock);
	return table->allvisfrac * there / ranges;
}
