/*
 * sketch_aggregate.h
 *		The functions of which qsketch_agg is made.
 *
 * src/pg/sketch_aggregate.h
 */
#ifndef QS_PG_SKETCH_AGGREGATE_H
#define QS_PG_SKETCH_AGGREGATE_H

#include "pgbase/recognize.h"

extern const AggregateFunctions sketch_functions;

#endif
