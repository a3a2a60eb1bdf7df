/*
 * plan.h
 *		What the files that offer QSketchScan to the planner share.
 *
 *	plan.c			paths over one table
 *	plan_children.c	paths over partitions, and other child tables
 *
 * src/scan/plan.h
 */
#ifndef QS_SCAN_PLAN_H
#define QS_SCAN_PLAN_H

#include "scan/groups.h"

/* The query's grouping step, as all paths need it. */
typedef struct PlanStep
{
	PlannerInfo *root;
	RelOptInfo *output;
	RelOptInfo *partial; /* the same step with partial aggregates */
	PathTarget *target;  /* target of "partial" */
	List *having;        /* an AND of conditions on groups */
	List *by;            /* what GROUP BY has; NIL: there is none */
} PlanStep;

/* The items of a path's custom_private.  Those of the executor go into the plan in this order. */
enum
{
	PATH_TARGETS,  /* aggregates, then what the scan groups by */
	PATH_RELATION, /* number of the table */
	PATH_HAVING,   /* conditions on groups */
	PATH_ALONE,    /* of the executor: nothing else stands below its Gather, */
	PATH_HANDOVER, /* the parameter of a handover, or -1, */
	PATH_GROUPING  /* and what ScanGroupingPrivate() tells, or NULL */
};

/* plan.c */
extern void PlanSetItem(CustomPath *path, int number, void *value);
extern Path *PlanTablePath(PlanStep *grouping, RelOptInfo *table, PathTarget *target,
						   List *aggregates, int workers, bool alone, const GroupingPlan *by);
extern Path *PlanGroupPath(PlanStep *grouping, RelOptInfo *table, PathTarget *target,
						   List *aggregates, List *exprs, int workers);
extern void PlanFinalize(PlanStep *grouping, Path *path, double groups);
extern void PlanGather(PlanStep *grouping, Path *path, double groups);
extern Path *PlanParallelModel(PlanStep *grouping, RelOptInfo *input, List *aggregates);

/* plan_children.c */
extern void PlanChildren(PlanStep *grouping, RelOptInfo *parent, List *aggregates);

#endif
