/*
 * exec.c
 *		Runs QSketchScan in the executor: begins, returns results, rescans, ends.
 *
 * The first call runs the whole scan and returns one tuple with all aggregates.  With GROUP BY,
 * there is a tuple for each group (groups/use.c).  In a parallel scan, each process returns the
 * groups of its pages.  Our aggregates return NULL if they have received no key.  A scan whose
 * states QSketchCollect returns (collect.c) returns no tuple.
 *
 * HAVING is tested on complete tuples, because its conditions refer to columns of
 * custom_scan_tlist.
 *
 * Under Finalize Aggregate, the sketches are partial: they have the keys of one child or several,
 * or of the pages that this process read.  Partial sketches are freed as soon as they have been
 * merged.  Complete sketches are kept until a parameter of the scan changes.  Until then, a rescan
 * reads no pages.  Groups are kept only if none of them was written to disk or freed.
 *
 * src/scan/exec.c
 */
#include "scan/cached/cached.h"
#include "scan/groups/groups.h"

#include "pg/sets_state.h"

#include "access/parallel.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* Pages between two reports of progress. */
#define REPORT_PAGES 32

/* The progress of a run.  With GROUP BY, the ScanGroups know which groups were returned. */
typedef enum Progress
{
	PROGRESS_NONE,     /* no row was read yet */
	PROGRESS_COMPLETE, /* the states are complete for the current parameters */
	PROGRESS_NULLS,    /* complete, and the row of NULLs that precedes large sets was returned */
	PROGRESS_RETURNED  /* complete, and the single tuple was returned */
} Progress;

typedef struct ColumnScanState
{
	CustomScanState css;
	int count;
	ScanAggregate *aggregate;
	WantedRows rows;
	ScanGroups *groups;           /* NULL: no GROUP BY */
	GroupKey *key;                /* the grouping columns of this table */
	ExprState *having;            /* HAVING; NULL: no HAVING */
	uint64 refused;               /* results for which HAVING was not true */
	CachedColumns *cached;        /* NULL: this process may use no cached columns */
	ScanAccumulator *accumulator; /* NULL: no other scan fills the same states */
	MemoryContext sketches;       /* holds the current result */
	TableScanDesc scan;
	PageReader reader;
	SharedScan *shared; /* NULL: a serial scan */
	Progress progress;
	ScanCounts counts; /* counts of all runs */
	ActivityHandle activity;
} ColumnScanState;

static Node *create_state(CustomScan *cscan);

const CustomScanMethods columnscan_methods = {
	.CustomName = "QSketchScan",
	.CreateCustomScanState = create_state,
};

/* True if the node is a QSketchScan without GROUP BY, which returns one row. */
bool
ScanReturnsOneRow(const CustomScan *scan)
{
	return scan->methods == &columnscan_methods && ScanPlanNumber(scan, PLAN_GROUP_FIELDS) == 0;
}

/* True if the scan is the only node below its Gather. */
static bool
is_alone(const ColumnScanState *state)
{
	return ScanPlanNumber((const CustomScan *) state->css.ss.ps.plan, PLAN_ALONE) != 0;
}

/* True if the results are partial states, for Finalize Aggregate. */
static bool
is_partial(const ColumnScanState *state)
{
	return ScanIsPartial((const CustomScan *) state->css.ss.ps.plan);
}

/* Prepare the groups, which several scans may fill. */
static void
begin_groups(ColumnScanState *state, List *exprs, bool once)
{
	ScanGroups **shared = state->accumulator ? &state->accumulator->groups : &state->groups;

	WantedRowsAddParams(&state->rows, exprs);
	state->key = GroupKeyCreate(exprs, state->rows.estate, state->rows.relation);
	if (*shared == NULL)
		*shared = ScanGroupsCreate(list_length(exprs), state->count, once);
	state->groups = *shared;
}

