/*
 * stored.h
 *		Values stored out of line: recognizing one that the last row had as well,
 *		and reading parts of one.
 *
 * The value behind a toast pointer never changes.
 *
 * src/pg/stored.h
 */
#ifndef QS_PG_STORED_H
#define QS_PG_STORED_H

#include "postgres.h"

#include "access/detoast.h"
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

/*
 * Bytes of a value after its varlena header.  False if it has fewer, which "out"
 * then holds with their number in "bytes".
 */
static inline bool
StoredRead(Datum datum, uint64 offset, uint32 *bytes, uint8 *out)
{
	struct varlena *slice =
		detoast_attr_slice((struct varlena *) DatumGetPointer(datum), (int32) offset, *bytes);
	uint32 length = VARSIZE_ANY_EXHDR(slice);
	bool all = length == *bytes;

	*bytes = length;
	memcpy(out, VARDATA_ANY(slice), length);
	pfree(slice);
	return all;
}

#endif
