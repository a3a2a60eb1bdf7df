/*
 * value.c
 *		Values of any of our types: expanded objects and detoasted values.
 *
 * An expanded object is recognized by the address of its methods, which no value that a
 * user makes can have.
 *
 * src/pgbase/value.c
 */
#include "pgbase/value.h"

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
