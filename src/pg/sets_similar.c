/*
 * sets_similar.c
 *		All pairs of sets: the sets that are most similar to a given one.
 *
 * Comparing one set with all others takes a few milliseconds for reading and preparing
 * the collection, and microseconds for counting.  A query often asks about many sets of
 * the same collection (LATERAL).  So the second call prepares the collection for
 * questions about all sets, and keeps that until another collection or other options
 * come.
 *
 * The collection is recognized without reading it.  A stored collection is recognized
 * by its toast pointer.  Another flat one is recognized by its bytes, of which a copy
 * is kept unless it is larger than a hash table may be.  An expanded object is
 * recognized by the number of its version.
 *
 * src/pg/sets_similar.c
 */
#include "pg/sets_pairs.h"

#include "miscadmin.h"
#include "funcapi.h"
#include "pgbase/stored.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

/* The options on which the prepared collection depends. */
typedef struct Question
{
	qset_filter filter;
	int method;
} Question;

/* The collection and the options of the last call, and what was prepared for them. */
typedef struct Kept
{
	MemoryContext context; /* holds all that depends on the collection */
	bool seen;
	StoredId stored;
	char *bytes; /* a copy, or NULL */
	Size size;
	uint64 version; /* of an expanded object, or 0 */
	Question question;
	PairScan *scan; /* prepared for all sets; NULL: not yet */
	uint64 sets;
} Kept;

static Kept *
kept_of(FunctionCallInfo fcinfo)
{
	FmgrInfo *function = fcinfo->flinfo;
	Kept *kept = function->fn_extra;

	if (kept == NULL)
	{
		kept = MemoryContextAllocZero(function->fn_mcxt, sizeof(Kept));
		kept->context =
			AllocSetContextCreate(function->fn_mcxt, "sets similar to one", ALLOCSET_DEFAULT_SIZES);
		function->fn_extra = kept;
	}
	return kept;
}

static bool
same_bytes(const Kept *kept, Datum collection)
{
	const char *bytes = DatumGetPointer(collection);

	return kept->bytes && !VARATT_IS_EXTERNAL(bytes) && VARSIZE_ANY(bytes) == kept->size &&
		   memcmp(kept->bytes, bytes, kept->size) == 0;
}

/* Does this call have the collection and options of the last one? */
static bool
is_same(const Kept *kept, Datum collection, const Question *question)
{
	SetsState *expanded = SetsStateIn(collection);

	if (!kept->seen || memcmp(&kept->question, question, sizeof(*question)) != 0)
		return false;
	if (expanded)
		return kept->version == SetsVersion(expanded);
	return StoredIdIs(&kept->stored, collection) || same_bytes(kept, collection);
}

/* Note the collection and options of this call. */
static void
note(Kept *kept, Datum collection, const Question *question)
{
	const char *bytes = DatumGetPointer(collection);
	SetsState *expanded = SetsStateIn(collection);
	MemoryContext context = kept->context;

	MemoryContextReset(context);
	memset(kept, 0, sizeof(*kept));
	kept->context = context;
	kept->question = *question;
	kept->seen = true;
	if (expanded)
		kept->version = SetsVersion(expanded);
	else if (VARATT_IS_EXTERNAL_ONDISK(bytes))
		StoredIdNote(&kept->stored, collection);
	else if (!VARATT_IS_EXTERNAL(bytes) && VARSIZE_ANY(bytes) <= get_hash_memory_limit())
	{
		kept->size = VARSIZE_ANY(bytes);
		kept->bytes = MemoryContextAllocHuge(context, kept->size);
		memcpy(kept->bytes, bytes, kept->size);
	}
}

/* Read the collection and prepare it: for questions about all sets, or for one about one set. */
static PairScan *
prepare(FunctionCallInfo fcinfo, PairsForm form, bool all, uint64 *sets)
{
	PairScan *scan;
	SetsReader reader;
	qset_request request;

	PairsArguments(fcinfo, form, &request);
	scan = PairScanCreate(&request);
	PairsCollections(fcinfo, form, &request, &reader);
	*sets = request.rows->sets;
	request.directed = true;
	request.rows_wanted = all ? 0 : 1;
	PairScanOpen(scan, &request, false);
	PairsCollectionsEnd(form, &reader);
	return scan;
}

/* The collection prepared for all sets; NULL on the first call for it. */
static PairScan *
kept_scan(FunctionCallInfo fcinfo, PairsForm form, uint64 *sets)
{
	Kept *kept = kept_of(fcinfo);
	Datum collection = PG_GETARG_DATUM(0);
	Question question;
	qset_request request;
	MemoryContext old;

	PairsArguments(fcinfo, form, &request);
	memset(&question, 0, sizeof(question));
	question.filter = request.filter;
	question.method = request.method;
	if (!is_same(kept, collection, &question))
	{
		note(kept, collection, &question);
		return NULL;
	}
	if (kept->scan == NULL)
	{
		old = MemoryContextSwitchTo(kept->context);
		kept->scan = prepare(fcinfo, form, true, &kept->sets);
		MemoryContextSwitchTo(old);
	}
	*sets = kept->sets;
	return kept->scan;
}

/* The number of the set with an id, or -1. */
static int64
find_set(const int64 *id, uint64 sets, int64 wanted)
{
	uint64 low = 0;
	uint64 high = sets;

	while (low < high)
	{
		uint64 middle = low + (high - low) / 2;

		if (id[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low < sets && id[low] == wanted ? (int64) low : -1;
}

/* Order by similarity, the best first. */
static int
compare_similar(const void *a, const void *b)
{
	return qset_pair_better(a, b) ? -1 : 1;
}

/* Find all pairs of the set with an id. */
static void
collect(PairScan *scan, uint64 sets, int64 id)
{
	int64 set = find_set(scan->row_id, sets, id);
	int64 row = set < 0 ? -1 : qset_job_row_of(&scan->job, (uint32) set);

	PairScanRewind(scan);
	if (row < 0)
		return;
	qset_job_share(&scan->job, row, row + 1, 1);
	PairScanCollect(scan);
	qsort(scan->own, scan->count, sizeof(qset_pair), compare_similar);
}

static void
store(PairScan *scan, ReturnSetInfo *result)
{
	bool nulls[3] = { false };
	uint64 i;

	for (i = 0; i < scan->count; i++)
	{
		const qset_pair *pair = &scan->pair[i];
		Datum values[] = { Int64GetDatum(scan->column_id[pair->b]), Int64GetDatum(pair->common),
						   Float8GetDatum(PairJaccard(pair)) };

		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
}

/* qsets_similar(qsets, id, min_count, min_jaccard, top, method): similar sets, the best first */
PG_FUNCTION_INFO_V1(qsets_similar);
Datum
qsets_similar(PG_FUNCTION_ARGS)
{
	PairsForm form = { .columns = 0, .options = 2 };
	MemoryContext context;
	MemoryContext old;
	PairScan *scan;
	uint64 sets;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	context = AllocSetContextCreate(CurrentMemoryContext, "pairs of sets", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	scan = kept_scan(fcinfo, form, &sets);
	if (scan == NULL)
		scan = prepare(fcinfo, form, false, &sets);
	collect(scan, sets, PG_GETARG_INT64(1));
	store(scan, (ReturnSetInfo *) fcinfo->resultinfo);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return (Datum) 0;
}
