/*
 * copy_plan.c
 *		How many pages of a table a scan need not read, as far as the planner can know.
 *
 * The worker keeps how many pages of each copy were still true when a query looked at the
 * copy last.  The visibility map says how many pages are all-visible now; pages that were
 * changed are not.  The estimate for a range is the smaller of these two numbers.
 *
 * It is too large in two cases: if the pages that had changed at the last look are not those
 * that have changed since, and if pages were changed and vacuumed since.
 *
 * src/scan/copy_plan.c
 */
#include "scan/copy.h"
#include "scan/groups.h"

#include "access/table.h"
#include "nodes/makefuncs.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

/* What the copies of a table have. */
typedef struct Covered
{
	Relation relation;
	uint32 ranges;
	uint32 *pages; /* of each range: at most so many are in the copies of all columns */
} Covered;

/* One more column is needed. */
static void
need_column(Covered *covered, AttrNumber attribute, Oid collation)
{
	GpuColumn column = CopyColumn(covered->relation, attribute, collation);

	GpuColumnCover(&column, covered->pages, covered->ranges);
}

/* The columns of conditions are needed; false: one cannot be tested on copies. */
static bool
need_clauses(Covered *covered, List *clauses)
{
	ListCell *cell;

	foreach (cell, clauses)
	{
		GpuColumn column;

		if (!CopyConditionColumn(covered->relation, lfirst(cell), &column))
			return false;
		GpuColumnCover(&column, covered->pages, covered->ranges);
	}
	return true;
}

/* The columns of an aggregate are needed; false: it takes no keys from copies. */
static bool
need_aggregate(Covered *covered, const Aggref *aggref, bool grouped, bool parallel)
{
	ColumnScanCall call;

	if (!ColumnScanMatch((Aggref *) aggref, &call) ||
		!CopyTakesCall(covered->relation, &call, grouped) ||
		(parallel && !CopyTakesInParallel(call.family)))
		return false;
	if (call.key)
		need_column(covered, call.key->varattno,
					CopyKeyCollation(covered->relation, call.family, call.key->varattno,
									 aggref->inputcollid));
	if (call.weight)
		need_column(covered, call.weight->varattno, InvalidOid);
	return need_clauses(covered, make_ands_implicit(aggref->aggfilter));
}

/* All columns that a scan with these clauses names are needed; false: it uses no copies. */
static bool
need_columns(Covered *covered, List *clauses, List *aggregates, bool grouped, bool parallel)
{
	ListCell *cell;

	if (CopyTableRefusal(covered->relation) || !need_clauses(covered, clauses))
		return false;
	foreach (cell, aggregates)
		if (!need_aggregate(covered, lfirst_node(Aggref, cell), grouped, parallel))
			return false;
	return true;
}

/* The grouping column is needed, for so many sketches; false: there are too many. */
static bool
need_group(Covered *covered, const Var *group, double states)
{
	if (states > COPY_STATES_MAX || CopyGroupsRefusal(covered->relation, group))
		return false;
	need_column(covered, group->varattno, InvalidOid);
	return true;
}

/* How many pages that copies have are all-visible now? */
static double
visible_pages(const Covered *covered)
{
	double pages = 0;
	uint32 range;

	for (range = 0; range < covered->ranges; range++)
		if (covered->pages[range] > 0)
			pages += Min(covered->pages[range], CopyVisiblePages(covered->relation, range));
	return pages;
}

/*
 * Which share of a table's pages need not be read?  "group" is the grouping column or NULL,
 * of so many values.  "parallel": in a parallel plan.
 */
double
ScanCopiedShare(PlannerInfo *root, const RelOptInfo *table, List *aggregates, const Var *group,
				double groups, bool parallel)
{
	List *clauses = extract_actual_clauses(table->baserestrictinfo, false);
	Covered covered = { .ranges = CopyRanges(table->pages) };
	double pages = 0;

	if (!GpuColumnsExist() || covered.ranges == 0)
		return 0;
	covered.relation = table_open(planner_rt_fetch(table->relid, root)->relid, NoLock);
	covered.pages = palloc(covered.ranges * sizeof(uint32));
	memset(covered.pages, 0xff, covered.ranges * sizeof(uint32));
	if (need_columns(&covered, clauses, aggregates, group != NULL, parallel) &&
		(group == NULL || need_group(&covered, group, groups * list_length(aggregates))))
		pages = visible_pages(&covered);
	pfree(covered.pages);
	table_close(covered.relation, NoLock);
	return Min(pages / table->pages, 1);
}
