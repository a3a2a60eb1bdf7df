/*
 * costs.c
 *		QSketchScan: what it costs.
 *
 * src/scan/costs.c
 */
#include "pgbase/state.h"
#include "scan/conditions.h"
#include "scan/scan.h"

#include <sched.h>
#include <unistd.h>

#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/spccache.h"

/*
 * Costs, measured against count(*).  A tuple takes TUPLE_SHARE of cpu_tuple_cost, and a
 * key takes KEY_SHARE of cpu_operator_cost.  Making and merging a block of a partial
 * sketch takes MERGE_SHARE times cpu_tuple_cost.  A row whose key a GPU has takes
 * COPIED_SHARE of what a row that is read takes.
 *
 * Groups of other processes are passed through a queue (pgbase/state.h).  A key that
 * a state keeps exactly takes PASSED_KEY_SHARE of cpu_tuple_cost.
 */
#define TUPLE_SHARE  0.2
#define KEY_SHARE    0.5
#define MERGE_SHARE  100
#define COPIED_SHARE 0.02

#define PASSED_KEY_SHARE 2

/* How many processes share the rows, by the planner's own rule. */
double
ScanProcesses(int workers)
{
	double leader = parallel_leader_participation ? Max(0, 1 - 0.3 * workers) : 0;

	return workers > 0 ? workers + leader : 1;
}

/* With one processor the planner decides as with two. */
#define FEWEST_PROCESSORS 2

/* How many processors the server may use. */
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
 * How many processes share the rows and run at the same time.  The planner does not ask
 * how many processors there are.  Where processes together have more to do than one has
 * alone, it matters.
 */
static double
running(List *calls, int workers, bool alone)
{
	double share = ScanProcesses(workers);
	ListCell *cell;

	if (!alone || workers == 0)
		return share;
	foreach (cell, calls)
		if (((const ColumnScanCall *) lfirst(cell))->family->shares_work)
			return Min(share, processors());
	return share;
}

/* ColumnFamily's table_bytes, also of aggregates that have no state. */
static double
table_bytes(const ColumnScanCall *call, double rows, double others, bool together)
{
	return call->family->table_bytes
			   ? call->family->table_bytes(call->template, rows, others, together)
			   : 0;
}

/* The cost of merging partial results, of which each process has one of so many rows. */
static Cost
merge_cost(List *calls, double rows, double share, bool alone)
{
	Cost cost = 0;
	ListCell *cell;

	foreach (cell, calls)
	{
		const ColumnScanCall *call = lfirst(cell);

		if (call->aggref->aggsplit != AGGSPLIT_SIMPLE)
			cost +=
				table_bytes(call, rows, share - 1, alone) / BLCKSZ * MERGE_SHARE * cpu_tuple_cost;
	}
	return cost;
}

/* Bytes of all dense states of so many rows. */
double
ScanDenseBytes(List *calls, double rows)
{
	double bytes = 0;
	ListCell *cell;

	foreach (cell, calls)
		bytes += table_bytes(lfirst(cell), rows, 1, false);
	return bytes;
}

/*
 * The cost of passing states of so many rows through queues and of merging them, for groups that
 * each of the processes has.
 */
static Cost
queue_cost(List *calls, double groups, double rows, double share)
{
	Cost cost = 0;
	ListCell *cell;

	foreach (cell, calls)
	{
		const ColumnScanCall *call = lfirst(cell);
		double bytes = table_bytes(call, rows, 1, false);
		double tuples = bytes > 0 ? bytes / BLCKSZ * PASSED_BLOCK_SHARE : rows * PASSED_KEY_SHARE;

		cost +=
			call->family->functions ? (PASSED_SHARE + tuples) * cpu_tuple_cost : cpu_operator_cost;
	}
	return groups * share * cost;
}

/* The cost of each tuple that passes the conditions: its keys, and FILTERs. */
static Cost
key_cost(PlannerInfo *root, List *calls, Cost *startup)
{
	Cost cost = 0;
	ListCell *cell;

	foreach (cell, calls)
		cost += KEY_SHARE * cpu_operator_cost +
				ScanConditionsCost(
					root,
					make_ands_implicit(((const ColumnScanCall *) lfirst(cell))->aggref->aggfilter),
					startup);
	return cost;
}

/*
 * The cost of all pages but the "copied" fraction, and for each tuple a fraction of the
 * executor's.  One process takes the keys of the copied pages, and all share the others.
 */
void
ScanSetCosts(PlannerInfo *root, Path *path, RelOptInfo *table, List *calls,
			 const ScanExtent *extent)
{
	double share = running(calls, path->parallel_workers, extent->alone);
	double read = (1 - extent->copied) / share + extent->copied * COPIED_SHARE;
	double tuples = table->tuples * read;
	double rows = table->rows * read;
	Cost startup = path->pathtarget->cost.startup;
	Cost condition_cost =
		ScanConditionsCost(root, extract_actual_clauses(table->baserestrictinfo, false), &startup);
	Cost merging;
	double page_cost;

	merging = extent->queued
				  ? queue_cost(calls, extent->groups, rows / extent->groups, share)
				  : extent->groups * merge_cost(calls, rows / extent->groups, share, extent->alone);
	get_tablespace_page_costs(table->reltablespace, NULL, &page_cost);
	path->rows = 1;
	path->startup_cost = table->pages * (1 - extent->copied) * page_cost + merging +
						 tuples * (TUPLE_SHARE * cpu_tuple_cost + condition_cost) +
						 rows * key_cost(root, calls, &startup) + startup;
	path->total_cost = path->startup_cost + path->pathtarget->cost.per_tuple;
}
