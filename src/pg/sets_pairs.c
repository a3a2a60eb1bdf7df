/*
 * sets_pairs.c
 *		qsets_pairs and qsets_nearest: their arguments and rows; qsets_pairs_plan.
 *
 * A call in a Function Scan puts all rows into a tuple store, which PostgreSQL writes to disk
 * beyond work_mem.  This call may use parallel workers.  Usually, the node QSketchPairs replaces
 * the Function Scan (scan/sets/pairs.c).  A call in the select list returns rows one by one,
 * without workers, and ends when the query needs no more rows.  Before its first row, qsets_pairs
 * with "top" within one collection must collect all pairs.
 *
 * src/pg/sets_pairs.c
 */
#include "pg/sets_scan.h"

#include "executor/nodeHash.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgbase/value.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/*
 * ---- arguments ----
 *
 * The memory limit of the prepared input is the larger of two numbers: the limit of a hash table
 * (work_mem, hash_mem_multiplier), and a few times the size of the collections.  So "auto" always
 * finds a method that fits.
 */

static int
method_argument(FunctionCallInfo fcinfo, int argument)
{
	char *name;
	int method;

	if (PG_ARGISNULL(argument))
		return QSET_AUTO;
	name = text_to_cstring(PG_GETARG_TEXT_PP(argument));
	method = qset_method_of(name);
	if (method < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("unrecognized method: \"%s\"", name),
						errhint("Methods are auto, merge, search, merge_search, hash, merge_hash, "
								"bitmap, index and hybrid.")));
	return method;
}

static uint64
top_argument(FunctionCallInfo fcinfo, int argument)
{
	int32 top;

	if (PG_ARGISNULL(argument))
		return 0;
	top = PG_GETARG_INT32(argument);
	if (top < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("top must be at least 1, not %d", top), errhint("NULL gives all pairs.")));
	return (uint64) top;
}

/*
 * Read the arguments min_count, min_jaccard and top; "first" is the position of min_count.  If
 * these arguments set no limit, min_count is 2, since nearly all pairs may have one common
 * element.
 */
void
PairsFilter(FunctionCallInfo fcinfo, int first, qset_filter *filter)
{
	double min_jaccard = PG_ARGISNULL(first + 1) ? 0 : PG_GETARG_FLOAT8(first + 1);
	int64 least = min_jaccard > 0 || !PG_ARGISNULL(first + 2) ? 1 : 2;
	int64 min_count = PG_ARGISNULL(first) ? least : PG_GETARG_INT64(first);

	if (min_count < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("min_count must not be negative, but is " INT64_FORMAT, min_count)));
	if (qset_filter_init(filter, min_count, min_jaccard, top_argument(fcinfo, first + 2)) != QB_OK)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("min_jaccard must be between 0 and 1, not %g", min_jaccard),
						errhint("It is a share: 0.8 is 80 %%.")));
}

qset_order
PairsOrder(FunctionCallInfo fcinfo, int argument)
{
	char *name;
	int order;

	if (PG_ARGISNULL(argument))
		return QSET_BY_JACCARD;
	name = text_to_cstring(PG_GETARG_TEXT_PP(argument));
	order = qset_order_of(name);
	if (order < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("unrecognized order: \"%s\"", name),
						errhint("Orders are jaccard, common, overlap and lift.")));
	return (qset_order) order;
}

/* Read the arguments of a request, but not its collections and memory limit. */
static void
read_arguments(FunctionCallInfo fcinfo, const PairsLayout *layout, qset_request *request)
{
	memset(request, 0, sizeof(*request));
	PairsFilter(fcinfo, layout->options, &request->filter);
	request->method = method_argument(fcinfo, layout->options + 3);
	request->directed = layout->ranked;
	if (layout->ranked)
		request->filter.order = PairsOrder(fcinfo, layout->options + 4);
}

/* Read the collections of a request, and set its memory limit. */
static void
read_collections(FunctionCallInfo fcinfo, const PairsLayout *layout, qset_request *request,
				 SetsReader *reader)
{
	SetsRead(&reader[0], PG_GETARG_DATUM(0));
	request->rows = reader[0].collection;
	if (layout->columns)
	{
		SetsRead(&reader[1], PG_GETARG_DATUM(layout->columns));
		request->columns = reader[1].collection;
	}
	request->memory_limit = Max(get_hash_memory_limit(), qset_memory_enough(request));
}

