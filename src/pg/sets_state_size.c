/*
 * sets_state_size.c
 *		How much memory a collection of sets of a group takes, for the planner.
 *
 * src/pg/sets_state_size.c
 */
#include "pg/sets_state.h"
#include "pgbase/state_size.h"

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

PG_FUNCTION_INFO_V1(qsets_support);
Datum
qsets_support(PG_FUNCTION_ARGS)
{
	return StateSizeSupport(fcinfo, state_space);
}
