/*
 * keyread.c
 *		Reads keys from the arguments of calls and from text, writes keys as text, and buffers
 *		keys.
 *
 * Functions of keys accept any type.  So PostgreSQL converts a literal, or a parameter without a
 * type, to text: qsketch_estimate(sk, '10.0.0.1') receives a text.  If the family of the value's
 * keys has one type, the input function of that type reads the text.
 *
 * Our functions are immutable, so the meaning of the text must not depend on a setting or on the
 * clock.  The input functions of dates and times depend on settings and on the clock.  So dates and
 * times are read only in the ISO form, with an offset from UTC if the type has a time zone.
 *
 * Some families have several types.  For text and for integers, one type can read the values of all
 * types.  For real and double precision, no type can: see check_unambiguous().
 *
 * src/pgbase/keyread.c
 */
#include "pgbase/keyread.h"

#include "base/slot.h"
#include "pgbase/keycheck.h"
#include "pgbase/utf8.h"
#include "pgbase/value.h"
#include "pgbase/version.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include <math.h>

/*
 * Skip one or more characters of the set.  Returns NULL if the text does not begin with such a
 * character.
 */
static const char *
skip(const char *text, const char *set)
{
	size_t length = text ? strspn(text, set) : 0;

	return length ? text + length : NULL;
}

/*
 * Skip YYYY-MM-DD.  Returns NULL if the text does not begin with this form.  The form has one
 * meaning under all settings of DateStyle.
 */
static const char *
skip_date(const char *text)
{
	size_t year = strspn(text, "0123456789");

	if (year < 4 || text[year] != '-')
		return NULL;
	text = skip(text + year + 1, "0123456789");
	return text && *text == '-' ? skip(text + 1, "0123456789") : NULL;
}

/* True if the text is an offset from UTC: Z, or a signed number. */
static bool
is_offset(const char *text)
{
	if (*text == 'Z')
		return text[1] == '\0';
	if (*text != '+' && *text != '-')
		return false;
	text = skip(text + 1, "0123456789:");
	return text && *text == '\0';
}

static bool
is_dated(Oid type)
{
	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

/* True for types of dates and times whose ISO form means the same under all settings. */
static bool
has_iso_form(Oid type)
{
	return is_dated(type) || type == TIMEOID || type == TIMETZOID;
}

/*
 * True if the text is an infinity, or has the ISO form of a date or time.  The meaning of such a
 * text depends on no setting.  The input function checks the text's validity.
 */
static bool
is_iso(const char *text, Oid type)
{
	bool dated = is_dated(type);
	bool zoned = type == TIMESTAMPTZOID || type == TIMETZOID;

	if (!has_iso_form(type))
		return false;
	if (dated && (strcmp(text, "infinity") == 0 || strcmp(text, "-infinity") == 0))
		return true;
	if (dated)
		text = skip_date(text);
	if (text == NULL || (*text == '\0' && !zoned))
		return text != NULL;
	if (dated && *text != ' ' && *text != 'T')
		return false;
	text = skip(dated ? text + 1 : text, "0123456789:.");
	return text && (zoned ? is_offset(text) : *text == '\0');
}

static void
check_immutable(const KeyParser *parser, const char *text)
{
	char *type = format_type_be(parser->key.type);

	if (func_volatile(parser->input.fn_oid) != PROVOLATILE_IMMUTABLE &&
		!is_iso(text, parser->key.type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("meaning of \"%s\" as a key of type %s depends on settings", text, type),
				 has_iso_form(parser->key.type)
					 ? errhint("Cast the key to type %s, or write dates and times in ISO form, "
							   "with the offset from UTC if the type has one.",
							   type)
					 : errhint("Cast the key to type %s.", type)));
}

/*
 * Raise an error if the number gives different keys as real and as double precision.  A value does
 * not record which of the two types its keys had.
 */
static void
check_unambiguous(const KeyParser *parser, const KeyHolder *holder, const char *text, Datum value)
{
	float8 wide = parser->key.type == FLOAT8OID ? DatumGetFloat8(value) : 0;
	float4 narrow = (float4) wide;

	if (narrow != wide && !isnan(wide) && !isinf(narrow) && narrow != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("\"%s\" is not the same key as real and as double precision", text),
				 errhint("Cast the key to the one that the %s was built from.", holder->one)));
}

