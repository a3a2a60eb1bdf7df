/*
 * setup.c
 *		Reading the aggregates and conditions of a scan from its plan, checking
 *		permissions for the aggregates, and templates that are known when the scan runs.
 *
 * A template is mostly a constant.  It can also be the result of a subquery that does not
 * depend on the rows, or the parameter of a prepared statement: a Param, whose value is the
 * same for all rows of a run.  Each run reads it before it starts the states.  A parallel
 * worker gets it from the leader, as any other parameter.
 *
 * The ordinary plan raises the error of a template with which nothing can be counted when
 * the first key comes, and without keys the result is NULL.  Here such a run counts into
 * states without that template, and the error is raised in place of a result with keys.
 *
 * Parameters of a template are not known to the planner.  It takes the default ones.  It
 * must know the memory of a group, so there is no GROUP BY with such a template (match.c).
 *
 * src/scan/setup.c
 */
#include "scan/groups.h"
#include "scan/scan.h"

#include "catalog/objectaccess.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "pgbase/version.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

struct GivenTemplate
{
	Param *param;
	ExprState *state;
	Const *value; /* NULL: not read yet */
};

/* The parameters that are templates of the aggregates, which come first among the targets. */
List *
ScanTemplateParams(List *targets)
{
	List *params = NIL;
	ListCell *cell;

	foreach (cell, targets)
	{
		ColumnScanCall call;

		if (!IsA(lfirst(cell), Aggref))
			break;
		if (ColumnScanMatch(lfirst(cell), &call) && call.parameter)
			params = lappend(params, call.parameter);
	}
	return params;
}

static GivenTemplate *
create_given(Param *param, PlanState *node)
{
	GivenTemplate *given = palloc0(sizeof(GivenTemplate));

	given->param = param;
	given->state = ExecInitExpr(&param->xpr, node);
	return given;
}

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
		ColumnScanCall call = { .family = aggregate[i].family,
								.limit = (Const *) aggregate[i].limit };

		if (aggregate[i].given == NULL)
			continue;
		forget(aggregate[i].given);
		read_value(aggregate[i].given, context);
		call.template = aggregate[i].given->value;
		aggregate[i].template =
			!call.template->constisnull && call.family->takes_keys(&call) ? call.template : NULL;
	}
}

/* Raise the error of a template, if there are keys and it takes none. */
void
GivenTemplateCheck(const ScanAggregate *aggregate)
{
	const Const *value = aggregate->given->value;

	if (aggregate->template == NULL && aggregate->state->count > 0)
		aggregate->family->check_template(value->constvalue, value->constisnull);
}

/* Is it a QSketchScan without groups, which returns one row? */
bool
ScanReturnsOneRow(const CustomScan *scan)
{
	return scan->methods == &columnscan_methods &&
		   list_nth_int(scan->custom_private, PLAN_GROUP_FIELDS) == 0;
}

/* What the scan groups by, which follows the aggregates in the target list. */
List *
ScanGroupExprs(const CustomScan *scan)
{
	int fields = list_nth_int(scan->custom_private, PLAN_GROUP_FIELDS);
	List *exprs = NIL;
	ListCell *cell;

	foreach (cell, scan->custom_scan_tlist)
	{
		Expr *expr = lfirst_node(TargetEntry, cell)->expr;

		if (!IsA(expr, Aggref) && list_length(exprs) < fields)
			exprs = lappend(exprs, expr);
	}
	return exprs;
}

/*
 * Replace references to the node's target list, in which columns follow aggregates, by
 * columns of the table.
 */
static Node *
of_table(Node *node, void *list)
{
	if (node && IsA(node, Var) && ((Var *) node)->varno == INDEX_VAR)
		return copyObject(
			(Node *) list_nth_node(TargetEntry, list, ((Var *) node)->varattno - 1)->expr);
	return expression_tree_mutator(node, of_table, list);
}

/* The conditions on all rows. */
List *
ScanClauses(const CustomScan *scan)
{
	return (List *) of_table((Node *) scan->scan.plan.qual, scan->custom_scan_tlist);
}

