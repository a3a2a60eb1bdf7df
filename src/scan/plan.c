/*
 * plan.c
 *		Offers QSketchScan to the planner.
 *
 * QSketchScan is offered if it can do all that the query requests of the table: only aggregates and
 * conditions that match.c accepts, a GROUP BY that costs.c accepts, and no TABLESAMPLE.  In all
 * other cases, the ordinary plan is used.  The ordinary plan is also used if it is cheaper: an
 * index may find the few rows that a condition keeps.
 *
 * The parent of a path is the table that it scans, although the path returns aggregates.  So
 * the planner passes the table's conditions to plan_path(), including the conditions of row
 * security.  The conditions are in the order of security level and cost that every scan must keep.
 * Because the parent is the table, Append can also prune partitions at execution.
 *
 * In the plan, the conditions are the node's qual, so EXPLAIN, parameters, permissions and
 * dependencies work as usual.  If a node has a custom_scan_tlist, PostgreSQL's setrefs.c makes its
 * qual refer to that list.  So the list has the aggregates, then the grouping expressions, then
 * each column that conditions need.  match.c turns the references back into columns of the table.
 * FILTERs stay in their aggregates.  custom_exprs has HAVING, and the parameters of the scan's
 * expressions.  The planner reads from custom_exprs on which parameters the node depends.
 *
 *	one table, serial		QSketchScan
 *	one table, parallel		Finalize Aggregate, Gather, QSketchScan
 *	partitions, serial		Append, QSketchScan each, QSketchCollect; without GROUP BY below
 *							Finalize Aggregate
 *	partitions, parallel	Finalize Aggregate, Gather, Append, QSketchScan each
 *	UNION ALL				Finalize Aggregate, [Gather,] Append, QSketchScan each
 *
 * With GROUP BY, Finalize Aggregate is a hash aggregate.
 *
 * Under Finalize Aggregate, QSketchScan replaces Partial Aggregate over Seq Scan.  Several tables
 * are scanned by QSketchScan only if it can scan all of them.
 *
 * src/scan/plan.c
 */
#include "scan/cached/cached.h"
#include "scan/groups/groups.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paramassign.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

/* The query's grouping step, with the data that all paths need. */
typedef struct PlanStep
{
	PlannerInfo *root;
	RelOptInfo *output;
	RelOptInfo *partial; /* the grouping step with partial aggregates */
	PathTarget *target;  /* target of "partial" */
	List *matches;       /* the recognized aggregates of the query */
	List *having;        /* HAVING, as an AND of conditions */
	List *by;            /* the grouping expressions; NIL: no GROUP BY */
	bool alone;          /* no GROUP BY, and a Gather has only the scan below it */
	double pages;        /* pages that serial scans read, without cached pages */
} PlanStep;

/* A scan of a table. */
typedef struct ScanPath
{
	CustomPath custom;
	List *targets;    /* aggregates, then grouping expressions */
	List *matches;    /* the recognized aggregates of the query */
	List *having;     /* HAVING, as a list of conditions */
	bool alone;       /* no GROUP BY, and its Gather has only the scan below it */
	int accumulator;  /* number of the accumulator's parameter, or -1 */
	int group_fields; /* number of grouping expressions; 0: no GROUP BY */
	StateWork work;   /* expected work for each group */
	Cost apart;       /* part of the path's cost: merging results and writing groups */
} ScanPath;

bool columnscan_enabled = true;

static create_upper_paths_hook_type previous_hook;

static Plan *
plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		  List *custom_plans)
{
	const ScanPath *of = (const ScanPath *) path;
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan.qual = extract_actual_clauses(clauses, false);
	scan->custom_scan_tlist = add_to_flat_tlist(ScanTargets(of->targets),
												pull_var_clause((Node *) scan->scan.plan.qual, 0));
	scan->scan.plan.targetlist = tlist;
	scan->scan.scanrelid = rel->relid;
	scan->custom_exprs = list_make2(of->having, ScanParams(of->targets));
	scan->custom_private = list_make2(list_make5_int(of->alone, of->accumulator, of->group_fields,
													 (int) Min(of->work.rows, INT_MAX),
													 (int) Min(of->work.together, INT_MAX)),
									  of->matches);
	scan->flags = path->flags;
	scan->methods = &columnscan_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "QSketchScan",
	.PlanCustomPath = plan_path,
};

