/*
 * sketch_io.c
 *		Input, output and comparison of qsketch values.
 *
 * src/pg/sketch_io.c
 */
#include "pg/flat.h"
#include "pg/sketch_value.h"

/*
 * Raise an error unless a value made outside is a valid sketch that qsketch_new() could
 * have made: an empty sketch of 64 bytes must not claim tens of gigabytes when its
 * first keys come.
 */
static void
validate(struct varlena *value, int sqlstate)
{
	const uint8 *bytes = (const uint8 *) VARDATA(value);
	Size length = VARSIZE(value) - VARHDRSZ;
	qb_memory memory;
	qb_status status =
		qs_validate_pausing(bytes, length, ContextMemory(CurrentMemoryContext, &memory));
	qs_sketch view;

	if (status != QB_OK)
		FormatRaise(&sketch_format, status, sqlstate, bytes, length);
	SketchOpen(&view, value);
}

/* Is it a size, such as 1MB? */
static bool
is_size(const char *text)
{
	static const char *const units[] = { "", "B", "bytes", "kB", "MB", "GB", "TB", "PB" };
	size_t digits = strspn(text, "0123456789.");
	const char *unit = text + digits + strspn(text + digits, " ");
	int i;

	for (i = 0; digits > 0 && i < lengthof(units); i++)
		if (pg_strcasecmp(unit, units[i]) == 0)
			return true;
	return false;
}

/* A hint: whoever writes a size or a structure's name probably means a template. */
static char *
hint(const char *text)
{
	if (is_size(text))
		return psprintf("A template of this size is qsketch_new(size => '%s').", text);
	if (qs_structure_by_name(text, strlen(text)) != 0)
		return psprintf("A template of this structure is qsketch_new('%s').", text);
	return NULL;
}

static const FlatType qsketch = {
	.name = "qsketch",
	.noun = "sketch",
	.prefix = "qsketch:",
	.validate = validate,
	.hint = hint,
};

FLAT_FUNCTIONS(qsketch, qsketch);
