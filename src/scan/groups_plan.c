/*
 * groups_plan.c
 *		Which GROUP BY a column scan can do, and what it costs.
 *
 * Rows can be grouped by columns, and by expressions of them that are the same whenever
 * they are evaluated in a query.  Their values must be integers, times, strings or the
 * like, and two values must be equal if and only if their bits are.  Everything else
 * stays with the ordinary plan.  So do GROUPING SETS.
 *
 * In a parallel plan each process has groups of its own, and a hash aggregate merges them.
 * That aggregate holds all groups at a time, while a serial scan may hold only some of them.
 * So there is a parallel plan only if there is memory for all groups.
 *
 * src/scan/groups_plan.c
 */
#include "scan/groups.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "executor/nodeAgg.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

/*
 * Costs, measured against HashAggregate.  In cpu_operator_cost: finding a row's group,
 * and adding the row to each aggregate there.  In cpu_tuple_cost: handing a row to the
 * executor to evaluate an expression, making a group and returning it, and writing a group
 * to a file and merging it, which takes VALUE_BYTES there besides its keys.
 */
#define FIND_SHARE        0.5
#define FIND_STRING_SHARE 1
#define PUT_SHARE         0.5
#define EVALUATE_SHARE    0.5
#define GROUP_SHARE       1
#define VALUE_SHARE       12
#define VALUE_BYTES       128

/*
 * Which kind of values the type has; false: neither integers nor bytes.  Values that are
 * shorter than their kind cannot be read off the page.  Evaluated they are Datums, which
 * have all bits.
 */
static bool
kind_of_type(Oid type, KeyKind *kind, bool *is_short)
{
	*kind = KeyNumberKind(type);
	*is_short = false;
	if (*kind == KEY_INT2 || *kind == KEY_INT4 || *kind == KEY_INT8)
		return true;
	*kind = KEY_BYTES;
	if (type == TEXTOID || type == VARCHAROID || type == BYTEAOID)
		return true;
	*kind = KEY_INT8;
	*is_short = true;
	return type == BOOLOID || type == CHAROID || type == OIDOID || type_is_enum(type);
}

/* Which kind of values the expression has; false: not equal if and only if their bits are. */
bool
ScanGroupingKind(const Node *expr, KeyKind *kind)
{
	bool is_short;

	return kind_of_type(getBaseType(exprType(expr)), kind, &is_short) &&
		   (!OidIsValid(exprCollation(expr)) || get_collation_isdeterministic(exprCollation(expr)));
}

/* The column that the expression is, if its values can be read off the page; else NULL. */
const Var *
ScanGroupingColumn(Node *expr)
{
	const Var *column = ScanColumnOf((Expr *) expr);
	KeyKind kind;
	KeyKind kind_on_page;
	bool is_short;

	(void) ScanGroupingKind(expr, &kind);
	if (column == NULL || !kind_of_type(getBaseType(column->vartype), &kind_on_page, &is_short))
		return NULL;
	return !is_short && kind_on_page == kind ? column : NULL;
}

/* The only column that rows are grouped by, as it is in the table; NULL: it is something else. */
const Var *
ScanGroupedColumn(List *exprs)
{
	Node *expr = list_length(exprs) == 1 ? linitial(exprs) : NULL;

	return expr && IsA(expr, Var) ? ScanGroupingColumn(expr) : NULL;
}

/* Average bytes of a string, as far as the planner knows. */
static int32
string_width(PlannerInfo *root, Node *expr)
{
	const Var *column = ScanGroupingColumn(expr);
	int32 width = 0;

	if (column && planner_rt_fetch(column->varno, root)->rtekind == RTE_RELATION)
		width = get_attavgwidth(planner_rt_fetch(column->varno, root)->relid, column->varattno);
	return width > 0 ? width : get_typavgwidth(exprType(expr), exprTypmod(expr));
}

/* Bytes of a group without its states. */
static double
empty_bytes(PlannerInfo *root, List *exprs)
{
	int aggregates = list_length(root->aggtransinfos);
	Size width = 0;
	ListCell *cell;

	foreach (cell, exprs)
	{
		KeyKind kind;

		width += sizeof(GroupValue);
		if (ScanGroupingKind(lfirst(cell), &kind) && kind == KEY_BYTES)
			width += (Size) string_width(root, lfirst(cell));
	}
	return (double) hash_agg_entry_size(aggregates, width, 0) + aggregates * sizeof(ScanAggregate);
}

/* Bytes of a group's states, from the transition functions, as for a hash aggregate. */
static double
state_bytes(PlannerInfo *root)
{
	AggClauseCosts costs = { 0 };

	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	return (double) costs.transitionSpace;
}