/* Set what a scan returns, and the expected work on each state. */
static void
describe(ScanPath *scan, const PlanStep *grouping, List *aggregates, List *exprs,
		 const GroupingPlan *by)
{
	const RelOptInfo *table = scan->custom.path.parent;
	int workers = scan->custom.path.parallel_workers;

	scan->targets = list_concat_copy(aggregates, exprs);
	scan->matches = grouping->matches;
	scan->alone = workers > 0 && grouping->alone;
	scan->accumulator = -1;
	scan->group_fields = list_length(exprs);
	scan->work.processes = workers > 0 ? workers + parallel_leader_participation : 1;
	scan->work.together = Max(1, by->groups);
	scan->work.rows = table->rows / scan->work.processes / scan->work.together;
}

static void
add_cost(Path *path, Cost cost)
{
	path->startup_cost += cost;
	path->total_cost += cost;
}

/*
 * Make a scan of a table that returns "target" as one row, or grouped by "exprs"; NULL: the scan
 * cannot group by them.  "aggregates": the aggregates of "target".  A parallel scan with GROUP BY
 * uses no cached columns.
 */
static Path *
make_table_path(PlanStep *grouping, RelOptInfo *table, PathTarget *target, List *aggregates,
				List *exprs, int workers)
{
	PlannerInfo *root = grouping->root;
	ScanPath *scan = (ScanPath *) newNode(sizeof(ScanPath), T_CustomPath);
	CustomPath *path = &scan->custom;
	const Var *column = ScanGroupedColumn(exprs);
	List *calls = ColumnScanCalls(aggregates, grouping->matches);
	GroupingPlan by = { .groups = 1 };
	Cost spill;

	if (exprs && !ScanGroupingPlan(root, table, exprs, workers, &by))
		return NULL;
	if (exprs == NIL || (workers == 0 && column))
		by.copied = ScanCopiedFraction(root, table, calls, column, by.groups, workers > 0);
	path->path.pathtype = T_CustomScan;
	path->path.parent = table;
	path->path.pathtarget = target;
	path->path.parallel_aware = workers > 0;
	path->path.parallel_safe = table->consider_parallel && grouping->output->consider_parallel;
	path->path.parallel_workers = workers;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->methods = &path_methods;
	if (workers == 0)
		grouping->pages += table->pages * (1 - by.copied);
	describe(scan, grouping, aggregates, exprs, &by);
	scan->apart = ScanSetCosts(root, &path->path, table, calls, &by, scan->alone);
	if (exprs)
	{
		ScanGroupingCost(&by, table, calls, &path->path);
		spill = ScanSpillCost(&by, table, calls);
		add_cost(&path->path, spill);
		scan->apart += spill;
	}
	return &path->path;
}

/* A target of the grouping expressions and the aggregates, which are partial or complete. */
static PathTarget *
make_target(const PlanStep *grouping, List *aggregates, bool partial)
{
	PathTarget *target = create_empty_pathtarget();
	ListCell *expr;
	ListCell *clause;
	ListCell *cell;

	forboth (expr, grouping->by, clause, grouping->root->parse->groupClause)
		add_column_to_pathtarget(target, lfirst(expr),
								 lfirst_node(SortGroupClause, clause)->tleSortGroupRef);
	foreach (cell, aggregates)
	{
		Aggref *aggref = copyObject(lfirst_node(Aggref, cell));

		if (partial)
			mark_partial_aggref(aggref, AGGSPLIT_INITIAL_SERIAL);
		add_column_to_pathtarget(target, &aggref->xpr, 0);
	}
	return set_pathtarget_cost_width(grouping->root, target);
}

/*
 * Offer Finalize Aggregate over a path of partial aggregates.  "groups": the number of final
 * groups.
 */
static void
add_finalize(PlanStep *grouping, Path *path, double groups)
{
	AggClauseCosts costs = { 0 };

	get_agg_clause_costs(grouping->root, AGGSPLIT_FINAL_DESERIAL, &costs);
	costs.transCost = (QualCost){ 0 }; /* the path's cost includes merging */
	add_path(grouping->output,
			 (Path *) create_agg_path(
				 grouping->root, grouping->output, path, grouping->output->reltarget,
				 grouping->by ? AGG_HASHED : AGG_PLAIN, AGGSPLIT_FINAL_DESERIAL,
				 grouping->by ? grouping->root->parse->groupClause : NIL, grouping->having, &costs,
				 groups));
}

