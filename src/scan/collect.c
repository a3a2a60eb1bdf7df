/*
 * collect.c
 *		Sketches that the scans of several tables fill one after the other.
 *
 * Under a serial Append each child could return a sketch of its own, to be merged by
 * Finalize Aggregate.  But making, filling and merging a sketch costs more than reading
 * a small partition.  So each child hands its filled sketches to the child that is
 * executed next, whichever that is when partitions are pruned, and returns no row.  The
 * last child of Append is QSketchCollect, which has no table and returns the sketches.
 *
 * The nodes find each other by a parameter that no other node knows, as a recursive
 * union and its work table scan do.  The parameter's value points to the sketches.
 *
 * src/scan/collect.c
 */
#include "scan/scan.h"

#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "utils/memutils.h"

struct ScanHandover
{
	MemoryContext context;
	ScanAggregate *aggregate; /* NULL: no child has filled any */
};

typedef struct CollectState
{
	CustomScanState css;
	ScanHandover *handover;
	int count;
} CollectState;

static Node *create_state(CustomScan *cscan);

static const CustomScanMethods collect_methods = {
	.CustomName = "QSketchCollect",
	.CreateCustomScanState = create_state,
};

/* The handover that all nodes with this parameter share. */
ScanHandover *
ScanHandoverOf(EState *estate, int param)
{
	ParamExecData *data = &estate->es_param_exec_vals[param];
	ScanHandover *handover;

	if (data->value == 0)
	{
		handover = MemoryContextAllocZero(estate->es_query_cxt, sizeof(ScanHandover));
		handover->context = AllocSetContextCreate(estate->es_query_cxt, "QSketchScan handed over",
												  ALLOCSET_SMALL_SIZES);
		data->value = PointerGetDatum(handover);
	}
	return (ScanHandover *) DatumGetPointer(data->value);
}

/* Take the sketches of the child before; false: this child must start them, in "context". */
bool
ScanHandoverTake(ScanHandover *handover, ScanAggregate *aggregate, int count,
				 MemoryContext *context)
{
	int i;

	*context = handover->context;
	if (handover->aggregate == NULL)
	{
		MemoryContextReset(handover->context);
		return false;
	}
	for (i = 0; i < count; i++)
	{
		aggregate[i].state = handover->aggregate[i].state;
		aggregate[i].rows = handover->aggregate[i].rows;
		aggregate[i].computed = handover->aggregate[i].computed;
		if (aggregate[i].builtin)
			BuiltinUseContext(aggregate[i].builtin, handover->context);
	}
	return true;
}

/* Hand over sketches that a child has filled. */
void
ScanHandoverGive(ScanHandover *handover, ScanAggregate *aggregate)
{
	handover->aggregate = aggregate;
}

static void
begin(CustomScanState *node, EState *estate, int eflags)
{
	CollectState *state = (CollectState *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;

	state->handover = ScanHandoverOf(estate, intVal(linitial(cscan->custom_private)));
	state->count = list_length(cscan->custom_scan_tlist);
}

/*
 * Return the one row, if any child was executed.  The sketches stay where they are
 * until the next run begins.  ExecScan() cannot be used: it takes a scan without a
 * table for a join when it rechecks rows.
 */
static TupleTableSlot *
exec(CustomScanState *node)
{
	CollectState *state = (CollectState *) node;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;
	ExprContext *context = node->ss.ps.ps_ExprContext;
	const ScanAggregate *aggregate = state->handover->aggregate;
	MemoryContext old;
	int i;

	ExecClearTuple(slot);
	if (aggregate == NULL)
		return projection ? ExecClearTuple(projection->pi_state.resultslot) : slot;
	ResetExprContext(context);
	old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	for (i = 0; i < state->count; i++)
		slot->tts_values[i] = ScanAggregateResult(&aggregate[i], &slot->tts_isnull[i]);
	MemoryContextSwitchTo(old);
	state->handover->aggregate = NULL;
	ExecStoreVirtualTuple(slot);
	if (projection == NULL)
		return slot;
	context->ecxt_scantuple = slot;
	return ExecProject(projection);
}

static void
end(CustomScanState *node)
{
}

static void
rescan(CustomScanState *node)
{
}

static const CustomExecMethods exec_methods = {
	.CustomName = "QSketchCollect",
	.BeginCustomScan = begin,
	.ExecCustomScan = exec,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan,
};

static Node *
create_state(CustomScan *cscan)
{
	CollectState *state = (CollectState *) newNode(sizeof(CollectState), T_CustomScanState);

	state->css.methods = &exec_methods;
	return (Node *) state;
}

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

static Plan *
plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		  List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->custom_scan_tlist = ScanTargets(path->path.pathtarget->exprs);
	scan->scan.plan.targetlist = tlist;
	scan->custom_private = path->custom_private;
	scan->flags = path->flags;
	scan->methods = &collect_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "QSketchCollect",
	.PlanCustomPath = plan_path,
};

/* The last path under Append, which returns the aggregates of the target. */
Path *
ScanCollectPath(RelOptInfo *rel, PathTarget *target, bool parallel_safe, int param)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = target;
	path->path.parallel_safe = parallel_safe;
	path->path.rows = 1;
	path->path.startup_cost = path->path.total_cost = cpu_tuple_cost;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private = list_make1(makeInteger(param));
	path->methods = &path_methods;
	return &path->path;
}

void
ScanCollectInit(void)
{
	RegisterCustomScanMethods(&collect_methods);
}
