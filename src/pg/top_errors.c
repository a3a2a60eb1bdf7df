/*
 * top_errors.c
 *		Errors about lists of top keys, and opening their bytes.
 *
 * src/pg/top_errors.c
 */
#include "pgbase/errors.h"
#include "pg/top_state.h"

#include "sketch/top_format.h"

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

/* Raise the error for bytes that are not such a list, or that contain a sketch we cannot read. */
void
TopBadFormat(qb_status status, int sqlstate, const uint8 *bytes, Size length)
{
	if (status == QB_FORMAT_VERSION && bytes[QS_TOP_AT_VERSION] == QS_TOP_FORMAT_VERSION_1)
		SketchBadFormat(status, sqlstate, bytes + QS_TOP_HEADER_BYTES,
						length - QS_TOP_HEADER_BYTES);
	StatusRaiseFormat(status, sqlstate, top_key_holder.one, QS_TOP_FORMAT_VERSION_1, bytes, length);
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
