/*
 * sketch_aggregate.h
 *		What the aggregates of sketches share: their states.
 *
 * src/pg/sketch_aggregate.h
 */
#ifndef QS_PG_SKETCH_AGGREGATE_H
#define QS_PG_SKETCH_AGGREGATE_H

#include "pg/sketch_expanded.h"
#include "pg/recognize.h"

extern const AggregateFunctions sketch_functions;

extern MemoryContext AggregateContext(FunctionCallInfo fcinfo);
extern ExpandedSketch *AggregateStart(FunctionCallInfo fcinfo, ExpandedSketch *state);
extern bool AggregateIsHashed(const AggState *node);
extern void AggregateTemplate(FunctionCallInfo fcinfo, AggregateForm form, qs_params *params);
extern void AggregateCheckParams(const qs_params *a, const qs_params *b);
extern void AggregateCheckTemplate(FunctionCallInfo fcinfo, AggregateForm form,
								   const qs_params *expected, uint8 *mark_before);
extern bool AggregateIsInitial(FunctionCallInfo fcinfo);
extern Datum AggregateUnchanged(FunctionCallInfo fcinfo);

/* sketch_merge_aggregate.c */
extern bool IsSketchCombine(PGFunction combine);
extern bool IsSketchFinal(PGFunction final);
extern bool IsSketchMergeInverse(PGFunction function);

#endif
