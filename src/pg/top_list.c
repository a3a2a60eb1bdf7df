/*
 * top_list.c
 *		qtop_list and qtop_text, which read a list of top keys; qtop_has, qtop_estimate and
 *		qtop_bounds, which look up a key in it.
 *
 * The count that is shown for a key is the most that it may be.  That is never above
 * the sketch's own estimate (sketch/top.h states the promises).
 *
 * src/pg/top_list.c
 */
#include "pg/sketch_state.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pg/top_state.h"
#include "pgbase/keyfamily.h"
#include "pgbase/keyread.h"
#include "pgbase/value.h"
#include "pgbase/stored.h"
#include "sketch/format.h"
#include "sketch/top.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#define N_ARGUMENT 1

/* A key as the list shows it. */
typedef struct Row
{
	qs_top_key key;
	int64 upper; /* it occurred at most so often */
} Row;

/* Order by upper bound, the largest first; among equal ones by lower bound, the largest first. */
static int
compare_rows(const void *a, const void *b)
{
	const Row *x = a;
	const Row *y = b;

	if (x->upper != y->upper)
		return x->upper > y->upper ? -1 : 1;
	if (x->key.lower != y->key.lower)
		return x->key.lower > y->key.lower ? -1 : 1;
	return (x->key.fingerprint > y->key.fingerprint) - (x->key.fingerprint < y->key.fingerprint);
}

/*
 * How many keys the call asks for.  The list was made for at least so many.  Without an
 * argument for it, all of them are wanted.
 */
static uint64
wanted(FunctionCallInfo fcinfo, const qs_top *top, bool all)
{
	uint32 n = all ? top->n : TopCheckN(PG_GETARG_INT32(N_ARGUMENT));

	if (n > top->n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("list was made for the %u most frequent keys, not for %u", top->n, n),
				 errhint("Use qtop_agg(key, %u), which keeps more candidates.", n)));
	return Min(n, top->count);
}

/* All candidates, the most frequent first. */
static Row *
sorted_rows(const qs_top *top)
{
	Row *row = palloc_extended(Max(1, top->count) * sizeof(Row), MCXT_ALLOC_HUGE);
	qs_top_place place = { 0 };
	uint64 i;

	for (i = 0; qs_top_next(top, &place, &row[i].key); i++)
		row[i].upper = row[i].key.lower + row[i].key.before;
	qsort(row, top->count, sizeof(Row), compare_rows);
	return row;
}

/* The text of a key that was kept with it. */
static char *
kept_text(const qs_top_key *key)
{
	return pnstrdup((const char *) key->text, key->length);
}

/* What writes the keys of a list as text. */
typedef struct TextWriter
{
	const qs_top *top;
	KeyType type; /* of keys without texts: the one that can hold all keys of the family */
	KeyWriter writer;
} TextWriter;

static void
text_writer(TextWriter *writer, const TopReader *reader)
{
	Oid type = KeyFamilyType(reader->sketch->keys.family);

	writer->top = reader->top;
	if (reader->top->texts || reader->top->count == 0)
		return;
	KeyTypeInit(&writer->type, type, InvalidOid);
	KeyWriterInit(&writer->writer, type, CurrentMemoryContext);
}

static char *
text_of(TextWriter *writer, const qs_top_key *key)
{
	uint32 length;
	const char *text;

	if (writer->top->texts)
		return kept_text(key);
	text = KeyWrite(&writer->writer, KeyOfNumber(&writer->type, (int64) key->fingerprint), &length);
	return pnstrdup(text, length);
}

static void
put_row(FunctionCallInfo fcinfo, Datum key, const Row *row)
{
	Datum values[] = { key, Int64GetDatum(row->upper), Int64GetDatum(row->key.lower) };

	PutRow(fcinfo, values, NULL);
}

/* What a hint calls the type of the keys, as far as it is known. */
static char *
hint_type(uint32 family)
{
	Oid type = KeyFamilyType(family);

	return OidIsValid(type)
			   ? psprintf("Name the type of the keys, as in NULL::%s, or use qtop_text.",
						  format_type_be(type))
			   : pstrdup("Name the type of the keys, or use qtop_text.");
}

