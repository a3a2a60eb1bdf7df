/*
 * sets_pairs.c
 *		All pairs of sets: qsets_pairs.
 *
 * In FROM all rows go into the tuple store that PostgreSQL would fill anyway, and that
 * goes to disk beyond work_mem; parallel workers may help.  In the select list this
 * process alone returns rows one by one, as far as they are wanted.  Only "top" within
 * one collection has to collect all pairs first.
 *
 * src/pg/sets_pairs.c
 */
#include "pg/sets_pairs.h"

#include "funcapi.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

/*
 * Within one collection each set has found its best pairs, so a pair may come from both
 * of its sets.  Keep each pair once.
 */
static void
finish_top(PairScan *scan)
{
	qset_pair *scratch;

	PairScanCollect(scan);
	scratch = qset_alloc(&scan->memory, scan->count, sizeof(qset_pair));
	if (scratch == NULL)
		SetsCheck(QB_NO_MEMORY);
	scan->count = qset_finish_top(scan->own, scan->count, scratch);
	qset_release(&scan->memory, scratch);
}

/* Read the collections and open the scan. */
static void
open_read(FunctionCallInfo fcinfo, PairsForm form, PairScan *scan, qset_request *request,
		  bool parallel)
{
	SetsReader reader[2];

	PairsCollections(fcinfo, form, request, reader);
	if (!PairScanOpenGpu(scan, request))
		PairScanOpen(scan, request, parallel);
	PairsCollectionsEnd(form, reader);
}

static PairScan *
open_pairs(FunctionCallInfo fcinfo, PairsForm form, bool parallel)
{
	qset_request request;
	PairScan *scan;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(form.columns))
		return NULL;
	PairsArguments(fcinfo, form, &request);
	scan = PairScanCreate(&request);
	PairScanShow(scan);
	if (form.columns != 0 || !PairScanOpenKept(scan, &request, PG_GETARG_DATUM(0)))
		open_read(fcinfo, form, scan, &request, parallel);
	if (form.columns == 0 && request.filter.top > 0)
		finish_top(scan);
	return scan;
}

static PairScan *
open_within(FunctionCallInfo fcinfo, bool parallel)
{
	return open_pairs(fcinfo, (PairsForm){ .columns = 0, .options = 1 }, parallel);
}

static PairScan *
open_between(FunctionCallInfo fcinfo, bool parallel)
{
	return open_pairs(fcinfo, (PairsForm){ .columns = 1, .options = 2 }, parallel);
}

/* Store a pair in columns: a, b, common, jaccard. */
void
PairColumns(const PairScan *scan, const qset_pair *pair, Datum *values)
{
	values[0] = Int64GetDatum(scan->row_id[pair->a]);
	values[1] = Int64GetDatum(scan->column_id[pair->b]);
	values[2] = Int64GetDatum(pair->common);
	values[3] = Float8GetDatum(PairJaccard(pair));
}

/* Put all rows into the caller's tuple store. */
static Datum
store_rows(FunctionCallInfo fcinfo, OpenPairs open)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "pairs of sets", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;
	Datum values[4];
	bool nulls[4] = { false };
	const qset_pair *pair;
	PairScan *scan;

	InitMaterializedSRF(fcinfo, 0);
	old = MemoryContextSwitchTo(context);
	scan = open(fcinfo, true);
	while (scan && (pair = PairScanNext(scan)) != NULL)
	{
		PairColumns(scan, pair, values);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return (Datum) 0;
}

/* What is kept between two rows in the select list. */
typedef struct Rows
{
	PairScan *scan;
	TupleDesc descriptor;
} Rows;

static Rows *
open_rows(FunctionCallInfo fcinfo, OpenPairs open)
{
	Rows *rows = palloc0(sizeof(Rows));

	if (get_call_result_type(fcinfo, NULL, &rows->descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	BlessTupleDesc(rows->descriptor);
	rows->scan = open(fcinfo, false);
	return rows;
}

/* Return the next row, as a function that returns one row for each call. */
static Datum
return_row(FunctionCallInfo fcinfo, OpenPairs open)
{
	FuncCallContext *call;
	const qset_pair *pair;
	Datum values[4];
	bool nulls[4] = { false };
	Rows *rows;

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext old;

		call = SRF_FIRSTCALL_INIT();
		old = MemoryContextSwitchTo(call->multi_call_memory_ctx);
		call->user_fctx = open_rows(fcinfo, open);
		MemoryContextSwitchTo(old);
	}
	call = SRF_PERCALL_SETUP();
	rows = call->user_fctx;
	pair = rows->scan ? PairScanNext(rows->scan) : NULL;
	if (pair == NULL)
		SRF_RETURN_DONE(call);
	PairColumns(rows->scan, pair, values);
	SRF_RETURN_NEXT(call, HeapTupleGetDatum(heap_form_tuple(rows->descriptor, values, nulls)));
}

static Datum
return_rows(FunctionCallInfo fcinfo, OpenPairs open)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	if (result && IsA(result, ReturnSetInfo) &&
		(result->allowedModes & SFRM_Materialize_Preferred) != 0)
		return store_rows(fcinfo, open);
	return return_row(fcinfo, open);
}

/* qsets_pairs(qsets, min_count, min_jaccard, top, method) */
PG_FUNCTION_INFO_V1(qsets_pairs);
Datum
qsets_pairs(PG_FUNCTION_ARGS)
{
	return return_rows(fcinfo, open_within);
}

/* qsets_pairs(qsets, qsets, min_count, min_jaccard, top, method) */
PG_FUNCTION_INFO_V1(qsets_pairs_between);
Datum
qsets_pairs_between(PG_FUNCTION_ARGS)
{
	return return_rows(fcinfo, open_between);
}

/* How to open the pairs of a C function; NULL if it is not one of ours that return pairs. */
OpenPairs
PairsOpenerOf(PGFunction function)
{
	if (function == qsets_pairs)
		return open_within;
	return function == qsets_pairs_between ? open_between : NULL;
}
