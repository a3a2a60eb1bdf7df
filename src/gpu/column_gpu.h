/*
 * column_gpu.h
 *		Cached columns on a GPU: names, requests, what slots hold, and a backend's calls.
 *
 * A column is cached in chunks.  A chunk has the values of one column in the heap pages that one
 * page of the visibility map covers.  A value takes 64 bits: a number that has the order of the
 * values (base/selection.h), or the fingerprint of the key for types without such a number.  The
 * worker stores values in device memory, in the order of the pages and of the rows on them.
 *
 * The worker's own memory has the first row and the LSN of each page, and the set of cached pages.
 * The LSN of a page is from the time when the page was cached.
 *
 * A NULL also takes 64 bits in the array of values.  Therefore the i-th row of a page is the same
 * row in the chunks of all columns.  A bitmap says which rows are NULL.  Chunks without NULLs have
 * no bitmap.
 *
 * After a chunk is loaded, its values do not change, and its set of cached pages can only lose
 * pages.  The worker also stores the LSN that the visibility map's page had when the set was last
 * checked.
 *
 * A set of pages in a slot is a bitmap with a bit for each page of the chunk.
 *
 * src/gpu/column_gpu.h
 */
#ifndef QS_GPU_COLUMN_GPU_H
#define QS_GPU_COLUMN_GPU_H

#include "gpu/client.h"

#include "access/htup_details.h"
#include "base/selection.h"
#include "port/pg_bitutils.h"
#include "storage/bufpage.h"

/* Heap pages that one page of the visibility map covers.  A byte of the map covers 4 heap pages. */
#define GPU_CHUNK_PAGES ((int) (BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * 4)

/* Maximum number of rows in a chunk. */
#define GPU_CHUNK_ROWS ((uint64) GPU_CHUNK_PAGES * MaxHeapTuplesPerPage)

/* A set of pages of a chunk: the size in bytes, and the bitmap. */
#define GPU_CHUNK_BYTES (GPU_CHUNK_PAGES / 8)

typedef union GpuPages
{
	uint8 bits[GPU_CHUNK_BYTES];
	uint32 word[GPU_CHUNK_BYTES / 4];
} GpuPages;

typedef enum GpuColumnOp
{
	COLUMN_CREATE,   /* make an empty chunk */
	COLUMN_PUT,      /* add pages with their values, in the order of pages */
	COLUMN_FINISH,   /* finish the chunk after its last page; the shape has "map_lsn" */
	COLUMN_DESCRIBE, /* the reply has "map_lsn" and "keys", and the set of cached pages */
	COLUMN_LSNS,     /* read a piece of the pages' LSNs */
	COLUMN_RENEW,    /* set a newer "map_lsn", and remove cached pages that are not in the slot */
	COLUMN_COUNTS, /* count distinct wanted keys; the reply is for the pages before page "offset" */
	COLUMN_MANY    /* find groups with more than "count" distinct keys in the first wanted pages */
} GpuColumnOp;

/* What a request gathers from the rows that pass its tests. */
typedef enum GpuProjection
{
	PROJECT_KEYS, /* keys that are not NULL */
	PROJECT_ROWS, /* the key 0 for each row */
	PROJECT_PAIRS /* keys that are not NULL, each with the value of column "pair" in its row */
} GpuProjection;

/*
 * The keys that a request wants: the keys of the rows on "pages" that pass the tests of the columns
 * in "tested".
 */
typedef struct GpuWanted
{
	GpuPages pages;
	uint32 projection; /* GpuProjection */
	uint32 pair;       /* PROJECT_PAIRS: index in "tested" of the column paired with the keys */
	qb_selection tests;
	GpuRef tested[QB_SELECTION_COLUMNS];
} GpuWanted;

/*
 * The values of all groups of a request, and the number of keys that were added to each value.  All
 * values belong to one family.
 */
typedef struct GpuGroupValues
{
	qb_groups groups;
	GpuRef value[QB_GROUPS_MAX];
	uint64 added[QB_GROUPS_MAX];
} GpuGroupValues;

/*
 * The keys of a chunk that are added to the values of groups.  The request's handle names the first
 * value.
 */
typedef struct GpuWantedOfGroups
{
	GpuWanted wanted;
	GpuGroupValues all;
} GpuWantedOfGroups;

