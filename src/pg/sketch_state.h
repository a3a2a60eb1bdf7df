/*
 * sketch_state.h
 *		States of the aggregates of sketches: their beginning and their template.
 *
 * src/pg/sketch_state.h
 */
#ifndef QS_PG_SKETCH_STATE_H
#define QS_PG_SKETCH_STATE_H

#include "pg/aggregate.h"
#include "pg/recognize.h"
#include "pg/sketch_expanded.h"

extern ExpandedSketch *
AggregateStart(FunctionCallInfo fcinfo, ExpandedSketch *state, const AggregateFunctions *functions);
extern void AggregateTemplate(FunctionCallInfo fcinfo, AggregateForm form, qs_params *params);
extern void AggregateCheckParams(const qs_params *a, const qs_params *b);
extern void AggregateCheckTemplate(FunctionCallInfo fcinfo, AggregateForm form,
								   const qs_params *expected, uint8 *mark_before);
extern bool AggregateIsInitial(FunctionCallInfo fcinfo);

#endif
