/*
 * top_aggregate.c
 *		qtop_agg and qtop_merge_agg.
 *
 * They are declared for keys of any type and made like the aggregates of sketches
 * (sketch_aggregate.c).  The state is an expanded qtop in the aggregate's context, and
 * nothing is kept in the FmgrInfo.  Partial states travel as ordinary values.  In a query
 * without groups, states that their own process combines travel by a token
 * (pgbase/state.c).  States never go to a device.  There is no inverse function: keys
 * that a list has dropped do not come back, so a window frame whose start moves is computed
 * anew.
 *
 * src/pg/top_aggregate.c
 */
#include "pg/top_state.h"

#include "nodes/execnodes.h"
#include "pg/sketch_aggregate.h"
#include "pgbase/keyfamily.h"

static const ArgumentLayout plain = { .limit = 2 };
static const ArgumentLayout weighted = { .weight = 2, .limit = 3 };
static const ArgumentLayout templated = { .limit = 2, .template = 3 };
static const ArgumentLayout weighted_templated = { .weight = 2, .limit = 3, .template = 4 };

static uint32
n_argument(FunctionCallInfo fcinfo, ArgumentLayout layout)
{
	if (PG_ARGISNULL(layout.limit))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("number of top keys must not be null")));
	return TopCheckN(PG_GETARG_INT32(layout.limit));
}

/* All rows of a group must have the same n and template, or the result would depend on the plan. */
static void
check_n(uint32 a, uint32 b)
{
	if (a != b)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("number of top keys differs between rows of one group: %u and %u", b, a),
			 errhint("The key comes first, then its weight if there is one, then how many keys are "
					 "wanted.")));
}

/* The state for the first row of a group, or for a row after states were combined. */
static pg_noinline TopState *
first_state(FunctionCallInfo fcinfo, ArgumentLayout layout)
{
	MemoryContext context = AggregateContext(fcinfo);
	TopState *state;
	KeyType key;

	(void) AggregateMoves(fcinfo);
	if (!PG_ARGISNULL(0))
		state = TopForUpdate(context, PG_GETARG_DATUM(0));
	else
	{
		qs_params params;

		SketchTemplateParams(fcinfo, layout, &params);
		state = TopCreate(AggregateStates(fcinfo, &top_state_type), &params,
						  n_argument(fcinfo, layout));
		state->keyed.token = AggregateIsAlone(fcinfo) && AggregatePasses(fcinfo, &top_functions);
	}
	state->keyed.accounted = AggregateIsHashed((AggState *) fcinfo->context);
	KeyTypeOfArgument(&key, fcinfo, SKETCH_KEY_ARGUMENT);
	TopSetKey(state, &key);
	return state;
}

/*
 * A shortcut for nearly all rows of an integer column: see append_integer() in
 * sketch_aggregate.c.
 */
static pg_attribute_always_inline TopState *
append_integer(FunctionCallInfo fcinfo, ArgumentLayout layout)
{
	TopState *state;

	if (PG_ARGISNULL(0) || SketchSkipsRow(fcinfo, layout) || PG_ARGISNULL(layout.limit) ||
		fcinfo->context == NULL)
		return NULL;
	state = StateOfRow(PG_GETARG_DATUM(0), &top_state_type);
	if (state == NULL || KeyBufferIsFull(&state->keyed.buffer) || !KeyIsNumber(&state->keyed.key) ||
		PG_GETARG_INT32(layout.limit) != (int32) state->top.n)
		return NULL;
	TopPut(state, (uint64) KeyNumber(state->keyed.key.kind, PG_GETARG_DATUM(SKETCH_KEY_ARGUMENT)),
		   SketchRowWeight(fcinfo, layout));
	return state;
}

