/*
 * match.c
 *		Which aggregates and tables QSketchScan can do.
 *
 * Every aggregate must be a plain qsketch_agg, pbf_agg, qsets_agg or qtop_agg (or
 * another that is made of the same functions, see pg/recognize.c) of a column of
 * keys, or ROW() of several, perhaps one of weights or ids, and perhaps constants, and the query must
 * ask for all rows of a table whose pages are heapam's.  Whatever would be an
 * error is left to the ordinary plan, which raises it when the first key comes,
 * and only then.
 *
 * src/scan/match.c
 */
#include "pg/keyexpr.h"
#include "scan/scan.h"

#include "access/table.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* The i-th argument of an aggregate. */
static Expr *
argument(Aggref *aggref, int i)
{
	return list_nth_node(TargetEntry, aggref->args, i)->expr;
}

/* A column of the table, or NULL. */
static Var *
as_column(Expr *expr)
{
	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	if (!IsA(expr, Var) || ((Var *) expr)->varattno <= 0 || ((Var *) expr)->varlevelsup != 0)
		return NULL;
	return (Var *) expr;
}

/* Is the argument a column of integers, perhaps cast to bigint as the aggregate wants it? */
static bool
match_weight(Expr *expr, ColumnScanCall *call)
{
	if (IsA(expr, FuncExpr) &&
		(((FuncExpr *) expr)->funcid == F_INT8_INT4 || ((FuncExpr *) expr)->funcid == F_INT8_INT2))
	{
		call->weight_cast = ((FuncExpr *) expr)->funcid;
		expr = linitial(((FuncExpr *) expr)->args);
	}
	call->weight = as_column(expr);
	switch (call->weight ? getBaseType(call->weight->vartype) : InvalidOid)
	{
		case INT2OID:
			call->weight_kind = KEY_INT2;
			return true;
		case INT4OID:
			call->weight_kind = KEY_INT4;
			return true;
		case INT8OID:
			call->weight_kind = KEY_INT8;
			return true;
		default:
			return false;
	}
}

/* The family whose aggregate this is, or NULL. */
static const ColumnFamily *
recognize(Oid aggregate, RecognizedAggregate *recognized)
{
	int i;

	for (i = 0; i < COLUMN_FAMILIES; i++)
		if (RecognizeAggregate(aggregate, column_families[i].functions, recognized))
			return &column_families[i];
	return NULL;
}

/* Is this a call of an aggregate of ours, whose arguments are what it declares? */
static bool
match_aggregate(Aggref *aggref, ColumnScanCall *call)
{
	const AggregateForm *form = &call->aggregate.form;
	int key;

	call->family = recognize(aggref->aggfnoid, &call->aggregate);
	if (call->family == NULL || (form->weight && !call->family->weights) || aggref->aggstar ||
		aggref->aggvariadic ||
		list_length(aggref->args) !=
			1 + (form->weight != 0) + (form->limit != 0) + (form->template != 0))
		return false;
	key = call->family->functions->key - 1;
	call->key_type = KeyTypeOfExpr(IsPolymorphicType(call->aggregate.key_type)
									   ? list_nth_oid(aggref->aggargtypes, key)
									   : call->aggregate.key_type,
								   (Node *) argument(aggref, key));
	return true;
}

/* A constant argument that is not null; NULL: it is something else. */
static Const *
match_constant(Aggref *aggref, int i)
{
	Expr *expr = argument(aggref, i);

	return IsA(expr, Const) && !((Const *) expr)->constisnull ? (Const *) expr : NULL;
}

/* A column of keys, or ROW() of several of one table. */
static bool
match_key(Expr *expr, ColumnScanCall *call)
{
	ListCell *cell;

	call->key = as_column(expr);
	if (call->key || !IsA(expr, RowExpr) || !RowKeyTakes((RowExpr *) expr))
		return call->key != NULL;
	call->row = (RowExpr *) expr;
	foreach (cell, call->row->args)
	{
		Var *var = as_column(lfirst(cell));

		if (var == NULL || (call->key && var->varno != call->key->varno))
			return false;
		if (call->key == NULL)
			call->key = var;
	}
	return call->key != NULL;
}

