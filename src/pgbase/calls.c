/*
 * calls.c
 *		Queries that call functions of this extension by OID.
 *
 * For a function name in the text of a query, the parser takes the best match that it finds.  The
 * schema of the extension may belong to anyone, who can put functions of the same names there.  If
 * their arguments have defaults, a call becomes ambiguous, however exact its types are.  So the
 * text names nothing but the table and objects of pg_catalog.  A call of our function is written as
 * the parameter $1.  When the parser asks what $1 is, it gets a call of the function by OID.
 *
 * A function is found by its full signature, which only one function can have.  The
 * caller must check that it is made of C functions of ours, which only superusers
 * declare.
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

/* The function or aggregate with this signature, or InvalidOid. */
Oid
ExtensionFunction(Oid schema, const char *name, int count, const Oid *types)
{
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
						   PointerGetDatum(buildoidvector(types, count)), ObjectIdGetDatum(schema));
}

/* The type with this name, or InvalidOid. */
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

/* An expression that casts a column of integers to bigint. */
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

/* The arguments as the parser would make them.  Columns become Vars. */
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

/* A condition for FILTER: only rows whose weight is not negative count. */
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

/* The expression that $1 stands for. */
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
 * Run a query under the snapshot of the caller.  In its text $1 is the call; the call
 * may contain parameters, whose values are in "values".  The plan is generic, so the
 * values, which may be large, are not copied into it.
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
