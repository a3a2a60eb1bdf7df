/*
 * top_aggregate.h
 *		The functions of which qtop_agg is made.
 *
 * src/pg/top_aggregate.h
 */
#ifndef QS_PG_TOP_AGGREGATE_H
#define QS_PG_TOP_AGGREGATE_H

#include "pgbase/recognize.h"

extern const AggregateFunctions top_functions;

#endif
