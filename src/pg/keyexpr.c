/*
 * keyexpr.c
 *		What the expression of a call tells of its key.
 *
 * A function declared for text is also called with keys of types that are text
 * to the machine, but have another equality: citext above all.  The parser puts
 * an implicit cast over them that does nothing (a RelabelType).  What such keys
 * were before can be seen in the expression, and only there:
 *
 *	functions			in the FmgrInfo, fn_expr
 *	aggregates			in the Aggref, whose partial form keeps its arguments
 *	window aggregates	in one of the node's WindowFuncs, without a word in
 *						which: those that may be meant must agree
 *	wrapped aggregates	some aggregate calls ours with its own Aggref in the
 *						context (Citus: worker_partial_agg).  The key is its last
 *						argument, or, where ours takes more than a key, a field of
 *						the row that its last argument packs them in.
 *						Such a call also lacks the key's collation, since a row
 *						has none.
 *
 * An explicit cast is meant, and stays: c::text is text.  Limits come from the
 * planner, which drops casts that change nothing.  It folds those of constants,
 * so that 'a'::citext arrives as a text constant; like any other that one may be
 * read as the type of those that are held (keyread.c).  Of t::citext, where t is
 * text and text is wanted, it leaves t.  Of c::varchar it leaves one implicit
 * cast, so that it counts as c.
 *
 * Where there is no expression, or one that does not fit, the declaration
 * decides.  Expressions are looked at once for a state or an FmgrInfo, never
 * for a row.
 *
 * src/pg/keyexpr.c
 */
#include "pg/keyexpr.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type_d.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

/* Transition functions take a state, a key and perhaps more. */
#define STATE_AND_KEY 2

static bool
same_equality(Oid a, Oid b)
{
	return lookup_type_cache(a, TYPECACHE_EQ_OPR)->eq_opr ==
		   lookup_type_cache(b, TYPECACHE_EQ_OPR)->eq_opr;
}

/*
 * The key's own type where its equality is not that of the declared one, which is
 * given back otherwise.  An integer under a cast to oid was meant to be one, since
 * our functions take integers: it is what the planner left of integer::regclass.
 */
Oid
KeyTypeOfExpr(Oid declared, const Node *expr)
{
	const RelabelType *cast = (const RelabelType *) expr;
	Oid own;

	if (expr == NULL || !IsA(expr, RelabelType) || cast->relabelformat != COERCE_IMPLICIT_CAST ||
		cast->resulttype != declared)
		return declared;
	own = getBaseType(exprType((Node *) cast->arg));
	if (own == declared || own == INT4OID || !IsBinaryCoercible(own, declared) ||
		same_equality(own, declared))
		return declared;
	return own;
}

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

/*
 * What a call in an aggregate says of its key: the key's expression, or NULL;
 * and whether it comes wrapped.
 */
static const Node *
aggregate_key(FunctionCallInfo fcinfo, int argument, bool *wrapped)
{
	const Aggref *aggref = AggGetAggref(fcinfo);
	Oid function = fcinfo->flinfo->fn_oid;

	*wrapped = false;
	if (aggref == NULL)
		return NULL;
	if (is_transition_of(function, aggref->aggfnoid))
		return aggregate_argument(aggref, argument - 1);
	*wrapped = true;
	return wrapped_key(aggref, function, argument);
}

/* Learn the key's type, and its collation if the call has none, in an aggregate. */
static void
learn_from_aggregate(KeyArgument *key, FunctionCallInfo fcinfo, int argument)
{
	bool wrapped;
	const Node *expr = aggregate_key(fcinfo, argument, &wrapped);

	if (expr == NULL || exprType(expr) != key->type)
		return;
	if (wrapped && !OidIsValid(key->collation) && type_is_collatable(key->type))
		key->collation = exprCollation(expr);
	key->type = KeyTypeOfExpr(key->type, expr);
}

/*
 * Of two calls that cannot be told apart one would count keys by the wrong
 * equality.
 */
