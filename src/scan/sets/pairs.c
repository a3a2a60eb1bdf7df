/*
 * pairs.c
 *		QSketchPairs: returns the rows of qsets_pairs and qsets_nearest in FROM one by one.
 *
 * PostgreSQL puts all rows of a function in FROM into a tuple store before the first row is
 * used.  The store of many pairs is written to disk, which takes ten times as long as finding
 * the pairs.  This node returns pairs as they are found, so LIMIT ends the work early.
 *
 * The node replaces Function Scan if qsets_pairs or qsets_nearest is the only function in an item
 * of FROM, in a query that only reads.  The function is recognized by its C address.  The node's
 * parallel workers run while it returns rows, so the whole query must be in parallel mode, as with
 * Gather.  The plan requests parallel mode.  The executor does not enter parallel mode for a client
 * that fetches some rows at a time, and then the node starts no workers.  If the planner allows no
 * parallel mode (cursors, PL/pgSQL loops), Function Scan stays, unless
 * max_parallel_workers_per_gather is 0.  In Function Scan, qsets_pairs may have workers during one
 * call.
 *
 * An argument may be a scalar subquery such as (SELECT qsets_agg(s, e) FROM t).  The executor would
 * copy the collection into a tuple, which flattens it, and read it again.  Copying and reading
 * together take a fifth of the time in which one process makes the collection.  If the subquery is
 * an aggregate without GROUP BY, it returns one row and keeps its value, so the node uses this
 * value without a copy.
 *
 * A rescan finds the pairs again.  Because of the declared cost of qsets_pairs, the planner
 * puts Materialize above the node if it expects many rescans.
 *
 * src/scan/sets/pairs.c
 */
#include "scan/scan.h"

#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "pg/sets_scan.h"
#include "pgbase/aggregate.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

typedef struct PairsNode
{
	CustomScanState css;
	SetExprState *call;
	const PairsLayout *layout;
	MemoryContext context; /* memory of "scan"; close_scan() resets it */
	PairScan *scan;        /* NULL: there are no pairs, or no pair was requested yet */
	bool opened;

	/* for EXPLAIN */
	const char *method; /* method of the last run */
	int gpus;           /* GPUs that found the pairs in the last run; 0: the CPU did */
	char why[GPU_TEXT_BYTES];
	int64 planned;
	int64 launched;
} PairsNode;

static Node *create_state(CustomScan *cscan);

static const CustomScanMethods pairs_node_methods = {
	.CustomName = "QSketchPairs",
	.CreateCustomScanState = create_state,
};

/* Begin the node.  Permissions are checked as for any function in FROM. */
static void
begin(CustomScanState *css, EState *estate, int eflags)
{
	PairsNode *node = (PairsNode *) css;
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;

	node->call = ExecInitTableFunctionResult(linitial(plan->custom_exprs),
											 css->ss.ps.ps_ExprContext, &css->ss.ps);
	node->layout = PairsLayoutOf(node->call->func.fn_addr);
	if (node->layout == NULL)
		elog(ERROR, "unexpected function in QSketchPairs");
	node->context =
		AllocSetContextCreate(estate->es_query_cxt, "QSketchPairs", ALLOCSET_DEFAULT_SIZES);
}

/* True if a plan returns at most one row, and keeps its values until it ends or is rescanned. */
static bool
keeps_values(const PlanState *state)
{
	const Plan *plan = state->plan;

	if (IsA(plan, Agg))
		return ((const Agg *) plan)->aggstrategy == AGG_PLAIN &&
			   ((const Agg *) plan)->groupingSets == NIL;
	return IsA(plan, CustomScan) && ScanReturnsOneRow((const CustomScan *) plan);
}

/* Set a scalar subquery's parameter as the executor does, without copying the value. */
static void
take_subquery(ExprContext *econtext, const Param *param)
{
	ParamExecData *value = &econtext->ecxt_param_exec_vals[param->paramid];
	SubPlanState *subquery = value->execPlan;
	EState *estate = econtext->ecxt_estate;
	ScanDirection direction = estate->es_direction;
	TupleTableSlot *slot;
	MemoryContext old;

	if (subquery == NULL || get_typlen(param->paramtype) != -1 ||
		subquery->subplan->subLinkType != EXPR_SUBLINK || subquery->subplan->parParam != NIL ||
		subquery->planstate == NULL || !keeps_values(subquery->planstate))
		return;
	old = MemoryContextSwitchTo(econtext->ecxt_per_query_memory);
	estate->es_direction = ForwardScanDirection;
	slot = ExecProcNode(subquery->planstate);
	value->isnull = true;
	value->value = TupIsNull(slot) ? (Datum) 0 : slot_getattr(slot, 1, &value->isnull);
	value->value = MakeExpandedObjectReadOnly(value->value, value->isnull, -1);
	value->execPlan = NULL;
	estate->es_direction = direction;
	MemoryContextSwitchTo(old);
}

