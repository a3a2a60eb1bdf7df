/*
 * aggregate.c
 *		What functions of aggregates of all families share.
 *
 * States are expanded objects in a context below the aggregate's.
 *
 * src/pgbase/aggregate.c
 */
#include "pgbase/aggregate.h"

#include "catalog/pg_type_d.h"
#include "pgbase/token.h"
#include "utils/memutils.h"

MemoryContext
AggregateContext(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "aggregate function called in non-aggregate context");
	return context;
}

bool
AggregateIsHashed(const AggState *node)
{
	return IsA(node, AggState) &&
		   (node->aggstrategy == AGG_HASHED || node->aggstrategy == AGG_MIXED);
}

bool
AggregateIsAlone(FunctionCallInfo fcinfo)
{
	const AggState *node = (const AggState *) fcinfo->context;

	return IsA(node, AggState) && node->aggstrategy == AGG_PLAIN;
}

MemoryContext
AggregateStates(FunctionCallInfo fcinfo, const KeyedStateType *type)
{
	MemoryContext context = AggregateContext(fcinfo);

	return AggregateIsAlone(fcinfo) ? StateOwnContext(type, context) : StateContext(type, context);
}

bool
AggregatePasses(FunctionCallInfo fcinfo, const AggregateFunctions *functions)
{
	const AggState *node = (const AggState *) fcinfo->context;

	return IsA(node, AggState) && node->aggsplit == AGGSPLIT_INITIAL_SERIAL &&
		   CombinesStates(node, functions);
}

bool
AggregateCombines(FunctionCallInfo fcinfo)
{
	const AggState *node = (const AggState *) fcinfo->context;

	return IsA(node, AggState) && DO_AGGSPLIT_COMBINE(node->aggsplit);
}

Datum
AggregateOperand(FunctionCallInfo fcinfo, const KeyedStateType *type, void **owned)
{
	Datum operand = PG_GETARG_DATUM(1);
	KeyedState *state = NULL;

	if (AggregateCombines(fcinfo))
		state = StateOfToken(operand, type, AggregateContext(fcinfo));
	*owned = state;
	return state ? StateDatum(state) : operand;
}

void
AggregateOperandEnd(void *owned, const KeyedState *state)
{
	if (owned && owned != state)
		MemoryContextDelete(((KeyedState *) owned)->header.eoh_context);
}

/* An aggregate that does not move has no context of its own, and one function for its state. */
bool
AggregateMoves(FunctionCallInfo fcinfo)
{
	const WindowAggState *node = (const WindowAggState *) fcinfo->context;

	if (node == NULL || !IsA(node, WindowAggState) || node->curaggcontext == node->aggcontext)
		return false;
	if (get_fn_expr_argtype(fcinfo->flinfo, 0) != INTERNALOID)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("moving aggregate with functions of qsketch has a state that is "
							   "not of type internal"),
						errdetail("Its other functions could keep and free the state."),
						errhint("Use an aggregate of qsketch, or declare no MSFUNC.")));
	return true;
}

Datum
AggregateUnchanged(FunctionCallInfo fcinfo)
{
	static const uint64 no_state = 0; /* flat, so it is not taken for an expanded object */

	if (!PG_ARGISNULL(0))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	if (AggregateMoves(fcinfo))
		PG_RETURN_POINTER(&no_state);
	PG_RETURN_NULL();
}

Datum
AggregateFinal(FunctionCallInfo fcinfo, const KeyedStateType *type)
{
	KeyedState *state = PG_ARGISNULL(0) ? NULL : StateExpandedIn(PG_GETARG_DATUM(0), type);

	(void) AggregateContext(fcinfo);
	if (state == NULL)
		return AggregateUnchanged(fcinfo);
	PG_RETURN_POINTER(StatePointer(state));
}
