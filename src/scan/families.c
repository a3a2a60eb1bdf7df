/*
 * families.c
 *		How the column scan handles each family (sketches, filters, sets, top keys),
 *		and PostgreSQL's own aggregates beside them.
 *
 * src/scan/families.c
 */
#include "scan/scan.h"

#include "gpu/filter_gpu.h"
#include "gpu/sketch_gpu.h"
#include "pg/sketch_aggregate.h"

#include "catalog/pg_type_d.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* Parameters of a sketch's template, or the defaults without one. */
static void
sketch_params(const Const *template, qs_params *params)
{
	SketchReader reader;

	if (template == NULL)
	{
		SketchDefaultParams(params);
		return;
	}
	SketchReadAsStored(&reader, template->constvalue);
	*params = reader.sketch->params;
	SketchReadEnd(&reader);
}

/*
 * Describe the keys, once for all groups.  Keys of several columns also record what kinds their
 * columns are.
 */
void
ColumnDescribeKeys(ScanAggregate *aggregate)
{
	aggregate->keys = palloc0(sizeof(KeyType));
	KeyTypeInit(aggregate->keys, aggregate->call->key_type, aggregate->call->aggref->inputcollid);
	if (aggregate->row)
		aggregate->keys->keys.collation = RowKeyContent(aggregate->row);
}

/* A sketch that is a device part takes no keys. */
static bool
sketch_takes_keys(const ColumnScanCall *call)
{
	qs_params params;

	sketch_params(call->template, &params);
	return params.part != QS_PART_DEVICE || ScanRefuse("a template that is a device part");
}

static void
sketch_check_template(Datum template, bool null)
{
	qs_params params;

	SketchReadTemplate(template, null, &params);
}

static double
sketch_table_bytes(const Const *template, double rows, double others, bool together)
{
	qs_params params;

	sketch_params(template, &params);
	if (rows <= qs_explicit_limit(&params))
		return 0;
	return (double) qs_ops_of(params.structure)->table_bytes(&params, false);
}

/*
 * The context for a new state.  A context of its own lets the aggregate above a partial
 * state take it without a copy.
 */
static MemoryContext
state_context(const KeyedStateType *type, MemoryContext context, bool partial)
{
	return partial ? StateOwnContext(type, context) : context;
}

static KeyedState *
sketch_start(const ScanAggregate *aggregate, MemoryContext context, bool partial)
{
	qs_params params;
	SketchState *sketch;

	sketch_params(aggregate->call->template, &params);
	sketch = SketchCreate(state_context(&sketch_state_type, context, partial), &params);
	SketchChooseEngine(sketch);
	sketch->keyed.token = partial && aggregate->in_transfer;
	sketch->keyed.key = *aggregate->keys;
	sketch->sketch.keys = sketch->keyed.key.keys;
	return &sketch->keyed;
}

/* Is the call's sketch made on the CPU, whatever is on a GPU? */
bool
ColumnStaysOnCpu(const ColumnScanCall *call)
{
	qs_params params;

	sketch_params(call->template, &params);
	return GpuSketchOnlyOnCpu(&params);
}

/* Parameters of a filter's template, or without one of the smallest filter. */
static void
filter_params(const Const *template, qf_params *params)
{
	FilterReader reader;

	if (template == NULL)
	{
		FilterCheck(qf_params_make_bloom(params, 1, 0.5, 0, QF_STANDARD));
		return;
	}
	FilterRead(&reader, template->constvalue);
	*params = reader.filter->params;
	FilterReadEnd(&reader);
}

bool
ColumnFilterDraws(const Const *template)
{
	qf_params params;

	filter_params(template, &params);
	return !qf_is_bloom(&params);
}

static bool
filter_takes_keys(const ColumnScanCall *call)
{
	return call->template || call->parameter || ScanRefuse("no template");
}

static void
filter_check_template(Datum template, bool null)
{
	qf_params params;

	FilterReadTemplate(template, null, &params);
}

static double
filter_table_bytes(const Const *template, double rows, double others, bool together)
{
	qf_params params;

	filter_params(template, &params);
	if (rows * params.k * qf_probability(&params) <= (double) qf_explicit_limit(&params))
		return 0;
	return (double) qf_words(&params) * 8;
}

