/*
 * sets_aggregate.c
 *		qsets_agg and qsets_merge_agg; the size of their states, for the planner.
 *
 * The state is an expanded qsets in the aggregate's context, and partial states travel
 * as ordinary values.  The type of the elements comes from the call; it is determined
 * once for a state and kept there.  Transition functions run in aggregates only, so
 * only the functions of that aggregate get the state.  NULL means that no row has come.
 *
 * src/pg/sets_aggregate.c
 */
#include "pg/sets_elements.h"

#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "pg/sets_state.h"
#include "pgbase/aggregate.h"
#include "pgbase/keyfamily.h"
#include "pgbase/state.h"
#include "pgbase/version.h"
#include "utils/lsyscache.h"

#define ID_ARGUMENT      1
#define ELEMENT_ARGUMENT 2

extern Datum qsets_agg_trans(PG_FUNCTION_ARGS);
extern Datum qsets_merge_trans(PG_FUNCTION_ARGS);

extern Datum qsets_agg_final(PG_FUNCTION_ARGS);

static const ArgumentLayout numbered = { .weight = ID_ARGUMENT };

const AggregateFunctions sets_functions = {
	.key = ELEMENT_ARGUMENT,
	.transition = { { qsets_agg_trans, &numbered } },
	.combine = { qsets_merge_trans },
	.final = qsets_agg_final,
};

/* The state to change: the state argument, or a new state. */
static SetsState *
state_for_update(FunctionCallInfo fcinfo)
{
	MemoryContext context = AggregateContext(fcinfo);
	SetsState *state = PG_ARGISNULL(0) ? NULL : StateToChange(PG_GETARG_DATUM(0), &sets_state_type);
	SetsReader reader;

	if (state)
		return state;
	(void) AggregateMoves(fcinfo);
	state = SetsCreate(StateContext(&sets_state_type, context));
	if (!PG_ARGISNULL(0))
	{
		SetsRead(&reader, PG_GETARG_DATUM(0));
		SetsAddCollection(state, reader.collection);
		SetsReadEnd(&reader);
	}
	return state;
}

/* A row's elements: one, or those of an array. */
typedef struct Elements
{
	Datum one;
	bool none;
	ElementArray all;
} Elements;

/* Set the type of the elements.  If the argument is an array, its elements are meant. */
static void
learn_type(FunctionCallInfo fcinfo, SetsState *state)
{
	KeyArgument key;
	Oid type;

	KeyArgumentOf(&key, fcinfo, ELEMENT_ARGUMENT);
	type = get_base_element_type(key.type);
	state->arrays = OidIsValid(type);
	SetsTakeKeys(state, state->arrays ? type : key.type, key.collation);
}

static void
elements_of(Elements *elements, const SetsState *state, Datum argument)
{
	if (state->arrays)
	{
		ElementsTakeApart(&elements->all, &state->keyed.key, argument);
		return;
	}
	*elements = (Elements){ .one = argument };
	elements->all = (ElementArray){ &elements->one, &elements->none, 1 };
}

/* qsets_agg_trans(qsets, set_id bigint, element): "element" may be an array of elements */
PG_FUNCTION_INFO_V1(qsets_agg_trans);
Datum
qsets_agg_trans(PG_FUNCTION_ARGS)
{
	SetsState *state;
	Elements elements;
	int i;

	if (PG_ARGISNULL(ID_ARGUMENT) || PG_ARGISNULL(ELEMENT_ARGUMENT))
		return AggregateUnchanged(fcinfo);
	state = state_for_update(fcinfo);
	if (unlikely(state->keyed.key.type == InvalidOid))
		learn_type(fcinfo, state);
	elements_of(&elements, state, PG_GETARG_DATUM(ELEMENT_ARGUMENT));
	if (unlikely(!state->building) && KeyTypeLearnArray(&state->keyed.key, elements.all.value,
														elements.all.null, elements.all.count))
		SetsBuild(state, !state->exact, &state->keyed.key.keys);
	for (i = 0; i < elements.all.count; i++)
		if (!elements.all.null[i])
			SetsAddKey(state, PG_GETARG_INT64(ID_ARGUMENT), elements.all.value[i]);
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

/* A smaller collection is copied into the context that all states of the aggregate share. */
#define LARGE_COLLECTION 65536

/*
 * Make the first collection the state without a copy, if it is large and may be
 * changed; false if not.
 */
static bool
take_over(FunctionCallInfo fcinfo, Datum *state)
{
	MemoryContext context = AggregateContext(fcinfo);
	SetsState *first;

	if (!PG_ARGISNULL(0) || !VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(PG_GETARG_DATUM(1))))
		return false;
	first = SetsStateIn(PG_GETARG_DATUM(1));
	if (qset_collection_memory(&first->collection) < LARGE_COLLECTION)
		return false;
	(void) AggregateMoves(fcinfo);
	*state = TransferExpandedObject(PG_GETARG_DATUM(1), context);
	return true;
}

/* qsets_merge_trans(qsets, qsets): add a row of qsets_merge_agg, or a partial state. */
PG_FUNCTION_INFO_V1(qsets_merge_trans);
Datum
qsets_merge_trans(PG_FUNCTION_ARGS)
{
	SetsState *state;
	SetsReader reader;
	Datum taken;

	if (PG_ARGISNULL(1))
		return AggregateUnchanged(fcinfo);
	if (take_over(fcinfo, &taken))
		PG_RETURN_DATUM(taken);
	state = state_for_update(fcinfo);
	SetsRead(&reader, PG_GETARG_DATUM(1));
	SetsAddCollection(state, reader.collection);
	SetsReadEnd(&reader);
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

/* qsets_agg_final(qsets): the state, to be read where it is. */
SQL_FUNCTION(qsets_agg_final, AggregateFinal(fcinfo, &sets_state_type));

/* ---- the size of a state, and what combining partial ones costs ---- */

/* Bytes of the first tables of ids, elements and rows. */
#define SMALLEST 4096

/*
 * Bytes of a row in an array that grows by doubling, and the most bytes of an id or
 * element that got a number.
 */
#define ROW   (1.5 * sizeof(uint64))
#define LABEL (3 * sizeof(qset_slot) + 1.5 * sizeof(uint64))

/* "keys" are the ids of sets.  How many distinct elements there are is not known. */
static double
state_space(const Const *template, double keys, double rows)
{
	return SMALLEST + rows * (ROW + LABEL) + keys * LABEL;
}

SQL_FUNCTION(qsets_support, StateSizeSupport(fcinfo, state_space));

/* The declared cost of adding a row.  Taking it in once more, by the leader, costs as much. */
#define COST_OF_ROW 10

/*
 * Planner support of the combine function of qsets_agg.  The leader takes in the rows of
 * all partial collections, so in the ordinary parallel plan it has as much to do as one
 * process that makes the collection alone.
 */
PG_FUNCTION_INFO_V1(qsets_combine_support);
Datum
qsets_combine_support(PG_FUNCTION_ARGS)
{
	SupportRequestCost *request = (SupportRequestCost *) PG_GETARG_POINTER(0);
	double parts = Max(max_parallel_workers_per_gather, 1); /* as the planner counts them */
	double rows;
	double groups;

	if (!IsA(request, SupportRequestCost) || request->root == NULL ||
		!StateInput(request->root, &rows, &groups))
		PG_RETURN_POINTER(NULL);
	request->startup = 0;
	request->per_tuple = rows / groups / parts * COST_OF_ROW * cpu_operator_cost;
	PG_RETURN_POINTER(request);
}
