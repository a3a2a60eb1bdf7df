/*
 * match.c
 *		Recognizes aggregates and tables that QSketchScan can do; sets the aggregates up.
 *
 * During planning, each aggregate of a query is recognized once, by its functions.  The result is
 * stored in the plan, and tells the executor which arguments the aggregate has.  A cached plan
 * becomes invalid when an aggregate or one of its functions changes.  If an aggregate is replaced
 * between planning and execution, the query fails.
 *
 * At least one aggregate must be qsketch_agg, qfilter_agg, qsets_agg or qtop_agg, or another
 * aggregate of the same functions (pgbase/aggregate.c).  The other aggregates may be ordinary
 * aggregates of PostgreSQL.  The arguments of our aggregates must be a key, or ROW() of
 * several columns; optionally a weight or an id; and optionally constants.  A template can
 * also be a parameter.  The table must use heapam.  A call that would raise an error is left
 * to the ordinary plan, which raises the error only at the first key.
 *
 * Keys, weights and ids are columns, which are read from the page, or expressions, which the
 * executor evaluates (columns.c).  The scan evaluates expressions and conditions page by page.  The
 * results must equal the results of evaluation row by row, so the expressions must not be volatile.
 * The scan refuses subqueries that run for each row.  It also refuses system columns except
 * tableoid.
 *
 * A template is a constant or a Param: the result of a subquery that does not depend on the rows,
 * or the parameter of a prepared statement.  A Param has the same value for all rows of a run.
 * Each run reads it before it starts the states.  A parallel worker receives the value from the
 * leader, like the value of any other parameter.
 *
 * During planning, the value of a Param is not known, and the default parameters are assumed.  With
 * GROUP BY, the memory of a group must be known, so a template that is a Param is refused.
 *
 * src/scan/match.c
 */
#include "scan/scan.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "parser/parsetree.h"
#include "pgbase/version.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* ---- recognizing aggregates ---- */

/* Recognize an aggregate; false: the scan does not know it. */
static bool
recognize(Oid aggregate, RecognizedAggregate *recognized)
{
	int family = aggregate == F_COUNT_ || aggregate == F_COUNT_ANY ? FAMILY_COUNT : FAMILY_BUILTIN;

	if (!RecognizeBuiltin(aggregate, recognized))
		for (family = 0; family < COLUMN_FAMILIES; family++)
			if (RecognizeAggregate(aggregate, column_families[family].functions, recognized))
				break;
	recognized->family = family;
	return family != COLUMN_FAMILIES;
}

/* Find a recognized aggregate; NULL: it was not recognized. */
static const RecognizedAggregate *
find_match(List *matches, Oid aggregate)
{
	ListCell *cell;

	foreach (cell, matches)
	{
		const Const *bytes = lfirst_node(Const, cell);
		const RecognizedAggregate *match =
			(const RecognizedAggregate *) DatumGetPointer(bytes->constvalue);

		if (match->aggregate == aggregate)
			return match;
	}
	return NULL;
}

/*
 * Make the plan depend on the functions of the aggregate.  PostgreSQL makes the plan depend on the
 * aggregate itself.
 */
static void
depend_on(PlannerInfo *root, const RecognizedAggregate *match)
{
	record_plan_function_dependency(root, match->transition);
	record_plan_function_dependency(root, match->combine);
	record_plan_function_dependency(root, match->final);
}

static List *
pull_aggregates(Node *expressions)
{
	return pull_var_clause(expressions, PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
											PVC_INCLUDE_PLACEHOLDERS);
}

/*
 * Recognize the aggregates of a query, without duplicates.  The results are constants that a
 * plan can contain.  NIL: none of the aggregates is ours.
 */
List *
ScanMatches(PlannerInfo *root)
{
	List *found = list_concat(pull_aggregates((Node *) root->processed_tlist),
							  pull_aggregates(root->parse->havingQual));
	List *matches = NIL;
	bool ours = false;
	ListCell *cell;

	foreach (cell, found)
	{
		const Aggref *aggref = lfirst(cell);
		RecognizedAggregate *match = palloc0(sizeof(*match));

		if (!IsA(aggref, Aggref) || find_match(matches, aggref->aggfnoid) ||
			!recognize(aggref->aggfnoid, match))
			continue;
		depend_on(root, match);
		matches = lappend(matches, makeConst(BYTEAOID, -1, InvalidOid, sizeof(*match),
											 PointerGetDatum(match), false, false));
		ours |= match->family < COLUMN_FAMILIES;
	}
	return ours ? matches : NIL;
}

