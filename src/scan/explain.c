/*
 * explain.c
 *		Reports of a column scan: progress, EXPLAIN, and why the scan or the GPU was not used.
 *
 * Code that refuses a query (match.c, families.c, costs.c, plan.c) sets a reason.  The reason names
 * the part of the query, and may tell the user what to do.  After the planner has made the paths of
 * a query with our aggregates, the reason is logged at DEBUG1:
 *
 *	column scan not used: ORDER BY in a subquery in FROM: leave it out, since the order of
 *	rows does not matter
 *	GPU not used: 16 processes fill a sketch of 256kB faster than a GPU
 *
 * From PostgreSQL 18 on, extensions can add lines to EXPLAIN.  In these versions, the reason is
 * also kept for EXPLAIN (VERBOSE) until the plan has been printed.
 *
 * A query may have several reasons, one for each part with aggregates.  Functions that are
 * called during planning may plan other queries.  Only the reasons of the query under EXPLAIN
 * are kept.
 *
 * Two kinds of EXPLAIN show no reason: EXPLAIN EXECUTE, which does not call
 * ExplainOneQuery_hook, and the first EXPLAIN of a session if its query loads the library.
 *
 * src/scan/explain.c
 */
#include "scan/scan.h"

#include "base/isa.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

/* Report that this process begins to read pages. */
ActivityHandle
ScanReportBegin(const PageReader *reader, const SharedScan *shared)
{
	Oid relation = RelationGetRelid(reader->scan->rs_base.rs_rd);
	ActivityHandle activity =
		ActivityBegin(ACTIVITY_SCAN, relation, shared ? SharedScanId(shared) : 0);

	ActivitySet(&activity, ACTIVITY_TOTAL, reader->scan->rs_nblocks);
	ActivitySet(&activity, ACTIVITY_PHASE, PHASE_RUNNING);
	return activity;
}

/* Report the progress of this process. */
void
ScanReport(const ActivityHandle *activity, const PageReader *reader, const ScanAggregate *aggregate,
		   int count)
{
	uint64 keys = 0;
	bool on_gpu = false;
	int i;

	for (i = 0; i < count; i++)
	{
		keys += aggregate[i].state ? aggregate[i].state->count : 0;
		on_gpu |= ScanAggregateIsOnGpu(&aggregate[i]);
	}
	ActivitySet(activity, ACTIVITY_DONE, reader->pages + reader->pages_copied);
	ActivitySet(activity, ACTIVITY_FOUND, keys);
	ActivitySet(activity, ACTIVITY_ON_GPU, on_gpu);
}

/*
 * True if EXPLAIN ANALYZE may show the counts.  Below Append, a parallel worker may run a serial
 * scan.  Such a scan has no shared memory, so the leader does not know its counts.
 */
bool
ScanCountsAreKnown(const ScanCounts *counts, const PlanState *node, const ExplainState *es)
{
	return es->analyze &&
		   (counts->any || node->instrument == NULL || node->instrument->nloops == 0);
}

/* Show expressions of a node in the format of Aggregate's output. */
void
ScanExplainExprs(const char *label, List *exprs, const CustomScan *scan, List *ancestors,
				 ExplainState *es)
{
	List *context = set_deparse_context_plan(es->deparse_cxt, (Plan *) scan, ancestors);
	List *deparsed = NIL;
	ListCell *cell;
#if PG_VERSION_NUM >= 180000
	bool prefix =
		es->rtable_size > 1 || es->verbose; /* rtable_size does not count GROUP BY's entry */
#else
	bool prefix = list_length(es->rtable) > 1 || es->verbose;
#endif

	foreach (cell, exprs)
		deparsed = lappend(deparsed, deparse_expression(lfirst(cell), context, prefix, false));
	ExplainPropertyList(label, deparsed, es);
}

void
ScanExplainGroups(const ScanCounts *counts, ExplainState *es)
{
	ExplainPropertyInteger("Groups", NULL, (int64) counts->groups, es);
	if (counts->spilled > 0)
		ExplainPropertyInteger("Spilled Groups", NULL, (int64) counts->spilled, es);
}

