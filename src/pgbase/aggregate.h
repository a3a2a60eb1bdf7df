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
	int weight; /* the weight, or another number beside the key: an id, a count */
	int template;
	int limit; /* how many keys are of interest */
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
	PGFunction combine[3]; /* also those that merge stored values */
	PGFunction final;
} AggregateFunctions;

/* An aggregate that is made of AggregateFunctions, or built in. */
typedef struct RecognizedAggregate
{
	Oid aggregate;
	Oid transition;
	Oid combine;
	Oid final;
	Oid key_type; /* as declared for the transition function */
	ArgumentLayout layout;
	bool combines; /* its states can be combined, also if they have been written */
	int family;    /* a number of the caller's */
} RecognizedAggregate;

extern PGFunction CFunctionOf(Oid function);
extern Oid FunctionOwner(Oid function);
extern bool AggregateParts(Oid aggregate, FormData_pg_aggregate *parts);
extern bool AggregateIsOurs(Oid aggregate, const AggregateFunctions *functions);
extern bool RecognizeAggregate(Oid aggregate, const AggregateFunctions *functions,
							   RecognizedAggregate *recognized);
extern bool RecognizeBuiltin(Oid aggregate, RecognizedAggregate *recognized);
extern bool AggregateIsStill(const RecognizedAggregate *recognized);
extern bool AggregateLasts(Oid owner);

/* ---- what functions of aggregates share ---- */

/* The context in which states live.  Raises an error if no aggregate makes the call. */
extern MemoryContext AggregateContext(FunctionCallInfo fcinfo);

/* Is the node a hash aggregate, which compares the memory of its states with work_mem? */
extern bool AggregateIsHashed(const AggState *node);

/* Is there one state of this aggregate, since rows are not grouped? */
extern bool AggregateIsAlone(FunctionCallInfo fcinfo);

/*
 * The work on a new state.  A parallel worker cannot see how many there are: all processes of
 * the query take the most that a plan may have.
 */
extern StateWork AggregateWork(FunctionCallInfo fcinfo);

/* The context for a new state.  A single state can be taken over with its own. */
extern MemoryContext AggregateStates(FunctionCallInfo fcinfo, const KeyedStateType *type);

/* Does the partial state that this call makes go only to our combine function? */
extern bool AggregatePasses(FunctionCallInfo fcinfo, const AggregateFunctions *functions);

/* The same is said of a state that gets its first key of negative weight. */
static inline void
AggregateRemoves(FunctionCallInfo fcinfo, KeyedState *state, const AggregateFunctions *functions)
{
	if (state->removed == NULL)
		state->passed_on = AggregatePasses(fcinfo, functions);
}

/* Does this call combine partial states? */
extern bool AggregateCombines(FunctionCallInfo fcinfo);

/*
 * Say of a new state whether PostgreSQL watches its memory, and whether it may go to our combine
 * function by a token.  "functions" are those that may change it.
 */
extern void
AggregateStart(FunctionCallInfo fcinfo, KeyedState *state, const AggregateFunctions *functions);

/*
 * The result of a function that merges: its second argument is added to the state.  If that
 * is a token, the token's state may become the state.  Partial states of keys ("of_keys") must
 * have the same template.
 */
extern Datum AggregateMerge(FunctionCallInfo fcinfo, const KeyedStateType *type,
							const AggregateFunctions *functions, bool of_keys);

/*
 * Is the state that of a moving aggregate?  The executor hands it out, to be changed in place,
 * to the function that adds a row to a window frame and to the one that removes a row.  If the
 * other of the two is not ours, it must not get our state: PL/pgSQL would keep the state, and
 * free it.  So the state's type must be internal, of which only superusers declare functions
 * and aggregates.  Raises an error if it is another one.
 */
extern bool AggregateMoves(FunctionCallInfo fcinfo);

/*
 * The result for a row that does not count: the state as it is.  If there is none: NULL, or in
 * a moving aggregate, whose state must not be NULL, something that is no state yet.
 */
extern Datum AggregateUnchanged(FunctionCallInfo fcinfo);

/* The result of a final function: the state, read-only and not copied. */
extern Datum AggregateFinal(FunctionCallInfo fcinfo, const KeyedStateType *type);

#endif
