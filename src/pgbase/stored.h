/*
 * stored.h
 *		Values stored out of line: recognizing the value of the row before, keeping
 *		values that a query reads again and again, and reading parts of a value.
 *
 * A cache belongs to one calling expression, in its fn_extra.  A value is identified by
 * its toast pointer: the value behind a pointer never changes.  The pointer could name
 * another value only after the first was vacuumed away and four billion OIDs were given
 * out.  That cannot happen within a transaction, and no expression keeps its state
 * longer.  A cache that belongs to a process also looks at the value's header before it
 * uses what is kept.
 *
 * src/pgbase/stored.h
 */
#ifndef QS_PGBASE_STORED_H
#define QS_PGBASE_STORED_H

#include "postgres.h"
#include "access/detoast.h"
#include "lib/ilist.h"
#include "pgbase/value.h"
#include "pgbase/version.h"

/*
 * A value that was seen.  The struct that embeds it, as its first member, holds what is
 * kept.  A value is noted, which takes no more memory than this, or kept, in a context.
 */
typedef struct StoredValue
{
	struct varatt_external id;
	uint64 used;        /* time of the last use, in "now" of the cache, */
	uint64 used_before; /* and of the use before that; 0: none */
	dlist_node place;   /* in the list of noted, kept or unused values; the last used comes first */
	struct StoredValue *after; /* the value that was used after this one the last time, or NULL */
	MemoryContext context;
	Size bytes;
} StoredValue;

struct stored_hash;

typedef struct StoredCache
{
	MemoryContext context;
	Size value_size;   /* of the struct that embeds StoredValue */
	Size limit;        /* most bytes to keep; a single value may be larger */
	StoredValue *last; /* the value of the last row, or NULL */
	uint64 now;        /* counts uses */
	Size bytes;        /* bytes that are kept */
	dlist_head kept;
	dlist_head noted;
	dlist_head unused; /* forgotten values, which stay allocated since "after" may point to them */
	uint32 noted_count;
	struct stored_hash *table;
} StoredCache;

extern void StoredInit(StoredCache *cache, MemoryContext parent, Size value_size, Size limit);
extern void StoredUse(StoredCache *cache, StoredValue *value);
extern StoredValue *StoredLookUp(StoredCache *cache, const struct varatt_external *id);
extern bool StoredMayKeep(StoredCache *cache, StoredValue *value, Size bytes);
extern void StoredKept(StoredCache *cache, StoredValue *value);
extern void StoredDrop(StoredCache *cache, StoredValue *value);
extern void StoredSetLimit(StoredCache *cache, Size limit);

/* Was the value used before the current row? */
static inline bool
StoredAgain(const StoredValue *value)
{
	return value->used_before != 0;
}

/* Is it a kept value with this toast pointer? */
static inline bool
StoredIs(const StoredValue *value, const struct varatt_external *id)
{
	return value && value->context && memcmp(&value->id, id, sizeof(*id)) == 0;
}

/*
 * The value of this row; NULL if it is not stored out of line.  In a new one all bytes
 * after the StoredValue are zero.  It is mostly the value of the last row, or the one
 * that followed that value the last time.
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

/* The value that the next row will probably have, if it is kept; else NULL. */
static inline StoredValue *
StoredGuess(const StoredValue *value)
{
	return value->after && value->after->context ? value->after : NULL;
}

/* ---- one value, and parts of one ---- */

#define TOAST_ID_BYTES (VARHDRSZ_EXTERNAL + sizeof(struct varatt_external))

/* Identifies the value of an earlier row.  A zeroed one identifies none. */
typedef struct KnownValue
{
	bool stored; /* out of line: "id" is its toast pointer */
	char id[TOAST_ID_BYTES];
	struct varlena *flat; /* a copy of one that is not stored out of line, or NULL */
} KnownValue;

extern bool KnownValueIs(const KnownValue *known, Datum datum);
extern void KnownValueNote(KnownValue *known, Datum datum, MemoryContext context, Size most);

extern bool StoredRead(Datum datum, uint64 offset, uint32 *bytes, uint8 *out);
extern void
StoredReadPart(const ValueFormat *format, Datum datum, uint64 offset, uint32 bytes, uint8 *out);
extern bool StoredReadHeader(const ValueFormat *format, Datum datum, uint8 *header, Size *length);

#endif