static void
end_collections(const PairsLayout *layout, SetsReader *reader)
{
	SetsReadEnd(&reader[0]);
	if (layout->columns)
		SetsReadEnd(&reader[1]);
}

/*
 * ---- the best pairs of each set, with their ranks ----
 *
 * A search returns pairs ordered by their first set, then by their second set.  The functions below
 * collect and sort the pairs with the same first set.  So the pairs of only one set are in memory.
 */

/* The number of pairs that are collected between two checks for interrupts. */
#define PATIENCE 16384

/* Collect the pairs of the next set, the best first; false: no set is left. */
static bool
collect(PairScan *scan)
{
	qset_best *best = &scan->best;
	const qset_pair *pair = PairScanNext(scan);
	uint32 row;

	if (pair == NULL)
		return false;
	row = pair->a;
	best->count = 0;
	best->size = scan->row_size ? scan->row_size[row] : 0;
	for (; pair && pair->a == row; pair = PairScanNext(scan))
	{
		if (best->count % PATIENCE == PATIENCE - 1)
			CHECK_FOR_INTERRUPTS();
		if (best->count == best->room)
			PairsGrow(&scan->memory, &best->pair, best->count, &best->room);
		qset_best_offer(best, pair);
	}
	if (pair)
		scan->next--; /* the next call returns this pair, the first of the following set */
	qset_best_sort(best, &scan->memory);
	return true;
}

/* Return the next pair, with its rank among the pairs of its first set; NULL: no pair is left. */
static const qset_pair *
next_ranked(PairScan *scan, int64 *rank)
{
	if (scan->ranked_next == scan->best.count)
	{
		scan->ranked_next = 0;
		if (!collect(scan))
		{
			scan->best.count = 0;
			return NULL;
		}
	}
	*rank = (int64) scan->ranked_next + 1;
	return &scan->best.pair[scan->ranked_next++];
}

/* ---- rows ---- */

/*
 * Collect all pairs of a search with "top" within one collection, and remove duplicates.  A pair
 * occurs twice if it is among the best pairs of each of its two sets.
 */
static void
finish_top(PairScan *scan)
{
	qset_pair *scratch;

	PairScanCollect(scan);
	scratch = SetsAlloc(&scan->memory, scan->count, sizeof(qset_pair));
	scan->count = qset_finish_top(scan->buffer, scan->count, scratch);
	qset_release(&scan->memory, scratch);
}

/* Read the collections and open the scan. */
static void
open_read(FunctionCallInfo fcinfo, const PairsLayout *layout, PairScan *scan, qset_request *request)
{
	SetsReader reader[2];

	read_collections(fcinfo, layout, request, reader);
	(void) PairScanOpen(scan, request, PAIRS_READ, (Datum) 0);
	end_collections(layout, reader);
}

/* Open a scan of the pairs that a call requests; NULL: a collection argument is NULL. */
PairScan *
PairsOpen(FunctionCallInfo fcinfo, const PairsLayout *layout, bool parallel)
{
	qset_request request;
	PairScan *scan;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(layout->columns))
		return NULL;
	read_arguments(fcinfo, layout, &request);
	scan = PairScanCreate(&request);
	scan->parallel = parallel;
	scan->ranked = layout->ranked;
	scan->best.order = request.filter.order;
	PairScanShow(scan);
	if (layout->columns != 0 ||
		!(PairScanOpen(scan, &request, PAIRS_KEPT, PG_GETARG_DATUM(0)) ||
		  PairScanOpen(scan, &request, PAIRS_ON_DEVICE, PG_GETARG_DATUM(0))))
		open_read(fcinfo, layout, scan, &request);
	if (layout->columns == 0 && request.filter.top > 0 && !layout->ranked)
		finish_top(scan);
	return scan;
}

