/*
 * plan.c
 *		Offering QSketchScan to the planner.
 *
 * Offered where it can do all that the query asks of the table: only
 * aggregates that match.c knows, no GROUP BY, HAVING, conditions (so no row
 * security either) or TABLESAMPLE.  In all other cases, and where it is not
 * cheaper, the ordinary plan is used.
 *
 *	one table, serial		QSketchScan
 *	one table, parallel		Finalize Aggregate, Gather, QSketchScan
 *	partitions, children	Finalize Aggregate, [Gather,] Append, QSketchScan each
 *
 * Under Finalize Aggregate it stands where Partial Aggregate over Seq Scan
 * would.  If the children are not all of a kind that can be scanned so, none is.
 *
 * src/scan/plan.c
 */
#include "scan/scan.h"

#include "nodes/makefuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/guc.h"
#include "utils/spccache.h"

/*
 * Share of cpu_tuple_cost that a tuple takes, of cpu_operator_cost that a key
 * takes, and how many cpu_tuple_cost making and merging each block of a partial
 * sketch takes; measured against count(*).
 */
#define TUPLE_SHARE 0.2
#define KEY_SHARE   0.5
#define MERGE_SHARE 100

bool columnscan_enabled = true;

static create_upper_paths_hook_type previous_hook;

/* The query's grouping step, as far as all paths need it. */
typedef struct Grouping
{
	PlannerInfo *root;
	RelOptInfo *output;
	RelOptInfo *partial; /* partial aggregates of the same */
	PathTarget *target;  /* their target */
} Grouping;

/* The plan node of a path; private to it is only that last item. */
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
	scan->custom_private = list_make1(lthird(path->custom_private));
	scan->flags = path->flags;
	scan->methods = &columnscan_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "QSketchScan",
	.PlanCustomPath = plan_path,
};

/* Among how many the rows are shared, by the planner's own rule. */
static double
processes(int workers)
{
	double leader = parallel_leader_participation ? Max(0, 1 - 0.3 * workers) : 0;

	return workers > 0 ? workers + leader : 1;
}

/* What partial results cost that one sketch of all rows does not. */
static Cost
merge_cost(List *aggregates, double rows, int workers)
{
	Cost cost = 0;
	ListCell *cell;

	foreach (cell, aggregates)
	{
		Aggref *aggref = lfirst_node(Aggref, cell);
		ColumnScanCall call;

		if (aggref->aggsplit == AGGSPLIT_SIMPLE || !ColumnScanMatch(aggref, &call))
			continue;
		cost += call.family->table_bytes(call.template, rows, processes(workers) - 1) / BLCKSZ *
				MERGE_SHARE * cpu_tuple_cost;
	}
	return cost;
}

/* All pages, and a fraction of what the executor takes for each tuple. */
static void
set_costs(Path *path, RelOptInfo *table, List *aggregates)
{
	double rows = table->tuples / processes(path->parallel_workers);
	double page_cost;

	get_tablespace_page_costs(table->reltablespace, NULL, &page_cost);
	path->rows = 1;
	path->startup_cost = table->pages * page_cost +
						 merge_cost(aggregates, rows, path->parallel_workers) +
						 rows * (TUPLE_SHARE * cpu_tuple_cost +
								 KEY_SHARE * cpu_operator_cost * list_length(aggregates)) +
						 path->pathtarget->cost.startup;
	path->total_cost = path->startup_cost + path->pathtarget->cost.per_tuple;
}

/*
 * A scan of a table that gives the target, whose aggregates are these.  The
 * last private item tells that nothing else stands below its Gather.
 */
static Path *
make_path(Grouping *grouping, RelOptInfo *table, RelOptInfo *parent, PathTarget *target,
		  List *aggregates, int workers)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = parent;
	path->path.pathtarget = target;
	path->path.parallel_aware = workers > 0;
	path->path.parallel_safe = table->consider_parallel && grouping->output->consider_parallel;
	path->path.parallel_workers = workers;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private =
		list_make3(aggregates, makeInteger(table->relid), makeBoolean(parent == grouping->partial));
	path->methods = &path_methods;
	set_costs(&path->path, table, aggregates);
	return &path->path;
}

/* Target of partial aggregates. */
static PathTarget *
partial_target(PlannerInfo *root, List *aggregates)
{
	PathTarget *target = create_empty_pathtarget();
	ListCell *cell;

	foreach (cell, aggregates)
	{
		Aggref *aggref = copyObject(lfirst_node(Aggref, cell));

		mark_partial_aggref(aggref, AGGSPLIT_INITIAL_SERIAL);
		add_column_to_pathtarget(target, &aggref->xpr, 0);
	}
	return set_pathtarget_cost_width(root, target);
}

/* Offer Finalize Aggregate over a path of partial aggregates. */
static void
add_finalize_path(Grouping *grouping, Path *path)
{
	AggClauseCosts costs = { 0 };

	get_agg_clause_costs(grouping->root, AGGSPLIT_FINAL_DESERIAL, &costs);
	add_path(grouping->output,
			 (Path *) create_agg_path(grouping->root, grouping->output, path,
									  grouping->output->reltarget, AGG_PLAIN,
									  AGGSPLIT_FINAL_DESERIAL, NIL, NIL, &costs, 1));
}

