/*
 * sketch_top_exact.c
 *		qtop_exact: the most frequent keys of a table's column, with their exact
 *		counts, in two passes.
 *
 * GROUP BY counts all keys, though only few of them are wanted.  Instead
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
 * If b is not that small, keys are too much alike for that sketch, and
 *
 *	3. GROUP BY counts the rows whose key has an estimate of t at least (1, if
 *	   less than n keys were counted).
 *
 * There are n keys that occur t times or more, so all that are wanted do.  Their
 * estimates are not below their counts, so all of them are counted.
 *
 * Candidates are known by fingerprints, and keys of other types than integers
 * may share one.  Bounds and estimates count all that share it, so they bound
 * each one; and exact counts come from GROUP BY, by the type's own equality.
 * Hence the argument does not rest on the counts that the list has itself.
 *
 * All passes must see the same rows: the function is STABLE, and reads with the
 * snapshot of the query that calls it.  They run with the privileges of the
 * caller, and row security applies, since they are plain queries.  Nothing in
 * them depends on the search path.
 *
 * src/pg/sketch_top_exact.c
 */
#include "pg/recognize.h"
#include "pg/sketch_top_expanded.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

extern Datum qtop_out(PG_FUNCTION_ARGS);
extern Datum qsketch_out(PG_FUNCTION_ARGS);

/* Candidates cost little, and the more there are the smaller is the bound: for so many keys. */
#define CANDIDATES_FOR 1000

/* Bytes of the sketch for each row, and its least and largest size in MB. */
#define ROW_BYTES  4
#define LEAST_MB   1
#define LARGEST_MB 64
#define USUAL_MB   16

/* What is asked, in the words of SQL. */
typedef struct Question
{
	char *table;  /* an item of FROM, named t */
	char *column; /* of that */
	char *schema; /* of the extension */
	char *key;    /* the column as it is shown */
	bool sorted;  /* keys have an order */
	int32 n;
	int size_mb; /* of the sketch */
} Question;

/* What the second or third pass gave: rows in SPI_tuptable. */
typedef struct Answer
{
	uint64 rows;
	int64 last; /* count of the last one */
} Answer;

/* A sketch whose counters are as many as the rows, roughly. */
static int
size_for(float4 rows)
{
	double wanted = (double) rows * ROW_BYTES / (1024 * 1024);
	int mb = LEAST_MB;

	if (rows < 0)
		return USUAL_MB;
	while (mb < wanted && mb < LARGEST_MB)
		mb *= 2;
	return mb;
}

/* The name of a schema, as SQL writes it; one that is dropped meanwhile has none. */
static char *
schema_name(Oid schema)
{
	char *name = get_namespace_name(schema);

	if (name == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_SCHEMA),
						errmsg("schema with OID %u does not exist", schema)));
	return pstrdup(quote_identifier(name));
}

/* The table by its name, and what is known of its rows. */
static void
describe_table(Oid relid, Question *question)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", relid)));
	form = (Form_pg_class) GETSTRUCT(tuple);
	question->table = psprintf("%s.%s AS t", schema_name(form->relnamespace),
							   quote_identifier(NameStr(form->relname)));
	question->size_mb = size_for(form->reltuples);
	ReleaseSysCache(tuple);
}

/* The column; its type. */
static Oid
describe_column(Oid relid, Name column, Question *question)
{
	AttrNumber number = get_attnum(relid, NameStr(*column));
	Oid type;

	if (number == InvalidAttrNumber)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
						errmsg("column \"%s\" of relation \"%s\" does not exist", NameStr(*column),
							   get_rel_name(relid)),
						errhint("Name one column, in upper and lower case as the table has it.")));
	type = get_atttype(relid, number);
	question->column = psprintf("t.%s", quote_identifier(NameStr(*column)));
	question->sorted = OidIsValid(lookup_type_cache(type, TYPECACHE_LT_OPR)->lt_opr);
	return type;
}

