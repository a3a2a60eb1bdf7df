/*
 * worker_partial.c
 *		Partial states for Citus.
 *
 * Citus computes an aggregate of a distributed table from queries to its shards.  Each query
 * returns a partial state:
 *	SELECT worker_partial_agg('qsketch_agg(anycompatible)'::regprocedure, key) FROM shard
 *	SELECT worker_partial_agg('qsketch_agg(anycompatible,qsketch)'::regprocedure,
 *							  ROW(key, template)) ...
 * The state is sent as text.  Citus 14 and later versions send it in binary if its type has a
 * binary encoding, as all our types have.  Citus then calls worker_binary_partial_agg.
 *
 * Citus' aggregate looks up our aggregate for each row, which takes several times as long as
 * counting the key.  So before such a query is planned, a call of Citus' aggregate is replaced
 * by an expression of the same value, the text or the bytes of our aggregate's result:
 *
 *	SELECT _qsketch_out(qsketch_agg(key, template)) ...
 *	SELECT _qsketch_send(qsketch_agg(key, template)) ...
 *
 * The type's input or receive function reads the states when they are combined.  This function
 * validates them, because a user may call Citus' combining aggregate with any text or bytes.
 *
 * The changed query is planned like any other query: as a column scan, in parallel, with GROUP
 * BY.  Its keys may have any type, because our aggregate declares anycompatible.  Citus' aggregate
 * refuses a key whose type is not the declared type ("could not confirm type correctness").
 *
 * Citus' aggregate is recognized by its functions.  These functions must be C functions at the
 * addresses that dlsym() finds for their names.  So only a library that a superuser has loaded can
 * provide them.  The call is replaced only if the user and the owners of both aggregates have the
 * permissions that the old and the new call need.  These permissions are checked when the query is
 * planned, so the plan becomes invalid when the role or one of the functions changes.
 *
 * src/scan/worker_partial.c
 */
#include "scan/scan.h"

#include <dlfcn.h>

#include "catalog/objectaccess.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#define TRANSITION "worker_partial_agg_sfunc"

/* Parameters that PostgreSQL added to the planner hook after version 18. */
#if PG_VERSION_NUM >= 190000
#define PLANNER_PARAMETERS , ExplainState *es
#define PLANNER_ARGUMENTS  , es
#else
#define PLANNER_PARAMETERS
#define PLANNER_ARGUMENTS
#endif

/* An aggregate of Citus.  All these aggregates have the same transition function. */
typedef struct Wrapper
{
	const char *final; /* name of its final function */
	Oid result;        /* type of the transferred state */

	/* Finds the function that converts a state of this type to the result. */
	void (*find_output)(Oid type, Oid *function, bool *varlena);
} Wrapper;

static const Wrapper wrappers[] = {
	{ "worker_partial_agg_ffunc", CSTRINGOID, getTypeOutputInfo },
	{ "worker_binary_partial_agg_ffunc", BYTEAOID, getTypeBinaryOutputInfo },
};

/* qsketch.enable_worker_partial */
static bool worker_partial_enabled = true;

static planner_hook_type previous_hook;

/* A call that can be replaced. */
typedef struct PartialCall
{
	Oid aggregate; /* our aggregate */
	FormData_pg_aggregate wrapper_form;
	FormData_pg_aggregate form;
	Oid output; /* output or send function of the state's type */
	List *args; /* arguments of our aggregate */
} PartialCall;

/* The functions on which a plan with replaced calls depends. */
typedef struct Replaced
{
	List *functions; /* list of OIDs */
} Replaced;

/* True if the function has the address of the symbol "name" in the loaded libraries. */
static bool
is_loaded_as(Oid function, const char *name)
{
	void *address = dlsym(RTLD_DEFAULT, name);

	return address && (void *) CFunctionOf(function) == address;
}

/* The aggregate of Citus that returns this type, or NULL. */
static const Wrapper *
wrapper_of(Oid result)
{
	int i;

	for (i = 0; i < lengthof(wrappers); i++)
		if (wrappers[i].result == result)
			return &wrappers[i];
	return NULL;
}

