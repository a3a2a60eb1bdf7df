/*
 * costs.c
 *		What QSketchScan costs, and which GROUP BY it can do.
 *
 * Rows can be grouped by columns, and by nonvolatile expressions of columns.  The values must be
 * numbers, booleans, times, enums, strings, or values of another built-in type of variable length
 * that has a hash function.  The ordinary plan does all other groupings, such as GROUPING SETS.
 *
 * In a parallel plan, each process has groups of its own, and a hash aggregate merges them.  A hash
 * aggregate never writes its states to disk, so growing states may exceed its memory limit.  A
 * serial scan can write groups to disk.  So a parallel plan is offered only if there is memory for
 * all groups.
 *
 * src/scan/costs.c
 */
#include "scan/groups/groups.h"
#include "scan/scan.h"

#include <math.h>
#include <sched.h>
#include <unistd.h>

#include "access/table.h"
#include "catalog/pg_type_d.h"
#include "executor/nodeAgg.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "pgbase/state.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/spccache.h"

/*
 * Costs, measured against count(*).
 *
 * TUPLE_COST: a tuple, in cpu_tuple_cost.  KEY_COST: a key, in cpu_operator_cost.  MERGE_COST:
 * making and merging a block of a partial sketch, in cpu_tuple_cost.  COPIED_COST: a row of a
 * cached page, as a fraction of the cost of a row that is read.
 *
 * EVALUATE_COST: passing a row to the executor to evaluate an expression, in cpu_tuple_cost.
 * WALK_COST: each column that a walk through a tuple passes, in cpu_tuple_cost.  The scan
 * walks once for each argument, while the ordinary plan walks once for each row.
 *
 * PASSED_KEY_COST: sending a key to another process through a queue, in cpu_tuple_cost, if the
 * key's state has no tables.  MERGED_TEXT_COST: merging one text of a list of top keys, in
 * cpu_tuple_cost.  Processes that share partitions return a list for each partition.
 */
#define TUPLE_COST    0.2
#define KEY_COST      0.5
#define MERGE_COST    100
#define COPIED_COST   0.02
#define EVALUATE_COST 0.3
#define WALK_COST     0.03

#define PASSED_KEY_COST  2
#define MERGED_TEXT_COST 3

/* The number of processes that share the rows, as PostgreSQL's planner computes it. */
static double
process_count(int workers)
{
	double leader = parallel_leader_participation ? Max(0, 1 - 0.3 * workers) : 0;

	return workers > 0 ? workers + leader : 1;
}

/* Minimum number of processors that the costs assume. */
#define FEWEST_PROCESSORS 2

/* The number of processors that the server may use. */
static double
processors(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
		online = CPU_COUNT(&allowed);
#endif
	return Max(online, FEWEST_PROCESSORS);
}

/*
 * The number of processes that share the rows and run at the same time.  The number of
 * processors is a limit only if the processes build a value jointly, which is more work than
 * in a single process.
 */
static double
running(List *calls, int workers, bool alone)
{
	double processes = process_count(workers);
	ListCell *cell;

	if (!alone || workers == 0)
		return processes;
	foreach (cell, calls)
		if (((const ColumnScanCall *) lfirst(cell))->family->builds_jointly)
			return Min(processes, processors());
	return processes;
}

/* The result of the family's table_bytes(); 0: the family has no such function. */
static double
table_bytes(const ColumnScanCall *call, double rows, double others, bool together)
{
	return call->family->table_bytes
			   ? call->family->table_bytes(call->template, rows, others, together)
			   : 0;
}

/*
 * True if the call makes a list of keys of variable length.  The candidates of such a list
 * are merged one by one.
 */
static bool
has_texts(const ColumnScanCall *call)
{
	return call->family == &column_families[FAMILY_TOP] && get_typlen(call->key_type) < 0;
}

/* The cost of merging the partial results of all processes, each of "rows" rows. */
static Cost
merge_cost(PlannerInfo *root, List *calls, double rows, double processes, bool alone)
{
	Cost cost = 0;
	ListCell *cell;

	foreach (cell, calls)
	{
		const ColumnScanCall *call = lfirst(cell);

		if (call->aggref->aggsplit == AGGSPLIT_SIMPLE)
			continue;
		cost +=
			table_bytes(call, rows, processes - 1, alone) / BLCKSZ * MERGE_COST * cpu_tuple_cost;
		if (processes > 1 && !alone && has_texts(call))
			cost += processes * EstimateGroups(root, list_make1(call->key), rows) *
					MERGED_TEXT_COST * cpu_tuple_cost;
	}
	return cost;
}