/* Prepare the parser for the type of the value's keys. */
static void
learn(KeyProbe *probe, const qb_keys *held, const KeyHolder *holder)
{
	Oid type = KeyFamilyType(held->family);

	if (!OidIsValid(type))
		KeyCheckFits(held, &probe->key, holder);
	KeyParserInit(&probe->parser, type, probe->key.input_collation, probe->context);
}

/*
 * Return the fingerprint of a key.  Raises an error if the encodings of the key and of the value's
 * keys do not match, which is possible only if one encoding is unknown.
 */
uint64
KeyProbeText(KeyType *key, const qb_keys *held, const KeyHolder *holder, Datum value)
{
	uint64 fingerprint;

	KeyTypeForgetText(key);
	fingerprint = KeyFingerprint(key, value);
	KeyCheckFits(held, key, holder);
	return fingerprint;
}

/*
 * Return the fingerprint of a key whose type does not fit the value's keys.  A literal is read as a
 * key of the type of the value's keys.  Any other key raises an error.
 */
uint64
KeyProbeMisfit(KeyProbe *probe, const qb_keys *held, const KeyHolder *holder, Datum value)
{
	KeyParser *parser = &probe->parser;
	char *string;

	if (!probe->literal)
		KeyCheckFits(held, &probe->key, holder);
	string = TextDatumGetCString(value);
	if (parser->key.type == InvalidOid || parser->key.keys.family != held->family)
		learn(probe, held, holder);
	KeyCheckFits(held, &parser->key, holder);
	probe->value = InputFunctionCall(&parser->input, string, parser->parameter, -1);
	check_immutable(parser, string);
	check_unambiguous(parser, holder, string, probe->value);
	return KeyProbeText(&parser->key, held, holder, probe->value);
}

/* Set the probe's type of keys from a call. */
pg_noinline void
KeyProbeLearn(KeyProbe *probe, FunctionCallInfo fcinfo, int argument)
{
	KeyArgument key;

	KeyArgumentOf(&key, fcinfo, argument);
	KeyTypeInit(&probe->key, key.type, key.collation);
	KeyTypeLearn(&probe->key, PG_GETARG_DATUM(argument));
	probe->literal = key.literal;
}

/* Read the key argument of a function that adds the key to a value with the keys "held". */
void
KeyNewArgument(NewKey *key, FunctionCallInfo fcinfo, int argument, const qb_keys *held,
			   const KeyHolder *holder)
{
	KeyProbe probe = { .context = CurrentMemoryContext };
	bool fits;

	key->fingerprint = KeyProbeArgument(&probe, fcinfo, argument, held, holder);
	fits = KeyFits(&probe.key, held);
	key->type = fits ? probe.key : probe.parser.key;
	key->value = fits ? PG_GETARG_DATUM(argument) : probe.value;
}

/* ---- arrays of keys ---- */

/* Number of keys between two checks for interrupts. */
#define KEYS_AT_ONCE 32768

/* Allocate an array of "count" elements, which may exceed 1 GB. */
void *
KeyBatchAlloc(int count, Size size)
{
	return palloc_extended(Max(count, 1) * size, MCXT_ALLOC_HUGE);
}

/*
 * Split the array of a batch into its keys, and compute their fingerprints.  "argument" is the
 * array's number among the call's arguments.  "held" are the keys of the value in which the batch
 * is looked up.
 */
