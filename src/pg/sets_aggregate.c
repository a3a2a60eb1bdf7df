/*
 * sets_aggregate.c
 *		qsets_agg and qsets_merge_agg.
 *
 * The state is an expanded qsets in the aggregate's context, and partial states
 * travel as ordinary values.  The C code learns the type of the elements from
 * the call, once for a state, and keeps it there.  Transition functions run in
 * aggregates only, where nothing but the aggregate's own function meets the
 * state.  NULL means that there was no row yet.
 *
 * src/pg/sets_aggregate.c
 */
#include "pg/sets_aggregate.h"

#include "pg/aggregate.h"
#include "pg/keyexpr.h"
#include "pg/sets_expanded.h"

#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#define ID_ARGUMENT      1
#define ELEMENT_ARGUMENT 2

extern Datum qsets_agg_trans(PG_FUNCTION_ARGS);
extern Datum qsets_agg_trans_array(PG_FUNCTION_ARGS);
extern Datum qsets_merge_trans(PG_FUNCTION_ARGS);

extern Datum qsets_agg_final(PG_FUNCTION_ARGS);

static const AggregateForm numbered = { .weight = ID_ARGUMENT };

/* Only that of plain elements: an array is more than one key. */
static const AggregateForm *
transition_form(PGFunction transition)
{
	return transition == qsets_agg_trans ? &numbered : NULL;
}

static bool
combines(PGFunction function)
{
	return function == qsets_merge_trans;
}

static bool
finishes(PGFunction function)
{
	return function == qsets_agg_final;
}

/* There is no inverse: a moving aggregate with one of these has another's for that. */
static bool
moves(PGFunction function)
{
	return function == qsets_agg_trans || function == qsets_agg_trans_array ||
		   function == qsets_merge_trans;
}

const AggregateFunctions sets_functions = { ELEMENT_ARGUMENT, transition_form, combines, finishes,
											moves };

/* The state to be changed: the argument, or a new one with its rows. */
static ExpandedSets *
state_for_update(FunctionCallInfo fcinfo)
{
	MemoryContext context = AggregateContext(fcinfo);
	ExpandedSets *state;
	SetsReader reader;

	if (!PG_ARGISNULL(0) && VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(PG_GETARG_DATUM(0))))
		return SetsExpandedIn(PG_GETARG_DATUM(0));
	CheckMoving(fcinfo, &sets_functions);
	state = SetsCreate(SetsStatesContext(context));
	if (!PG_ARGISNULL(0))
	{
		SetsRead(&reader, PG_GETARG_DATUM(0));
		SetsAddCollection(state, reader.collection);
		SetsReadEnd(&reader);
	}
	return state;
}

/* Learn what elements are; those of an array if the argument is one of several. */
static void
learn_key(FunctionCallInfo fcinfo, ExpandedSets *state, bool array)
{
	KeyArgument key;

	KeyArgumentOf(&key, fcinfo, ELEMENT_ARGUMENT);
	if (array)
	{
		Oid type = get_base_element_type(key.type);

		if (!OidIsValid(type))
			elog(ERROR, "type %u is no array", key.type);
		key.type = type;
	}
	SetsTakeKeys(state, key.type, key.collation);
	if (!array)
		KeyTypeLearn(&state->key, PG_GETARG_DATUM(ELEMENT_ARGUMENT));
}

/* The state with which a row's elements can be added. */
static ExpandedSets *
state_for_row(FunctionCallInfo fcinfo, bool array)
{
	ExpandedSets *state = state_for_update(fcinfo);

	if (unlikely(state->key.type == InvalidOid))
		learn_key(fcinfo, state, array);
	if (unlikely(!state->building))
		SetsBuild(state, !state->exact, &state->key.keys);
	return state;
}

/* qsets_agg_trans(qsets, set_id bigint, element KEY) */
PG_FUNCTION_INFO_V1(qsets_agg_trans);
Datum
qsets_agg_trans(PG_FUNCTION_ARGS)
{
	ExpandedSets *state;

	if (PG_ARGISNULL(ID_ARGUMENT) || PG_ARGISNULL(ELEMENT_ARGUMENT))
		return AggregateUnchanged(fcinfo);
	state = state_for_row(fcinfo, false);
	SetsAddKey(state, PG_GETARG_INT64(ID_ARGUMENT), PG_GETARG_DATUM(ELEMENT_ARGUMENT));
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->header));
}

/* qsets_agg_trans(qsets, set_id bigint, elements KEY[]): of any dimensions */
PG_FUNCTION_INFO_V1(qsets_agg_trans_array);
Datum
qsets_agg_trans_array(PG_FUNCTION_ARGS)
{
	ExpandedSets *state;
	ArrayType *array;
	ArrayIterator iterator;
	Datum element;
	bool null;

	if (PG_ARGISNULL(ID_ARGUMENT) || PG_ARGISNULL(ELEMENT_ARGUMENT))
		return AggregateUnchanged(fcinfo);
	state = state_for_row(fcinfo, true);
	array = PG_GETARG_ARRAYTYPE_P(ELEMENT_ARGUMENT);
	if (ARR_ELEMTYPE(array) != state->key.type &&
		!IsBinaryCoercible(ARR_ELEMTYPE(array), getBaseType(state->key.type)))
		elog(ERROR, "array has elements of type %u instead of %u", ARR_ELEMTYPE(array),
			 state->key.type);
	iterator = array_create_iterator(array, 0, NULL);
	while (array_iterate(iterator, &element, &null))
		if (!null)
			SetsAddKey(state, PG_GETARG_INT64(ID_ARGUMENT), element);
	array_free_iterator(iterator);
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->header));
}

/* qsets_merge_trans(qsets, qsets): a row of qsets_merge_agg, or a partial state of either. */
PG_FUNCTION_INFO_V1(qsets_merge_trans);
Datum
qsets_merge_trans(PG_FUNCTION_ARGS)
{
	ExpandedSets *state;
	SetsReader reader;

	if (PG_ARGISNULL(1))
		return AggregateUnchanged(fcinfo);
	state = state_for_update(fcinfo);
	SetsRead(&reader, PG_GETARG_DATUM(1));
	SetsAddCollection(state, reader.collection);
	SetsReadEnd(&reader);
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->header));
}

/* qsets_agg_final(qsets): the state, to be read where it is. */
PG_FUNCTION_INFO_V1(qsets_agg_final);
Datum
qsets_agg_final(PG_FUNCTION_ARGS)
{
	ExpandedSets *state = PG_ARGISNULL(0) ? NULL : SetsExpandedIn(PG_GETARG_DATUM(0));

	(void) AggregateContext(fcinfo);
	if (state == NULL)
		return AggregateUnchanged(fcinfo);
	SetsSettle(state);
	return AggregateResult(&state->header);
}