/* Likewise, with Gather in between. */
static void
add_gather_path(Grouping *grouping, Path *path)
{
	double groups = path->parallel_workers;

	add_finalize_path(grouping, (Path *) create_gather_path(grouping->root, grouping->partial, path,
															grouping->target, NULL, &groups));
}

/* A partial path of the input that the planner made, or NULL: no parallel plan. */
static Path *
parallel_model(Grouping *grouping, RelOptInfo *input)
{
	if (!input->consider_parallel || !grouping->output->consider_parallel ||
		input->partial_pathlist == NIL || grouping->partial->partial_pathlist == NIL)
		return NULL;
	return linitial(input->partial_pathlist);
}

/* Paths over one table. */
static void
add_table_paths(Grouping *grouping, RelOptInfo *table, List *aggregates)
{
	Path *model = parallel_model(grouping, table);

	add_path(grouping->output, make_path(grouping, table, grouping->output,
										 grouping->output->reltarget, aggregates, 0));
	if (model)
		add_gather_path(grouping, make_path(grouping, table, grouping->partial, grouping->target,
											grouping->target->exprs, model->parallel_workers));
}

/* The target with a child's columns in place of its parent's. */
static PathTarget *
child_target(PlannerInfo *root, PathTarget *target, AppendRelInfo *info)
{
	PathTarget *translated = copy_pathtarget(target);

	translated->exprs = (List *) adjust_appendrel_attrs(root, (Node *) target->exprs, 1, &info);
	return translated;
}

/*
 * Append a scan of each leaf below "parent" to the paths; false if one of them
 * cannot be scanned so.  Pruned children are not there or are dummies.
 */
static bool
child_paths(Grouping *grouping, Index parent, PathTarget *target, int workers, List **paths)
{
	PlannerInfo *root = grouping->root;
	ListCell *cell;

	foreach (cell, root->append_rel_list)
	{
		AppendRelInfo *info = lfirst_node(AppendRelInfo, cell);
		RelOptInfo *child = root->simple_rel_array[info->child_relid];
		RelOptInfo *upper;
		PathTarget *translated;

		if (info->parent_relid != parent || child == NULL || IS_DUMMY_REL(child))
			continue;
		translated = child_target(root, target, info);
		if (planner_rt_fetch(child->relid, root)->inh)
		{
			if (!child_paths(grouping, child->relid, translated, workers, paths))
				return false;
			continue;
		}
		if (!ColumnScanTable(root, child, translated->exprs))
			return false;
		upper = fetch_upper_rel(root, UPPERREL_PARTIAL_GROUP_AGG, child->relids);
		*paths = lappend(*paths,
						 make_path(grouping, child, upper, translated, translated->exprs, workers));
	}
	return true;
}

/* Append over a scan of each child, or NULL.  "model" is of a parallel plan. */
static Path *
make_append_path(Grouping *grouping, RelOptInfo *parent, Path *model)
{
	int workers = model ? model->parallel_workers : 0;
	List *paths = NIL;
	Path *path;

	if (!child_paths(grouping, parent->relid, grouping->target, workers, &paths) || paths == NIL)
		return NULL;
	path = (Path *) create_append_path(grouping->root, grouping->partial, model ? NIL : paths,
									   model ? paths : NIL, NIL, NULL, workers,
									   model && model->parallel_aware, -1);
	path->pathtarget = grouping->target;
	return path;
}

/* Paths over partitions, or other children. */
static void
add_children_paths(Grouping *grouping, RelOptInfo *parent)
{
	Path *model = parallel_model(grouping, parent);
	Path *path = make_append_path(grouping, parent, NULL);

	if (path == NULL)
		return;
	add_finalize_path(grouping, path);
	if (model)
		add_gather_path(grouping, make_append_path(grouping, parent, model));
}

/* Does the query ask for the aggregates of all rows that one item of FROM gives? */
static bool
is_whole(PlannerInfo *root, RelOptInfo *input)
{
	Query *parse = root->parse;

	return parse->groupClause == NIL && parse->groupingSets == NIL && !root->hasHavingQual &&
		   parse->jointree->quals == NULL && input->reloptkind == RELOPT_BASEREL &&
		   input->baserestrictinfo == NIL && !IS_DUMMY_REL(input);
}

static void
add_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
		  void *extra)
{
	Grouping grouping = { .root = root, .output = output };
	List *aggregates;

	if (previous_hook)
		previous_hook(root, stage, input, output, extra);
	if (stage != UPPERREL_GROUP_AGG || !root->parse->hasAggs)
		return;
	ColumnScanCheckShared(root);
	if (!columnscan_enabled || !is_whole(root, input))
		return;
	aggregates = ColumnScanAggregates(output->reltarget->exprs);
	if (aggregates == NIL)
		return;
	grouping.partial = fetch_upper_rel(root, UPPERREL_PARTIAL_GROUP_AGG, output->relids);
	grouping.target = partial_target(root, aggregates);
	if (planner_rt_fetch(input->relid, root)->inh)
		add_children_paths(&grouping, input);
	else if (ColumnScanTable(root, input, aggregates))
		add_table_paths(&grouping, input, aggregates);
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