/* Bytes of one group's dense states if the group has this number of rows. */
static double
dense_bytes(List *calls, double rows)
{
	double bytes = 0;
	ListCell *cell;

	foreach (cell, calls)
		bytes += table_bytes(lfirst(cell), rows, 1, false);
	return bytes;
}

/*
 * The cost of sending states through queues and merging them.  Each process has states of all
 * groups.
 */
static Cost
queue_cost(List *calls, double groups, double rows, double processes)
{
	Cost cost = 0;
	ListCell *cell;

	foreach (cell, calls)
	{
		const ColumnScanCall *call = lfirst(cell);
		double bytes = table_bytes(call, rows, 1, false);
		double tuples = bytes > 0 ? bytes / BLCKSZ * PASSED_BLOCK_COST : rows * PASSED_KEY_COST;

		cost +=
			call->family->functions ? (PASSED_COST + tuples) * cpu_tuple_cost : cpu_operator_cost;
	}
	return groups * processes * cost;
}

/* The cost of evaluating an expression for a row. */
static Cost
evaluation_cost(PlannerInfo *root, Expr *expr)
{
	QualCost cost;

	cost_qual_eval_node(&cost, (Node *) expr, root);
	return EVALUATE_COST * cpu_tuple_cost + cost.per_tuple;
}

/* The cost of walking to an aggregate's arguments in a tuple, and of evaluating them. */
static Cost
arguments_cost(PlannerInfo *root, const ColumnScanCall *call, TupleDesc descriptor)
{
	Cost cost = 0;
	ListCell *cell;

	foreach (cell, call->aggref->args)
	{
		Expr *expr = lfirst_node(TargetEntry, cell)->expr;

		if (expr == call->weight)
			expr = call->integer;
		cost += ColumnWalk(expr, descriptor) * WALK_COST * cpu_tuple_cost;
		if (!ScanColumnOf(expr) && !IsA(expr, Const) && !IsA(expr, Param))
			cost += evaluation_cost(root, expr);
	}
	return cost;
}

/* The cost of each tuple that passes the conditions: reading its keys and testing FILTERs. */
static Cost
key_cost(PlannerInfo *root, const RelOptInfo *table, List *calls, Cost *startup)
{
	Relation relation = table_open(planner_rt_fetch(table->relid, root)->relid, NoLock);
	Cost cost = 0;
	ListCell *cell;

	foreach (cell, calls)
	{
		const ColumnScanCall *call = lfirst(cell);

		cost += KEY_COST * cpu_operator_cost +
				arguments_cost(root, call, RelationGetDescr(relation)) +
				ScanConditionsCost(root, make_ands_implicit(call->aggref->aggfilter), startup);
	}
	table_close(relation, NoLock);
	return cost;
}

/*
 * Set the costs of a scan.  Only pages outside the "copied" fraction are read.  A tuple costs
 * a fraction of the executor's cost.  A single process adds the keys of cached pages, and all
 * processes share the other pages.  The processes send their groups through queues to the
 * process that merges them.  "alone": the scan is the only node below its Gather.  Returns the
 * cost of merging, which does not occur in scans that fill the same states.
 */
Cost
ScanSetCosts(PlannerInfo *root, Path *path, RelOptInfo *table, List *calls, const GroupingPlan *by,
			 bool alone)
{
	double processes = running(calls, path->parallel_workers, alone);
	double read = (1 - by->copied) / processes + by->copied * COPIED_COST;
	double tuples = table->tuples * read;
	double rows = table->rows * read;
	Cost startup = path->pathtarget->cost.startup;
	Cost condition_cost =
		ScanConditionsCost(root, extract_actual_clauses(table->baserestrictinfo, false), &startup);
	Cost merging;
	double page_cost;

	merging = by->exprs && path->parallel_workers > 0
				  ? queue_cost(calls, by->groups, rows / by->groups, processes)
				  : by->groups * merge_cost(root, calls, rows / by->groups, processes, alone);
	get_tablespace_page_costs(table->reltablespace, NULL, &page_cost);
	path->rows = 1;
	path->startup_cost = table->pages * (1 - by->copied) * page_cost + merging +
						 tuples * (TUPLE_COST * cpu_tuple_cost + condition_cost) +
						 rows * key_cost(root, table, calls, &startup) + startup;
	path->total_cost = path->startup_cost + path->pathtarget->cost.per_tuple;
	return merging;
}

/* ---- GROUP BY ---- */

/*
 * In cpu_operator_cost: FIND_COST and FIND_STRING_COST, finding a row's group by a number or a
 * string; PUT_COST, adding a row to an aggregate of the group.  In cpu_tuple_cost: GROUP_COST,
 * making and returning a group; VALUE_COST, writing a group to disk and merging it.
 * VALUE_BYTES: bytes of a written group without its keys.
 */
