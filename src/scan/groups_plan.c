/*
 * groups_plan.c
 *		Which GROUP BY a column scan can do, and what it costs.
 *
 * The grouping column must hold integers, dates, timestamps or strings, and two values
 * must be equal if their bits are.  Everything else stays with the ordinary plan.  So
 * do GROUP BY over several tables, and parallel plans.
 *
 * src/scan/groups_plan.c
 */
#include "scan/groups.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "executor/nodeAgg.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

/*
 * Costs, measured against HashAggregate.  In cpu_operator_cost: finding a row's group,
 * and adding the row to each aggregate there.  In cpu_tuple_cost: making a group and
 * returning it.
 */
#define FIND_SHARE        0.5
#define FIND_STRING_SHARE 1
#define PUT_SHARE         0.5
#define GROUP_SHARE       1

/* By how many times groups that the planner thought small may exceed the limit. */
#define MOST_GROWTH 8

/* How the column's values are read; false: neither as integers nor as bytes. */
bool
ScanGroupingKind(const Var *column, KeyKind *kind)
{
	switch (getBaseType(column->vartype))
	{
		case INT2OID:
			*kind = KEY_INT2;
			return true;
		case INT4OID:
		case DATEOID:
			*kind = KEY_INT4;
			return true;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*kind = KEY_INT8;
			return true;
		case TEXTOID:
		case VARCHAROID:
		case BYTEAOID:
			*kind = KEY_BYTES;
			return !OidIsValid(column->varcollid) ||
				   get_collation_isdeterministic(column->varcollid);
		default:
			return false;
	}
}

/* Average bytes of a string, as far as the planner knows. */
static int32
string_width(PlannerInfo *root, const Var *column)
{
	Oid table = planner_rt_fetch(column->varno, root)->relid;
	int32 width = get_attavgwidth(table, column->varattno);

	return width > 0 ? width : get_typavgwidth(column->vartype, column->vartypmod);
}

/* Bytes of a group without its states. */
static double
empty_bytes(PlannerInfo *root, const Var *column, KeyKind kind)
{
	int aggregates = list_length(root->aggtransinfos);
	Size width = sizeof(int64);

	if (kind == KEY_BYTES)
		width += (Size) string_width(root, column);
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

/* Does the query group by one column of one table, of integers or bytes? */
bool
ScanGroupingMatch(PlannerInfo *root, RelOptInfo *input, GroupingPlan *plan)
{
	List *clauses = root->parse->groupClause;
	Node *column;
	KeyKind kind;

	if (root->parse->groupingSets != NIL || list_length(clauses) != 1)
		return ScanRefuse("GROUP BY of more than one column");
	column =
		get_sortgroupclause_expr(linitial_node(SortGroupClause, clauses), root->processed_tlist);
	if (!IsA(column, Var) || ((Var *) column)->varattno <= 0 ||
		((Var *) column)->varno != input->relid || !ScanGroupingKind((Var *) column, &kind))
		return ScanRefuse("GROUP BY of something other than a column of integers, dates or text");
	if (planner_rt_fetch(input->relid, root)->inh)
		return ScanRefuse("GROUP BY over several tables");
	plan->column = (Var *) column;
	plan->groups = Max(1, estimate_num_groups(root, list_make1(column), input->rows, NULL, NULL));
	plan->kind = kind;
	plan->empty = empty_bytes(root, plan->column, kind);
	plan->bytes = plan->empty + state_bytes(root);
	plan->rows = input->rows / plan->groups;
	return true;
}

/* Rows whose groups have no memory are written and read once. */
static Cost
spill_cost(const GroupingPlan *plan, RelOptInfo *table, double rows)
{
	double kept = Max(1, floor((double) get_hash_memory_limit() / plan->bytes));
	double pages = rows * (double) table->pages / Max(1, table->tuples);

	if (kept >= plan->groups)
		return 0;
	return (1 - kept / plan->groups) * (2 * pages * seq_page_cost + rows * cpu_tuple_cost);
}

/* Add what grouping costs to the cost of the scan. */
void
ScanGroupingCost(const GroupingPlan *plan, RelOptInfo *table, int aggregates, Path *path)
{
	double find = plan->kind == KEY_BYTES ? FIND_STRING_SHARE : FIND_SHARE;
	double rows = table->rows * (1 - plan->copied);
	Cost start =
		rows * (find + PUT_SHARE * aggregates) * cpu_operator_cost + spill_cost(plan, table, rows);
	Cost returning = plan->groups * (GROUP_SHARE * cpu_tuple_cost);

	path->startup_cost += start;
	path->total_cost += start + returning + (plan->groups - 1) * path->pathtarget->cost.per_tuple;
	path->rows = plan->groups;
}

/*
 * A number in a plan.  Plans go to parallel workers as text, where a number without a
 * point would be read as an integer.
 */
static Float *
number(double value)
{
	return makeFloat(psprintf("%.1f", value));
}

/* What the plan tells the executor. */
Node *
ScanGroupingPrivate(const GroupingPlan *plan)
{
	return (Node *) list_make3(number(plan->bytes), number(plan->empty), number(plan->rows));
}

/*
 * Bytes of a group.  A group that is read once, and all of whose keys can wait for
 * that, takes fewer bytes.  The number of keys is an estimate.  So that a wrong one
 * cannot let all groups grow far beyond the limit, a group counts at least as 1 /
 * MOST_GROWTH of its full size.
 */
double
ScanGroupingBytes(const Node *private, const ScanAggregate *column, int count, bool once)
{
	double planned = floatVal(linitial((const List *) private));
	double bytes = floatVal(lsecond((const List *) private));
	double rows = floatVal(lthird((const List *) private));
	int i;

	for (i = 0; i < count && once; i++)
	{
		double (*waiting_bytes)(const Const *, double) = column[i].family->waiting_bytes;
		double waiting = waiting_bytes ? waiting_bytes(column[i].template, rows) : 0;

		if (waiting == 0 && column[i].family != &column_count)
			return planned;
		bytes += waiting;
	}
	return once ? Min(Max(bytes, planned / MOST_GROWTH), planned) : planned;
}
