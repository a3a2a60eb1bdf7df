/*
 * value.h
 *		Values of any of our types, as expanded objects and detoasted.
 *
 * src/pgbase/value.h
 */
#ifndef QS_PG_VALUE_H
#define QS_PG_VALUE_H

#include "postgres.h"

#include "utils/expandeddatum.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/*
 * The expanded object that a datum points to, or NULL if it is a flat value.
 * Objects of others are an error: "what" is what ours would be, "a sketch".
 */
extern ExpandedObjectHeader *
ValueExpandedIn(Datum datum, const ExpandedObjectMethods *methods, const char *what);

/*
 * The read-write expanded object that a datum points to, which is all that a
 * transition function meets after its first row; else NULL.  What DatumGetEOHP()
 * does, without a call; the caller looks at the methods.
 */
static inline ExpandedObjectHeader *
ValueInState(Datum datum)
{
	struct varatt_expanded pointer;

	if (!VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(datum)))
		return NULL;
	memcpy(&pointer, VARDATA_EXTERNAL(DatumGetPointer(datum)), sizeof(pointer));
	return pointer.eohptr;
}

/* The flat value of a datum; *own is a copy to be freed, or NULL. */
extern struct varlena *ValueDetoast(Datum datum, struct varlena **own);

#endif
