/*
 * families.c
 *		How the column scan handles each family: states, templates, results.
 *
 * A template that is a parameter is read when a run begins (match.c).  If its value is
 * invalid, the ordinary plan raises an error at the first key, and returns NULL if there are
 * no keys.  The scan fills states of default parameters instead, and raises the error at the
 * end if there were keys.
 *
 * src/scan/families.c
 */
#include "scan/scan.h"

#include "executor/executor.h"
#include "gpu/filter_gpu.h"
#include "gpu/sketch_gpu.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "pg/filter_state.h"
#include "pg/sets_state.h"
#include "pg/sketch_aggregate.h"
#include "pg/sketch_state.h"
#include "pg/top_state.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

const char *scan_refusal = NULL;

/* Set the reason why a query cannot be scanned.  Always returns false. */
bool
ScanRefuse(const char *reason)
{
	scan_refusal = reason;
	return false;
}

/* The parameters of a sketch's template; NULL: the default parameters. */
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
 * True unless the template is a device part (the slim table of a sketch).  A device part accepts no
 * keys.
 */
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
	return (double) qs_table_bytes(&params, false);
}

/*
 * The context for a new state.  A partial state has a context of its own, so that the
 * aggregate above can take it over without a copy.
 */
static MemoryContext
state_context(const KeyedStateType *type, MemoryContext context, bool partial)
{
	return partial ? StateNewContext(type, context) : context;
}

static KeyedState *
sketch_start(const ScanAggregate *aggregate, MemoryContext context, bool partial)
{
	qs_params params;
	SketchState *sketch;

	sketch_params(aggregate->call->template, &params);
	sketch = SketchCreate(state_context(&sketch_state_type, context, partial), &params);
	SketchChooseEngine(sketch, &aggregate->work);
	sketch->keyed.passed_on = aggregate->in_transfer;
	sketch->keyed.token = partial && aggregate->in_transfer;
	sketch->keyed.key = *aggregate->keys;
	sketch->sketch.keys = sketch->keyed.key.keys;
	return &sketch->keyed;
}

/* True if the call's sketch is made on the CPU even if a GPU is used. */
bool
ColumnStaysOnCpu(const ColumnScanCall *call)
{
	qs_params params;

	sketch_params(call->template, &params);
	return GpuSketchOnlyOnCpu(&params);
}

/* The parameters of a filter's template; NULL: the parameters of the smallest filter. */
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

/*
 * Start a filter.  Each process has a nonce of its own, so two processes may use equal row
 * numbers.
 */
static KeyedState *
filter_start(const ScanAggregate *aggregate, MemoryContext context, bool partial)
{
	qf_params params;
	FilterState *filter;

	filter_params(aggregate->call->template, &params);
	filter = FilterCreate(state_context(&filter_state_type, context, partial), &params);
	FilterChooseEngine(filter, &aggregate->work);
	filter->keyed.token = partial && aggregate->in_transfer;
	FilterSetInput(filter, aggregate->keys, FILTER_ROWS);
	return &filter->keyed;
}

static const char *
sketch_gpu_reason(const Const *template, const StateWork *work)
{
	qs_params params;

	sketch_params(template, &params);
	return GpuSketchReason(&params, work);
}

static const char *
filter_gpu_reason(const Const *template, const StateWork *work)
{
	qf_params params;

	if (template == NULL)
		return NULL;
	filter_params(template, &params);
	return GpuFilterReason(&params, work);
}

/*
 * The number of keys to list.  The argument is a bigint if the key is the only other argument,
 * else an integer (pg/top_functions.c).
 */
static int64
limit_of(const ColumnScanCall *call)
{
	const ArgumentLayout *layout = &call->aggregate.layout;

	return layout->weight || layout->template ? DatumGetInt32(call->limit->constvalue)
											  : DatumGetInt64(call->limit->constvalue);
}

/* Maximum number of candidates that a list has during counting (sketch/top.h). */
double
ScanCandidates(const ColumnScanCall *call)
{
	return 2.0 * qs_top_capacity((uint32) limit_of(call));
}

