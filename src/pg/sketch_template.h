/*
 * sketch_template.h
 *		States of the aggregates of sketches: how they begin, and their template.
 *
 * src/pg/sketch_template.h
 */
#ifndef QS_PG_SKETCH_TEMPLATE_H
#define QS_PG_SKETCH_TEMPLATE_H

#include "pgbase/aggregate.h"
#include "pgbase/recognize.h"
#include "pg/sketch_state.h"

extern SketchState *
SketchStateStart(FunctionCallInfo fcinfo, SketchState *state, const AggregateFunctions *functions);
extern void SketchReadTemplate(Datum template, bool null, qs_params *params);
extern void SketchTemplateParams(FunctionCallInfo fcinfo, AggregateForm form, qs_params *params);
extern void SketchCheckParams(const qs_params *a, const qs_params *b);
extern void SketchCheckTemplate(FunctionCallInfo fcinfo, AggregateForm form,
								const qs_params *expected, uint8 *mark_before);
extern bool SketchStateIsInitial(FunctionCallInfo fcinfo);

#endif