void
KeyProbeArray(KeyProbe *probe, FunctionCallInfo fcinfo, int argument, const qb_keys *held,
			  const KeyHolder *holder, KeyBatch *batch)
{
	KeyType *type = &probe->key;
	int i;

	KeyTypeChange(type, ARR_ELEMTYPE(batch->array), PG_GET_COLLATION());
	probe->literal = type->type == TEXTOID && KeyIsLiteral(fcinfo, argument);
	deconstruct_array(batch->array, type->type, type->length, type->by_value, type->align,
					  &batch->key, &batch->null, &batch->count);
	if (KeyTypeLearnArray(type, batch->key, batch->null, batch->count) && !probe->literal)
		KeyCheckFits(held, type, holder);
	batch->fingerprint = KeyBatchAlloc(batch->count, sizeof(uint64));
	for (i = 0; i < batch->count; i++)
	{
		if (i % KEYS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		batch->fingerprint[i] =
			batch->null[i] ? 0 : KeyProbeFingerprint(probe, held, holder, batch->key[i]);
	}
}

/* Return an array of the answers to a batch of keys, with the dimensions of the keys' array. */
Datum
KeyBatchAnswers(const KeyBatch *batch, Datum *answer, Oid type)
{
	ArrayType *like = batch->array;
	int16 length;
	bool by_value;
	char align;

	get_typlenbyvalalign(type, &length, &by_value, &align);
	PG_RETURN_ARRAYTYPE_P(construct_md_array(answer, batch->null, ARR_NDIM(like), ARR_DIMS(like),
											 ARR_LBOUND(like), type, length, by_value, align));
}

/*
 * ---- keys as text, and text as keys ----
 *
 * The keys in a value must survive dump and restore, changed settings and upgrades.  The bytes of a
 * datum do not, because they may contain OIDs.  So a value stores the text that the type's output
 * function writes under the fixed settings of modes[].  A number needs no text, because it is its
 * own fingerprint.
 *
 * Three settings are not fixed.  No type that can be a key uses xmloption or xmlbinary.  Times are
 * written with numeric time zones, so timezone_abbreviations has no effect, and setting it would
 * read a file.
 *
 * A stored text is not trusted.  The input function of the type that the caller names reads the
 * text, like any user's input.  The resulting key must have the fingerprint that is stored with the
 * text.  For any other key, KeyParse() raises an error: the text is forged, or the type is wrong.
 * Versions of PostgreSQL may write a key differently: PostgreSQL 19 writes all digits of a pg_lsn.
 * Every version reads the old and the new text as the same key.
 */

/*
 * Settings that affect input and output functions.  pg_temp is last in the search path, because
 * temporary objects must not hide the objects that keys of type regclass and similar types name.
 */
static const struct
{
	const char *name;
	const char *value;
} modes[] = {
	{ "datestyle", "ISO, YMD" },
	{ "intervalstyle", "postgres" },
	{ "timezone", "UTC" },
	{ "extra_float_digits", "1" },
	{ "bytea_output", "hex" },
	{ "lc_monetary", "C" },
	{ "array_nulls", "on" },
	{ "quote_all_identifiers", "off" },
	{ "search_path", "pg_catalog, pg_temp" },
};

/* Fix the settings until KeyTextEnd() or an error.  Returns the level for KeyTextEnd(). */
int
KeyTextBegin(void)
{
	int level = NewGUCNestLevel();
	int i;

	for (i = 0; i < lengthof(modes); i++)
		(void) set_config_option(modes[i].name, modes[i].value, PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	return level;
}

void
KeyTextEnd(int level)
{
	AtEOXact_GUC(true, level);
}

/* True if the output function is known to write the same text under all settings. */
static bool
is_plain(Oid output)
{
	switch (output)
	{
		case F_TEXTOUT:
		case F_VARCHAROUT:
		case F_BPCHAROUT:
		case F_CHAROUT:
		case F_NAMEOUT:
		case F_BOOLOUT:
		case F_UUID_OUT:
		case F_NUMERIC_OUT:
		case F_INET_OUT:
		case F_CIDR_OUT:
		case F_OIDOUT:
		case F_ENUM_OUT:
			return true;
		default:
			return false;
	}
}

/* Prepare a writer, whose memory comes from the context. */
void
KeyWriterInit(KeyWriter *writer, Oid type, MemoryContext context)
{
	Oid output;
	bool varlena;

	getTypeOutputInfo(type, &output, &varlena);
	fmgr_info_cxt(output, &writer->output, context);
	writer->padded = output == F_BPCHAROUT;
	writer->bytes = writer->padded || output == F_TEXTOUT || output == F_VARCHAROUT;
	writer->plain = is_plain(output);
}

/*
 * Return the text of a key.  A text with a zero byte is cut at this byte, as by an output function.
 * The returned text need not end with a zero byte.  If the writer is not plain, the call must be
 * between KeyTextBegin() and KeyTextEnd().
 */
const char *
KeyWrite(KeyWriter *writer, Datum value, uint32 *length)
{
	char *text;

	if (writer->bytes)
	{
		struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);

		*length = (uint32) strnlen(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
		if (writer->padded)
			*length = (uint32) bpchartruelen(VARDATA_ANY(bytes), (int) *length);
		return VARDATA_ANY(bytes);
	}
	text = OutputFunctionCall(&writer->output, value);
	*length = (uint32) strlen(text);
	return text;
}

/*
 * Return the text of a key as a value with these keys stores it: in UTF-8, or unchanged if the
 * encoding of the value's keys is unknown.
 */
const char *
KeyWriteKept(KeyWriter *writer, Datum value, const qb_keys *keys, uint32 *length)
{
	const char *text = KeyWrite(writer, value, length);
	Size bytes = *length;

	if (keys->text == QB_TEXT_BYTES || Utf8IsAscii(text, bytes))
		return text;
	if (!Utf8IsKnown())
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot keep the text of key \"%s\", which is not ASCII, in a "
							   "database of encoding %s",
							   pnstrdup(text, bytes), GetDatabaseEncodingName()),
						errhint("Cast the key to text.")));
	text = Utf8Of(text, &bytes);
	*length = (uint32) bytes;
	return text;
}