static bool
top_takes_keys(const ColumnScanCall *call)
{
	int64 n = limit_of(call);

	if (n < 1 || n > QS_TOP_MAX)
		return ScanRefuse("a number of top keys that is out of range");
	return sketch_takes_keys(call);
}

static KeyedState *
top_start(const ScanAggregate *aggregate, MemoryContext context, bool partial)
{
	qs_params params;
	TopState *top;

	sketch_params(aggregate->call->template, &params);
	top = TopCreate(state_context(&top_state_type, context, partial), &params,
					(uint32) limit_of(aggregate->call));
	top->keyed.passed_on = aggregate->in_transfer;
	top->keyed.token = partial && aggregate->in_transfer;
	TopSetKey(top, aggregate->keys);
	return &top->keyed;
}

/* Arrays are refused, because the aggregate counts each element of an array. */
static bool
sets_takes_keys(const ColumnScanCall *call)
{
	return !OidIsValid(get_base_element_type(call->key_type)) || ScanRefuse("arrays of elements");
}

/*
 * The work for a row of sets, as the number of bytes of a sketch that are merged in the same
 * time.  BYTES_OF_ROW: copying the row's element, which has 4 bytes.  BYTES_TAKEN_IN: taking
 * over a row of another process, which takes about as long as reading it.  BYTES_SHARED:
 * passing a row through shared memory and renumbering its element, if several processes make
 * the sets.  Three processes took 1.9 times the processor time of a single process.  On two
 * processors the three processes took 2.5 times as long as a single process, because they wait for
 * one another.
 */
#define BYTES_OF_ROW   2
#define BYTES_SHARED   30
#define BYTES_TAKEN_IN 32

/*
 * "together": one process copies the elements of all rows, and the processes share all other
 * work (sets/build.c).  Without "together", one process takes over the rows of all other
 * processes and sorts them.
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
	/* the aggregate above takes over a state without a copy if the state has its own context */
	MemoryContext separate =
		partial ? AllocSetContextCreate(context, "QSketchScan sets", ALLOCSET_SMALL_SIZES)
				: context;
	SetsState *sets = SetsCreate(separate);

	SetsTakeKeys(sets, aggregate->call->key_type, aggregate->call->aggref->inputcollid);
	sets->keyed.key = *aggregate->keys;
	SetsBuild(sets, !sets->exact, &sets->keyed.key.keys);
	return &sets->keyed;
}

const ColumnFamily column_families[FAMILY_BUILTIN + 1] = {
	[FAMILY_SKETCH] = { &sketch_functions, true, sketch_takes_keys, sketch_check_template,
						sketch_table_bytes, sketch_start, sketch_gpu_reason },
	[FAMILY_FILTER] = { &filter_functions, false, filter_takes_keys, filter_check_template,
						filter_table_bytes, filter_start, filter_gpu_reason },
	[FAMILY_SETS] = { &sets_functions, true, sets_takes_keys, NULL, sets_table_bytes, sets_start,
					  .builds_jointly = true },
	[FAMILY_TOP] = { &top_functions, true, top_takes_keys, sketch_check_template,
					 sketch_table_bytes, top_start },
};

/* ---- an aggregate in a run ---- */

/* Free the value of the last run. */
static void
forget(GivenTemplate *given)
{
	if (given->value == NULL)
		return;
	if (!given->value->constisnull)
		pfree(DatumGetPointer(given->value->constvalue));
	pfree(given->value);
	given->value = NULL;
}

/* Read the parameter's value, and copy it into the context of the query. */
static void
read_value(GivenTemplate *given, ExprContext *context)
{
	MemoryContext old;
	Datum value;
	bool null;

	value = ExecEvalExprSwitchContext(given->state, context, &null);
	old = MemoryContextSwitchTo(context->ecxt_per_query_memory);
	if (!null)
		value = PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
	given->value = makeConst(given->param->paramtype, given->param->paramtypmod,
							 given->param->paramcollid, -1, value, null, false);
	MemoryContextSwitchTo(old);
}

