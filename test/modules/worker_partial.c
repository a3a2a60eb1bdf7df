/*
 * worker_partial.c
 *		An aggregate that calls another aggregate with its arguments in a row, for tests.
 *
 * Citus distributes queries over machines, and calls aggregates in this way to compute partial
 * states.  The aggregate of Citus receives the OID of an inner aggregate, and one argument.  The
 * argument is a row if the inner aggregate has several arguments.  For each row of the table, the
 * transition function of the inner aggregate is called with a new FmgrInfo without an expression.
 * With arguments in a row, the call has no collation.  This aggregate does the same, and returns
 * the state unchanged.
 *
 *	CREATE FUNCTION worker_partial_trans(internal, oid, anyelement) RETURNS internal
 *	CREATE FUNCTION worker_partial_final(internal, oid, anyelement) RETURNS bytea
 *
 * The functions below have names of functions of Citus.  The extension recognizes the first three
 * functions by their symbols in this library.  Final functions return the state as text or in
 * binary.  coord_binary_combine_agg_sfunc() reads a state in binary and merges it, as Citus does
 * with states from other machines.
 *
 *	CREATE FUNCTION worker_partial_agg_sfunc(internal, oid, anyelement) RETURNS internal
 *	CREATE FUNCTION worker_partial_agg_ffunc(internal) RETURNS cstring
 *	CREATE FUNCTION worker_binary_partial_agg_ffunc(internal) RETURNS bytea
 *	CREATE FUNCTION coord_binary_combine_agg_sfunc(internal, oid, bytea) RETURNS internal
 *
 * test/modules/worker_partial.c
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
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

/*
 * Store the fields of a row, or a single value, as the arguments behind the state.  Returns the
 * number of all arguments.
 */
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

/* Returns the state of this call: its first argument, or a new state. */
static Partial *
partial_of(FunctionCallInfo fcinfo)
{
	MemoryContext context;
	Partial *partial;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "not in an aggregate");
	if (!PG_ARGISNULL(0))
		return (Partial *) PG_GETARG_POINTER(0);
	partial = MemoryContextAllocZero(context, sizeof(Partial));
	partial->aggregate = PG_GETARG_OID(1);
	partial->null = true;
	return partial;
}

/*
 * Call the function of "inner" with the state as its first argument.  The function's result becomes
 * the state.
 */
static void
advance(Partial *partial, FunctionCallInfo inner)
{
	inner->args[0] = (NullableDatum){ partial->state, partial->null };
	partial->state = FunctionCallInvoke(inner);
	partial->null = inner->isnull;
}

PG_FUNCTION_INFO_V1(worker_partial_trans);
Datum
worker_partial_trans(PG_FUNCTION_ARGS)
{
	LOCAL_FCINFO(inner, 9);
	Partial *partial = partial_of(fcinfo);
	FmgrInfo info;

	fmgr_info(parts_of(partial->aggregate).aggtransfn, &info);
	InitFunctionCallInfoData(*inner, &info, info.fn_nargs, fcinfo->fncollation, fcinfo->context,
							 fcinfo->resultinfo);
	put_arguments(fcinfo, inner, info.fn_nargs);
	advance(partial, inner);
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

PG_FUNCTION_INFO_V1(worker_binary_partial_agg_ffunc);
Datum
worker_binary_partial_agg_ffunc(PG_FUNCTION_ARGS)
{
	Partial *partial = PG_ARGISNULL(0) ? NULL : (Partial *) PG_GETARG_POINTER(0);
	Oid send;
	bool varlena;

	if (partial == NULL || partial->null)
		PG_RETURN_NULL();
	getTypeBinaryOutputInfo(parts_of(partial->aggregate).aggtranstype, &send, &varlena);
	PG_RETURN_BYTEA_P(OidSendFunctionCall(send, partial->state));
}

/* Returns a state from its binary encoding. */
static Datum
received(Oid type, const struct varlena *bytes)
{
	StringInfoData message;
	Oid receive;
	Oid parameter;

	getTypeBinaryInputInfo(type, &receive, &parameter);
	initStringInfo(&message);
	appendBinaryStringInfo(&message, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	return OidReceiveFunctionCall(receive, &message, parameter, -1);
}

PG_FUNCTION_INFO_V1(coord_binary_combine_agg_sfunc);
Datum
coord_binary_combine_agg_sfunc(PG_FUNCTION_ARGS)
{
	LOCAL_FCINFO(inner, 2);
	Partial *partial = partial_of(fcinfo);
	FormData_pg_aggregate parts = parts_of(partial->aggregate);
	FmgrInfo info;

	if (PG_ARGISNULL(2))
		PG_RETURN_POINTER(partial);
	fmgr_info(parts.aggcombinefn, &info);
	InitFunctionCallInfoData(*inner, &info, 2, fcinfo->fncollation, fcinfo->context,
							 fcinfo->resultinfo);
	inner->args[1] = (NullableDatum){ received(parts.aggtranstype, PG_GETARG_BYTEA_PP(2)), false };
	advance(partial, inner);
	PG_RETURN_POINTER(partial);
}
