/*
 * sketch_io.c
 *		Input, output and comparison of qsketch values.
 *
 * src/pg/sketch_io.c
 */
#include "pg/flat.h"
#include "pg/sketch_value.h"

/*
 * Raise an error unless a value made from outside is a valid sketch, and one
 * that qsketch_new() could have made: an empty sketch of 64 bytes must not
 * claim tens of gigabytes with its first keys.
 */
static void
validate(struct varlena *value, int sqlstate)
{
	const uint8 *bytes = (const uint8 *) VARDATA(value);
	Size length = VARSIZE(value) - VARHDRSZ;
	qs_status status = qs_validate(bytes, length);
	qs_sketch view;

	if (status != QS_OK)
		SketchBadFormat(status, sqlstate, bytes, length);
	SketchOpen(&view, value);
	SketchCheckStorable(&view.params);
}

static const FlatType qsketch = {
	.name = "qsketch",
	.noun = "sketch",
	.prefix = "qsketch:",
	.validate = validate,
};

FLAT_FUNCTIONS(qsketch, qsketch);
