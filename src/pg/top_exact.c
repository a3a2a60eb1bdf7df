/*
 * top_exact.c
 *		qtop_exact: the most frequent keys of a table's column, with their exact counts.
 *
 * GROUP BY counts all keys, although only few keys are wanted.  If the column has few keys, GROUP
 * BY is fast.  If all keys are about equally frequent, no method is faster than GROUP BY.  A sample
 * of the table shows whether one of these two cases holds (top_question.c).  If one of them holds,
 * or if no sample can be taken, GROUP BY runs.  In all other cases, two passes run:
 *
 * 	1.  qtop_agg finds candidates C, and a bound b.
 * 	2.  GROUP BY counts exactly the rows whose key is in C.
 *
 * A key that is not in C occurred at most b times (sketch/top.h).  Most candidates are too rare for
 * the answer.  A candidate is removed from C if its upper bound is below the n-th largest lower
 * bound.  If b is less than the largest upper bound of the removed candidates, b is raised to that
 * bound.  Let t be the n-th largest count of the remaining candidates.  If b < t, every other key
 * is less frequent than the n-th candidate.  So the answer equals the answer of GROUP BY, ties
 * included.  If b = 0, no other keys exist, and the answers are equal, too.
 *
 * If keys are numbers, fingerprints are the keys themselves.  A frequent key usually becomes a
 * candidate while the sketch is almost empty, so its lower and upper bound are usually equal.  If
 * each remaining candidate has equal bounds, these bounds are the counts.  If in addition b < t or
 * b = 0, the second pass is not needed.
 *
 * If b >= t and b > 0, too many keys are about equally frequent for that sketch.  A third pass
 * runs:
 *
 * 	3.  GROUP BY counts the rows whose key has an estimate of at least t.  If fewer than n keys were
 * 	    counted before, the estimate must be at least 1.
 *
 * At least n keys occur t times or more, so every wanted key occurs at least t times.  Estimates
 * are never below counts, so all wanted keys are counted.  If the sample shows that most rows would
 * be counted, GROUP BY counts all rows without estimates.
 *
 * Candidates are identified by fingerprints.  Two keys of a type other than numbers may have the
 * same fingerprint.  Upper bounds and estimates count all keys of a fingerprint, so they hold for
 * each of these keys.  A lower bound may be above the count of each of these keys.  For keys of
 * such a type, lower bounds only decide which candidates are removed.  GROUP BY computes exact
 * counts by the type's own equality.
 *
 * With a column of weights, sums of weights replace counts.  All of the above holds for weights
 * that are not negative.  Keys whose weights sum to 0 are not returned.  The first pass also counts
 * rows of negative weight.  If such rows exist, GROUP BY adds up the weights of all keys.
 *
 * If keys are numbers, no weights are given, and a GPU has cached at least half of the column's
 * pages, the GPU can count the keys without any pass (src/scan/cached/exact.c).
 *
 * All passes must see the same rows.  So the function is STABLE, and reads with the snapshot of the
 * calling query.  If that snapshot is too old for the tables, all passes use one new snapshot
 * (top_question.c).  The passes are plain queries.  So they run with the privileges of the caller,
 * and row security applies.  They depend neither on the search path nor on other objects in the
 * extension's schema (calls.c).
 *
 * src/pg/top_exact.c
 */
#include "pg/top_question.h"

#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "pg/top_state.h"
#include "pgbase/keyread.h"
#include "pgbase/value.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

/* The destination of keys and counts. */
typedef struct TopOutput
{
	FunctionCallInfo call; /* the call that returns the keys and counts */
	bool as_text;
	bool padded; /* the keys have type bpchar, whose padding is not part of a text */
	KeyWriter writer;
	int64 wanted; /* number of keys that are still to be returned */
} TopOutput;

/* Return the key as text, like qtop_text. */
static text *
text_of(TopOutput *output, Datum key)
{
	uint32 length;
	int level = KeyTextBegin();
	const char *written;

	if (output->padded)
		key = DirectFunctionCall1(rtrim1, key);
	written = KeyWrite(&output->writer, key, &length);
	KeyTextEnd(level);
	return cstring_to_text_with_len(written, (int) length);
}