/* Raise an error unless this role may call the function. */
static void
check_permission(Oid function, Oid role, ObjectType kind)
{
	AclResult result = FunctionAcl(function, role);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, kind, get_func_name(function));
	InvokeFunctionExecuteHook(function);
}

/*
 * Check permissions as ExecInitAgg() does: the user must be allowed to call the
 * aggregate and the functions in its arguments, the aggregate's owner those that it is
 * made of.
 */
static void
check_permissions(Oid function, const ColumnScanCall *call)
{
	const RecognizedAggregate *aggregate = &call->aggregate;

	check_permission(function, GetUserId(), OBJECT_AGGREGATE);
	check_permission(aggregate->transition, aggregate->owner, OBJECT_FUNCTION);
	if (OidIsValid(aggregate->final))
		check_permission(aggregate->final, aggregate->owner, OBJECT_FUNCTION);
	if (OidIsValid(call->weight_cast))
		check_permission(call->weight_cast, GetUserId(), OBJECT_FUNCTION);
}

/* Prepare an aggregate of PostgreSQL's own, whose partial state may have to be serialized. */
static BuiltinAggregate *
create_builtin(const Aggref *aggref, const ColumnScanCall *call)
{
	Oid finish;
	BuiltinAggregate *builtin = BuiltinCreate(aggref, &finish);

	if (OidIsValid(finish) && finish != call->aggregate.final)
		check_permission(finish, call->aggregate.owner, OBJECT_FUNCTION);
	return builtin;
}

/* Set up one column from the plan's list of aggregates. */
static void
init_aggregate(ScanAggregate *aggregate, Aggref *aggref, TupleDesc descriptor, PlanState *node)
{
	ColumnScanCall call;

	if (!ColumnScanMatch(aggref, &call))
		elog(ERROR, "unexpected aggregate in QSketchScan");
	check_permissions(aggref->aggfnoid, &call);
	if (call.key)
		ColumnLocationInit(&aggregate->location, call.key->varattno, descriptor);
	if (call.weight)
		ColumnLocationInit(&aggregate->weight, call.weight->varattno, descriptor);
	aggregate->weight_kind = call.weight_kind;
	aggregate->key_type = call.key_type;
	aggregate->collation = aggref->inputcollid;
	aggregate->row = call.row ? RowKeyCreate(call.row, descriptor) : NULL;
	aggregate->family = call.family;
	aggregate->template = call.template;
	aggregate->given = call.parameter ? create_given(call.parameter, node) : NULL;
	aggregate->limit = call.limit;
	aggregate->in_transfer =
		aggref->aggsplit != AGGSPLIT_SIMPLE && AggregateLasts(call.aggregate.owner);
	if (call.family->functions)
		ColumnDescribeKeys(aggregate);
	if (call.family == &column_builtin)
		aggregate->builtin = create_builtin(aggref, &call);
}

/* All aggregates of the scan, which come first in its target list.  Their FILTERs join the rows'. */
ScanAggregate *
ScanAggregatesInit(PlanState *node, WantedRows *rows, int *count)
{
	const CustomScan *scan = (const CustomScan *) node->plan;
	TupleDesc descriptor = RelationGetDescr(rows->relation);
	ScanAggregate *aggregate =
		palloc0(list_length(scan->custom_scan_tlist) * sizeof(ScanAggregate));
	ListCell *cell;

	*count = 0;
	foreach (cell, scan->custom_scan_tlist)
	{
		Aggref *aggref = (Aggref *) lfirst_node(TargetEntry, cell)->expr;

		if (!IsA(aggref, Aggref))
			break;
		init_aggregate(&aggregate[*count], aggref, descriptor, node);
		aggregate[(*count)++].filter_number = WantedRowsAddFilter(rows, aggref->aggfilter);
	}
	return aggregate;
}

/* Does the scan return partial states, for Finalize Aggregate? */
bool
ScanIsPartial(const CustomScan *scan)
{
	const Expr *first = linitial_node(TargetEntry, scan->custom_scan_tlist)->expr;

	return ((const Aggref *) first)->aggsplit != AGGSPLIT_SIMPLE;
}
