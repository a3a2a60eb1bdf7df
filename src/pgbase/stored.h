/*
 * stored.h
 *		Values stored out of line: recognizes them, keeps copies for later rows, and reads
 *		ranges.
 *
 * A cache usually belongs to one calling expression, in the expression's fn_extra.  A value is
 * identified by its toast pointer, because the value of a toast pointer never changes.  A toast
 * pointer could name another value only after the first value was vacuumed and four billion OIDs
 * were used.  A transaction is too short for this, and no expression keeps its cache after the
 * transaction.  The owner of a cache that outlives transactions must also compare the value's
 * header before using a kept value.
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
 * A value of an earlier row.  The caller embeds StoredValue as the first member of a struct with
 * the value's data.  The cache stores only the toast pointer of a noted value.  A kept value has a
 * memory context for its data.
 */
typedef struct StoredValue
{
	struct varatt_external id;
	uint64 used;        /* time of the last use, by "now" of the cache */
	uint64 used_before; /* time of the use before the last use; 0: no such use */
	dlist_node node;    /* in "kept", "noted" or "unused"; "kept" begins with the last used value */
	struct StoredValue *after; /* the value that was used after this value last time, or NULL */
	MemoryContext context;
	Size bytes;
} StoredValue;

struct stored_hash;

typedef struct StoredCache
{
	MemoryContext context;
	Size value_size;   /* size of the struct that embeds StoredValue */
	Size limit;        /* maximum bytes of kept values; a single value may be larger */
	StoredValue *last; /* the value of the last row, or NULL */
	uint64 now;        /* number of uses, which serves as the time */
	Size bytes;        /* bytes of all kept values */
	dlist_head kept;
	dlist_head noted;
	dlist_head unused; /* forgotten values; not freed, because "after" may point to them */
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

/* True if the value was used before the current row. */
static inline bool
StoredAgain(const StoredValue *value)
{
	return value->used_before != 0;
}

/* True if "value" is a kept value with this toast pointer. */
static inline bool
StoredIs(const StoredValue *value, const struct varatt_external *id)
{
	return value && value->context && memcmp(&value->id, id, sizeof(*id)) == 0;
}

/*
 * Return the entry of this row's value, or NULL if the value is not stored out of line.  In a new
 * entry, all bytes after the StoredValue are zero.  Most rows have the value cache->last or
 * cache->last->after.
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

/* Return the value that the next row will probably have, if that value is kept; else NULL. */
static inline StoredValue *
StoredGuess(const StoredValue *value)
{
	return value->after && value->after->context ? value->after : NULL;
}

/* ---- the value of one earlier row, and ranges of a value ---- */

#define TOAST_ID_BYTES (VARHDRSZ_EXTERNAL + sizeof(struct varatt_external))

/* Identifies the value of an earlier row.  A zeroed KnownValue identifies no value. */
typedef struct KnownValue
{
	bool stored; /* true if stored out of line: "id" is the toast pointer */
	char id[TOAST_ID_BYTES];
	struct varlena *flat; /* copy of a value that is not stored out of line, or NULL */
} KnownValue;

extern bool KnownValueIs(const KnownValue *known, Datum datum);
extern void KnownValueNote(KnownValue *known, Datum datum, MemoryContext context, Size most);

extern bool StoredRead(Datum datum, uint64 offset, uint32 *bytes, uint8 *out);
extern void
StoredReadRange(const ValueFormat *format, Datum datum, uint64 offset, uint32 bytes, uint8 *out);
extern bool StoredReadHeader(const ValueFormat *format, Datum datum, uint8 *header, Size *length);

#endif
