/*
 * sets_state_size.c
 *		How much memory a collection of sets of a group takes, for the planner.
 *
 * src/pg/sets_state_size.c
 */
#include "pg/sets_state.h"
#include "pgbase/state_size.h"

/* The first tables of ids, elements and rows. */
#define SMALLEST 4096

/* Bytes of a row in an array that grows by doubling, and of a labelled key at most. */
#define ROW   (1.5 * sizeof(uint64))
#define LABEL (3 * sizeof(qset_slot) + 1.5 * sizeof(uint64))

/* "keys" are the ids; nobody knows how often elements come again. */
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
