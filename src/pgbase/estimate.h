/*
 * estimate.h
 *		Estimates of the number of groups, of whether rows come in the order of the groups, and of
 *		the memory that the state of a group takes.
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
 * The cost of passing a group's state to another process and merging it there, in cpu_tuple_cost:
 * for a state, and for each block of its memory.  A state is written, sent through a queue and
 * read.  Measured as processor time of groups of 30 to 100,000 keys and sketches of 16 kB to 1 MB:
 * Intel Xeon, 2 cores with other work on them, PostgreSQL 15.20, 2026-11-24.
 */
#define PASSED_COST       100
#define PASSED_BLOCK_COST 300

/*
 * Bytes of the state of a group with this many distinct keys and rows; 0: the declared size.
 * "template" is NULL if it is not known.
 */
typedef double (*StateSize)(const Const *template, double keys, double rows);

extern bool StateInput(PlannerInfo *root, double *rows, double *groups);
extern Datum StateSizeSupport(FunctionCallInfo fcinfo, StateSize space);
extern Datum StateCombineSupport(FunctionCallInfo fcinfo);

#endif
