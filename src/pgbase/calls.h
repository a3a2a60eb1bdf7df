/*
 * calls.h
 *		Builds and runs queries that call the extension's functions by OID.
 *
 * src/pgbase/calls.h
 */
#ifndef QS_PGBASE_CALLS_H
#define QS_PGBASE_CALLS_H

#include "postgres.h"
#include "fmgr.h"

#include "nodes/params.h"
#include "nodes/pg_list.h"

/* A call of a function or an aggregate.  In the text of a query, $1 stands for the call. */
typedef struct ExtensionCall
{
	Oid function;
	List *arguments;    /* expressions; NULL stands for the column */
	const char *column; /* a column of the query's only table */
	const char *weight; /* the weight column, which follows "column", cast to bigint; or NULL */
} ExtensionCall;

extern Oid ExtensionFunction(Oid schema, const char *name, int count, const Oid *types);
extern Oid ExtensionType(Oid schema, const char *name);
extern void ExtensionMisses(const char *name) __attribute__((noreturn));
extern void RunQuery(const char *query, ExtensionCall *call, ParamListInfo values);

#endif
