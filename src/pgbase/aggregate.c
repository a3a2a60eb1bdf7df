/*
 * aggregate.c
 *		Recognizes the extension's aggregates in the catalog; common code of the aggregates'
 *		functions.
 *
 * An aggregate's name and its membership in the extension do not prove that the aggregate is ours.
 * The extension is trusted: any role that may create objects in the database can own the extension,
 * and add objects to it.  An aggregate is ours if its functions are C functions of this library,
 * recognized by address, and its other properties are those of our aggregates.  The types in the
 * declaration of a C function can be trusted, because only superusers declare C functions.
 *
 * The catalog may change after it was read.  A running query calls the functions that were looked
 * up when the query began: see AggregateLasts().
 *
 * src/pgbase/aggregate.c
 */
#include "pgbase/aggregate.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "executor/nodeAgg.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

/*
 * Read an aggregate's row of pg_aggregate.  *initial is true if the aggregate has an initial
 * value.  False: the aggregate does not exist.
 */
static bool
read_form(Oid aggregate, FormData_pg_aggregate *form, bool *initial)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));

	if (!HeapTupleIsValid(tuple))
		return false;
	memcpy(form, GETSTRUCT(tuple), sizeof(*form));
	*initial = !heap_attisnull(tuple, Anum_pg_aggregate_agginitval, NULL);
	ReleaseSysCache(tuple);
	return true;
}

/* Return the address of a C function, or NULL if the function is missing or not in C. */
PGFunction
CFunctionOf(Oid function)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	bool in_c;
	FmgrInfo info;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	in_c = ((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId;
	ReleaseSysCache(tuple);
	if (!in_c)
		return NULL;
	fmgr_info(function, &info);
	return info.fn_addr;
}

Oid
FunctionOwner(Oid function)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

/*
 * Read the row of an ordinary aggregate that has neither an initial value nor FINALFUNC_EXTRA.
 * False for any other aggregate.
 */
bool
AggregateReadForm(Oid aggregate, FormData_pg_aggregate *form)
{
	bool initial;

	return read_form(aggregate, form, &initial) && !initial && form->aggkind == AGGKIND_NORMAL &&
		   !form->aggfinalextra;
}

static bool
is_among(const PGFunction *list, PGFunction function)
{
	while (*list && *list != function)
		list++;
	return *list != NULL;
}

/*
 * Return the argument positions of a transition function for keys, or NULL for any other function.
 */
static const ArgumentLayout *
form_of(const AggregateFunctions *functions, PGFunction function)
{
	const AggregateTransition *transition = functions->transition;

	while (transition->function && transition->function != function)
		transition++;
	return transition->layout;
}

static bool
combines(const AggregateFunctions *functions, Oid function)
{
	return is_among(functions->combine, CFunctionOf(function));
}

/*
 * Read an aggregate that AggregateReadForm() accepts, and whose combine function and final function
 * are the family's.  False for any other aggregate.
 */
static bool
read_ours(Oid aggregate, const AggregateFunctions *functions, FormData_pg_aggregate *form)
{
	return AggregateReadForm(aggregate, form) && combines(functions, form->aggcombinefn) &&
		   functions->final == CFunctionOf(form->aggfinalfn);
}

/*
 * True if the aggregate consists of the family's functions, for keys or for stored values.  The
 * result of such an aggregate is its state.
 */
bool
AggregateIsOurs(Oid aggregate, const AggregateFunctions *functions)
{
	FormData_pg_aggregate form;

	return read_ours(aggregate, functions, &form) &&
		   (form_of(functions, CFunctionOf(form.aggtransfn)) ||
			combines(functions, form.aggtransfn));
}

/*
 * Read the key type that a transition function declares.  False unless the function takes a state
 * and a key, and returns the state type.
 */
static bool
read_types(Oid transition, Oid state_type, int key, Oid *key_type)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(transition));
	Form_pg_proc form;
	bool fits;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	fits = form->pronargs > key && form->prorettype == state_type &&
		   form->proargtypes.values[0] == state_type;
	if (fits)
		*key_type = form->proargtypes.values[key];
	ReleaseSysCache(tuple);
	return fits;
}

/* Record the functions of an aggregate. */
static void
note_form(RecognizedAggregate *recognized, Oid aggregate, const FormData_pg_aggregate *form)
{
	memset(recognized, 0, sizeof(*recognized));
	recognized->aggregate = aggregate;
	recognized->transition = form->aggtransfn;
	recognized->combine = form->aggcombinefn;
	recognized->final = form->aggfinalfn;
	recognized->combines = OidIsValid(form->aggcombinefn) &&
						   (form->aggtranstype != INTERNALOID ||
							(OidIsValid(form->aggserialfn) && OidIsValid(form->aggdeserialfn)));
}

