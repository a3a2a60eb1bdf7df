/*
 * families.c
 *		How the column scan handles each family (sketches, filters, sets, top keys),
 *		and PostgreSQL's own sum, avg, min and max beside them; states and results of an
 *		aggregate of any of these.
 *
 * Transition and final functions of PostgreSQL's own are called as Aggregate calls them: a strict
 * transition function does not see NULLs, the first value may become the state, and a
 * state that is not passed by value is copied into the context of its group.  The
 * functions find that context in an AggState, of which they read nothing else.
 *
 * Under Finalize Aggregate the result is the state itself, serialized if its type is
 * internal.  A state of a group can also be written to a file, and combined with others of
 * the group later, as a parallel plan combines them.
 *
 * The value of a template that is a parameter is read when a run begins (match.c).  The ordinary
 * plan raises the error of a template with which nothing can be counted when the first key comes,
 * and without keys the result is NULL.  Here such a run counts into states without that template,
 * and the error is raised in place of a result with keys.
 *
 * src/scan/families.c
 */
#include "scan/scan.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "gpu/filter_gpu.h"
#include "gpu/sketch_gpu.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "pg/sketch_aggregate.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

const char *scan_refusal = NULL;

/* Note why a query cannot be scanned.  Always false. */
bool
ScanRefuse(const char *reason)
{
	scan_refusal = reason;
	return false;
}

/* Parameters of a sketch's template, or the defaults without one. */
static void
sketch_params(const Const *template, qs_params *params)
{
	SketchReader reader;

	if (template == NULL)
	{
		SketchDefaultParams(params);
		return;
	}
	SketchReadAsStored(&reader, template->constvalue);
	*params = reader.sketch->params;
	SketchReadEnd(&reader);
}

/* A sketch that is a device part takes no keys. */
static bool
sketch_takes_keys(const ColumnScanCall *call)
{
	qs_params params;

	sketch_params(call->template, &params);
	return params.part != QS_PART_DEVICE || ScanRefuse("a template that is a device part");
}

static void
sketch_check_template(Datum template, bool null)
{
	qs_params params;

	SketchReadTemplate(template, null, &params);
}

static double
sketch_table_bytes(const Const *template, double rows, double others, bool together)
{
	qs_params params;

	sketch_params(template, &params);
	if (rows <= qs_explicit_limit(&params))
		return 0;
	return (double) qs_table_bytes(&params, false);
}

/*
 * The context for a new state.  A context of its own lets the aggregate above a partial
 * state take it without a copy.
 */
static MemoryContext
state_context(const KeyedStateType *type, MemoryContext context, bool partial)
{
	return partial ? StateOwnContext(type, context) : context;
}

static KeyedState *
sketch_start(const ScanAggregate *aggregate, MemoryContext context, bool partial)
{
	qs_params params;
	SketchState *sketch;

	sketch_params(aggregate->call->template, &params);
	sketch = SketchCreate(state_context(&sketch_state_type, context, partial), &params);
	SketchChooseEngine(sketch);
	sketch->keyed.token = partial && aggregate->in_transfer;
	sketch->keyed.key = *aggregate->keys;
	sketch->sketch.keys = sketch->keyed.key.keys;
	return &sketch->keyed;
}

/* Is the call's sketch made on the CPU, whatever is on a GPU? */
bool
ColumnStaysOnCpu(const ColumnScanCall *call)
{
	qs_params params;

	sketch_params(call->template, &params);
	return GpuSketchOnlyOnCpu(&params);
}

/* Parameters of a filter's template, or without one of the smallest filter. */
static void
filter_params(const Const *template, qf_params *params)
{
	FilterReader reader;

	if (template == NULL)
	{
		FilterCheck(qf_params_make_bloom(params, 1, 0.5, 0, QF_STANDARD));
		return;
	}
	FilterRead(&reader, template->constvalue);
	*params = reader.filter->params;
	FilterReadEnd(&reader);
}

bool
ColumnFilterDraws(const Const *template)
{
	qf_params params;

	filter_params(template, &params);
	return !qf_is_bloom(&params);
}

static bool
filter_takes_keys(const ColumnScanCall *call)
{
	return call->template || call->parameter || ScanRefuse("no template");
}

static void
filter_check_template(Datum template, bool null)
{
	qf_params params;

	FilterReadTemplate(template, null, &params);
}

static double
filter_table_bytes(const Const *template, double rows, double others, bool together)
{
	qf_params params;

	filter_params(template, &params);
	if (rows * params.k * qf_probability(&params) <= (double) qf_explicit_limit(&params))
		return 0;
	return (double) qf_words(&params) * 8;
}

