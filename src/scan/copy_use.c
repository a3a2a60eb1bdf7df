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

/* Count keys of these pages for one aggregate.  Returns the pages whose keys were counted. */
static GpuPages *
take(ScanAggregate *column, uint32 ranges, const GpuRef *ref, const GpuPages *pages)
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
			part[parts++] = (GpuColumnPart){ .ref = ref[range], .pages = &left[range] };
		}
	SketchAddColumn((SketchState *) column->state, part, parts);
	for (range = 0; range < ranges; range++)
		for (i = 0; i < GPU_RANGE_BYTES; i++)
			taken[range].bits[i] = pages[range].bits[i] & ~left[range].bits[i];
	pfree(left);
	return taken;
}

/* Count keys of these pages for all aggregates.  Notes the pages that were counted for all. */
static void
take_pages(ScanCopies *copies, ScanAggregate *column, int count, uint32 ranges, GpuRef *const *ref,
		   GpuPages *pages)
{
	uint32 range;
	int i;

	for (i = 0; i < count; i++)
	{
		GpuPages *taken = take(&column[i], ranges, ref[i], pages);

		copies->taken[i] = set_of(taken, ranges);
		for (range = 0; range < ranges; range++)
			GpuPagesKeep(&pages[range], &taken[range]);
	}
	copies->all = set_of(pages, ranges);
	for (range = 0; range < ranges; range++)
		copies->pages += GpuPagesCount(&pages[range]);
}

static void
take_all(ScanCopies *copies, Relation relation, BlockNumber blocks, ScanAggregate *column,
		 int count)
{
	uint32 ranges = CopyRanges(blocks);
	GpuRef **ref = palloc(count * sizeof(GpuRef *));
	GpuPages *pages;

	memset(&copies->all, 0, sizeof(copies->all));
	memset(copies->taken, 0, count * sizeof(PageSet));
	copies->used = true;
	if (!find_copies(copies, count, ranges, ref))
		return;
	pages = true_pages(relation, ranges, blocks, ref, count);
	CopyTestPoint(1);
	take_pages(copies, column, count, ranges, ref, pages);
}

/* Count keys for the aggregates from copies.  "all" then has the pages to leave out. */
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