/* The cost of finding a row's group: of each value, and of evaluating it. */
static Cost
find_cost(PlannerInfo *root, List *exprs)
{
	Cost cost = 0;
	ListCell *cell;

	foreach (cell, exprs)
	{
		Node *expr = lfirst(cell);
		QualCost evaluation;
		KeyKind kind;

		(void) ScanGroupingKind(expr, &kind);
		cost += (kind == KEY_BYTES ? FIND_STRING_SHARE : FIND_SHARE) * cpu_operator_cost;
		if (ScanGroupingColumn(expr))
			continue;
		cost_qual_eval_node(&evaluation, expr, root);
		cost += EVALUATE_SHARE * cpu_tuple_cost + evaluation.per_tuple;
	}
	return cost;
}

/* Does the expression need a whole row? */
static bool
needs_row(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varattno == 0;
	return expression_tree_walker(node, needs_row, context);
}

/* Can rows be grouped by this column or expression? */
static bool
takes_expression(PlannerInfo *root, RelOptInfo *input, Node *expr)
{
	KeyKind kind;

	if (!ScanGroupingKind(expr, &kind))
		return ScanRefuse("GROUP BY of values that are neither integers, times nor strings");
	if (contain_volatile_functions(expr))
		return ScanRefuse("GROUP BY with a volatile function");
	if (contain_subplans(expr) || expression_returns_set(expr))
		return ScanRefuse("GROUP BY with a subquery for each row, or with a set");
	return (ColumnScanTakesExpression(root, input, expr) && contain_var_clause(expr) &&
			!needs_row(expr, NULL)) ||
		   ScanRefuse("GROUP BY of something other than the table's columns");
}

/*
 * Estimate what grouping a table by these expressions takes, if this process and so many
 * workers share its pages; false: it cannot be done.
 */
bool
ScanGroupingPlan(PlannerInfo *root, RelOptInfo *table, List *exprs, int workers, GroupingPlan *plan)
{
	double rows;
	ListCell *cell;

	foreach (cell, exprs)
		if (!takes_expression(root, table, lfirst(cell)))
			return false;
	plan->exprs = exprs;
	plan->find = find_cost(root, exprs);
	plan->processes = ScanProcesses(workers);
	rows = table->rows / plan->processes;
	plan->groups = EstimateGroups(root, exprs, rows);
	plan->sized = EstimateGroupsForSize(root, exprs, rows);
	plan->bytes = empty_bytes(root, exprs) + state_bytes(root);
	return true;
}

/*
 * Is there memory for all groups of so many rows at a time?  The planner estimates the states
 * of few rows each for most expressions.  There may be far fewer groups, with larger states.
 */
bool
ScanGroupingFits(PlannerInfo *root, List *exprs, List *calls, double rows)
{
	double groups = EstimateGroups(root, exprs, rows);
	double states = Max(state_bytes(root), ScanDenseBytes(calls, rows / groups));

	return groups * (empty_bytes(root, exprs) + states) <= (double) get_hash_memory_limit();
}

/*
 * What the query groups by; NIL if that cannot be done.  Partitions and other children
 * have their own expressions, of their columns.
 */
List *
ScanGroupingExprs(PlannerInfo *root, RelOptInfo *input)
{
	List *clauses = root->parse->groupClause;

	if (root->parse->groupingSets != NIL)
	{
		(void) ScanRefuse("GROUPING SETS");
		return NIL;
	}
	if (planner_rt_fetch(input->relid, root)->inh && !grouping_is_hashable(clauses))
	{
		(void) ScanRefuse("GROUP BY of several tables by values that have no hash");
		return NIL;
	}
	return get_sortgrouplist_exprs(clauses, root->processed_tlist);
}

/*
 * The cost of writing groups that find no memory, and of reading and merging them.  If rows come
 * in any order, each group is written as often as all groups together fill the memory.
 */
static Cost
spill_cost(const GroupingPlan *plan, int aggregates, double rows)
{
	double fillings = plan->sized * plan->bytes / (double) get_hash_memory_limit();
	double values = Min(rows, plan->sized * fillings);
	double bytes = values * VALUE_BYTES + rows * aggregates * sizeof(uint64);

	if (fillings <= 1)
		return 0;
	return values * VALUE_SHARE * cpu_tuple_cost + 2 * bytes / BLCKSZ * seq_page_cost;
}

/* Add what grouping costs to the cost of the scan. */
void
ScanGroupingCost(const GroupingPlan *plan, RelOptInfo *table, int aggregates, Path *path)
{
	double rows = table->rows * (1 - plan->copied) / plan->processes;
	Cost start = rows * (plan->find + PUT_SHARE * aggregates * cpu_operator_cost) +
				 spill_cost(plan, aggregates, rows);
	Cost returning = plan->groups * (GROUP_SHARE * cpu_tuple_cost);

	path->startup_cost += start;
	path->total_cost += start + returning + (plan->groups - 1) * path->pathtarget->cost.per_tuple;
	path->rows = plan->groups;
}
