/*
 * top_modify.c
 *		Adding keys to lists of top keys, merging two, and folding one.
 *
 * Adding a key is cheap, but a value that may not be changed in place is copied first: the
 * tables of the sketch, and the candidates.  From PostgreSQL 18 on, PL/pgSQL lets
 * t := qtop_add(t, k) change the variable (qsketch_modify_support).  If that raises an
 * error, the variable must be unchanged, so all that can fail is checked before.
 *
 * src/pg/top_modify.c
 */
#include "pgbase/keyread.h"
#include "pg/top_state.h"

#define KEY_ARGUMENT    1
#define WEIGHT_ARGUMENT 2

/* The text of a key, from its type's output function; NULL: a number has none. */
static const char *
text_of(const NewKey *key, uint32 *length)
{
	KeyWriter writer;
	const char *text;
	int level;

	*length = 0;
	if (KeyIsNumber(&key->type))
		return NULL;
	KeyWriterInit(&writer, key->type.type, CurrentMemoryContext);
	level = KeyTextBegin();
	text = KeyWrite(&writer, key->value, length);
	KeyTextEnd(level);
	return text;
}

static int64
weight_argument(FunctionCallInfo fcinfo)
{
	int64 weight = PG_NARGS() > WEIGHT_ARGUMENT ? PG_GETARG_INT64(WEIGHT_ARGUMENT) : 1;

	if (weight < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("weight must not be negative, but is " INT64_FORMAT, weight),
				 errhint("Nothing can be removed from a list. Negative weights among the rows of "
						 "qtop_agg take positive ones back.")));
	return weight;
}

/*
 * qtop_add(qtop, key [, weight]).  A NULL key or weight changes nothing; a NULL
 * list gives NULL.
 */
PG_FUNCTION_INFO_V1(qtop_add);
Datum
qtop_add(PG_FUNCTION_ARGS)
{
	TopState *top;
	NewKey key;
	const char *text;
	uint32 length;
	int64 weight;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(KEY_ARGUMENT) ||
		(PG_NARGS() > WEIGHT_ARGUMENT && PG_ARGISNULL(WEIGHT_ARGUMENT)))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	weight = weight_argument(fcinfo);
	top = TopForUpdate(NULL, PG_GETARG_DATUM(0));
	KeyNewArgument(&key, fcinfo, KEY_ARGUMENT, &top->sketch.keys, &top_key_holder);
	text = text_of(&key, &length);
	if (weight > PG_INT64_MAX - top->sketch.total)
		SketchCheck(QB_TOTAL_OVERFLOW);
	TopSetKey(top, &key.type);
	TopCountNow(top, key.fingerprint, text, length, weight);
	top->keyed.key.type = InvalidOid;
	PG_RETURN_DATUM(StateDatum(&top->keyed));
}

/* qtop_merge(qtop, qtop) */
PG_FUNCTION_INFO_V1(qtop_merge);
Datum
qtop_merge(PG_FUNCTION_ARGS)
{
	TopReader reader;
	TopState *top;

	TopRead(&reader, PG_GETARG_DATUM(1));
	top = TopForUpdate(NULL, PG_GETARG_DATUM(0));
	TopCheckMergeable(top, &reader);
	TopMerge(top, reader.top, reader.sketch);
	TopReadEnd(&reader);
	PG_RETURN_DATUM(StateDatum(&top->keyed));
}

/* qtop_fold(qtop, n, size): the list for fewer keys, its sketch in less memory unless size is NULL. */
PG_FUNCTION_INFO_V1(qtop_fold);
Datum
qtop_fold(PG_FUNCTION_ARGS)
{
	TopState *top;
	uint32 n;
	uint64 buckets;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	n = TopCheckN(PG_GETARG_INT32(1));
	top = TopForUpdate(NULL, PG_GETARG_DATUM(0));
	if (n > top->top.n)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("cannot fold list of %u top keys to %u", top->top.n, n),
						errhint("The number of keys can only become smaller.")));
	buckets = PG_ARGISNULL(2) ? top->sketch.params.n
							  : SketchFoldedN(&top->sketch.params, PG_GETARG_TEXT_PP(2));
	TopMaterialize(top);
	SketchCheck(qs_top_fold(&top->top, &top->sketch, n, buckets));
	PG_RETURN_DATUM(StateDatum(&top->keyed));
}