/* Offer Finalize Aggregate over Gather over a path of partial aggregates. */
static void
add_gather(PlanStep *grouping, Path *path, double groups)
{
	double rows = path->rows * path->parallel_workers;

	add_finalize(grouping,
				 (Path *) create_gather_path(grouping->root, grouping->partial, path,
											 grouping->target, NULL, &rows),
				 groups);
}

/* True if the step can be parallel, and there is memory for all of its groups at the same time. */
static bool
can_be_parallel(const PlanStep *grouping, const RelOptInfo *input, List *aggregates)
{
	if (!input->consider_parallel || !grouping->output->consider_parallel ||
		grouping->partial->partial_pathlist == NIL)
		return false;
	return grouping->by == NIL ||
		   ScanGroupingFits(grouping->root, grouping->by,
							ColumnScanCalls(aggregates, grouping->matches), input->rows) ||
		   ScanRefuse(
			   psprintf("another plan is cheaper, and a parallel scan needs more memory than "
						"work_mem allows for %.0f groups: raise it, or if there are far "
						"fewer, CREATE STATISTICS on what GROUP BY has, then ANALYZE",
						EstimateGroups(grouping->root, grouping->by, input->rows)));
}

/*
 * The path with the most workers among PostgreSQL's partial paths of the input.  Our scan uses the
 * same number of workers, because it reads all pages, too.  NULL: no parallel plan is possible, or
 * the serial scans read no page.  The caller makes the serial paths first.
 */
static Path *
parallel_model(PlanStep *grouping, RelOptInfo *input, List *aggregates)
{
	Path *model = NULL;
	ListCell *cell;

	if (grouping->pages < 1 || !can_be_parallel(grouping, input, aggregates))
		return NULL;
	foreach (cell, input->partial_pathlist)
		if (model == NULL || ((Path *) lfirst(cell))->parallel_workers > model->parallel_workers)
			model = lfirst(cell);
	return model;
}

/* Add the cost of HAVING to a path that returns the final result, and reduce its rows. */
static void
add_having_cost(const PlanStep *grouping, Path *path)
{
	double groups = path->rows;
	QualCost cost;

	if (grouping->having == NIL)
		return;
	cost_qual_eval(&cost, grouping->having, grouping->root);
	path->startup_cost += cost.startup;
	path->total_cost += cost.startup + groups * cost.per_tuple;
	path->rows = clamp_row_est(
		groups * clauselist_selectivity(grouping->root, grouping->having, 0, JOIN_INNER, NULL));
}

/* Add HAVING to a scan that returns the final result. */
static Path *
with_having(const PlanStep *grouping, Path *path)
{
	((ScanPath *) path)->having = grouping->having;
	add_having_cost(grouping, path);
	return path;
}

/* The number of groups of this input; 1 without GROUP BY. */
static double
groups_of(const PlanStep *grouping, const RelOptInfo *input)
{
	return grouping->by ? EstimateGroups(grouping->root, grouping->by, input->rows) : 1;
}

/* True if a path reads all pages of its tables, and no index. */
static bool
reads_all_pages(const Path *path)
{
	ListCell *cell;

	switch (nodeTag(path))
	{
		case T_AggPath:
			return reads_all_pages(((const AggPath *) path)->subpath);
		case T_GatherPath:
			return reads_all_pages(((const GatherPath *) path)->subpath);
		case T_ProjectionPath:
			return reads_all_pages(((const ProjectionPath *) path)->subpath);
		case T_AppendPath:
			foreach (cell, ((const AppendPath *) path)->subpaths)
				if (!reads_all_pages(lfirst(cell)))
					return false;
			return true;
		default:
			return path->pathtype == T_SeqScan;
	}
}

/*
 * Offer a parallel scan of all rows.  Without GROUP BY, remove PostgreSQL's own parallel
 * aggregation of all pages, which merges the same number of states in one process.  PostgreSQL
 * charges hardly anything for this merging, so its cost of that path cannot be compared with the
 * cost of our path.
 */
static void
add_parallel(PlanStep *grouping, Path *path, double groups)
{
	ListCell *cell;

	foreach (cell, grouping->output->pathlist)
	{
		const AggPath *final = lfirst(cell);

		if (grouping->by == NIL && IsA(final, AggPath) && IsA(final->subpath, GatherPath) &&
			final->aggsplit == AGGSPLIT_FINAL_DESERIAL && reads_all_pages(&final->path))
			grouping->output->pathlist = foreach_delete_current(grouping->output->pathlist, cell);
	}
	add_gather(grouping, path, groups);
}

