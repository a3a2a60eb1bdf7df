/*
 * exec.c
 *		QSketchScan in the executor.
 *
 * The first tuple asked for runs the whole scan and holds all sketches; there
 * is no second.  A column without a key that is not NULL gives NULL.  In a
 * parallel plan each worker scans its share of the pages and gives partial
 * sketches, as Partial Aggregate would.
 *
 * src/scan/exec.c
 */
#include "scan/scan.h"

#include "access/tableam.h"
#include "commands/explain.h"
#include "engine/kernels.h"
#include "executor/executor.h"
#include "utils/memutils.h"
#include "utils/rel.h"

typedef struct ColumnScanState
{
	CustomScanState css;
	int count;
	SketchedColumn *column;
	MemoryContext sketches; /* of the current result */
	MemoryContext scratch;  /* of hashing one page's keys */
	TableScanDesc scan;
	PageReader reader;
	ParallelTableScanDesc parallel; /* NULL in a serial plan */
	bool done;
	uint64 keys;
} ColumnScanState;

static Node *create_state(CustomScan *cscan);

const CustomScanMethods columnscan_methods = {
	.CustomName = "QSketchScan",
	.CreateCustomScanState = create_state,
};

/* What the plan's list of aggregates says of one column. */
static void
init_column(SketchedColumn *column, Aggref *aggref, TupleDesc descriptor)
{
	Var *var;
	Const *template;

	if (!ColumnScanArguments(aggref, &var, &template, &column->key_type))
		elog(ERROR, "unexpected aggregate in QSketchScan");
	column->attribute = var->varattno;
	column->collation = aggref->inputcollid;
	if (template)
	{
		SketchReader reader;

		SketchRead(&reader, template->constvalue);
		column->params = reader.sketch->params;
		SketchReadEnd(&reader);
	}
	else
		SketchDefaultParams(&column->params);
	SketchCheck(column->params.part == QS_PART_DEVICE ? QS_READ_ONLY : QS_OK);
	SketchedColumnInit(column, descriptor);
}

static void
begin(CustomScanState *node, EState *estate, int eflags)
{
	ColumnScanState *state = (ColumnScanState *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;
	TupleDesc descriptor = RelationGetDescr(node->ss.ss_currentRelation);
	ListCell *cell;

	state->column = palloc0(list_length(cscan->custom_scan_tlist) * sizeof(SketchedColumn));
	foreach (cell, cscan->custom_scan_tlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);

		init_column(&state->column[state->count++], castNode(Aggref, entry->expr), descriptor);
	}
	state->sketches =
		AllocSetContextCreate(estate->es_query_cxt, "QSketchScan", ALLOCSET_SMALL_SIZES);
	state->scratch =
		AllocSetContextCreate(estate->es_query_cxt, "QSketchScan keys", ALLOCSET_DEFAULT_SIZES);
}

/* Empty sketches, for each run. */
static void
start_sketches(ColumnScanState *state)
{
	int i;

	MemoryContextReset(state->sketches);
	for (i = 0; i < state->count; i++)
	{
		SketchedColumn *column = &state->column[i];

		column->sketch = ExpandedCreate(state->sketches, &column->params);
		ExpandedPlace(column->sketch, state->parallel != NULL);
		KeyTypeInit(&column->sketch->key, column->key_type, column->collation);
		column->sketch->sketch.family = column->sketch->key.family;
		column->sketch->sketch.collation = column->sketch->key.collation;
	}
}

static void
start_scan(ColumnScanState *state)
{
	Relation relation = state->css.ss.ss_currentRelation;
	EState *estate = state->css.ss.ps.state;

	if (state->scan == NULL)
		state->scan = state->parallel ? table_beginscan_parallel(relation, state->parallel)
									  : table_beginscan(relation, estate->es_snapshot, 0, NULL);
	PageReaderBegin(&state->reader, state->scan);
}

/* Read all pages into all sketches. */
static void
run(ColumnScanState *state)
{
	Relation relation = state->css.ss.ss_currentRelation;
	PageTuples *tuples = palloc(sizeof(PageTuples));
	MemoryContext old;
	int i;

	start_sketches(state);
	start_scan(state);
	old = MemoryContextSwitchTo(state->scratch);
	while (PageReaderNext(&state->reader, tuples))
	{
		for (i = 0; i < state->count; i++)
			SketchedColumnAdd(&state->column[i], relation, tuples);
		MemoryContextReset(state->scratch);
	}
	MemoryContextSwitchTo(old);
	PageReaderEnd(&state->reader);
	pfree(tuples);
	for (i = 0; i < state->count; i++)
	{
		state->keys += state->column[i].sketch->members;
		ExpandedFlush(state->column[i].sketch);
	}
}

/* The one tuple. */
static TupleTableSlot *
next(ScanState *node)
{
	ColumnScanState *state = (ColumnScanState *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;
	int i;

	ExecClearTuple(slot);
	if (state->done)
		return slot;
	run(state);
	state->done = true;
	for (i = 0; i < state->count; i++)
	{
		ExpandedSketch *sketch = state->column[i].sketch;

		slot->tts_isnull[i] = sketch->members == 0;
		slot->tts_values[i] = EOHPGetRODatum(&sketch->header);
	}
	return ExecStoreVirtualTuple(slot);
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
}

static void
rescan(CustomScanState *node)
{
	ColumnScanState *state = (ColumnScanState *) node;

	if (state->scan)
		table_rescan(state->scan, NULL);
	state->done = false;
	ExecScanReScan(&node->ss);
}

static Size
estimate_dsm(CustomScanState *node, ParallelContext *pcxt)
{
	return table_parallelscan_estimate(node->ss.ss_currentRelation, node->ss.ps.state->es_snapshot);
}

static void
initialize_dsm(CustomScanState *node, ParallelContext *pcxt, void *shared)
{
	ColumnScanState *state = (ColumnScanState *) node;

	state->parallel = shared;
	table_parallelscan_initialize(node->ss.ss_currentRelation, state->parallel,
								  node->ss.ps.state->es_snapshot);
}

static void
reinitialize_dsm(CustomScanState *node, ParallelContext *pcxt, void *shared)
{
	table_parallelscan_reinitialize(node->ss.ss_currentRelation, shared);
}

static void
initialize_worker(CustomScanState *node, shm_toc *toc, void *shared)
{
	((ColumnScanState *) node)->parallel = shared;
}

static void
explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	ColumnScanState *state = (ColumnScanState *) node;

	ExplainPropertyText("Backend", "cpu", es);
	if (!es->analyze)
		return;
	ExplainPropertyText("Instructions", qs_kernels_now()->name, es);
	ExplainPropertyInteger("Keys", NULL, (int64) state->keys, es);
	ExplainPropertyInteger("Pages", NULL, (int64) state->reader.pages, es);
	ExplainPropertyInteger("All-Visible Pages", NULL, (int64) state->reader.pages_visible, es);
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