/* True if this database can show the value's text, whose encoding is unknown. */
static bool
shows_bytes(const qb_keys *held)
{
	return !Utf8IsNative() && !(Utf8IsKnown() && KeysAreText(held->family));
}

/*
 * Convert a stored text to the database's encoding.  "held" are the keys of the value that stores
 * the text.  Raises an error if the database's encoding lacks a character, if the text cannot be
 * converted because an encoding is unknown, or if the result is invalid in the database's encoding.
 */
char *
KeyKeptText(const char *text, Size length, const qb_keys *held, const KeyHolder *holder)
{
	bool bytes = held->text == QB_TEXT_BYTES;
	char *copied;

	if (!Utf8IsAscii(text, length))
	{
		if (bytes ? !shows_bytes(held) : !Utf8IsKnown())
			ereport(
				ERROR,
				(errcode(ERRCODE_UNTRANSLATABLE_CHARACTER),
				 errmsg("%s has keys in %s, and the database has encoding %s", holder->one,
						bytes ? "an unknown encoding" : "UTF-8", GetDatabaseEncodingName()),
				 errhint("Show it in a database of the encoding in which it was built, or build "
						 "it anew from its rows.")));
		if (!bytes)
			text = Utf8ToDatabase(text, &length);
	}
	copied = pnstrdup(text, length);
	(void) pg_verifymbstr(copied, (int) strlen(copied), false);
	return copied;
}

void
KeyParserInit(KeyParser *parser, Oid type, Oid collation, MemoryContext context)
{
	Oid input;

	KeyTypeInit(&parser->key, type, collation);
	parser->domain = getBaseType(type) != type;
	parser->check = NULL;
	getTypeInputInfo(type, &input, &parser->parameter);
	fmgr_info_cxt(input, &parser->input, context);
}

/*
 * Read a key from its text.  Raises an error if the key does not have this fingerprint.  Call
 * KeyParse() between KeyTextBegin() and KeyTextEnd().
 */
Datum
KeyParse(KeyParser *parser, const char *text, uint64 fingerprint)
{
	Datum value = InputFunctionCall(&parser->input, (char *) text, parser->parameter, -1);

	if (KeyFingerprint(&parser->key, value) != fingerprint)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("\"%s\" as a key of type %s is not the key that was counted", text,
							   format_type_be(parser->key.type)),
						errhint("Name the type that the keys had.")));
	return value;
}

/*
 * Convert a number to a key of the parser's type.  Raises an error if the type, or a constraint of
 * its domain, excludes the key.
 */
Datum
KeyParseNumber(KeyParser *parser, int64 number)
{
	Datum value = KeyOfNumber(&parser->key, number);

	if (parser->domain)
		domain_check(value, false, parser->key.type, &parser->check, parser->input.fn_mcxt);
	return value;
}

/* ---- buffers of keys ---- */

#define FIRST_ROOM  16
#define ROOM_GROWTH 4

/* Number of slots of KeyBufferIsVaried(), and the maximum number of keys that it reads. */
#define VARIED_SLOTS 8192
#define VARIED_KEYS  (VARIED_SLOTS / 4)

/* Set "room" to "most", or to "allocated" if fewer keys than "most" fit into the memory. */
void
KeyBufferLimit(KeyBuffer *buffer, int most)
{
	buffer->room = Min(buffer->allocated, most);
}

static void
reallocate(KeyBuffer *buffer, MemoryContext context, int keys)
{
	bool weighted = buffer->weight != NULL;

	KeyBufferFree(buffer);
	buffer->fingerprint = MemoryContextAlloc(context, keys * sizeof(uint64));
	if (weighted)
		buffer->weight = MemoryContextAlloc(context, keys * sizeof(int64));
	buffer->allocated = keys;
}

