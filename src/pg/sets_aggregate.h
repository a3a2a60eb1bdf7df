/*
 * sets_aggregate.h
 *		The functions of which qsets_agg is made.
 *
 * src/pg/sets_aggregate.h
 */
#ifndef QS_PG_SETS_AGGREGATE_H
#define QS_PG_SETS_AGGREGATE_H

#include "pgbase/recognize.h"

/* The "weight" argument of an AggregateForm is the set's id here. */
extern const AggregateFunctions sets_functions;

#endif
