/*
 * match.c
 *		Which aggregates and tables QSketchScan can do.
 *
 * Each aggregate must be a plain qsketch_agg, qfilter_agg, qsets_agg or qtop_agg, or
 * another aggregate made of the same functions (pgbase/aggregate.c), or beside one of
 * them a count, sum, average, minimum or maximum.  Its arguments must be a column of
 * keys, or ROW() of several columns, perhaps a column of weights or ids, and perhaps
 * constants.  A template can also be a parameter, such as the result of a subquery
 * (setup.c).  The table's pages must be heapam's.  Whatever would be an error is left
 * to the ordinary plan, which raises it only when the first key comes.
 *
 * A condition, in WHERE or FILTER, must give the same answer page by page as row by
 * row, so it must not be volatile.  Subqueries that run for each row are left to the
 * ordinary plan.  So are system columns except tableoid, since a tuple on a page does
 * not have their values.
 *
 * src/scan/match.c
 */
#include "scan/scan.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
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

/* The column of the table that the expression is, or NULL. */
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
			return ScanRefuse("weights or ids that are not a column of integers");
	}
}

/* The family of the aggregate, or NULL if it is not one of ours. */
static const ColumnFamily *
recognize(Oid aggregate, RecognizedAggregate *recognized)
{
	int i;

	for (i = 0; i < COLUMN_FAMILIES; i++)
		if (RecognizeAggregate(aggregate, column_families[i].functions, recognized))
			return &column_families[i];
	return NULL;
}

/* Is the call one of our aggregates, with the arguments that it declares? */
static bool
match_aggregate(Aggref *aggref, ColumnScanCall *call)
{
	const ArgumentLayout *layout = &call->aggregate.layout;
	int key;

	call->family = recognize(aggref->aggfnoid, &call->aggregate);
	if (call->family == NULL)
		return ScanRefuse("an aggregate of another kind");
	if ((layout->weight && !call->family->weights) || aggref->aggstar || aggref->aggvariadic ||
		list_length(aggref->args) !=
			1 + (layout->weight != 0) + (layout->limit != 0) + (layout->template != 0))
		return ScanRefuse("an aggregate of this form");
	key = call->family->functions->key - 1;
	call->key_type = IsPolymorphicType(call->aggregate.key_type)
						 ? list_nth_oid(aggref->aggargtypes, key)
						 : call->aggregate.key_type;
	return true;
}

/* The argument if it is a constant that is not null, else NULL. */
static Const *
match_constant(Aggref *aggref, int i)
{
	Expr *expr = argument(aggref, i);

	return IsA(expr, Const) && !((Const *) expr)->constisnull ? (Const *) expr : NULL;
}

/* The argument if it is a parameter, whose value is known when the scan runs, else NULL. */
static Param *
match_parameter(Aggref *aggref, int i)
{
	Expr *expr = argument(aggref, i);

	return IsA(expr, Param) ? (Param *) expr : NULL;
}

/* Is the call a count of all rows, or of a column? */
static bool
match_count(Aggref *aggref, ColumnScanCall *call)
{
	if (!RecognizeCount(aggref->aggfnoid, &call->aggregate))
		return false;
	call->family = &column_count;
	if (!aggref->aggstar)
		call->key = as_column(argument(aggref, 0));
	return aggref->aggstar || call->key;
}

/* Is the call a sum, average, minimum or maximum of a column? */
static bool
match_builtin(Aggref *aggref, ColumnScanCall *call)
{
	call->family = &column_builtin;
	call->key = as_column(argument(aggref, 0));
	return call->key || ScanRefuse("sum, avg, min or max of something that is no column");
}

/* Is the key a column, or ROW() of several columns of one table? */
static bool
match_key(Expr *expr, ColumnScanCall *call)
{
	ListCell *cell;

	call->key = as_column(expr);
	if (call->key)
		return true;
	if (!IsA(expr, RowExpr) || !RowKeyTakes((RowExpr *) expr))
		return ScanRefuse("a key that is no column");
	call->row = (RowExpr *) expr;
	foreach (cell, call->row->args)
	{
		Var *var = as_column(lfirst(cell));

		if (var == NULL || (call->key && var->varno != call->key->varno))
			return ScanRefuse("ROW() with a field that is not a column of the same table");
		if (call->key == NULL)
			call->key = var;
	}
	return call->key != NULL || ScanRefuse("a key that is no column");
}

