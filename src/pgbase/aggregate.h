/*
 * aggregate.h
 *		What functions of aggregates of any family share.
 *
 * src/pgbase/aggregate.h
 */
#ifndef QS_PG_AGGREGATE_H
#define QS_PG_AGGREGATE_H

#include "pgbase/state.h"

#include "fmgr.h"
#include "nodes/execnodes.h"

/* Where states live; an error where the call is not made by an aggregate. */
extern MemoryContext AggregateContext(FunctionCallInfo fcinfo);

/* Does the node compare the memory of its states with work_mem? */
extern bool AggregateIsHashed(const AggState *node);

/* What a row returns that does not count: the state, or NULL. */
extern Datum AggregateUnchanged(FunctionCallInfo fcinfo);

/* What a final function returns: the state, to be read where it is. */
extern Datum AggregateFinal(FunctionCallInfo fcinfo, const KeyedStateType *type);

#endif
