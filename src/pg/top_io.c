/*
 * top_io.c
 *		Input, output and comparison of qtop values; errors about them, and opening
 *		their bytes.
 *
 * src/pg/top_io.c
 */
#include "pg/top_state.h"

#include "mb/pg_wchar.h"
#include "pg/flat.h"
#include "pgbase/value.h"
#include "pgbase/keyfamily.h"
#include "sketch/top_format.h"

static const ValueFormat top_format = { "list of top keys", QS_TOP_FORMAT_VERSION_1,
										QS_TOP_HEADER_BYTES, &sketch_format };
const KeyHolder top_key_holder = { "list of top keys", "lists of top keys", "qtop_add" };

/* Check the argument for the number of keys that are of interest. */
uint32
TopCheckN(int32 n)
{
	if (n < 1 || n > QS_TOP_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of top keys must be between 1 and %d, not %d", QS_TOP_MAX, n)));
	return (uint32) n;
}

/* The call that gives a list the smaller n and size of two, of which folding leads to the other. */
static const char *
folding_call(uint32 n, const qs_params *a, const qs_params *b)
{
	if (a->n == b->n)
		return psprintf("qtop_fold(top, %u)", n);
	return psprintf("qtop_fold(top, %u, '%s')", n, SketchSizeText(a->n < b->n ? a : b));
}

/* Raise an error unless two lists can be merged. */
void
TopCheckMergeable(const TopState *top, const TopReader *other)
{
	const qs_params *a = &top->sketch.params, *b = &other->sketch->params;
	uint32 n = top->top.n, m = other->top->n;
	StringInfoData text;

	if ((n != m || a->n != b->n) && (qs_params_fold(a, b) || qs_params_fold(b, a)))
	{
		initStringInfo(&text);
		AppendDifference(&text, "n", psprintf("%u", n), psprintf("%u", m));
		AppendDifference(&text, "size", SketchSizeText(a), SketchSizeText(b));
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION), errmsg("lists of top keys differ: %s", text.data),
				 errhint("Fold what is larger: %s.", folding_call(Min(n, m), a, b))));
	}
	SketchCheckMergeable(&top->sketch, other->sketch);
}

/* Views of a detoasted value. */
void
TopOpen(qs_top *top, qs_sketch *sketch, struct varlena *value)
{
	const uint8 *bytes = (const uint8 *) VARDATA(value);
	Size length = VARSIZE(value) - VARHDRSZ;
	qb_status status = qs_top_open(top, sketch, bytes, length);

	if (status != QB_OK)
		FormatRaise(&top_format, status, ERRCODE_DATA_CORRUPTED, bytes, length);
}

/* ---- input and output ---- */

/* Are the keys without texts numbers, which are their own fingerprints? */
static bool
family_fits(const qs_top *top, const qs_sketch *sketch)
{
	Oid type = KeyFamilyType(sketch->keys.family);

	return top->count == 0 || top->texts || (OidIsValid(type) && KeyTypeIsNumber(type));
}

/* Is the text valid in this database's encoding, without a zero byte? */
static bool
is_text(const char *text, uint32 length)
{
	return memchr(text, '\0', length) == NULL &&
		   pg_verify_mbstr(GetDatabaseEncoding(), text, (int) length, true);
}

static bool
is_ascii(const char *text, uint32 length)
{
	uint32 i;

	for (i = 0; i < length; i++)
		if (IS_HIGHBIT_SET(text[i]))
			return false;
	return true;
}

/* Raise an error unless the texts of all keys can be shown in this database. */
static void
validate_texts(const qs_top *top, int sqlstate, const uint8 *bytes, Size length)
{
	uint64 i;

	for (i = 0; i < top->count; i++)
	{
		qs_top_key key = qs_top_get(top, i);
		const char *text = (const char *) key.text;

		if (top->encoding != GetDatabaseEncoding() && !is_ascii(text, key.length))
			ereport(ERROR,
					(errcode(sqlstate),
					 errmsg("list of top keys has keys in encoding %s, but the database has %s",
							pg_encoding_to_char(top->encoding), GetDatabaseEncodingName())));
		if (!is_text(text, key.length))
			FormatRaise(&top_format, QB_FORMAT_ENTRIES, sqlstate, bytes, length);
	}
}

/* Raise an error unless the keys and the sketch of a valid list from outside can be used here. */
static void
check(struct varlena *value, int sqlstate)
{
	const uint8 *bytes = (const uint8 *) VARDATA(value);
	Size length = VARSIZE(value) - VARHDRSZ;
	qs_top top;
	qs_sketch sketch;

	TopOpen(&top, &sketch, value);
	SketchCheckStorable(&sketch.params);
	if (!family_fits(&top, &sketch))
		FormatRaise(&top_format, QB_FORMAT_PARAMS, sqlstate, bytes, length);
	if (top.texts)
		validate_texts(&top, sqlstate, bytes, length);
}

/* A hint: whoever writes a number probably means the number of keys. */
static char *
hint(const char *text)
{
	if (*text != '\0' && strspn(text, "0123456789") == strlen(text))
		return psprintf("An empty one for %s keys is qtop_new(%s).", text, text);
	return NULL;
}

static const FlatType qtop = {
	.name = "qtop",
	.format = &top_format,
	.validate = qs_top_validate_pausing,
	.check = check,
	.hint = hint,
};

FLAT_FUNCTIONS(qtop);