/* True if the aggregate consists of the family's functions for keys.  Fills *recognized. */
bool
RecognizeAggregate(Oid aggregate, const AggregateFunctions *functions,
				   RecognizedAggregate *recognized)
{
	FormData_pg_aggregate form;
	const ArgumentLayout *layout;

	if (!read_ours(aggregate, functions, &form))
		return false;
	layout = form_of(functions, CFunctionOf(form.aggtransfn));
	if (layout == NULL)
		return false;
	note_form(recognized, aggregate, &form);
	recognized->layout = *layout;
	return read_types(form.aggtransfn, form.aggtranstype, functions->key, &recognized->key_type);
}

/*
 * Read the functions of an ordinary built-in aggregate.  False for any other aggregate.  A built-in
 * OID always names the same aggregate.
 */
bool
RecognizeBuiltin(Oid aggregate, RecognizedAggregate *recognized)
{
	FormData_pg_aggregate form;
	bool initial;

	if (aggregate >= FirstGenbkiObjectId || !read_form(aggregate, &form, &initial) ||
		form.aggkind != AGGKIND_NORMAL)
		return false;
	note_form(recognized, aggregate, &form);
	return true;
}

/*
 * True if the aggregate still has the functions that were recognized.  Its owner may have replaced
 * the aggregate.
 */
bool
AggregateIsStill(const RecognizedAggregate *recognized)
{
	FormData_pg_aggregate form;
	bool initial;

	return read_form(recognized->aggregate, &form, &initial) &&
		   form.aggtransfn == recognized->transition && form.aggcombinefn == recognized->combine &&
		   form.aggfinalfn == recognized->final;
}

/*
 * True if only superusers can replace the aggregate.  The executor looks up an aggregate's
 * functions when a query begins.  An owner who is no superuser can replace the functions later,
 * even in a function that the query calls.  The catalog then does not show which functions the
 * query calls.
 */
bool
AggregateLasts(Oid owner)
{
	return superuser_arg(owner);
}

/*
 * True if only our combine function receives the partial state that the node makes.  False for a
 * state that several aggregates share, because their combine functions may differ.
 */
static bool
combines_states(const AggState *node, const AggregateFunctions *functions)
{
	const AggStatePerTransData *state = node->curpertrans;
	FormData_pg_aggregate form;
	bool initial;

	return state && !state->aggshared && AggregateLasts(FunctionOwner(state->aggref->aggfnoid)) &&
		   read_form(state->aggref->aggfnoid, &form, &initial) &&
		   combines(functions, form.aggcombinefn);
}

/*
 * ---- common code of aggregate functions ----
 *
 * States are expanded objects in a child of the aggregate's context.
 */

MemoryContext
AggregateContext(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "aggregate function called in non-aggregate context");
	return context;
}

bool
AggregateIsHashed(const AggState *node)
{
	return IsA(node, AggState) &&
		   (node->aggstrategy == AGG_HASHED || node->aggstrategy == AGG_MIXED);
}

bool
AggregateIsAlone(FunctionCallInfo fcinfo)
{
	const AggState *node = (const AggState *) fcinfo->context;

	return IsA(node, AggState) && node->aggstrategy == AGG_PLAIN;
}

StateWork
AggregateWork(FunctionCallInfo fcinfo)
{
	const AggState *node = (const AggState *) fcinfo->context;
	StateWork work = { .processes = 1, .by_executor = true };
	const Agg *plan;

	if (!IsA(node, AggState))
		return work;
	plan = (const Agg *) node->ss.ps.plan;
	work.rows = outerPlan(plan)->plan_rows / Max(1, (double) plan->numGroups);
	if (DO_AGGSPLIT_SKIPFINAL(node->aggsplit) && IsInParallelMode())
		work.processes += max_parallel_workers_per_gather;
	return work;
}

MemoryContext
AggregateStates(FunctionCallInfo fcinfo, const KeyedStateType *type)
{
	MemoryContext context = AggregateContext(fcinfo);

	return AggregateIsAlone(fcinfo) ? StateNewContext(type, context) : StateContext(type, context);
}