/* Are the arguments no more than columns and perhaps constants? */
bool
ColumnScanMatch(Aggref *aggref, ColumnScanCall *call)
{
	const AggregateForm *form = &call->aggregate.form;

	memset(call, 0, sizeof(*call));
	if (!match_aggregate(aggref, call))
		return false;
	if (!match_key(argument(aggref, call->family->functions->key - 1), call) ||
		(form->weight && !match_weight(argument(aggref, form->weight - 1), call)))
		return false;
	if (form->limit)
		call->limit = match_constant(aggref, form->limit - 1);
	if (form->template)
		call->template = match_constant(aggref, form->template - 1);
	return (call->limit || !form->limit) && (call->template || !form->template);
}

/* Will no key raise an error?  Some types have no hash. */
static bool
takes_keys(const ColumnScanCall *call)
{
	return call->family->takes_keys(call) && KeyTypeHasHash(call->key_type);
}

static bool
is_plain(Aggref *aggref)
{
	ColumnScanCall call;

	return aggref->aggdistinct == NIL && aggref->aggorder == NIL && aggref->aggfilter == NULL &&
		   aggref->agglevelsup == 0 && ColumnScanMatch(aggref, &call) && takes_keys(&call);
}

static List *
pull_aggregates(Node *expressions)
{
	return pull_var_clause(expressions, PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
											PVC_INCLUDE_PLACEHOLDERS);
}

/* Raise an error if the planner takes aggregates of different keys for one. */
void
ColumnScanCheckShared(PlannerInfo *root)
{
	List *found = list_concat(pull_aggregates((Node *) root->processed_tlist),
							  pull_aggregates(root->parse->havingQual));
	RecognizedAggregate recognized;
	int family;
	ListCell *cell;

	for (family = 0; family < COLUMN_FAMILIES; family++)
	{
		const AggregateFunctions *functions = column_families[family].functions;
		List *aggregates = NIL;

		foreach (cell, found)
			if (IsA(lfirst(cell), Aggref) &&
				RecognizeAggregate(lfirst_node(Aggref, cell)->aggfnoid, functions, &recognized))
				aggregates = lappend(aggregates, lfirst(cell));
		KeyCheckSharedAggregates(aggregates, functions->key);
	}
}

/* All aggregates of the expressions, if each can be done; else NIL. */
List *
ColumnScanAggregates(List *expressions)
{
	List *found = pull_aggregates((Node *) expressions);
	List *aggregates = NIL;
	ListCell *cell;

	foreach (cell, found)
	{
		Node *node = lfirst(cell);

		if (!IsA(node, Aggref) || !is_plain((Aggref *) node))
			return NIL;
		aggregates = list_append_unique(aggregates, node);
	}
	return aggregates;
}

static bool
is_heap(Oid relid)
{
	Relation relation = table_open(relid, NoLock);
	bool heap = relation->rd_rel->relam == HEAP_TABLE_AM_OID;

	table_close(relation, NoLock);
	return heap;
}

/* Is this one heap table, all rows wanted, and are its columns aggregated? */
bool
ColumnScanTable(PlannerInfo *root, RelOptInfo *rel, List *aggregates)
{
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	ColumnScanCall call;
	ListCell *cell;

	if (rel->rtekind != RTE_RELATION || rte->inh || rte->tablesample != NULL ||
		rel->baserestrictinfo != NIL || rte->securityQuals != NIL ||
		(rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW) ||
		!is_heap(rte->relid))
		return false;
	foreach (cell, aggregates)
		if (!ColumnScanMatch(lfirst_node(Aggref, cell), &call) || call.key->varno != rel->relid ||
			(call.weight && call.weight->varno != rel->relid))
			return false;
	return true;
}