/* Store the next row's columns in "values"; false: no row is left. */
bool
PairsNextRow(PairScan *scan, Datum *values)
{
	int64 rank = 0;
	const qset_pair *pair = scan->ranked ? next_ranked(scan, &rank) : PairScanNext(scan);

	if (pair == NULL)
		return false;
	*values++ = Int64GetDatum(scan->row_id[pair->a]);
	*values++ = Int64GetDatum(scan->column_id[pair->b]);
	if (scan->ranked)
		*values++ = Int64GetDatum(rank);
	*values++ = Int64GetDatum(pair->common);
	*values = Float8GetDatum(PairJaccard(pair));
	return true;
}

/* Put all rows into the caller's tuple store. */
static Datum
store_rows(FunctionCallInfo fcinfo, const PairsLayout *layout)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "pairs of sets", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;
	Datum values[PAIRS_MOST_COLUMNS];
	PairScan *scan;

	ReturnRows(fcinfo);
	old = MemoryContextSwitchTo(context);
	scan = PairsOpen(fcinfo, layout, true);
	while (scan && PairsNextRow(scan, values))
		PutRow(fcinfo, values, NULL);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return (Datum) 0;
}

/* The state of a call in the select list, kept from row to row. */
typedef struct Rows
{
	PairScan *scan;
	TupleDesc descriptor;
} Rows;

static Rows *
open_rows(FunctionCallInfo fcinfo, const PairsLayout *layout)
{
	Rows *rows = palloc0(sizeof(Rows));

	rows->descriptor = RowType(fcinfo);
	rows->scan = PairsOpen(fcinfo, layout, false);
	return rows;
}

/* Return the next row of a call in the select list. */
static Datum
return_row(FunctionCallInfo fcinfo, const PairsLayout *layout)
{
	FuncCallContext *call;
	Datum values[PAIRS_MOST_COLUMNS];
	bool nulls[PAIRS_MOST_COLUMNS] = { false };
	Rows *rows;

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext old;

		call = SRF_FIRSTCALL_INIT();
		old = MemoryContextSwitchTo(call->multi_call_memory_ctx);
		call->user_fctx = open_rows(fcinfo, layout);
		MemoryContextSwitchTo(old);
	}
	call = SRF_PERCALL_SETUP();
	rows = call->user_fctx;
	if (rows->scan == NULL || !PairsNextRow(rows->scan, values))
		SRF_RETURN_DONE(call);
	SRF_RETURN_NEXT(call, HeapTupleGetDatum(heap_form_tuple(rows->descriptor, values, nulls)));
}

/* Store all rows if the caller prefers a tuple store, else return one row. */
static Datum
return_rows(FunctionCallInfo fcinfo, PGFunction function)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const PairsLayout *layout = PairsLayoutOf(function);

	if (result && IsA(result, ReturnSetInfo) &&
		(result->allowedModes & SFRM_Materialize_Preferred) != 0)
		return store_rows(fcinfo, layout);
	return return_row(fcinfo, layout);
}

/* qsets_pairs(qsets, min_count, min_jaccard, top, method) */
SQL_FUNCTION(qsets_pairs, return_rows(fcinfo, qsets_pairs));

/* qsets_pairs(qsets, qsets, min_count, min_jaccard, top, method) */
SQL_FUNCTION(qsets_pairs_between, return_rows(fcinfo, qsets_pairs_between));

/* qsets_nearest(qsets, min_count, min_jaccard, top, method, order_by) */
SQL_FUNCTION(qsets_nearest, return_rows(fcinfo, qsets_nearest));

/* qsets_nearest(qsets, qsets, min_count, min_jaccard, top, method, order_by) */
SQL_FUNCTION(qsets_nearest_between, return_rows(fcinfo, qsets_nearest_between));

static const PairsLayout forms[] = {
	{ .function = qsets_pairs, .options = 1 },
	{ .function = qsets_pairs_between, .columns = 1, .options = 2 },
	{ .function = qsets_nearest, .options = 1, .ranked = true },
	{ .function = qsets_nearest_between, .columns = 1, .options = 2, .ranked = true },
};

/* The layout of a C function; NULL: it is not one of the four functions in forms[]. */
const PairsLayout *
PairsLayoutOf(PGFunction function)
{
	int i;

	for (i = 0; i < lengthof(forms); i++)
		if (forms[i].function == function)
			return &forms[i];
	return NULL;
}

