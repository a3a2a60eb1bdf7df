/*
 * top_list.c
 *		Reads lists of top keys: qtop_list, qtop_text, qtop_growth, and lookups of a key.
 *
 * The functions return a key's upper bound as its count.  The upper bound is never above the
 * sketch's estimate (sketch/top.h).
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

/* A candidate, as a row of the result. */
typedef struct Row
{
	qs_top_key key;
	int64 upper; /* upper bound of the key's count */
} Row;

/*
 * Order by upper bound, then by lower bound, the largest first.  A user who chooses the counts can
 * make the sort quadratic, so the sort checks for interrupts.
 */
static int
compare_rows(const void *a, const void *b)
{
	const Row *x = a;
	const Row *y = b;

	CHECK_FOR_INTERRUPTS();
	if (x->upper != y->upper)
		return x->upper > y->upper ? -1 : 1;
	if (x->key.lower != y->key.lower)
		return x->key.lower > y->key.lower ? -1 : 1;
	return (x->key.fingerprint > y->key.fingerprint) - (x->key.fingerprint < y->key.fingerprint);
}

/*
 * Return the number of rows for a call with this n.  Raise an error if the list was made for fewer
 * keys than n.
 */
static uint64
wanted(const qs_top *top, uint32 n)
{
	if (n > top->n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("list was made for the %u most frequent keys, not for %u", top->n, n),
				 errhint("Use qtop_agg(key, %u), which keeps more candidates.", n)));
	return Min(n, top->count);
}

/* Return all candidates, the most frequent first. */
static Row *
sorted_rows(const qs_top *top)
{
	Row *row = palloc_extended(Max(1, top->count) * sizeof(Row), MCXT_ALLOC_HUGE);
	qs_top_position cursor = { 0 };
	uint64 i;

	for (i = 0; qs_top_next(top, &cursor, &row[i].key); i++)
		row[i].upper = row[i].key.lower + row[i].key.before;
	qsort(row, top->count, sizeof(Row), compare_rows);
	return row;
}

/* Return a hint that names the type of the keys, if the type is known. */
static char *
hint_type(uint32 family)
{
	Oid type = KeyFamilyType(family);

	return OidIsValid(type)
			   ? psprintf("Name the type of the keys, as in NULL::%s, or use qtop_text.",
						  format_type_be(type))
			   : pstrdup("Name the type of the keys, or use qtop_text.");
}

/*
 * Initialize a parser for keys of the type that the caller names.  Raise an error if the keys
 * cannot have that type.
 */
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

/* How the keys of a list are returned: as the type that an argument names, or as text. */
typedef struct KeyOutput
{
	const qs_top *top;
	const qb_keys *keys;
	bool as_text;
	KeyParser parser;
	KeyType type; /* for numbers returned as text: the largest type of the key family */
	KeyWriter writer;
} KeyOutput;

#define AS_TEXT (-1)

/*
 * Prepare to return keys.  "type_argument" is the position of the argument that names their type,
 * or AS_TEXT.
 */
static void
begin_keys(KeyOutput *output, FunctionCallInfo fcinfo, int type_argument, const TopReader *reader)
{
	Oid type = KeyFamilyType(reader->sketch->keys.family);

	output->top = reader->top;
	output->keys = &reader->sketch->keys;
	output->as_text = type_argument == AS_TEXT;
	if (!output->as_text)
		parser_of(fcinfo, type_argument, reader, &output->parser);
	else if (!reader->top->texts && reader->top->count > 0)
	{
		KeyFamilyCheckMaking(reader->sketch->keys.family, &top_key_holder);
		KeyTypeInit(&output->type, type, InvalidOid);
		KeyWriterInit(&output->writer, type, CurrentMemoryContext);
	}
}

static char *
kept_text(const KeyOutput *output, const qs_top_key *key)
{
	return KeyKeptText((const char *) key->text, key->length, output->keys, &top_key_holder);
}

static char *
text_of(KeyOutput *output, const qs_top_key *key)
{
	uint32 length;
	const char *text;

	if (output->top->texts)
		return kept_text(output, key);
	text = KeyWrite(&output->writer, KeyOfNumber(&output->type, (int64) key->fingerprint), &length);
	return pnstrdup(text, length);
}

/*
 * Return the key as a Datum of the type in "output".  The caller must have called KeyTextBegin().
 */
