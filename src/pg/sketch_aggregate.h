/*
 * sketch_aggregate.h
 *		What the aggregates of sketches share: their states.
 *
 * src/pg/sketch_aggregate.h
 */
#ifndef QS_PG_SKETCH_AGGREGATE_H
#define QS_PG_SKETCH_AGGREGATE_H

#include "pg/aggregate.h"
#include "pg/recognize.h"
#include "pg/sketch_expanded.h"

extern const AggregateFunctions sketch_functions;

extern ExpandedSketch *AggregateStart(FunctionCallInfo fcinfo, ExpandedSketch *state);
extern void AggregateCheckParams(const qs_params *a, const qs_params *b);
extern bool AggregateIsInitial(FunctionCallInfo fcinfo);

/* sketch_merge_aggregate.c */
extern bool IsSketchCombine(PGFunction combine);
extern bool IsSketchFinal(PGFunction final);
extern bool IsSketchMergeInverse(PGFunction function);

#endif