/*
 * ---- qsets_pairs_plan(): the costs of the methods, and the chosen method ----
 *
 * The rows have the costs and the chosen method of the CPU, because a GPU estimates its costs only
 * after it has made the index.  The paper's techniques that "auto" never takes have no expected
 * time, because their costs are guesses.
 */

/* Columns of qsets_pairs_plan(), in the order of its declaration. */
enum
{
	PLAN_METHOD,
	PLAN_CHOSEN,
	PLAN_MILLISECONDS,
	PLAN_MEMORY,
	PLAN_WORKERS,
	PLAN_NOTE,
	PLAN_DEVICE,
	PLAN_REASON,
	PLAN_COLUMNS
};

/* Return a note with more facts about a method, or NULL: no note. */
static char *
note_of(const qset_plan *plan, int method)
{
	if (method == QSET_INDEX)
		return psprintf("%llu events%s",
						(unsigned long long) (plan->prefix ? plan->prefix_events : plan->events),
						plan->prefix ? " of prefixes" : "");
	if (method == QSET_HYBRID)
		return psprintf("%llu heavy elements, %llu events of the others",
						(unsigned long long) plan->heavy, (unsigned long long) plan->light_events);
	return method == QSET_BITMAP && plan->resident ? "all bitmaps at once" : NULL;
}

/* Whether a GPU would find the pairs, and the reason. */
typedef struct SearchDevice
{
	bool gpu;
	char why[GPU_TEXT_BYTES];
} SearchDevice;

static void
fill_plan(const qset_plan *plan, int method, const SearchDevice *device, Datum *values, bool *nulls)
{
	memset(nulls, 0, PLAN_COLUMNS * sizeof(bool));
	values[PLAN_METHOD] = CStringGetTextDatum(qset_method_name(method));
	values[PLAN_CHOSEN] = BoolGetDatum(plan->method == method);
	values[PLAN_MILLISECONDS] = Float8GetDatum(plan->cost[method] / 1e6);
	nulls[PLAN_MILLISECONDS] = plan->cost[method] < 0 || method < QSET_BITMAP;
	values[PLAN_MEMORY] = Int64GetDatum((int64) plan->memory[method]);
	values[PLAN_WORKERS] = Int32GetDatum(device->gpu ? 0 : PairWorkersPlanned(plan, method));
	nulls[PLAN_WORKERS] = plan->cost[method] < 0;
	SetText(values, nulls, PLAN_NOTE, note_of(plan, method));
	values[PLAN_DEVICE] = CStringGetTextDatum(device->gpu ? "gpu" : "cpu");
	values[PLAN_REASON] = CStringGetTextDatum(device->why);
}

/* qsets_pairs_plan(qsets, min_count, min_jaccard, top, method): one row for each method */
PG_FUNCTION_INFO_V1(qsets_pairs_plan);
Datum
qsets_pairs_plan(PG_FUNCTION_ARGS)
{
	const PairsLayout layout = { .options = 1 };
	qset_preparation preparation;
	SetsReader reader[2];
	qset_request request;
	qb_memory memory;
	Datum values[PLAN_COLUMNS];
	bool nulls[PLAN_COLUMNS];
	SearchDevice device;
	int method;

	ReturnRows(fcinfo);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	read_arguments(fcinfo, &layout, &request);
	read_collections(fcinfo, &layout, &request, reader);
	device.gpu = GpuWantsPairs(request.rows->elements, device.why);
	request.memory = ContextMemory(CurrentMemoryContext, &memory);
	PairsPrepare(&preparation, &request);
	for (method = QSET_MERGE; method < QSET_METHODS; method++)
	{
		fill_plan(&preparation.plan, method, &device, values, nulls);
		PutRow(fcinfo, values, nulls);
	}
	qset_prepared_free(&preparation);
	end_collections(&layout, reader);
	return (Datum) 0;
}

/*
 * Planner support of qsets_pairs and qsets_nearest.  This function answers no request.  The planner
 * asks the function for the number of rows before it makes paths.  The call loads the module, and
 * installs the module's hook (scan/sets/pairs.c) before the hook is needed for a session's first
 * query.
 */
SQL_FUNCTION(qsets_pairs_support, PointerGetDatum(NULL));