/* ---- arguments of calls ---- */

static Expr *
argument(const Aggref *aggref, int i)
{
	return list_nth_node(TargetEntry, aggref->args, i)->expr;
}

/*
 * Set the weight or set id.  Our aggregates declare it as bigint.  If it is a smallint or integer
 * column that is cast to bigint, the scan reads the column itself.
 */
static void
match_weight(Expr *expr, ColumnScanCall *call)
{
	call->weight = call->integer = expr;
	if (IsA(expr, FuncExpr) &&
		(((FuncExpr *) expr)->funcid == F_INT8_INT4 || ((FuncExpr *) expr)->funcid == F_INT8_INT2))
	{
		Expr *cast = linitial(((FuncExpr *) expr)->args);

		if (ScanColumnOf(cast))
			call->integer = cast;
	}
	call->weight_kind = KeyNumberKind(getBaseType(exprType((Node *) call->integer)));
}

/* The argument if it is a constant that is not null, else NULL. */
static Const *
match_constant(Expr *expr)
{
	return IsA(expr, Const) && !((Const *) expr)->constisnull ? (Const *) expr : NULL;
}

/*
 * Set the key type and the constants of a call of one of our aggregates; false: the scan does
 * not know this form of call.
 */
static bool
match_aggregate(ColumnScanCall *call)
{
	const Aggref *aggref = call->aggref;
	const ArgumentLayout *layout = &call->aggregate.layout;
	Expr *template;
	int key;

	if ((layout->weight && !call->family->weights) || aggref->aggstar || aggref->aggvariadic ||
		list_length(aggref->args) !=
			1 + (layout->weight != 0) + (layout->limit != 0) + (layout->template != 0))
		return ScanRefuse("an aggregate of this form");
	key = call->family->functions->key - 1;
	call->key_type = IsPolymorphicType(call->aggregate.key_type)
						 ? list_nth_oid(aggref->aggargtypes, key)
						 : call->aggregate.key_type;
	if (layout->limit)
		call->limit = match_constant(argument(aggref, layout->limit - 1));
	if (layout->template == 0)
		return true;
	template = argument(aggref, layout->template - 1);
	call->template = match_constant(template);
	call->parameter = IsA(template, Param) ? (Param *) template : NULL;
	return true;
}

/*
 * Set the key of a call of count.  count(1) counts all rows, like count(*).  PostgreSQL's other
 * aggregates have no key; false: such a call is VARIADIC.
 */
static bool
match_builtin(ColumnScanCall *call)
{
	const Aggref *aggref = call->aggref;

	if (call->family == &column_families[FAMILY_BUILTIN])
		return !aggref->aggvariadic ||
			   ScanRefuse("VARIADIC in an aggregate: write out its arguments");
	if (!aggref->aggstar && match_constant(argument(aggref, 0)) == NULL)
		call->key = argument(aggref, 0);
	return true;
}

/*
 * Set the key; false: the key is a row of unknown columns, or a column has a type without a hash
 * function.  The columns of a row without a named type are known only if the key is written as
 * ROW().
 */
static bool
match_key(Expr *expr, ColumnScanCall *call)
{
	call->key = expr;
	if (IsA(expr, RowExpr) && RowKeyTakes((RowExpr *) expr))
		call->row = (RowExpr *) expr;
	return call->row || getBaseType(call->key_type) != RECORDOID ||
		   ScanRefuse("a key that is a row of unknown columns, or has one of a type without a hash "
					  "function: write it as ROW() of columns with one");
}

/*
 * Describe a call; false: the scan does not know the aggregate, or cannot read its arguments.
 * "matches": the recognized aggregates of the query.
 */
bool
ColumnScanMatch(const Aggref *aggref, List *matches, ColumnScanCall *call)
{
	const RecognizedAggregate *match = find_match(matches, aggref->aggfnoid);
	const ArgumentLayout *layout = &call->aggregate.layout;

	*call = (ColumnScanCall){ .aggref = aggref };
	if (match == NULL)
		return ScanRefuse(psprintf("%s(), which is neither of qsketch nor an ordinary aggregate of "
								   "PostgreSQL",
								   get_func_name(aggref->aggfnoid)));
	call->family = &column_families[match->family];
	call->aggregate = *match;
	if (match->family > COLUMN_FAMILIES)
		return match_builtin(call);
	if (!match_aggregate(call) ||
		!match_key(argument(aggref, call->family->functions->key - 1), call))
		return false;
	if (layout->weight)
		match_weight(argument(aggref, layout->weight - 1), call);
	return ((call->limit || !layout->limit) &&
			(call->template || call->parameter || !layout->template)) ||
		   ScanRefuse(
			   "a template or number that is not a constant: write it as one, or the template "
			   "as a subquery that runs once");
}