/* True if this can be a call of an aggregate of Citus.  This quick test reads no catalog. */
static bool
has_shape(const Aggref *call)
{
	return wrapper_of(call->aggtype) != NULL && call->aggkind == AGGKIND_NORMAL && !call->aggstar &&
		   !call->aggvariadic && call->aggorder == NIL && call->aggdistinct == NIL &&
		   list_length(call->args) == 2 &&
		   exprType((Node *) linitial_node(TargetEntry, call->args)->expr) == OIDOID;
}

/* The aggregate that the first argument names; InvalidOid: the argument is NULL or no constant. */
static Oid
named_aggregate(const Aggref *call)
{
	const Node *name = (const Node *) linitial_node(TargetEntry, call->args)->expr;

	while (IsA(name, RelabelType))
		name = (const Node *) ((const RelabelType *) name)->arg;
	if (!IsA(name, Const) || ((const Const *) name)->constisnull)
		return InvalidOid;
	return DatumGetObjectId(((const Const *) name)->constvalue);
}

static bool
is_ours(Oid aggregate)
{
	int family;

	for (family = 0; family < COLUMN_FAMILIES; family++)
		if (AggregateIsOurs(aggregate, column_families[family].functions))
			return true;
	return false;
}

/*
 * The "count" arguments of our aggregate.  A single argument is the second argument of Citus'
 * aggregate.  Several arguments are the fields of a row in this position.  NIL: there is no
 * row of "count" fields.
 */
static List *
unpacked(const Aggref *call, int count)
{
	Node *expr = (Node *) lsecond_node(TargetEntry, call->args)->expr;

	if (count == 1)
		return list_make1(expr);
	if (!IsA(expr, RowExpr) || ((RowExpr *) expr)->row_typeid != RECORDOID ||
		list_length(((RowExpr *) expr)->args) != count)
		return NIL;
	return ((RowExpr *) expr)->args;
}

/* True if our aggregate declares arguments of the types of "args", so that no cast is needed. */
static bool
has_types(List *args, const Oid *declared)
{
	Oid actual[FUNC_MAX_ARGS];
	int count = 0;
	ListCell *cell;

	foreach (cell, args)
	{
		actual[count] = exprType(lfirst(cell));
		if (actual[count] != declared[count] && !IsPolymorphicType(declared[count]))
			return false;
		count++;
	}
	return check_generic_type_consistency(actual, declared, count);
}

/* True if this is a call of Citus' aggregate for one of our aggregates.  Then "call" is set. */
static bool
match(const Aggref *aggref, PartialCall *call)
{
	const Wrapper *wrapper = wrapper_of(aggref->aggtype);
	Oid *declared;
	int count;
	bool varlena;

	if (!has_shape(aggref) || !AggregateReadForm(aggref->aggfnoid, &call->wrapper_form) ||
		!is_loaded_as(call->wrapper_form.aggtransfn, TRANSITION) ||
		!is_loaded_as(call->wrapper_form.aggfinalfn, wrapper->final))
		return false;
	call->aggregate = named_aggregate(aggref);
	if (!is_ours(call->aggregate) || !AggregateReadForm(call->aggregate, &call->form) ||
		get_func_signature(call->aggregate, &declared, &count) != call->form.aggtranstype)
		return false;
	wrapper->find_output(call->form.aggtranstype, &call->output, &varlena);
	call->args = unpacked(aggref, count);
	return call->args != NIL && has_types(call->args, declared);
}

static bool
may_execute(Oid function, Oid role)
{
	return FunctionAcl(function, role) == ACLCHECK_OK;
}

/*
 * True if the permissions for the functions of the call and of its replacement suffice.
 * Citus' aggregate checks that the user may execute the functions of our aggregate.  The
 * executor checks that the owner of our aggregate may execute them.  Appends each permitted
 * function to the list.
 */
static bool
is_permitted(const Aggref *aggref, const PartialCall *call, List **functions)
{
	const Oid of_user[] = { aggref->aggfnoid,        call->aggregate,       call->form.aggtransfn,
							call->form.aggcombinefn, call->form.aggfinalfn, call->output };
	const Oid of_wrapper[] = { call->wrapper_form.aggtransfn, call->wrapper_form.aggfinalfn };
	Oid wrapper_owner = FunctionOwner(aggref->aggfnoid);
	Oid owner = FunctionOwner(call->aggregate);
	int i;

	for (i = 0; i < lengthof(of_user); i++)
	{
		if (!may_execute(of_user[i], GetUserId()) ||
			(i >= 2 && i <= 4 && !may_execute(of_user[i], owner)))
			return false;
		*functions = lappend_oid(*functions, of_user[i]);
	}
	for (i = 0; i < lengthof(of_wrapper); i++)
	{
		if (!may_execute(of_wrapper[i], wrapper_owner))
			return false;
		*functions = lappend_oid(*functions, of_wrapper[i]);
	}
	return true;
}

