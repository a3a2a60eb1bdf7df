/*
 * stored.c
 *		Values stored out of line: recognizes them, keeps copies for later rows, and reads
 *		ranges.
 *
 * A join of keys and values reads all values for each key, or all keys for each value, depending on
 * the plan.  So the cache keeps as many values as fit into its limit, usually the memory of an
 * executor node's hash table.  A new value replaces the least recently used value.
 *
 * This rule fails if a query reads more values in rotation than fit into the cache.  Each value
 * would be dropped just before its next use, and copying a value costs hundreds of times as much as
 * reading a few of its bytes.  So a new value replaces kept values only if the new value was used
 * before, and the kept values were not used after that earlier use.  If a query reads all values in
 * rotation, the kept values stay.  If a query reads one value repeatedly, the value replaces older
 * values.
 *
 * The cache notes the values that it does not keep, to recognize their second use.
 *
 * src/pgbase/stored.c
 */
#include "pgbase/stored.h"

#include "base/slot.h"
#include "utils/memutils.h"

typedef struct StoredSlot
{
	struct varatt_external id;
	StoredValue *value;
	char status;
} StoredSlot;

static inline uint32
hash_id(const struct varatt_external *id)
{
	return (uint32) qb_slot_hash((uint64) id->va_toastrelid << 32 | id->va_valueid);
}

#define SH_PREFIX          stored
#define SH_ELEMENT_TYPE    StoredSlot
#define SH_KEY_TYPE        struct varatt_external
#define SH_KEY             id
#define SH_HASH_KEY(tb, k) hash_id(&(k))
#define SH_EQUAL(tb, a, b) (memcmp(&(a), &(b), sizeof(struct varatt_external)) == 0)
#define SH_SCOPE           static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Slots of an empty table. */
#define SLOTS 16

/*
 * Noted values may take 1 / NOTED_DIVISOR of the limit.  NOTED_MIN noted values are always allowed.
 */
#define NOTED_MIN     16
#define NOTED_DIVISOR 16

void
StoredInit(StoredCache *cache, MemoryContext parent, Size value_size, Size limit)
{
	memset(cache, 0, sizeof(*cache));
	cache->context = AllocSetContextCreate(parent, "qsketch stored", ALLOCSET_SMALL_SIZES);
	cache->value_size = value_size;
	cache->limit = limit;
	dlist_init(&cache->kept);
	dlist_init(&cache->noted);
	dlist_init(&cache->unused);
	cache->table = stored_create(cache->context, SLOTS, NULL);
}

static StoredValue *
last_of(dlist_head *list)
{
	return dlist_container(StoredValue, node, dlist_tail_node(list));
}

/* Forget a noted value. */
static void
forget(StoredCache *cache, StoredValue *value)
{
	stored_delete(cache->table, value->id);
	dlist_delete(&value->node);
	cache->noted_count--;
	dlist_push_head(&cache->unused, &value->node);
	if (cache->last == value)
		cache->last = NULL;
}

/* Turn a kept value into a noted value. */
void
StoredDrop(StoredCache *cache, StoredValue *value)
{
	StoredValue blank = { .id = value->id, .used = value->used, .after = value->after };

	MemoryContextDelete(value->context);
	cache->bytes -= value->bytes;
	dlist_delete(&value->node);
	memset(value, 0, cache->value_size);
	*value = blank;
	dlist_push_head(&cache->noted, &value->node);
	cache->noted_count++;
}

static StoredValue *
note(StoredCache *cache, const struct varatt_external *id)
{
	Size most = cache->limit / NOTED_DIVISOR / cache->value_size;
	StoredValue *value;
	bool found;

	while (cache->noted_count >= Max(most, NOTED_MIN))
		forget(cache, last_of(&cache->noted));
	if (dlist_is_empty(&cache->unused))
		value = MemoryContextAlloc(cache->context, cache->value_size);
	else
		value = dlist_container(StoredValue, node, dlist_pop_head_node(&cache->unused));
	memset(value, 0, cache->value_size);
	value->id = *id;
	stored_insert(cache->table, *id, &found)->value = value;
	dlist_push_head(&cache->noted, &value->node);
	cache->noted_count++;
	return value;
}

/* Record that the current row uses this value. */
void
StoredUse(StoredCache *cache, StoredValue *value)
{
	dlist_move_head(value->context ? &cache->kept : &cache->noted, &value->node);
	value->used_before = value->used;
	value->used = ++cache->now;
	if (cache->last && cache->last != value)
		cache->last->after = value;
	cache->last = value;
}

/* Return the entry of a row's value.  A new value is noted. */
StoredValue *
StoredLookUp(StoredCache *cache, const struct varatt_external *id)
{
	StoredSlot *slot = stored_lookup(cache->table, *id);
	StoredValue *value = slot ? slot->value : note(cache, id);

	StoredUse(cache, value);
	return value;
}