/* The calls of these aggregates, in the order of the list.  The scan must know all of them. */
List *
ColumnScanCalls(List *aggregates, List *matches)
{
	List *calls = NIL;
	ListCell *cell;

	foreach (cell, aggregates)
	{
		ColumnScanCall *call = palloc(sizeof(ColumnScanCall));

		if (!ColumnScanMatch(lfirst_node(Aggref, cell), matches, call))
			elog(ERROR, "unexpected aggregate in QSketchScan");
		calls = lappend(calls, call);
	}
	return calls;
}

/*
 * True if the scan can count the call's keys.  Their type must have a hash function, their text
 * must have a known encoding, and the family must accept the call.
 */
static bool
takes_keys(const ColumnScanCall *call)
{
	if (KeyTextIsUnknown(call->key_type))
		return ScanRefuse("keys that may have text of an unknown encoding");
	return call->family->takes_keys(call) &&
		   (KeyTypeHasHash(call->key_type) ||
			ScanRefuse(
				psprintf("keys of type %s, which has no hash function: cast them to one that "
						 "has, such as text",
						 format_type_be(call->key_type))));
}

/*
 * True if the scan can do the aggregate.  A call that would raise an error at its first key is
 * refused.
 */
static bool
is_plain(const Aggref *aggref, List *matches, ColumnScanCall *call)
{
	if (aggref->aggdistinct != NIL)
		return ScanRefuse(psprintf("DISTINCT in %s()", get_func_name(aggref->aggfnoid)));
	if (aggref->aggorder != NIL)
		return ScanRefuse(
			psprintf(AGGKIND_IS_ORDERED_SET(aggref->aggkind)
						 ? "WITHIN GROUP of %s()"
						 : "ORDER BY in %s(): leave it out if the result does not depend on it",
					 get_func_name(aggref->aggfnoid)));
	if (!ColumnScanMatch(aggref, matches, call))
		return false;
	return call->family->functions == NULL || takes_keys(call);
}

/* The result of a walk through expressions. */
typedef struct Collected
{
	List *matches;
	List *groups;     /* the grouping expressions */
	List *aggregates; /* the aggregates, without duplicates */
	bool ours;        /* at least one of the aggregates is ours */
} Collected;

/* Collect aggregates.  Returns true, which ends the walk, if the scan cannot do the expression. */
static bool
collect_aggregates(Node *node, void *context)
{
	Collected *collected = context;
	ColumnScanCall call;

	if (node == NULL || list_member(collected->groups, node))
		return false;
	if (IsA(node, Var) || IsA(node, PlaceHolderVar) || IsA(node, GroupingFunc))
		return !ScanRefuse("columns outside of aggregates that GROUP BY does not name: name them");
	if (!IsA(node, Aggref))
		return expression_tree_walker(node, collect_aggregates, context);
	if (!is_plain((Aggref *) node, collected->matches, &call))
		return true;
	if (call.parameter && collected->groups != NIL) /* the memory of a group is not known */
		return !ScanRefuse("GROUP BY with a template that is not a constant: write it as one");
	collected->ours |= call.family->functions != NULL;
	collected->aggregates = list_append_unique(collected->aggregates, node);
	return false;
}

/*
 * All aggregates of the expressions; NIL: the scan cannot do one of the expressions, or all
 * aggregates are PostgreSQL's own.  Outside of aggregates, columns may be only in the expressions
 * of GROUP BY.
 */
List *
ColumnScanAggregates(List *expressions, List *groups, List *matches)
{
	Collected collected = { .groups = groups, .matches = matches };

	if (collect_aggregates((Node *) expressions, &collected) || !collected.ours)
		return NIL;
	return collected.aggregates;
}

/* True if an expression needs more of a tuple than its columns and its tableoid. */
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

/*
 * True if the expression can be evaluated page by page, on tuples of this table alone.
 * "what": name of the expression in the refusal.
 */
bool
ScanTakesExpression(PlannerInfo *root, RelOptInfo *rel, Node *expr, const char *what)
{
	if (contain_volatile_functions(expr))
		return ScanRefuse(psprintf("%s with a volatile function: declare it STABLE or IMMUTABLE "
								   "if it is",
								   what));
	if (contain_subplans(expr))
		return ScanRefuse(psprintf("%s with a subquery for each row: put what it finds into a "
								   "column",
								   what));
	return (bms_is_subset(pull_varnos(root, expr), rel->relids) && !asks_for_more(expr, NULL)) ||
		   ScanRefuse(
			   psprintf("%s on more than the table's columns, such as ctid: leave that out", what));
}