/*
 * The data of COLUMN_PUT: "count" GpuColumnPages, then "bytes" bytes of values.  If "weighted" is
 * set, a bitmap of the NULLs follows, in words of 64 bits.
 */
typedef struct GpuColumnPage
{
	uint32 page; /* number of the page in the chunk */
	uint32 rows;
	uint64 lsn;
} GpuColumnPage;

/* The shape of requests and replies. */
typedef struct GpuColumnShape
{
	uint64 map_lsn;  /* LSN of the map's page, from before the heap pages were read or checked */
	uint64 old_lsn;  /* COLUMN_RENEW: the "map_lsn" that COLUMN_DESCRIBE returned */
	uint64 keys;     /* reply of COLUMN_DESCRIBE: number of values that are not NULL */
	uint32 root;     /* COLUMN_CREATE: partitioned table that contains "relation", or "relation" */
	uint32 relation; /* the table that has the chunk */
	uint32 chunk;    /* number of the chunk in "relation" */
} GpuColumnShape;

/*
 * The data of COLUMN_MANY: the wanted keys and their groups.  The reply sets many[i] if group i has
 * more than "count" distinct keys.
 */
typedef struct GpuManyKeys
{
	GpuWanted wanted;
	qb_groups groups;
	bool many[QB_GROUPS_MAX];
} GpuManyKeys;

StaticAssertDecl(sizeof(GpuManyKeys) <= GPU_SLOT_BYTES, "groups of keys do not fit");
StaticAssertDecl(sizeof(GpuWantedOfGroups) <= GPU_SLOT_BYTES, "values of groups do not fit");

StaticAssertDecl(sizeof(GpuColumnShape) <= sizeof(GpuShape), "shape of a column does not fit");
StaticAssertDecl(sizeof(GpuWanted) <= GPU_SLOT_BYTES, "a set of pages does not fit");

/*
 * In a COLUMN_COUNTS request, "count" is the allowed number of distinct keys, at most
 * GPU_COUNTS_MAX.  The reply has "count" keys, then a count for each key.  If the reply's "count"
 * exceeds the allowed number, the reply has no keys.  "weighted" tells whether the chunk has NULLs.
 */
#define GPU_COUNTS_MAX (GPU_SLOT_WEIGHED / 4)

/* Identifies a column, and the conversion of its values into numbers or fingerprints. */
typedef struct GpuColumn
{
	Oid database;
	Oid relation;
	Oid tablespace;
	uint32 file; /* relfilenumber, which changes when a table is rewritten */
	Oid type;
	int32 typmod;
	Oid collation; /* collation of the keys */
	int16 attribute;
	int16 zero;
} GpuColumn;

StaticAssertDecl(sizeof(GpuColumn) <= sizeof(((StoredName *) 0)->header),
				 "name of a column does not fit");

/* A cached chunk, or a record of evicted chunks of a column. */
typedef struct GpuCachedColumn
{
	GpuColumn column;
	uint32 chunk;
	GpuRef ref;
	uint64 bytes;
	uint64 used;          /* time of the last use, a TimestampTz */
	uint32 pushed_out;    /* number of evicted chunks; 0: a cached chunk, next two members unset */
	Oid pushed_out_by;    /* role for which the last chunk was evicted; or invalid */
	uint64 pushed_out_at; /* time of the last eviction, a TimestampTz */
} GpuCachedColumn;

/*
 * A chunk whose keys are counted, or are added to a value.  Only the keys of rows that are on
 * "pages" and pass the tests are used.
 */
typedef struct GpuColumnChunk
{
	GpuRef ref;
	GpuPages *pages;
	GpuProjection projection;
	uint32 pair;
	const qb_selection *tests; /* NULL: all rows pass */
	GpuRef tested[QB_SELECTION_COLUMNS];
} GpuColumnChunk;

static inline bool
GpuPagesHave(const GpuPages *pages, uint32 page)
{
	return pages->bits[page / 8] >> page % 8 & 1;
}

