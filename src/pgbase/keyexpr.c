/*
 * keyexpr.c
 *		What the expression of a call says about its key.
 *
 * Our functions of keys are declared for keys of any type.  So only the call shows the
 * type of its key:
 *
 *	functions, aggregates	fn_expr in the FmgrInfo
 *	wrapped aggregates		an aggregate of others may call ours with its own Aggref
 *							in the context, and without fn_expr (Citus does so in
 *							worker_partial_agg).  The key is the last argument of
 *							that Aggref.  If ours takes more than a key, the last
 *							argument is a row of our arguments, and the key is a
 *							field of it.  Such a call has no collation for the key,
 *							since a row has none.
 *
 * Expressions are examined once for a state or an FmgrInfo, never for each row.
 *
 * src/pgbase/keyexpr.c
 */
#include "pgbase/keyexpr.h"
#include "pgbase/row.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* A transition function has at least two arguments: a state and a key. */
#define STATE_AND_KEY 2

/* The i-th argument of an aggregate, without arguments that only ORDER BY uses. */
static const Node *
aggregate_argument(const Aggref *aggref, int i)
{
	const TargetEntry *entry;

	if (i < 0 || i >= list_length(aggref->args))
		return NULL;
	entry = list_nth_node(TargetEntry, aggref->args, i);
	return entry->resjunk ? NULL : (const Node *) entry->expr;
}

/*
 * Is this function the aggregate's transition function, in one of its forms?  The query may have
 * dropped the aggregate, which is then taken for its own.
 */
static bool
is_transition_of(Oid function, Oid aggregate)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	Form_pg_aggregate form;
	bool is;

	if (!HeapTupleIsValid(tuple))
		return true;
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	is = form->aggtransfn == function || form->aggmtransfn == function ||
		 form->aggminvtransfn == function;
	ReleaseSysCache(tuple);
	return is;
}

/* The key in the arguments of an aggregate that wraps ours, or NULL. */
static const Node *
wrapped_key(const Aggref *wrapper, Oid transition, int argument)
{
	const Node *last = aggregate_argument(wrapper, list_length(wrapper->aggargtypes) - 1);

	if (get_func_nargs(transition) == STATE_AND_KEY)
		return last;
	if (last == NULL || !IsA(last, RowExpr) ||
		argument > list_length(((const RowExpr *) last)->args))
		return NULL;
	return list_nth(((const RowExpr *) last)->args, argument - 1);
}

/* The expression of the key if another aggregate wraps ours, or NULL. */
static const Node *
key_of_wrapper(FunctionCallInfo fcinfo, int argument)
{
	const Aggref *aggref = AggGetAggref(fcinfo);

	if (aggref == NULL || is_transition_of(fcinfo->flinfo->fn_oid, aggref->aggfnoid))
		return NULL;
	return wrapped_key(aggref, fcinfo->flinfo->fn_oid, argument);
}

/* The expression of an argument of a function outside aggregates, or NULL. */
static const Node *
function_argument(FunctionCallInfo fcinfo, int argument)
{
	const FuncExpr *call = (const FuncExpr *) fcinfo->flinfo->fn_expr;

	if (call == NULL || !IsA(call, FuncExpr) || argument >= list_length(call->args))
		return NULL;
	return list_nth(call->args, argument);
}

/* Is the argument a constant or a parameter of the query? */
bool
KeyIsLiteral(FunctionCallInfo fcinfo, int argument)
{
	const Node *expr = function_argument(fcinfo, argument);

	while (expr && IsA(expr, RelabelType))
		expr = (const Node *) ((const RelabelType *) expr)->arg;
	return expr && (IsA(expr, Const) ||
					(IsA(expr, Param) && ((const Param *) expr)->paramkind == PARAM_EXTERN));
}

/* The declared type of an argument, unless that is polymorphic. */
static Oid
declared_type(Oid function, int argument)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	Oid type;

	if (!HeapTupleIsValid(tuple))
		FunctionIsMissing(function);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	if (argument >= form->pronargs)
		elog(ERROR, "function %u has no argument %d", function, argument);
	type = form->proargtypes.values[argument];
	ReleaseSysCache(tuple);
	return IsPolymorphicType(type) ? InvalidOid : type;
}

/*
 * Type of an argument: that in the call, which the parser has made the declared one; the
 * declared one if the call has none.  InvalidOid: nothing says it.  The catalog comes second,
 * since a query can drop a function and go on calling it.
 */
static Oid
argument_type(FmgrInfo *flinfo, int argument)
{
	Oid type = get_fn_expr_argtype(flinfo, argument);

	return OidIsValid(type) ? type : declared_type(flinfo->fn_oid, argument);
}

/* Fill in the type and collation that a call from a wrapping aggregate lacks. */
static void
learn_from_wrapper(KeyArgument *key, const Node *expr)
{
	if (!OidIsValid(key->type))
		key->type = exprType(expr);
	if (!OidIsValid(key->collation) && exprType(expr) == key->type && type_is_collatable(key->type))
		key->collation = exprCollation(expr);
}

/* Everything that the call says about its key argument. */
void
KeyArgumentOf(KeyArgument *key, FunctionCallInfo fcinfo, int argument)
{
	int context = AggCheckCallContext(fcinfo, NULL);
	const Node *wrapped;

	key->type = argument_type(fcinfo->flinfo, argument);
	key->collation = PG_GET_COLLATION();
	wrapped = context == AGG_CONTEXT_AGGREGATE ? key_of_wrapper(fcinfo, argument) : NULL;
	if (wrapped)
		learn_from_wrapper(key, wrapped);
	if (!OidIsValid(key->type))
		ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE),
						errmsg("could not determine the type of the keys")));
	key->literal = !context && key->type == TEXTOID && KeyIsLiteral(fcinfo, argument);
}

void
KeyTypeOfArgument(KeyType *key, FunctionCallInfo fcinfo, int argument)
{
	KeyArgument own;

	KeyArgumentOf(&own, fcinfo, argument);
	KeyTypeInit(key, own.type, own.collation);
	KeyTypeLearn(key, PG_GETARG_DATUM(argument));
}
