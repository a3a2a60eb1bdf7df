/*
 * recognize.h
 *		Which aggregates and functions of the catalog are ours.
 *
 * src/pgbase/recognize.h
 */
#ifndef QS_PGBASE_RECOGNIZE_H
#define QS_PGBASE_RECOGNIZE_H

#include "postgres.h"
#include "fmgr.h"

#include "catalog/pg_aggregate.h"
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

/* An aggregate that is made of AggregateFunctions. */
typedef struct RecognizedAggregate
{
	ArgumentLayout layout;
	Oid transition;
	Oid final;
	Oid owner;    /* must be allowed to call both functions */
	Oid key_type; /* as declared for the transition function */
} RecognizedAggregate;

extern PGFunction CFunctionOf(Oid function);
extern Oid FunctionOwner(Oid function);
extern bool AggregateParts(Oid aggregate, FormData_pg_aggregate *parts);
extern bool AggregateIsOurs(Oid aggregate, const AggregateFunctions *functions);
extern bool RecognizeAggregate(Oid aggregate, const AggregateFunctions *functions,
							   RecognizedAggregate *recognized);
extern bool RecognizeCount(Oid aggregate, RecognizedAggregate *recognized);
extern bool RecognizeBuiltin(Oid aggregate, RecognizedAggregate *recognized);
extern bool AggregateLasts(Oid owner);
extern bool CombinesStates(const AggState *node, const AggregateFunctions *functions);

#endif
