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

/*
 * Return a datum that points to the state, from the caller's memory: then the executor
 * copies nothing.  Before PostgreSQL 16 it would flatten the state otherwise.
 */
Datum
AggregateFinal(FunctionCallInfo fcinfo, const KeyedStateType *type)
{
	KeyedState *state = PG_ARGISNULL(0) ? NULL : StateExpandedIn(PG_GETARG_DATUM(0), type);
	void *pointer;

	(void) AggregateContext(fcinfo);
	if (state == NULL)
		return AggregateUnchanged(fcinfo);
	pointer = palloc(EXPANDED_POINTER_SIZE);
	memcpy(pointer, DatumGetPointer(EOHPGetRODatum(&state->header)), EXPANDED_POINTER_SIZE);
	PG_RETURN_POINTER(pointer);
}
