/*
 * report.c
 *		Telling other sessions how far a column scan has come, and what it did.
 *
 * src/scan/report.c
 */
#include "scan/scan.h"
#include "scan/version.h"

#include "base/isa.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

/* This process begins to read its share of a parallel scan, or all pages. */
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

/* Report how far this process is. */
void
ScanReport(const ActivityHandle *activity, const PageReader *reader, const ScanAggregate *column,
		   int count)
{
	uint64 keys = 0;
	bool on_gpu = false;
	int i;

	for (i = 0; i < count; i++)
	{
		const FilterState *filter = ScanAggregateState(&column[i], &filter_state_type);
		const SetsState *sets = ScanAggregateState(&column[i], &sets_state_type);

		keys += column[i].state ? column[i].state->members : 0;
		on_gpu |= ScanAggregateIsRemote(&column[i]) || (filter && filter->filter.remote) ||
				  (sets && sets->remote);
	}
	ActivitySet(activity, ACTIVITY_DONE, reader->pages + reader->pages_copied);
	ActivitySet(activity, ACTIVITY_FOUND, keys);
	ActivitySet(activity, ACTIVITY_ON_GPU, on_gpu);
}

/* Add up what the columns have counted so far. */
void
ScanCountKeys(ScanCounts *counts, const ScanAggregate *column, int count)
{
	int i;

	for (i = 0; i < count; i++)
	{
		if (column[i].state == NULL)
			continue;
		counts->keys += column[i].state->members;
		counts->batches += column[i].state->batches;
		counts->on_cpu |= ScanAggregateIsOnCpu(&column[i]);
		counts->on_gpu |= !ScanAggregateIsOnCpu(&column[i]);
	}
}

static const char *
device_names(const ScanCounts *counts)
{
	if (counts->on_gpu)
		return counts->on_cpu ? "cpu, gpu" : "gpu";
	return "cpu";
}

/*
 * May EXPLAIN ANALYZE show the counts?  Below Append a parallel worker may run a serial
 * scan, which has no shared memory for its counts.
 */
bool
ScanCountsTold(const ScanCounts *counts, const PlanState *node, const ExplainState *es)
{
	return es->analyze &&
		   (counts->any || node->instrument == NULL || node->instrument->nloops == 0);
}

/* Show expressions of a node, as Aggregate shows them. */
void
ScanExplainExprs(const char *label, List *exprs, const CustomScan *scan, List *ancestors,
				 ExplainState *es)
{
	List *context = set_deparse_context_plan(es->deparse_cxt, (Plan *) scan, ancestors);
	List *shown = NIL;
	ListCell *cell;
#if PG_VERSION_NUM >= 180000
	bool prefix =
		es->rtable_size > 1 || es->verbose; /* rtable_size leaves out the entry of GROUP BY */
#else
	bool prefix = list_length(es->rtable) > 1 || es->verbose;
#endif

	foreach (cell, exprs)
		shown = lappend(shown, deparse_expression(lfirst(cell), context, prefix, false));
	ExplainPropertyList(label, shown, es);
}

/* Show in EXPLAIN ANALYZE how many groups there were, in all processes together. */
void
ScanExplainGroups(const ScanCounts *counts, ExplainState *es)
{
	ExplainPropertyInteger("Groups", NULL, (int64) counts->groups, es);
	if (counts->spilled > 0)
		ExplainPropertyInteger("Spilled Groups", NULL, (int64) counts->spilled, es);
}

/* Show the counts in EXPLAIN ANALYZE. */
void
ScanExplainCounts(const ScanCounts *counts, ExplainState *es)
{
	ExplainPropertyText("Device", device_names(counts), es);
	ExplainPropertyText("Instructions", qb_isa_name(qb_isa_now()), es);
	ExplainPropertyInteger("Keys", NULL, (int64) counts->keys, es);
	ExplainPropertyInteger("Batches", NULL, (int64) counts->batches, es);
	ExplainPropertyInteger("Pages", NULL, (int64) counts->pages, es);
	ExplainPropertyInteger("All-Visible Pages", NULL, (int64) counts->pages_visible, es);
	if (counts->copies)
		ExplainPropertyInteger("Pages from GPU Copies", NULL, (int64) counts->pages_copied, es);
}

/*
 * Add what this process did to the statistics.  Engines have counted the keys and
 * batches already.
 */
void
ScanReportRun(const ScanCounts *run, bool first)
{
	StatCount(STAT_SCANS, first);
	StatCount(STAT_PAGES, run->pages);
	StatCount(STAT_PAGES_VISIBLE, run->pages_visible);
}
