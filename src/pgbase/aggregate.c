/*
 * aggregate.c
 *		What functions of aggregates of all families share.
 *
 * States are expanded objects in a context below the aggregate's.
 *
 * src/pgbase/aggregate.c
 */
#include "pgbase/aggregate.h"

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

Datum
AggregateUnchanged(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
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