/* Show HAVING, and in EXPLAIN ANALYZE the number of groups for which HAVING was not true. */
void
ScanExplainHaving(List *having, uint64 refused, bool counted, const CustomScan *scan,
				  List *ancestors, ExplainState *es)
{
	if (having == NIL)
		return;
	ScanExplainExprs("Having", list_make1(make_ands_explicit(having)), scan, ancestors, es);
	if (counted)
		ExplainPropertyInteger("Groups Removed by Having", NULL, (int64) refused, es);
}

void
ScanExplainKeys(const ScanCounts *counts, ExplainState *es)
{
	ExplainPropertyText("Device", counts->on_gpu ? (counts->on_cpu ? "cpu, gpu" : "gpu") : "cpu",
						es);
	ExplainPropertyText("Instructions", qb_isa_name(qb_isa_now()), es);
	ExplainPropertyInteger("Keys", NULL, (int64) counts->keys, es);
	ExplainPropertyInteger("Batches", NULL, (int64) counts->batches, es);
}

/* Show in EXPLAIN ANALYZE how many pages were read. */
void
ScanExplainPages(const ScanCounts *counts, ExplainState *es)
{
	ExplainPropertyInteger("Pages", NULL, (int64) counts->pages, es);
	ExplainPropertyInteger("All-Visible Pages", NULL, (int64) counts->pages_visible, es);
	if (counts->cached_examined)
		ExplainPropertyInteger("Pages from Cached Columns", NULL, (int64) counts->pages_copied, es);
}

#if PG_VERSION_NUM >= 180000

/* A query that is being explained, and its reasons. */
typedef struct Explained
{
	const Query *query;
	const ExplainState *es;
	MemoryContext context; /* holds the lists */
	List *scan;
	List *gpu;
} Explained;

static Explained *explained = NULL;
static ExplainOneQuery_hook_type previous_query_hook;
static explain_per_plan_hook_type previous_plan_hook;

static bool
is_explained(const PlannerInfo *root)
{
	if (explained == NULL)
		return false;
	while (root->parent_root)
		root = root->parent_root;
	return root->parse == explained->query;
}

/* Keep a reason why the GPU or the scan was not used, unless an equal reason was kept before. */
static void
keep_reason(const PlannerInfo *root, bool gpu, const char *reason)
{
	MemoryContext old;
	bool known = false;
	List **list;
	ListCell *cell;

	if (!is_explained(root))
		return;
	list = gpu ? &explained->gpu : &explained->scan;
	old = MemoryContextSwitchTo(explained->context);
	foreach (cell, *list)
		known |= pg_strcasecmp(lfirst(cell), reason) == 0;
	if (!known)
		*list = lappend(*list, pstrdup(reason));
	MemoryContextSwitchTo(old);
}

#else

/* Before PostgreSQL 18, only the log has reasons. */
#define is_explained(root)             false
#define keep_reason(root, gpu, reason) ((void) 0)

#endif

/* ---- while planning ---- */

bool
ScanReasonsWanted(const PlannerInfo *root)
{
	return is_explained(root) || message_level_is_interesting(DEBUG1);
}

static void
report_gpu_reasons(PlannerInfo *root, List *matches, const StateWork *work)
{
	List *aggregates = pull_var_clause((Node *) root->processed_tlist,
									   PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
										   PVC_INCLUDE_PLACEHOLDERS);
	ListCell *cell;

	foreach (cell, aggregates)
	{
		const char *reason = NULL;
		ColumnScanCall call;

		if (!IsA(lfirst(cell), Aggref))
			continue;
		(void) ColumnScanMatch(lfirst(cell), matches, &call);
		if (call.family && call.family->gpu_reason &&
			(call.template || !call.aggregate.layout.template))
			reason = call.family->gpu_reason(call.template, work);
		if (reason == NULL)
			continue;
		ereport(DEBUG1, (errmsg_internal("GPU not used: %s", reason)));
		keep_reason(root, true, reason);
	}
}

/* With at least this number of groups, the reason mentions the planner's estimate. */
#define MANY_GROUPS 1000

/* The reason if the scan is possible, but the path "taken" is cheaper. */
static const char *
reason_of_costs(const PlannerInfo *root, const Path *taken)
{
	if (root->parse->groupClause == NIL || taken->rows < MANY_GROUPS)
		return "another plan is cheaper";
	return psprintf(
		"another plan is cheaper for %.0f groups: if there are far fewer, CREATE STATISTICS "
		"on what GROUP BY has, then ANALYZE",
		taken->rows);
}

