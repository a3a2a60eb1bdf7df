/*
 * value.c
 *		Values of any of our types, by what PostgreSQL makes of them: expanded
 *		objects, and values of which only a part is read.
 *
 * An expanded object is known by the address of its methods, which no value
 * that a user makes can have.  Parts are read of values stored out of line and
 * uncompressed, by fetching the few chunks that they lie in.
 *
 * src/pg/value.c
 */
#include "pg/value.h"

#include "access/detoast.h"
#include "fmgr.h"

ExpandedObjectHeader *
ValueExpandedIn(Datum datum, const ExpandedObjectMethods *methods, const char *what)
{
	ExpandedObjectHeader *header;

	if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
		return NULL;
	header = DatumGetEOHP(datum);
	if (header->eoh_methods != methods)
		elog(ERROR, "expanded object is not %s", what);
	return header;
}

struct varlena *
ValueDetoast(Datum datum, struct varlena **own)
{
	struct varlena *value = PG_DETOAST_DATUM(datum);

	*own = (Pointer) value != DatumGetPointer(datum) ? value : NULL;
	return value;
}

bool
ValueHasParts(Datum datum, Size least, Size *length)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	struct varatt_external pointer;

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return false;
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	*length = pointer.va_rawsize - VARHDRSZ;
	return !VARATT_EXTERNAL_IS_COMPRESSED(pointer) && *length >= least;
}

bool
ValueReadPart(Datum datum, uint64 offset, uint32 bytes, uint8 *out)
{
	struct varlena *part =
		detoast_attr_slice((struct varlena *) DatumGetPointer(datum), (int32) offset, bytes);
	bool complete = VARSIZE_ANY_EXHDR(part) == bytes;

	if (complete)
		memcpy(out, VARDATA_ANY(part), bytes);
	pfree(part);
	return complete;
}
