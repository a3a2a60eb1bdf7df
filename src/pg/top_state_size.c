/*
 * top_state_size.c
 *		How much memory the most frequent keys of a group take, for the planner.
 *
 * src/pg/top_state_size.c
 */
#include "pg/sketch_aggregate.h"
#include "pgbase/state_size.h"
#include "pgbase/value.h"

#include "sketch/top.h"

/* Bytes of a candidate in an array with spare room, with its hash table entry and a short text. */
#define CANDIDATE (2 * sizeof(qs_top_key) + 4 * sizeof(uint32) + 48)

/* The number of candidates, if it is not known how many keys are of interest. */
#define CANDIDATES 200

static double
state_space(const Const *template, double keys, double rows)
{
	return SketchStateSpace(template, keys) + CANDIDATE * Min(keys, CANDIDATES);
}

SQL_FUNCTION(qtop_support, StateSizeSupport(fcinfo, state_space));