static void
begin(CustomScanState *node, EState *estate, int eflags)
{
	ColumnScanState *state = (ColumnScanState *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;
	int accumulator = ScanPlanNumber(cscan, PLAN_ACCUMULATOR);

	WantedRowsInit(&state->rows, estate, node->ss.ss_currentRelation, ScanClauses(cscan),
				   list_length(cscan->custom_scan_tlist));
	node->ss.ps.qual = NULL; /* else the executor would test WHERE on result rows */
	state->aggregate = ScanAggregatesInit(&node->ss.ps, &state->rows, &state->count);
	WantedRowsAddParams(&state->rows, list_nth(cscan->custom_exprs, PLAN_PARAMS));
	if (accumulator >= 0)
	{
		state->accumulator = ScanAccumulatorOf(estate, accumulator);
		state->accumulator->scans = lappend(state->accumulator->scans, state);
	}
	if (ScanGroupExprs(cscan))
		begin_groups(state, ScanGroupExprs(cscan),
					 accumulator >= 0 || !(eflags & EXEC_FLAG_REWIND));
	state->having = ExecInitQual(list_nth(cscan->custom_exprs, PLAN_HAVING), &node->ss.ps);
	state->cached =
		CachedColumnsCreate(node->ss.ss_currentRelation, cscan, state->aggregate, state->count);
	if (state->accumulator)
		state->accumulator->cached |= state->cached != NULL;
	state->sketches =
		AllocSetContextCreate(estate->es_query_cxt, "QSketchScan", ALLOCSET_SMALL_SIZES);
}

/*
 * Set the expected work on each state.  All processes of a parallel scan use the same numbers,
 * so that they make the same choices.  Also sets ScanAggregate.cached.
 */
static void
set_work(ColumnScanState *state)
{
	const CustomScan *plan = (const CustomScan *) state->css.ss.ps.plan;
	int i;

	for (i = 0; i < state->count; i++)
	{
		state->aggregate[i].work =
			(StateWork){ .processes = state->shared ? SharedScanProcesses(state->shared) : 1,
						 .rows = ScanPlanNumber(plan, PLAN_ROWS),
						 .together = ScanPlanNumber(plan, PLAN_TOGETHER) };
		state->aggregate[i].cached =
			state->accumulator ? state->accumulator->cached : state->cached != NULL;
	}
}

/* Start groups, or continue to fill the groups of earlier scans. */
static void
start_groups(ColumnScanState *state)
{
	ScanAccumulator *accumulator = state->accumulator;

	if (accumulator == NULL || accumulator->first == NULL || accumulator->returning)
	{
		ScanGroupsStart(state->groups);
		if (accumulator)
			accumulator->first = state;
	}
	if (accumulator)
		accumulator->returning = false;
	ScanGroupsBeginTable(state->groups, state->aggregate, &state->rows, state->key);
}

/* Start empty states for a run, or take over the states of the scan before this one. */
static void
start_sketches(ColumnScanState *state)
{
	MemoryContext context = state->sketches;
	int i;

	MemoryContextReset(state->sketches);
	set_work(state);
	GivenTemplatesRead(state->aggregate, state->count, state->css.ss.ps.ps_ExprContext);
	ScanKeysStart(state->aggregate, state->count);
	if (state->groups)
	{
		start_groups(state);
		return;
	}
	if (state->accumulator &&
		ScanAccumulatorTake(state->accumulator, state->aggregate, state->count, &context))
		return;
	for (i = 0; i < state->count; i++)
		ScanAggregateStart(&state->aggregate[i], context, is_partial(state));
}

/* PostgreSQL's shared state of a parallel scan.  It follows our shared state in memory. */
static ParallelTableScanDesc
shared_scan(const ColumnScanState *state, SharedScan *shared)
{
	return (ParallelTableScanDesc) ((char *) shared + SharedScanSize(state->count));
}

/* True if this scan is the first that fills its groups. */
static bool
begins_groups(const ColumnScanState *state)
{
	return state->accumulator == NULL || state->accumulator->first == state;
}

/*
 * Describe a scan's use of cached columns.  The table scan must begin before the cached
 * columns are checked, because beginning it registers the read of the table in a serializable
 * transaction.
 */
static CachedUse
begin_use(ColumnScanState *state)
{
	ParallelTableScanDesc shared = state->shared ? shared_scan(state, state->shared) : NULL;
	CachedUse use = { .cached = state->cached,
					  .rows = &state->rows,
					  .snapshot = state->css.ss.ps.state->es_snapshot,
					  .aggregate = state->aggregate,
					  .count = state->count,
					  .groups = state->groups,
					  .begun = state->groups && !begins_groups(state),
					  .shared = state->shared ? SharedScanPages(state->shared) : NULL,
					  .area = state->css.ss.ps.state->es_query_dsa };

	if (state->scan == NULL)
		state->scan = BeginTableScan(&state->css.ss, shared);
	use.blocks = ((HeapScanDesc) state->scan)->rs_nblocks;
	return use;
}

/*
 * If this scan is the first that fills its states, return the other scans that fill the same states
 * and may use cached columns.  Scans that depend on parameters are left out, because Append may not
 * execute them.
 */
static List *
scans_behind(const ColumnScanState *state)
{
	List *behind = NIL;
	ListCell *cell;

	if (state->accumulator == NULL || state->accumulator->aggregate ||
		(state->groups && !begins_groups(state)))
		return NIL;
	foreach (cell, state->accumulator->scans)
	{
		ColumnScanState *other = lfirst(cell);

		if (other != state && other->cached && bms_is_empty(other->rows.params) &&
			other->css.ss.ps.chgParam == NULL)
			behind = lappend(behind, other);
	}
	return behind;
}

/*
 * Count keys from cached columns.  The first of several scans requests the keys of all tables
 * from the GPU worker before it waits for the first answer.  After that, cached->all of each
 * other scan has the pages that the scan need not read.
 */
static LeftOut
use_cached_columns(ColumnScanState *state)
{
	List *behind = scans_behind(state);
	CachedUse *use = palloc((1 + list_length(behind)) * sizeof(CachedUse));
	LeftOut left_out;
	int uses = 0;
	ListCell *cell;

	use[uses++] = begin_use(state);
	foreach (cell, behind)
	{
		ColumnScanState *other = lfirst(cell);

		WantedRowsStart(&other->rows);
		use[uses++] = begin_use(other);
		other->cached->asked = true;
	}
	left_out = CachedColumnsBegin(use, uses);
	list_free(behind);
	pfree(use);
	return left_out;
}

static void
start_scan(ColumnScanState *state)
{
	CachedColumns *cached = state->cached;
	bool asked = cached && cached->asked;
	LeftOut left_out = asked ? (LeftOut){ .pages = cached->all } : use_cached_columns(state);

	if (cached)
		cached->asked = false;
	PageReaderBegin(&state->reader, state->scan, left_out, cached ? cached->pages : 0);
}

/* The counts of the sketches so far; zero with GROUP BY. */
static ScanCounts
count_keys(const ColumnScanState *state)
{
	ScanCounts counts = { 0 };

	if (state->groups == NULL)
		ScanCountKeys(&counts, state->aggregate, state->count);
	return counts;
}

/*
 * Add the keys in the buffers of all aggregates or groups to their states.  Returns the counts
 * afterwards.  Groups that several scans fill are left to QSketchCollect, and their counts are
 * zero.
 */
static ScanCounts
flush(ColumnScanState *state)
{
	int i;

	if (state->groups)
		return state->accumulator ? (ScanCounts){ 0 } : ScanGroupsFlush(state->groups);
	for (i = 0; i < state->count; i++)
		ScanAggregateFlush(&state->aggregate[i]);
	return count_keys(state);
}

/* Add "more" to the counts of all processes, or in a serial plan to the counts of this node. */
static void
add_counts(ColumnScanState *state, const ScanCounts *more)
{
	if (state->shared)
		SharedScanCount(state->shared, more);
	else
		ScanCountsAdd(&state->counts, more);
}

/*
 * Record the counts of this run.  "before": the counts at its beginning.  "first": this
 * process is the first of the run.  Engines have already added keys and batches to the
 * statistics.
 */
static void
count_run(ColumnScanState *state, const ScanCounts *before, bool first)
{
	ScanCounts run = flush(state);

	run.keys -= before->keys;
	run.batches -= before->batches;
	run.pages = state->reader.pages;
	run.pages_visible = state->reader.pages_visible;
	run.pages_copied = state->reader.pages_copied;
	run.cached_examined = state->cached && state->cached->used;
	run.any = true;
	StatCount(STAT_SCANS, first);
	StatCount(STAT_PAGES, run.pages);
	StatCount(STAT_PAGES_VISIBLE, run.pages_visible);
	add_counts(state, &run);
}

/* Add the tuples of a page to all aggregates or groups. */
static void
add_tuples(ColumnScanState *state, PageTuples *tuples)
{
	int before = tuples->count;
	int i;

	WantedRowsSelect(&state->rows, tuples);
	InstrCountFiltered1(&state->css, before - tuples->count);
	if (state->groups)
	{
		ScanGroupsAdd(state->groups, tuples);
		return;
	}
	for (i = 0; i < state->count; i++)
	{
		ScanAggregate *aggregate = &state->aggregate[i];

		if (state->cached &&
			CachedColumnsHave(state->cached, i, BufferGetBlockNumber(state->reader.buffer)))
			continue;
		ScanAggregateAdd(aggregate, WantedRowsOf(&state->rows, aggregate->filter_number, tuples));
	}
}

static void
run(ColumnScanState *state)
{
	MemoryContext scratch = state->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory;
	PageTuples *tuples = palloc(sizeof(PageTuples));
	bool first = true;
	ScanCounts before;
	MemoryContext old;

	start_sketches(state);
	before = count_keys(state);
	WantedRowsStart(&state->rows);
	if (state->shared)
		first = SharedScanJoin(state->shared, state->aggregate, state->count);
	start_scan(state);
	state->activity = ScanReportBegin(&state->reader, state->shared);
	old = MemoryContextSwitchTo(scratch); /* memory for hashing the keys of one page */
	while (PageReaderNext(&state->reader, tuples))
	{
		add_tuples(state, tuples);
		MemoryContextReset(scratch);
		if (state->reader.pages % REPORT_PAGES == 0)
			ScanReport(&state->activity, &state->reader, state->aggregate, state->count);
	}
	MemoryContextSwitchTo(old);
	WantedRowsEnd(&state->rows);
	ScanKeysEnd(state->aggregate, state->count);
	if (state->key)
		GroupKeyEnd(state->key);
	PageReaderEnd(&state->reader);
	pfree(tuples);
	count_run(state, &before, first);
	ScanReport(&state->activity, &state->reader, state->aggregate, state->count);
	ActivitySet(&state->activity, ACTIVITY_PHASE, PHASE_MERGING);
	state->progress = PROGRESS_COMPLETE;
}

/* Store the next group; false: no group is left.  The group's values are in per-tuple memory. */
static bool
return_group(ColumnScanState *state, TupleTableSlot *slot)
{
	MemoryContext old =
		MemoryContextSwitchTo(state->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
	bool found = ScanGroupsNext(state->groups, slot);

	MemoryContextSwitchTo(old);
	if (found && state->groups->given == NULL)
		add_counts(state, &(ScanCounts){ .groups = 1 });
	return found;
}

/*
 * True if HAVING is true for the tuple.  If HAVING is not true, clears the slot and frees the
 * memory of the test.
 */
static bool
passes_having(ColumnScanState *state, TupleTableSlot *slot)
{
	ExprContext *context = state->css.ss.ps.ps_ExprContext;

	context->ecxt_scantuple = slot;
	if (ExecQual(state->having, context))
		return true;
	state->refused++;
	ExecClearTuple(slot);
	ResetExprContext(context);
	CHECK_FOR_INTERRUPTS();
	return false;
}

/* Return the next group, or an empty slot. */
static TupleTableSlot *
next_group(ColumnScanState *state, TupleTableSlot *slot)
{
	if (state->progress == PROGRESS_NONE)
		run(state);
	if (state->accumulator)
	{
		ActivityEnd(&state->activity);
		return slot;
	}
	while (return_group(state, slot))
		if (passes_having(state, slot))
			return slot;
	ActivityEnd(&state->activity);
	if (is_partial(state))
		ScanGroupsForget(state->groups);
	return slot;
}

/*
 * True if a row of NULLs must precede the result.  Aggregate copies the first tuple that it
 * receives, and flattens its values.  The leader's sets may be large, so the leader returns
 * them in the second tuple.
 */
static bool
has_large_sets(const ColumnScanState *state)
{
	bool large = false;
	int i;

	if (state->shared == NULL || !is_alone(state) || IsParallelWorker())
		return false;
	for (i = 0; i < state->count; i++)
	{
		const KeyedState *keyed = state->aggregate[i].state;

		if (keyed == NULL)
			continue;
		if (StateTypeOf(keyed) != &sets_state_type)
			return false;
		large |= keyed->count > 0;
	}
	return large;
}

/*
 * Return the values of the aggregates as a tuple, in per-tuple memory.  If has_large_sets() is
 * true, the first call returns a row of NULLs.  Aggregate takes over the sets of the second tuple
 * without a copy.
 */
static TupleTableSlot *
result(ColumnScanState *state, TupleTableSlot *slot)
{
	bool second = state->progress == PROGRESS_NULLS;
	MemoryContext old;
	int i;

	if (!second && has_large_sets(state))
	{
		state->progress = PROGRESS_NULLS;
		return ExecStoreAllNullTuple(slot);
	}
	state->progress = PROGRESS_RETURNED;
	old = MemoryContextSwitchTo(state->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	for (i = 0; i < state->count; i++)
	{
		const ScanAggregate *aggregate = &state->aggregate[i];

		slot->tts_values[i] = ScanAggregateResult(aggregate, &slot->tts_isnull[i]);
		if (second && aggregate->in_transfer && ScanAggregateState(aggregate, &sets_state_type))
			slot->tts_values[i] = StateDatum(aggregate->state);
	}
	MemoryContextSwitchTo(old);
	return ExecStoreVirtualTuple(slot);
}

/*
 * Merge the states of all processes; false: the next partition's scan, or QSketchCollect, takes
 * over the states.
 */
static bool
leave(ColumnScanState *state)
{
	if (state->shared)
		SharedScanLeave(state->shared, state->css.ss.ps.state->es_query_dsa, state->aggregate,
						state->count, is_alone(state));
	ActivityEnd(&state->activity);
	if (state->accumulator)
		state->accumulator->aggregate = state->aggregate;
	return state->accumulator == NULL;
}

/* Return the single tuple, perhaps after a row of NULLs, then an empty slot. */
static TupleTableSlot *
next_result(ColumnScanState *state, TupleTableSlot *slot)
{
	if (state->progress == PROGRESS_NONE)
		run(state);
	switch (state->progress)
	{
		case PROGRESS_NONE: /* not reached: run() has set another progress */
		case PROGRESS_COMPLETE:
			state->progress = PROGRESS_RETURNED;
			if (!leave(state))
				MemoryContextReset(state->sketches);
			else
				(void) passes_having(state, result(state, slot));
			break;
		case PROGRESS_NULLS:
			return result(state, slot);
		case PROGRESS_RETURNED:
			if (is_partial(state))
				MemoryContextReset(state->sketches);
			break;
	}
	return slot;
}

/* Return the single tuple, or the tuple of the next group. */
static TupleTableSlot *
next(ScanState *node)
{
	ColumnScanState *state = (ColumnScanState *) node;
	TupleTableSlot *slot = ExecClearTuple(node->ss_ScanTupleSlot);

	return state->groups ? next_group(state, slot) : next_result(state, slot);
}

static bool
recheck(ScanState *node, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
exec(CustomScanState *node)
{
	return ExecScan(&node->ss, next, recheck);
}

static void
end(CustomScanState *node)
{
	ColumnScanState *state = (ColumnScanState *) node;

	if (state->scan)
		table_endscan(state->scan);
	state->scan = NULL;
	if (state->groups)
		ScanSpillReset(state->groups->spill); /* drops groups that were not read */
	ActivityEnd(&state->activity);
}

static void
rescan(CustomScanState *node)
{
	ColumnScanState *state = (ColumnScanState *) node;
	bool again = state->groups && (state->accumulator || !ScanGroupsRewind(state->groups));

	/* partial sketches were freed, and a new parallel run distributes the pages in another way */
	again |= bms_overlap(node->ss.ps.chgParam, state->rows.params) || is_partial(state);
	if (again || state->progress == PROGRESS_NONE)
	{
		state->progress = PROGRESS_NONE;
		if (state->scan)
			table_rescan(state->scan, NULL);
	}
	else
		state->progress = PROGRESS_COMPLETE;
	if (state->cached)
		state->cached->asked = false;
	ActivityEnd(&state->activity);
	ExecScanReScan(&node->ss);
}

static Size
estimate_dsm(CustomScanState *node, ParallelContext *pcxt)
{
	return add_size(
		SharedScanSize(((ColumnScanState *) node)->count),
		table_parallelscan_estimate(node->ss.ss_currentRelation, node->ss.ps.state->es_snapshot));
}

static void
initialize_dsm(CustomScanState *node, ParallelContext *pcxt, void *shared)
{
	ColumnScanState *state = (ColumnScanState *) node;
	EState *estate = node->ss.ps.state;

	state->shared = shared;
	SharedScanInit(state->shared, state->count,
				   Max(1, pcxt->nworkers + parallel_leader_participation));
	table_parallelscan_initialize(node->ss.ss_currentRelation, shared_scan(state, shared),
								  estate->es_snapshot);
}

static void
reinitialize_dsm(CustomScanState *node, ParallelContext *pcxt, void *shared)
{
	ColumnScanState *state = (ColumnScanState *) node;

	SharedScanReset(shared, node->ss.ps.state->es_query_dsa, state->count);
	table_parallelscan_reinitialize(node->ss.ss_currentRelation, shared_scan(state, shared));
}

static void
initialize_worker(CustomScanState *node, shm_toc *toc, void *shared)
{
	((ColumnScanState *) node)->shared = shared;
}

/*
 * Copy what EXPLAIN needs from the shared state, before the shared state is freed.  The
 * workers have ended.  After LIMIT a rescan may follow, with a new shared state.
 */
static void
shutdown(CustomScanState *node)
{
	ColumnScanState *state = (ColumnScanState *) node;
	ScanCounts total;

	if (state->shared == NULL || IsParallelWorker())
		return;
	total = SharedScanCounts(state->shared);
	ScanCountsAdd(&state->counts, &total);
	if (state->cached)
		state->cached->refusal = SharedPagesRefusal(SharedScanPages(state->shared));
	end(node);
	state->shared = NULL;
}

static void
explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	ColumnScanState *state = (ColumnScanState *) node;
	const CustomScan *cscan = (CustomScan *) node->ss.ps.plan;
	List *having = list_nth(cscan->custom_exprs, PLAN_HAVING);
	int on_page = WantedRowsOnPage(&state->rows);
	bool counted = ScanCountsAreKnown(&state->counts, &node->ss.ps, es);
	bool accumulated = state->groups && state->accumulator;

	if (state->groups)
		ScanExplainExprs("Group Key", ScanGroupExprs(cscan), cscan, ancestors, es);
	if (state->groups && counted && !accumulated)
		ScanExplainGroups(&state->counts, es);
	ScanExplainHaving(having, state->refused, counted, cscan, ancestors, es);
	if (es->verbose && on_page >= 0)
		ExplainPropertyInteger("Conditions Tested on Pages", NULL, on_page, es);
	if (state->cached)
		CachedColumnsExplain(state->cached, node->ss.ss_currentRelation, es);
	if (counted && !accumulated)
		ScanExplainKeys(&state->counts, es);
	if (counted)
		ScanExplainPages(&state->counts, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "QSketchScan",
	.BeginCustomScan = begin,
	.ExecCustomScan = exec,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan,
	.EstimateDSMCustomScan = estimate_dsm,
	.InitializeDSMCustomScan = initialize_dsm,
	.ReInitializeDSMCustomScan = reinitialize_dsm,
	.InitializeWorkerCustomScan = initialize_worker,
	.ShutdownCustomScan = shutdown,
	.ExplainCustomScan = explain,
};

static Node *
create_state(CustomScan *cscan)
{
	ColumnScanState *state =
		(ColumnScanState *) newNode(sizeof(ColumnScanState), T_CustomScanState);

	state->css.methods = &exec_methods;
	return (Node *) state;
}
