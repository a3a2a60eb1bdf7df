/*
 * builtin.c
 *		PostgreSQL's own aggregates in a scan: sum, avg, stddev, bool_or, array_agg, ...
 *
 * The scan computes PostgreSQL's own aggregates unless they are DISTINCT, ordered or VARIADIC.
 * Their arguments are read or evaluated like keys (columns.c).  Their functions are called as
 * Aggregate calls them.  A strict transition function receives no NULLs, and the first value may
 * become its state.  A state that is passed by reference is copied into the memory context of its
 * group.  The functions find this context in an AggState, and read nothing else of it.  Polymorphic
 * functions find the types of their arguments in an expression.
 *
 * Under Finalize Aggregate, the result is the state, serialized if its type is internal.  The state
 * of a group can be written to disk, and combined later with other states of the group.  An
 * aggregate without a combine function has a single state for all rows, in one process.
 *
 * src/scan/builtin.c
 */
#include "scan/scan.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_agg.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

struct BuiltinAggregate
{
	FmgrInfo transition;
	FmgrInfo finish; /* final or serializing function; no OID: the state is the result */
	FmgrInfo combine;
	FmgrInfo serialize; /* no OID: the state's type is not internal, or the state is not written */
	FmgrInfo deserialize;
	FunctionCallInfo advancing; /* a call of the transition function */
	FunctionCallInfo combining; /* a call of the combine function */
	Oid collation;
	int16 length; /* length of the state's type */
	bool by_value;
	bool starts_null;
	Datum start;
	AggState *caller;  /* calling node of the functions, which read only its context */
	MemoryContext row; /* temporary memory of the functions; reset after a row, page or merge */
	bool long_values;  /* some arguments have no fixed length */
	int arguments;
	ColumnLocation argument[FLEXIBLE_ARRAY_MEMBER];
};

/* ---- preparing ---- */

/* The aggregate's row in the catalog, which the caller must release. */
static HeapTuple
catalog_row(const Aggref *aggref)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggref->aggfnoid));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	return tuple;
}

/* Set the initial state from its text in the catalog. */
static void
init_start(BuiltinAggregate *builtin, HeapTuple tuple, Oid type)
{
	Datum start =
		SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &builtin->starts_null);
	Oid input;
	Oid element;

	if (builtin->starts_null)
		return;
	getTypeInputInfo(type, &input, &element);
	builtin->start = OidInputFunctionCall(input, TextDatumGetCString(start), element, -1);
}

/*
 * Prepare the transition or combine function.  "types": the types of its arguments after the
 * state.
 */
static void
init_function(FmgrInfo *function, Oid oid, const Aggref *aggref, Oid *types, int count)
{
	Expr *expr;

	if (!OidIsValid(oid))
		return;
	fmgr_info(oid, function);
	build_aggregate_transfn_expr(types, count, 0, false, aggref->aggtranstype, aggref->inputcollid,
								 oid, InvalidOid, &expr, NULL);
	fmgr_info_set_expr((Node *) expr, function);
}

static void
init_finish(BuiltinAggregate *builtin, Oid oid, const Aggref *aggref, Oid *types, int count)
{
	Expr *expr;

	if (!OidIsValid(oid))
		return;
	fmgr_info(oid, &builtin->finish);
	if (aggref->aggsplit != AGGSPLIT_SIMPLE)
		return;
	build_aggregate_finalfn_expr(types, Min(count + 1, builtin->finish.fn_nargs),
								 aggref->aggtranstype, aggref->aggtype, aggref->inputcollid, oid,
								 &expr);
	fmgr_info_set_expr((Node *) expr, &builtin->finish);
}

/* Prepare calls of a function that takes the state and "arguments" further arguments. */
static FunctionCallInfo
create_call(const BuiltinAggregate *builtin, FmgrInfo *function, int arguments)
{
	FunctionCallInfo call = palloc0(SizeForFunctionCallInfo(1 + arguments));

	InitFunctionCallInfoData(*call, function, 1 + arguments, builtin->collation,
							 (Node *) builtin->caller, NULL);
	return call;
}

/*
 * Prepare the functions of the aggregate.  Returns the OID of the function that makes the
 * result.
 */