/* The number of consecutive pages in the set, beginning with "page". */
static inline uint32
GpuPagesRun(const GpuPages *pages, uint32 page)
{
	uint32 end = page;

	while (end < GPU_CHUNK_PAGES)
	{
		uint64 word = 0;

		if (end % 64 == 0 && end + 64 <= GPU_CHUNK_PAGES)
			memcpy(&word, &pages->bits[end / 8], sizeof(word));
		if (word == PG_UINT64_MAX)
			end += 64;
		else if (GpuPagesHave(pages, end))
			end++;
		else
			break;
	}
	return end - page;
}

/* The first page in the set from page "page" on; GPU_CHUNK_PAGES: no such page. */
static inline uint32
GpuPagesNext(const GpuPages *pages, uint32 page)
{
	while (page < GPU_CHUNK_PAGES && !GpuPagesHave(pages, page))
	{
		uint64 word = 1;

		if (page % 64 == 0 && page + 64 <= GPU_CHUNK_PAGES)
			memcpy(&word, &pages->bits[page / 8], sizeof(word));
		page += word == 0 ? 64 : 1;
	}
	return page;
}

static inline void
GpuPagesAdd(GpuPages *pages, uint32 page)
{
	pages->bits[page / 8] |= (uint8) (1 << page % 8);
}

static inline void
GpuPagesRemove(GpuPages *pages, uint32 page)
{
	pages->bits[page / 8] &= (uint8) ~(1 << page % 8);
}

static inline void
GpuPagesKeep(GpuPages *pages, const GpuPages *other)
{
	int i;

	for (i = 0; i < (int) lengthof(pages->word); i++)
		pages->word[i] &= other->word[i];
}

/* Remove the pages of another set from this set. */
static inline void
GpuPagesTakeOff(GpuPages *pages, const GpuPages *other)
{
	int i;

	for (i = 0; i < (int) lengthof(pages->word); i++)
		pages->word[i] &= ~other->word[i];
}

/*
 * The number of pages in the set.  Words whose bits are all set, or all clear, are counted without
 * a call.  pg_popcount() of PostgreSQL 15 would call a function for each 8 bytes.
 */
static inline uint32
GpuPagesCount(const GpuPages *pages)
{
	uint32 count = 0;
	int i;

	for (i = 0; i < (int) lengthof(pages->word); i++)
		if (pages->word[i] == PG_UINT32_MAX)
			count += 32;
		else if (pages->word[i] != 0)
			count += pg_popcount32(pages->word[i]);
	return count;
}

static inline bool
GpuPagesAreNone(const GpuPages *pages)
{
	static const GpuPages none;

	return memcmp(pages, &none, sizeof(none)) == 0;
}

/* Remove all pages before this page. */
static inline void
GpuPagesRemoveBefore(GpuPages *pages, uint32 page)
{
	memset(pages->bits, 0, page / 8);
	if (page % 8 != 0)
		pages->bits[page / 8] &= (uint8) (0xff << page % 8);
}

/* Remove this page and all pages after it. */
static inline void
GpuPagesRemoveFrom(GpuPages *pages, uint32 page)
{
	if (page % 8 != 0)
	{
		pages->bits[page / 8] &= (uint8) ((1 << page % 8) - 1);
		page += 8 - page % 8;
	}
	memset(pages->bits + page / 8, 0, GPU_CHUNK_BYTES - page / 8);
}

/* The number of 64-bit words in a bitmap with a bit for each of "rows" rows. */
static inline uint64
GpuNullWords(uint64 rows)
{
	return (rows + 63) / 64;
}

static inline GpuColumnShape *
GpuColumnShapeIn(GpuSlot *slot)
{
	return (GpuColumnShape *) slot->shape.bytes;
}

/*
 * ---- a backend's calls ----
 *
 * These functions may wait: see client.h.  A cached chunk may be freed at any time.
 */

/* True if cached columns exist and this backend may use them.  Sends no request to the worker. */
extern bool GpuColumnsExist(void);

/*
 * Find the handles of a column's cached chunks; serial 0: the chunk is not cached.  Returns the
 * number of cached chunks.
 */
extern int GpuColumnFind(const GpuColumn *column, GpuRef *ref, uint32 chunks);

/*
 * Limit pages[i] to the number of cached pages of chunk i, which is 0 if the chunk is not cached.
 * Only reads shared memory, where the numbers may be outdated.
 */