#define FIND_COST        0.5
#define FIND_STRING_COST 1
#define PUT_COST         0.5
#define GROUP_COST       1
#define VALUE_COST       50
#define VALUE_BYTES      128

/* Assumed minimum size of a group, in bytes. */
#define GROUP_BYTES 800

/*
 * Bytes of each group in excess of the number that the planner expects.  Such a group has one or
 * two rows, and the allocator rounds up the group's parts.
 */
#define SMALL_GROUP_BYTES 1800

/*
 * Additional bytes of a list of top keys that has few texts: its buffer and its tables have at
 * least 16 entries.
 */
#define LIST_BYTES 3000

/*
 * These constants are for aggregates whose written states contain all counts instead of buffered
 * keys.  WHOLE_ROW_COST: merging a row of a group's second or later state, in cpu_tuple_cost.
 * CANDIDATE_BYTES: maximum number of bytes that a row adds to a state.
 */
#define WHOLE_ROW_COST  10
#define CANDIDATE_BYTES 64

/* The grouping column if rows are grouped by a single column of the table; else NULL. */
const Var *
ScanGroupedColumn(List *exprs)
{
	Node *expr = list_length(exprs) == 1 ? linitial(exprs) : NULL;

	return expr && IsA(expr, Var) ? ScanGroupingColumn(expr) : NULL;
}

/* Average bytes of a string, by the planner's estimate. */
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
		if (ScanGroupingKind(lfirst(cell), &kind) && GroupIsString(kind))
			width += (Size) string_width(root, lfirst(cell));
	}
	return (double) hash_agg_entry_size(aggregates, width, 0) + aggregates * sizeof(ScanAggregate);
}

/*
 * Bytes of a group's states by the planner's estimate for the transition functions, as for a
 * hash aggregate.
 */
static double
state_bytes(PlannerInfo *root)
{
	AggClauseCosts costs = { 0 };

	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	return (double) costs.transitionSpace;
}

/* The cost of evaluating a row's grouping expressions and finding its group. */
static Cost
find_cost(PlannerInfo *root, List *exprs)
{
	Cost cost = 0;
	ListCell *cell;

	foreach (cell, exprs)
	{
		Node *expr = lfirst(cell);
		KeyKind kind;

		(void) ScanGroupingKind(expr, &kind);
		cost += (GroupIsString(kind) ? FIND_STRING_COST : FIND_COST) * cpu_operator_cost;
		if (ScanGroupingColumn(expr) == NULL)
			cost += evaluation_cost(root, (Expr *) expr);
	}
	return cost;
}

/* True if rows can be grouped by this column or expression. */
static bool
takes_expression(PlannerInfo *root, RelOptInfo *input, Node *expr)
{
	KeyKind kind;

	if (!ScanGroupingKind(expr, &kind))
		return ScanRefuse(
			psprintf("GROUP BY of values of type %s: cast them to another one, such as text",
					 format_type_be(exprType(expr))));
	if (expression_returns_set(expr))
		return ScanRefuse("GROUP BY with a function that returns a set");
	return ScanTakesExpression(root, input, expr, "GROUP BY") &&
		   (contain_var_clause(expr) || ScanRefuse("GROUP BY of a constant: leave it out"));
}

/*
 * Fill in "plan" for grouping the table by these expressions, with "workers" parallel workers;
 * false: the scan cannot group by them.
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
	plan->processes = process_count(workers);
	rows = table->rows / plan->processes;
	plan->groups = EstimateGroups(root, exprs, rows);
	plan->sized = EstimateGroupsForSize(root, exprs, rows);
	plan->most = EstimateMostGroups(root, exprs, rows, plan->sized);
	plan->bytes = empty_bytes(root, exprs) + state_bytes(root);
	plan->order = EstimateOrder(root, exprs);
	return true;
}

/*
 * True if all groups that "rows" rows form fit into memory at the same time.  The states of a
 * group have the size that the planner expects, or the size of dense states if that is larger.
 */
bool
ScanGroupingFits(PlannerInfo *root, List *exprs, List *calls, double rows)
{
	double groups = EstimateGroups(root, exprs, rows);
	double states = Max(state_bytes(root), dense_bytes(calls, rows / groups));

	return groups * (empty_bytes(root, exprs) + states) <= (double) get_hash_memory_limit();
}

/*
 * The grouping expressions of the query; NIL: the scan cannot group by them.  If "input" has
 * child tables, the values must have a hash function.
 */