static Oid
init_functions(BuiltinAggregate *builtin, const Aggref *aggref, Form_pg_aggregate form)
{
	bool partial = aggref->aggsplit != AGGSPLIT_SIMPLE;
	bool internal = aggref->aggtranstype == INTERNALOID;
	Oid finish = partial ? (internal ? form->aggserialfn : InvalidOid) : form->aggfinalfn;
	Oid state_type = aggref->aggtranstype;
	Oid types[FUNC_MAX_ARGS];
	int count = get_aggregate_argtypes((Aggref *) (uintptr_t) aggref, types);

	builtin->collation = aggref->inputcollid;
	builtin->caller = makeNode(AggState);
	builtin->caller->curaggcontext = makeNode(ExprContext);
	init_function(&builtin->transition, form->aggtransfn, aggref, types, count);
	init_function(&builtin->combine, form->aggcombinefn, aggref, &state_type, 1);
	init_finish(builtin, finish, aggref, types, count);
	if (internal && OidIsValid(form->aggserialfn))
	{
		fmgr_info(form->aggserialfn, &builtin->serialize);
		fmgr_info(form->aggdeserialfn, &builtin->deserialize);
	}
	builtin->advancing = create_call(builtin, &builtin->transition, count);
	builtin->combining = create_call(builtin, &builtin->combine, 1);
	return finish;
}

/* Find where the arguments are in a tuple. */
static void
init_arguments(BuiltinAggregate *builtin, const Aggref *aggref, const WantedRows *rows)
{
	ListCell *cell;

	foreach (cell, aggref->args)
	{
		Expr *expr = lfirst_node(TargetEntry, cell)->expr;

		ColumnLocationOf(&builtin->argument[builtin->arguments++], expr, rows->estate,
						 rows->relation);
		builtin->long_values |= get_typlen(exprType((Node *) expr)) <= 0;
	}
}

/*
 * Create an aggregate.  *finish becomes the function that makes the result.  The caller checks
 * permissions.
 */
BuiltinAggregate *
BuiltinCreate(const Aggref *aggref, const WantedRows *rows, Oid *finish)
{
	BuiltinAggregate *builtin = palloc0(offsetof(BuiltinAggregate, argument) +
										(Size) list_length(aggref->args) * sizeof(ColumnLocation));
	HeapTuple tuple = catalog_row(aggref);

	*finish = init_functions(builtin, aggref, (Form_pg_aggregate) GETSTRUCT(tuple));
	get_typlenbyval(aggref->aggtranstype, &builtin->length, &builtin->by_value);
	init_start(builtin, tuple, aggref->aggtranstype);
	init_arguments(builtin, aggref, rows);
	builtin->row = AllocSetContextCreate(
		CurrentMemoryContext, "QSketchScan row of built-in aggregate", ALLOCSET_SMALL_SIZES);
	ReleaseSysCache(tuple);
	return builtin;
}

/* ---- the state ---- */

/* Allocate states in this context from now on. */
void
BuiltinUseContext(BuiltinAggregate *builtin, MemoryContext context)
{
	builtin->caller->curaggcontext->ecxt_per_tuple_memory = context;
}

static Datum
keep(const BuiltinAggregate *builtin, Datum value)
{
	MemoryContext old =
		MemoryContextSwitchTo(builtin->caller->curaggcontext->ecxt_per_tuple_memory);
	Datum kept = datumCopy(value, builtin->by_value, builtin->length);

	MemoryContextSwitchTo(old);
	return kept;
}

/* Set the state to the initial state, in this context. */
void
BuiltinStart(BuiltinAggregate *builtin, MemoryContext context, BuiltinState *state)
{
	BuiltinUseContext(builtin, context);
	state->null = state->none = builtin->starts_null;
	state->value = state->null ? (Datum) 0 : keep(builtin, builtin->start);
}

/* Replace the state by the result of the transition or combine function. */
static void
replace(const BuiltinAggregate *builtin, BuiltinState *state, Datum value, bool null)
{
	Datum old = state->value;
	bool had_value = !state->null;

	state->null = null;
	if (builtin->by_value || (had_value && !null && value == old))
	{
		state->value = value;
		return;
	}
	state->value = null ? (Datum) 0 : keep(builtin, value);
	if (had_value)
		pfree(DatumGetPointer(old));
}

/*
 * Add a row's arguments by the transition function, or another state by the combine function.
 * "null": one of the arguments is NULL.  A strict function is not called with a NULL.  If a strict
 * function has no state yet, the argument of the first row without NULLs becomes the state.
 */
static inline void
add(const BuiltinAggregate *builtin, FunctionCallInfo call, BuiltinState *state, bool null)
{
	Datum next;

	if (call->flinfo->fn_strict && (null || state->null))
	{
		if (!null && state->none)
			*state = (BuiltinState){ .value = keep(builtin, call->args[1].value) };
		return;
	}
	call->args[0] = (NullableDatum){ .value = state->value, .isnull = state->null };
	call->isnull = false;
	next = FunctionCallInvoke(call);
	replace(builtin, state, next, call->isnull);
	state->none = false;
}