static Datum
key_of(KeyOutput *output, const qs_top_key *key)
{
	CHECK_FOR_INTERRUPTS();
	if (output->as_text)
		return CStringGetTextDatum(text_of(output, key));
	return output->top->texts ? KeyParse(&output->parser, kept_text(output, key), key->fingerprint)
							  : KeyParseNumber(&output->parser, (int64) key->fingerprint);
}

/*
 * Return the position of the argument that names the type of the keys, which is the last argument.
 * In a call without n this argument must be NULL.  Any other value raises an error, because the
 * user probably meant n.
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

/*
 * Return the n most frequent keys of a list as rows.  "all": n is the number of keys that the list
 * was made for.
 */
static void
put_list(FunctionCallInfo fcinfo, int type_argument, bool all)
{
	TopReader reader;
	KeyOutput output;
	uint64 count;
	Row *row;
	uint64 i;
	int level;

	TopRead(&reader, PG_GETARG_DATUM(0));
	count = wanted(reader.top, all ? reader.top->n : TopCheckN(PG_GETARG_INT32(N_ARGUMENT)));
	begin_keys(&output, fcinfo, type_argument, &reader);
	row = sorted_rows(reader.top);
	level = KeyTextBegin();
	for (i = 0; i < count; i++)
	{
		Datum values[] = { key_of(&output, &row[i].key), Int64GetDatum(row[i].upper),
						   Int64GetDatum(row[i].key.lower) };

		PutRow(fcinfo, values, NULL);
	}
	KeyTextEnd(level);
	TopReadEnd(&reader);
}

/* qtop_list(qtop [, n], NULL::type): the n most frequent keys. */
PG_FUNCTION_INFO_V1(qtop_list);
Datum
qtop_list(PG_FUNCTION_ARGS)
{
	int type = type_argument(fcinfo);
	bool all = type == N_ARGUMENT;

	ReturnRows(fcinfo);
	if (!PG_ARGISNULL(0) && (all || !PG_ARGISNULL(N_ARGUMENT)))
		put_list(fcinfo, type, all);
	PG_RETURN_NULL();
}

/* qtop_text(qtop [, n]): the n most frequent keys, as text. */
PG_FUNCTION_INFO_V1(qtop_text);
Datum
qtop_text(PG_FUNCTION_ARGS)
{
	ReturnRows(fcinfo);
	put_list(fcinfo, AS_TEXT, PG_NARGS() == N_ARGUMENT);
	PG_RETURN_NULL();
}

/*
 * ---- growth of keys from one list to another ----
 *
 * A key's growth is its count in the later list minus its count in the earlier list.  qtop_growth
 * returns the difference of the two upper bounds as the growth.  The true growth is at least the
 * later lower bound minus the earlier upper bound.  It is at most the later upper bound minus the
 * earlier lower bound.
 *
 * Only candidates of the later list are compared.  Any other key occurs in the later list at most
 * as often as the list's bound.  So the key has grown by at most this bound.
 */

#define GROWTH_N    2
#define GROWTH_TYPE 3

/* A candidate of the later list, with its bounds in both lists. */
typedef struct Growth
{
	qs_top_key key;
	qs_top_limits later;
	qs_top_limits earlier;
} Growth;

static int64
growth_of(const Growth *g)
{
	return g->later.upper - g->earlier.upper;
}

/* Order by growth, then by the lower bound of the growth, the largest first. */
static int
compare_growth(const void *a, const void *b)
{
	const Growth *x = a;
	const Growth *y = b;
	int64 p = x->later.lower - x->earlier.upper;
	int64 q = y->later.lower - y->earlier.upper;

	CHECK_FOR_INTERRUPTS();
	if (growth_of(x) != growth_of(y))
		return growth_of(x) > growth_of(y) ? -1 : 1;
	if (p != q)
		return p > q ? -1 : 1;
	return (x->key.fingerprint > y->key.fingerprint) - (x->key.fingerprint < y->key.fingerprint);
}

/* Return the candidates of the later list that may have grown, in the order of the answer. */
static Growth *
grown(const qs_top *later, const TopReader *earlier, uint64 *count)
{
	Growth *row = palloc_extended(Max(1, later->count) * sizeof(Growth), MCXT_ALLOC_HUGE);
	qs_top_position cursor = { 0 };
	qs_top_key key;

	*count = 0;
	while (qs_top_next(later, &cursor, &key))
	{
		qs_top_limits now = { key.lower, key.lower + key.before };
		qs_top_limits then = qs_top_limits_of(earlier->top, earlier->sketch, key.fingerprint);

		CHECK_FOR_INTERRUPTS();
		if (now.upper > then.lower)
			row[(*count)++] = (Growth){ key, now, then };
	}
	qsort(row, *count, sizeof(Growth), compare_growth);
	return row;
}

