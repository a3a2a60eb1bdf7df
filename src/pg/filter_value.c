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

/* A view of a detoasted value. */
void
FilterOpen(qf_filter *view, struct varlena *value)
{
	const uint8 *bytes = (const uint8 *) VARDATA(value);
	Size length = VARSIZE(value) - VARHDRSZ;
	qb_status status = qf_open(view, bytes, length);

	if (status != QB_OK)
		FilterBadFormat(status, ERRCODE_DATA_CORRUPTED, bytes, length);
}

/* Read bytes of a filter stored out of line.  An error if it is shorter than its header says. */
void
FilterReadStored(Datum datum, uint64 offset, uint32 bytes, uint8 *out)
{
	uint32 length = bytes;

	if (!StoredRead(datum, offset, &length, out))
		FilterBadFormat(QB_FORMAT_LENGTH, ERRCODE_DATA_CORRUPTED, out, length);
}

/*
 * Open a filter stored out of line by reading its header alone.  The result serves for
 * what the header says.  False if the datum is not stored so that parts of it can be
 * read.
 */
bool
FilterOpenStored(qf_filter *view, Datum datum)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	struct varatt_external pointer;
	uint8 header[QF_HEADER_BYTES];
	Size length;
	qb_status status;

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return false;
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	length = pointer.va_rawsize - VARHDRSZ;
	if (VARATT_EXTERNAL_IS_COMPRESSED(pointer) || length < QF_HEADER_BYTES)
		return false;
	FilterReadStored(datum, 0, QF_HEADER_BYTES, header);
	status = qf_open(view, header, length);
	if (status != QB_OK)
		FilterBadFormat(status, ERRCODE_DATA_CORRUPTED, header, length);
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
