/*
 * sets_pairs.c
 *		All pairs of sets: set_pairs, set_similar, set_pairs_plan.
 *
 * The collections are read, measured and written into one block by the method
 * that costs least; from then on only the block, the ids and a row of counters
 * are needed.  Pairs are pulled from it in batches.  In FROM they go straight
 * into the tuple store that PostgreSQL would fill anyway, and that goes to disk
 * beyond work_mem; elsewhere they are returned one by one.  Only "top" within
 * one collection, and set_similar, have to collect pairs first.
 *
 * The block may be as large as a hash table (work_mem, hash_mem_multiplier).
 *
 * src/pg/sets_pairs.c
 */
#include "pg/sets_expanded.h"

#include "engine/sets_kernels.h"
#include "executor/nodeHash.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "sets/pairs.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

/* Pairs pulled at once. */
#define BATCH 1024

/* Where the arguments of a form begin that all forms have. */
typedef struct Form
{
	int columns; /* argument: the other collection, or 0 */
	int options; /* argument: min_count; min_jaccard, top and method follow */
} Form;

typedef struct PairScan
{
	qs_memory memory;
	qi_preparation preparation;
	void *block;
	qi_job job;
	int64 *row_id; /* by number of set */
	int64 *column_id;
	TupleDesc descriptor;

	/* Pairs at hand. */
	qi_pair *pair;
	uint64 room;
	uint64 count;
	uint64 next;
	bool complete; /* they are all that there are */
} PairScan;

static int
method_argument(FunctionCallInfo fcinfo, int argument)
{
	char *name;
	int method;

	if (PG_ARGISNULL(argument))
		return QI_AUTO;
	name = text_to_cstring(PG_GETARG_TEXT_PP(argument));
	method = qi_method_of(name);
	if (method < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown method \"%s\"", name),
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

static void
filter_arguments(FunctionCallInfo fcinfo, int first, qi_filter *filter)
{
	int64 min_count = PG_ARGISNULL(first) ? 1 : PG_GETARG_INT64(first);
	double min_jaccard = PG_ARGISNULL(first + 1) ? 0 : PG_GETARG_FLOAT8(first + 1);

	if (min_count < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("min_count must not be negative, but is " INT64_FORMAT, min_count)));
	if (qi_filter_init(filter, min_count, min_jaccard, top_argument(fcinfo, first + 2)) != QS_OK)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("min_jaccard must be between 0 and 1, not %g", min_jaccard)));
}

/* Say how much memory the request would need. */
static void
raise_no_room(const qi_plan *plan, const qi_request *request)
{
	uint64 least = request->method ? plan->memory[request->method] : UINT64_MAX;
	int method;

	for (method = QI_MERGE; request->method == QI_AUTO && method < QI_METHODS; method++)
		least = Min(least, plan->memory[method]);
	ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					errmsg("pairs of sets would need %llu kB, more than work_mem allows",
						   (unsigned long long) (least / 1024 + 1)),
					errdetail("With hash_mem_multiplier, it allows %llu kB.",
							  (unsigned long long) (request->memory_limit / 1024)),
					errhint("Set work_mem to at least %llukB, or set min_count or min_jaccard "
							"higher.",
							(unsigned long long) (least / 1024 / hash_mem_multiplier) + 1)));
}

static void
prepare(qi_preparation *preparation, const qi_request *request)
{
	qs_status status = qi_prepare(preparation, request);

	if (status == QS_NO_ROOM)
		raise_no_room(&preparation->plan, request);
	if (status == QS_MISMATCH)
	{
		qs_keys a = { request->rows->family, request->rows->collation };
		qs_keys b = { request->columns->family, request->columns->collation };

		KeyFamilyCheckSame(&a, &b, &sets_key_holder);
	}
	SetsCheck(status);
}

static int64 *
copied_ids(const qs_memory *memory, const qi_collection *c)
{
	int64 *id = qi_alloc(memory, c->sets, sizeof(int64));

	if (id == NULL)
		SetsCheck(QS_NO_MEMORY);
	memcpy(id, c->id, c->sets * sizeof(int64));
	return id;
}