/* The cost of a path, including the sort that the query needs after the path. */
static Cost
sorted_cost(PlannerInfo *root, const Path *path)
{
	Path sort = { .total_cost = path->total_cost };

	if (pathkeys_contained_in(root->sort_pathkeys, path->pathkeys))
		return path->total_cost;
#if PG_VERSION_NUM >= 180000
	cost_sort(&sort, root, root->sort_pathkeys, path->disabled_nodes, path->total_cost, path->rows,
			  path->pathtarget->width, 0, work_mem, root->limit_tuples);
#else
	cost_sort(&sort, root, root->sort_pathkeys, path->total_cost, path->rows,
			  path->pathtarget->width, 0, work_mem, root->limit_tuples);
#endif
	return sort.total_cost;
}

/*
 * The cheapest path, including the sort that the query needs.  The planner takes this path in
 * most cases.
 */
const Path *
ScanCheapestPath(PlannerInfo *root, const RelOptInfo *output)
{
	const Path *cheapest = NULL;
	ListCell *cell;

	foreach (cell, output->pathlist)
	{
		const Path *path = lfirst(cell);

		if (cheapest == NULL || sorted_cost(root, path) < sorted_cost(root, cheapest))
			cheapest = path;
	}
	return cheapest;
}

/* True if the path gathers rows of parallel processes. */
static bool
is_gathered(const Path *path)
{
	if (IsA(path, SortPath))
		path = ((const SortPath *) path)->subpath;
	return IsA(path, GatherPath) || IsA(path, GatherMergePath);
}

/* The work on each state of a path without our scan, as AggregateWork() estimates it. */
StateWork
ScanWorkWithout(const Path *path, const RelOptInfo *input)
{
	StateWork work = { .processes = 1, .by_executor = true };

	if (IsA(path, AggPath) && DO_AGGSPLIT_COMBINE(((const AggPath *) path)->aggsplit) &&
		is_gathered(((const AggPath *) path)->subpath))
		work.processes += max_parallel_workers_per_gather;
	work.rows = input->rows / work.processes / Max(1, path->rows);
	return work;
}

/*
 * Log the reasons for a query with our aggregates, and keep them for EXPLAIN.  "taken" is the
 * path that the planner takes; NULL: it takes a column scan.
 */
void
ScanReportReasons(PlannerInfo *root, List *matches, const Path *taken, const StateWork *work)
{
	if (taken)
	{
		const char *reason = scan_refusal ? scan_refusal : reason_of_costs(root, taken);

		ereport(DEBUG1, (errmsg_internal("column scan not used: %s", reason)));
		keep_reason(root, false, reason);
	}
	report_gpu_reasons(root, matches, work);
}

/* ---- EXPLAIN ---- */

#if PG_VERSION_NUM >= 180000

static void
print_with_plan(PlannedStmt *plan, IntoClause *into, ExplainState *es, const char *query_string,
				ParamListInfo params, QueryEnvironment *environment)
{
	if (previous_plan_hook)
		previous_plan_hook(plan, into, es, query_string, params, environment);
	if (explained == NULL || explained->es != es)
		return;
	if (explained->scan != NIL)
		ExplainPropertyList("Column Scan Not Used", explained->scan, es);
	if (explained->gpu != NIL)
		ExplainPropertyList("GPU Not Used", explained->gpu, es);
}

static void
explain_query(Query *query, int options, IntoClause *into, ExplainState *es,
			  const char *query_string, ParamListInfo params, QueryEnvironment *environment)
{
	Explained this = { .query = query, .es = es, .context = CurrentMemoryContext };
	Explained *outer = explained;

	explained = es->verbose ? &this : NULL;
	PG_TRY();
	{
		if (previous_query_hook)
			previous_query_hook(query, options, into, es, query_string, params, environment);
		else
			standard_ExplainOneQuery(query, options, into, es, query_string, params, environment);
	}
	PG_FINALLY();
	{
		explained = outer;
	}
	PG_END_TRY();
}

#endif

/* Set up the hooks when the library is loaded. */
void
ScanReasonsInit(void)
{
#if PG_VERSION_NUM >= 180000
	previous_query_hook = ExplainOneQuery_hook;
	ExplainOneQuery_hook = explain_query;
	previous_plan_hook = explain_per_plan_hook;
	explain_per_plan_hook = print_with_plan;
#endif
}
