/*
 * stored.h
 *		Values stored out of line: recognizing one that the last row had as well,
 *		keeping what a query reads again and again, and reading parts of one.
 *
 * A cache is of one calling expression, in its fn_extra.  A value is known by its
 * toast pointer: the value behind one never changes.  The same pointer could
 * name another only after the first was vacuumed away and four billion OIDs
 * were given out, all within the transaction, beyond which no expression keeps
 * its state.
 *
 * src/pgbase/stored.h
 */
#ifndef QS_PG_STORED_H
#define QS_PG_STORED_H

#include "postgres.h"
#include "access/detoast.h"
#include "lib/ilist.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/*
 * A value that was seen; what embeds it as its first member says what is kept.
 * That is noted, which costs nothing but this, or kept, with a context.
 */
typedef struct StoredValue
{
	struct varatt_external id;
	uint64 used;               /* when it was used last, and before that; */
	uint64 used_before;        /* 0: never */
	dlist_node place;          /* among the noted, the kept or the free; the last used first */
	struct StoredValue *after; /* what was used after it the last time, or NULL */
	MemoryContext context;
	Size bytes;
} StoredValue;

struct stored_hash;

typedef struct StoredCache
{
	MemoryContext context;
	Size value_size;   /* of what embeds the values */
	Size limit;        /* bytes that are kept, but for one value larger than that */
	StoredValue *last; /* the value of the last row, or NULL */
	uint64 now;        /* counts uses */
	Size bytes;        /* that are kept */
	dlist_head kept;
	dlist_head noted;
	dlist_head unused; /* values that were forgotten: they remain what "after" may point to */
	uint32 noted_count;
	struct stored_hash *table;
} StoredCache;

extern void StoredInit(StoredCache *cache, MemoryContext parent, Size value_size, Size limit);
extern void StoredUse(StoredCache *cache, StoredValue *value);
extern StoredValue *StoredLookUp(StoredCache *cache, const struct varatt_external *id);
extern bool StoredMayKeep(StoredCache *cache, StoredValue *value, Size bytes);
extern void StoredKept(StoredCache *cache, StoredValue *value);

/* Was it used before the row at hand? */
static inline bool
StoredAgain(const StoredValue *value)
{
	return value->used_before != 0;
}

/* Is this a kept value of that place? */
static inline bool
StoredIs(const StoredValue *value, const struct varatt_external *id)
{
	return value && value->context && memcmp(&value->id, id, sizeof(*id)) == 0;
}

/*
 * The value of this row, new ones zeroed beyond the StoredValue; NULL if it is
 * not stored out of line.  Mostly it is that of the last row, or the one that
 * followed that before.
 */
static inline StoredValue *
StoredFind(StoredCache *cache, Datum datum)
{
	StoredValue *last = cache->last;
	struct varatt_external id;

	if (!VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)))
		return NULL;
	VARATT_EXTERNAL_GET_POINTER(id, DatumGetPointer(datum));
	if (StoredIs(last, &id))
		return last;
	if (last && StoredIs(last->after, &id))
	{
		StoredUse(cache, last->after);
		return last->after;
	}
	return StoredLookUp(cache, &id);
}

/* The value of the next row, as far as one can guess, if it is kept; else NULL. */
static inline StoredValue *
StoredGuess(const StoredValue *value)
{
	return value->after && value->after->context ? value->after : NULL;
}

/* ---- one value, and parts of one ---- */

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
