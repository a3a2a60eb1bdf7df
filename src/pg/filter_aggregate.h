/*
 * filter_aggregate.h
 *		The functions of which the aggregates of filters are made.
 *
 * src/pg/filter_aggregate.h
 */
#ifndef QS_PG_FILTER_AGGREGATE_H
#define QS_PG_FILTER_AGGREGATE_H

#include "filter/params.h"
#include "pgbase/recognize.h"

extern void FilterReadTemplate(Datum template, bool null, qf_params *params);

/* The "weight" argument of an AggregateForm is the id or the count here. */
extern const AggregateFunctions filter_functions;

#endif