/* Evaluate the arguments of the call for this run. */
static void
evaluate_arguments(PairsNode *node)
{
	const CustomScan *plan = (const CustomScan *) node->css.ss.ps.plan;
	const FuncExpr *call = linitial_node(FuncExpr, plan->custom_exprs);
	ExprContext *econtext = node->css.ss.ps.ps_ExprContext;
	NullableDatum *value = node->call->fcinfo->args;
	ListCell *state;
	ListCell *argument;

	forboth (state, node->call->args, argument, call->args)
	{
		const Param *param = lfirst(argument);

		if (IsA(param, Param) && param->paramkind == PARAM_EXEC)
			take_subquery(econtext, param);
		value->value = ExecEvalExpr(lfirst(state), econtext, &value->isnull);
		value++;
	}
}

static void
close_scan(PairsNode *node)
{
	if (node->scan)
		PairScanClose(node->scan);
	node->scan = NULL;
	node->opened = false;
	MemoryContextReset(node->context);
}

static void
open_scan(PairsNode *node)
{
	MemoryContext old = MemoryContextSwitchTo(node->context);

	evaluate_arguments(node);
	node->scan =
		PairsOpen(node->call->fcinfo, node->layout, node->css.ss.ps.state->es_use_parallel_mode);
	node->opened = true;
	MemoryContextSwitchTo(old);
	if (node->scan == NULL)
		return;
	node->method = qset_method_name(node->scan->method);
	node->gpus = node->scan->devices;
	strlcpy(node->why, node->scan->why, sizeof(node->why));
	node->planned += node->scan->planned;
	node->launched += node->scan->launched;
}

/* Return the next pair. */
static TupleTableSlot *
next(ScanState *ss)
{
	PairsNode *node = (PairsNode *) ss;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;

	ExecClearTuple(slot);
	if (!node->opened)
		open_scan(node);
	if (node->scan == NULL || !PairsNextRow(node->scan, slot->tts_values))
		return slot;
	return ExecStoreVirtualTuple(slot);
}

static bool
recheck(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
exec(CustomScanState *css)
{
	return ExecScan(&css->ss, next, recheck);
}

static void
end(CustomScanState *css)
{
	close_scan((PairsNode *) css);
}

static void
rescan(CustomScanState *css)
{
	close_scan((PairsNode *) css);
	ExecScanReScan(&css->ss);
}

/* End the workers before parallel mode ends.  After shutdown(), no more rows are requested. */
static void
shutdown(CustomScanState *css)
{
	PairsNode *node = (PairsNode *) css;

	if (node->scan && node->scan->workers)
		PairScanClose(node->scan);
}

static void
explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	PairsNode *node = (PairsNode *) css;

	if (!es->analyze)
		return;
	if (node->method)
	{
		ExplainPropertyText("Device", node->gpus > 0 ? "gpu" : "cpu", es);
		if (es->verbose)
			ExplainPropertyText("Device Reason", node->why, es);
		if (node->gpus > 1)
			ExplainPropertyInteger("GPUs", NULL, node->gpus, es);
		ExplainPropertyText("Method", node->method, es);
	}
	ExplainPropertyInteger("Workers Planned", NULL, node->planned, es);
	ExplainPropertyInteger("Workers Launched", NULL, node->launched, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "QSketchPairs",
	.BeginCustomScan = begin,
	.ExecCustomScan = exec,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan,
	.ShutdownCustomScan = shutdown,
	.ExplainCustomScan = explain,
};

static Node *
create_state(CustomScan *cscan)
{
	PairsNode *node = (PairsNode *) newNode(sizeof(PairsNode), T_CustomScanState);

	node->css.methods = &exec_methods;
	return (Node *) node;
}

static bool enabled = true;

static set_rel_pathlist_hook_type previous_hook;

/* The call of an item of FROM that is one function, if the function returns pairs; else NULL. */
static FuncExpr *
call_of(const RangeTblEntry *rte)
{
	const RangeTblFunction *item;
	const PairsLayout *layout;
	FuncExpr *call;

	if (rte->rtekind != RTE_FUNCTION || rte->funcordinality || list_length(rte->functions) != 1)
		return NULL;
	item = linitial_node(RangeTblFunction, rte->functions);
	call = (FuncExpr *) item->funcexpr;
	if (!IsA(call, FuncExpr) || !call->funcretset || item->funccolnames != NIL)
		return NULL;
	layout = PairsLayoutOf(CFunctionOf(call->funcid));
	return layout && list_length(rte->eref->colnames) == PairsColumns(layout) ? call : NULL;
}

/* True if the query uses the row as one value, which the node cannot return. */
static bool
wants_row(const RelOptInfo *rel)
{
	Bitmapset *wanted = NULL;
	ListCell *cell;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &wanted);
	foreach (cell, rel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, cell)->clause, rel->relid, &wanted);
	foreach (cell, rel->joininfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, cell)->clause, rel->relid, &wanted);
	return bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, wanted) ||
		   !bms_is_empty(rel->attr_needed[0 - rel->min_attr]);
}

