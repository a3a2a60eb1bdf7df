/*
 * calls.c
 *		Builds and runs queries that call the extension's functions by OID.
 *
 * The parser resolves a function name in a query's text to the best match.  Any role may own the
 * schema of the extension, and can create functions with the names of our functions in this schema.
 * If the arguments of such a function have defaults, even a call with exact types is ambiguous.  So
 * the query's text names only the table and objects of pg_catalog.  The parameter $1 stands for a
 * call of our function.  A parser hook replaces $1 by a call of the function by OID.
 *
 * ExtensionFunction() finds a function or an aggregate by its full signature, which is unique in a
 * schema.  The caller must check that the function, or each function of the aggregate, is a C
 * function of this library.  Only superusers declare C functions.
 *
 * src/pgbase/calls.c
 */
#include "pgbase/calls.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/value.h"
#include "executor/spi.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_agg.h"
#include "parser/parse_coerce.h"
#include "parser/parse_oper.h"
#include "parser/parse_relation.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* Return the function or aggregate with this signature, or InvalidOid. */
Oid
ExtensionFunction(Oid schema, const char *name, int count, const Oid *types)
{
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
						   PointerGetDatum(buildoidvector(types, count)), ObjectIdGetDatum(schema));
}

Oid
ExtensionType(Oid schema, const char *name)
{
	return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(name),
						   ObjectIdGetDatum(schema));
}

void
ExtensionMisses(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_FUNCTION),
			 errmsg("function %s of extension qsketch is missing or has been replaced", name),
			 errhint("Drop the extension and create it again.")));
}

static Node *
column_of(ParseState *pstate, const char *name)
{
	Node *column = colNameToVar(pstate, name, true, -1);

	if (column == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN), errmsg("column \"%s\" does not exist", name)));
	return column;
}

/* Return an expression that casts a column of integers to bigint. */
static Node *
weight_of(ParseState *pstate, const char *name)
{
	Node *column = column_of(pstate, name);
	Node *weight = coerce_to_target_type(pstate, column, exprType(column), INT8OID, -1,
										 COERCION_IMPLICIT, COERCE_IMPLICIT_CAST, -1);

	if (weight == NULL)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("column \"%s\" has type %s, not an integer type", name,
							   format_type_be(exprType(column)))));
	return weight;
}

/* Return the call's arguments as parsed expressions.  Columns become Vars. */
static List *
arguments_of(ParseState *pstate, const ExtensionCall *call)
{
	List *arguments = NIL;
	ListCell *cell;

	foreach (cell, call->arguments)
	{
		if (lfirst(cell) != NULL)
			arguments = lappend(arguments, copyObject(lfirst(cell)));
		else
			arguments = lappend(arguments, column_of(pstate, call->column));
		if (lfirst(cell) == NULL && call->weight)
			arguments = lappend(arguments, weight_of(pstate, call->weight));
	}
	return arguments;
}

/* Return a condition for FILTER that excludes rows of negative weight. */
static Expr *
not_negative(ParseState *pstate, const char *weight)
{
	List *name = list_make2(makeString("pg_catalog"), makeString(">="));
	Node *zero =
		(Node *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(0), false, true);

	return make_op(pstate, name, column_of(pstate, weight), zero, NULL, -1);
}

static Node *
aggregate_call(ParseState *pstate, const ExtensionCall *call, List *arguments)
{
	Aggref *aggregate = makeNode(Aggref);

	if (call->weight)
		aggregate->aggfilter = not_negative(pstate, call->weight);

	aggregate->aggfnoid = call->function;
	aggregate->aggtype = get_func_rettype(call->function);
	aggregate->aggkind = AGGKIND_NORMAL;
	aggregate->aggsplit = AGGSPLIT_SIMPLE;
	aggregate->aggno = -1;
	aggregate->aggtransno = -1;
	aggregate->location = -1;
	transformAggregateCall(pstate, aggregate, arguments, NIL, false);
	return (Node *) aggregate;
}

/* The parser hook: return the expression that $1 stands for. */
static Node *
make_call(ParseState *pstate, ParamRef *parameter)
{
	const ExtensionCall *call = pstate->p_ref_hook_state;
	List *arguments = arguments_of(pstate, call);

	if (get_func_prokind(call->function) == PROKIND_AGGREGATE)
		return aggregate_call(pstate, call, arguments);
	return (Node *) makeFuncExpr(call->function, get_func_rettype(call->function), arguments,
								 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

static void
set_hook(ParseState *pstate, void *call)
{
	pstate->p_paramref_hook = make_call;
	pstate->p_ref_hook_state = call;
}

/*
 * Run a query under the caller's snapshot.  In the query's text, $1 is the call.  The call may
 * contain parameters, whose values are in "values".  The plan is generic, so the values, which may
 * be large, are not copied into the plan.
 */
void
RunQuery(const char *query, ExtensionCall *call, ParamListInfo values)
{
	SPIPlanPtr plan =
		SPI_prepare_params(query, set_hook, call, CURSOR_OPT_PARALLEL_OK | CURSOR_OPT_GENERIC_PLAN);
	int result;

	if (plan == NULL)
		elog(ERROR, "could not prepare query: %s", SPI_result_code_string(SPI_result));
	result = SPI_execute_plan_with_paramlist(plan, values, true, 0);
	if (result != SPI_OK_SELECT)
		elog(ERROR, "could not run query: %s", SPI_result_code_string(result));
}