/* Prepare the request's block and a job on it. */
static void
open_job(PairScan *scan, const qi_request *request)
{
	prepare(&scan->preparation, request);
	scan->block = qi_alloc(&scan->memory, scan->preparation.plan.bytes, 1);
	if (scan->block == NULL)
		SetsCheck(QS_NO_MEMORY);
	SetsCheck(qi_fill(&scan->preparation, scan->block));
	qi_prepared_free(&scan->preparation);
	SetsCheck(
		qi_job_open(&scan->job, scan->block, qi_kernels_now(), &scan->memory, &sets_interrupt));
	scan->row_id = copied_ids(&scan->memory, request->rows);
	scan->column_id = request->columns ? copied_ids(&scan->memory, request->columns) : scan->row_id;
}

static PairScan *
create_scan(FunctionCallInfo fcinfo)
{
	PairScan *scan = palloc0(sizeof(PairScan));

	if (get_call_result_type(fcinfo, NULL, &scan->descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	BlessTupleDesc(scan->descriptor);
	ContextMemory(CurrentMemoryContext, &scan->memory);
	scan->room = BATCH;
	scan->pair = qi_alloc(&scan->memory, scan->room, sizeof(qi_pair));
	if (scan->pair == NULL)
		SetsCheck(QS_NO_MEMORY);
	return scan;
}

/* Room for another batch. */
static void
grow(PairScan *scan)
{
	qi_pair *pair;

	if (scan->room - scan->count >= BATCH)
		return;
	pair = qi_alloc(&scan->memory, scan->room * 2, sizeof(qi_pair));
	if (pair == NULL)
		SetsCheck(QS_NO_MEMORY);
	memcpy(pair, scan->pair, scan->count * sizeof(qi_pair));
	qi_release(&scan->memory, scan->pair);
	scan->pair = pair;
	scan->room *= 2;
}

/* Pull all pairs. */
static void
collect(PairScan *scan)
{
	uint64 pulled;

	do
	{
		grow(scan);
		SetsCheck(qi_job_next(&scan->job, scan->pair + scan->count, BATCH, &pulled));
		scan->count += pulled;
	}
	while (pulled > 0);
	scan->complete = true;
}

/* Of each set's best within one collection, which come from both sides, make pairs. */
static void
finish_top(PairScan *scan)
{
	qi_pair *scratch;

	collect(scan);
	scratch = qi_alloc(&scan->memory, scan->count, sizeof(qi_pair));
	if (scratch == NULL)
		SetsCheck(QS_NO_MEMORY);
	scan->count = qi_finish_top(scan->pair, scan->count, scratch);
	qi_release(&scan->memory, scratch);
}

/* The next pair, or NULL. */
static const qi_pair *
next_pair(PairScan *scan)
{
	if (scan->next == scan->count)
	{
		if (scan->complete)
			return NULL;
		scan->next = 0;
		SetsCheck(qi_job_next(&scan->job, scan->pair, BATCH, &scan->count));
		scan->complete = scan->count == 0;
		if (scan->complete)
			return NULL;
	}
	return &scan->pair[scan->next++];
}

static double
jaccard_of(const qi_pair *pair)
{
	return pair->either == 0 ? 0 : (double) pair->common / pair->either;
}

/* Columns of a pair: a, b, common, jaccard; of a set similar to one: without a. */
static void
fill_row(const PairScan *scan, const qi_pair *pair, Datum *values)
{
	int at = 0;

	if (scan->descriptor->natts == 4)
		values[at++] = Int64GetDatum(scan->row_id[pair->a]);
	values[at++] = Int64GetDatum(scan->column_id[pair->b]);
	values[at++] = Int64GetDatum(pair->common);
	values[at] = Float8GetDatum(jaccard_of(pair));
}

typedef PairScan *(*OpenPairs)(FunctionCallInfo fcinfo);

/* All rows into the tuple store of the caller. */
static Datum
store_rows(FunctionCallInfo fcinfo, OpenPairs open)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "pairs of sets", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;
	Datum values[4];
	bool nulls[4] = { false };
	const qi_pair *pair;
	PairScan *scan;

	InitMaterializedSRF(fcinfo, 0);
	old = MemoryContextSwitchTo(context);
	scan = open(fcinfo);
	while (scan && (pair = next_pair(scan)) != NULL)
	{
		fill_row(scan, pair, values);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return (Datum) 0;
}

/* The next row, in the manner of functions that return one row for a call. */
static Datum
return_row(FunctionCallInfo fcinfo, OpenPairs open)
{
	FuncCallContext *call;
	const qi_pair *pair;
	Datum values[4];
	bool nulls[4] = { false };

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext old;

		call = SRF_FIRSTCALL_INIT();
		old = MemoryContextSwitchTo(call->multi_call_memory_ctx);
		call->user_fctx = open(fcinfo);
		MemoryContextSwitchTo(old);
	}
	call = SRF_PERCALL_SETUP();
	pair = call->user_fctx ? next_pair(call->user_fctx) : NULL;
	if (pair == NULL)
		SRF_RETURN_DONE(call);
	fill_row(call->user_fctx, pair, values);
	SRF_RETURN_NEXT(call, HeapTupleGetDatum(heap_form_tuple(
							  ((PairScan *) call->user_fctx)->descriptor, values, nulls)));
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

/* What the arguments ask for, and the collections that it is asked of. */
static void
request_arguments(FunctionCallInfo fcinfo, Form form, qi_request *request, SetsReader *reader)
{
	memset(request, 0, sizeof(*request));
	filter_arguments(fcinfo, form.options, &request->filter);
	request->method = method_argument(fcinfo, form.options + 3);
	request->memory_limit = get_hash_memory_limit();
	request->interrupt = &sets_interrupt;
	SetsRead(&reader[0], PG_GETARG_DATUM(0));
	request->rows = reader[0].collection;
	if (form.columns == 0)
		return;
	SetsRead(&reader[1], PG_GETARG_DATUM(form.columns));
	request->columns = reader[1].collection;
}

static void
end_readers(Form form, SetsReader *reader)
{
	SetsReadEnd(&reader[0]);
	if (form.columns)
		SetsReadEnd(&reader[1]);
}

/* NULL if a collection is NULL. */
static PairScan *
open_pairs(FunctionCallInfo fcinfo, Form form)
{
	SetsReader reader[2];
	qi_request request;
	PairScan *scan;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(form.columns))
		return NULL;
	scan = create_scan(fcinfo);
	request_arguments(fcinfo, form, &request, reader);
	request.memory = &scan->memory;
	open_job(scan, &request);
	end_readers(form, reader);
	qi_job_share(&scan->job, 0, qi_job_rows(&scan->job), 1);
	if (form.columns == 0 && request.filter.top > 0)
		finish_top(scan);
	return scan;
}

static PairScan *
open_within(FunctionCallInfo fcinfo)
{
	return open_pairs(fcinfo, (Form){ .columns = 0, .options = 1 });
}

static PairScan *
open_between(FunctionCallInfo fcinfo)
{
	return open_pairs(fcinfo, (Form){ .columns = 1, .options = 2 });
}

/* set_pairs(qsets, min_count, min_jaccard, top, method) */
PG_FUNCTION_INFO_V1(qsets_pairs);
Datum
qsets_pairs(PG_FUNCTION_ARGS)
{
	return return_rows(fcinfo, open_within);
}

/* set_pairs(qsets, qsets, min_count, min_jaccard, top, method) */
PG_FUNCTION_INFO_V1(qsets_pairs_between);
Datum
qsets_pairs_between(PG_FUNCTION_ARGS)
{
	return return_rows(fcinfo, open_between);
}

/* The better first. */
static int
compare_similar(const void *a, const void *b)
{
	return qi_pair_better(a, b) ? -1 : 1;
}

/* NULL if the collection or the id is NULL, or there is no such set. */
static PairScan *
open_similar(FunctionCallInfo fcinfo)
{
	Form form = { .columns = 0, .options = 2 };
	SetsReader reader[2];
	qi_request request;
	PairScan *scan;
	int64 set;
	int64 row = -1;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return NULL;
	scan = create_scan(fcinfo);
	request_arguments(fcinfo, form, &request, reader);
	request.memory = &scan->memory;
	request.directed = true;
	request.rows_wanted = 1;
	set = qi_collection_find(request.rows, PG_GETARG_INT64(1));
	if (set >= 0)
	{
		open_job(scan, &request);
		row = qi_job_row_of(&scan->job, (uint32) set);
	}
	end_readers(form, reader);
	if (row < 0)
		return NULL;
	qi_job_share(&scan->job, row, row + 1, 1);
	collect(scan);
	qsort(scan->pair, scan->count, sizeof(qi_pair), compare_similar);
	return scan;
}

/* set_similar(qsets, id, min_count, min_jaccard, top, method): the best first */
PG_FUNCTION_INFO_V1(qsets_similar);
Datum
qsets_similar(PG_FUNCTION_ARGS)
{
	return return_rows(fcinfo, open_similar);
}

/* Columns of set_pairs_plan(), in the order of its declaration. */
enum
{
	PLAN_METHOD,
	PLAN_CHOSEN,
	PLAN_MILLISECONDS,
	PLAN_MEMORY,
	PLAN_NOTE,
	PLAN_COLUMNS
};

/* What else there is to say of a method. */
static char *
note_of(const qi_plan *plan, int method, uint64 limit)
{
	if (plan->memory[method] > limit)
		return "needs more than work_mem";
	if (method == QI_INDEX)
		return psprintf("%llu events%s",
						(unsigned long long) (plan->prefix ? plan->prefix_events : plan->events),
						plan->prefix ? " of prefixes" : "");
	if (method == QI_HYBRID)
		return psprintf("%llu heavy elements, %llu events of the others",
						(unsigned long long) plan->heavy, (unsigned long long) plan->light_events);
	return method == QI_BITMAP && plan->resident ? "all bitmaps at once" : NULL;
}

static void
fill_plan(const qi_plan *plan, int method, bool possible, uint64 limit, Datum *values, bool *nulls)
{
	char *note = note_of(plan, method, limit);

	memset(nulls, 0, PLAN_COLUMNS * sizeof(bool));
	values[PLAN_METHOD] = CStringGetTextDatum(qi_method_name(method));
	values[PLAN_CHOSEN] = BoolGetDatum(possible && plan->method == method);
	values[PLAN_MILLISECONDS] = Float8GetDatum(plan->cost[method] / 1e6);
	nulls[PLAN_MILLISECONDS] = plan->cost[method] < 0;
	values[PLAN_MEMORY] = Int64GetDatum((int64) plan->memory[method]);
	values[PLAN_NOTE] = note ? CStringGetTextDatum(note) : (Datum) 0;
	nulls[PLAN_NOTE] = note == NULL;
}

/* set_pairs_plan(qsets, min_count, min_jaccard, top, method): what each method would cost */
PG_FUNCTION_INFO_V1(qsets_pairs_plan);
Datum
qsets_pairs_plan(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Form form = { .columns = 0, .options = 1 };
	qi_preparation preparation;
	SetsReader reader[2];
	qi_request request;
	qs_memory memory;
	qs_status status;
	Datum values[PLAN_COLUMNS];
	bool nulls[PLAN_COLUMNS];
	int method;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	request_arguments(fcinfo, form, &request, reader);
	request.memory = ContextMemory(CurrentMemoryContext, &memory);
	status = qi_prepare(&preparation, &request);
	if (status != QS_OK && status != QS_NO_ROOM)
		SetsCheck(status);
	for (method = QI_MERGE; method < QI_METHODS; method++)
	{
		fill_plan(&preparation.plan, method, status == QS_OK, request.memory_limit, values, nulls);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	qi_prepared_free(&preparation);
	end_readers(form, reader);
	return (Datum) 0;
}