/* True if the query only reads, and if parallel mode is allowed or workers are disabled. */
static bool
may_stream(const PlannerInfo *root)
{
	return root->parse->commandType == CMD_SELECT && root->rowMarks == NIL &&
		   (root->glob->parallelModeOK || max_parallel_workers_per_gather == 0);
}

/* The node's columns.  The last column is double precision, all other columns are bigint. */
static List *
columns_of(Index relid, const FuncExpr *call)
{
	static const char *const pair[] = { "a", "b", "common", "jaccard" };
	static const char *const ranked[] = { "a", "b", "rank", "common", "jaccard" };
	const PairsLayout *layout = PairsLayoutOf(CFunctionOf(call->funcid));
	int count = PairsColumns(layout);
	List *columns = NIL;
	int i;

	for (i = 0; i < count; i++)
	{
		Var *var = makeVar(relid, i + 1, i == count - 1 ? FLOAT8OID : INT8OID, -1, InvalidOid, 0);
		const char *name = layout->ranked ? ranked[i] : pair[i];

		columns = lappend(columns, makeTargetEntry((Expr *) var, i + 1, pstrdup(name), false));
	}
	return columns;
}

static Plan *
plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		  List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->custom_scan_tlist = columns_of(rel->relid, linitial_node(FuncExpr, path->custom_private));
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = extract_actual_clauses(clauses, false);
	scan->custom_exprs = list_make1(copyObject(linitial(path->custom_private)));
	scan->flags = path->flags;
	scan->methods = &pairs_node_methods;
	if (root->glob->parallelModeOK)
		root->glob->parallelModeNeeded = true;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "QSketchPairs",
	.PlanCustomPath = plan_path,
};

/*
 * Make the path that replaces a path of Function Scan.  Its cost does not include storing the
 * rows and reading them again.
 */
static Path *
make_path(const Path *instead, FuncExpr *call)
{
	CustomPath *path = makeNode(CustomPath);

	path->path = *instead;
	path->path.type = T_CustomPath;
	path->path.pathtype = T_CustomScan;
	path->path.total_cost -= instead->rows * cpu_tuple_cost / 2;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private = list_make1(call);
	path->methods = &path_methods;
	return &path->path;
}

static void
replace_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	FuncExpr *call;
	ListCell *cell;

	if (previous_hook)
		previous_hook(root, rel, rti, rte);
	if (!enabled || rte->rtekind != RTE_FUNCTION || !may_stream(root))
		return;
	call = call_of(rte);
	if (call == NULL || wants_row(rel))
		return;
	foreach (cell, rel->pathlist)
	{
		const Path *path = lfirst(cell);

		if (path->pathtype == T_FunctionScan)
			lfirst(cell) = make_path(path, call);
	}
}

/* Define the setting, the hook and the node when the library is loaded. */
void
PairsNodeInit(void)
{
	DefineCustomBoolVariable("qsketch.enable_pairscan",
							 "Enables the planner's use of QSketchPairs.",
							 "It returns pairs of sets as they are found.", &enabled, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	RegisterCustomScanMethods(&pairs_node_methods);
	previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = replace_paths;
}