/* Return a key with its count. */
static void
put_key(TopOutput *output, Datum key, int64 count)
{
	Datum values[] = { key, Int64GetDatum(count) };

	if (output->as_text)
		values[0] = PointerGetDatum(text_of(output, key));
	PutRow(output->call, values, NULL);
	output->wanted--;
}

extern Datum qtop_has(PG_FUNCTION_ARGS);
extern Datum qsketch_estimate(PG_FUNCTION_ARGS);

#define TYPE_ARGUMENT 3

/*
 * The list of candidates is made for at least this many keys.  Candidates cost little, and more
 * candidates lower the bound.
 */
#define CANDIDATES_FOR 1000

/* The size of the sketch: bytes for each row, and the least and largest size in MB. */
#define ROW_BYTES  4
#define LEAST_MB   1
#define LARGEST_MB 64

/* The third pass selects rows by estimates if at most this fraction of all rows is selected. */
#define FRACTION_WORTH_ASKING 0.5

/* OIDs of the extension's objects that the queries use. */
typedef struct ExtensionObjects
{
	Oid sketch; /* types */
	Oid list;
	Oid agg; /* functions of a key of any type; "agg" may take a weight, too */
	Oid has;
	Oid estimate;
} ExtensionObjects;

/* The result of count_rows(), whose rows are in SPI_tuptable. */
typedef struct Answer
{
	uint64 rows;
	int64 last; /* count of the n-th row; 0: fewer rows */
} Answer;

/* Return the size in MB of a sketch: at least ROW_BYTES for each row, but at most LARGEST_MB. */
static int
size_for(double rows)
{
	int mb = LEAST_MB;

	while (mb < rows * ROW_BYTES / (1024 * 1024) && mb < LARGEST_MB)
		mb *= 2;
	return mb;
}

/*
 * Return the name of the column of weights, which is the last argument.  The argument has the type
 * "cstring" if the call names no key type, and the type "name" if it does.
 */
static const char *
weight_argument(FunctionCallInfo fcinfo)
{
	int last = PG_NARGS() - 1;

	if (PG_ARGISNULL(last))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("name of the column of weights must not be null")));
	return last == TYPE_ARGUMENT ? PG_GETARG_CSTRING(last) : NameStr(*PG_GETARG_NAME(last));
}

static void
describe(FunctionCallInfo fcinfo, bool weighted, TopQuestion *question, TopOutput *output)
{
	question->n = (int32) TopCheckN(PG_GETARG_INT32(2));
	question->listed = Max(question->n, CANDIDATES_FOR);
	TopDescribe(question, PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)),
				weighted ? weight_argument(fcinfo) : NULL);
	output->call = fcinfo;
	output->wanted = question->n;
	output->as_text = PG_NARGS() == TYPE_ARGUMENT + weighted;
	if (!output->as_text)
		TopCheckType(question, get_fn_expr_argtype(fcinfo->flinfo, TYPE_ARGUMENT));
	output->padded = getBaseType(question->type) == BPCHAROID;
	KeyWriterInit(&output->writer, output->padded ? TEXTOID : question->type, CurrentMemoryContext);
}

/*
 * Find a C function of the extension that takes a value and a key.  Raise an error unless its
 * address is "function".
 */
static Oid
function_of_key(Oid schema, const char *name, Oid value, PGFunction function)
{
	Oid types[] = { value, ANYCOMPATIBLEOID };
	Oid found = ExtensionFunction(schema, name, lengthof(types), types);

	if (!OidIsValid(found) || CFunctionOf(found) != function)
		ExtensionMisses(name);
	return found;
}

