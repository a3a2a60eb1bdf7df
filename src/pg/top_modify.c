/*
 * top_modify.c
 *		Adding keys to lists of top keys, and merging two.
 *
 * Adding a key is cheap, but a value that may not be changed in place is copied first: the
 * tables of the sketch, and the candidates.  From PostgreSQL 18 on, PL/pgSQL lets
 * t := qtop_add(t, k) change the variable (qsketch_modify_support).  If that raises an
 * error, the variable must be unchanged, so all that can fail is checked before.
 *
 * src/pg/top_modify.c
 */
#include "pgbase/keyexpr.h"
#include "pgbase/keytext.h"
#include "pg/top_state.h"

#define KEY_ARGUMENT    1
#define WEIGHT_ARGUMENT 2

/* A key to be added. */
typedef struct NewKey
{
	KeyType type;
	uint64 fingerprint;
	const char *text;
	uint32 length;
} NewKey;

/* The text of the key, from the type's output function. */
static void
write_key(NewKey *key, Datum value)
{
	KeyWriter writer;
	int level;

	key->text = NULL;
	key->length = 0;
	if (KeyIsNumber(&key->type))
		return;
	KeyWriterInit(&writer, key->type.type, CurrentMemoryContext);
	level = KeyTextBegin();
	key->text = KeyWrite(&writer, value, &key->length);
	KeyTextEnd(level);
}

/* The key in the arguments.  A literal is read as a key of the list's kind. */
static void
key_argument(FunctionCallInfo fcinfo, const qb_keys *held, NewKey *key)
{
	Datum value = PG_GETARG_DATUM(KEY_ARGUMENT);
	KeyArgument argument;

	KeyArgumentOf(&argument, fcinfo, KEY_ARGUMENT);
	KeyTypeInit(&key->type, argument.type, argument.collation);
	KeyTypeLearn(&key->type, value);
	if (argument.literal && !KeyFits(&key->type, held))
	{
		KeyReader reader = { 0 };

		key->fingerprint =
			KeyReadText(&reader, CurrentMemoryContext, held, &top_key_holder, &key->type, value);
		key->type = reader.key;
		value = reader.value;
	}
	else
	{
		KeyFamilyCheckProbe(held, &key->type, &top_key_holder);
		key->fingerprint = KeyFingerprint(&key->type, value);
	}
	write_key(key, value);
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
	int64 weight;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(KEY_ARGUMENT) ||
		(PG_NARGS() > WEIGHT_ARGUMENT && PG_ARGISNULL(WEIGHT_ARGUMENT)))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	weight = weight_argument(fcinfo);
	top = TopForUpdate(NULL, PG_GETARG_DATUM(0));
	key_argument(fcinfo, &top->sketch.keys, &key);
	if (weight > PG_INT64_MAX - top->sketch.total)
		SketchCheck(QB_TOTAL_OVERFLOW);
	TopSetKey(top, &key.type);
	TopCountNow(top, key.fingerprint, key.text, key.length, weight);
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
	SketchCheckMergeable(&top->sketch, reader.sketch);
	TopMerge(top, reader.top, reader.sketch);
	TopReadEnd(&reader);
	PG_RETURN_DATUM(StateDatum(&top->keyed));
}
