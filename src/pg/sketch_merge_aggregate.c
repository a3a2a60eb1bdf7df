/*
 * sketch_merge_aggregate.c
 *		qsketch_merge_agg, and the functions that combine and finish states of
 *		qsketch_agg.
 *
 * Sketches are merged where they are: a sketch on a device is merged there, if the
 * state may be there, too. sketch_aggregate.c describes the states.
 *
 * src/pg/sketch_merge_aggregate.c
 */
#include "pg/sketch_aggregate.h"

#include "utils/memutils.h"

static const AggregateFunctions merge_functions = {
	.combine = { qsketch_agg_combine, qsketch_merge_trans },
	.final = qsketch_agg_final,
};

/* A sketch to be merged. */
typedef struct Operand
{
	SketchState *expanded; /* the sketch as an expanded object, perhaps on a device; or NULL */
	bool owned;            /* it came by a token: "expanded" may become the state */
	SketchReader reader;   /* reads the sketch if "expanded" is NULL */
	const qs_sketch *sketch;
} Operand;

static void
open_operand(Operand *operand, FunctionCallInfo fcinfo, MemoryContext context, Datum datum)
{
	operand->expanded = AggregateCombines(fcinfo) ? SketchOfToken(context, datum) : NULL;
	operand->owned = operand->expanded != NULL;
	if (!operand->owned)
		operand->expanded = SketchStateIn(datum);
	if (operand->expanded)
	{
		if (operand->expanded->sketch.remote)
			SketchFlush(operand->expanded);
		else
			SketchMaterialize(operand->expanded);
		operand->sketch = &operand->expanded->sketch;
		return;
	}
	SketchReadAsStored(&operand->reader, datum);
	operand->sketch = operand->reader.sketch;
}

static void
close_operand(Operand *operand)
{
	if (operand->owned)
		MemoryContextDelete(operand->expanded->keyed.header.eoh_context);
	else if (!operand->expanded)
		SketchReadEnd(&operand->reader);
}

/*
 * Merge where the counters are.  Before the counters move to another engine, the old
 * engine finishes its work.
 */
static void
merge_operand(SketchState *state, const Operand *operand)
{
	if (operand->sketch->remote && state->engine != operand->expanded->engine)
	{
		SketchMaterialize(state);
		state->engine = operand->expanded->engine;
	}
	SketchMerge(state, operand->sketch);
}

/*
 * Make the first sketch the state: the object that came by a token itself, anything
 * else as a copy.  Compact sketches, which may wait, and sketches on a device are merged
 * into an empty state.
 */
static SketchState *
state_from_operand(FunctionCallInfo fcinfo, Operand *operand)
{
	MemoryContext states = AggregateStates(fcinfo, &sketch_state_type);
	SketchState *state;

	if (operand->owned)
	{
		operand->owned = false; /* it became the state, so it must not be deleted */
		return SketchStateStart(fcinfo, operand->expanded, &merge_functions);
	}
	if (!operand->sketch->remote && operand->sketch->encoding != QS_COMPACT)
		return SketchStateStart(fcinfo, SketchCopy(states, operand->sketch), &merge_functions);
	state =
		SketchStateStart(fcinfo, SketchCreate(states, &operand->sketch->params), &merge_functions);
	merge_operand(state, operand);
	return state;
}

/* Merge the second sketch into the first.  Partial states of keys must have the same template. */
static Datum
merge_into_state(FunctionCallInfo fcinfo, bool of_keys)
{
	MemoryContext context = AggregateContext(fcinfo);
	SketchState *state;
	Operand operand;

	if (PG_ARGISNULL(1))
		return AggregateUnchanged(fcinfo);
	open_operand(&operand, fcinfo, context, PG_GETARG_DATUM(1));
	if (SketchStateIsInitial(fcinfo))
		state = state_from_operand(fcinfo, &operand);
	else
	{
		state = SketchForUpdate(context, PG_GETARG_DATUM(0));
		if (of_keys)
			SketchCheckParams(&operand.sketch->params, &state->sketch.params);
		SketchCheckMergeable(&state->sketch, operand.sketch);
		merge_operand(state, &operand);
	}
	close_operand(&operand);
	state->keyed.count++;
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

/* qsketch_agg_combine(qsketch, qsketch): combine partial states of qsketch_agg. */
SQL_FUNCTION(qsketch_agg_combine, merge_into_state(fcinfo, true));

/* qsketch_merge_trans(qsketch, qsketch): add a row of qsketch_merge_agg, or a partial state. */
SQL_FUNCTION(qsketch_merge_trans, merge_into_state(fcinfo, false));

/*
 * qsketch_merge_inverse(internal, qsketch): subtract a sketch that leaves the window
 * frame.  NULL makes the executor compute the frame anew.  That is needed when no
 * sketch is left, and for device parts, which cannot be subtracted.
 */
PG_FUNCTION_INFO_V1(qsketch_merge_inverse);
Datum
qsketch_merge_inverse(PG_FUNCTION_ARGS)
{
	MemoryContext context = AggregateContext(fcinfo);
	SketchState *state;
	SketchReader reader;
	bool fresh;

	if (SketchStateIsInitial(fcinfo) || PG_ARGISNULL(1))
		return AggregateUnchanged(fcinfo);
	state = SketchForUpdate(context, PG_GETARG_DATUM(0));
	SketchReadAsStored(&reader, PG_GETARG_DATUM(1));
	fresh = --state->keyed.count <= 0 || state->sketch.params.part == QS_PART_DEVICE;
	if (!fresh)
	{
		SketchMaterialize(state);
		SketchCheck(qs_subtract(&state->sketch, reader.sketch));
	}
	SketchReadEnd(&reader);
	if (fresh)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

/*
 * qsketch_moving_final(internal): result of a moving aggregate, NULL if nothing
 * was counted.
 */
PG_FUNCTION_INFO_V1(qsketch_moving_final);
Datum
qsketch_moving_final(PG_FUNCTION_ARGS)
{
	if (SketchStateIsInitial(fcinfo))
		PG_RETURN_NULL();
	return AggregateFinal(fcinfo, &sketch_state_type);
}

/*
 * qsketch_agg_final(qsketch): the state, to be read where it is, or the result of sketches
 * that wait in it.  A window function goes on with the state, so that merges them there.
 */
PG_FUNCTION_INFO_V1(qsketch_agg_final);
Datum
qsketch_agg_final(PG_FUNCTION_ARGS)
{
	SketchState *state = PG_ARGISNULL(0) ? NULL : SketchStateIn(PG_GETARG_DATUM(0));
	struct varlena *result = NULL;

	if (state && AggCheckCallContext(fcinfo, NULL) == AGG_CONTEXT_AGGREGATE)
		result = SketchOfDeferred(state);
	if (result)
		PG_RETURN_POINTER(result);
	return AggregateFinal(fcinfo, &sketch_state_type);
}
