/*
 * value.c
 *		Values of any of our types: expanded objects and detoasted values.
 *
 * An expanded object is recognized by the address of its methods, which no value that a
 * user makes can have.
 *
 * src/pgbase/value.c
 */
#include "pgbase/value.h"

#include "fmgr.h"
#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/syscache.h"

ExpandedObjectHeader *
ValueExpandedIn(Datum datum, const ExpandedObjectMethods *methods, const char *what)
{
	ExpandedObjectHeader *header;

	if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
		return NULL;
	header = DatumGetEOHP(datum);
	if (header->eoh_methods != methods)
		elog(ERROR, "expanded object is not %s", what);
	return header;
}

struct varlena *
ValueDetoast(Datum datum, struct varlena **own)
{
	struct varlena *value = PG_DETOAST_DATUM(datum);

	*own = (Pointer) value != DatumGetPointer(datum) ? value : NULL;
	return value;
}

/* ---- rows that functions return ---- */

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
