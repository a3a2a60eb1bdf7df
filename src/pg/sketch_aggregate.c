/*
 * sketch_aggregate.c
 *		qsketch_agg: begins states, adds keys and removes them; sizes for the planner.
 *
 * The state is an expanded qsketch in the aggregate's context.  A NULL state means that nothing was
 * counted yet.  The state of a moving aggregate must not be NULL, so AggregateUnchanged() returns a
 * value that is no state instead.
 *
 * A partial state is passed as an ordinary value or as a token.  Tokens stand for states on a
 * device.  In a query without groups, tokens also stand for states that are combined in the process
 * that made them (pgbase/state.c).
 *
 * The final function returns a read-only pointer to the state.  So qsketch_estimate(qsketch_agg(k),
 * 42) reads the state without copying it.
 *
 * Each of the four forms of qsketch_agg has a transition function and an inverse function, for keys
 * of any type.  The first call determines the type of the keys and stores the type in the state.
 * The FmgrInfo holds nothing, since some callers (Citus) make a new FmgrInfo for every row.
 *
 * src/pg/sketch_aggregate.c
 */
#include "pg/sketch_aggregate.h"

#include "pg/sketch_state.h"
#include "pgbase/estimate.h"
#include "pgbase/keyfamily.h"
#include "pgbase/state.h"

#include "utils/memutils.h"

/*
 * Choose the engine of a new state, and whether a token may stand for the state.  Tokens are used
 * only if the aggregate's combine function is one of "functions".
 */
static SketchState *
start_state(FunctionCallInfo fcinfo, SketchState *state, const AggregateFunctions *functions)
{
	const StateWork work = AggregateWork(fcinfo);

	(void) AggregateMoves(fcinfo);
	SketchChooseEngine(state, &work);
	if (state->engine != &qs_engine_cpu || AggregateIsAlone(fcinfo))
		state->keyed.token = AggregatePasses(fcinfo, functions);
	state->keyed.accounted = AggregateIsHashed((AggState *) fcinfo->context);
	state->keyed.passed_on = false;
	return state;
}

/*
 * Read the parameters of a template, and ignore its counts.  Raise an error if the template is NULL
 * or a device part.
 */
void
SketchReadTemplate(Datum template, bool null, qs_params *params)
{
	SketchReader reader;

	if (null)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("template of a sketch must not be null")));
	SketchReadAsStored(&reader, template);
	*params = reader.sketch->params;
	SketchReadEnd(&reader);
	SketchCheck(params->part == QS_PART_DEVICE ? QB_READ_ONLY : QB_OK);
}

/*
 * Read the parameters of the template argument.  Without a template argument, set the default
 * parameters.
 */
void
SketchTemplateParams(FunctionCallInfo fcinfo, ArgumentLayout layout, qs_params *params)
{
	if (layout.template == 0)
		SketchDefaultParams(params);
	else
		SketchReadTemplate(PG_GETARG_DATUM(layout.template), PG_ARGISNULL(layout.template), params);
}

/*
 * Return bytes that identify the template: its header, or the toast pointer of a template stored
 * out of line.  NULL: the template is NULL or has another form.
 */
static pg_attribute_always_inline const char *
template_key(FunctionCallInfo fcinfo, ArgumentLayout layout, Size *length)
{
	const char *template = DatumGetPointer(PG_GETARG_DATUM(layout.template));

	if (PG_ARGISNULL(layout.template))
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
 * Raise an error unless the template of this row has the expected parameters.  If rows of one group
 * had different templates, the result would depend on the plan.  "key_before" is the template_key()
 * of the template that was checked last.  A template with an equal template_key() is not read.
 */
void
SketchCheckTemplate(FunctionCallInfo fcinfo, ArgumentLayout layout, const qs_params *expected,
					uint8 *key_before)
{
	Size length;
	const char *mark = template_key(fcinfo, layout, &length);
	qs_params params;

	if (mark && memcmp(mark, key_before, length) == 0)
		return;
	SketchTemplateParams(fcinfo, layout, &params);
	SketchCheckParams(&params, expected);
	if (mark)
		memcpy(key_before, mark, length);
}

/* True if nothing has been counted yet. */
static bool
is_initial(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(0) || (AggCheckCallContext(fcinfo, NULL) == AGG_CONTEXT_WINDOW &&
							   !VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(PG_GETARG_DATUM(0))));
}

