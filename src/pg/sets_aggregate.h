/*
 * sets_aggregate.h
 *		By what qsets_agg is known.
 *
 * src/pg/sets_aggregate.h
 */
#ifndef QS_PG_SETS_AGGREGATE_H
#define QS_PG_SETS_AGGREGATE_H

#include "pgbase/recognize.h"

/* A set's id is the weight in its form. */
extern const AggregateFunctions sets_functions;

#endif
