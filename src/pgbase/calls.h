/*
 * calls.h
 *		Queries that call functions of ours by OID.
 *
 * src/pgbase/calls.h
 */
#ifndef QS_PGBASE_CALLS_H
#define QS_PGBASE_CALLS_H

#include "postgres.h"
#include "fmgr.h"

#include "nodes/params.h"
#include "nodes/pg_list.h"

/* A call of a function or an aggregate, which is $1 in the text of a query. */
typedef struct OwnCall
{
	Oid function;
	List *arguments;    /* expressions; NULL stands for the column */
	const char *column; /* a column of the query's only table */
	const char *weight; /* a column cast to bigint, as the next argument; or NULL */
} OwnCall;

extern Oid OwnFunction(Oid schema, const char *name, int count, const Oid *types);
extern Oid OwnType(Oid schema, const char *name);
extern void OwnIsMissing(const char *name) __attribute__((noreturn));
extern void RunQuery(const char *query, OwnCall *call, ParamListInfo values);

#endif
