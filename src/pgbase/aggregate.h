/*
 * aggregate.h
 *		What functions of aggregates of all families share.
 *
 * src/pgbase/aggregate.h
 */
#ifndef QS_PGBASE_AGGREGATE_H
#define QS_PGBASE_AGGREGATE_H

#include "pgbase/state.h"

#include "fmgr.h"
#include "nodes/execnodes.h"

/* The context in which states live.  Raises an error if no aggregate makes the call. */
extern MemoryContext AggregateContext(FunctionCallInfo fcinfo);

/* Is the node a hash aggregate, which compares the memory of its states with work_mem? */
extern bool AggregateIsHashed(const AggState *node);

/* The result for a row that does not count: the state as it is, or NULL. */
extern Datum AggregateUnchanged(FunctionCallInfo fcinfo);

/* The result of a final function: the state, read-only and not copied. */
extern Datum AggregateFinal(FunctionCallInfo fcinfo, const KeyedStateType *type);

#endif
