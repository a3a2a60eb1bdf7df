/*
 * sketch_aggregate.c
 *		qsketch_agg and qsketch_merge_agg.
 *
 * The four forms of qsketch_agg have a transition and an inverse transition
 * function each, declared once for every key type: the C code learns the type
 * from the declaration and keeps it in the state.  Nothing is cached in the
 * FmgrInfo, since some callers (Citus) make a new one for every row.
 *
 * The state is an expanded qsketch in the aggregate's context, and partial
 * states travel as ordinary values.  The final function hands out a read-only
 * pointer to the state, so that qsketch_estimate(qsketch_agg(k), 42) reads it
 * where it is.  NULL means that nothing was counted yet.  Moving aggregates may not have NULL for
 * a state: theirs starts as the empty sketch that the declaration gives, which
 * is flat and so tells itself apart from every state made here, and a final
 * function turns it into NULL.
 *
 * src/pg/sketch_aggregate.c
 */
#include "pg/keyexpr.h"
#include "pg/sketch_expanded.h"
#include "pg/sketch_recognize.h"

#include "gpu/sketch_gpu.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"
#include "utils/regproc.h"

static const AggregateForm plain = { 0, 0 };
static const AggregateForm weighted = { 2, 0 };
static const AggregateForm templated = { 0, 2 };
static const AggregateForm weighted_templated = { 2, 3 };

#define KEY_ARGUMENT 1

static MemoryContext
aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "aggregate function called in non-aggregate context");
	return context;
}

/* May the state travel as a ticket?  Only if it goes to our combine function and nowhere else. */
static bool
may_use_ticket(FunctionCallInfo fcinfo)
{
	AggState *node = (AggState *) fcinfo->context;

	return IsA(node, AggState) && node->aggsplit == AGGSPLIT_INITIAL_SERIAL &&
		   CombinesSketches(node);
}

/* Does the node compare the memory of its states with work_mem? */
static bool
is_hashed(const AggState *node)
{
	return IsA(node, AggState) &&
		   (node->aggstrategy == AGG_HASHED || node->aggstrategy == AGG_MIXED);
}

/* Raise an error if functions of others get the state of a moving aggregate. */
static void
check_moving(FunctionCallInfo fcinfo)
{
	const WindowAggState *node = (const WindowAggState *) fcinfo->context;
	Oid aggregate =
		IsA(node, WindowAggState) ? MovesElsewhere(node, fcinfo->flinfo->fn_oid) : InvalidOid;

	if (OidIsValid(aggregate))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("moving aggregate %s mixes functions of qsketch with others",
						format_procedure(aggregate)),
				 errhint("MSFUNC and MINVFUNC must both be functions of qsketch, or neither.")));
}

/* Prepare a new state for what the calling node does with it. */
static ExpandedSketch *
start_state(FunctionCallInfo fcinfo, ExpandedSketch *state)
{
	check_moving(fcinfo);
	ExpandedPlace(state);
	if (state->engine != &qs_engine_cpu)
		state->ticket = may_use_ticket(fcinfo);
	state->accounted = is_hashed((AggState *) fcinfo->context);
	return state;
}

/* Parameters of the template argument; its counts, if any, are not used. */
static void
template_params(FunctionCallInfo fcinfo, AggregateForm form, qs_params *params)
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
}

static void
check_same_params(const qs_params *a, const qs_params *b)
{
	if (memcmp(a, b, sizeof(*a)) != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("template differs between rows of one group"),
						errhint("Group by the template, or use one for all rows.")));
}

/*
 * All rows of a group must name the same template, or plans would matter.  A
 * template is nearly always a constant: its header's bytes tell at little cost
 * that it is the same as for the first row.
 */
static pg_attribute_always_inline void
check_template(FunctionCallInfo fcinfo, AggregateForm form, ExpandedSketch *state)
{
	const char *template = DatumGetPointer(PG_GETARG_DATUM(form.template));
	bool plain = !PG_ARGISNULL(form.template) && VARATT_IS_4B_U(template);
	qs_params params;

	if (plain && memcmp(VARDATA(template), state->template_header, QS_HEADER_BYTES) == 0)
		return;
	template_params(fcinfo, form, &params);
	check_same_params(&params, &state->sketch.params);
	if (plain)
		memcpy(state->template_header, VARDATA(template), QS_HEADER_BYTES);
}

/* Has nothing been counted yet? */
static bool
is_initial(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(0) || (AggCheckCallContext(fcinfo, NULL) == AGG_CONTEXT_WINDOW &&
							   !VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(PG_GETARG_DATUM(0))));
}