/*
 * Enlarge the memory of an empty buffer by one step, up to "most" keys.  Because of the steps, a
 * small group has a small buffer.
 */
void
KeyBufferGrow(KeyBuffer *buffer, MemoryContext context, int most)
{
	int next = buffer->allocated == 0 ? FIRST_ROOM : buffer->allocated * ROOM_GROWTH;

	Assert(buffer->count == 0);
	if (most > buffer->allocated)
		reallocate(buffer, context, Min(most, next));
	KeyBufferLimit(buffer, most);
}

/* Double the memory of a full buffer, up to "most" keys.  The keys in the buffer are preserved. */
void
KeyBufferExtend(KeyBuffer *buffer, int most)
{
	int keys = Min(most, buffer->allocated * 2);

	buffer->fingerprint = repalloc(buffer->fingerprint, keys * sizeof(uint64));
	if (buffer->weight)
		buffer->weight = repalloc(buffer->weight, keys * sizeof(int64));
	buffer->allocated = buffer->room = keys;
}

/*
 * True if at least about half of the keys are distinct.  Reads at most "first" keys, and at most
 * VARIED_KEYS.  Each key sets a bit that its hash chooses, and the set bits are counted.  Two
 * distinct keys seldom set the same bit.
 */
bool
KeyBufferIsVaried(const KeyBuffer *buffer, int first)
{
	uint64 seen[VARIED_SLOTS / 64] = { 0 };
	int count = Min(Min(buffer->count, first), VARIED_KEYS);
	int i;

	for (i = 0; i < count; i++)
	{
		uint64 slot = qb_slot_of(qb_slot_hash(buffer->fingerprint[i]), VARIED_SLOTS);

		seen[slot / 64] |= UINT64CONST(1) << slot % 64;
	}
	return pg_popcount((const char *) seen, sizeof(seen)) >= (uint64) count / 2;
}

/* Give the buffer an array of weights.  All keys in the buffer get the weight 1. */
void
KeyBufferWeigh(KeyBuffer *buffer)
{
	MemoryContext context = GetMemoryChunkContext(buffer->fingerprint);
	int i;

	buffer->weight = MemoryContextAlloc(context, buffer->allocated * sizeof(int64));
	for (i = 0; i < buffer->count; i++)
		buffer->weight[i] = 1;
}

/* Free the memory of a buffer and zero it. */
void
KeyBufferFree(KeyBuffer *buffer)
{
	if (buffer->fingerprint)
		pfree(buffer->fingerprint);
	if (buffer->weight)
		pfree(buffer->weight);
	memset(buffer, 0, sizeof(*buffer));
}

/*
 * ---- what the expression of a call says about its key ----
 *
 * Our functions of keys are declared for keys of any type.  So only the call determines the type of
 * its key:
 *
 *	functions, aggregates	fn_expr in the FmgrInfo
 *	wrapped aggregates		Another extension's aggregate may call our functions with its
 *							own Aggref in the context, and without fn_expr, as
 *							worker_partial_agg of Citus does.  The key is the last
 *							argument of that Aggref.  If our function has more arguments
 *							than state and key, the Aggref's last argument is a row
 *							of our arguments, and the key is a field of the row.
 *							Such a call has no collation for the key, because a row
 *							has no collation.
 *
 * Aggregates find the type of the keys once for each state, and a KeyProbe once for each FmgrInfo.
 * KeyNewArgument() finds the type in each call.
 */

/* A transition function has at least two arguments: a state and a key. */
#define STATE_AND_KEY 2

/* Return the i-th argument of an aggregate.  NULL: no such argument, or only ORDER BY uses it. */
static const Node *
aggregate_argument(const Aggref *aggref, int i)
{
	const TargetEntry *entry;

	if (i < 0 || i >= list_length(aggref->args))
		return NULL;
	entry = list_nth_node(TargetEntry, aggref->args, i);
	return entry->resjunk ? NULL : (const Node *) entry->expr;
}

/*
 * True if the function is a transition function of the aggregate: ordinary, moving or inverse.
 * Also true if the running query has dropped the aggregate.
 */
static bool
is_transition_of(Oid function, Oid aggregate)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	Form_pg_aggregate form;
	bool is;

	if (!HeapTupleIsValid(tuple))
		return true;
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	is = form->aggtransfn == function || form->aggmtransfn == function ||
		 form->aggminvtransfn == function;
	ReleaseSysCache(tuple);
	return is;
}