extern void GpuColumnCover(const GpuColumn *column, uint32 *pages, uint32 chunks);

/*
 * List all cached chunks, and the columns with evicted chunks.  The list is in the current memory
 * context.
 */
extern GpuCachedColumn *GpuColumnList(int *count);

/* Remove the record that chunks of a column were evicted. */
extern void GpuColumnForgetPushedOut(const GpuColumn *column);

/* ---- loading a chunk ---- */

/* A chunk that is being loaded, with the pages that were not sent yet. */
typedef struct GpuColumnLoad
{
	GpuRef ref;
	GpuColumnPage *page; /* pages for the next slot */
	uint64 *value;
	uint64 *null; /* bitmap of NULLs */
	int pages;
	int rows;
	bool any_null;
} GpuColumnLoad;

/*
 * Begin to load a chunk of this shape; false: this process may take no handle now, or the worker
 * has no memory.
 */
extern bool GpuColumnBegin(GpuColumnLoad *load, const GpuColumnShape *shape);

/*
 * Return the array for "rows" values of the next page.  The caller fills the array, and then calls
 * GpuColumnAdd().
 */
extern uint64 *GpuColumnRoom(GpuColumnLoad *load, int rows);

/*
 * Add the page whose values are in the array of GpuColumnRoom().  null[i] tells whether row i is
 * NULL.
 */
extern void GpuColumnAdd(GpuColumnLoad *load, uint32 page, uint64 lsn, int rows, const bool *null);

/*
 * End a chunk, and publish it to all backends; false: the worker had no memory for the chunk, or
 * the chunk's device failed.
 */
extern bool
GpuColumnEnd(GpuColumnLoad *load, uint64 map_lsn, const GpuColumn *column, uint32 chunk);

/* ---- using a chunk ---- */

/* The state of a chunk. */
typedef struct GpuColumnState
{
	bool there; /* false: the chunk is gone, and no other member is set */
	uint64 map_lsn;
	uint64 keys;
	GpuPages *copied; /* the cached pages; NULL: exactly the pages before "first" */
	uint32 first;
} GpuColumnState;

/* Remove from a set the pages that are not cached according to the chunk's state. */
static inline void
GpuPagesKeepCopied(GpuPages *pages, const GpuColumnState *state)
{
	if (state->copied)
		GpuPagesKeep(pages, state->copied);
	else
		GpuPagesRemoveFrom(pages, state->first);
}

/*
 * Read the states of "count" chunks; serial 0: no chunk.  Published states (GpuChunkState) are
 * read from shared memory.  All other states are requested from the worker, several at a time.
 */
extern void GpuColumnDescribe(const GpuRef *ref, uint32 count, GpuColumnState *state);

/* Free the array of states, with the sets of pages. */
extern void GpuColumnFreeStates(GpuColumnState *state, uint32 count);

/* Read the LSNs of a chunk's pages; false: the chunk is gone. */
extern bool GpuColumnLsns(const GpuRef *ref, uint64 *lsn);
extern void
GpuColumnRenew(const GpuRef *ref, uint64 old_lsn, uint64 map_lsn, const GpuPages *pages);

/* The distinct keys of pages, and the number of rows with each key. */
typedef struct GpuKeyCounts
{
	int count;  /* number of keys; above "most" of GpuColumnCountsAll(): no other member is set */
	bool nulls; /* the chunk has NULLs, perhaps in other pages */
	uint64 key[GPU_COUNTS_MAX];
	int64 times[GPU_COUNTS_MAX];
} GpuKeyCounts;

/* The device of a chunk; -1: unknown. */
static inline int
GpuColumnDevice(const GpuColumnChunk *chunk)
{
	return gpu_shared->handle[chunk->ref.index].device;
}

/* Write the wanted keys of a chunk into the slot of a request. */
extern void GpuColumnWant(GpuSlot *slot, const GpuColumnChunk *chunk);

/* Order chunks so that their devices alternate.  Then all devices work at the same time. */
extern void GpuColumnInterleave(GpuColumnChunk *chunk, int chunks);

