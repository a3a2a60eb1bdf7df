/*
 * sketch_aggregate.h
 *		What the aggregates of sketches share: their states.
 *
 * src/pg/sketch_aggregate.h
 */
#ifndef QS_PG_SKETCH_AGGREGATE_H
#define QS_PG_SKETCH_AGGREGATE_H

#include "pg/sketch_expanded.h"
#include "pg/sketch_recognize.h"

extern MemoryContext AggregateContext(FunctionCallInfo fcinfo);
extern ExpandedSketch *AggregateStart(FunctionCallInfo fcinfo, ExpandedSketch *state);
extern void AggregateCheckParams(const qs_params *a, const qs_params *b);
extern bool AggregateIsInitial(FunctionCallInfo fcinfo);
extern Datum AggregateUnchanged(FunctionCallInfo fcinfo);

#endif