/* Each process has a nonce of its own, so every process may number its rows from the first. */
static KeyedState *
filter_start(const ScanAggregate *aggregate, MemoryContext context, bool partial)
{
	qf_params params;
	FilterState *filter;

	filter_params(aggregate->call->template, &params);
	filter = FilterCreate(state_context(&filter_state_type, context, partial), &params);
	FilterChooseEngine(filter);
	filter->keyed.token = partial && aggregate->in_transfer;
	FilterSetInput(filter, aggregate->keys, FILTER_ROWS);
	return &filter->keyed;
}

/* Why a call will not count on a GPU; NULL if it may, or if that is not known. */
const char *
ColumnGpuReason(const Aggref *aggref)
{
	ColumnScanCall call;
	qs_params sketch;
	qf_params filter;

	(void) ColumnScanMatch(aggref, &call);
	if (call.aggregate.layout.template && call.template == NULL)
		return NULL;
	if (call.family == &column_families[0])
	{
		sketch_params(call.template, &sketch);
		return GpuSketchReason(&sketch);
	}
	if (call.family != &column_families[1] || call.template == NULL)
		return NULL;
	filter_params(call.template, &filter);
	return GpuFilterReason(&filter);
}

/* Top keys are kept as values, and a tuple has no value for a key of several columns. */
static bool
top_takes_keys(const ColumnScanCall *call)
{
	int32 n = DatumGetInt32(call->limit->constvalue);

	if (n < 1 || n > QS_TOP_MAX)
		return ScanRefuse("a number of top keys that is out of range");
	if (call->row)
		return ScanRefuse("top keys of several columns");
	return sketch_takes_keys(call);
}

static KeyedState *
top_start(const ScanAggregate *aggregate, MemoryContext context, bool partial)
{
	qs_params params;
	TopState *top;

	sketch_params(aggregate->call->template, &params);
	top = TopCreate(state_context(&top_state_type, context, partial), &params,
					(uint32) DatumGetInt32(aggregate->call->limit->constvalue));
	top->keyed.token = partial && aggregate->in_transfer;
	TopSetKey(top, aggregate->keys);
	return &top->keyed;
}

/* An array of elements would be several rows. */
static bool
sets_takes_keys(const ColumnScanCall *call)
{
	return !OidIsValid(get_base_element_type(call->key_type)) || ScanRefuse("arrays of elements");
}

/*
 * Copying a row's element of 4 bytes takes about half as long as merging 4 bytes of a
 * sketch.  Taking in a row of another process takes about as long as reading it.  Sets
 * that several processes make together go through shared memory and are numbered anew:
 * for three processes all of it took 1.9 times the processor time that one took alone,
 * and 2.5 times as long as that in all on two processors, since they wait for one
 * another.
 */
#define BYTES_OF_ROW   2
#define BYTES_SHARED   30
#define BYTES_TAKEN_IN 32

/*
 * "together": one process copies the elements of all rows, and the processes share all
 * other work, as they share the scan (build.c).  Otherwise one process takes in the
 * rows of all other processes and sorts them.
 */
static double
sets_table_bytes(const Const *template, double rows, double others, bool together)
{
	if (!together)
		return rows * others * BYTES_TAKEN_IN;
	return rows * (others + 1) * BYTES_OF_ROW + rows * BYTES_SHARED;
}

static KeyedState *
sets_start(const ScanAggregate *aggregate, MemoryContext context, bool partial)
{
	/* a context of its own lets the aggregate above take the state without a copy */
	MemoryContext own =
		partial ? AllocSetContextCreate(context, "QSketchScan sets", ALLOCSET_SMALL_SIZES)
				: context;
	SetsState *sets = SetsCreate(own);

	SetsTakeKeys(sets, aggregate->call->key_type, aggregate->call->aggref->inputcollid);
	sets->keyed.key = *aggregate->keys;
	SetsBuild(sets, !sets->exact, &sets->keyed.key.keys);
	return &sets->keyed;
}

const ColumnFamily column_count = { 0 };
const ColumnFamily column_builtin = { 0 };

const ColumnFamily column_families[COLUMN_FAMILIES] = {
	{ &sketch_functions, true, sketch_takes_keys, sketch_check_template, sketch_table_bytes,
	  sketch_start },
	{ &filter_functions, false, filter_takes_keys, filter_check_template, filter_table_bytes,
	  filter_start },
	{ &sets_functions, true, sets_takes_keys, NULL, sets_table_bytes, sets_start,
	  .shares_work = true },
	{ &top_functions, true, top_takes_keys, sketch_check_template, sketch_table_bytes, top_start },
};