/*
 * True if the scan can test the table's conditions.  One-time conditions are refused, because with
 * them the ordinary plan need not read the table.
 */
static bool
takes_conditions(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell *cell;

	foreach (cell, rel->baserestrictinfo)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, cell);

		if (info->pseudoconstant)
			return ScanRefuse("a condition that is the same for all rows");
		if (!ScanTakesExpression(root, rel, (Node *) info->clause, "a condition"))
			return false;
	}
	return true;
}

/*
 * True if the scan can evaluate the arguments and the FILTER of an aggregate on tuples of this
 * table.
 */
static bool
takes_call(PlannerInfo *root, RelOptInfo *rel, const Aggref *aggref)
{
	return ScanTakesExpression(root, rel, (Node *) aggref->args, "an argument of an aggregate") &&
		   ScanTakesExpression(root, rel, (Node *) aggref->aggfilter, "a condition");
}

/*
 * True if the path is another extension's: a CustomPath, or an Append of a table without
 * children.
 */
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
 * True if another extension plans how this table is read.  Some rows may then be in another
 * table: TimescaleDB stores compressed rows in a second table.  Such an extension replaces the
 * planner's paths, or sets fdw_private of the table, which PostgreSQL sets only for foreign
 * tables.
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

/* Returns why a subquery in FROM is not merged with the query, and what to do about it. */
static const char *
reason_of_subquery(const Query *query)
{
	if (query->limitCount || query->limitOffset)
		return "LIMIT or OFFSET in a subquery in FROM: choose the rows by a condition";
	if (query->setOperations)
		return "UNION, INTERSECT or EXCEPT in FROM: write UNION ALL of tables if that is meant";
	if (query->groupClause || query->groupingSets || query->hasAggs)
		return "GROUP BY or aggregates in a subquery in FROM: make sketches there, and merge them "
			   "here";
	if (query->distinctClause)
		return "DISTINCT in a subquery in FROM: leave it out if rows may count as often as they "
			   "are";
	if (query->sortClause)
		return "ORDER BY in a subquery in FROM: leave it out, since the order of rows does not "
			   "matter";
	if (query->hasWindowFuncs)
		return "window functions in a subquery in FROM: aggregate the table itself";
	return "a subquery in FROM that PostgreSQL plans on its own: aggregate inside of it";
}

/* Returns why an item of FROM is no table that can be scanned, and what to do about it. */
static const char *
reason_of_from(const RangeTblEntry *rte)
{
	switch (rte->rtekind)
	{
		case RTE_SUBQUERY:
			return reason_of_subquery(rte->subquery);
		case RTE_CTE:
			return "a CTE that is MATERIALIZED or used several times: write NOT MATERIALIZED, or "
				   "aggregate inside of it";
		default:
			return "no table in FROM: store the rows in one";
	}
}

/*
 * True if the table is a heap, and the scan can test its conditions and do the aggregates of
 * its columns.
 */
bool
ColumnScanTable(PlannerInfo *root, RelOptInfo *rel, List *aggregates)
{
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	Relation relation;
	ListCell *cell;
	bool heap;

	if (rel->rtekind != RTE_RELATION || rte->inh)
		return ScanRefuse(reason_of_from(rte));
	if (rte->tablesample != NULL)
		return ScanRefuse("TABLESAMPLE");
	relation = table_open(rte->relid, NoLock);
	heap = (rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_MATVIEW) &&
		   relation->rd_rel->relam == HEAP_TABLE_AM_OID;
	table_close(relation, NoLock);
	if (!heap)
		return ScanRefuse(
			"a table that is no heap, such as a foreign one: aggregate where its rows are, "
			"and merge here");
	if (ScanIsOthers(rel, false) || !takes_conditions(root, rel))
		return false;
	foreach (cell, aggregates)
		if (!takes_call(root, rel, lfirst_node(Aggref, cell)))
			return false;
	return true;
}

/* ---- in the executor ---- */

static bool
collect_params(Node *node, void *params)
{
	if (node && IsA(node, Param))
		*(List **) params = list_append_unique(*(List **) params, node);
	return node && expression_tree_walker(node, collect_params, params);
}

/* The parameters in the expressions that the scan computes. */
List *
ScanParams(List *targets)
{
	List *params = NIL;

	(void) collect_params((Node *) targets, &params);
	return params;
}

