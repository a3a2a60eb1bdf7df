/*
 * row.c
 *		Rows that functions return.
 *
 * src/pgbase/row.c
 */
#include "pgbase/row.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/syscache.h"

/* The error for a function of ours that is called and not in the catalog. */
void
FunctionIsMissing(Oid function)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
					errmsg("function with OID %u does not exist", function),
					errhint("It was dropped while a query called it.")));
}

static void
check_function(FunctionCallInfo fcinfo)
{
	Oid function = fcinfo->flinfo->fn_oid;

	if (!SearchSysCacheExists1(PROCOID, ObjectIdGetDatum(function)))
		FunctionIsMissing(function);
}

/* The type of the rows that a function returns. */
TupleDesc
RowType(FunctionCallInfo fcinfo)
{
	TupleDesc type;

	check_function(fcinfo);
	if (get_call_result_type(fcinfo, NULL, &type) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return BlessTupleDesc(type);
}

/* The result of a function that returns one row. */
Datum
ReturnRow(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls)
{
	return HeapTupleGetDatum(heap_form_tuple(RowType(fcinfo), (Datum *) values, (bool *) nulls));
}

/* Prepare to return rows that are all stored before the first is returned. */
void
ReturnRows(FunctionCallInfo fcinfo)
{
	check_function(fcinfo);
	InitMaterializedSRF(fcinfo, 0);
}
