/*
 * plan.c
 *		Offering QSketchScan to the planner.
 *
 * Offered where it can do all that the query asks of the table: every
 * aggregate is a plain qsketch_agg(column) or qsketch_agg(column, constant
 * template), of one heap table, without GROUP BY, HAVING, conditions (so
 * without row security, too), TABLESAMPLE or children.  In all other cases,
 * and where it is not cheaper, the ordinary plan is used.  For parallel plans
 * it stands where Partial Aggregate over Parallel Seq Scan would.
 *
 * src/scan/plan.c
 */
#include "scan/scan.h"

#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/*
 * Share of cpu_tuple_cost that a tuple takes, and of cpu_operator_cost that a
 * key takes; measured against count(*).
 */
#define TUPLE_SHARE 0.2
#define KEY_SHARE   0.5

bool columnscan_enabled = true;

static create_upper_paths_hook_type previous_hook;

/* Is the aggregate the extension's own qsketch_agg? */
static bool
is_sketch_aggregate(Oid function)
{
	char *name = get_func_name(function);

	return name && strcmp(name, "qsketch_agg") == 0 &&
		   getExtensionOfObject(ProcedureRelationId, function) ==
			   get_extension_oid("qsketch", true);
}

/* The i-th direct expression of an aggregate's arguments. */
static Expr *
argument(Aggref *aggref, int i)
{
	return list_nth_node(TargetEntry, aggref->args, i)->expr;
}

/*
 * Column, template (NULL: the default) and type of the keys, if the arguments
 * are no more than that.
 */
bool
ColumnScanArguments(Aggref *aggref, Var **column, Const **template, Oid *key_type)
{
	Expr *key = argument(aggref, 0);
	int count = list_length(aggref->args);

	*key_type = exprType((Node *) key);
	while (IsA(key, RelabelType))
		key = ((RelabelType *) key)->arg;
	if (!IsA(key, Var) || ((Var *) key)->varattno <= 0 || ((Var *) key)->varlevelsup != 0)
		return false;
	*column = (Var *) key;
	*template = NULL;
	if (count == 1)
		return true;
	if (count != 2 || !IsA(argument(aggref, 1), Const))
		return false;
	*template = (Const *) argument(aggref, 1);
	return (*template)->consttype == aggref->aggtype && !(*template)->constisnull;
}

static bool
is_plain_aggregate(Aggref *aggref, Index relid)
{
	Var *column;
	Const *template;
	Oid key_type;

	return aggref->aggdistinct == NIL && aggref->aggorder == NIL && aggref->aggfilter == NULL &&
		   aggref->agglevelsup == 0 && is_sketch_aggregate(aggref->aggfnoid) &&
		   ColumnScanArguments(aggref, &column, &template, &key_type) && column->varno == relid;
}

/* All aggregates of the expressions, if QSketchScan can do them; else NIL. */
static List *
sketch_aggregates(List *expressions, Index relid)
{
	List *found =
		pull_var_clause((Node *) expressions, PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
												  PVC_INCLUDE_PLACEHOLDERS);
	List *aggregates = NIL;
	ListCell *cell;

	foreach (cell, found)
	{
		Node *node = lfirst(cell);

		if (!IsA(node, Aggref) || !is_plain_aggregate((Aggref *) node, relid))
			return NIL;
		aggregates = list_append_unique(aggregates, node);
	}
	return aggregates;
}

static bool
is_heap(Oid relid)
{
	Relation relation = table_open(relid, NoLock);
	bool heap = relation->rd_rel->relam == HEAP_TABLE_AM_OID;

	table_close(relation, NoLock);
	return heap;
}

/* Does the query ask for all rows of one heap table, ungrouped? */
static bool
is_whole_table(PlannerInfo *root, RelOptInfo *input_rel)
{
	Query *parse = root->parse;
	RangeTblEntry *rte;

	if (parse->groupClause != NIL || parse->groupingSets != NIL || root->hasHavingQual ||
		parse->jointree->quals != NULL)
		return false;
	if (input_rel->reloptkind != RELOPT_BASEREL || input_rel->rtekind != RTE_RELATION ||
		input_rel->baserestrictinfo != NIL || IS_DUMMY_REL(input_rel))
		return false;
	rte = planner_rt_fetch(input_rel->relid, root);
	return !rte->inh && rte->tablesample == NULL && rte->securityQuals == NIL &&
		   (rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_MATVIEW) &&
		   is_heap(rte->relid);
}

