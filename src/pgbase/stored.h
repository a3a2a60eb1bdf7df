/*
 * stored.h
 *		Values stored out of line: recognizing the value of the row before, keeping
 *		values that a query reads again and again, and reading parts of a value.
 *
 * A cache belongs to one calling expression, in its fn_extra.  A value is identified by its toast
 * pointer: the value behind a pointer never changes.  The pointer could name another value only
 * after the first was vacuumed away and four billion OIDs were given out.  That cannot happen
 * within a transaction, and no expression keeps its state longer.  A cache that belongs to a
 * process must also compare the value's header before it uses what is kept.
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
 * A value that was seen.  It is the first member of a struct that holds what is kept of the value.
 * A noted value takes no more memory than this struct.  A kept value has a context.
 */
typedef struct StoredValue
{
	struct varatt_external id;
	uint64 used;        /* time of the last use, by "now" of the cache */
	uint64 used_before; /* time of the use before that; 0: there was none */
	dlist_node node;    /* in the list of noted, kept or unused values, the last used value first */
	struct StoredValue *after; /* the value whose use followed the last use of this one, or NULL */
	MemoryContext context;
	Size bytes;
} StoredValue;

struct stored_hash;

typedef struct StoredCache
{
	MemoryContext context;
	Size value_size;   /* size of the struct that embeds StoredValue */
	Size limit;        /* most bytes to keep; a single value may be larger */
	StoredValue *last; /* the value of the last row, or NULL */
	uint64 now;        /* number of uses, which serves as the time */
	Size bytes;        /* number of bytes that are kept */
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

/* True if the value was used before the current row. */
static inline bool
StoredAgain(const StoredValue *value)
{
	return value->used_before != 0;
}

/* True if it is a kept value with this toast pointer. */
static inline bool
StoredIs(const StoredValue *value, const struct varatt_external *id)
{
	return value && value->context && memcmp(&value->id, id, sizeof(*id)) == 0;
}

/*
 * The value of this row; NULL if it is not stored out of line.  In a new value all bytes of the
 * embedding struct after the StoredValue are zero.  The value is mostly that of the last row, or
 * the one that followed it the last time.
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

/* The value that the next row will probably have, if that value is kept; else NULL. */
static inline StoredValue *
StoredGuess(const StoredValue *value)
{
	return value->after && value->after->context ? value->after : NULL;
}

/* ---- one value, and ranges of one ---- */

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
