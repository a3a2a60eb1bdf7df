/*
 * sketch_aggregate.c
 *		qsketch_agg: its states, and the keys of rows.
 *
 * The four forms of qsketch_agg have a transition and an inverse transition
 * function each, for keys of any type: the C code learns the type from the
 * first call and keeps it in the state.  Nothing is cached in the FmgrInfo,
 * since some callers (Citus) make a new one for every row.
 *
 * The state is an expanded qsketch in the aggregate's context, and partial
 * states travel as ordinary values.  The final function hands out a read-only
 * pointer to the state, so that qsketch_estimate(qsketch_agg(k), 42) reads it
 * where it is.  NULL means that nothing was counted yet.  Moving aggregates may
 * not have NULL for a state: theirs starts as the empty sketch that the
 * declaration gives, which is flat and so tells itself apart from every state
 * made here, and a final function turns it into NULL.
 *
 * src/pg/sketch_aggregate.c
 */
#include "pg/sketch_aggregate.h"

#include "pg/keyexpr.h"

#include "nodes/execnodes.h"

static const AggregateForm plain = { 0, 0 };
static const AggregateForm weighted = { 2, 0 };
static const AggregateForm templated = { 0, 2 };
static const AggregateForm weighted_templated = { 2, 3 };

#define KEY_ARGUMENT 1

/* May the state travel as a ticket?  Only if it goes to our combine function and nowhere else. */
static bool
may_use_ticket(FunctionCallInfo fcinfo)
{
	AggState *node = (AggState *) fcinfo->context;

	return IsA(node, AggState) && node->aggsplit == AGGSPLIT_INITIAL_SERIAL &&
		   CombinesStates(node, &sketch_functions);
}

/* Prepare a new state for what the calling node does with it. */
ExpandedSketch *
AggregateStart(FunctionCallInfo fcinfo, ExpandedSketch *state)
{
	CheckMoving(fcinfo, &sketch_functions);
	ExpandedPlace(state);
	if (state->engine != &qs_engine_cpu)
		state->ticket = may_use_ticket(fcinfo);
	state->accounted = AggregateIsHashed((AggState *) fcinfo->context);
	return state;
}

/* Parameters of the template argument; its counts, if any, are not used. */
void
AggregateTemplate(FunctionCallInfo fcinfo, AggregateForm form, qs_params *params)
{
	SketchReader reader;

	if (form.template == 0)
	{
		SketchDefaultParams(params);
		return;
	}
	if (PG_ARGISNULL(form.template))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("template of a sketch must not be null")));
	SketchRead(&reader, PG_GETARG_DATUM(form.template));
	*params = reader.sketch->params;
	SketchReadEnd(&reader);
	SketchCheck(params->part == QS_PART_DEVICE ? QS_READ_ONLY : QS_OK);
}

/* Raise an error unless the templates of two rows, or states, are one. */
void
AggregateCheckParams(const qs_params *a, const qs_params *b)
{
	if (memcmp(a, b, sizeof(*a)) != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("template differs between rows of one group"),
						errhint("Group by the template, or use one for all rows.")));
}

/*
 * Bytes that are the same only for the same template: its header, or where it
 * is stored out of line, the pointer to there; NULL of other forms.
 */
static pg_attribute_always_inline const char *
template_mark(FunctionCallInfo fcinfo, AggregateForm form, Size *length)
{
	const char *template = DatumGetPointer(PG_GETARG_DATUM(form.template));

	if (PG_ARGISNULL(form.template))
		return NULL;
	*length = QS_HEADER_BYTES;
	if (VARATT_IS_4B_U(template))
		return VARDATA(template);
	if (!VARATT_IS_EXTERNAL_ONDISK(template))
		return NULL;
	*length = VARSIZE_EXTERNAL(template);
	return template;
}

/*
 * All rows of a group must name the same template, or plans would matter.  A
 * template is nearly always a constant, or a stored sketch: its mark tells at
 * little cost that it is the same as for the row before.
 */
void
AggregateCheckTemplate(FunctionCallInfo fcinfo, AggregateForm form, const qs_params *expected,
					   uint8 *mark_before)
{
	Size length;
	const char *mark = template_mark(fcinfo, form, &length);
	qs_params params;

	if (mark && memcmp(mark, mark_before, length) == 0)
		return;
	AggregateTemplate(fcinfo, form, &params);
	AggregateCheckParams(&params, expected);
	if (mark)
		memcpy(mark_before, mark, length);
}

/* Has nothing been counted yet? */
bool
AggregateIsInitial(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(0) || (AggCheckCallContext(fcinfo, NULL) == AGG_CONTEXT_WINDOW &&
							   !VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(PG_GETARG_DATUM(0))));
}

