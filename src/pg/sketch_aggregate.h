/*
 * sketch_aggregate.h
 *		Declarations for the aggregates of sketches and of top keys.
 *
 * The header declares checks of templates, the estimated size of states, and the functions that
 * merge and finish states of qsketch_agg.
 *
 * src/pg/sketch_aggregate.h
 */
#ifndef QS_PG_SKETCH_AGGREGATE_H
#define QS_PG_SKETCH_AGGREGATE_H

#include "pg/sketch_state.h"

#include "nodes/primnodes.h"
#include "pgbase/aggregate.h"

/* The position of the key argument.  An ArgumentLayout has the positions of the other arguments. */
#define SKETCH_KEY_ARGUMENT 1

extern const AggregateFunctions sketch_functions;

extern void SketchReadTemplate(Datum template, bool null, qs_params *params);
extern void SketchTemplateParams(FunctionCallInfo fcinfo, ArgumentLayout layout, qs_params *params);
extern void SketchCheckTemplate(FunctionCallInfo fcinfo, ArgumentLayout layout,
								const qs_params *expected, uint8 *key_before);
extern double SketchStateSpace(const Const *template, double keys);

extern PGDLLEXPORT Datum qsketch_agg_combine(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum qsketch_merge_trans(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum qsketch_merge_inverse(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum qsketch_agg_final(PG_FUNCTION_ARGS);

/* True if the key or the weight is NULL.  An aggregate ignores such a row. */
static pg_attribute_always_inline bool
SketchSkipsRow(FunctionCallInfo fcinfo, ArgumentLayout layout)
{
	return PG_ARGISNULL(SKETCH_KEY_ARGUMENT) || (layout.weight && PG_ARGISNULL(layout.weight));
}

/* The weight of a row; 1 if the aggregate has no weight argument. */
static pg_attribute_always_inline int64
SketchRowWeight(FunctionCallInfo fcinfo, ArgumentLayout layout)
{
	return layout.weight ? SketchCheckWeight(PG_GETARG_INT64(layout.weight)) : 1;
}

#endif