/* ---- keys of rows ---- */

static const ArgumentLayout plain = { 0, 0 };
static const ArgumentLayout weighted = { 2, 0 };
static const ArgumentLayout templated = { 0, 2 };
static const ArgumentLayout weighted_templated = { 2, 3 };

/*
 * Return the state for the first row of a group, or for the first row after states were combined.
 */
static pg_noinline SketchState *
first_state(FunctionCallInfo fcinfo, ArgumentLayout layout)
{
	MemoryContext context = AggregateContext(fcinfo);
	SketchState *state;

	if (!is_initial(fcinfo))
		state = SketchForUpdate(context, PG_GETARG_DATUM(0));
	else
	{
		qs_params params;

		SketchTemplateParams(fcinfo, layout, &params);
		state =
			start_state(fcinfo, SketchCreate(AggregateStates(fcinfo, &sketch_state_type), &params),
						&sketch_functions);
	}
	KeyTypeOfArgument(&state->keyed.key, fcinfo, SKETCH_KEY_ARGUMENT);
	SketchSetKey(state, &state->keyed.key);
	return state;
}

/*
 * Return the state that a row with a non-NULL key changes.  Outside of an aggregate, first_state()
 * raises an error.
 */
static pg_attribute_always_inline SketchState *
state_for_update(FunctionCallInfo fcinfo, ArgumentLayout layout)
{
	SketchState *state =
		PG_ARGISNULL(0) ? NULL : StateOfRow(PG_GETARG_DATUM(0), &sketch_state_type);

	if (unlikely(state == NULL || state->keyed.key.type == InvalidOid || fcinfo->context == NULL))
		state = first_state(fcinfo, layout);
	if (layout.template != 0)
		SketchCheckTemplate(fcinfo, layout, &state->sketch.params, state->template_key);
	return state;
}

/*
 * Append a key that is a number, without calling a function, so that no register has to be saved.
 * NULL: nothing was appended, and the caller must call transition().  Until first_state() has set
 * the type of the keys, the buffer has no space.
 */
static pg_attribute_always_inline SketchState *
append_integer(FunctionCallInfo fcinfo)
{
	SketchState *state;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(SKETCH_KEY_ARGUMENT) || fcinfo->context == NULL)
		return NULL;
	state = StateOfRow(PG_GETARG_DATUM(0), &sketch_state_type);
	if (state == NULL || KeyBufferIsFull(&state->keyed.buffer) || state->keyed.buffer.weight ||
		!KeyIsNumber(&state->keyed.key))
		return NULL;
	SketchPutKey(state,
				 (uint64) KeyNumber(state->keyed.key.kind, PG_GETARG_DATUM(SKETCH_KEY_ARGUMENT)));
	return state;
}

