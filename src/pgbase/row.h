/*
 * row.h
 *		Rows that functions return.
 *
 * The type of such a row is in the catalog, and a query can drop a function that it calls.
 *
 * src/pgbase/row.h
 */
#ifndef QS_PGBASE_ROW_H
#define QS_PGBASE_ROW_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "fmgr.h"

extern TupleDesc RowType(FunctionCallInfo fcinfo);
extern Datum ReturnRow(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls);
extern void ReturnRows(FunctionCallInfo fcinfo);
extern void FunctionIsMissing(Oid function) __attribute__((noreturn));

#endif