/* The plan node of a path. */
static Plan *
plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		  List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	AttrNumber resno = 1;
	ListCell *cell;

	foreach (cell, (List *) linitial(path->custom_private))
		scan->custom_scan_tlist =
			lappend(scan->custom_scan_tlist,
					makeTargetEntry(copyObject(lfirst(cell)), resno++, NULL, false));
	scan->scan.plan.targetlist = tlist;
	scan->scan.scanrelid = intVal(lsecond(path->custom_private));
	scan->flags = path->flags;
	scan->methods = &columnscan_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "QSketchScan",
	.PlanCustomPath = plan_path,
};

/* All pages, and a fraction of what the executor takes for each tuple. */
static void
set_costs(Path *path, RelOptInfo *input_rel, int sketches)
{
	double divisor = Max(path->parallel_workers, 1);
	Cost io = input_rel->pages * seq_page_cost;
	Cost cpu = input_rel->tuples *
			   (TUPLE_SHARE * cpu_tuple_cost + KEY_SHARE * cpu_operator_cost * sketches);

	path->rows = 1;
	path->startup_cost = io + cpu / divisor + path->pathtarget->cost.startup;
	path->total_cost = path->startup_cost + path->pathtarget->cost.per_tuple;
}

static Path *
make_path(RelOptInfo *input_rel, RelOptInfo *parent, PathTarget *target, List *aggregates,
		  int workers)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = parent;
	path->path.pathtarget = target;
	path->path.parallel_aware = workers > 0;
	path->path.parallel_safe = input_rel->consider_parallel;
	path->path.parallel_workers = workers;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private = list_make2(aggregates, makeInteger(input_rel->relid));
	path->methods = &path_methods;
	set_costs(&path->path, input_rel, list_length(aggregates));
	return &path->path;
}

/* Finalize Aggregate over Gather over partial scans. */
static void
add_parallel_path(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel,
				  GroupPathExtraData *extra)
{
	RelOptInfo *partial_rel = fetch_upper_rel(root, UPPERREL_PARTIAL_GROUP_AGG, output_rel->relids);
	double groups = 1;
	List *aggregates;
	Path *path;

	if (!input_rel->consider_parallel || input_rel->partial_pathlist == NIL ||
		partial_rel->partial_pathlist == NIL)
		return;
	aggregates = sketch_aggregates(partial_rel->reltarget->exprs, input_rel->relid);
	if (aggregates == NIL)
		return;
	path = linitial(input_rel->partial_pathlist);
	path = make_path(input_rel, partial_rel, partial_rel->reltarget, aggregates,
					 path->parallel_workers);
	path =
		(Path *) create_gather_path(root, partial_rel, path, partial_rel->reltarget, NULL, &groups);
	add_path(output_rel, (Path *) create_agg_path(root, output_rel, path, output_rel->reltarget,
												  AGG_PLAIN, AGGSPLIT_FINAL_DESERIAL, NIL, NIL,
												  &extra->agg_final_costs, 1));
}

static void
add_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel, RelOptInfo *output_rel,
		  void *extra)
{
	List *aggregates;

	if (previous_hook)
		previous_hook(root, stage, input_rel, output_rel, extra);
	if (stage != UPPERREL_GROUP_AGG || !columnscan_enabled || !root->parse->hasAggs ||
		!is_whole_table(root, input_rel))
		return;
	aggregates = sketch_aggregates(output_rel->reltarget->exprs, input_rel->relid);
	if (aggregates == NIL)
		return;
	add_path(output_rel, make_path(input_rel, output_rel, output_rel->reltarget, aggregates, 0));
	add_parallel_path(root, input_rel, output_rel, extra);
}

/*
 * Planner support of the transition functions.  Its answer, that the default
 * cost is right, matters less than that the planner asks: the module is loaded
 * before the paths of even a session's first query are made.
 */
PG_FUNCTION_INFO_V1(qsketch_support);
Datum
qsketch_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(NULL);
}

/* Settings, hook and node, at load. */
void
ColumnScanInit(void)
{
	DefineCustomBoolVariable("qsketch.enable_columnscan",
							 "Enables the planner's use of QSketchScan.", NULL, &columnscan_enabled,
							 true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	RegisterCustomScanMethods(&columnscan_methods);
	previous_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_paths;
}
