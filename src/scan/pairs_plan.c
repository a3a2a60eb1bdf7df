/*
 * pairs_plan.c
 *		Offering QSketchPairs to the planner; pairs_exec.c says what it is.
 *
 * src/scan/pairs_plan.c
 */
#include "scan/pairs.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "pgbase/recognize.h"
#include "pg/sets_pairs.h"
#include "utils/guc.h"

static bool enabled = true;

static set_rel_pathlist_hook_type previous_hook;

/* The call of qsets_pairs in an item of FROM, or NULL. */
static FuncExpr *
call_of(const RangeTblEntry *rte)
{
	const RangeTblFunction *item;
	FuncExpr *call;

	if (rte->rtekind != RTE_FUNCTION || rte->funcordinality || list_length(rte->functions) != 1)
		return NULL;
	item = linitial_node(RangeTblFunction, rte->functions);
	call = (FuncExpr *) item->funcexpr;
	if (!IsA(call, FuncExpr) || !call->funcretset || item->funccolnames != NIL ||
		list_length(rte->eref->colnames) != PAIRS_NODE_COLUMNS ||
		PairsOpenerOf(CFunctionOf(call->funcid)) == NULL)
		return NULL;
	return call;
}

/* Does the query use the row as one value?  The node has columns only. */
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

/* May rows be returned while workers run?  True also if there are no workers. */
static bool
may_stream(const PlannerInfo *root)
{
	return root->parse->commandType == CMD_SELECT && root->rowMarks == NIL &&
		   (root->glob->parallelModeOK || max_parallel_workers_per_gather == 0);
}

static List *
columns_of(Index relid)
{
	static const Oid type[] = { INT8OID, INT8OID, INT8OID, FLOAT8OID };
	static const char *const name[] = { "a", "b", "common", "jaccard" };
	List *columns = NIL;
	int i;

	StaticAssertStmt(lengthof(type) == PAIRS_NODE_COLUMNS && lengthof(name) == PAIRS_NODE_COLUMNS,
					 "a pair has these columns");
	for (i = 0; i < PAIRS_NODE_COLUMNS; i++)
	{
		Var *var = makeVar(relid, i + 1, type[i], -1, InvalidOid, 0);

		columns = lappend(columns, makeTargetEntry((Expr *) var, i + 1, pstrdup(name[i]), false));
	}
	return columns;
}

static Plan *
plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		  List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->custom_scan_tlist = columns_of(rel->relid);
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

/* A path to replace one by Function Scan: its cost, less storing rows and reading them again. */
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