/* The type of the keys that the caller names.  An error if the keys cannot have it. */
static void
parser_of(FunctionCallInfo fcinfo, int type_argument, const TopReader *reader, KeyParser *parser)
{
	const qb_keys *keys = &reader->sketch->keys;
	KeyArgument argument;

	KeyArgumentOf(&argument, fcinfo, type_argument);
	if (argument.type == RECORDOID)
		ereport(
			ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("cannot read keys as type %s", format_type_be(argument.type)),
			 errhint("Name a composite type with columns of the keys' types, or use qtop_text.")));
	KeyFamilyCheckMaking(keys->family, &top_key_holder);
	KeyParserInit(parser, argument.type, argument.collation, CurrentMemoryContext);
	if (reader->top->count > 0 && (keys->family != parser->key.keys.family ||
								   reader->top->texts == KeyIsNumber(&parser->key)))
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("cannot read %s keys as type %s", KeyFamilyTypes(keys->family),
							   format_type_be(argument.type)),
						errhint("%s", hint_type(keys->family))));
	KeyCheckFits(keys, &parser->key, &top_key_holder);
}

/*
 * The argument that names the type of the keys, the last one.  Without n it must be null:
 * a number there was meant to be n.
 */
static int
type_argument(FunctionCallInfo fcinfo)
{
	int last = PG_NARGS() - 1;

	if (last == N_ARGUMENT && !PG_ARGISNULL(last))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("type of the keys must be named by a null"),
						errhint("Write qtop_list(list, NULL::type) or qtop_list(list, n, "
								"NULL::type).")));
	return last;
}

/* qtop_list(qtop [, n], NULL::type): the n most frequent keys. */
PG_FUNCTION_INFO_V1(qtop_list);
Datum
qtop_list(PG_FUNCTION_ARGS)
{
	TopReader reader;
	KeyParser parser;
	uint64 count;
	int type = type_argument(fcinfo);
	bool all = type == N_ARGUMENT;
	Row *row;
	uint64 i;
	int level;

	ReturnRows(fcinfo);
	if (PG_ARGISNULL(0) || (!all && PG_ARGISNULL(N_ARGUMENT)))
		PG_RETURN_NULL();
	TopRead(&reader, PG_GETARG_DATUM(0));
	count = wanted(fcinfo, reader.top, all);
	parser_of(fcinfo, type, &reader, &parser);
	row = sorted_rows(reader.top);
	level = KeyTextBegin();
	for (i = 0; i < count; i++)
	{
		const qs_top_key *key = &row[i].key;

		CHECK_FOR_INTERRUPTS();
		put_row(fcinfo,
				reader.top->texts ? KeyParse(&parser, kept_text(key), key->fingerprint)
								  : KeyParseNumber(&parser, (int64) key->fingerprint),
				&row[i]);
	}
	KeyTextEnd(level);
	TopReadEnd(&reader);
	PG_RETURN_NULL();
}

/* qtop_text(qtop [, n]): the n most frequent keys, as text. */
PG_FUNCTION_INFO_V1(qtop_text);
Datum
qtop_text(PG_FUNCTION_ARGS)
{
	TopReader reader;
	uint64 count;
	Row *row;
	uint64 i;
	TextWriter writer;
	int level;

	ReturnRows(fcinfo);
	TopRead(&reader, PG_GETARG_DATUM(0));
	count = wanted(fcinfo, reader.top, PG_NARGS() == N_ARGUMENT);
	text_writer(&writer, &reader);
	row = sorted_rows(reader.top);
	level = KeyTextBegin();
	for (i = 0; i < count; i++)
	{
		char *text = text_of(&writer, &row[i].key);

		(void) pg_verifymbstr(text, (int) strlen(text), false);
		put_row(fcinfo, CStringGetTextDatum(text), &row[i]);
	}
	KeyTextEnd(level);
	TopReadEnd(&reader);
	PG_RETURN_NULL();
}

/*
 * ---- what a list knows of a key ----
 *
 * They are called for each row of a table, mostly with the same list.  An expanded list is
 * searched in place.  Of a flat list the candidates are copied into a hash table, once.
 * Another list is told by its toast pointer, or by its bytes: a checksum can be forged.
 * Where the sketch is asked, too, the whole value is kept.
 */

#define KEY_ARGUMENT 1

/* There is one for each calling expression, in fn_extra. */
typedef struct TopProbe
{
	KeyProbe rows; /* the keys of the rows */

	KnownValue known;      /* the copied list */
	bool asks;             /* the sketch is asked, too */
	MemoryContext context; /* holds the copy */
	qb_memory memory;
	qb_keys keys;
	qs_top top;
	qs_sketch sketch; /* a view of the value in "context", if it is asked */
} TopProbe;