/* Add the paths over one table. */
static void
add_table_paths(PlanStep *grouping, RelOptInfo *table, List *aggregates)
{
	Path *path =
		make_table_path(grouping, table, grouping->output->reltarget, aggregates, grouping->by, 0);
	Path *model;

	if (path == NULL)
		return;
	add_path(grouping->output, with_having(grouping, path));
	model = parallel_model(grouping, table, aggregates);
	if (model == NULL)
		return;
	aggregates = list_copy_tail(grouping->target->exprs, list_length(grouping->by));
	path = make_table_path(grouping, table, grouping->target, aggregates, grouping->by,
						   model->parallel_workers);
	add_parallel(grouping, path, groups_of(grouping, table));
}

/* ---- partitions, and other child tables ---- */

/* Make an Append over complete paths ("workers" is 0), or over partial paths. */
static Path *
append_of(PlannerInfo *root, RelOptInfo *parent, List *paths, List *partial, int workers,
		  bool parallel_aware)
{
#if PG_VERSION_NUM >= 190000
	AppendPathInput input = { .subpaths = paths, .partial_subpaths = partial };

	return (Path *) create_append_path(root, parent, input, NIL, NULL, workers, parallel_aware, -1);
#else
	return (Path *) create_append_path(root, parent, paths, partial, NIL, NULL, workers,
									   parallel_aware, -1);
#endif
}

/* Make a scan of a child that returns "target": the grouping expressions, then aggregates. */
static Path *
child_path(PlanStep *grouping, RelOptInfo *child, PathTarget *target, int workers)
{
	int fields = list_length(grouping->by);
	List *exprs = list_truncate(list_copy(target->exprs), fields);
	List *aggregates = list_copy_tail(target->exprs, fields);

	if (!ColumnScanTable(grouping->root, child, aggregates))
		return NULL;
	return make_table_path(grouping, child, target, aggregates, exprs, workers);
}

/*
 * Append the paths of all leaves below "parent" to *paths; false: QSketchScan cannot scan one
 * of the leaves.  Pruned children, which are missing or dummies, are skipped.
 */
static bool
child_paths(PlanStep *grouping, Index parent, PathTarget *target, int workers, List **paths)
{
	PlannerInfo *root = grouping->root;
	ListCell *cell;

	foreach (cell, root->append_rel_list)
	{
		AppendRelInfo *info = lfirst_node(AppendRelInfo, cell);
		RelOptInfo *child = root->simple_rel_array[info->child_relid];
		PathTarget *translated;
		Path *path;

		if (info->parent_relid != parent || child == NULL || IS_DUMMY_REL(child))
			continue;
		translated = copy_pathtarget(target); /* with the child's columns */
		translated->exprs = (List *) adjust_appendrel_attrs(root, (Node *) target->exprs, 1, &info);
		if (planner_rt_fetch(child->relid, root)->inh)
		{
			if (!child_paths(grouping, child->relid, translated, workers, paths))
				return false;
			continue;
		}
		path = child_path(grouping, child, translated, workers);
		if (path == NULL)
			return false;
		*paths = lappend(*paths, path);
	}
	return true;
}

/*
 * The cost of writing groups if all children fill the same groups.  Rows of cached columns do
 * not count: serial scans read only grouping->pages of the children's "all_pages".
 */
static Cost
spill_together(PlanStep *grouping, RelOptInfo *parent, PathTarget *target, double all_pages)
{
	int fields = list_length(grouping->by);
	List *calls = ColumnScanCalls(list_copy_tail(target->exprs, fields), grouping->matches);
	GroupingPlan by = { .groups = 1 };

	if (fields == 0 || !ScanGroupingPlan(grouping->root, parent, grouping->by, 0, &by))
		return 0;
	by.copied = 1 - grouping->pages / Max(1, all_pages);
	return ScanSpillCost(&by, parent, calls);
}

/*
 * Make several serial scans fill the same sketches or groups, and append a path that returns
 * the rows of "target".  The keys of all scans have the same type, because child tables have
 * the column types of the parent.  "groups": the expected number of groups.
 */