/* The state of the first row of a group, or after states were combined. */
static pg_noinline ExpandedSketch *
first_state(FunctionCallInfo fcinfo, AggregateForm form)
{
	MemoryContext context = aggregate_context(fcinfo);
	ExpandedSketch *state;
	KeyArgument key;

	if (!is_initial(fcinfo))
		state = ExpandedForUpdate(context, PG_GETARG_DATUM(0));
	else
	{
		qs_params params;

		template_params(fcinfo, form, &params);
		SketchCheck(params.part == QS_PART_DEVICE ? QS_READ_ONLY : QS_OK);
		state = start_state(fcinfo, ExpandedCreate(ExpandedStatesContext(context), &params));
	}
	KeyArgumentOf(&key, fcinfo, KEY_ARGUMENT);
	KeyTypeInit(&state->key, key.type, key.collation);
	ExpandedSetKind(state, &state->key);
	return state;
}

/* The state to be changed by a row whose key is not null. */
static pg_attribute_always_inline ExpandedSketch *
state_for_update(FunctionCallInfo fcinfo, AggregateForm form)
{
	ExpandedSketch *state = PG_ARGISNULL(0) ? NULL : ExpandedInState(PG_GETARG_DATUM(0));

	if (unlikely(state == NULL || state->key.type == InvalidOid))
		state = first_state(fcinfo, form);
	if (form.template != 0)
		check_template(fcinfo, form, state);
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

static Datum
unchanged_state(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
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

	if (PG_ARGISNULL(0) || PG_ARGISNULL(KEY_ARGUMENT))
		return NULL;
	state = ExpandedInState(PG_GETARG_DATUM(0));
	if (state == NULL || state->count >= state->room || state->weight || !KeyIsInteger(&state->key))
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
		return unchanged_state(fcinfo);
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
		return unchanged_state(fcinfo);
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

/* A sketch to be merged: where it is, or read. */
typedef struct Operand
{
	ExpandedSketch *expanded; /* the sketch is this one, perhaps on a device */
	bool ticket;              /* and was made from a ticket, so that it may become the state */
	SketchReader reader;      /* otherwise */
	const qs_sketch *sketch;
} Operand;

/* Is this call made to combine partial states? */
static bool
is_combining(FunctionCallInfo fcinfo)
{
	AggState *node = (AggState *) fcinfo->context;

	return IsA(node, AggState) && DO_AGGSPLIT_COMBINE(node->aggsplit);
}

static void
open_operand(Operand *operand, FunctionCallInfo fcinfo, MemoryContext context, Datum datum)
{
	operand->ticket = GpuIsTicket(datum) && is_combining(fcinfo);
	operand->expanded = operand->ticket ? ExpandedFromTicket(ExpandedOwnContext(context), datum)
										: SketchExpandedIn(datum);
	if (operand->expanded)
	{
		ExpandedFlush(operand->expanded);
		operand->sketch = &operand->expanded->sketch;
		return;
	}
	SketchRead(&operand->reader, datum);
	operand->sketch = operand->reader.sketch;
}

static void
close_operand(Operand *operand)
{
	if (operand->ticket)
		MemoryContextDelete(operand->expanded->header.eoh_context);
	else if (!operand->expanded)
		SketchReadEnd(&operand->reader);
}

/* Merge where the counters are. */
static void
merge_operand(ExpandedSketch *state, const Operand *operand)
{
	if (operand->sketch->remote)
		state->engine = operand->expanded->engine;
	ExpandedMerge(state, operand->sketch);
}

/* The state of the first sketch: a ticket's own, else a copy. */
static ExpandedSketch *
state_from_operand(FunctionCallInfo fcinfo, MemoryContext context, Operand *operand)
{
	MemoryContext states = ExpandedStatesContext(context);
	ExpandedSketch *state;

	if (operand->ticket)
	{
		operand->ticket = false; /* not to be deleted */
		return start_state(fcinfo, operand->expanded);
	}
	if (!operand->sketch->remote)
		return start_state(fcinfo, ExpandedCopy(states, operand->sketch));
	state = start_state(fcinfo, ExpandedCreate(states, &operand->sketch->params));
	merge_operand(state, operand);
	return state;
}

/* Add the second sketch to the first, folding the larger if they may differ in size. */
static Datum
merge_into_state(FunctionCallInfo fcinfo, bool may_fold)
{
	MemoryContext context = aggregate_context(fcinfo);
	ExpandedSketch *state;
	Operand operand;

	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	open_operand(&operand, fcinfo, context, PG_GETARG_DATUM(1));
	if (is_initial(fcinfo))
		state = state_from_operand(fcinfo, context, &operand);
	else
	{
		state = ExpandedForUpdate(context, PG_GETARG_DATUM(0));
		if (!may_fold)
			check_same_params(&operand.sketch->params, &state->sketch.params);
		SketchCheckMergeable(&state->sketch, operand.sketch);
		if (operand.sketch->params.n != state->sketch.params.n)
			state->folded = true;
		merge_operand(state, &operand);
	}
	close_operand(&operand);
	state->members++;
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->header));
}