/* Each process has a nonce of its own, so every process may number its rows from the first. */
static KeyedState *
filter_start(const ScanAggregate *aggregate, MemoryContext context, bool partial)
{
	qf_params params;
	FilterState *filter;

	filter_params(aggregate->call->template, &params);
	filter = FilterCreate(state_context(&filter_state_type, context, partial), &params);
	FilterChooseEngine(filter);
	filter->keyed.token = partial && aggregate->in_transfer;
	FilterSetInput(filter, aggregate->keys, FILTER_ROWS);
	return &filter->keyed;
}

static const char *
sketch_gpu_reason(const Const *template)
{
	qs_params params;

	sketch_params(template, &params);
	return GpuSketchReason(&params);
}

static const char *
filter_gpu_reason(const Const *template)
{
	qf_params params;

	if (template == NULL)
		return NULL;
	filter_params(template, &params);
	return GpuFilterReason(&params);
}

static bool
top_takes_keys(const ColumnScanCall *call)
{
	int32 n = DatumGetInt32(call->limit->constvalue);

	if (n < 1 || n > QS_TOP_MAX)
		return ScanRefuse("a number of top keys that is out of range");
	return sketch_takes_keys(call);
}

static KeyedState *
top_start(const ScanAggregate *aggregate, MemoryContext context, bool partial)
{
	qs_params params;
	TopState *top;

	sketch_params(aggregate->call->template, &params);
	top = TopCreate(state_context(&top_state_type, context, partial), &params,
					(uint32) DatumGetInt32(aggregate->call->limit->constvalue));
	top->keyed.token = partial && aggregate->in_transfer;
	TopSetKey(top, aggregate->keys);
	return &top->keyed;
}

/* An array of elements would be several rows. */
static bool
sets_takes_keys(const ColumnScanCall *call)
{
	return !OidIsValid(get_base_element_type(call->key_type)) || ScanRefuse("arrays of elements");
}

/*
 * Copying a row's element of 4 bytes takes about half as long as merging 4 bytes of a
 * sketch.  Taking in a row of another process takes about as long as reading it.  Sets
 * that several processes make together go through shared memory and are numbered anew:
 * for three processes all of it took 1.9 times the processor time that one took alone,
 * and 2.5 times as long as that in all on two processors, since they wait for one
 * another.
 */
#define BYTES_OF_ROW   2
#define BYTES_SHARED   30
#define BYTES_TAKEN_IN 32

/*
 * "together": one process copies the elements of all rows, and the processes share all
 * other work, as they share the scan (build.c).  Otherwise one process takes in the
 * rows of all other processes and sorts them.
 */
static double
sets_table_bytes(const Const *template, double rows, double others, bool together)
{
	if (!together)
		return rows * others * BYTES_TAKEN_IN;
	return rows * (others + 1) * BYTES_OF_ROW + rows * BYTES_SHARED;
}

static KeyedState *
sets_start(const ScanAggregate *aggregate, MemoryContext context, bool partial)
{
	/* a context of its own lets the aggregate above take the state without a copy */
	MemoryContext own =
		partial ? AllocSetContextCreate(context, "QSketchScan sets", ALLOCSET_SMALL_SIZES)
				: context;
	SetsState *sets = SetsCreate(own);

	SetsTakeKeys(sets, aggregate->call->key_type, aggregate->call->aggref->inputcollid);
	sets->keyed.key = *aggregate->keys;
	SetsBuild(sets, !sets->exact, &sets->keyed.key.keys);
	return &sets->keyed;
}

const ColumnFamily column_count = { 0 };
const ColumnFamily column_builtin = { 0 };

const ColumnFamily column_families[COLUMN_FAMILIES] = {
	[FAMILY_SKETCH] = { &sketch_functions, true, sketch_takes_keys, sketch_check_template,
						sketch_table_bytes, sketch_start, sketch_gpu_reason },
	[FAMILY_FILTER] = { &filter_functions, false, filter_takes_keys, filter_check_template,
						filter_table_bytes, filter_start, filter_gpu_reason },
	[FAMILY_SETS] = { &sets_functions, true, sets_takes_keys, NULL, sets_table_bytes, sets_start,
					  .shares_work = true },
	[FAMILY_TOP] = { &top_functions, true, top_takes_keys, sketch_check_template,
					 sketch_table_bytes, top_start },
};

/* ---- PostgreSQL's own aggregates ---- */

