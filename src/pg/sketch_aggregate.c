/*
 * sketch_aggregate.c
 *		qsketch_agg: counting keys of rows, and removing them.
 *
 * Each of the four forms of qsketch_agg has a transition function and an inverse one,
 * for keys of any type.  The C code determines the type in the first call and keeps it
 * in the state.  Nothing is cached in the FmgrInfo, since some callers (Citus) make a
 * new one for every row.
 *
 * src/pg/sketch_aggregate.c
 */
#include "pg/sketch_aggregate.h"

#include "pgbase/keyexpr.h"
#include "pg/sketch_merge_aggregate.h"
#include "pg/sketch_template.h"

static const AggregateForm plain = { 0, 0 };
static const AggregateForm weighted = { 2, 0 };
static const AggregateForm templated = { 0, 2 };
static const AggregateForm weighted_templated = { 2, 3 };

#define KEY_ARGUMENT 1

/* The state for the first row of a group, or for a row after states were combined. */
static pg_noinline SketchState *
first_state(FunctionCallInfo fcinfo, AggregateForm form)
{
	MemoryContext context = AggregateContext(fcinfo);
	SketchState *state;

	if (!SketchStateIsInitial(fcinfo))
		state = SketchForUpdate(context, PG_GETARG_DATUM(0));
	else
	{
		qs_params params;

		SketchTemplateParams(fcinfo, form, &params);
		state = SketchStateStart(fcinfo,
								 SketchCreate(AggregateStates(fcinfo, &sketch_state_type), &params),
								 &sketch_functions);
	}
	KeyTypeOfArgument(&state->keyed.key, fcinfo, KEY_ARGUMENT);
	SketchSetKey(state, &state->keyed.key);
	return state;
}

/*
 * The state that a row changes; its key is not null.  Outside of an aggregate
 * first_state() refuses every state.
 */
static pg_attribute_always_inline SketchState *
state_for_update(FunctionCallInfo fcinfo, AggregateForm form)
{
	SketchState *state =
		PG_ARGISNULL(0) ? NULL : StateOfRow(PG_GETARG_DATUM(0), &sketch_state_type);

	if (unlikely(state == NULL || state->keyed.key.type == InvalidOid || fcinfo->context == NULL))
		state = first_state(fcinfo, form);
	if (form.template != 0)
		SketchCheckTemplate(fcinfo, form, &state->sketch.params, state->template_mark);
	return state;
}

static pg_attribute_always_inline int64
weight_argument(FunctionCallInfo fcinfo, AggregateForm form)
{
	return form.weight ? SketchCheckWeight(PG_GETARG_INT64(form.weight)) : 1;
}

static pg_attribute_always_inline bool
is_skipped(FunctionCallInfo fcinfo, AggregateForm form)
{
	return PG_ARGISNULL(KEY_ARGUMENT) || (form.weight && PG_ARGISNULL(form.weight));
}

/*
 * A shortcut for nearly all rows of an integer column: the state exists, and its buffer
 * has room.  It has room only after first_state().  No function is called, so no
 * register has to be saved.
 */
static pg_attribute_always_inline SketchState *
append_integer(FunctionCallInfo fcinfo)
{
	SketchState *state;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(KEY_ARGUMENT) || fcinfo->context == NULL)
		return NULL;
	state = StateOfRow(PG_GETARG_DATUM(0), &sketch_state_type);
	if (state == NULL || KeyBufferIsFull(&state->keyed.buffer) || state->keyed.buffer.weight ||
		!KeyIsNumber(&state->keyed.key))
		return NULL;
	SketchPutKey(state, (uint64) KeyNumber(state->keyed.key.kind, PG_GETARG_DATUM(KEY_ARGUMENT)));
	return state;
}

static pg_attribute_always_inline Datum
transition(FunctionCallInfo fcinfo, AggregateForm form)
{
	SketchState *state;
	uint64 fingerprint;
	int64 weight;

	if (is_skipped(fcinfo, form))
		return AggregateUnchanged(fcinfo);
	weight = weight_argument(fcinfo, form);
	state = state_for_update(fcinfo, form);
	fingerprint = KeyFingerprint(&state->keyed.key, PG_GETARG_DATUM(KEY_ARGUMENT));
	SketchCount(state, fingerprint, weight);
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

/*
 * Remove a row that leaves a window frame.  NULL when no key is left: then the executor
 * computes the frame anew, and gets NULL.
 */
static Datum
inverse(FunctionCallInfo fcinfo, AggregateForm form)
{
	SketchState *state;
	uint64 fingerprint;
	int64 weight;

	if (is_skipped(fcinfo, form))
		return AggregateUnchanged(fcinfo);
	weight = weight_argument(fcinfo, form);
	state = state_for_update(fcinfo, form);
	if (--state->keyed.members <= 0)
		PG_RETURN_NULL();
	fingerprint = KeyFingerprint(&state->keyed.key, PG_GETARG_DATUM(KEY_ARGUMENT));
	SketchAddNow(state, fingerprint, -weight);
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

static pg_noinline Datum
plain_transition(FunctionCallInfo fcinfo)
{
	return transition(fcinfo, plain);
}

PG_FUNCTION_INFO_V1(qsketch_agg_trans);
Datum
qsketch_agg_trans(PG_FUNCTION_ARGS)
{
	SketchState *state = append_integer(fcinfo);

	if (unlikely(state == NULL))
		return plain_transition(fcinfo);
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

PG_FUNCTION_INFO_V1(qsketch_agg_trans_weight);
Datum
qsketch_agg_trans_weight(PG_FUNCTION_ARGS)
{
	return transition(fcinfo, weighted);
}

PG_FUNCTION_INFO_V1(qsketch_agg_trans_template);
Datum
qsketch_agg_trans_template(PG_FUNCTION_ARGS)
{
	return transition(fcinfo, templated);
}

PG_FUNCTION_INFO_V1(qsketch_agg_trans_weight_template);
Datum
qsketch_agg_trans_weight_template(PG_FUNCTION_ARGS)
{
	return transition(fcinfo, weighted_templated);
}

PG_FUNCTION_INFO_V1(qsketch_agg_inverse);
Datum
qsketch_agg_inverse(PG_FUNCTION_ARGS)
{
	return inverse(fcinfo, plain);
}

PG_FUNCTION_INFO_V1(qsketch_agg_inverse_weight);
Datum
qsketch_agg_inverse_weight(PG_FUNCTION_ARGS)
{
	return inverse(fcinfo, weighted);
}

PG_FUNCTION_INFO_V1(qsketch_agg_inverse_template);
Datum
qsketch_agg_inverse_template(PG_FUNCTION_ARGS)
{
	return inverse(fcinfo, templated);
}

PG_FUNCTION_INFO_V1(qsketch_agg_inverse_weight_template);
Datum
qsketch_agg_inverse_weight_template(PG_FUNCTION_ARGS)
{
	return inverse(fcinfo, weighted_templated);
}

const AggregateFunctions sketch_functions = {
	.key = KEY_ARGUMENT,
	.transition = { { qsketch_agg_trans, &plain },
					{ qsketch_agg_trans_weight, &weighted },
					{ qsketch_agg_trans_template, &templated },
					{ qsketch_agg_trans_weight_template, &weighted_templated } },
	.combine = { qsketch_agg_combine, qsketch_merge_trans },
	.final = qsketch_agg_final,
};
