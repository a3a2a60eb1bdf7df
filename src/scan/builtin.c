/*
 * builtin.c
 *		PostgreSQL's own sum, avg, min and max beside aggregates of ours.
 *
 * Their transition and final functions are called as Aggregate calls them: a strict
 * transition function does not see NULLs, the first value may become the state, and a
 * state that is not passed by value is copied into the context of its group.  The
 * functions find that context in an AggState, of which they read nothing else.
 *
 * Under Finalize Aggregate the result is the state itself, serialized if its type is
 * internal.
 *
 * src/scan/builtin.c
 */
#include "scan/columns.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

struct BuiltinAggregate
{
	FmgrInfo transition;
	FmgrInfo finish; /* the final or serializing function; no OID: the state is the result */
	Oid collation;
	int16 length; /* of the state's type */
	bool by_value;
	bool starts_null;
	Datum start;
	AggState *caller;  /* what the functions take for their caller */
	MemoryContext row; /* what they allocate for a row beside the state */
};

/* The initial state, from its text in the catalog. */
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

/* An AggState of which only the context of states matters. */
static AggState *
create_caller(void)
{
	AggState *caller = makeNode(AggState);

	caller->curaggcontext = makeNode(ExprContext);
	return caller;
}

/* Prepare a call.  The caller checks permissions for the transition function and for "finish". */
BuiltinAggregate *
BuiltinCreate(const Aggref *aggref, Oid *finish)
{
	BuiltinAggregate *builtin = palloc0(sizeof(BuiltinAggregate));
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggref->aggfnoid));
	Form_pg_aggregate form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	*finish = aggref->aggsplit == AGGSPLIT_SIMPLE ? form->aggfinalfn : InvalidOid;
	if (aggref->aggsplit != AGGSPLIT_SIMPLE && form->aggtranstype == INTERNALOID)
		*finish = form->aggserialfn;
	fmgr_info(form->aggtransfn, &builtin->transition);
	if (OidIsValid(*finish))
		fmgr_info(*finish, &builtin->finish);
	builtin->collation = aggref->inputcollid;
	get_typlenbyval(form->aggtranstype, &builtin->length, &builtin->by_value);
	init_start(builtin, tuple, form->aggtranstype);
	builtin->caller = create_caller();
	builtin->row = AllocSetContextCreate(
		CurrentMemoryContext, "QSketchScan row of built-in aggregate", ALLOCSET_SMALL_SIZES);
	ReleaseSysCache(tuple);
	return builtin;
}

/* States are kept in this context from now on. */
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

/* Begin with the initial state. */
void
BuiltinStart(const BuiltinAggregate *builtin, BuiltinState *state)
{
	state->null = state->none = builtin->starts_null;
	state->value = state->null ? (Datum) 0 : keep(builtin, builtin->start);
}

/* Replace the state by what the transition function returned. */
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

/* Add one value to the state. */
static void
add(BuiltinAggregate *builtin, BuiltinState *state, Datum value, bool null)
{
	LOCAL_FCINFO(call, 2);
	Datum next;

	if (builtin->transition.fn_strict && null)
		return;
	if (builtin->transition.fn_strict && state->none)
	{
		*state = (BuiltinState){ .value = keep(builtin, value) };
		return;
	}
	if (builtin->transition.fn_strict && state->null)
		return;
	InitFunctionCallInfoData(*call, &builtin->transition, 2, builtin->collation,
							 (Node *) builtin->caller, NULL);
	call->args[0] = (NullableDatum){ .value = state->value, .isnull = state->null };
	call->args[1] = (NullableDatum){ .value = value, .isnull = null };
	next = FunctionCallInvoke(call);
	replace(builtin, state, next, call->isnull);
	state->none = false;
}

/*
 * Add the column of all tuples.  What the functions allocate beside the state is freed after
 * each row: a page may have hundreds of strings that are long when they are not compressed.
 */
void
BuiltinAdd(BuiltinAggregate *builtin, BuiltinState *state, const ColumnPlace *place,
		   Relation relation, const PageTuples *tuples)
{
	MemoryContext old = MemoryContextSwitchTo(builtin->row);
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		Datum value = (Datum) 0;
		bool null;

		CHECK_FOR_INTERRUPTS();
		FetchAhead(tuples, i);
		null = !ColumnGetAny(place, relation, tuples->tuple[i], tuples->length[i], &value);
		add(builtin, state, value, null);
		MemoryContextReset(builtin->row);
	}
	MemoryContextSwitchTo(old);
}

/* The aggregate's value, in the current context or in that of the state. */
Datum
BuiltinResult(BuiltinAggregate *builtin, const BuiltinState *state, bool *null)
{
	LOCAL_FCINFO(call, 1);
	Datum result;

	*null = state->null;
	if (!OidIsValid(builtin->finish.fn_oid) || (builtin->finish.fn_strict && state->null))
		return state->value;
	InitFunctionCallInfoData(*call, &builtin->finish, 1, builtin->collation,
							 (Node *) builtin->caller, NULL);
	call->args[0] = (NullableDatum){ .value = state->value, .isnull = state->null };
	result = FunctionCallInvoke(call);
	*null = call->isnull;
	return result;
}