/*
 * Add the keys of chunks to a value on a device.  "op" is a request of the value's family, such as
 * SKETCH_COLUMN.  False: some keys were not added.  Pages whose keys were added are removed from
 * the chunks' sets, and "added" becomes the number of added keys.  If "added" is NULL, the sets do
 * not change.  slot->count is 1 in the request for the last chunk of a device, and 0 in all other
 * requests.
 */
extern bool
GpuColumnSend(const GpuRef *ref, int op, const GpuColumnChunk *chunk, int chunks, int64 *added);

/*
 * Add the keys of chunks to the values of groups.  The number of added keys of each group is added
 * to "added" in "groups".  False: some keys could not be added, and it is unknown which keys.
 */
extern bool
GpuColumnSendGroups(int op, GpuGroupValues *groups, const GpuColumnChunk *chunk, int chunks);

/*
 * Like GpuColumnSend() or GpuColumnSendGroups(), for values on several devices.  The keys of chunk
 * i are added to value ref[i], or to the values of groups[i].  "groups" may be NULL.  If it is not
 * NULL, ref[i] is the first value of groups[i].
 */
extern bool GpuColumnSendEach(int op, const GpuRef *ref, GpuGroupValues *const *groups,
							  const GpuColumnChunk *chunk, int chunks, int64 *added);

/*
 * Count the distinct keys of chunks, several chunks at a time, and pass the counts to "take".
 * "take" must not wait for the worker.  Pages whose keys were counted are removed from the chunks'
 * sets.  Counting ends when all sets are empty, or when "take" returns false.  "take" may be called
 * several times for a chunk, with counts of different pages.  If a chunk has more than "most"
 * distinct keys, its pages stay in its set.  False: some keys could not be counted, usually because
 * a chunk is gone or its device has no memory.
 */
typedef bool (*GpuTakeCounts)(void *context, const GpuKeyCounts *counts);
extern bool GpuColumnCountsAll(const GpuColumnChunk *chunk, int chunks, int most,
							   GpuTakeCounts take, void *context);

/*
 * Find the groups that have more than "most" distinct keys in the wanted pages of a chunk.  Only
 * the first of these pages are read, up to one piece of work.  False: the pages could not be read,
 * usually because a chunk is gone or its device has no memory.
 */
extern bool
GpuColumnMany(const GpuColumnChunk *chunk, const qb_groups *groups, int most, bool *many);

/*
 * ---- exact counts of all keys of a column, from cached chunks and from pages ----
 *
 * Each device collects the keys of its chunks, and makes a list of its distinct keys.  Then the
 * keys are divided into ranges, one for each device.  Each device adds up the counts of its range
 * from all lists, and sorts the keys by their counts.  A backend fetches the most frequent keys.
 * If the counts do not fit into device memory, the backend drops them and counts without the
 * worker.
 *
 * From EXACT_LIST on, the backend sends each type of request to all devices that have keys, and
 * waits for all replies before it sends the next type.
 */

typedef enum GpuExactOp
{
	EXACT_CREATE,  /* begin without keys; the shape has an upper limit of the number of keys */
	EXACT_COLUMN,  /* count keys of chunk "other"; after a device's last chunk, make its list */
	EXACT_KEYS,    /* count keys that a backend has read */
	EXACT_DEVICES, /* the reply has the devices that have keys; no keys may follow */
	EXACT_LIST,    /* make the device's list */
	EXACT_FIND,    /* find the ranges in the device's list; not sent if only one device has keys */
	EXACT_ORDER,   /* add up the counts of the device's range, and sort its keys */
	EXACT_READ     /* read a piece of the sorted range: "count" keys, then "count" counts */
} GpuExactOp;

/*
 * Begin to count at most "keys" keys; false: this process may take no handle now, or the worker has
 * no memory.  GpuColumnSend() and GpuPostKeys() send the keys.
 */
extern bool GpuExactBegin(GpuRef *ref, uint64 keys);

/* A key, and the number of rows that have the key. */
typedef struct GpuExactKey
{
	int64 key;
	int64 times;
} GpuExactKey;

/*
 * Return the most frequent keys, at most "most", by descending count.  Keys with the same count are
 * in ascending order.  The array is in the current memory context; NULL: the counts are gone, or a
 * device had no memory.  No keys may be added afterwards.
 */
extern GpuExactKey *GpuExactBest(const GpuRef *ref, int most, int *count);

#endif
