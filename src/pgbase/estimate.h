/*
 * estimate.h
 *		Estimates for the planner: groups, order of rows, and memory of states.
 *
 * src/pgbase/estimate.h
 */
#ifndef QS_PGBASE_ESTIMATE_H
#define QS_PGBASE_ESTIMATE_H

#include "postgres.h"
#include "fmgr.h"

#include "nodes/pathnodes.h"

extern double EstimateGroups(PlannerInfo *root, List *exprs, double rows);
extern double EstimateGroupsForSize(PlannerInfo *root, List *exprs, double rows);
extern double EstimateMostGroups(PlannerInfo *root, List *exprs, double rows, double groups);
extern double EstimateOrder(PlannerInfo *root, List *exprs);

/* ---- how much memory the state of a group takes, for the planner ---- */

/*
 * The cost of passing a group's state to another process and merging it, in units of
 * cpu_tuple_cost: per state, and per block of the state's memory.  A state is serialized, sent
 * through a queue and read.  The costs were measured as processor time, with groups of 30 to
 * 100,000 keys and sketches of 16 kB to 1 MB: Intel Xeon, 2 cores with other load, PostgreSQL
 * 15.20, 2026-11-24.
 */
#define PASSED_COST       100
#define PASSED_BLOCK_COST 300

/*
 * Return the bytes of a group's state for this number of distinct keys and rows.  0: use the size
 * in the aggregate's declaration.  "template" is NULL if the call has no constant template.
 */
typedef double (*StateSize)(const Const *template, double keys, double rows);

extern bool StateInput(PlannerInfo *root, double *rows, double *groups);
extern Datum StateSizeSupport(FunctionCallInfo fcinfo, StateSize space);
extern Datum StateCombineSupport(FunctionCallInfo fcinfo);

#endif