static void
put_growth(FunctionCallInfo fcinfo, Datum key, const Growth *g)
{
	Datum values[] = { key,
					   Int64GetDatum(g->later.upper),
					   Int64GetDatum(g->earlier.upper),
					   Int64GetDatum(growth_of(g)),
					   Int64GetDatum(g->later.lower - g->earlier.upper),
					   Int64GetDatum(g->later.upper - g->earlier.lower) };

	PutRow(fcinfo, values, NULL);
}

/* qtop_growth(later, earlier, n [, NULL::type]): the n keys whose counts have grown most. */
PG_FUNCTION_INFO_V1(qtop_growth);
Datum
qtop_growth(PG_FUNCTION_ARGS)
{
	TopReader later, earlier;
	KeyOutput output;
	uint64 n, count, i;
	Growth *row;
	int level;

	ReturnRows(fcinfo);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(GROWTH_N))
		PG_RETURN_NULL();
	TopRead(&later, PG_GETARG_DATUM(0));
	TopRead(&earlier, PG_GETARG_DATUM(1));
	KeyFamilyCheckSame(&later.sketch->keys, &earlier.sketch->keys, &top_key_holder);
	TopCheckSameTexts(later.top, earlier.top);
	n = wanted(later.top, TopCheckN(PG_GETARG_INT32(GROWTH_N)));
	begin_keys(&output, fcinfo, PG_NARGS() > GROWTH_TYPE ? GROWTH_TYPE : AS_TEXT, &later);
	row = grown(later.top, &earlier, &count);
	level = KeyTextBegin();
	for (i = 0; i < Min(n, count); i++)
		put_growth(fcinfo, key_of(&output, &row[i].key), &row[i]);
	KeyTextEnd(level);
	TopReadEnd(&earlier);
	TopReadEnd(&later);
	PG_RETURN_NULL();
}

/*
 * ---- lookups of a key in a list ----
 *
 * Queries usually call these functions with the same list for each row of a table.  An expanded
 * list is searched in place.  The candidates of a flat list are copied into a hash table at the
 * first row.  Later rows recognize the copied list by its toast pointer or by all of its bytes.  A
 * checksum would not be enough, because a user can forge it.  If a function also reads the sketch,
 * the whole value is kept.
 */

#define KEY_ARGUMENT 1

/* The state of a calling expression, in its fn_extra. */
typedef struct TopProbe
{
	KeyProbe rows; /* the type of the rows' keys */

	KnownValue known;      /* recognizes the copied list */
	bool asks;             /* the function also reads the sketch */
	MemoryContext context; /* holds the copy */
	qb_memory memory;
	qb_keys keys;
	qs_top top;
	qs_sketch sketch; /* a view of the kept value, if "asks" is set */
} TopProbe;

/* The list and the key of a call. */
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

/*
 * Return the detoasted value.  If the function also reads the sketch, the result is a copy in
 * probe->context.
 */
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

/* Copy the candidates of a flat value, and record the value for later rows. */
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

/* Read the list and the key of a call.  "asks": the function also reads the sketch. */
static TopCall
read_call(FunctionCallInfo fcinfo, bool asks)
{
	Datum datum = PG_GETARG_DATUM(0);
	TopProbe *probe = fcinfo->flinfo->fn_extra;
	TopState *expanded = TopStateIn(datum);
	TopCall call;

	if (unlikely(probe == NULL))
		probe = create_probe(fcinfo, asks);
	if (expanded &&
		(expanded->column || expanded->keyed.buffer.count > 0 || expanded->keyed.removed))
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

/* qtop_has(qtop, key): true if the key is a candidate. */
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

/* qtop_bounds(qtop, key): guaranteed bounds of the key's count or weight. */
PG_FUNCTION_INFO_V1(qtop_bounds);
Datum
qtop_bounds(PG_FUNCTION_ARGS)
{
	TopCall call = read_call(fcinfo, true);
	qs_top_limits limits = qs_top_limits_of(call.top, call.sketch, call.fingerprint);
	Datum values[] = { Int64GetDatum(limits.lower), Int64GetDatum(limits.upper) };

	return ReturnRow(fcinfo, values, NULL);
}