struct BuiltinAggregate
{
	FmgrInfo transition;
	FmgrInfo finish; /* the final or serializing function; no OID: the state is the result */
	FmgrInfo combine;
	FmgrInfo serialize; /* no OID: the state's type is not internal */
	FmgrInfo deserialize;
	Oid collation;
	int16 length; /* of the state's type */
	bool by_value;
	bool starts_null;
	Datum start;
	AggState *caller;  /* what the functions take for their caller: only the context matters */
	MemoryContext row; /* what they allocate beside the state, for a row or for a page */
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
	fmgr_info(form->aggcombinefn, &builtin->combine); /* all aggregates here have these functions */
	if (form->aggtranstype == INTERNALOID)
	{
		fmgr_info(form->aggserialfn, &builtin->serialize);
		fmgr_info(form->aggdeserialfn, &builtin->deserialize);
	}
	builtin->collation = aggref->inputcollid;
	get_typlenbyval(form->aggtranstype, &builtin->length, &builtin->by_value);
	init_start(builtin, tuple, form->aggtranstype);
	builtin->caller = makeNode(AggState);
	builtin->caller->curaggcontext = makeNode(ExprContext);
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
static void
builtin_start(const BuiltinAggregate *builtin, BuiltinState *state)
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

/* Add one value to the state, by the transition function, or another state by the combine function. */
static void
add(BuiltinAggregate *builtin, FmgrInfo *function, BuiltinState *state, Datum value, bool null)
{
	LOCAL_FCINFO(call, 2);
	Datum next;

	if (function->fn_strict && null)
		return;
	if (function->fn_strict && state->none)
	{
		*state = (BuiltinState){ .value = keep(builtin, value) };
		return;
	}
	if (function->fn_strict && state->null)
		return;
	InitFunctionCallInfoData(*call, function, 2, builtin->collation, (Node *) builtin->caller,
							 NULL);
	call->args[0] = (NullableDatum){ .value = state->value, .isnull = state->null };
	call->args[1] = (NullableDatum){ .value = value, .isnull = null };
	next = FunctionCallInvoke(call);
	replace(builtin, state, next, call->isnull);
	state->none = false;
}

/* Read a value of "attribute", at its fixed offset if it has a fixed width; false: NULL. */
static inline bool
get_value(const ColumnLocation *location, const FormData_pg_attribute *attribute,
		  HeapTupleHeader tuple, Datum *value)
{
	if (attribute->attlen <= 0 ||
		unlikely(location->offset < 0 || !ColumnAtOffset(location, tuple)))
		return ColumnGetAny(location, tuple, value);
	*value = fetch_att(ColumnAt(location, tuple), attribute->attbyval, attribute->attlen);
	return true;
}

/*
 * Add the column of all tuples.  What the functions allocate for a value of fixed width is small.
 * A page may have hundreds of strings, or of numbers of any length, that are long when they are not
 * compressed, so it is freed after each of them.
 */
void
BuiltinAdd(BuiltinAggregate *builtin, BuiltinState *state, const ColumnLocation *location,
		   const PageTuples *tuples)
{
	MemoryContext old = MemoryContextSwitchTo(builtin->row);
	const FormData_pg_attribute *attribute =
		TupleDescAttr(location->descriptor, location->attribute - 1);
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		Datum value = (Datum) 0;
		bool null;

		FetchAhead(tuples, i);
		null = !get_value(location, attribute, tuples->tuple[i], &value);
		add(builtin, &builtin->transition, state, value, null);
		if (attribute->attlen > 0)
			continue;
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(builtin->row);
	}
	MemoryContextReset(builtin->row);
	MemoryContextSwitchTo(old);
}

/* Call a function with the state, and with a second argument that is not used. */
static Datum
call_with(BuiltinAggregate *builtin, FmgrInfo *function, Datum value, bool *null)
{
	LOCAL_FCINFO(call, 2);
	Datum result;

	InitFunctionCallInfoData(*call, function, function->fn_nargs, builtin->collation,
							 (Node *) builtin->caller, NULL);
	call->args[0] = (NullableDatum){ .value = value, .isnull = *null };
	call->args[1] = (NullableDatum){ .value = (Datum) 0, .isnull = false };
	result = FunctionCallInvoke(call);
	*null = call->isnull;
	return result;
}