static List *
accumulate(PlanStep *grouping, RelOptInfo *parent, PathTarget *target, List *paths, double groups)
{
	int param = assign_special_exec_param(grouping->root);
	List *having = grouping->by ? grouping->having : NIL;
	double pages = 0;
	ListCell *cell;
	Path *collect;

	foreach (cell, paths)
	{
		ScanPath *scan = lfirst(cell);

		scan->accumulator = param;
		scan->work.together = Max(1, groups);
		scan->work.rows = parent->rows / scan->work.together;
		scan->custom.path.rows = 1;
		pages += scan->custom.path.parent->pages;
		add_cost(&scan->custom.path, -scan->apart);
	}
	collect = ScanCollectPath(grouping->output, target, list_length(grouping->by), having, param);
	collect->parallel_safe = ((Path *) linitial(paths))->parallel_safe;
	collect->rows = groups;
	add_cost(collect, spill_together(grouping, parent, target, pages));
	if (having)
		add_having_cost(grouping, collect);
	return lappend(paths, collect);
}

/*
 * Make an Append over a scan of each child; NULL: a child cannot be scanned.  "model":
 * PostgreSQL's partial path; NULL: the plan is serial.
 */
static Path *
make_append_path(PlanStep *grouping, RelOptInfo *parent, Path *model)
{
	int workers = model ? model->parallel_workers : 0;
	List *paths = NIL;
	Path *path;

	if (!child_paths(grouping, parent->relid, grouping->target, workers, &paths) || paths == NIL)
		return NULL;
	if (model == NULL && grouping->by == NIL && list_length(paths) > 1 &&
		planner_rt_fetch(parent->relid, grouping->root)->rtekind == RTE_RELATION)
		paths = accumulate(grouping, parent, grouping->target, paths, 1);
	path = append_of(grouping->root, parent, model ? NIL : paths, model ? paths : NIL, workers,
					 model && model->parallel_aware);
	path->pathtarget = grouping->target;
	return path;
}

/*
 * Add the path in which the scans of all children fill the same groups; false: a child cannot
 * be scanned.
 */
static bool
add_collected_groups(PlanStep *grouping, RelOptInfo *parent, List *aggregates, double groups)
{
	PathTarget *target = make_target(grouping, aggregates, false);
	List *paths = NIL;
	Path *path;

	if (!child_paths(grouping, parent->relid, target, 0, &paths) || paths == NIL)
		return false;
	paths = accumulate(grouping, parent, target, paths, groups);
	path = append_of(grouping->root, parent, paths, NIL, 0, false);
	path->pathtarget = target;
	add_path(grouping->output, (Path *) create_projection_path(grouping->root, grouping->output,
															   path, grouping->output->reltarget));
	return true;
}

/* Add the serial path over partitions, or other child tables; false: a child cannot be scanned. */
static bool
add_serial_child_path(PlanStep *grouping, RelOptInfo *parent, List *aggregates, double groups)
{
	Path *path;

	if (grouping->by && planner_rt_fetch(parent->relid, grouping->root)->rtekind == RTE_RELATION)
		return add_collected_groups(grouping, parent, aggregates, groups);
	path = make_append_path(grouping, parent, NULL);
	if (path)
		add_finalize(grouping, path, groups);
	return path != NULL;
}

/* Add the paths over partitions, or other child tables. */
static void
add_child_paths(PlanStep *grouping, RelOptInfo *parent, List *aggregates)
{
	double groups = groups_of(grouping, parent);
	Path *model;

	if (!add_serial_child_path(grouping, parent, aggregates, groups))
		return;
	model = parallel_model(grouping, parent, aggregates);
	if (model)
		add_parallel(grouping, make_append_path(grouping, parent, model), groups);
}

/* ---- the hook ---- */

/* True if the query aggregates one item of FROM, as a whole or by groups that the scan can make. */
static bool
is_whole(PlanStep *grouping, RelOptInfo *input)
{
	PlannerInfo *root = grouping->root;
	Query *parse = root->parse;

	if (IS_JOIN_REL(input))
		return ScanRefuse("a join: if the joined columns have few values, aggregate below it, in a "
						  "subquery by these columns, and merge above it");
	if (input->reloptkind != RELOPT_BASEREL || IS_DUMMY_REL(input))
		return ScanRefuse("nothing to be read");
	if (parse->groupClause == NIL && parse->groupingSets == NIL)
		return true;
	grouping->by = ScanGroupingExprs(root, input);
	return grouping->by != NIL;
}

/*
 * True if all states can be combined, or if the plan combines no states.  With GROUP BY, the states
 * of written groups are combined.  With several tables, the states of the tables are combined.
 */
