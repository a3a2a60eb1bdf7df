/*
 * utf8.c
 *		Converts text of keys between the database's encoding and UTF-8.
 *
 * Only the conversions in pg_catalog are used.  A user may define conversions in other schemas, but
 * a key must have one fingerprint for all users.  A conversion cannot be interrupted, so a long
 * text is converted in pieces.
 *
 * src/pgbase/utf8.c
 */
#include "pgbase/utf8.h"

#include "catalog/pg_conversion.h"
#include "catalog/pg_namespace_d.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Bytes that are converted between two checks for interrupts. */
#define PIECE (1024 * 1024)

/* A conversion between the database's encoding and UTF-8. */
typedef struct Conversion
{
	int from;
	int to;
	bool found;
	FmgrInfo function;
} Conversion;

bool
Utf8IsNative(void)
{
	return GetDatabaseEncoding() == PG_UTF8;
}

bool
Utf8IsKnown(void)
{
	int encoding = GetDatabaseEncoding();

#if PG_VERSION_NUM < 190000
	if (encoding == PG_MULE_INTERNAL)
		return false;
#endif
	return encoding != PG_SQL_ASCII;
}

/* Look up the conversion's function at the first call.  The database of a process never changes. */
static void
find(Conversion *conversion, int from, int to)
{
	Oid function;

	if (conversion->found)
		return;
	function = FindDefaultConversion(PG_CATALOG_NAMESPACE, from, to);
	if (!OidIsValid(function))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
						errmsg("no conversion of keys from encoding \"%s\" to \"%s\"",
							   pg_encoding_to_char(from), pg_encoding_to_char(to))));
	fmgr_info_cxt(function, &conversion->function, TopMemoryContext);
	conversion->from = from;
	conversion->to = to;
	conversion->found = true;
}

/*
 * Return the beginning of a text for a message.  If the text is not in the database's encoding,
 * characters beyond ASCII are written as in U&'\00E9'.
 */
static char *
escaped(const char *text, Size length, int encoding)
{
	StringInfoData string;
	const unsigned char *at = (const unsigned char *) text;
	const unsigned char *end = at + Min(length, NAMEDATALEN);

	if (encoding == GetDatabaseEncoding())
		return pnstrdup(text,
						(Size) pg_mbcliplen(text, (int) Min(length, NAMEDATALEN), NAMEDATALEN));
	initStringInfo(&string);
	while (at < end && at + pg_utf_mblen(at) <= end)
	{
		unsigned int c = utf8_to_unicode(at);

		if (c < 0x80)
			appendStringInfoChar(&string, (char) c);
		else
			appendStringInfo(&string, c > 0xFFFF ? "\\+%06X" : "\\%04X", c);
		at += pg_utf_mblen(at);
	}
	return string.data;
}

static void
raise_missing(const Conversion *conversion, const char *text, Size length)
{
	bool stored = conversion->from == PG_UTF8;

	ereport(ERROR,
			(errcode(ERRCODE_UNTRANSLATABLE_CHARACTER),
			 errmsg("key %s'%s' has a character that encoding \"%s\" lacks", stored ? "U&" : "",
					escaped(text, length, conversion->from), pg_encoding_to_char(conversion->to)),
			 stored ? errhint("Ask for it in a database of encoding UTF8.")
					: errhint("Keys are counted in UTF-8, so that they mean the same in every "
							  "database. Write the character in another way.")));
}

/* Convert at most PIECE bytes, in whole characters.  Returns the number of converted bytes. */
static Size
convert_piece(Conversion *conversion, const char *text, Size length, char *to)
{
	return (Size) DatumGetInt32(
		FunctionCall6(&conversion->function, Int32GetDatum(conversion->from),
					  Int32GetDatum(conversion->to), CStringGetDatum(text), CStringGetDatum(to),
					  Int32GetDatum((int32) Min(length, PIECE)), BoolGetDatum(true)));
}

static const char *
convert(Conversion *conversion, const char *text, Size *length)
{
	Size room = Min(*length, PIECE) * MAX_CONVERSION_GROWTH + 1;
	char *result = palloc(room);
	Size used = 0;
	Size done = 0;

	result[0] = '\0';
	while (done < *length)
	{
		Size converted;

		CHECK_FOR_INTERRUPTS();
		if (room - used <= Min(*length - done, PIECE) * MAX_CONVERSION_GROWTH)
			result = repalloc_huge(result, room *= 2);
		converted = convert_piece(conversion, text + done, *length - done, result + used);
		if (converted == 0)
			raise_missing(conversion, text, *length);
		done += converted;
		used += strlen(result + used);
	}
	if (used > PG_INT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("key of %zu bytes is too long in UTF-8", *length)));
	*length = used;
	return result;
}

const char *
Utf8Of(const char *text, Size *length)
{
	static Conversion conversion;

	if (Utf8IsNative() || Utf8IsAscii(text, *length))
		return text;
	find(&conversion, GetDatabaseEncoding(), PG_UTF8);
	return convert(&conversion, text, length);
}

const char *
Utf8ToDatabase(const char *text, Size *length)
{
	static Conversion conversion;

	if (Utf8IsNative() || Utf8IsAscii(text, *length))
		return text;
	find(&conversion, PG_UTF8, GetDatabaseEncoding());
	return convert(&conversion, text, length);
}
