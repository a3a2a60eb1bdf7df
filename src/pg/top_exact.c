/*
 * top_exact.c
 *		qtop_exact: the most frequent keys of a table's column, with their exact
 *		counts.
 *
 * GROUP BY counts all keys, though only few of them are wanted.  It is fast where
 * they are few, and nothing is faster where they are all alike: a sample of the
 * table tells (top_sample.c), and then GROUP BY is what is run.  Else
 *
 *	1. qtop_agg finds candidates C, and a bound b,
 *	2. GROUP BY counts those rows exactly whose key is one of them.
 *
 * A key that is not in C occurred b times at most (sketch/top.h).  Most candidates
 * are too rare to be counted: those whose upper bound is below the n-th largest
 * lower bound leave C, and b becomes the largest of their upper bounds if it was
 * smaller.  Let t be the n-th largest count of those that stay.  If b < t, then
 * none of the others is among the n most frequent ones, nor as frequent as the
 * last of these: the answer is that of GROUP BY, ties included.  The same holds if
 * b = 0, when there are no others.
 *
 * Where keys are integers, fingerprints are the keys themselves.  Frequent ones
 * come when the sketch is still empty, so that their lower and upper bounds are
 * mostly the same.  If they are so for all that stay, they are the counts: the
 * second pass could not tell anything else.
 *
 * If b is not that small, keys are too much alike for that sketch, and
 *
 *	3. GROUP BY counts the rows whose key has an estimate of t at least (1, if
 *	   less than n keys were counted).
 *
 * There are n keys that occur t times or more, so all that are wanted do.  Their
 * estimates are not below their counts, so all of them are counted.  If the sample
 * shows that most rows would be, GROUP BY counts all of them without asking.
 *
 * Candidates are known by fingerprints, and keys of other types than integers
 * may share one.  Bounds and estimates count all that share it, so they bound
 * each one; and exact counts come from GROUP BY, by the type's own equality.
 *
 * All passes must see the same rows: the function is STABLE, and reads with the
 * snapshot of the query that calls it.  They run with the privileges of the
 * caller, and row security applies, since they are plain queries.  Nothing in
 * them depends on the search path, nor on what else the schema of the extension
 * has (calls.c).
 *
 * src/pg/top_exact.c
 */
#include "pg/top_exact.h"

#include "pg/top_aggregate.h"
#include "pg/top_state.h"

#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

extern Datum qtop_has(PG_FUNCTION_ARGS);
extern Datum qsketch_estimate(PG_FUNCTION_ARGS);

/* Candidates cost little, and the more there are the smaller is the bound: for so many keys. */
#define CANDIDATES_FOR 1000

/* Bytes of the sketch for each row, and its least and largest size in MB. */
#define ROW_BYTES  4
#define LEAST_MB   1
#define LARGEST_MB 64

/* The third pass asks the sketch if it then counts at most this share of the rows. */
#define SHARE_WORTH_ASKING 0.5

/* What of the extension the queries use. */
typedef struct Own
{
	Oid sketch; /* types */
	Oid list;
	Oid agg; /* functions of a key of any type */
	Oid has;
	Oid estimate;
} Own;

/* Where keys and counts go. */
typedef struct Output
{
	ReturnSetInfo *result;
	bool as_text;
	bool padded; /* with blanks, which text has not */
	KeyWriter writer;
	int64 wanted; /* so many more */
} Output;

/* What the second or third pass gave: rows in SPI_tuptable. */
typedef struct Answer
{
	uint64 rows;
	int64 last; /* count of the last one */
} Answer;

/* A sketch whose counters are as many as the rows, roughly. */
static int
size_for(double rows)
{
	int mb = LEAST_MB;

	while (mb < rows * ROW_BYTES / (1024 * 1024) && mb < LARGEST_MB)
		mb *= 2;
	return mb;
}

static void
describe(FunctionCallInfo fcinfo, TopQuestion *question, Output *output)
{
	question->n = (int32) TopCheckN(PG_GETARG_INT32(2));
	question->listed = Max(question->n, CANDIDATES_FOR);
	TopDescribe(question, PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)));
	output->result = (ReturnSetInfo *) fcinfo->resultinfo;
	output->wanted = question->n;
	output->as_text = PG_NARGS() == 3;
	if (!output->as_text)
		TopCheckType(question, get_fn_expr_argtype(fcinfo->flinfo, 3));
	output->padded = getBaseType(question->type) == BPCHAROID;
	KeyWriterInit(&output->writer, output->padded ? TEXTOID : question->type, CurrentMemoryContext);
}

