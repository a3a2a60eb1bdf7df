/*
 * stored.h
 *		Recognizing a value stored out of line that the last row had as well.
 *
 * The value behind a toast pointer never changes.
 *
 * src/pg/stored.h
 */
#ifndef QS_PG_STORED_H
#define QS_PG_STORED_H

#include "postgres.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#define TOAST_ID_BYTES (VARHDRSZ_EXTERNAL + sizeof(struct varatt_external))

/* Zeroed: none was seen yet. */
typedef struct StoredId
{
	bool seen;
	char bytes[TOAST_ID_BYTES];
} StoredId;

/* Is this the value that was noted? */
static inline bool
StoredIdIs(const StoredId *id, Datum datum)
{
	return id->seen && VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)) &&
		   memcmp(id->bytes, DatumGetPointer(datum), TOAST_ID_BYTES) == 0;
}

/* Note a value that is stored out of line. */
static inline void
StoredIdNote(StoredId *id, Datum datum)
{
	id->seen = true;
	memcpy(id->bytes, DatumGetPointer(datum), TOAST_ID_BYTES);
}

#endif
