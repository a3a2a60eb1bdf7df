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
 * src/pgbase/keytext.c
 */
#include "pgbase/keytext.h"
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
