/*
 * aggregate.h
 *		Recognizes the extension's aggregates in the catalog; common code of the aggregates'
 *		functions.
 *
 * src/pgbase/aggregate.h
 */
#ifndef QS_PGBASE_AGGREGATE_H
#define QS_PGBASE_AGGREGATE_H

#include "pgbase/state.h"

#include "catalog/pg_aggregate.h"
#include "fmgr.h"
#include "nodes/execnodes.h"

/* Positions of an aggregate's arguments, counted from 1.  0: the aggregate has no such argument. */
typedef struct ArgumentLayout
{
	int weight; /* the weight, or another number of the row: an id or a count */
	int template;
	int limit; /* n, the number of top keys */
} ArgumentLayout;

/* A transition function that adds a row's key to the state. */
typedef struct AggregateTransition
{
	PGFunction function;
	const ArgumentLayout *layout;
} AggregateTransition;

/* The C functions of a family's aggregates, of keys and of stored values.  NULL ends each array. */
typedef struct AggregateFunctions
{
	int key; /* position of the key argument, counted from 1 */
	AggregateTransition transition[5];
	PGFunction combine[3]; /* combine functions, and functions that merge stored values */
	PGFunction final;
} AggregateFunctions;

/* An aggregate that consists of AggregateFunctions, or a built-in aggregate. */
typedef struct RecognizedAggregate
{
	Oid aggregate;
	Oid transition;
	Oid combine;
	Oid final;
	Oid key_type; /* as the transition function declares it */
	ArgumentLayout layout;
	bool combines; /* partial states can be serialized and combined */
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

/* ---- common code of aggregate functions ---- */

/* Return the memory context for states.  Raises an error if the caller is no aggregate. */
extern MemoryContext AggregateContext(FunctionCallInfo fcinfo);

/* True if the node is a hash aggregate, which compares the memory of its states with work_mem. */
extern bool AggregateIsHashed(const AggState *node);

/* True if the aggregate has a single state, because the query does not group rows. */
extern bool AggregateIsAlone(FunctionCallInfo fcinfo);

/*
 * Estimate the rows of a new state, and the number of processes.  A parallel worker cannot see the
 * number of workers.  So every process of a parallel plan assumes max_parallel_workers_per_gather
 * workers.
 */
extern StateWork AggregateWork(FunctionCallInfo fcinfo);

/*
 * Return the memory context for a new state.  A single state has its own context, because
 * StateOfToken() moves a state by moving its context.
 */
extern MemoryContext AggregateStates(FunctionCallInfo fcinfo, const KeyedStateType *type);

/* True if only our combine function receives the partial state that this call makes. */
extern bool AggregatePasses(FunctionCallInfo fcinfo, const AggregateFunctions *functions);

/* Set state->passed_on before the state gets its first key of negative weight. */
static inline void
AggregateRemoves(FunctionCallInfo fcinfo, KeyedState *state, const AggregateFunctions *functions)
{
	if (state->removed == NULL)
		state->passed_on = AggregatePasses(fcinfo, functions);
}

/* True if this call combines partial states. */
extern bool AggregateCombines(FunctionCallInfo fcinfo);

/*
 * Set "accounted" and "token" of a new state, and clear "passed_on".  "functions" are the functions
 * of the state's family.
 */
extern void
AggregateStart(FunctionCallInfo fcinfo, KeyedState *state, const AggregateFunctions *functions);

/*
 * Add the second argument to the state, which is the first argument, and return the state.  If the
 * second argument is a token, the token's state may become the state.  Partial states of keys
 * ("of_keys") must have the same template.
 */
extern Datum AggregateMerge(FunctionCallInfo fcinfo, const KeyedStateType *type,
							const AggregateFunctions *functions, bool of_keys);

/*
 * True if the state belongs to a moving aggregate.  The executor passes such a state to two
 * functions, which change the state in place: one function adds a row to a window frame, the other
 * function removes a row.  If one function is ours and the other is in PL/pgSQL, the function in
 * PL/pgSQL would keep our state and free it.  So the state's type must be internal, because only
 * superusers declare functions and aggregates of that type.  Raises an error for any other type.
 */
extern bool AggregateMoves(FunctionCallInfo fcinfo);

/*
 * Return the result for a row that does not count: the unchanged state.  If there is no state, the
 * result is NULL.  In a moving aggregate, whose state must not be NULL, the result is then a flat
 * value that stands for no state.
 */
extern Datum AggregateUnchanged(FunctionCallInfo fcinfo);

/* Return the result of a final function: a read-only pointer to the state, without copying. */
extern Datum AggregateFinal(FunctionCallInfo fcinfo, const KeyedStateType *type);

#endif