static pg_attribute_always_inline Datum
transition(FunctionCallInfo fcinfo, ArgumentLayout layout)
{
	SketchState *state;
	uint64 fingerprint;
	int64 weight;

	if (SketchSkipsRow(fcinfo, layout))
		return AggregateUnchanged(fcinfo);
	weight = SketchRowWeight(fcinfo, layout);
	state = state_for_update(fcinfo, layout);
	fingerprint = KeyFingerprint(&state->keyed.key, PG_GETARG_DATUM(SKETCH_KEY_ARGUMENT));
	if (unlikely(weight < 0))
		AggregateRemoves(fcinfo, &state->keyed, &sketch_functions);
	SketchCount(state, fingerprint, weight);
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

/*
 * Remove a row that leaves a window frame.  NULL makes the executor compute the frame anew.  The
 * result is NULL if no key is left, or if SketchTakeOut() cannot remove the key.
 */
static Datum
inverse(FunctionCallInfo fcinfo, ArgumentLayout layout)
{
	SketchState *state;
	uint64 fingerprint;
	int64 weight;

	if (SketchSkipsRow(fcinfo, layout))
		return AggregateUnchanged(fcinfo);
	weight = SketchRowWeight(fcinfo, layout);
	state = state_for_update(fcinfo, layout);
	if (--state->keyed.count <= 0)
		PG_RETURN_NULL();
	fingerprint = KeyFingerprint(&state->keyed.key, PG_GETARG_DATUM(SKETCH_KEY_ARGUMENT));
	if (!SketchTakeOut(state, fingerprint, weight))
		PG_RETURN_NULL();
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

SQL_FUNCTION(qsketch_agg_trans_weight, transition(fcinfo, weighted));
SQL_FUNCTION(qsketch_agg_trans_template, transition(fcinfo, templated));
SQL_FUNCTION(qsketch_agg_trans_weight_template, transition(fcinfo, weighted_templated));
SQL_FUNCTION(qsketch_agg_inverse, inverse(fcinfo, plain));
SQL_FUNCTION(qsketch_agg_inverse_weight, inverse(fcinfo, weighted));
SQL_FUNCTION(qsketch_agg_inverse_template, inverse(fcinfo, templated));
SQL_FUNCTION(qsketch_agg_inverse_weight_template, inverse(fcinfo, weighted_templated));

const AggregateFunctions sketch_functions = {
	.key = SKETCH_KEY_ARGUMENT,
	.transition = { { qsketch_agg_trans, &plain },
					{ qsketch_agg_trans_weight, &weighted },
					{ qsketch_agg_trans_template, &templated },
					{ qsketch_agg_trans_weight_template, &weighted_templated } },
	.combine = { qsketch_agg_combine, qsketch_merge_trans },
	.final = qsketch_agg_final,
};

/* ---- the size of a state, for the planner ---- */

/*
 * The bytes that a key takes in an explicit state: two entries, because the table is about half
 * full, and a buffered fingerprint.
 */
#define EXPLICIT_KEY (2 * sizeof(qs_entry) + sizeof(uint64))

/* Read the parameters of a template.  If "template" is NULL, set the default parameters. */
static void
params_of(const Const *template, qs_params *params)
{
	SketchReader reader;

	SketchDefaultParams(params);
	if (template == NULL)
		return;
	SketchReadAsStored(&reader, template->constvalue);
	*params = reader.sketch->params;
	SketchReadEnd(&reader);
}

/*
 * Estimate the bytes of a state with this many distinct keys.  "template" NULL: assume the default
 * template.
 */
double
SketchStateSpace(const Const *template, double keys)
{
	qs_params params;

	params_of(template, &params);
	if (keys <= qs_explicit_limit(&params))
		return sizeof(SketchState) + keys * EXPLICIT_KEY;
	return sizeof(SketchState) + qs_dense_size(&params, false) +
		   qs_mask_count(&params) * sizeof(uint32) + QS_BATCH * sizeof(uint64);
}

static double
state_space(const Const *template, double keys, double rows)
{
	return SketchStateSpace(template, keys);
}

SQL_FUNCTION(qsketch_support, StateSizeSupport(fcinfo, state_space));

/*
 * _qsketch_combine_support(internal): planner support of the combine functions of sketches, top
 * keys and filters.
 */
SQL_FUNCTION(qsketch_combine_support, StateCombineSupport(fcinfo));

/*
 * ---- qsketch_merge_agg, and the functions that combine and finish states of qsketch_agg ----
 *
 * A sketch on a device is merged by the GPU worker, if the state is on a device or may move to one.
 */

static const AggregateFunctions merge_functions = {
	.combine = { qsketch_agg_combine, qsketch_merge_trans },
	.final = qsketch_agg_final,
};

/* A sketch to be merged. */
typedef struct Operand
{
	SketchState *expanded; /* the sketch as an expanded object, perhaps on a device; or NULL */
	bool owned;            /* a token stood for the sketch, so "expanded" may become the state */
	SketchReader reader;   /* reads the sketch if "expanded" is NULL */
	const qs_sketch *sketch;
	StateApart apart; /* the removals of a partial state */
} Operand;

static void
open_operand(Operand *operand, FunctionCallInfo fcinfo, MemoryContext context, Datum datum)
{
	bool combines = AggregateCombines(fcinfo);

	operand->apart = (StateApart){ .state = datum };
	if (combines)
		StateTakeApart(&operand->apart, datum);
	datum = operand->apart.state;
	operand->expanded = combines ? SketchOfToken(context, datum) : NULL;
	operand->owned = operand->expanded != NULL;
	if (!operand->owned)
		operand->expanded = SketchStateIn(datum);
	if (operand->expanded)
	{
		if (combines)
			StateTakeObjectApart(&operand->apart, &operand->expanded->keyed);
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

/*
 * Add the operand's removals to the removals of the state, and free the operand.  The operand's
 * sketch was merged into the state, or became the state.
 */
static void
close_operand(Operand *operand, SketchState *state)
{
	StateTakeBack(&operand->apart, &state->keyed);
	if (operand->owned)
		MemoryContextDelete(operand->expanded->keyed.header.eoh_context);
	else if (!operand->expanded)
		SketchReadEnd(&operand->reader);
}

/*
 * Merge the operand into the state.  If only the operand is on a device, the state changes to the
 * operand's engine.  Before the change, the state's old engine counts the buffered keys, and
 * finishes its deferred merges.
 */
static void
merge_operand(SketchState *state, const Operand *operand)
{
	if (operand->sketch->remote && !state->sketch.remote &&
		state->engine != operand->expanded->engine)
	{
		SketchMaterializeAdded(state);
		state->engine = operand->expanded->engine;
	}
	SketchMerge(state, operand->sketch);
}

/*
 * Make a state of the first operand.  If a token stood for the operand, the operand's object
 * becomes the state.  Compact sketches and sketches on a device are merged into an empty state.
 * All other sketches are copied.
 */
static SketchState *
state_from_operand(FunctionCallInfo fcinfo, Operand *operand)
{
	MemoryContext states = AggregateStates(fcinfo, &sketch_state_type);
	SketchState *state;

	if (operand->owned)
	{
		operand->owned = false; /* the object became the state, so it must not be deleted */
		return start_state(fcinfo, operand->expanded, &merge_functions);
	}
	if (!operand->sketch->remote && operand->sketch->encoding != QS_COMPACT)
		return start_state(fcinfo, SketchCopy(states, operand->sketch), &merge_functions);
	state = start_state(fcinfo, SketchCreate(states, &operand->sketch->params), &merge_functions);
	merge_operand(state, operand);
	return state;
}

/*
 * Merge the second argument into the state.  "of_keys": both arguments are partial states of
 * qsketch_agg, whose templates must be equal.
 */
static Datum
merge_into_state(FunctionCallInfo fcinfo, bool of_keys)
{
	MemoryContext context = AggregateContext(fcinfo);
	SketchState *state;
	Operand operand;

	if (PG_ARGISNULL(1))
		return AggregateUnchanged(fcinfo);
	open_operand(&operand, fcinfo, context, PG_GETARG_DATUM(1));
	if (is_initial(fcinfo))
		state = state_from_operand(fcinfo, &operand);
	else
	{
		state = SketchForUpdate(context, PG_GETARG_DATUM(0));
		if (of_keys)
			SketchCheckParams(&operand.sketch->params, &state->sketch.params);
		SketchCheckMergeable(&state->sketch, operand.sketch);
		merge_operand(state, &operand);
	}
	close_operand(&operand, state);
	state->keyed.count++;
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

/* qsketch_agg_combine(qsketch, qsketch): combine partial states of qsketch_agg. */
SQL_FUNCTION(qsketch_agg_combine, merge_into_state(fcinfo, true));

/*
 * qsketch_merge_trans(qsketch, qsketch): merge a row of qsketch_merge_agg, or a partial state, into
 * the state.
 */
SQL_FUNCTION(qsketch_merge_trans, merge_into_state(fcinfo, false));

/*
 * qsketch_merge_inverse(internal, qsketch): subtract a sketch that leaves the window frame.  NULL
 * makes the executor compute the frame anew.  The result is NULL when no sketch is left, and for
 * device parts, which cannot be subtracted.
 */
PG_FUNCTION_INFO_V1(qsketch_merge_inverse);
Datum
qsketch_merge_inverse(PG_FUNCTION_ARGS)
{
	MemoryContext context = AggregateContext(fcinfo);
	SketchState *state;
	SketchReader reader;
	bool fresh;

	if (is_initial(fcinfo) || PG_ARGISNULL(1))
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
	if (is_initial(fcinfo))
		PG_RETURN_NULL();
	return AggregateFinal(fcinfo, &sketch_state_type);
}

/*
 * qsketch_agg_final(qsketch): a pointer to the state.  If an ordinary aggregate has only deferred
 * sketches, SketchOfDeferred() returns the result instead.  A window aggregate uses its state
 * again, so the deferred sketches are merged into that state.
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