bool
AggregatePasses(FunctionCallInfo fcinfo, const AggregateFunctions *functions)
{
	const AggState *node = (const AggState *) fcinfo->context;

	return IsA(node, AggState) && node->aggsplit == AGGSPLIT_INITIAL_SERIAL &&
		   combines_states(node, functions);
}

bool
AggregateCombines(FunctionCallInfo fcinfo)
{
	const AggState *node = (const AggState *) fcinfo->context;

	return IsA(node, AggState) && DO_AGGSPLIT_COMBINE(node->aggsplit);
}

void
AggregateStart(FunctionCallInfo fcinfo, KeyedState *state, const AggregateFunctions *functions)
{
	state->accounted = AggregateIsHashed((AggState *) fcinfo->context);
	state->token = AggregateIsAlone(fcinfo) && AggregatePasses(fcinfo, functions);
	state->passed_on = false;
}

/*
 * Return the state for the first value.  If a token was passed, "owned" is the token's object and
 * becomes the state.  If "owned" is NULL, the state is a copy of the value.
 */
static KeyedState *
state_from(FunctionCallInfo fcinfo, const KeyedStateType *type, KeyedState *owned, Datum value,
		   const AggregateFunctions *functions)
{
	KeyedState *state = owned ? owned : type->copy(AggregateStates(fcinfo, type), value);

	AggregateStart(fcinfo, state, functions);
	return state;
}

/*
 * Separate a partial state from its removals.  Returns the object if the partial state is a token,
 * else NULL.
 */
static KeyedState *
take_apart(StateApart *apart, const KeyedStateType *type, MemoryContext context)
{
	KeyedState *owned;
	KeyedState *object;

	StateTakeApart(apart, apart->state);
	owned = StateOfToken(apart->state, type, context);
	object = owned ? owned : StateExpandedIn(apart->state, type);
	if (object)
		StateTakeObjectApart(apart, object);
	return owned;
}

Datum
AggregateMerge(FunctionCallInfo fcinfo, const KeyedStateType *type,
			   const AggregateFunctions *functions, bool of_keys)
{
	MemoryContext context = AggregateContext(fcinfo);
	StateApart apart = { 0 };
	KeyedState *owned = NULL;
	KeyedState *state;

	if (PG_ARGISNULL(1))
		return AggregateUnchanged(fcinfo);
	if (PG_ARGISNULL(0) || StateOfRow(PG_GETARG_DATUM(0), type) == NULL)
		(void) AggregateMoves(fcinfo);
	apart.state = PG_GETARG_DATUM(1);
	if (AggregateCombines(fcinfo))
		owned = take_apart(&apart, type, context);
	if (PG_ARGISNULL(0))
		state = state_from(fcinfo, type, owned, apart.state, functions);
	else
	{
		state = StateForUpdate(type, context, PG_GETARG_DATUM(0));
		type->add(state, owned ? StateDatum(owned) : apart.state, of_keys);
	}
	StateTakeBack(&apart, state);
	if (owned && owned != state)
		MemoryContextDelete(owned->header.eoh_context);
	state->count++;
	return StateDatum(state);
}

/* If a window aggregate is not a moving aggregate, curaggcontext is aggcontext. */
bool
AggregateMoves(FunctionCallInfo fcinfo)
{
	const WindowAggState *node = (const WindowAggState *) fcinfo->context;

	if (node == NULL || !IsA(node, WindowAggState) || node->curaggcontext == node->aggcontext)
		return false;
	if (get_fn_expr_argtype(fcinfo->flinfo, 0) != INTERNALOID)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("moving aggregate with functions of qsketch has a state that is "
							   "not of type internal"),
						errdetail("Its other functions could keep and free the state."),
						errhint("Use an aggregate of qsketch, or declare no MSFUNC.")));
	return true;
}

Datum
AggregateUnchanged(FunctionCallInfo fcinfo)
{
	static const uint64 no_state = 0; /* flat, so no function takes it for an expanded object */

	if (!PG_ARGISNULL(0))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	if (AggregateMoves(fcinfo))
		PG_RETURN_POINTER(&no_state);
	PG_RETURN_NULL();
}

Datum
AggregateFinal(FunctionCallInfo fcinfo, const KeyedStateType *type)
{
	KeyedState *state = PG_ARGISNULL(0) ? NULL : StateExpandedIn(PG_GETARG_DATUM(0), type);

	(void) AggregateContext(fcinfo);
	if (state == NULL)
		return AggregateUnchanged(fcinfo);
	PG_RETURN_POINTER(StatePointer(state));
}
