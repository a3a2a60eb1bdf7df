/*
 * sets_pairs.c
 *		All pairs of sets: qsets_pairs, and qsets_nearest.
 *
 * In FROM all rows go into the tuple store that PostgreSQL would fill anyway, and that
 * goes to disk beyond work_mem; parallel workers may help.  In the select list this
 * process alone returns rows one by one, as far as they are wanted.  Only "top" within
 * one collection has to collect all pairs first.
 *
 * src/pg/sets_pairs.c
 */
#include "pg/sets_pairs.h"
#include "pgbase/row.h"

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

/* Can a GPU find the pairs?  It knows one order. */
static bool
gpu_knows(const qset_request *request)
{
	return request->filter.order == QSET_BY_JACCARD;
}

/* Read the collections and open the scan. */
static void
open_read(FunctionCallInfo fcinfo, const PairsForm *form, PairScan *scan, qset_request *request,
		  bool parallel)
{
	SetsReader reader[2];

	PairsCollections(fcinfo, form, request, reader);
	if (!gpu_knows(request) || !PairScanOpenGpu(scan, request))
		PairScanOpen(scan, request, parallel);
	PairsCollectionsEnd(form, reader);
}

/* Open the pairs that a call asks for; NULL if a collection is NULL. */
PairScan *
PairsOpen(FunctionCallInfo fcinfo, const PairsForm *form, bool parallel)
{
	qset_request request;
	PairScan *scan;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(form->columns))
		return NULL;
	PairsArguments(fcinfo, form, &request);
	scan = PairScanCreate(&request);
	scan->ranked = form->ranked;
	scan->best.order = request.filter.order;
	PairScanShow(scan);
	if (form->columns != 0 || !gpu_knows(&request) ||
		!(PairScanOpenKept(scan, &request, PG_GETARG_DATUM(0)) ||
		  PairScanOpenMade(scan, &request, PG_GETARG_DATUM(0))))
		open_read(fcinfo, form, scan, &request, parallel);
	if (form->columns == 0 && request.filter.top > 0 && !form->ranked)
		finish_top(scan);
	return scan;
}

/* Store the next row in columns; false: there are no more rows. */
bool
PairsNextRow(PairScan *scan, Datum *values)
{
	int64 rank = 0;
	const qset_pair *pair = scan->ranked ? PairScanNextRanked(scan, &rank) : PairScanNext(scan);

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
store_rows(FunctionCallInfo fcinfo, const PairsForm *form)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "pairs of sets", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;
	Datum values[PAIRS_MOST_COLUMNS];
	bool nulls[PAIRS_MOST_COLUMNS] = { false };
	PairScan *scan;

	ReturnRows(fcinfo);
	old = MemoryContextSwitchTo(context);
	scan = PairsOpen(fcinfo, form, true);
	while (scan && PairsNextRow(scan, values))
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
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
open_rows(FunctionCallInfo fcinfo, const PairsForm *form)
{
	Rows *rows = palloc0(sizeof(Rows));

	rows->descriptor = RowType(fcinfo);
	rows->scan = PairsOpen(fcinfo, form, false);
	return rows;
}

/* Return the next row, as a function that returns one row for each call. */
static Datum
return_row(FunctionCallInfo fcinfo, const PairsForm *form)
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
		call->user_fctx = open_rows(fcinfo, form);
		MemoryContextSwitchTo(old);
	}
	call = SRF_PERCALL_SETUP();
	rows = call->user_fctx;
	if (rows->scan == NULL || !PairsNextRow(rows->scan, values))
		SRF_RETURN_DONE(call);
	SRF_RETURN_NEXT(call, HeapTupleGetDatum(heap_form_tuple(rows->descriptor, values, nulls)));
}

/* Return the rows of a function in the way that its caller prefers. */
static Datum
return_rows(FunctionCallInfo fcinfo, PGFunction function)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const PairsForm *form = PairsFormOf(function);

	if (result && IsA(result, ReturnSetInfo) &&
		(result->allowedModes & SFRM_Materialize_Preferred) != 0)
		return store_rows(fcinfo, form);
	return return_row(fcinfo, form);
}

/* qsets_pairs(qsets, min_count, min_jaccard, top, method) */
SQL_FUNCTION(qsets_pairs, return_rows(fcinfo, qsets_pairs));

/* qsets_pairs(qsets, qsets, min_count, min_jaccard, top, method) */
SQL_FUNCTION(qsets_pairs_between, return_rows(fcinfo, qsets_pairs_between));

/* qsets_nearest(qsets, min_count, min_jaccard, top, method, order_by) */
SQL_FUNCTION(qsets_nearest, return_rows(fcinfo, qsets_nearest));

/* qsets_nearest(qsets, qsets, min_count, min_jaccard, top, method, order_by) */
SQL_FUNCTION(qsets_nearest_between, return_rows(fcinfo, qsets_nearest_between));

static const PairsForm forms[] = {
	{ .function = qsets_pairs, .options = 1 },
	{ .function = qsets_pairs_between, .columns = 1, .options = 2 },
	{ .function = qsets_nearest, .options = 1, .ranked = true },
	{ .function = qsets_nearest_between, .columns = 1, .options = 2, .ranked = true },
};

/* The form of a C function; NULL if it is not one of ours that return pairs. */
const PairsForm *
PairsFormOf(PGFunction function)
{
	int i;

	for (i = 0; i < lengthof(forms); i++)
		if (forms[i].function == function)
			return &forms[i];
	return NULL;
}