/* Make the call of our aggregate that replaces Citus' call. */
static Aggref *
make_aggref(const Aggref *aggref, const PartialCall *call)
{
	Aggref *ours = makeNode(Aggref);
	ListCell *cell;

	ours->aggfnoid = call->aggregate;
	ours->aggtype = call->form.aggtranstype;
	foreach (cell, call->args)
	{
		Node *expr = lfirst(cell);

		ours->aggargtypes = lappend_oid(ours->aggargtypes, exprType(expr));
		ours->args = lappend(
			ours->args, makeTargetEntry((Expr *) expr, list_length(ours->args) + 1, NULL, false));
		if (!OidIsValid(ours->inputcollid) && type_is_collatable(exprType(expr)))
			ours->inputcollid = exprCollation(expr);
	}
	ours->aggfilter = aggref->aggfilter;
	ours->aggkind = AGGKIND_NORMAL;
	ours->agglevelsup = aggref->agglevelsup;
	ours->aggsplit = AGGSPLIT_SIMPLE;
	ours->aggno = -1;
	ours->aggtransno = -1;
	ours->location = aggref->location;
	return ours;
}

/* True if the query may have a call to replace. */
static bool
may_be_called(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, may_be_called, context, 0);
	if (IsA(node, Aggref) && has_shape((Aggref *) node))
		return true;
	return expression_tree_walker(node, may_be_called, context);
}

static Node *
replace(Node *node, void *context)
{
	Replaced *replaced = context;
	PartialCall call;
	Aggref *aggref;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, replace, context, 0);
	node = expression_tree_mutator(node, replace, context);
	aggref = (Aggref *) node;
	if (!IsA(node, Aggref) || !match(aggref, &call) ||
		!is_permitted(aggref, &call, &replaced->functions))
		return node;
	InvokeFunctionExecuteHook(aggref->aggfnoid);
	return (Node *) makeFuncExpr(call.output, aggref->aggtype,
								 list_make1(make_aggref(aggref, &call)), InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/* Make the plan invalid for another role, and when one of the functions changes. */
static void
limit_plan(PlannedStmt *plan, const Replaced *replaced)
{
	ListCell *cell;

	foreach (cell, replaced->functions)
	{
		PlanInvalItem *item = makeNode(PlanInvalItem);

		item->cacheId = PROCOID;
		item->hashValue = GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(lfirst_oid(cell)));
		plan->invalItems = lappend(plan->invalItems, item);
	}
	plan->dependsOnRole = true;
}

static PlannedStmt *
plan_query(Query *query, const char *text, int options, ParamListInfo parameters PLANNER_PARAMETERS)
{
	Replaced replaced = { 0 };
	PlannedStmt *plan;

	if (worker_partial_enabled && may_be_called((Node *) query, NULL))
		query = (Query *) replace((Node *) query, &replaced);
	plan = previous_hook ? previous_hook(query, text, options, parameters PLANNER_ARGUMENTS)
						 : standard_planner(query, text, options, parameters PLANNER_ARGUMENTS);
	if (replaced.functions != NIL)
		limit_plan(plan, &replaced);
	return plan;
}

/*
 * Define the setting and set the hook when the library is loaded.  Citus must set its hooks
 * before any other library does.  So no hook is set if the server still preloads libraries and
 * has not loaded Citus yet.
 */
void
WorkerPartialInit(void)
{
	DefineCustomBoolVariable(
		"qsketch.enable_worker_partial",
		"Enables planning of Citus' partial aggregates as the aggregates themselves.", NULL,
		&worker_partial_enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	if (process_shared_preload_libraries_in_progress && dlsym(RTLD_DEFAULT, TRANSITION) == NULL)
		return;
	previous_hook = planner_hook;
	planner_hook = plan_query;
}
