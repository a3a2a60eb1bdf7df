/*
 * collect.c
 *		Scans of partitions that fill the same states, and QSketchCollect, which returns the states.
 *
 * Making and merging a sketch costs more than reading a small partition.  So under a serial Append
 * of partitions, the children do not return sketches of their own to Finalize Aggregate.  Each
 * child passes its sketches to the child that is executed next, and returns no row.  The last child
 * of Append is QSketchCollect, which scans no table and returns the sketches.
 *
 * With GROUP BY, all children fill the same groups.  So a group that has rows in many partitions
 * needs no merging, unless it was written to disk.  QSketchCollect tests HAVING and returns the
 * groups.  Expressions of the aggregates are computed above Append.
 *
 * The nodes share an executor parameter that no other node uses, like a recursive union and
 * its work table scan.  The value of the parameter points to the ScanAccumulator.
 *
 * A rescan may begin before all groups were returned, for example below LIMIT.  Then the
 * groups that were not returned are dropped, because the children fill all groups anew.
 *
 * src/scan/collect.c
 */
#include "scan/groups/groups.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "utils/memutils.h"

typedef struct CollectState
{
	CustomScanState css;
	ScanAccumulator *accumulator;
	int count;         /* result columns; without GROUP BY all are aggregates */
	ExprState *having; /* conditions on groups; NULL: no conditions */
	uint64 refused;    /* groups for which HAVING was not true */
	ScanCounts counts; /* counts of groups, over all runs */
} CollectState;

static Node *create_state(CustomScan *cscan);

static const CustomScanMethods collect_methods = {
	.CustomName = "QSketchCollect",
	.CreateCustomScanState = create_state,
};

/* ---- the accumulator ---- */

/* The accumulator that all nodes with this parameter share. */
ScanAccumulator *
ScanAccumulatorOf(EState *estate, int param)
{
	ParamExecData *data = &estate->es_param_exec_vals[param];
	ScanAccumulator *accumulator;

	if (data->value == 0)
	{
		accumulator = MemoryContextAllocZero(estate->es_query_cxt, sizeof(ScanAccumulator));
		accumulator->context = AllocSetContextCreate(
			estate->es_query_cxt, "QSketchScan handed over", ALLOCSET_SMALL_SIZES);
		data->value = PointerGetDatum(accumulator);
	}
	return (ScanAccumulator *) DatumGetPointer(data->value);
}

/*
 * Take over the sketches of the child that ran before.  False: this child is the first to run,
 * and must start the sketches in *context.
 */
bool
ScanAccumulatorTake(ScanAccumulator *accumulator, ScanAggregate *aggregate, int count,
					MemoryContext *context)
{
	int i;

	*context = accumulator->context;
	if (accumulator->aggregate == NULL)
	{
		MemoryContextReset(accumulator->context);
		return false;
	}
	for (i = 0; i < count; i++)
	{
		ScanAggregateTake(&aggregate[i], &accumulator->aggregate[i]);
		if (aggregate[i].builtin)
			BuiltinUseContext(aggregate[i].builtin, accumulator->context);
	}
	return true;
}

/* ---- the node ---- */