static bool
can_combine(const PlanStep *grouping, const RelOptInfo *input, List *aggregates)
{
	bool merged = grouping->by || planner_rt_fetch(input->relid, grouping->root)->inh;
	ListCell *cell;

	foreach (cell, ColumnScanCalls(aggregates, grouping->matches))
	{
		const RecognizedAggregate *match = &((const ColumnScanCall *) lfirst(cell))->aggregate;

		if (merged && !match->combines)
			return ScanRefuse(psprintf("%s() with GROUP BY or partitions, whose states PostgreSQL "
									   "cannot combine",
									   get_func_name(match->aggregate)));
	}
	return true;
}

static void
offer_paths(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, List *matches)
{
	PlanStep grouping = { .root = root,
						  .output = output,
						  .matches = matches,
						  .having = (List *) root->parse->havingQual };
	List *aggregates;

	if (!(columnscan_enabled || ScanRefuse("qsketch.enable_columnscan is off")) ||
		!is_whole(&grouping, input))
		return;
	aggregates = ColumnScanAggregates(list_concat_copy(output->reltarget->exprs, grouping.having),
									  grouping.by, matches);
	if (aggregates == NIL || !can_combine(&grouping, input, aggregates))
		return;
	grouping.partial = fetch_upper_rel(root, UPPERREL_PARTIAL_GROUP_AGG, output->relids);
	grouping.target = make_target(&grouping, aggregates, true);
	grouping.alone = !planner_rt_fetch(input->relid, root)->inh && grouping.by == NIL;
	if (planner_rt_fetch(input->relid, root)->inh)
	{
		if (!ScanIsOthers(input, true))
			add_child_paths(&grouping, input, aggregates);
	}
	else if (ColumnScanTable(root, input, aggregates))
		add_table_paths(&grouping, input, aggregates);
}

/*
 * The first QSketchScan in the path, perhaps below other nodes; NULL: the path has no QSketchScan.
 */
static const ScanPath *
scan_in(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_CustomPath:
			return ((const CustomPath *) path)->methods == &path_methods ? (const ScanPath *) path
																		 : NULL;
		case T_AggPath:
			return scan_in(((const AggPath *) path)->subpath);
		case T_GatherPath:
			return scan_in(((const GatherPath *) path)->subpath);
		case T_ProjectionPath:
			return scan_in(((const ProjectionPath *) path)->subpath);
		case T_AppendPath:
			return ((const AppendPath *) path)->subpaths != NIL
					   ? scan_in(linitial(((const AppendPath *) path)->subpaths))
					   : NULL;
		default:
			return NULL;
	}
}

/* Report why the cheapest path does not use the scan, and why it does not use the GPU. */
static void
report_reasons(PlannerInfo *root, const RelOptInfo *input, const RelOptInfo *output, List *matches)
{
	const Path *path = ScanCheapestPath(root, output);
	const ScanPath *scan = path ? scan_in(path) : NULL;
	StateWork work = { .processes = 1 };

	if (scan)
		work = scan->work;
	else if (path)
		work = ScanWorkWithout(path, input);
	ScanReportReasons(root, matches, scan ? NULL : path, &work);
}

/*
 * The hook.  Under partitionwise aggregation, the planner calls the hook for each partition, then
 * for the whole table.  Only the whole table is handled.  A function that is called during planning
 * may plan another query, whose refusal is in memory that is freed with that query.  So the refusal
 * of the outer query is restored at the end.
 */
static void
add_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
		  void *extra)
{
	const char *outer = scan_refusal;
	List *matches;

	if (previous_hook)
		previous_hook(root, stage, input, output, extra);
	if (stage != UPPERREL_GROUP_AGG || !root->parse->hasAggs || IS_OTHER_REL(input))
		return;
	matches = ScanMatches(root);
	if (matches == NIL)
		return;
	scan_refusal = NULL;
	PG_TRY();
	{
		offer_paths(root, input, output, matches);
		if (ScanReasonsWanted(root))
			report_reasons(root, input, output, matches);
	}
	PG_FINALLY();
	{
		scan_refusal = outer;
	}
	PG_END_TRY();
}

/* Define the setting, the hooks and the nodes when the library is loaded. */
void
ColumnScanInit(void)
{
	DefineCustomBoolVariable("qsketch.enable_columnscan",
							 "Enables the planner's use of QSketchScan.",
							 "It aggregates keys off the pages of tables, without the executor.",
							 &columnscan_enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	RegisterCustomScanMethods(&columnscan_methods);
	ScanCollectInit();
	previous_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_paths;
	ScanReasonsInit();
	CachedExactInit();
}