/* Can this call be done: are its arguments only columns and perhaps constants? */
bool
ColumnScanMatch(Aggref *aggref, ColumnScanCall *call)
{
	const ArgumentLayout *layout = &call->aggregate.layout;

	memset(call, 0, sizeof(*call));
	call->filter = aggref->aggfilter;
	if (match_count(aggref, call))
		return true;
	if (RecognizeBuiltin(aggref->aggfnoid, &call->aggregate))
		return match_builtin(aggref, call);
	if (!match_aggregate(aggref, call))
		return false;
	if (!match_key(argument(aggref, call->family->functions->key - 1), call) ||
		(layout->weight && !match_weight(argument(aggref, layout->weight - 1), call)))
		return false;
	if (layout->limit)
		call->limit = match_constant(aggref, layout->limit - 1);
	if (layout->template)
	{
		call->template = match_constant(aggref, layout->template - 1);
		call->parameter = match_parameter(aggref, layout->template - 1);
	}
	return ((call->limit || !layout->limit) &&
			(call->template || call->parameter || !layout->template)) ||
		   ScanRefuse("a template or number that is not a constant");
}

/* Is it certain that no key raises an error?  Some types have no hash. */
static bool
takes_keys(const ColumnScanCall *call)
{
	return call->family->takes_keys(call) &&
		   (call->family->functions == NULL || KeyTypeHasHash(call->key_type) ||
			ScanRefuse("keys of a type without a hash function"));
}

static bool
is_plain(Aggref *aggref, ColumnScanCall *call)
{
	if (aggref->aggdistinct != NIL || aggref->aggorder != NIL || aggref->agglevelsup != 0)
		return ScanRefuse("DISTINCT or ORDER BY in an aggregate");
	return ColumnScanMatch(aggref, call) && takes_keys(call);
}

static List *
pull_aggregates(Node *expressions)
{
	return pull_var_clause(expressions, PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
											PVC_INCLUDE_PLACEHOLDERS);
}

/* Does the query have aggregates of ours? */
bool
ColumnScanHasAggregates(PlannerInfo *root)
{
	List *found = list_concat(pull_aggregates((Node *) root->processed_tlist),
							  pull_aggregates(root->parse->havingQual));
	RecognizedAggregate recognized;
	ListCell *cell;

	foreach (cell, found)
		if (IsA(lfirst(cell), Aggref) &&
			recognize(lfirst_node(Aggref, cell)->aggfnoid, &recognized))
			return true;
	return false;
}

/* What a walk through expressions collects. */
typedef struct Collected
{
	List *groups;     /* expressions of GROUP BY */
	List *aggregates; /* each once */
	bool ours;        /* not all are PostgreSQL's own */
} Collected;

/* Collect aggregates; true: there is something that cannot be done. */
static bool
collect_aggregates(Node *node, void *context)
{
	Collected *collected = context;
	ColumnScanCall call;

	if (node == NULL || list_member(collected->groups, node))
		return false;
	if (IsA(node, Var) || IsA(node, PlaceHolderVar) || IsA(node, GroupingFunc))
		return !ScanRefuse("columns outside of aggregates");
	if (!IsA(node, Aggref))
		return expression_tree_walker(node, collect_aggregates, context);
	if (!is_plain((Aggref *) node, &call))
		return true;
	if (call.parameter && collected->groups != NIL) /* the memory of a group is not known */
		return !ScanRefuse("GROUP BY with a template that is not a constant");
	collected->ours |= call.family->functions != NULL;
	collected->aggregates = list_append_unique(collected->aggregates, node);
	return false;
}

/*
 * All aggregates of the expressions, if each can be done and not all are PostgreSQL's own;
 * else NIL.  Outside of aggregates the expressions may contain only what GROUP BY has.
 */
List *
ColumnScanAggregates(List *expressions, List *groups)
{
	Collected collected = { .groups = groups };

	if (collect_aggregates((Node *) expressions, &collected) || !collected.ours)
		return NIL;
	return collected.aggregates;
}

