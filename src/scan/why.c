/*
 * why.c
 *		Why the column scan or the GPU was not taken: in the log, and in EXPLAIN.
 *
 * Whatever refuses a query (match.c, plan.c) leaves a word about it, which costs
 * a store.  Once the planner has the paths of a query with aggregates of ours,
 * and somebody wants to know, the word is logged at DEBUG1, and for EXPLAIN
 * (VERBOSE) kept until the plan has been printed:
 *
 *	Column Scan Not Used: GROUP BY
 *	GPU Not Used: the sketch is smaller than qsketch.gpu_min_size
 *
 * A query may have several, one for each part that has aggregates.  Planning a
 * query can mean planning others, of functions that are called meanwhile: only
 * what belongs to the very query that is explained is kept.
 *
 * EXPLAIN lets extensions add to a plan from PostgreSQL 18 on.  Before, the plan
 * is printed by PostgreSQL as it would be without us, and lines are put at its
 * end: in formats with brackets before the last one.
 *
 * Not seen: EXPLAIN EXECUTE, which plans in a way of its own, and the first
 * EXPLAIN of a session that loads the library with its query.
 *
 * src/scan/why.c
 */
#include "scan/scan.h"

#include "commands/explain.h"
#include "optimizer/optimizer.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/* A query that EXPLAIN is at, and what was said of it. */
typedef struct Explained
{
	const Query *query;
	const ExplainState *es;
	MemoryContext context; /* of the lists */
	List *scan;
	List *gpu;
} Explained;

const char *scan_refusal = NULL;

static Explained *explained = NULL;
static ExplainOneQuery_hook_type previous_query_hook;
#if PG_VERSION_NUM >= 180000
static explain_per_plan_hook_type previous_plan_hook;
#endif

/* ---- while planning ---- */

static bool
is_explained(const PlannerInfo *root)
{
	if (explained == NULL)
		return false;
	while (root->parent_root)
		root = root->parent_root;
	return root->parse == explained->query;
}

bool
ScanReasonsWanted(const PlannerInfo *root)
{
	return is_explained(root) || message_level_is_interesting(DEBUG1);
}

/* Keep a reason, once. */
static void
keep(List **list, const char *reason)
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
tell_gpu(PlannerInfo *root, bool keeps)
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
		if (keeps)
			keep(&explained->gpu, reason);
	}
}

/* Say what was found out about a query with aggregates of ours. */
void
ScanTellReasons(PlannerInfo *root, bool scan_not_taken)
{
	bool keeps = is_explained(root);

	if (scan_not_taken)
	{
		const char *reason = scan_refusal ? scan_refusal : "another plan is cheaper";

		ereport(DEBUG1, (errmsg_internal("column scan not used: %s", reason)));
		if (keeps)
			keep(&explained->scan, reason);
	}
	tell_gpu(root, keeps);
}

/* ---- EXPLAIN ---- */

static void
print(const Explained *of, ExplainState *es)
{
	if (of->scan != NIL)
		ExplainPropertyList("Column Scan Not Used", of->scan, es);
	if (of->gpu != NIL)
		ExplainPropertyList("GPU Not Used", of->gpu, es);
}

#if PG_VERSION_NUM >= 180000

static void
print_with_plan(PlannedStmt *plan, IntoClause *into, ExplainState *es, const char *query_string,
				ParamListInfo params, QueryEnvironment *environment)
{
	if (previous_plan_hook)
		previous_plan_hook(plan, into, es, query_string, params, environment);
	if (explained && explained->es == es)
		print(explained, es);
}

#else

/* What ExplainCloseGroup() has written last. */
static const char *
closing_of(const ExplainState *es)
{
	switch (es->format)
	{
		case EXPLAIN_FORMAT_JSON:
			return psprintf("\n%*s}", 2 * es->indent, "");
		case EXPLAIN_FORMAT_XML:
			return psprintf("%*s</Query>\n", 2 * es->indent, "");
		default:
			return "";
	}
}

/* Take back the end of the group of a query; false: it does not end as expected. */
static bool
reopen(ExplainState *es)
{
	const char *closing = closing_of(es);
	int length = (int) strlen(closing);

	if (es->str->len < length ||
		memcmp(es->str->data + es->str->len - length, closing, length) != 0)
		return false;
	es->str->len -= length;
	es->str->data[es->str->len] = '\0';
	es->indent++;
	if (es->format == EXPLAIN_FORMAT_JSON || es->format == EXPLAIN_FORMAT_YAML)
		es->grouping_stack = lcons_int(1, es->grouping_stack); /* not the first in its group */
	return true;
}

static void
print_after_plan(const Explained *of, ExplainState *es)
{
	if (of->scan == NIL && of->gpu == NIL)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
		print(of, es);
	else if (reopen(es))
	{
		print(of, es);
		ExplainCloseGroup("Query", NULL, true, es);
	}
}

#endif

#if PG_VERSION_NUM < 170000

/* As ExplainOneQuery() does without a hook. */
static void
standard_ExplainOneQuery(Query *query, int options, IntoClause *into, ExplainState *es,
						 const char *query_string, ParamListInfo params,
						 QueryEnvironment *environment)
{
	BufferUsage before = pgBufferUsage;
	BufferUsage used = { 0 };
	instr_time start;
	instr_time duration;
	PlannedStmt *plan;

	INSTR_TIME_SET_CURRENT(start);
	plan = pg_plan_query(query, query_string, options, params);
	INSTR_TIME_SET_CURRENT(duration);
	INSTR_TIME_SUBTRACT(duration, start);
	if (es->buffers)
		BufferUsageAccumDiff(&used, &pgBufferUsage, &before);
	ExplainOnePlan(plan, into, es, query_string, params, environment, &duration,
				   es->buffers ? &used : NULL);
}

#endif

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
#if PG_VERSION_NUM < 180000
	print_after_plan(&this, es);
#endif
}

/* At load. */
void
ScanReasonsInit(void)
{
	previous_query_hook = ExplainOneQuery_hook;
	ExplainOneQuery_hook = explain_query;
#if PG_VERSION_NUM >= 180000
	previous_plan_hook = explain_per_plan_hook;
	explain_per_plan_hook = print_with_plan;
#endif
}