List *
ScanGroupingExprs(PlannerInfo *root, RelOptInfo *input)
{
	List *clauses = root->parse->groupClause;

	if (root->parse->groupingSets != NIL)
	{
		(void) ScanRefuse("GROUPING SETS, ROLLUP or CUBE: group by all of their columns in a "
						  "subquery, and merge above it");
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
 * Relative cost of merging a row of a filter or of a list with texts, which cannot defer counting.
 * 0: any other aggregate.
 */
static int
whole_cost(const ColumnScanCall *call)
{
	if (call->family == &column_families[FAMILY_FILTER])
		return 2;
	return has_texts(call) ? 3 : 0;
}

static int
whole_costs(List *calls)
{
	int sum = 0;
	ListCell *cell;

	foreach (cell, calls)
		sum += whole_cost(lfirst(cell));
	return sum;
}

/*
 * Bytes of the state of an aggregate that cannot defer counting, in a group of this number of
 * rows.
 */
static double
whole_aggregate_bytes(const ColumnScanCall *call, double rows)
{
	double bytes = table_bytes(call, rows, 1, false);

	if (bytes > 0 && has_texts(call))
		bytes += Min(rows, ScanCandidates(call)) * CANDIDATE_BYTES;
	return Min(rows * CANDIDATE_BYTES, Max(CANDIDATE_BYTES, bytes));
}

/* Bytes of the lists with texts in a group of few rows. */
static double
list_bytes(List *calls)
{
	double bytes = 0;
	ListCell *cell;

	foreach (cell, calls)
		bytes += has_texts(lfirst(cell)) ? LIST_BYTES : 0;
	return bytes;
}

/* Bytes of a group of this number of rows, including aggregates that cannot defer counting. */
static double
whole_bytes(List *calls, double rows)
{
	double bytes = GROUP_BYTES + list_bytes(calls);
	ListCell *cell;

	foreach (cell, calls)
		if (whole_cost(lfirst(cell)) > 0)
			bytes += whole_aggregate_bytes(lfirst(cell), rows);
	return bytes;
}

/*
 * Estimate the number of written groups if rows are in random order; a group counts each time that
 * it is written.  Assumes that all groups are written each time that they fill the memory.  If the
 * memory cannot contain all groups even when they are small, nearly every row of a group that is
 * not in memory is written as a group.
 */
static double
values_strewn(const GroupingPlan *plan, double fillings, double rows)
{
	double resident = (double) get_hash_memory_limit() / GROUP_BYTES;
	double values = Min(rows, plan->most * fillings);

	if (plan->most <= resident)
		return values;
	return Max(values, rows * (1 - resident / plan->most));
}

/* Rows of a table that a process reads from pages. */
static double
read_rows(const GroupingPlan *plan, const RelOptInfo *table)
{
	return table->rows * (1 - plan->copied) / plan->processes;
}

/*
 * The cost of writing groups that do not fit into memory, and of reading and merging them.  A
 * group whose rows are consecutive is written once.
 */
Cost
ScanSpillCost(const GroupingPlan *plan, const RelOptInfo *table, List *calls)
{
	double rows = read_rows(plan, table);
	int whole = whole_costs(calls);
	double group = whole > 0 ? whole_bytes(calls, rows / plan->sized) : plan->bytes;
	double memory =
		plan->sized * group + (plan->most - plan->sized) * (SMALL_GROUP_BYTES + list_bytes(calls));
	double fillings = memory / (double) get_hash_memory_limit();
	double values =
		plan->order * plan->most + (1 - plan->order) * values_strewn(plan, fillings, rows);
	double bytes = values * VALUE_BYTES + rows * list_length(calls) * sizeof(uint64);
	double merged =
		Max(0, 1 - plan->most / Max(1, values)); /* fraction of written groups that are merged */

	if (fillings <= 1)
		return 0;
	return (values * VALUE_COST + whole * merged * rows * WHOLE_ROW_COST) * cpu_tuple_cost +
		   2 * bytes / BLCKSZ * seq_page_cost;
}

/* Add the cost of grouping to the cost of the scan, without the cost of writing groups. */
void
ScanGroupingCost(const GroupingPlan *plan, RelOptInfo *table, List *calls, Path *path)
{
	Cost start =
		read_rows(plan, table) * (plan->find + PUT_COST * list_length(calls) * cpu_operator_cost);
	Cost returning = plan->groups * (GROUP_COST * cpu_tuple_cost);

	path->startup_cost += start;
	path->total_cost += start + returning + (plan->groups - 1) * path->pathtarget->cost.per_tuple;
	path->rows = plan->groups;
}