static bool
is_heap(Oid relid)
{
	Relation relation = table_open(relid, NoLock);
	bool heap = relation->rd_rel->relam == HEAP_TABLE_AM_OID;

	table_close(relation, NoLock);
	return heap;
}

/* Does an expression need anything that pages of tuples do not have? */
static bool
asks_for_more(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varlevelsup != 0 ||
			   (((Var *) node)->varattno < 0 &&
				((Var *) node)->varattno != TableOidAttributeNumber);
	if (IsA(node, PlaceHolderVar) || IsA(node, Aggref) || IsA(node, GroupingFunc) ||
		IsA(node, CurrentOfExpr))
		return true;
	return expression_tree_walker(node, asks_for_more, context);
}

/* Does the expression need nothing but columns of tuples of this table? */
bool
ColumnScanTakesExpression(PlannerInfo *root, RelOptInfo *rel, Node *expr)
{
	return bms_is_subset(pull_varnos(root, expr), rel->relids) && !asks_for_more(expr, NULL);
}

/* Can this condition be tested page by page, on tuples of this table alone? */
static bool
takes_condition(PlannerInfo *root, RelOptInfo *rel, Node *condition)
{
	if (contain_volatile_functions(condition))
		return ScanRefuse("a condition with a volatile function");
	if (contain_subplans(condition))
		return ScanRefuse("a condition with a subquery for each row");
	return ColumnScanTakesExpression(root, rel, condition) ||
		   ScanRefuse("a condition on more than the table's columns");
}

/* Are there one-time conditions?  For them the ordinary plan may not even open the table. */
static bool
takes_conditions(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell *cell;

	foreach (cell, rel->baserestrictinfo)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, cell);

		if (info->pseudoconstant)
			return ScanRefuse("a condition that is the same for all rows");
		if (!takes_condition(root, rel, (Node *) info->clause))
			return false;
	}
	return true;
}

/* Are all aggregated columns of this table? */
static bool
takes_call(PlannerInfo *root, RelOptInfo *rel, const ColumnScanCall *call)
{
	if ((call->key && call->key->varno != rel->relid) ||
		(call->weight && call->weight->varno != rel->relid))
		return ScanRefuse("keys or weights that are not of this table");
	return takes_condition(root, rel, (Node *) call->filter);
}

/* Is this path of another extension, or, of a table without children, an Append? */
static bool
is_others(Path *path, bool children)
{
	if (IsA(path, ProjectionPath))
		return is_others(((ProjectionPath *) path)->subpath, children);
	if (IsA(path, GatherPath))
		return is_others(((GatherPath *) path)->subpath, children);
	if (IsA(path, GatherMergePath))
		return is_others(((GatherMergePath *) path)->subpath, children);
	return IsA(path, CustomPath) ||
		   (!children && (IsA(path, AppendPath) || IsA(path, MergeAppendPath)));
}

/*
 * Does another extension plan how this table is read?  Then rows of it may be elsewhere:
 * TimescaleDB keeps compressed rows in a second table.  Such an extension replaces the
 * planner's paths, or attaches data of its own, which only foreign tables have otherwise.
 */
bool
ScanIsOthers(RelOptInfo *rel, bool children)
{
	ListCell *cell;
	bool others = rel->fdw_private != NULL;

	foreach (cell, rel->pathlist)
		others = others || is_others(lfirst(cell), children);
	return others && !ScanRefuse("a table that another extension reads");
}

/* Is this one heap table whose conditions can be tested, and whose columns are aggregated? */
bool
ColumnScanTable(PlannerInfo *root, RelOptInfo *rel, List *aggregates)
{
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	ColumnScanCall call;
	ListCell *cell;

	if (rel->rtekind != RTE_RELATION || rte->inh)
		return ScanRefuse("no table in FROM");
	if (rte->tablesample != NULL)
		return ScanRefuse("TABLESAMPLE");
	if ((rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW) ||
		!is_heap(rte->relid))
		return ScanRefuse("a table that is no heap");
	if (ScanIsOthers(rel, false) || !takes_conditions(root, rel))
		return false;
	foreach (cell, aggregates)
		if (!ColumnScanMatch(lfirst_node(Aggref, cell), &call) || !takes_call(root, rel, &call))
			return false;
	return true;
}