static pg_attribute_always_inline Datum
transition(FunctionCallInfo fcinfo, ArgumentLayout layout)
{
	TopState *state = PG_ARGISNULL(0) ? NULL : StateOfRow(PG_GETARG_DATUM(0), &top_state_type);
	int64 weight;

	if (SketchSkipsRow(fcinfo, layout))
		return AggregateUnchanged(fcinfo);
	weight = SketchRowWeight(fcinfo, layout);
	if (unlikely(state == NULL || state->keyed.key.type == InvalidOid || fcinfo->context == NULL))
		state = first_state(fcinfo, layout);
	check_n(state->top.n, n_argument(fcinfo, layout));
	if (layout.template)
		SketchCheckTemplate(fcinfo, layout, &state->sketch.params, state->template_key);
	TopCount(state, PG_GETARG_DATUM(SKETCH_KEY_ARGUMENT), weight);
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

static pg_noinline Datum
plain_transition(FunctionCallInfo fcinfo)
{
	return transition(fcinfo, plain);
}

static pg_noinline Datum
weighted_transition(FunctionCallInfo fcinfo)
{
	return transition(fcinfo, weighted);
}

/* qtop_agg_trans(qtop, key, n) */
PG_FUNCTION_INFO_V1(qtop_agg_trans);
Datum
qtop_agg_trans(PG_FUNCTION_ARGS)
{
	TopState *state = append_integer(fcinfo, plain);

	if (unlikely(state == NULL))
		return plain_transition(fcinfo);
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

/* qtop_agg_trans(qtop, key, weight, n) */
PG_FUNCTION_INFO_V1(qtop_agg_trans_weight);
Datum
qtop_agg_trans_weight(PG_FUNCTION_ARGS)
{
	TopState *state = append_integer(fcinfo, weighted);

	if (unlikely(state == NULL))
		return weighted_transition(fcinfo);
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

/* qtop_agg_trans(qtop, key, n, template) */
SQL_FUNCTION(qtop_agg_trans_template, transition(fcinfo, templated));

/* qtop_agg_trans(qtop, key, weight, n, template) */
SQL_FUNCTION(qtop_agg_trans_weight_template, transition(fcinfo, weighted_templated));

/* Merge the second value into the first.  Partial states of keys must have the same n and template. */
static Datum
merge_into_state(FunctionCallInfo fcinfo, bool of_keys)
{
	MemoryContext context = AggregateContext(fcinfo);
	TopState *state;
	TopReader reader;
	void *owned;

	if (PG_ARGISNULL(1))
		return AggregateUnchanged(fcinfo);
	if (PG_ARGISNULL(0) || StateOfRow(PG_GETARG_DATUM(0), &top_state_type) == NULL)
		(void) AggregateMoves(fcinfo);
	TopRead(&reader, AggregateOperand(fcinfo, &top_state_type, &owned));
	if (PG_ARGISNULL(0))
		state = owned ? owned : TopCopy(AggregateStates(fcinfo, &top_state_type), &reader);
	else
	{
		state = TopForUpdate(context, PG_GETARG_DATUM(0));
		if (of_keys)
		{
			SketchCheckParams(&reader.sketch->params, &state->sketch.params);
			check_n(reader.top->n, state->top.n);
		}
		TopCheckMergeable(state, &reader);
		TopMerge(state, reader.top, reader.sketch);
	}
	TopReadEnd(&reader);
	AggregateOperandEnd(owned, &state->keyed);
	state->keyed.count++;
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

/* qtop_agg_combine(qtop, qtop): combine partial states of qtop_agg. */
SQL_FUNCTION(qtop_agg_combine, merge_into_state(fcinfo, true));

/* qtop_merge_trans(qtop, qtop): add a row of qtop_merge_agg, or a partial state. */
SQL_FUNCTION(qtop_merge_trans, merge_into_state(fcinfo, false));

/* qtop_agg_final(qtop): the state, to be read where it is. */
SQL_FUNCTION(qtop_agg_final, AggregateFinal(fcinfo, &top_state_type));

const AggregateFunctions top_functions = {
	.key = SKETCH_KEY_ARGUMENT,
	.transition = { { qtop_agg_trans, &plain },
					{ qtop_agg_trans_weight, &weighted },
					{ qtop_agg_trans_template, &templated },
					{ qtop_agg_trans_weight_template, &weighted_templated } },
	.combine = { qtop_agg_combine, qtop_merge_trans },
	.final = qtop_agg_final,
};
