/*
 * worker_partial.c
 *		An aggregate that calls another with its arguments in a row, for tests.
 *
 * Systems that spread a query over machines (Citus) compute partial states so:
 * their aggregate takes the name of another and one argument, which is a row
 * where the other takes more, and calls the other's transition function for
 * each row of the table, with an FmgrInfo that is made anew, without expression
 * and, for a row, without collation.  This one does the same and gives the
 * state as it is.
 *
 *	CREATE FUNCTION worker_partial_trans(internal, oid, anyelement) RETURNS internal
 *	CREATE FUNCTION worker_partial_final(internal, oid, anyelement) RETURNS bytea
 *
 * Beside it stands what Citus itself has, under the names by which it is told: the
 * same, and the state as text.
 *
 *	CREATE FUNCTION worker_partial_agg_sfunc(internal, oid, anyelement) RETURNS internal
 *	CREATE FUNCTION worker_partial_agg_ffunc(internal) RETURNS cstring
 *
 * src/test/modules/worker_partial.c
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

PG_MODULE_MAGIC;

typedef struct Partial
{
	Oid aggregate;
	Datum state;
	bool null;
} Partial;

static FormData_pg_aggregate
parts_of(Oid aggregate)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	FormData_pg_aggregate parts;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "no aggregate %u", aggregate);
	memcpy(&parts, GETSTRUCT(tuple), sizeof(parts));
	ReleaseSysCache(tuple);
	return parts;
}

/* Put the fields of a row, or the value itself, behind the state. */
static int
put_arguments(FunctionCallInfo fcinfo, FunctionCallInfo inner, int room)
{
	Oid type = get_fn_expr_argtype(fcinfo->flinfo, 2);
	Datum values[8];
	bool nulls[8];
	int count = 1;
	int i;

	values[0] = PG_GETARG_DATUM(2);
	nulls[0] = PG_ARGISNULL(2);
	if (type == RECORDOID && room > 2)
	{
		HeapTupleHeader row = PG_GETARG_HEAPTUPLEHEADER(2);
		TupleDesc descriptor =
			lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row), HeapTupleHeaderGetTypMod(row));
		HeapTupleData tuple = { .t_len = HeapTupleHeaderGetDatumLength(row), .t_data = row };

		count = descriptor->natts;
		heap_deform_tuple(&tuple, descriptor, values, nulls);
		ReleaseTupleDesc(descriptor);
	}
	if (count + 1 != room)
		elog(ERROR, "%d arguments for a function of %d", count + 1, room);
	for (i = 0; i < count; i++)
		inner->args[i + 1] = (NullableDatum){ values[i], nulls[i] };
	return count + 1;
}

PG_FUNCTION_INFO_V1(worker_partial_trans);
Datum
worker_partial_trans(PG_FUNCTION_ARGS)
{
	LOCAL_FCINFO(inner, 9);
	MemoryContext context;
	Partial *partial;
	FmgrInfo info;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "not in an aggregate");
	partial = PG_ARGISNULL(0) ? MemoryContextAllocZero(context, sizeof(Partial))
							  : (Partial *) PG_GETARG_POINTER(0);
	if (PG_ARGISNULL(0))
	{
		partial->aggregate = PG_GETARG_OID(1);
		partial->null = true;
	}
	fmgr_info(parts_of(partial->aggregate).aggtransfn, &info);
	InitFunctionCallInfoData(*inner, &info, info.fn_nargs, fcinfo->fncollation, fcinfo->context,
							 fcinfo->resultinfo);
	put_arguments(fcinfo, inner, info.fn_nargs);
	inner->args[0] = (NullableDatum){ partial->state, partial->null };
	partial->state = FunctionCallInvoke(inner);
	partial->null = inner->isnull;
	PG_RETURN_POINTER(partial);
}

PG_FUNCTION_INFO_V1(worker_partial_final);
Datum
worker_partial_final(PG_FUNCTION_ARGS)
{
	Partial *partial = PG_ARGISNULL(0) ? NULL : (Partial *) PG_GETARG_POINTER(0);

	if (partial == NULL || partial->null)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PointerGetDatum(PG_DETOAST_DATUM(partial->state)));
}

PG_FUNCTION_INFO_V1(worker_partial_agg_sfunc);
Datum
worker_partial_agg_sfunc(PG_FUNCTION_ARGS)
{
	return worker_partial_trans(fcinfo);
}

PG_FUNCTION_INFO_V1(worker_partial_agg_ffunc);
Datum
worker_partial_agg_ffunc(PG_FUNCTION_ARGS)
{
	Partial *partial = PG_ARGISNULL(0) ? NULL : (Partial *) PG_GETARG_POINTER(0);
	Oid output;
	bool varlena;

	if (partial == NULL || partial->null)
		PG_RETURN_NULL();
	getTypeOutputInfo(parts_of(partial->aggregate).aggtranstype, &output, &varlena);
	PG_RETURN_CSTRING(OidOutputFunctionCall(output, partial->state));
}
