/*
 * add_cancelled.c
 *		Adds keys to a value in place while the query is being cancelled, for tests.
 *
 * From PostgreSQL 18 on, PL/pgSQL changes variables in place.  A variable survives a cancellation
 * that is caught, so the cancelled call must leave it unchanged.  This module tests such calls with
 * every version of PostgreSQL.
 *
 *	add_cancelled(f regprocedure, value anyelement, n int) int		calls f(value, bigint) n times,
 *																	and returns how many calls
 *																	were cancelled
 *
 * test/modules/add_cancelled.c
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(add_cancelled);

/*
 * Look up a function with arguments of this type and of bigint.  The function can find these types
 * by get_fn_expr_argtype().
 */
static void
look_up(Oid oid, Oid type, FmgrInfo *function)
{
	List *args =
		list_make2(makeNullConst(type, -1, InvalidOid), makeNullConst(INT8OID, -1, InvalidOid));

	fmgr_info(oid, function);
	fmgr_info_set_expr(
		(Node *) makeFuncExpr(oid, type, args, InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL),
		function);
}

/* Call the function while the query is being cancelled; returns true if the call was cancelled. */
static bool
is_cancelled(FmgrInfo *function, Datum value, int64 key)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool cancelled = false;

	InterruptPending = QueryCancelPending = true;
	PG_TRY();
	{
		(void) FunctionCall2(function, value, Int64GetDatum(key));
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_QUERY_CANCELED)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		cancelled = true;
	}
	PG_END_TRY();
	QueryCancelPending = false;
	return cancelled;
}

static bool
are_same(const struct varlena *a, const struct varlena *b)
{
	return VARSIZE(a) == VARSIZE(b) && memcmp(a, b, VARSIZE(a)) == 0;
}

Datum
add_cancelled(PG_FUNCTION_ARGS)
{
	FmgrInfo function;
	Datum value;
	int cancelled = 0;
	int key;

	look_up(PG_GETARG_OID(0), get_fn_expr_argtype(fcinfo->flinfo, 1), &function);
	value = FunctionCall2(&function, PG_GETARG_DATUM(1), Int64GetDatum(0));
	for (key = 1; key <= PG_GETARG_INT32(2); key++)
	{
		struct varlena *before = PG_DETOAST_DATUM_COPY(value);
		struct varlena *after;
		bool ended = is_cancelled(&function, value, key);

		after = PG_DETOAST_DATUM_COPY(value);
		if (ended == !are_same(before, after))
			elog(ERROR, "key %d %s", key,
				 ended ? "was cancelled, and changed the value" : "got lost");
		cancelled += ended;
		pfree(before);
		pfree(after);
	}
	PG_RETURN_INT32(cancelled);
}
