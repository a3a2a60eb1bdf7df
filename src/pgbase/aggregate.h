/*
 * aggregate.h
 *		Aggregates of all families: which ones of the catalog are ours, and what their
 *		functions share.
 *
 * src/pgbase/aggregate.h
 */
#ifndef QS_PGBASE_AGGREGATE_H
#define QS_PGBASE_AGGREGATE_H

#include "pgbase/state.h"

#include "catalog/pg_aggregate.h"
#include "fmgr.h"
#include "nodes/execnodes.h"

/* The positions of the aggregate's arguments, from 1 on; 0: it has no such argument. */
typedef struct ArgumentLayout
{
	int weight; /* the weight, or another number beside the key, such as an id or a count */
	int template;
	int limit; /* the number of keys that are of interest */
} ArgumentLayout;

/* A transition function for keys of rows. */
typedef struct AggregateTransition
{
	PGFunction function;
	const ArgumentLayout *layout;
} AggregateTransition;

/* The C functions of which a family's aggregates of keys are made; lists end with NULL. */
typedef struct AggregateFunctions
{
	int key; /* position of the key argument, from 1 on */
	AggregateTransition transition[5];
	PGFunction combine[3]; /* combine functions, and those that merge stored values */
	PGFunction final;
} AggregateFunctions;

/* An aggregate that is made of AggregateFunctions, or built in. */
typedef struct RecognizedAggregate
{
	Oid aggregate;
	Oid transition;
	Oid combine;
	Oid final;
	Oid key_type; /* as the transition function declares it */
	ArgumentLayout layout;
	bool combines; /* its states can be combined, even after they were written */
	int family;    /* a number that the caller chose */
} RecognizedAggregate;

extern PGFunction CFunctionOf(Oid function);
extern Oid FunctionOwner(Oid function);
extern bool AggregateReadForm(Oid aggregate, FormData_pg_aggregate *form);
extern bool AggregateIsOurs(Oid aggregate, const AggregateFunctions *functions);
extern bool RecognizeAggregate(Oid aggregate, const AggregateFunctions *functions,
							   RecognizedAggregate *recognized);
extern bool RecognizeBuiltin(Oid aggregate, RecognizedAggregate *recognized);
extern bool AggregateIsStill(const RecognizedAggregate *recognized);
extern bool AggregateLasts(Oid owner);

/* ---- what functions of aggregates share ---- */

/* The context in which states live.  Raises an error if no aggregate makes the call. */
extern MemoryContext AggregateContext(FunctionCallInfo fcinfo);

/* True if the node is a hash aggregate, which compares the memory of its states with work_mem. */
extern bool AggregateIsHashed(const AggState *node);

/* True if there is one state of this aggregate, since rows are not grouped. */
extern bool AggregateIsAlone(FunctionCallInfo fcinfo);

/*
 * What is known of the work on a new state.  A parallel worker cannot see the number of workers, so
 * all processes of the query assume the most that a plan may have.
 */
extern StateWork AggregateWork(FunctionCallInfo fcinfo);

/* The context for a new state.  A single state has a context of its own, with which it can be taken over. */
extern MemoryContext AggregateStates(FunctionCallInfo fcinfo, const KeyedStateType *type);

/* True if the partial state that this call makes goes only to our combine function. */
extern bool AggregatePasses(FunctionCallInfo fcinfo, const AggregateFunctions *functions);

/*
 * Sets whether the state goes only to our combine function, when the state gets its first key of
 * negative weight.
 */
static inline void
AggregateRemoves(FunctionCallInfo fcinfo, KeyedState *state, const AggregateFunctions *functions)
{
	if (state->removed == NULL)
		state->passed_on = AggregatePasses(fcinfo, functions);
}

/* True if this call combines partial states. */
extern bool AggregateCombines(FunctionCallInfo fcinfo);

/*
 * Record in a new state whether PostgreSQL watches its memory, and whether it may go to our combine
 * function by a token.  "functions" are the functions that may change the state.
 */
extern void
AggregateStart(FunctionCallInfo fcinfo, KeyedState *state, const AggregateFunctions *functions);

/*
 * The result of a function that merges: its second argument is added to the state, the first
 * argument.  If the second argument is a token, the token's state may become the state.  Partial
 * states of keys ("of_keys") must have the same template.
 */
extern Datum AggregateMerge(FunctionCallInfo fcinfo, const KeyedStateType *type,
							const AggregateFunctions *functions, bool of_keys);

/*
 * True if the state is that of a moving aggregate.  The executor passes such a state, to be changed
 * in place, to the function that adds a row to a window frame and to the one that removes a row.
 * If one of the two functions is not ours, it must not get our state, because PL/pgSQL would keep
 * the state, and free it.  So the state's type must be internal, of which only superusers declare
 * functions and aggregates.  Raises an error if it is another type.
 */
extern bool AggregateMoves(FunctionCallInfo fcinfo);

/*
 * The result for a row that does not count, which is the state as it is.  If there is no state, the
 * result is NULL.  In a moving aggregate, whose state must not be NULL, it is a value that is no
 * state yet.
 */
extern Datum AggregateUnchanged(FunctionCallInfo fcinfo);

/* The result of a final function: the state, read-only and not copied. */
extern Datum AggregateFinal(FunctionCallInfo fcinfo, const KeyedStateType *type);

#endif
