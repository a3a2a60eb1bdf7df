/*
 * top_errors.c
 *		Errors about lists of top keys, and opening their bytes.
 *
 * src/pg/top_errors.c
 */
#include "pgbase/errors.h"
#include "pg/top_state.h"

#include "sketch/top_format.h"

static const ValueFormat top_format = { "list of top keys", QS_TOP_FORMAT_VERSION_1,
										QS_TOP_HEADER_BYTES };
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

/* Raise the error for bytes that are not such a list, or that contain a sketch we cannot read. */
void
TopBadFormat(qb_status status, int sqlstate, const uint8 *bytes, Size length)
{
	if (status == QB_FORMAT_VERSION && bytes[QS_TOP_AT_VERSION] == QS_TOP_FORMAT_VERSION_1)
		FormatRaise(&sketch_format, status, sqlstate, bytes + QS_TOP_HEADER_BYTES,
					length - QS_TOP_HEADER_BYTES);
	FormatRaise(&top_format, status, sqlstate, bytes, length);
}

/* Views of a detoasted value. */
void
TopOpen(qs_top *top, qs_sketch *sketch, struct varlena *value)
{
	const uint8 *bytes = (const uint8 *) VARDATA(value);
	Size length = VARSIZE(value) - VARHDRSZ;
	qb_status status = qs_top_open(top, sketch, bytes, length);

	if (status != QB_OK)
		TopBadFormat(status, ERRCODE_DATA_CORRUPTED, bytes, length);
}