/*
 * Add all tuples to the state.  For values of fixed length, the functions allocate little memory,
 * which is freed after the page.  Values of variable length may have to be decompressed, and a page
 * may have hundreds of such values.  So the memory for these values is freed after each row.
 */
void
BuiltinAdd(BuiltinAggregate *builtin, BuiltinState *state, const PageTuples *tuples)
{
	MemoryContext old = MemoryContextSwitchTo(builtin->row);
	FunctionCallInfo call = builtin->advancing;
	int i;
	int j;

	for (i = 0; i < tuples->count; i++)
	{
		bool null = false;

		FetchAhead(tuples, i);
		for (j = 1; j <= builtin->arguments; j++)
		{
			NullableDatum *value = &call->args[j];

			value->isnull = !ColumnGet(&builtin->argument[j - 1], tuples->tuple[i], &value->value);
			null |= value->isnull;
		}
		add(builtin, call, state, null);
		if (!builtin->long_values)
			continue;
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(builtin->row);
	}
	MemoryContextReset(builtin->row);
	MemoryContextSwitchTo(old);
}

/* ---- results, merging and freeing of a state ---- */

/*
 * Call a function on the state, or on the bytes of a serialized state.  The function does not use
 * its other arguments.
 */
static Datum
call_with(BuiltinAggregate *builtin, FmgrInfo *function, Datum value, bool *null)
{
	LOCAL_FCINFO(call, FUNC_MAX_ARGS);
	bool serial = function == &builtin->deserialize;
	Datum result;
	int i;

	InitFunctionCallInfoData(*call, function, function->fn_nargs, builtin->collation,
							 (Node *) builtin->caller, NULL);
	call->args[0] = (NullableDatum){ .value = value, .isnull = *null };
	for (i = 1; i < function->fn_nargs; i++)
		call->args[i] = (NullableDatum){ .value = (Datum) 0, .isnull = !serial };
	result = FunctionCallInvoke(call);
	*null = call->isnull;
	return result;
}

/* The aggregate's value, allocated in the current context or in the context of the state. */
Datum
BuiltinResult(BuiltinAggregate *builtin, const BuiltinState *state, bool *null)
{
	*null = state->null;
	if (!OidIsValid(builtin->finish.fn_oid) || (builtin->finish.fn_strict && state->null))
		return state->value;
	return call_with(builtin, &builtin->finish, state->value, null);
}

/*
 * The bytes of a state: serialized, or the state itself if it is passed by reference.  NULL:
 * the state is NULL, or is passed by value and not serialized.
 */
const void *
BuiltinWrite(BuiltinAggregate *builtin, const BuiltinState *state, uint64 *size)
{
	Datum bytes = state->value;
	bool null = false;

	*size = 0;
	if (state->null)
		return NULL;
	if (OidIsValid(builtin->serialize.fn_oid))
		bytes = call_with(builtin, &builtin->serialize, bytes, &null);
	else if (builtin->by_value)
		return NULL;
	*size = OidIsValid(builtin->serialize.fn_oid) ? VARSIZE(DatumGetPointer(bytes))
												  : datumGetSize(bytes, false, builtin->length);
	return DatumGetPointer(bytes);
}

/* Combine the state with a written state.  "bytes": the result of BuiltinWrite(). */
void
BuiltinMerge(BuiltinAggregate *builtin, BuiltinState *state, const BuiltinState *written,
			 const void *bytes)
{
	MemoryContext old = MemoryContextSwitchTo(builtin->row);
	NullableDatum *value = &builtin->combining->args[1];

	*value = (NullableDatum){ .value = bytes ? PointerGetDatum(bytes) : written->value,
							  .isnull = written->null };
	if (bytes && OidIsValid(builtin->deserialize.fn_oid))
		value->value = call_with(builtin, &builtin->deserialize, value->value, &value->isnull);
	if (!written->none)
		add(builtin, builtin->combining, state, value->isnull);
	MemoryContextSwitchTo(old);
	MemoryContextReset(builtin->row);
}

/* Free a state.  The memory of an internal state is freed with its memory context. */
void
BuiltinFree(const BuiltinAggregate *builtin, BuiltinState *state)
{
	if (!builtin->by_value && !state->null)
		pfree(DatumGetPointer(state->value));
}
