/*
 * filter_aggregate.h
 *		By what the aggregates of filters are known.
 *
 * src/pg/filter_aggregate.h
 */
#ifndef QS_PG_FILTER_AGGREGATE_H
#define QS_PG_FILTER_AGGREGATE_H

#include "pgbase/recognize.h"

/* Ids and counts are weights in their forms. */
extern const AggregateFunctions filter_functions;

#endif
