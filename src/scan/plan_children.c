/*
 * plan_children.c
 *		Offering QSketchScan for partitions, and other child tables.
 *
 * A scan of each child stands below Append, and Finalize Aggregate above that.  If one of
 * the children cannot be scanned like this, none is.
 *
 * src/scan/plan_children.c
 */
#include "scan/plan.h"
#include "scan/version.h"

#include "optimizer/appendinfo.h"
#include "optimizer/paramassign.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"

/* The target, with a child's columns in place of its parent's. */
static PathTarget *
child_target(PlannerInfo *root, PathTarget *target, AppendRelInfo *info)
{
	PathTarget *translated = copy_pathtarget(target);

	translated->exprs = (List *) adjust_appendrel_attrs(root, (Node *) target->exprs, 1, &info);
	return translated;
}

/* A scan of a child that returns "target": what the query groups by, then aggregates. */
static Path *
child_path(PlanStep *grouping, RelOptInfo *child, PathTarget *target, int workers)
{
	int fields = list_length(grouping->by);
	List *exprs = list_truncate(list_copy(target->exprs), fields);
	List *aggregates = list_copy_tail(target->exprs, fields);

	if (!ColumnScanTable(grouping->root, child, aggregates))
		return NULL;
	return grouping->by ? PlanGroupPath(grouping, child, target, aggregates, exprs, workers)
						: PlanTablePath(grouping, child, target, aggregates, workers, false, NULL);
}

/*
 * Append a scan of each leaf below "parent" to the paths; false if one of them cannot
 * be scanned by QSketchScan.  Pruned children are missing or are dummies.
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
		translated = child_target(root, target, info);
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
 * Make several serial scans fill the same sketches.  Their keys have the same type,
 * since columns of partitions and of other child tables have the parent's types.
 */
static List *
hand_over(PlanStep *grouping, RelOptInfo *parent, List *paths)
{
	PlannerInfo *root = grouping->root;
	ListCell *cell;
	int param;

	if (list_length(paths) < 2 || planner_rt_fetch(parent->relid, root)->rtekind != RTE_RELATION)
		return paths;
	param = assign_special_exec_param(root);
	foreach (cell, paths)
		PlanSetItem((CustomPath *) lfirst(cell), PATH_HANDOVER, makeInteger(param));
	return lappend(paths, ScanCollectPath(grouping->partial, grouping->target,
										  ((Path *) linitial(paths))->parallel_safe, param));
}

/* Append over a scan of each child, or NULL.  "model" is the planner's partial path, or NULL. */
static Path *
make_append_path(PlanStep *grouping, RelOptInfo *parent, Path *model)
{
	int workers = model ? model->parallel_workers : 0;
	List *paths = NIL;
	Path *path;

	if (!child_paths(grouping, parent->relid, grouping->target, workers, &paths) || paths == NIL)
		return NULL;
	if (model == NULL && grouping->by == NIL)
		paths = hand_over(grouping, parent, paths);
	path = MakeAppendPath(grouping->root, parent, model ? NIL : paths, model ? paths : NIL, workers,
						  model && model->parallel_aware);
	path->pathtarget = grouping->target;
	return path;
}

/* Add the paths over partitions, or other child tables. */
void
PlanChildren(PlanStep *grouping, RelOptInfo *parent, List *aggregates)
{
	Path *model = PlanParallelModel(grouping, parent, aggregates);
	Path *path = make_append_path(grouping, parent, NULL);
	double groups = 1;

	if (path == NULL)
		return;
	if (grouping->by)
		groups = EstimateGroups(grouping->root, grouping->by, parent->rows);
	PlanFinalize(grouping, path, groups);
	if (model)
		PlanGather(grouping, make_append_path(grouping, parent, model), groups);
}