/* One of our C functions, of a value and a key. */
static Oid
function_of_key(Oid schema, const char *name, Oid value, PGFunction function)
{
	Oid types[] = { value, ANYCOMPATIBLEOID };
	Oid found = OwnFunction(schema, name, lengthof(types), types);

	if (!OidIsValid(found) || CFunctionOf(found) != function)
		OwnIsMissing(name);
	return found;
}

static void
find_own(Oid schema, Own *own)
{
	Oid types[] = { ANYCOMPATIBLEOID, INT4OID, InvalidOid };

	own->sketch = OwnType(schema, "qsketch");
	own->list = OwnType(schema, "qtop");
	types[2] = own->sketch;
	own->agg = OwnFunction(schema, "qtop_agg", lengthof(types), types);
	if (!OidIsValid(own->agg) || !AggregateIsOurs(own->agg, &top_functions))
		OwnIsMissing("qtop_agg");
	own->has = function_of_key(schema, "qtop_has", own->list, qtop_has);
	own->estimate = function_of_key(schema, "qsketch_estimate_key", own->sketch, qsketch_estimate);
}

/* A parameter of the queries, whose value may be large, ... */
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

/* ... and the value. */
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

/* An empty sketch that has about as many counters as the table has rows. */
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

	return (x < y) - (x > y);
}

/* The n-th largest lower bound; 0 if there are not so many. */
static int64
nth_lower(const qs_top *top, int32 n)
{
	int64 *lower;
	uint64 i;

	if (top->count < n)
		return 0;
	lower = palloc(top->count * sizeof(int64));
	for (i = 0; i < top->count; i++)
		lower[i] = qs_top_get(top, i).lower;
	qsort(lower, top->count, sizeof(int64), compare_descending);
	return lower[n - 1];
}

/* First pass: candidates; NULL if there are no keys. */
static TopState *
find_candidates(const TopQuestion *q, const Own *own, double rows)
{
	Node *n = (Node *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(q->listed),
								 false, true);
	OwnCall call = { own->agg, list_make3(NULL, n, template_for(rows, own->sketch)), q->name };
	Datum list;
	bool null;
	TopReader reader;
	TopState *top;

	RunQuery(psprintf("SELECT $1 FROM %s", q->table), &call, NULL);
	list = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null);
	if (null)
		return NULL;
	TopRead(&reader, list);
	top = TopCopy(CurrentMemoryContext, &reader);
	TopReadEnd(&reader);
	SPI_freetuptable(SPI_tuptable);
	if (top->sketch.form == QS_DENSE)
		qs_top_drop_below(&top->top, nth_lower(&top->top, q->n));
	return top;
}

/*
 * Count the rows that a condition lets through, or all, key by key.  One of the
 * rows of the answer may be that of NULLs.
 */