/* The list that a call is about, and the key. */
typedef struct TopCall
{
	const qs_top *top;
	const qs_sketch *sketch;
	uint64 fingerprint;
} TopCall;

static pg_noinline TopProbe *
create_probe(FunctionCallInfo fcinfo, bool asks)
{
	FmgrInfo *flinfo = fcinfo->flinfo;
	TopProbe *probe = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(TopProbe));

	probe->rows.context = flinfo->fn_mcxt;
	probe->asks = asks;
	probe->context = AllocSetContextCreate(flinfo->fn_mcxt, "qtop probe", ALLOCSET_SMALL_SIZES);
	flinfo->fn_extra = probe;
	return probe;
}

/* The value as a whole.  It is kept in the context of the copy if the sketch is asked. */
static struct varlena *
whole_value(const TopProbe *probe, Datum datum)
{
	MemoryContext old;
	struct varlena *value;

	if (!probe->asks)
		return PG_DETOAST_DATUM(datum);
	old = MemoryContextSwitchTo(probe->context);
	value = PG_DETOAST_DATUM_COPY(datum);
	MemoryContextSwitchTo(old);
	return value;
}

/* Copy the candidates of a flat value. */
static pg_noinline void
copy_candidates(TopProbe *probe, Datum datum)
{
	struct varlena *value;
	qs_top view;

	memset(&probe->known, 0, sizeof(probe->known));
	MemoryContextReset(probe->context);
	value = whole_value(probe, datum);
	TopOpen(&view, &probe->sketch, value);
	SketchCheck(qs_top_copy(&probe->top, &view, ContextMemory(probe->context, &probe->memory)));
	probe->keys = probe->sketch.keys;
	KnownValueNote(&probe->known, datum, probe->context, MaxAllocSize);
	if (!probe->asks && (Pointer) value != DatumGetPointer(datum))
		pfree(value);
}

/* Find the list and the key of a call.  "asks": the sketch will be asked. */
static TopCall
read_call(FunctionCallInfo fcinfo, bool asks)
{
	Datum datum = PG_GETARG_DATUM(0);
	TopProbe *probe = fcinfo->flinfo->fn_extra;
	TopState *expanded = TopStateIn(datum);
	TopCall call;

	if (unlikely(probe == NULL))
		probe = create_probe(fcinfo, asks);
	if (expanded && (expanded->keyed.buffer.count > 0 || expanded->removed))
		TopMaterialize(expanded);
	if (!expanded && !KnownValueIs(&probe->known, datum))
		copy_candidates(probe, datum);
	call.top = expanded ? &expanded->top : &probe->top;
	call.sketch = expanded ? &expanded->sketch : &probe->sketch;
	call.fingerprint =
		KeyProbeArgument(&probe->rows, fcinfo, KEY_ARGUMENT,
						 expanded ? &expanded->sketch.keys : &probe->keys, &top_key_holder);
	return call;
}

/* qtop_has(qtop, key) */
PG_FUNCTION_INFO_V1(qtop_has);
Datum
qtop_has(PG_FUNCTION_ARGS)
{
	TopCall call = read_call(fcinfo, false);

	PG_RETURN_BOOL(qs_top_lookup(call.top, call.fingerprint) != NULL);
}

/* qtop_estimate(qtop, key): an upper bound of the key's count or weight. */
PG_FUNCTION_INFO_V1(qtop_estimate);
Datum
qtop_estimate(PG_FUNCTION_ARGS)
{
	TopCall call = read_call(fcinfo, true);

	PG_RETURN_INT64(qs_top_limits_of(call.top, call.sketch, call.fingerprint).upper);
}

/* qtop_bounds(qtop, key): a lower and an upper bound, both certain. */
PG_FUNCTION_INFO_V1(qtop_bounds);
Datum
qtop_bounds(PG_FUNCTION_ARGS)
{
	TopCall call = read_call(fcinfo, true);
	qs_top_limits limits = qs_top_limits_of(call.top, call.sketch, call.fingerprint);
	Datum values[] = { Int64GetDatum(limits.lower), Int64GetDatum(limits.upper) };

	return ReturnRow(fcinfo, values, NULL);
}