static void
find_objects(const TopQuestion *q, Oid schema, ExtensionObjects *objects)
{
	Oid types[] = { ANYCOMPATIBLEOID, INT4OID, InvalidOid, InvalidOid };
	int count = 3;

	objects->sketch = ExtensionType(schema, "qsketch");
	objects->list = ExtensionType(schema, "qtop");
	if (q->weight)
	{
		types[1] = INT8OID;
		types[2] = INT4OID;
		count = 4;
	}
	types[count - 1] = objects->sketch;
	objects->agg = ExtensionFunction(schema, "qtop_agg", count, types);
	if (!OidIsValid(objects->agg) || !AggregateIsOurs(objects->agg, &top_functions))
		ExtensionMisses("qtop_agg");
	objects->has = function_of_key(schema, "qtop_has", objects->list, qtop_has);
	objects->estimate =
		function_of_key(schema, "qsketch_estimate_key", objects->sketch, qsketch_estimate);
}

/* Make the parameter of a query, for a value that may be large. */
static Node *
parameter(Oid type)
{
	Param *param = makeNode(Param);

	param->paramkind = PARAM_EXTERN;
	param->paramid = 1;
	param->paramtype = type;
	param->paramtypmod = -1;
	param->location = -1;
	return (Node *) param;
}

/* Make the list of query parameters, with the value of parameter(). */
static ParamListInfo
value_of(Oid type, Datum value)
{
	ParamListInfo list = makeParamList(1);

	list->params[0].value = value;
	list->params[0].isnull = false;
	list->params[0].pflags = 0;
	list->params[0].ptype = type;
	return list;
}

/* Make a constant: an empty sketch whose size is size_for(rows). */
static Node *
template_for(double rows, Oid type)
{
	qs_params params;
	qs_sketch sketch;

	SketchParamsOf(&params, SKETCH_DEFAULT_STRUCTURE, (uint64) size_for(rows) << 20);
	qs_init(&sketch, &params, NULL);
	return (Node *) makeConst(type, -1, InvalidOid, -1, PointerGetDatum(SketchFlatten(&sketch)),
							  false, false);
}

static int
compare_descending(const void *a, const void *b)
{
	int64 x = *(const int64 *) a;
	int64 y = *(const int64 *) b;

	CHECK_FOR_INTERRUPTS();
	return (x < y) - (x > y);
}

/* Return the n-th largest lower bound; 0: there are fewer than n candidates. */
static int64
nth_lower(const qs_top *top, int32 n)
{
	int64 *lower;
	uint64 i;

	if (top->count < n)
		return 0;
	lower = palloc(top->count * sizeof(int64));
	for (i = 0; i < top->count; i++)
		lower[i] = top->key[i].lower;
	qsort(lower, top->count, sizeof(int64), compare_descending);
	return lower[n - 1];
}

/*
 * First pass: find candidates.  Sets *negative if rows have negative weights.  NULL: rows have
 * negative weights, or the column has no keys.
 */
static TopState *
find_candidates(const TopQuestion *q, const ExtensionObjects *objects, double rows, bool *negative)
{
	Node *n = (Node *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(q->listed),
								 false, true);
	ExtensionCall call = { objects->agg, list_make3(NULL, n, template_for(rows, objects->sketch)),
						   q->name, q->weight_name };
	Datum list;
	bool null;
	TopReader reader;
	TopState *top;

	RunQuery(psprintf("SELECT $1, %s FROM %s",
					  q->weight ? psprintf("pg_catalog.count(*) FILTER (WHERE %s "
										   "OPERATOR(pg_catalog.<) 0)",
										   q->weight)
								: "CAST(0 AS pg_catalog.int8)",
					  q->table),
			 &call, NULL);
	*negative =
		DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &null)) > 0;
	list = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null);
	if (null || *negative)
		return NULL;
	TopRead(&reader, list);
	top = TopCopy(CurrentMemoryContext, &reader);
	TopReadEnd(&reader);
	SPI_freetuptable(SPI_tuptable);
	if (top->sketch.encoding == QS_DENSE)
		qs_top_drop_below(&top->top, nth_lower(&top->top, q->n));
	return top;
}

/*
 * Count rows by key: the rows that meet "condition", or all rows if "condition" is NULL.  The
 * answer has up to n + 1 rows, because the key of one row may be NULL.
 */