/* How to show keys as the type that the caller has named. */
static char *
cast_to(const Question *question, const char *name, Oid from, Oid to)
{
	if (!IsBinaryCoercible(from, to))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" has type %s, not %s", name, format_type_be(from),
						format_type_be(to)),
				 errhint("Name the type of the column, as in NULL::%s, or leave it out to have "
						 "keys as text.",
						 format_type_be(from))));
	/* "character" alone would be character(1), but no length is meant */
	return psprintf(
		"%s::%s", question->column,
		format_type_extended(to, -1, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
}

static void
describe(FunctionCallInfo fcinfo, Question *question)
{
	Oid relid = PG_GETARG_OID(0);
	Oid type;

	question->n = (int32) TopCheckN(PG_GETARG_INT32(2));
	question->schema = schema_name(get_func_namespace(fcinfo->flinfo->fn_oid));
	describe_table(relid, question);
	type = describe_column(relid, PG_GETARG_NAME(1), question);
	if (PG_NARGS() == 3)
		question->key = psprintf("%s::pg_catalog.text", question->column);
	else
		question->key = cast_to(question, NameStr(*PG_GETARG_NAME(1)), type,
								get_fn_expr_argtype(fcinfo->flinfo, 3));
}

/*
 * The names in a query of ours must mean functions of ours: the schema of the
 * extension may belong to anyone, who can put better matches there.
 */
static void
check_names(SPIPlanPtr plan)
{
	ListCell *source;
	ListCell *query;

	foreach (source, SPI_plan_get_plan_sources(plan))
		foreach (query, ((CachedPlanSource *) lfirst(source))->query_list)
		{
			Query *q = lfirst_node(Query, query);

			CheckCalls((Node *) q->targetList);
			CheckCalls((Node *) q->jointree);
		}
}

/*
 * Run a query, under the snapshot of the caller, with one parameter or none.
 * The plan is generic, so that no copies of the parameter, which may be large,
 * get into it.
 */
static void
run(const char *query, Oid type, Datum value)
{
	SPIPlanPtr plan = SPI_prepare_cursor(query, OidIsValid(type) ? 1 : 0, &type,
										 CURSOR_OPT_PARALLEL_OK | CURSOR_OPT_GENERIC_PLAN);
	int result;

	if (plan == NULL)
		elog(ERROR, "could not prepare query: %s", SPI_result_code_string(SPI_result));
	check_names(plan);
	result = SPI_execute_plan(plan, &value, NULL, true, 0);
	if (result != SPI_OK_SELECT)
		elog(ERROR, "could not run query: %s", SPI_result_code_string(result));
}

/*
 * The value that a query of one row has given, and its type.  Names can be
 * overloaded: it must be a type whose output function is this one of ours.
 */
static Datum
result_of_type(PGFunction output, Oid *type, bool *null)
{
	Oid function;
	bool varlena;

	*type = SPI_gettypeid(SPI_tuptable->tupdesc, 1);
	getTypeOutputInfo(*type, &function, &varlena);
	if (CFunctionOf(function) != output)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("a function of qsketch is hidden by another one"),
						errdetail("Its result has type %s.", format_type_be(*type))));
	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, null);
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
static ExpandedTop *
find_candidates(const Question *q, Oid *type)
{
	Datum list;
	bool null;
	TopReader reader;
	ExpandedTop *top;

	run(psprintf("SELECT %s.qtop_agg(%s, %d, %s.qsketch_new(size => '%dMB')) FROM %s", q->schema,
				 q->column, Max(q->n, CANDIDATES_FOR), q->schema, q->size_mb, q->table),
		InvalidOid, (Datum) 0);
	list = result_of_type(qtop_out, type, &null);
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

/* Count the rows that a condition on a parameter lets through, key by key. */
static Answer
count_rows(const Question *q, const char *condition, Oid type, Datum value)
{
	Answer answer = { 0 };
	bool null;

	run(psprintf("SELECT %s, pg_catalog.count(*) FROM %s WHERE %s GROUP BY %s ORDER BY 2 DESC%s%s "
				 "LIMIT %d",
				 q->key, q->table, condition, q->column, q->sorted ? ", " : "",
				 q->sorted ? q->column : "", q->n),
		type, value);
	answer.rows = SPI_processed;
	if (answer.rows > 0)
		answer.last = DatumGetInt64(
			SPI_getbinval(SPI_tuptable->vals[answer.rows - 1], SPI_tuptable->tupdesc, 2, &null));
	return answer;
}

/* Second and, if the candidates do not suffice, third pass. */
static Answer
count_keys(const Question *q, ExpandedTop *top, Oid type)
{
	Answer answer = count_rows(q, psprintf("%s.qtop_has($1, %s)", q->schema, q->column), type,
							   EOHPGetRODatum(&top->keyed.header));
	int64 least = answer.rows == q->n ? answer.last : 1;
	Datum sketch;
	bool null;

	if (top->top.bound == 0 || top->top.bound < least)
		return answer;
	SPI_freetuptable(SPI_tuptable);
	run(psprintf("SELECT %s.qtop_sketch($1)", q->schema), type, EOHPGetRODatum(&top->keyed.header));
	sketch = result_of_type(qsketch_out, &type, &null);
	return count_rows(q,
					  psprintf("%s.qsketch_estimate($1, %s) OPERATOR(pg_catalog.>=) " INT64_FORMAT,
							   q->schema, q->column, least),
					  type, sketch);
}

/*
 * qtop_exact(table, column, n [, NULL::type]): keys and counts, as the type or
 * as text.
 */
PG_FUNCTION_INFO_V1(qtop_exact);
Datum
qtop_exact(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Question question;
	ExpandedTop *top;
	Oid type;
	uint64 i;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	describe(fcinfo, &question);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	top = find_candidates(&question, &type);
	if (top)
	{
		Answer answer = count_keys(&question, top, type);

		for (i = 0; i < answer.rows; i++)
		{
			Datum values[2];
			bool nulls[2];

			heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, values, nulls);
			tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
		}
	}
	SPI_finish();
	PG_RETURN_NULL();
}