/* The grouping expressions of the scan, which follow the aggregates in its target list. */
List *
ScanGroupExprs(const CustomScan *scan)
{
	int fields = ScanPlanNumber(scan, PLAN_GROUP_FIELDS);
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

/* Replace references to the node's target list by the table's columns. */
static Node *
of_table(Node *node, void *list)
{
	if (node && IsA(node, Var) && ((Var *) node)->varno == INDEX_VAR)
		return copyObject(
			(Node *) list_nth_node(TargetEntry, list, ((Var *) node)->varattno - 1)->expr);
	return expression_tree_mutator(node, of_table, list);
}

/* The conditions that all rows must pass (WHERE). */
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
 * Check permissions as ExecInitAgg() does.  The user must be allowed to call the aggregate,
 * and the owner of the aggregate must be allowed to call its functions.  ExecInitExpr()
 * checks the functions in arguments.
 */
static void
check_permissions(const RecognizedAggregate *aggregate, Oid owner)
{
	check_permission(aggregate->aggregate, GetUserId(), OBJECT_AGGREGATE);
	if (!AggregateIsStill(aggregate))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("aggregate %s has changed since the query was planned",
							   get_func_name(aggregate->aggregate))));
	check_permission(aggregate->transition, owner, OBJECT_FUNCTION);
	if (OidIsValid(aggregate->final))
		check_permission(aggregate->final, owner, OBJECT_FUNCTION);
}

/* Locate the key and the weight in tuples. */
static void
init_arguments(ScanAggregate *aggregate, const WantedRows *rows)
{
	const ColumnScanCall *call = aggregate->call;

	if (call->key)
		ColumnLocationOf(&aggregate->location, call->key, rows->estate, rows->relation);
	if (call->weight)
		ColumnLocationOf(&aggregate->weight, call->integer, rows->estate, rows->relation);
	if (call->integer != call->weight)
		(void) ExecInitExpr(call->weight, NULL); /* only to check the permission for the cast */
}

static void
init_aggregate(ScanAggregate *aggregate, ColumnScanCall *call, const WantedRows *rows,
			   PlanState *node)
{
	Oid owner = FunctionOwner(call->aggref->aggfnoid);
	Oid finish = InvalidOid; /* the function that makes the result or serializes the state */

	check_permissions(&call->aggregate, owner);
	aggregate->call = call;
	init_arguments(aggregate, rows);
	if (call->parameter)
	{
		aggregate->given = palloc0(sizeof(GivenTemplate));
		aggregate->given->param = call->parameter;
		aggregate->given->state = ExecInitExpr(&call->parameter->xpr, node);
	}
	aggregate->in_transfer = call->aggref->aggsplit != AGGSPLIT_SIMPLE && AggregateLasts(owner);
	if (call->family->functions)
		ScanAggregateDescribeKeys(aggregate, rows->estate, rows->relation);
	if (call->family == &column_families[FAMILY_BUILTIN])
		aggregate->builtin = BuiltinCreate(call->aggref, rows, &finish);
	if (OidIsValid(finish) && finish != call->aggregate.final)
		check_permission(finish, owner, OBJECT_FUNCTION);
}

/*
 * Set up all aggregates of the scan, which come first in its target list.  Adds their FILTERs
 * to "rows".
 */
ScanAggregate *
ScanAggregatesInit(PlanState *node, WantedRows *rows, int *count)
{
	const CustomScan *scan = (const CustomScan *) node->plan;
	List *aggregates = NIL;
	ScanAggregate *aggregate;
	ListCell *cell;

	foreach (cell, scan->custom_scan_tlist)
		if (IsA(lfirst_node(TargetEntry, cell)->expr, Aggref))
			aggregates = lappend(aggregates, lfirst_node(TargetEntry, cell)->expr);
	aggregate = palloc0(list_length(aggregates) * sizeof(ScanAggregate));
	*count = 0;
	foreach (cell, ColumnScanCalls(aggregates, lsecond(scan->custom_private)))
	{
		ColumnScanCall *call = lfirst(cell);

		init_aggregate(&aggregate[*count], call, rows, node);
		aggregate[(*count)++].filter_number = WantedRowsAddFilter(rows, call->aggref->aggfilter);
	}
	return aggregate;
}

/* True if the scan returns partial states, for Finalize Aggregate. */
bool
ScanIsPartial(const CustomScan *scan)
{
	const Expr *first = linitial_node(TargetEntry, scan->custom_scan_tlist)->expr;

	return ((const Aggref *) first)->aggsplit != AGGSPLIT_SIMPLE;
}