static Answer
count_rows(const TopQuestion *q, const char *condition, ExtensionCall *call, ParamListInfo values)
{
	Answer answer = { 0 };
	bool null;

	RunQuery(psprintf("SELECT %s, %s FROM %s%s%s GROUP BY %s%s ORDER BY 2 DESC%s%s LIMIT %d",
					  q->column, q->measure, q->table, condition ? " WHERE " : "",
					  condition ? condition : "", q->column, q->having, q->sorted ? ", " : "",
					  q->sorted ? q->column : "", q->n + 1),
			 call, values);
	TopCheckColumn(q, SPI_gettypeid(SPI_tuptable->tupdesc, 1));
	answer.rows = SPI_processed;
	if (answer.rows >= q->n)
		answer.last = DatumGetInt64(
			SPI_getbinval(SPI_tuptable->vals[q->n - 1], SPI_tuptable->tupdesc, 2, &null));
	return answer;
}

static Answer
count_all(const TopQuestion *q)
{
	elog(DEBUG1, "qtop_exact counts all keys");
	return count_rows(q, NULL, NULL, NULL);
}

/*
 * Third pass: count the keys whose estimate is at least "least".  The query gets the sketch with
 * tables: with a compact sketch of 32 MB the pass over 5 million rows took 2.5 times as long.
 */
static Answer
count_estimated(const TopQuestion *q, const ExtensionObjects *objects, const TopSample *sample,
				TopState *top, int64 least)
{
	ExtensionCall call = { objects->estimate, list_make2(parameter(objects->sketch), NULL),
						   q->name };
	SketchState *sketch = SketchCopy(CurrentMemoryContext, &top->sketch);
	ParamListInfo values = value_of(objects->sketch, EOHPGetRODatum(&sketch->keyed.header));
	char *condition =
		psprintf("$1 OPERATOR(pg_catalog.>=) " INT64_FORMAT "::pg_catalog.int8", least);

	if (TopSampleFraction(q, sample, condition, &call, values) > FRACTION_WORTH_ASKING)
		return count_all(q);
	elog(DEBUG1, "qtop_exact counts keys with estimates of " INT64_FORMAT " at least", least);
	return count_rows(q, condition, &call, values);
}

/* Run the second pass.  If other keys may belong to the answer, run the third pass. */
static Answer
count_keys(const TopQuestion *q, const ExtensionObjects *objects, const TopSample *sample,
		   TopState *top)
{
	ExtensionCall call = { objects->has, list_make2(parameter(objects->list), NULL), q->name };
	Answer answer;
	int64 least;

	elog(DEBUG1, "qtop_exact counts candidates");
	answer =
		count_rows(q, "$1", &call, value_of(objects->list, EOHPGetRODatum(&top->keyed.header)));
	least = answer.rows >= q->n ? answer.last : 1;
	if (top->top.bound == 0 || top->top.bound < least)
		return answer;
	SPI_freetuptable(SPI_tuptable);
	return count_estimated(q, objects, sample, top, least);
}

static void
put_answer(TopOutput *output, Answer answer)
{
	uint64 i;

	for (i = 0; i < answer.rows && output->wanted > 0; i++)
	{
		HeapTuple tuple = SPI_tuptable->vals[i];
		bool null;
		Datum key = SPI_getbinval(tuple, SPI_tuptable->tupdesc, 1, &null);

		if (!null)
			put_key(output, key,
					DatumGetInt64(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 2, &null)));
	}
}

/*
 * True if keys are numbers, the bounds of all candidates are exact counts, and the n most frequent
 * keys are candidates.
 */
static bool
is_counted(const TopQuestion *q, const qs_top *top)
{
	uint64 i;

	if (!q->number || (top->bound > 0 && top->bound >= nth_lower(top, q->n)))
		return false;
	for (i = 0; i < top->count; i++)
		if (top->key[i].before != 0)
			return false;
	return true;
}