/* The aggregate's value, in the current context or in that of the state. */
static Datum
builtin_result(BuiltinAggregate *builtin, const BuiltinState *state, bool *null)
{
	*null = state->null;
	if (!OidIsValid(builtin->finish.fn_oid) || (builtin->finish.fn_strict && state->null))
		return state->value;
	return call_with(builtin, &builtin->finish, state->value, null);
}

/* The bytes of a state that is passed by reference or internal, allocated here; else NULL. */
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

/* Combine the state with one that was written, and its bytes. */
void
BuiltinMerge(BuiltinAggregate *builtin, BuiltinState *state, const BuiltinState *written,
			 const void *bytes)
{
	MemoryContext old = MemoryContextSwitchTo(builtin->row);
	Datum value = bytes ? PointerGetDatum(bytes) : written->value;
	bool null = written->null;

	if (bytes && OidIsValid(builtin->deserialize.fn_oid))
		value = call_with(builtin, &builtin->deserialize, value, &null);
	if (!written->none)
		add(builtin, &builtin->combine, state, value, null);
	MemoryContextSwitchTo(old);
	MemoryContextReset(builtin->row);
}

/* Free a state.  What an internal one points to goes with its context. */
void
BuiltinFree(const BuiltinAggregate *builtin, BuiltinState *state)
{
	if (!builtin->by_value && !state->null)
		pfree(DatumGetPointer(state->value));
}

/* ---- an aggregate in a run ---- */

/* Free the value of the run before. */
static void
forget(GivenTemplate *given)
{
	if (given->value == NULL)
		return;
	if (!given->value->constisnull)
		pfree(DatumGetPointer(given->value->constvalue));
	pfree(given->value);
	given->value = NULL;
}

/* Read the parameter's value, which is kept in the context of the query. */
static void
read_value(GivenTemplate *given, ExprContext *context)
{
	MemoryContext old;
	Datum value;
	bool null;

	value = ExecEvalExprSwitchContext(given->state, context, &null);
	old = MemoryContextSwitchTo(context->ecxt_per_query_memory);
	if (!null)
		value = PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
	given->value = makeConst(given->param->paramtype, given->param->paramtypmod,
							 given->param->paramcollid, -1, value, null, false);
	MemoryContextSwitchTo(old);
}

/* Read the templates that are values of parameters. */
void
GivenTemplatesRead(ScanAggregate *aggregate, int count, ExprContext *context)
{
	int i;

	for (i = 0; i < count; i++)
	{
		GivenTemplate *given = aggregate[i].given;
		ColumnScanCall *call = aggregate[i].call;

		if (given == NULL)
			continue;
		forget(given);
		read_value(given, context);
		call->template = given->value->constisnull ? NULL : given->value;
		if (call->template && !call->family->takes_keys(call))
			call->template = NULL;
	}
}

/* Raise the error of a template, if there are keys and it takes none. */
static void
check_given(const ScanAggregate *aggregate)
{
	const Const *value = aggregate->given->value;

	if (aggregate->call->template == NULL && aggregate->state->count > 0)
		aggregate->call->family->check_template(value->constvalue, value->constisnull);
}

/* Start an empty state, for each run. */
void
ScanAggregateStart(ScanAggregate *aggregate, MemoryContext context, bool partial)
{
	aggregate->rows = 0;
	aggregate->state = NULL;
	if (aggregate->call->family->start)
		aggregate->state = aggregate->call->family->start(aggregate, context, partial);
	if (aggregate->builtin)
	{
		BuiltinUseContext(aggregate->builtin, context);
		builtin_start(aggregate->builtin, &aggregate->computed);
	}
}

/* The aggregate's value.  A sketch without keys is NULL. */
Datum
ScanAggregateResult(const ScanAggregate *aggregate, bool *null)
{
	if (aggregate->builtin)
		return builtin_result(aggregate->builtin, &aggregate->computed, null);
	if (aggregate->given)
		check_given(aggregate);
	*null = aggregate->state && aggregate->state->count == 0;
	return aggregate->state ? EOHPGetRODatum(&aggregate->state->header)
							: Int64GetDatum(aggregate->rows);
}

/* Add up what the columns have counted so far. */
void
ScanCountKeys(ScanCounts *counts, const ScanAggregate *aggregate, int count)
{
	int i;

	for (i = 0; i < count; i++)
	{
		if (aggregate[i].state == NULL)
			continue;
		counts->keys += aggregate[i].state->count;
		counts->batches += aggregate[i].state->batches;
		counts->on_cpu |= ScanAggregateIsOnCpu(&aggregate[i]);
		counts->on_gpu |= !ScanAggregateIsOnCpu(&aggregate[i]);
	}
}