static Answer
count_rows(const TopQuestion *q, const char *condition, OwnCall *call, ParamListInfo values)
{
	Answer answer = { 0 };
	bool null;

	RunQuery(psprintf("SELECT %s, pg_catalog.count(*) FROM %s%s%s GROUP BY %s ORDER BY 2 DESC%s%s "
					  "LIMIT %d",
					  q->column, q->table, condition ? " WHERE " : "", condition ? condition : "",
					  q->column, q->sorted ? ", " : "", q->sorted ? q->column : "", q->n + 1),
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

/* Third pass: keys that may occur so often. */
static Answer
count_estimated(const TopQuestion *q, const Own *own, const TopSample *sample, TopState *top,
				int64 least)
{
	OwnCall call = { own->estimate, list_make2(parameter(own->sketch), NULL), q->name };
	ParamListInfo values = value_of(own->sketch, PointerGetDatum(SketchFlatten(&top->sketch)));
	char *condition =
		psprintf("$1 OPERATOR(pg_catalog.>=) " INT64_FORMAT "::pg_catalog.int8", least);

	if (TopSampleShare(q, sample, condition, &call, values) > SHARE_WORTH_ASKING)
		return count_all(q);
	elog(DEBUG1, "qtop_exact counts keys with estimates of " INT64_FORMAT " at least", least);
	return count_rows(q, condition, &call, values);
}

/* Second and, if the candidates do not suffice, third pass. */
static Answer
count_keys(const TopQuestion *q, const Own *own, const TopSample *sample, TopState *top)
{
	OwnCall call = { own->has, list_make2(parameter(own->list), NULL), q->name };
	Answer answer;
	int64 least;

	elog(DEBUG1, "qtop_exact counts candidates");
	answer = count_rows(q, "$1", &call, value_of(own->list, EOHPGetRODatum(&top->keyed.header)));
	least = answer.rows >= q->n ? answer.last : 1;
	if (top->top.bound == 0 || top->top.bound < least)
		return answer;
	SPI_freetuptable(SPI_tuptable);
	return count_estimated(q, own, sample, top, least);
}

/* The key as qtop_text shows it. */
static text *
text_of(Output *output, Datum key)
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

static void
put(Output *output, Datum key, int64 count)
{
	Datum values[] = { key, Int64GetDatum(count) };
	bool nulls[lengthof(values)] = { 0 };

	if (output->as_text)
		values[0] = PointerGetDatum(text_of(output, key));
	tuplestore_putvalues(output->result->setResult, output->result->setDesc, values, nulls);
	output->wanted--;
}

static void
put_answer(Output *output, Answer answer)
{
	uint64 i;

	for (i = 0; i < answer.rows && output->wanted > 0; i++)
	{
		HeapTuple tuple = SPI_tuptable->vals[i];
		bool null;
		Datum key = SPI_getbinval(tuple, SPI_tuptable->tupdesc, 1, &null);

		if (!null)
			put(output, key, DatumGetInt64(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 2, &null)));
	}
}

/* Are the bounds of the candidates the counts, and those of the n most frequent keys? */
static bool
is_counted(const TopQuestion *q, const qs_top *top)
{
	uint64 i;

	if (!q->integer || (top->bound > 0 && top->bound >= nth_lower(top, q->n)))
		return false;
	for (i = 0; i < top->count; i++)
		if (qs_top_get(top, i).before != 0)
			return false;
	return true;
}

/* As ORDER BY count DESC, key. */
static int
compare_counted(const void *a, const void *b)
{
	const qs_top_key *x = a;
	const qs_top_key *y = b;
	int64 p = (int64) x->fingerprint;
	int64 q = (int64) y->fingerprint;

	if (x->lower != y->lower)
		return x->lower > y->lower ? -1 : 1;
	return (p > q) - (p < q);
}

static void
put_counted(Output *output, const TopQuestion *q, const qs_top *top)
{
	qs_top_key *key = palloc_extended(Max(1, top->count) * sizeof(*key), MCXT_ALLOC_HUGE);
	KeyParser parser;
	uint64 i;

	elog(DEBUG1, "qtop_exact has the counts of candidates");
	for (i = 0; i < top->count; i++)
		key[i] = qs_top_get(top, i);
	qsort(key, top->count, sizeof(*key), compare_counted);
	KeyParserInit(&parser, q->type, q->collation, CurrentMemoryContext);
	for (i = 0; i < top->count && output->wanted > 0; i++)
		put(output, KeyParseInteger(&parser, (int64) key[i].fingerprint), key[i].lower);
}

static void
answer_with_list(Output *output, const TopQuestion *q, Oid schema, const TopSample *sample)
{
	TopState *top;
	Own own;

	find_own(schema, &own);
	top = find_candidates(q, &own, TopSampleTable(sample));
	if (top && is_counted(q, &top->top))
		put_counted(output, q, &top->top);
	else if (top)
		put_answer(output, count_keys(q, &own, sample, top));
}

/*
 * qtop_exact(table, column, n [, NULL::type]): keys and counts, as the type or
 * as text.
 */
PG_FUNCTION_INFO_V1(qtop_exact);
Datum
qtop_exact(PG_FUNCTION_ARGS)
{
	TopQuestion question;
	TopSample sample;
	Output output;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	describe(fcinfo, &question, &output);
	TopTakeSample(&question, &sample);
	if (TopSampleWantsList(&question, &sample))
		answer_with_list(&output, &question, get_func_namespace(fcinfo->flinfo->fn_oid), &sample);
	else
		put_answer(&output, count_all(&question));
	SPI_finish();
	PG_RETURN_NULL();
}