/*
 * True if "bytes" more bytes fit into the cache after dropping all values that were not used since
 * the previous use of "value".  If all other kept values can be dropped, a value that was used
 * before may exceed the limit.
 */
static bool
have_room(StoredCache *cache, const StoredValue *value, Size bytes)
{
	Size after = cache->bytes + bytes;
	dlist_iter iter;

	if (after <= cache->limit)
		return true;
	dlist_reverse_foreach(iter, &cache->kept)
	{
		const StoredValue *other = dlist_container(StoredValue, node, iter.cur);

		if (other == value)
			continue;
		if (other->used > value->used_before)
			return false;
		after -= other->bytes;
		if (after <= cache->limit)
			return true;
	}
	return StoredAgain(value);
}

/*
 * True if the cache may keep this many more bytes of the row's value.  The function has then
 * dropped other values to free memory, and has created the value's context.  The caller must call
 * StoredKept() afterwards.
 */
bool
StoredMayKeep(StoredCache *cache, StoredValue *value, Size bytes)
{
	if (!have_room(cache, value, bytes))
		return false;
	while (cache->bytes + bytes > cache->limit && !dlist_is_empty(&cache->kept) &&
		   last_of(&cache->kept) != value)
		StoredDrop(cache, last_of(&cache->kept));
	if (value->context)
		return true;
	value->context = AllocSetContextCreate(cache->context, "qsketch kept", ALLOCSET_SMALL_SIZES);
	dlist_delete(&value->node);
	cache->noted_count--;
	dlist_push_head(&cache->kept, &value->node);
	return true;
}

/* Record the current size of the value's context. */
void
StoredKept(StoredCache *cache, StoredValue *value)
{
	cache->bytes -= value->bytes;
	value->bytes = MemoryContextMemAllocated(value->context, true);
	cache->bytes += value->bytes;
}

/* Change the limit, and drop the least recently used values until the remaining values fit. */
void
StoredSetLimit(StoredCache *cache, Size limit)
{
	cache->limit = limit;
	while (cache->bytes > limit && !dlist_is_empty(&cache->kept))
		StoredDrop(cache, last_of(&cache->kept));
}

/* ---- the value of one earlier row, and ranges of a value ---- */

/*
 * True if the datum is the noted value.  All bytes of a flat value are compared, because a checksum
 * could be forged.
 */
bool
KnownValueIs(const KnownValue *known, Datum datum)
{
	const char *value = DatumGetPointer(datum);

	if (VARATT_IS_EXTERNAL(value))
		return known->stored && VARATT_IS_EXTERNAL_ONDISK(value) &&
			   memcmp(known->id, value, TOAST_ID_BYTES) == 0;
	return known->flat && VARSIZE_ANY(value) == VARSIZE_ANY(known->flat) &&
		   memcmp(known->flat, value, VARSIZE_ANY(value)) == 0;
}

/*
 * Note a value in place of an earlier value.  A flat value of at most "most" bytes is copied into
 * "context".  A larger flat value, or an expanded value, is not noted.
 */
void
KnownValueNote(KnownValue *known, Datum datum, MemoryContext context, Size most)
{
	const char *value = DatumGetPointer(datum);

	memset(known, 0, sizeof(*known));
	known->stored = VARATT_IS_EXTERNAL_ONDISK(value);
	if (known->stored)
		memcpy(known->id, value, TOAST_ID_BYTES);
	else if (!VARATT_IS_EXTERNAL(value) && VARSIZE_ANY(value) <= most)
	{
		known->flat = MemoryContextAllocHuge(context, VARSIZE_ANY(value));
		memcpy(known->flat, value, VARSIZE_ANY(value));
	}
}

/*
 * Read *bytes bytes of a value, from an offset after its varlena header.  False: the value ends
 * earlier, and *bytes is the number of bytes in "out".
 */
bool
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

/* Read a range of bytes that a valid value contains.  Raises an error if the value is shorter. */
void
StoredReadRange(const ValueFormat *format, Datum datum, uint64 offset, uint32 bytes, uint8 *out)
{
	uint32 length = bytes;

	if (!StoredRead(datum, offset, &length, out))
		FormatRaise(format, QB_FORMAT_LENGTH, ERRCODE_DATA_CORRUPTED, out, length);
}

/*
 * Read the header and the length of a value whose ranges can be read.  False: the value is not
 * stored out of line, is compressed, or is shorter than a header.
 */
bool
StoredReadHeader(const ValueFormat *format, Datum datum, uint8 *header, Size *length)
{
	struct varatt_external pointer;

	if (!VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)))
		return false;
	VARATT_EXTERNAL_GET_POINTER(pointer, DatumGetPointer(datum));
	*length = pointer.va_rawsize - VARHDRSZ;
	if (VARATT_EXTERNAL_IS_COMPRESSED(pointer) || *length < format->header)
		return false;
	StoredReadRange(format, datum, 0, format->header, header);
	return true;
}