/* qsketch_agg_combine(qsketch, qsketch): combine partial states of qsketch_agg. */
PG_FUNCTION_INFO_V1(qsketch_agg_combine);
Datum
qsketch_agg_combine(PG_FUNCTION_ARGS)
{
	return merge_into_state(fcinfo, false);
}

/* qsketch_merge_trans(qsketch, qsketch): a row, or a partial state, of qsketch_merge_agg. */
PG_FUNCTION_INFO_V1(qsketch_merge_trans);
Datum
qsketch_merge_trans(PG_FUNCTION_ARGS)
{
	return merge_into_state(fcinfo, true);
}

/*
 * qsketch_merge_inverse(qsketch, qsketch): subtract a sketch that leaves the
 * window frame.  NULL, which asks for a fresh start, when none is left, when
 * the merged sketch was folded to the size of one that may be gone now, and
 * for device parts, which cannot be subtracted.
 */
PG_FUNCTION_INFO_V1(qsketch_merge_inverse);
Datum
qsketch_merge_inverse(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	ExpandedSketch *state;
	SketchReader reader;
	bool fresh;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	state = ExpandedForUpdate(context, PG_GETARG_DATUM(0));
	SketchRead(&reader, PG_GETARG_DATUM(1));
	fresh = --state->members <= 0 || state->folded || state->sketch.params.part == QS_PART_DEVICE;
	if (!fresh)
	{
		ExpandedSettle(state);
		SketchCheck(qs_subtract(&state->sketch, reader.sketch));
	}
	SketchReadEnd(&reader);
	if (fresh)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->header));
}

/*
 * qsketch_moving_final(qsketch): result of a moving aggregate, NULL if nothing
 * was counted.
 */
PG_FUNCTION_INFO_V1(qsketch_moving_final);
Datum
qsketch_moving_final(PG_FUNCTION_ARGS)
{
	(void) aggregate_context(fcinfo);
	if (is_initial(fcinfo))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/*
 * qsketch_agg_final(qsketch): the state, to be read where it is.  A pointer in
 * the caller's memory tells the executor that there is nothing to copy; before
 * PostgreSQL 16 it would flatten the sketch otherwise.
 */
PG_FUNCTION_INFO_V1(qsketch_agg_final);
Datum
qsketch_agg_final(PG_FUNCTION_ARGS)
{
	ExpandedSketch *state = PG_ARGISNULL(0) ? NULL : SketchExpandedIn(PG_GETARG_DATUM(0));
	void *pointer;

	(void) aggregate_context(fcinfo);
	if (state == NULL)
		return unchanged_state(fcinfo);
	pointer = palloc(EXPANDED_POINTER_SIZE);
	memcpy(pointer, DatumGetPointer(EOHPGetRODatum(&state->header)), EXPANDED_POINTER_SIZE);
	PG_RETURN_POINTER(pointer);
}

/* The form of a function of ours, or NULL if it is no transition function. */
const AggregateForm *
SketchTransitionForm(PGFunction transition)
{
	if (transition == qsketch_agg_trans)
		return &plain;
	if (transition == qsketch_agg_trans_weight)
		return &weighted;
	if (transition == qsketch_agg_trans_template)
		return &templated;
	return transition == qsketch_agg_trans_weight_template ? &weighted_templated : NULL;
}

bool
IsSketchCombine(PGFunction combine)
{
	return combine == qsketch_agg_combine || combine == qsketch_merge_trans;
}

bool
IsSketchFinal(PGFunction final)
{
	return final == qsketch_agg_final;
}

/* Is it one that changes the state of a moving aggregate, or starts one? */
bool
IsSketchMover(PGFunction function)
{
	return SketchTransitionForm(function) != NULL || IsSketchCombine(function) ||
		   function == qsketch_agg_inverse || function == qsketch_agg_inverse_weight ||
		   function == qsketch_agg_inverse_template ||
		   function == qsketch_agg_inverse_weight_template || function == qsketch_merge_inverse;
}
