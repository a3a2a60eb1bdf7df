/*
 * estimate.h
 *		How many groups there will be, and whether rows come in their order.
 *
 * src/pgbase/estimate.h
 */
#ifndef QS_PGBASE_ESTIMATE_H
#define QS_PGBASE_ESTIMATE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

extern double EstimateGroups(PlannerInfo *root, List *exprs, double rows);
extern double EstimateGroupsForSize(PlannerInfo *root, List *exprs, double rows);
extern double EstimateMostGroups(PlannerInfo *root, List *exprs, double rows, double groups);
extern double EstimateOrder(PlannerInfo *root, List *exprs);

#endif