/* Order by count, the largest first, then by key. */
static int
compare_counted(const void *a, const void *b)
{
	const qs_top_key *x = a;
	const qs_top_key *y = b;
	int64 p = (int64) x->fingerprint;
	int64 q = (int64) y->fingerprint;

	CHECK_FOR_INTERRUPTS();
	if (x->lower != y->lower)
		return x->lower > y->lower ? -1 : 1;
	return (p > q) - (p < q);
}

static void
put_counted(TopOutput *output, const TopQuestion *q, const qs_top *top)
{
	qs_top_key *key = palloc_extended(Max(1, top->count) * sizeof(*key), MCXT_ALLOC_HUGE);
	KeyParser parser;
	uint64 i;

	elog(DEBUG1, "qtop_exact has the counts of candidates");
	if (top->count > 0)
		memcpy(key, top->key, top->count * sizeof(*key));
	qsort(key, top->count, sizeof(*key), compare_counted);
	KeyParserInit(&parser, q->type, q->collation, CurrentMemoryContext);
	for (i = 0; i < top->count && output->wanted > 0; i++)
		put_key(output, KeyParseNumber(&parser, (int64) key[i].fingerprint), key[i].lower);
}

/*
 * Answer from the cached column.  False: the column is not cached, or its counts cannot give the
 * answer.
 */
static bool
answer_from_cached(TopOutput *output, const TopQuestion *q)
{
	KeyParser parser;
	int count;
	GpuExactKey *best = TopExactFromCached ? TopExactFromCached(q, &count) : NULL;
	int i;

	if (best == NULL)
		return false;
	KeyParserInit(&parser, q->type, q->collation, CurrentMemoryContext);
	for (i = 0; i < count; i++)
		put_key(output, KeyParseNumber(&parser, best[i].key), best[i].times);
	return true;
}

/*
 * Run the second pass and, if necessary, the third pass.  Each pass is planned separately, so a
 * table may be attached as a partition between two passes.  If the snapshot is too old for the new
 * partition, a single query counts all keys.
 */
static Answer
count_by_passes(const TopQuestion *q, const ExtensionObjects *objects, const TopSample *sample,
				TopState *top)
{
	Answer answer = count_keys(q, objects, sample, top);

	if (TopPushSnapshot(q))
	{
		SPI_freetuptable(SPI_tuptable);
		answer = count_all(q);
		PopActiveSnapshot();
	}
	return answer;
}

static void
answer_with_list(TopOutput *output, const TopQuestion *q, Oid schema, const TopSample *sample)
{
	bool negative;
	TopState *top;
	ExtensionObjects objects;

	find_objects(q, schema, &objects);
	top = find_candidates(q, &objects, TopSampleTable(sample), &negative);
	if (negative)
		put_answer(output, count_all(q));
	else if (top && is_counted(q, &top->top))
		put_counted(output, q, &top->top);
	else if (top)
		put_answer(output, count_by_passes(q, &objects, sample, top));
}

static Datum
answer(FunctionCallInfo fcinfo, bool weighted)
{
	TopQuestion question;
	TopSample sample;
	TopOutput output;
	bool pushed;

	ReturnRows(fcinfo);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	describe(fcinfo, weighted, &question, &output);
	pushed = TopPushSnapshot(&question);
	if (!answer_from_cached(&output, &question))
	{
		TopTakeSample(&question, &sample);
		if (TopSampleWantsList(&question, &sample))
			answer_with_list(&output, &question, get_func_namespace(fcinfo->flinfo->fn_oid),
							 &sample);
		else
			put_answer(&output, count_all(&question));
	}
	if (pushed)
		PopActiveSnapshot();
	SPI_finish();
	PG_RETURN_NULL();
}

/* qtop_exact(table, column, n [, NULL::type]): keys and counts, as the type or as text. */
SQL_FUNCTION(qtop_exact, answer(fcinfo, false));

/* qtop_exact(table, column, n [, NULL::type], weight): keys and sums of weights. */
SQL_FUNCTION(qtop_exact_weight, answer(fcinfo, true));
