/*
 * filter_value.c
 *		Reading and writing qfilter values.
 *
 * Values inside the database were validated when they came in, like sketches.  So
 * reading a value checks only its header and length.  That is enough to keep every
 * operation inside the value's bytes.
 *
 * src/pg/filter_value.c
 */
#include "pg/filter_value.h"

#include "pgbase/stored.h"
#include "utils/memutils.h"

/* Open a value of this length, whose header alone is read. */
static void
open_bytes(qf_filter *view, const uint8 *bytes, Size length)
{
	qb_status status = qf_open(view, bytes, length);

	if (status != QB_OK)
		FormatRaise(&filter_format, status, ERRCODE_DATA_CORRUPTED, bytes, length);
}

/* A view of a detoasted value. */
void
FilterOpen(qf_filter *view, struct varlena *value)
{
	open_bytes(view, (const uint8 *) VARDATA(value), VARSIZE(value) - VARHDRSZ);
}

/*
 * Open a filter stored out of line by reading its header alone.  The result serves for
 * what the header says.  False if the datum is not stored so that parts of it can be
 * read.
 */
bool
FilterOpenStored(qf_filter *view, Datum datum)
{
	uint8 header[QF_HEADER_BYTES];
	Size length;

	if (!StoredReadHeader(&filter_format, datum, header, &length))
		return false;
	open_bytes(view, header, length);
	view->bits = NULL;
	view->compact = NULL;
	return true;
}

/*
 * Choose how to write a filter; returns the bytes of the varlena.  The largest filter is
 * half a gigabyte, which PostgreSQL can store.
 */
Size
FilterFlatSize(const qf_filter *filter, qf_flat *flat)
{
	StaticAssertStmt(VARHDRSZ + QF_HEADER_BYTES + QF_BITS_MAX / 8 <= MaxAllocSize,
					 "the largest filter cannot be stored");
	*flat = qf_flat_of(filter);
	return VARHDRSZ + flat->bytes;
}

void
FilterWrite(const qf_filter *filter, const qf_flat *flat, struct varlena *out)
{
	SET_VARSIZE(out, VARHDRSZ + flat->bytes);
	qf_write_flat(filter, flat, (uint8 *) VARDATA(out));
}

/* The filter as a palloc'd value. */
struct varlena *
FilterFlatten(const qf_filter *filter)
{
	qf_flat flat;
	struct varlena *out = palloc(FilterFlatSize(filter, &flat));

	FilterWrite(filter, &flat, out);
	return out;
}
