/*
 * sets_state_size.c
 *		How much memory a collection of sets of a group takes, and what combining
 *		partial ones costs, for the planner.
 *
 * src/pg/sets_state_size.c
 */
#include "pg/sets_state.h"
#include "pgbase/state_size.h"

#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

/* Bytes of the first tables of ids, elements and rows. */
#define SMALLEST 4096

/*
 * Bytes of a row in an array that grows by doubling, and the most bytes of an id or
 * element that got a number.
 */
#define ROW   (1.5 * sizeof(uint64))
#define LABEL (3 * sizeof(qset_slot) + 1.5 * sizeof(uint64))

/* "keys" are the ids of sets.  How many distinct elements there are is not known. */
static double
state_space(const Const *template, double keys, double rows)
{
	return SMALLEST + rows * (ROW + LABEL) + keys * LABEL;
}

SQL_FUNCTION(qsets_support, StateSizeSupport(fcinfo, state_space));

/* The declared cost of adding a row.  Taking it in once more, by the leader, costs as much. */
#define COST_OF_ROW 10

/*
 * Planner support of the combine function of qsets_agg.  The leader takes in the rows of
 * all partial collections, so in the ordinary parallel plan it has as much to do as one
 * process that makes the collection alone.
 */
PG_FUNCTION_INFO_V1(qsets_combine_support);
Datum
qsets_combine_support(PG_FUNCTION_ARGS)
{
	SupportRequestCost *request = (SupportRequestCost *) PG_GETARG_POINTER(0);
	double parts = Max(max_parallel_workers_per_gather, 1); /* as the planner counts them */
	double rows;
	double groups;

	if (!IsA(request, SupportRequestCost) || request->root == NULL ||
		!StateInput(request->root, &rows, &groups))
		PG_RETURN_POINTER(NULL);
	request->startup = 0;
	request->per_tuple = rows / groups / parts * COST_OF_ROW * cpu_operator_cost;
	PG_RETURN_POINTER(request);
}
