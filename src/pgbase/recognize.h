/*
 * recognize.h
 *		Which aggregates and functions of the catalog are ours.
 *
 * src/pgbase/recognize.h
 */
#ifndef QS_PG_RECOGNIZE_H
#define QS_PG_RECOGNIZE_H

#include "postgres.h"
#include "fmgr.h"

#include "catalog/pg_aggregate.h"
#include "nodes/execnodes.h"

/* Which arguments of the aggregate are what, from 1 on; 0 = it has none. */
typedef struct AggregateForm
{
	int weight; /* or another number beside the key: an id, a count */
	int template;
	int limit; /* how many keys are of interest */
} AggregateForm;

/* The C functions that the aggregates of keys of a family are made of. */
typedef struct AggregateFunctions
{
	int key;                                             /* which argument it is, from 1 on */
	const AggregateForm *(*form)(PGFunction transition); /* NULL: it is none of them */
	bool (*combines)(PGFunction function);
	bool (*finishes)(PGFunction function);
	bool (*moves)(PGFunction function); /* changes the state of a moving aggregate */
} AggregateFunctions;

/* An aggregate that is made of them. */
typedef struct RecognizedAggregate
{
	AggregateForm form;
	Oid transition;
	Oid final;
	Oid owner;    /* who must be allowed to call these two */
	Oid key_type; /* as the transition function declares it */
} RecognizedAggregate;

extern PGFunction CFunctionOf(Oid function);
extern Oid FunctionOwner(Oid function);
extern bool AggregateParts(Oid aggregate, FormData_pg_aggregate *parts);
extern bool AggregateIsOurs(Oid aggregate, const AggregateFunctions *functions);
extern bool RecognizeAggregate(Oid aggregate, const AggregateFunctions *functions,
							   RecognizedAggregate *recognized);
extern bool RecognizeCount(Oid aggregate, RecognizedAggregate *recognized);
extern void CheckMoving(FunctionCallInfo fcinfo, const AggregateFunctions *functions);
extern bool CombinesStates(const AggState *node, const AggregateFunctions *functions);

#endif
