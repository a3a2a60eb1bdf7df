/*
 * keyexpr.c
 *		What the expression of a call tells of its key.
 *
 * Our functions of keys are declared for keys of any type, so the type that a
 * key has can only be seen in the call:
 *
 *	functions, aggregates	in the FmgrInfo, fn_expr
 *	wrapped aggregates		some aggregate calls ours with its own Aggref in the
 *							context, and without fn_expr (Citus:
 *							worker_partial_agg).  The key is its last argument, or,
 *							where ours takes more than a key, a field of the row
 *							that its last argument packs them in.  Such a call also
 *							lacks the key's collation, since a row has none.
 *
 * Expressions are looked at once for a state or an FmgrInfo, never for a row.
 *
 * src/pgbase/keyexpr.c
 */
#include "pgbase/keyexpr.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* Transition functions take a state, a key and perhaps more. */
#define STATE_AND_KEY 2

/* The i-th of the arguments that are not only there for ORDER BY. */
static const Node *
aggregate_argument(const Aggref *aggref, int i)
{
	const TargetEntry *entry;

	if (i < 0 || i >= list_length(aggref->args))
		return NULL;
	entry = list_nth_node(TargetEntry, aggref->args, i);
	return entry->resjunk ? NULL : (const Node *) entry->expr;
}

/* Does the aggregate call this function for its rows? */
static bool
is_transition_of(Oid function, Oid aggregate)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	Form_pg_aggregate form;
	bool is;

	if (!HeapTupleIsValid(tuple))
		return false;
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

/* The expression of the key where another aggregate calls ours, or NULL. */
static const Node *
key_of_wrapper(FunctionCallInfo fcinfo, int argument)
{
	const Aggref *aggref = AggGetAggref(fcinfo);

	if (aggref == NULL || is_transition_of(fcinfo->flinfo->fn_oid, aggref->aggfnoid))
		return NULL;
	return wrapped_key(aggref, fcinfo->flinfo->fn_oid, argument);
}

/* The expression of an argument of a function that no aggregate calls, or NULL. */
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

/* Type of an argument: as declared, or as the call has it where it is polymorphic; InvalidOid: nobody knows. */
static Oid
declared_type(FmgrInfo *flinfo, int argument)
{
	Oid *types;
	int count;
	Oid type;

	(void) get_func_signature(flinfo->fn_oid, &types, &count);
	if (argument >= count)
		elog(ERROR, "function %u has no argument %d", flinfo->fn_oid, argument);
	type = types[argument];
	pfree(types);
	return IsPolymorphicType(type) ? get_fn_expr_argtype(flinfo, argument) : type;
}

/* Learn what a call lacks that another aggregate makes. */
static void
learn_from_wrapper(KeyArgument *key, const Node *expr)
{
	if (!OidIsValid(key->type))
		key->type = exprType(expr);
	if (!OidIsValid(key->collation) && exprType(expr) == key->type && type_is_collatable(key->type))
		key->collation = exprCollation(expr);
}

/* All that the call says of its key argument. */
void
KeyArgumentOf(KeyArgument *key, FunctionCallInfo fcinfo, int argument)
{
	int context = AggCheckCallContext(fcinfo, NULL);
	const Node *wrapped =
		context == AGG_CONTEXT_AGGREGATE ? key_of_wrapper(fcinfo, argument) : NULL;

	key->type = declared_type(fcinfo->flinfo, argument);
	key->collation = PG_GET_COLLATION();
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