/* Read the templates that are given as parameters. */
void
GivenTemplatesRead(ScanAggregate *aggregate, int count, ExprContext *context)
{
	int i;

	for (i = 0; i < count; i++)
	{
		GivenTemplate *given = aggregate[i].given;
		ColumnScanCall *call = aggregate[i].call;

		if (given == NULL)
			continue;
		forget(given);
		read_value(given, context);
		call->template = given->value->constisnull ? NULL : given->value;
		if (call->template && !call->family->takes_keys(call))
			call->template = NULL;
	}
}

/* Raise the error of an unusable template, if there were keys. */
static void
check_given(const ScanAggregate *aggregate)
{
	const Const *value = aggregate->given->value;

	if (aggregate->call->template == NULL && aggregate->state->count > 0)
		aggregate->call->family->check_template(value->constvalue, value->constisnull);
}

/* Start an empty state for a run. */
void
ScanAggregateStart(ScanAggregate *aggregate, MemoryContext context, bool partial)
{
	aggregate->rows = 0;
	aggregate->state = NULL;
	if (aggregate->call->family->start)
		aggregate->state = aggregate->call->family->start(aggregate, context, partial);
	if (aggregate->builtin)
		BuiltinStart(aggregate->builtin, context, &aggregate->computed);
}

/*
 * True if counting the keys of the new state can be deferred until the state is read.  Only
 * sketches, and lists of keys that are numbers, can defer counting.  A sketch that defers counting
 * stays on the CPU, because a sketch that moves to a GPU needs memory of its own from the
 * beginning.
 */
static bool
may_wait(const ScanAggregate *aggregate)
{
	const SketchState *sketch = ScanAggregateState(aggregate, &sketch_state_type);

	if (sketch)
		return sketch->engine == &qs_engine_cpu ||
			   !(aggregate->cached || GpuSketchWillMove(&sketch->sketch.params, &aggregate->work));
	return ScanAggregateState(aggregate, &top_state_type) && KeyIsNumber(&aggregate->state->key);
}

void
ScanAggregateWait(ScanAggregate *aggregate, KeptTable *kept)
{
	SketchState *sketch = ScanAggregateState(aggregate, &sketch_state_type);

	if (!may_wait(aggregate))
		return;
	if (sketch)
		sketch->engine = &qs_engine_cpu;
	aggregate->state->deferred = true;
	KeptTableMemory(kept, &aggregate->state->memory);
}

bool
ScanAggregateIsRemote(const ScanAggregate *aggregate)
{
	const SketchState *sketch = ScanAggregateState(aggregate, &sketch_state_type);

	return sketch && sketch->sketch.remote;
}

bool
ScanAggregateIsOnGpu(const ScanAggregate *aggregate)
{
	const TopState *top = ScanAggregateState(aggregate, &top_state_type);
	const FilterState *filter = ScanAggregateState(aggregate, &filter_state_type);
	const SetsState *sets = ScanAggregateState(aggregate, &sets_state_type);

	return ScanAggregateIsRemote(aggregate) || (top && top->column && top->column->sketch.remote) ||
		   (filter && filter->filter.remote) || (sets && sets->remote);
}

/*
 * The aggregate's value.  *null is set if the aggregate is ours and had no keys, or if the result
 * of PostgreSQL's own aggregate is NULL.
 */
Datum
ScanAggregateResult(const ScanAggregate *aggregate, bool *null)
{
	if (aggregate->builtin)
		return BuiltinResult(aggregate->builtin, &aggregate->computed, null);
	if (aggregate->given)
		check_given(aggregate);
	*null = aggregate->state && aggregate->state->count == 0;
	return aggregate->state ? EOHPGetRODatum(&aggregate->state->header)
							: Int64GetDatum(aggregate->rows);
}

/* Add the aggregates' counts so far to "counts". */
void
ScanCountKeys(ScanCounts *counts, const ScanAggregate *aggregate, int count)
{
	int i;

	for (i = 0; i < count; i++)
	{
		if (aggregate[i].state == NULL)
			continue;
		counts->keys += aggregate[i].state->count;
		counts->batches += aggregate[i].state->batches;
		counts->on_cpu |= !ScanAggregateIsOnGpu(&aggregate[i]);
		counts->on_gpu |= ScanAggregateIsOnGpu(&aggregate[i]);
	}
}
