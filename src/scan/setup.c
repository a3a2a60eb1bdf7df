/*
 * setup.c
 *		Reading the aggregates and conditions of a scan from its plan, and checking
 *		permissions for the aggregates.
 *
 * src/scan/setup.c
 */
#include "scan/groups.h"

#include "catalog/objectaccess.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "pgbase/version.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* Is it a QSketchScan without groups, which returns one row? */
bool
ScanReturnsOneRow(const CustomScan *scan)
{
	return scan->methods == &columnscan_methods && lthird(scan->custom_private) == NULL;
}

/* What the scan groups by, which follows the aggregates in the target list. */
List *
ScanGroupExprs(const CustomScan *scan)
{
	int fields = ScanGroupingFields(lthird(scan->custom_private));
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

/* HAVING, the first item of custom_exprs.  The second has the parameters that are templates. */
List *
ScanHavingClauses(const CustomScan *scan)
{
	return linitial(scan->custom_exprs);
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
init_aggregate(ScanAggregate *column, Aggref *aggref, TupleDesc descriptor, PlanState *node)
{
	ColumnScanCall call;

	if (!ColumnScanMatch(aggref, &call))
		elog(ERROR, "unexpected aggregate in QSketchScan");
	check_permissions(aggref->aggfnoid, &call);
	if (call.key)
		ColumnPlaceInit(&column->place, call.key->varattno, descriptor);
	if (call.weight)
		ColumnPlaceInit(&column->weight, call.weight->varattno, descriptor);
	column->weight_kind = call.weight_kind;
	column->key_type = call.key_type;
	column->collation = aggref->inputcollid;
	column->row = call.row ? RowKeyCreate(call.row, descriptor) : NULL;
	column->family = call.family;
	column->template = call.template;
	column->given = call.parameter ? GivenTemplateCreate(call.parameter, node) : NULL;
	column->limit = call.limit;
	column->handed = aggref->aggsplit != AGGSPLIT_SIMPLE && AggregateLasts(call.aggregate.owner);
	if (call.family->functions)
		ColumnDescribeKeys(column);
	if (call.family == &column_builtin)
		column->builtin = create_builtin(aggref, &call);
}

/* All aggregates of the scan, which come first in its target list.  Their FILTERs join the rows'. */
ScanAggregate *
ScanAggregatesInit(PlanState *node, WantedRows *rows, int *count)
{
	const CustomScan *scan = (const CustomScan *) node->plan;
	TupleDesc descriptor = RelationGetDescr(rows->relation);
	ScanAggregate *column = palloc0(list_length(scan->custom_scan_tlist) * sizeof(ScanAggregate));
	ListCell *cell;

	*count = 0;
	foreach (cell, scan->custom_scan_tlist)
	{
		Aggref *aggref = (Aggref *) lfirst_node(TargetEntry, cell)->expr;

		if (!IsA(aggref, Aggref))
			break;
		init_aggregate(&column[*count], aggref, descriptor, node);
		column[(*count)++].filter_number = WantedRowsAddFilter(rows, aggref->aggfilter);
	}
	return column;
}

/* Does the scan return partial states, for Finalize Aggregate? */
bool
ScanIsPartial(const CustomScan *scan)
{
	const Expr *first = linitial_node(TargetEntry, scan->custom_scan_tlist)->expr;

	return ((const Aggref *) first)->aggsplit != AGGSPLIT_SIMPLE;
}