static void
require_same_type(Oid a, Oid b)
{
	if (a != b)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot tell an aggregate of %s keys from one of %s keys in one query",
						format_type_be(a), format_type_be(b)),
				 errdetail("The types are cast to one another without any change."),
				 errhint("Use two queries, or a cast that changes the expression, such as "
						 "key::text || ''.")));
}

/* Can this be the argument of the row at hand?  A column is known by where its value lies. */
static bool
may_be_argument(const WindowAggState *node, const Node *expr, NullableDatum given)
{
	TupleTableSlot *row = node->tmpcontext->ecxt_outertuple;
	const Var *var;
	Datum value;
	bool null;

	while (IsA(expr, RelabelType))
		expr = (const Node *) ((const RelabelType *) expr)->arg;
	var = (const Var *) expr;
	if (!IsA(var, Var) || var->varno != OUTER_VAR || var->varattno <= 0 || TupIsNull(row))
		return true;
	value = slot_getattr(row, var->varattno, &null);
	return null == given.isnull && value == given.value;
}

/* Likewise in a window aggregate. */
static void
learn_from_window(KeyArgument *key, FunctionCallInfo fcinfo, int argument)
{
	const WindowAggState *node = (const WindowAggState *) fcinfo->context;
	Oid declared = key->type;
	bool found = false;
	ListCell *cell;

	foreach (cell, node->funcs)
	{
		const WindowFunc *call = ((WindowFuncExprState *) lfirst(cell))->wfunc;
		const Node *expr;

		if (!call->winagg || !is_transition_of(fcinfo->flinfo->fn_oid, call->winfnoid))
			continue;
		expr = list_nth(call->args, argument - 1);
		if (!may_be_argument(node, expr, fcinfo->args[argument]))
			continue;
		if (found)
			require_same_type(key->type, KeyTypeOfExpr(declared, expr));
		key->type = KeyTypeOfExpr(declared, expr);
		found = true;
	}
}

/*
 * To the planner qsketch_agg(c) and qsketch_agg(c::text) are one aggregate,
 * computed once.  Raise an error where that is wrong.  "key": which argument of
 * these it is, from 1 on.
 */
void
KeyCheckSharedAggregates(const List *aggregates, int key)
{
	ListCell *a, *b;

	foreach (a, aggregates)
	{
		const Aggref *one = lfirst_node(Aggref, a);
		const Node *expr = aggregate_argument(one, key - 1);

		if (expr == NULL || !IsA(expr, RelabelType))
			continue;
		for_each_cell(b, aggregates, lnext(aggregates, a))
		{
			const Aggref *other = lfirst_node(Aggref, b);

			if (other->aggno == one->aggno)
				require_same_type(
					KeyTypeOfExpr(exprType(expr), expr),
					KeyTypeOfExpr(exprType(expr), aggregate_argument(other, key - 1)));
		}
	}
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

/* Type of an argument: as declared, or as resolved where it is polymorphic. */
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
	if (IsPolymorphicType(type))
		type = get_fn_expr_argtype(flinfo, argument);
	if (!OidIsValid(type))
		ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE),
						errmsg("could not determine the type of the keys")));
	return type;
}

/* All that the call says of its key argument. */
void
KeyArgumentOf(KeyArgument *key, FunctionCallInfo fcinfo, int argument)
{
	int context = AggCheckCallContext(fcinfo, NULL);

	key->type = declared_type(fcinfo->flinfo, argument);
	key->collation = PG_GET_COLLATION();
	key->literal = false;
	if (context == AGG_CONTEXT_AGGREGATE)
		learn_from_aggregate(key, fcinfo, argument);
	else if (context == AGG_CONTEXT_WINDOW)
		learn_from_window(key, fcinfo, argument);
	else
	{
		key->literal = key->type == TEXTOID && KeyIsLiteral(fcinfo, argument);
		key->type = KeyTypeOfExpr(key->type, function_argument(fcinfo, argument));
	}
}

void
KeyTypeOfArgument(KeyType *key, FunctionCallInfo fcinfo, int argument)
{
	KeyArgument own;

	KeyArgumentOf(&own, fcinfo, argument);
	KeyTypeInit(key, own.type, own.collation);
	KeyTypeLearn(key, PG_GETARG_DATUM(argument));
}
