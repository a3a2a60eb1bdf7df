/*
 * reasons.c
 *		Why the column scan or the GPU was not taken: in the log, and in EXPLAIN.
 *
 * Code that refuses a query (match.c, plan.c) leaves a reason, which costs a store.
 * When the planner has the paths of a query with aggregates of ours, and the log or
 * EXPLAIN wants the reason, it is logged at DEBUG1:
 *
 *	column scan not used: GROUPING SETS
 *	GPU not used: the sketch is smaller than qsketch.gpu_min_size
 *
 * From PostgreSQL 18 on EXPLAIN lets extensions add to a plan.  There the reason is
 * also kept for EXPLAIN (VERBOSE) until the plan has been printed.
 *
 * A query may have several reasons, one for each part with aggregates.  While a query
 * is planned, functions that are called may plan other queries.  Only the reasons of
 * the query under EXPLAIN are kept.
 *
 * Two kinds of EXPLAIN show no reason: EXPLAIN EXECUTE, which plans in another way, and
 * the first EXPLAIN of a session if its query loads the library.
 *
 * src/scan/reasons.c
 */
#include "scan/scan.h"
#include "scan/version.h"

#include "optimizer/optimizer.h"

const char *scan_refusal = NULL;

#if PG_VERSION_NUM >= 180000

/* A query that is being explained, and its reasons. */
typedef struct Explained
{
	const Query *query;
	const ExplainState *es;
	MemoryContext context; /* of the lists */
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

/* Add a reason to a list, once. */
static void
add_reason(List **list, const char *reason)
{
	MemoryContext old = MemoryContextSwitchTo(explained->context);
	ListCell *cell;
	bool known = false;

	foreach (cell, *list)
		known |= pg_strcasecmp(lfirst(cell), reason) == 0;
	if (!known)
		*list = lappend(*list, pstrdup(reason));
	MemoryContextSwitchTo(old);
}

static void
keep_for_scan(const PlannerInfo *root, const char *reason)
{
	if (is_explained(root))
		add_reason(&explained->scan, reason);
}

static void
keep_for_gpu(const PlannerInfo *root, const char *reason)
{
	if (is_explained(root))
		add_reason(&explained->gpu, reason);
}

#else

/* Before PostgreSQL 18 only the log has reasons. */
#define is_explained(root)          false
#define keep_for_scan(root, reason) ((void) 0)
#define keep_for_gpu(root, reason)  ((void) 0)

#endif

/* ---- while planning ---- */

bool
ScanReasonsWanted(const PlannerInfo *root)
{
	return is_explained(root) || message_level_is_interesting(DEBUG1);
}

static void
tell_gpu(PlannerInfo *root)
{
	List *aggregates = pull_var_clause((Node *) root->processed_tlist,
									   PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
										   PVC_INCLUDE_PLACEHOLDERS);
	ListCell *cell;

	foreach (cell, aggregates)
	{
		const char *reason =
			IsA(lfirst(cell), Aggref) ? ColumnGpuReason(lfirst_node(Aggref, cell)) : NULL;

		if (reason == NULL)
			continue;
		ereport(DEBUG1, (errmsg_internal("GPU not used: %s", reason)));
		keep_for_gpu(root, reason);
	}
}

/* Log the reasons for a query with aggregates of ours, and keep them for EXPLAIN. */
void
ScanTellReasons(PlannerInfo *root, bool scan_not_taken)
{
	if (scan_not_taken)
	{
		const char *reason = scan_refusal ? scan_refusal : "another plan is cheaper";

		ereport(DEBUG1, (errmsg_internal("column scan not used: %s", reason)));
		keep_for_scan(root, reason);
	}
	tell_gpu(root);
}

/* ---- EXPLAIN ---- */

#if PG_VERSION_NUM >= 180000

static void
print(ExplainState *es)
{
	if (explained->scan != NIL)
		ExplainPropertyList("Column Scan Not Used", explained->scan, es);
	if (explained->gpu != NIL)
		ExplainPropertyList("GPU Not Used", explained->gpu, es);
}

static void
print_with_plan(PlannedStmt *plan, IntoClause *into, ExplainState *es, const char *query_string,
				ParamListInfo params, QueryEnvironment *environment)
{
	if (previous_plan_hook)
		previous_plan_hook(plan, into, es, query_string, params, environment);
	if (explained && explained->es == es)
		print(es);
}

static void
explain_next(Query *query, int options, IntoClause *into, ExplainState *es,
			 const char *query_string, ParamListInfo params, QueryEnvironment *environment)
{
	if (previous_query_hook)
		previous_query_hook(query, options, into, es, query_string, params, environment);
	else
		standard_ExplainOneQuery(query, options, into, es, query_string, params, environment);
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
		explain_next(query, options, into, es, query_string, params, environment);
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