static void
begin(CustomScanState *node, EState *estate, int eflags)
{
	CollectState *state = (CollectState *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;

	state->accumulator = ScanAccumulatorOf(estate, intVal(linitial(cscan->custom_private)));
	state->count = list_length(cscan->custom_scan_tlist);
	state->having = ExecInitQual(linitial(cscan->custom_exprs), &node->ss.ps);
}

/*
 * Store the single row; false: it was stored before, or no child was executed.  The sketches are
 * freed when the next run begins.
 */
static bool
store_row(CollectState *state, TupleTableSlot *slot)
{
	const ScanAggregate *aggregate = state->accumulator->aggregate;
	int i;

	if (aggregate == NULL)
		return false;
	for (i = 0; i < state->count; i++)
		slot->tts_values[i] = ScanAggregateResult(&aggregate[i], &slot->tts_isnull[i]);
	state->accumulator->aggregate = NULL;
	ExecStoreVirtualTuple(slot);
	return true;
}

static void
count(CollectState *state, ScanCounts counts)
{
	counts.any = true;
	ScanCountsAdd(&state->counts, &counts);
}

/* Free the groups.  The next child that is executed starts new groups. */
static void
forget_groups(ScanAccumulator *accumulator)
{
	ScanGroupsForget(accumulator->groups);
	accumulator->first = NULL;
	accumulator->returning = false;
}

/* Store the next group; false: no group is left. */
static bool
store_group(CollectState *state, TupleTableSlot *slot)
{
	ScanGroups *groups = state->accumulator->groups;

	if (state->accumulator->first == NULL)
		return false;
	if (!state->accumulator->returning)
		count(state, ScanGroupsFlush(groups));
	state->accumulator->returning = true;
	if (!ScanGroupsNext(groups, slot))
	{
		forget_groups(state->accumulator);
		return false;
	}
	if (groups->given == NULL)
		count(state, (ScanCounts){ .groups = 1 });
	return true;
}

/*
 * Store the next row for which HAVING is true; false: no row is left.  The row's values are in
 * the node's per-tuple memory.
 */
static bool
store_next(CollectState *state, TupleTableSlot *slot)
{
	ExprContext *context = state->css.ss.ps.ps_ExprContext;
	bool found;

	for (;;)
	{
		MemoryContext old;

		ResetExprContext(context);
		old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
		found = state->accumulator->groups ? store_group(state, slot) : store_row(state, slot);
		MemoryContextSwitchTo(old);
		context->ecxt_scantuple = slot;
		if (!found || ExecQual(state->having, context))
			return found;
		state->refused++;
		ExecClearTuple(slot);
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Return the next row.  ExecScan() cannot be used: when it rechecks rows, it treats a scan
 * without a table as a join.
 */
static TupleTableSlot *
exec(CustomScanState *node)
{
	CollectState *state = (CollectState *) node;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;

	ExecClearTuple(slot);
	if (!store_next(state, slot))
		return projection ? ExecClearTuple(projection->pi_state.resultslot) : slot;
	return projection ? ExecProject(projection) : slot;
}

static void
end(CustomScanState *node)
{
}

/*
 * Prepare another run.  Groups of the last run that are being returned are dropped.  If no
 * group is being returned, the groups are kept, because the children may already fill them for
 * the next run.
 */
static void
rescan(CustomScanState *node)
{
	CollectState *state = (CollectState *) node;

	if (state->accumulator->returning)
		forget_groups(state->accumulator);
}

static void
explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	CollectState *state = (CollectState *) node;
	const CustomScan *cscan = (const CustomScan *) node->ss.ps.plan;
	bool counted =
		state->accumulator->groups && ScanCountsAreKnown(&state->counts, &node->ss.ps, es);

	if (counted)
		ScanExplainGroups(&state->counts, es);
	ScanExplainHaving(linitial(cscan->custom_exprs), state->refused, counted, cscan, ancestors, es);
	if (counted)
		ScanExplainKeys(&state->counts, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "QSketchCollect",
	.BeginCustomScan = begin,
	.ExecCustomScan = exec,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan,
	.ExplainCustomScan = explain,
};

static Node *
create_state(CustomScan *cscan)
{
	CollectState *state = (CollectState *) newNode(sizeof(CollectState), T_CustomScanState);

	state->css.methods = &exec_methods;
	return (Node *) state;
}

/* ---- the path ---- */

/* Target entries of expressions, in their order. */
List *
ScanTargets(List *exprs)
{
	List *targets = NIL;
	ListCell *cell;

	foreach (cell, exprs)
		targets = lappend(targets, makeTargetEntry(copyObject(lfirst(cell)),
												   list_length(targets) + 1, NULL, false));
	return targets;
}

/* Make the node.  custom_scan_tlist has the aggregates first, then the grouping expressions. */
static Plan *
plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		  List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	List *exprs = path->path.pathtarget->exprs;
	int fields = intVal(lsecond(path->custom_private));

	scan->custom_scan_tlist = ScanTargets(
		list_concat(list_copy_tail(exprs, fields), list_truncate(list_copy(exprs), fields)));
	scan->scan.plan.targetlist = tlist;
	scan->custom_private = list_make1(linitial(path->custom_private));
	scan->custom_exprs = list_make1(lthird(path->custom_private));
	scan->flags = path->flags;
	scan->methods = &collect_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "QSketchCollect",
	.PlanCustomPath = plan_path,
};

/*
 * Make the last path under Append.  It returns the rows of "target": "fields" grouping
 * expressions, then aggregates.  "having": HAVING as an AND of conditions.
 */
Path *
ScanCollectPath(RelOptInfo *rel, PathTarget *target, int fields, List *having, int param)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = target;
	path->path.rows = 1;
	path->path.startup_cost = path->path.total_cost = cpu_tuple_cost;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private = list_make3(makeInteger(param), makeInteger(fields), having);
	path->methods = &path_methods;
	return &path->path;
}

void
ScanCollectInit(void)
{
	RegisterCustomScanMethods(&collect_methods);
}
