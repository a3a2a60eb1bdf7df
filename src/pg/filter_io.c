/*
 * filter_io.c
 *		Input, output and comparison of qfilter values.
 *
 * src/pg/filter_io.c
 */
#include "pg/flat.h"
#include "pg/filter_value.h"

/* Raise an error unless a value made from outside is a valid filter. */
static void
validate(struct varlena *value, int sqlstate)
{
	const uint8 *bytes = (const uint8 *) VARDATA(value);
	Size length = VARSIZE(value) - VARHDRSZ;
	qb_memory memory;
	qb_status status =
		qf_validate_pausing(bytes, length, ContextMemory(CurrentMemoryContext, &memory));

	if (status != QB_OK)
		FormatRaise(&filter_format, status, sqlstate, bytes, length);
}

/* A hint: whoever writes a number probably means the rows, or the keys, of a template. */
static char *
hint(const char *text)
{
	if (text[0] != '\0' && text[strspn(text, "0123456789")] == '\0')
		return psprintf(
			"A template for this many rows is qfilter_new(%s, frequency). A Bloom filter for "
			"this many distinct keys is qfilter_new_bloom(%s).",
			text, text);
	return NULL;
}

static const FlatType qfilter = {
	.name = "qfilter",
	.noun = "filter",
	.prefix = "qfilter:",
	.validate = validate,
	.hint = hint,
};

FLAT_FUNCTIONS(qfilter, qfilter);
