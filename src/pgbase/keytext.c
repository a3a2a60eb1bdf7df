/*
 * keytext.c
 *		Keys as text, and text as keys.
 *
 * What a value remembers of its keys must survive dump and restore, settings and
 * upgrades.  The bytes of a datum do not, since they may hold OIDs.  So a value keeps
 * the text from the type's output function, written under fixed settings: those of
 * pg_dump, and UTC.  A number needs no text, since it is its own fingerprint.
 * Some settings are not fixed.  No type that can be a key looks at xmloption or
 * xmlbinary.  timezone_abbreviations does not matter, since times are written with
 * numbers for zones, and fixing it would read a file.
 *
 * Reading trusts no text.  It goes through the input function of the type that the
 * caller names, like any user's input, and the resulting key must have the fingerprint
 * under which the text is kept.  A forged text is an error, and so is a type that
 * writes the key in another way.  The text of a key can be another one in another version of
 * PostgreSQL: 19 writes all digits of a pg_lsn.  Texts of both kinds are read as the same key.
 *
 * Literals are read in another way, since their meaning must not depend on settings: see
 * KeyReadText().
 *
 * src/pgbase/keytext.c
 */
#include "pgbase/keytext.h"

#include <math.h>

#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "pgbase/version.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

/*
 * Settings that affect input and output functions.  Temporary objects come last: they must not
 * hide the objects whose names keys of type regclass and the like are.
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

/* Fix the settings, until KeyTextEnd() or an error. */
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

/* Does the output function write the same under all settings? */
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
 * The text of a key.  Unless the writer is plain, call it between KeyTextBegin() and
 * KeyTextEnd().
 */
const char *
KeyWrite(KeyWriter *writer, Datum value, uint32 *length)
{
	char *text;

	if (writer->bytes)
	{
		struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);

		*length = (uint32) VARSIZE_ANY_EXHDR(bytes);
		if (writer->padded)
			*length = (uint32) bpchartruelen(VARDATA_ANY(bytes), (int) *length);
		return VARDATA_ANY(bytes);
	}
	text = OutputFunctionCall(&writer->output, value);
	*length = (uint32) strlen(text);
	return text;
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

/* The key of a text.  Call it between KeyTextBegin() and KeyTextEnd(). */
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

/* A number as a key of the given type, which may be a shorter one or a domain. */
Datum
KeyParseNumber(KeyParser *parser, int64 number)
{
	Datum value = KeyOfNumber(&parser->key, number);

	if (parser->domain)
		domain_check(value, false, parser->key.type, &parser->check, parser->input.fn_mcxt);
	return value;
}

/*
 * ---- literals ----
 *
 * Functions of keys take any type, so a literal, or a driver's parameter without a
 * type, becomes text: qsketch_estimate(sk, '10.0.0.1') gets a text.  If the value's
 * family of keys has one type, that type's input function reads the text, as if the
 * literal had been of that type.
 *
 * Our functions are immutable, so the meaning of the text must not depend on a setting
 * or on the clock.  The input of dates and times does.  These types are read only from
 * the ISO form, with an offset from UTC if the type has a time zone.
 *
 * Some families have several types.  For text and for integers one type can read the
 * values of all of them.  For real and double precision there is no such type: see
 * check_unambiguous().
 */

/* The text after one or more characters of the set; NULL if there are none. */
static const char *
skip(const char *text, const char *set)
{
	size_t length = text ? strspn(text, set) : 0;

	return length ? text + length : NULL;
}

/* The text after YYYY-MM-DD, which no DateStyle reads in another order; NULL without it. */
static const char *
skip_date(const char *text)
{
	size_t year = strspn(text, "0123456789");

	if (year < 4 || text[year] != '-')
		return NULL;
	text = skip(text + year + 1, "0123456789");
	return text && *text == '-' ? skip(text + 1, "0123456789") : NULL;
}

/* Is the rest an offset from UTC: Z, or a signed number? */
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

/* Does the type have a text form that means the same under all settings? */
static bool
has_iso_form(Oid type)
{
	return is_dated(type) || type == TIMEOID || type == TIMETZOID;
}

/*
 * Is the text in the ISO form of a date or time, so that settings do not matter?  The
 * input function checks whether it is valid.
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
check_immutable(const KeyReader *reader, const char *text)
{
	char *type = format_type_be(reader->key.type);

	if (func_volatile(reader->input.fn_oid) != PROVOLATILE_IMMUTABLE &&
		!is_iso(text, reader->key.type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("meaning of \"%s\" as a key of type %s depends on settings", text, type),
				 has_iso_form(reader->key.type)
					 ? errhint("Cast the key to type %s, or write dates and times in ISO form, "
							   "with the offset from UTC if the type has one.",
							   type)
					 : errhint("Cast the key to type %s.", type)));
}

/*
 * An error for a number with a fraction.  It may differ as real and as double
 * precision, and a value does not record which of the two its keys were.
 */
static void
check_unambiguous(const KeyReader *reader, const KeyHolder *holder, const char *text, Datum value)
{
	float8 wide = reader->key.type == FLOAT8OID ? DatumGetFloat8(value) : 0;
	float4 narrow = (float4) wide;

	if (narrow != wide && !isnan(wide) && !isinf(narrow) && narrow != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("\"%s\" is not the same key as real and as double precision", text),
				 errhint("Cast the key to the one that the %s was built from.", holder->one)));
}

/* Prepare reading keys of the type that the value holds. */
static void
learn(KeyReader *reader, MemoryContext context, const qb_keys *held, const KeyHolder *holder,
	  const KeyType *given)
{
	Oid type = KeyFamilyType(held->family);
	Oid input;

	if (!OidIsValid(type))
		KeyFamilyCheckProbe(held, given, holder);
	KeyTypeInit(&reader->key, type, given->input_collation);
	getTypeInputInfo(type, &input, &reader->parameter);
	fmgr_info_cxt(input, &reader->input, context);
}

/*
 * Fingerprint of a key that is given as text, for a value that holds other keys.
 * Raises an error if it cannot be read as one of their type.  The reader's memory comes
 * from the context.
 */
uint64
KeyReadText(KeyReader *reader, MemoryContext context, const qb_keys *held, const KeyHolder *holder,
			const KeyType *given, Datum value)
{
	char *string = TextDatumGetCString(value);

	if (reader->key.type == InvalidOid || reader->key.keys.family != held->family)
		learn(reader, context, held, holder, given);
	KeyFamilyCheckProbe(held, &reader->key, holder);
	value = InputFunctionCall(&reader->input, string, reader->parameter, -1);
	check_immutable(reader, string);
	check_unambiguous(reader, holder, string, value);
	reader->value = value;
	return KeyFingerprint(&reader->key, value);
}
