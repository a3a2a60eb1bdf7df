/*
 * copy_use.c
 *		Copies of columns in a scan: the worker counts their keys, and the scan reads
 *		the other pages.
 *
 * A page is left out if all aggregates have got its keys from copies.  A copy may go
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
#include "optimizer/optimizer.h"
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
	if (rows->conditions || rows->filters > 0)
		return "a condition";
	for (i = 0; i < count && refusal == NULL; i++)
		refusal = aggregate_refusal(relation, &column[i]);
	if (refusal == NULL && plan->scan.plan.parallel_aware)
		refusal = "a parallel plan";
	return refusal;
}

/* Look whether a scan can use copies; NULL: there are no copies of any table. */
ScanCopies *
ScanCopiesCreate(Relation relation, const ScanAggregate *column, int count, const WantedRows *rows,
				 const CustomScan *plan)
{
	ScanCopies *copies;
	int i;

	if (!GpuColumnsExist())
		return NULL;
	copies = palloc0(sizeof(ScanCopies));
	copies->refusal = find_refusal(relation, column, count, rows, plan);
	if (copies->refusal)
		return copies;
	copies->column = palloc(count * sizeof(GpuColumn));
	copies->taken = palloc0(count * sizeof(PageSet));
	copies->memory =
		AllocSetContextCreate(CurrentMemoryContext, "QSketchScan copies", ALLOCSET_DEFAULT_SIZES);
	for (i = 0; i < count; i++)
		copies->column[i] = CopyColumn(relation, column[i].place.attribute, column[i].collation);
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

static void
make_set(PageSet *set, uint32 ranges)
{
	set->ranges = ranges;
	set->range = palloc0(Max(ranges, 1) * sizeof(GpuPages *));
}

static bool
is_empty(const GpuPages *pages)
{
	static const GpuPages none;

	return memcmp(pages, &none, sizeof(none)) == 0;
}

/* Pages of a range that are true in the copies of all columns; false: there are none. */
static bool
true_pages(Relation relation, uint32 range, BlockNumber blocks, GpuRef *const *ref, int count,
		   GpuPages *pages)
{
	GpuPages more;
	int i;

	for (i = 0; i < count; i++)
	{
		if (ref[i][range].serial == 0 ||
			!CopyTruePages(relation, range, blocks, &ref[i][range], i == 0 ? pages : &more))
			return false;
		if (i > 0)
			GpuPagesKeep(pages, &more);
	}
	return !is_empty(pages);
}

/* Have one aggregate's keys of these pages counted, and note which were. */
static void
take(ScanCopies *copies, ScanAggregate *column, int i, uint32 range, const GpuRef *ref,
	 const GpuPages *pages)
{
	SketchState *sketch = (SketchState *) column[i].state;
	GpuPages *left = palloc(sizeof(GpuPages));
	int j;

	*left = *pages;
	SketchAddColumn(sketch, ref, left);
	for (j = 0; j < GPU_RANGE_BYTES; j++)
		left->bits[j] = pages->bits[j] & ~left->bits[j];
	copies->taken[i].range[range] = left;
}

/* Have the keys of a range counted, for all aggregates. */
static void
take_range(ScanCopies *copies, ScanAggregate *column, int count, uint32 range, GpuRef *const *ref,
		   const GpuPages *pages)
{
	GpuPages *all = palloc(sizeof(GpuPages));
	int i;

	*all = *pages;
	for (i = 0; i < count; i++)
	{
		take(copies, column, i, range, &ref[i][range], pages);
		GpuPagesKeep(all, copies->taken[i].range[range]);
	}
	copies->all.range[range] = all;
	copies->pages += GpuPagesCount(all);
}

/* The copies of all columns; false: a column has none. */
static bool
find_copies(const ScanCopies *copies, int count, uint32 ranges, GpuRef **ref)
{
	int found = 1;
	int i;

	for (i = 0; i < count && found > 0; i++)
	{
		ref[i] = palloc(Max(ranges, 1) * sizeof(GpuRef));
		found = GpuColumnFind(&copies->column[i], ref[i], ranges);
	}
	return found > 0;
}

static void
take_all(ScanCopies *copies, Relation relation, BlockNumber blocks, ScanAggregate *column,
		 int count)
{
	uint32 ranges = CopyRanges(blocks);
	GpuRef **ref = palloc(count * sizeof(GpuRef *));
	GpuPages pages;
	uint32 range;
	int i;

	make_set(&copies->all, ranges);
	for (i = 0; i < count; i++)
		make_set(&copies->taken[i], ranges);
	copies->used = true;
	if (!find_copies(copies, count, ranges, ref))
		return;
	for (range = 0; range < ranges; range++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!true_pages(relation, range, blocks, ref, count, &pages))
			continue;
		CopyTestPoint(1);
		take_range(copies, column, count, range, ref, &pages);
	}
}

/* Have keys of the aggregates counted from copies.  "all" then has the pages to leave out. */
void
ScanCopiesUse(ScanCopies *copies, Relation relation, Snapshot snapshot, BlockNumber blocks,
			  ScanAggregate *column, int count)
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
	take_all(copies, relation, blocks, column, count);
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

/* The ranges of a column that have copies. */
static int
copied_ranges(Relation relation, Aggref *aggref, GpuRef *ref, uint32 ranges)
{
	ColumnScanCall call;
	GpuColumn column;

	if (aggref->aggfilter || !ColumnScanMatch(aggref, &call) ||
		call.family != &column_families[0] || call.row || call.weight ||
		call.key_type != call.key->vartype || ColumnStaysOnCpu(&call))
		return 0;
	column = CopyColumn(relation, call.key->varattno, aggref->inputcollid);
	return GpuColumnFind(&column, ref, ranges);
}

/* Which share of a table's pages need not be read, as far as the planner can know? */
double
ScanCopiedShare(PlannerInfo *root, const RelOptInfo *table, List *aggregates)
{
	uint32 ranges = CopyRanges(table->pages);
	int least = (int) ranges;
	Relation relation;
	GpuRef *ref;
	ListCell *cell;

	if (!GpuColumnsExist() || ranges == 0 || table->baserestrictinfo != NIL)
		return 0;
	relation = table_open(planner_rt_fetch(table->relid, root)->relid, NoLock);
	if (CopyTableRefusal(relation))
		least = 0;
	ref = palloc(ranges * sizeof(GpuRef));
	foreach (cell, aggregates)
		if (least > 0)
			least = Min(least, copied_ranges(relation, lfirst_node(Aggref, cell), ref, ranges));
	pfree(ref);
	table_close(relation, NoLock);
	return table->allvisfrac * least / ranges;
}