/* The state of the first row of a group, or after states were combined. */
static pg_noinline ExpandedSketch *
first_state(FunctionCallInfo fcinfo, AggregateForm form)
{
	MemoryContext context = AggregateContext(fcinfo);
	ExpandedSketch *state;
	KeyArgument key;

	if (!AggregateIsInitial(fcinfo))
		state = ExpandedForUpdate(context, PG_GETARG_DATUM(0));
	else
	{
		qs_params params;

		AggregateTemplate(fcinfo, form, &params);
		state = AggregateStart(fcinfo, ExpandedCreate(ExpandedStatesContext(context), &params));
	}
	KeyArgumentOf(&key, fcinfo, KEY_ARGUMENT);
	KeyTypeInit(&state->key, key.type, key.collation);
	KeyTypeLearn(&state->key, PG_GETARG_DATUM(KEY_ARGUMENT));
	ExpandedSetKind(state, &state->key);
	return state;
}

/*
 * The state to be changed by a row whose key is not null.  Without an aggregate
 * around the call it is none of ours, whatever it is: first_state() refuses it.
 */
static pg_attribute_always_inline ExpandedSketch *
state_for_update(FunctionCallInfo fcinfo, AggregateForm form)
{
	ExpandedSketch *state = PG_ARGISNULL(0) ? NULL : ExpandedInState(PG_GETARG_DATUM(0));

	if (unlikely(state == NULL || state->key.type == InvalidOid || fcinfo->context == NULL))
		state = first_state(fcinfo, form);
	if (form.template != 0)
		AggregateCheckTemplate(fcinfo, form, &state->sketch.params, state->template_mark);
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
 * The short way, for all but few rows of an integer column: the state is there,
 * and its buffer has room, which it has only since first_state().  Nothing is
 * called, so that no register needs saving.
 */
static pg_attribute_always_inline ExpandedSketch *
append_integer(FunctionCallInfo fcinfo)
{
	ExpandedSketch *state;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(KEY_ARGUMENT) || fcinfo->context == NULL)
		return NULL;
	state = ExpandedInState(PG_GETARG_DATUM(0));
	if (state == NULL || KeyBufferIsFull(&state->buffer) || state->buffer.weight ||
		!KeyIsInteger(&state->key))
		return NULL;
	ExpandedPutKey(state, KeyInteger(&state->key, PG_GETARG_DATUM(KEY_ARGUMENT)));
	return state;
}

static pg_attribute_always_inline Datum
transition(FunctionCallInfo fcinfo, AggregateForm form)
{
	ExpandedSketch *state;
	uint64 fingerprint;
	int64 weight;

	if (is_skipped(fcinfo, form))
		return AggregateUnchanged(fcinfo);
	weight = weight_argument(fcinfo, form);
	state = state_for_update(fcinfo, form);
	fingerprint = KeyFingerprint(&state->key, PG_GETARG_DATUM(KEY_ARGUMENT));
	ExpandedCount(state, fingerprint, weight);
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->header));
}

/*
 * Remove a row that leaves a window frame.  NULL when no key is left, which
 * makes the executor compute the frame anew: to NULL, as it must.
 */
static Datum
inverse(FunctionCallInfo fcinfo, AggregateForm form)
{
	ExpandedSketch *state;
	uint64 fingerprint;
	int64 weight;

	if (is_skipped(fcinfo, form))
		return AggregateUnchanged(fcinfo);
	weight = weight_argument(fcinfo, form);
	state = state_for_update(fcinfo, form);
	if (--state->members <= 0)
		PG_RETURN_NULL();
	fingerprint = KeyFingerprint(&state->key, PG_GETARG_DATUM(KEY_ARGUMENT));
	ExpandedAddNow(state, fingerprint, -weight);
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->header));
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
	ExpandedSketch *state = append_integer(fcinfo);

	if (unlikely(state == NULL))
		return plain_transition(fcinfo);
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->header));
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

/* The form of a function of ours, or NULL if it is no transition function. */
static const AggregateForm *
transition_form(PGFunction transition)
{
	if (transition == qsketch_agg_trans)
		return &plain;
	if (transition == qsketch_agg_trans_weight)
		return &weighted;
	if (transition == qsketch_agg_trans_template)
		return &templated;
	return transition == qsketch_agg_trans_weight_template ? &weighted_templated : NULL;
}

/* Is it one that changes the state of a moving aggregate, or starts one? */
static bool
moves(PGFunction function)
{
	return transition_form(function) != NULL || IsSketchCombine(function) ||
		   IsSketchMergeInverse(function) || function == qsketch_agg_inverse ||
		   function == qsketch_agg_inverse_weight || function == qsketch_agg_inverse_template ||
		   function == qsketch_agg_inverse_weight_template;
}

const AggregateFunctions sketch_functions = { KEY_ARGUMENT, transition_form, IsSketchCombine,
											  IsSketchFinal, moves };