/* Return the key among the arguments of an aggregate that wraps ours, or NULL. */
static const Node *
wrapped_key(const Aggref *wrapper, Oid transition, int argument)
{
	const Node *last = aggregate_argument(wrapper, list_length(wrapper->aggargtypes) - 1);

	if (get_func_nargs(transition) == STATE_AND_KEY)
		return last;
	if (last == NULL || !IsA(last, RowExpr) ||
		argument > list_length(((const RowExpr *) last)->args))
		return NULL;
	return list_nth(((const RowExpr *) last)->args, argument - 1);
}

/* Return the expression of the key if another aggregate wraps ours, or NULL. */
static const Node *
key_of_wrapper(FunctionCallInfo fcinfo, int argument)
{
	const Aggref *aggref = AggGetAggref(fcinfo);

	if (aggref == NULL || is_transition_of(fcinfo->flinfo->fn_oid, aggref->aggfnoid))
		return NULL;
	return wrapped_key(aggref, fcinfo->flinfo->fn_oid, argument);
}

/* Return the expression of an argument of a function outside aggregates, or NULL. */
static const Node *
function_argument(FunctionCallInfo fcinfo, int argument)
{
	const FuncExpr *call = (const FuncExpr *) fcinfo->flinfo->fn_expr;

	if (call == NULL || !IsA(call, FuncExpr) || argument >= list_length(call->args))
		return NULL;
	return list_nth(call->args, argument);
}

/* True if the argument is a constant or a parameter of the query. */
bool
KeyIsLiteral(FunctionCallInfo fcinfo, int argument)
{
	const Node *expr = function_argument(fcinfo, argument);

	while (expr && IsA(expr, RelabelType))
		expr = (const Node *) ((const RelabelType *) expr)->arg;
	return expr && (IsA(expr, Const) ||
					(IsA(expr, Param) && ((const Param *) expr)->paramkind == PARAM_EXTERN));
}

/* Return the declared type of an argument.  InvalidOid: the type is polymorphic. */
static Oid
declared_type(Oid function, int argument)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	Oid type;

	if (!HeapTupleIsValid(tuple))
		FunctionIsMissing(function);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	if (argument >= form->pronargs)
		elog(ERROR, "function %u has no argument %d", function, argument);
	type = form->proargtypes.values[argument];
	ReleaseSysCache(tuple);
	return IsPolymorphicType(type) ? InvalidOid : type;
}

/*
 * Return the type of an argument: the type in the call's expression, else the declared type.
 * InvalidOid: both are unknown.  The catalog is read last, because a query can drop a function that
 * it continues to call.
 */
static Oid
argument_type(FmgrInfo *flinfo, int argument)
{
	Oid type = get_fn_expr_argtype(flinfo, argument);

	return OidIsValid(type) ? type : declared_type(flinfo->fn_oid, argument);
}

/* Set a key's missing type and collation from its expression in a wrapping aggregate. */
static void
learn_from_wrapper(KeyArgument *key, const Node *expr)
{
	if (!OidIsValid(key->type))
		key->type = exprType(expr);
	if (!OidIsValid(key->collation) && exprType(expr) == key->type && type_is_collatable(key->type))
		key->collation = exprCollation(expr);
}

/* Describe the key argument of a call. */
void
KeyArgumentOf(KeyArgument *key, FunctionCallInfo fcinfo, int argument)
{
	int context = AggCheckCallContext(fcinfo, NULL);
	const Node *wrapped;

	key->type = argument_type(fcinfo->flinfo, argument);
	key->collation = PG_GET_COLLATION();
	wrapped = context == AGG_CONTEXT_AGGREGATE ? key_of_wrapper(fcinfo, argument) : NULL;
	if (wrapped)
		learn_from_wrapper(key, wrapped);
	if (!OidIsValid(key->type))
		ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE),
						errmsg("could not determine the type of the keys")));
	key->literal = !context && key->type == TEXTOID && KeyIsLiteral(fcinfo, argument);
}

void
KeyTypeOfArgument(KeyType *key, FunctionCallInfo fcinfo, int argument)
{
	KeyArgument resolved;

	KeyArgumentOf(&resolved, fcinfo, argument);
	KeyTypeInit(key, resolved.type, resolved.collation);
	KeyTypeLearn(key, PG_GETARG_DATUM(argument));
}
