/*
 * column_gpu.h
 *		Cached columns on a GPU: names, requests and what slots hold, and a backend's calls.
 *
 * A column is cached in chunks.  A chunk has the values of one column in the heap pages
 * that one page of the visibility map covers.  A value takes 64 bits.  It is a number
 * that has the order of the values (base/selection.h), or for types without such a number
 * the fingerprint of the key.  The worker keeps values in device memory, in the order of
 * the pages and of the rows on them.  In its own memory it keeps where the rows of each
 * page begin, the page's LSN when it was copied, and which pages were copied at all.
 *
 * A NULL has its row among the values, so that the i-th row of a page is the same row in
 * the chunks of all columns.  A bitmap says which rows are NULL.  Chunks without NULLs
 * have none.
 *
 * Values of a chunk never change.  Two things may change: the set of pages that count as
 * copied, and the LSN of the map's page at which that set was found.
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

/* Heap pages that one page of the visibility map covers.  A byte of the map is for 4 pages. */
#define GPU_CHUNK_PAGES ((int) (BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * 4)

/* The most rows of a chunk. */
#define GPU_CHUNK_ROWS ((uint64) GPU_CHUNK_PAGES * MaxHeapTuplesPerPage)

/* A set of pages of a chunk. */
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
	COLUMN_FINISH,   /* all pages were sent; the LSN of the map's page before they were read */
	COLUMN_DESCRIBE, /* the reply has that LSN, and the set of copied pages */
	COLUMN_LSNS,     /* read a piece of the pages' LSNs */
	COLUMN_RENEW,    /* set a newer LSN of the map's page, and the pages that are still true */
	COLUMN_COUNTS,   /* count distinct wanted keys; the reply covers pages before "offset" */
	COLUMN_MANY      /* find groups with more distinct keys than "count" in the first pages */
} GpuColumnOp;

/* What a request wants of the rows that pass. */
typedef enum GpuProjection
{
	PROJECT_KEYS, /* keys that are not NULL */
	PROJECT_ROWS, /* a key of 0 for each row */
	PROJECT_PAIRS /* keys that are not NULL, with the numbers of a tested column */
} GpuProjection;

/*
 * The keys that a request wants: those of the rows on "pages" that pass the tests of other
 * columns.
 */
typedef struct GpuWanted
{
	GpuPages pages;
	uint32 projection; /* GpuProjection */
	uint32 pair;       /* PROJECT_PAIRS: index of the tested column */
	qb_selection tests;
	GpuRef tested[QB_SELECTION_COLUMNS];
} GpuWanted;

/*
 * The values of all groups, of one family, which get keys together, and the number of keys
 * that each got.
 */
typedef struct GpuGroupValues
{
	qb_groups groups;
	GpuRef value[QB_GROUPS_MAX];
	uint64 added[QB_GROUPS_MAX];
} GpuGroupValues;

/* The keys of a chunk that the values of groups want.  The request's handle is the first value. */
typedef struct GpuWantedOfGroups
{
	GpuWanted wanted;
	GpuGroupValues all;
} GpuWantedOfGroups;

/*
 * The data of COLUMN_PUT: "count" GpuColumnPages, then "bytes" bytes of values.  If
 * "weighted" is set, some values are NULL, and a bitmap of the NULLs follows, in words.
 */
typedef struct GpuColumnPage
{
	uint32 page; /* number in the chunk */
	uint32 rows;
	uint64 lsn;
} GpuColumnPage;

/* The shape of a slot. */
typedef struct GpuColumnShape
{
	uint64 map_lsn;  /* COLUMN_FINISH, COLUMN_RENEW; reply of COLUMN_DESCRIBE */
	uint64 old_lsn;  /* COLUMN_RENEW: the LSN when the chunk was described */
	uint64 keys;     /* reply of COLUMN_DESCRIBE: values that are not NULL */
	uint32 root;     /* COLUMN_CREATE: the partitioned table of "relation", or itself */
	uint32 relation; /* the table that has the chunk */
	uint32 chunk;    /* number of the chunk in "relation" */
} GpuColumnShape;

/*
 * The data of COLUMN_MANY: groups of wanted keys.  The reply tells which groups have many
 * distinct keys.
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
 * The reply of COLUMN_COUNTS has "count" keys, then their counts.  "weighted" tells whether
 * the chunk has NULLs.  At most GPU_COUNTS_MAX distinct keys can be requested.
 */
#define GPU_COUNTS_MAX (GPU_SLOT_WEIGHED / 4)

/* Identifies the values of a column, and the way in which they became numbers or fingerprints. */
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

/* A chunk in the table of handles, or a note on evicted chunks of a column. */
typedef struct GpuCachedColumn
{
	GpuColumn column;
	uint32 chunk;
	GpuRef ref;
	uint64 bytes;
	uint64 used;          /* TimestampTz */
	uint32 pushed_out;    /* evicted chunks; 0: this is a chunk, and the next two are not set */
	Oid pushed_out_by;    /* role that needed the room */
	uint64 pushed_out_at; /* TimestampTz */
} GpuCachedColumn;

/*
 * A chunk, with the pages whose keys a value is to get, of the rows that pass the tests.  A
 * page whose keys were added is taken off the set.
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

/* The number of consecutive pages of the set from "page" on. */
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

/* The first page of the set from "page" on, or GPU_CHUNK_PAGES. */
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

/* Take the pages of another set off this set. */
static inline void
GpuPagesTakeOff(GpuPages *pages, const GpuPages *other)
{
	int i;

	for (i = 0; i < (int) lengthof(pages->word); i++)
		pages->word[i] &= ~other->word[i];
}

/*
 * The number of pages in the set.  Most sets have all pages or none, so few words need a
 * call.  pg_popcount() of PostgreSQL 15 calls a function for each 8 bytes, or for sets that
 * are not aligned to 8 goes byte by byte.
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

/* Take off all pages before this one. */
static inline void
GpuPagesRemoveBefore(GpuPages *pages, uint32 page)
{
	memset(pages->bits, 0, page / 8);
	if (page % 8 != 0)
		pages->bits[page / 8] &= (uint8) (0xff << page % 8);
}

/* Take off this page and all pages behind it. */
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

/* Words of a bitmap that has a bit for each of "rows" rows. */
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
 * The functions here may wait; see client.h.  A chunk may go at any time, since
 * the worker frees chunks to make room.
 */

/* True if there are cached columns and this backend may use them.  Only reads shared memory. */
extern bool GpuColumnsExist(void);

/* Find the cached chunks of a column; serial 0: the chunk is not cached.  Returns their number. */
extern int GpuColumnFind(const GpuColumn *column, GpuRef *ref, uint32 chunks);

/*
 * Lower "pages" of each chunk to the number of its cached pages; 0: the chunk is not cached.
 * The worker is not asked, so the numbers are those at the last query.
 */
extern void GpuColumnCover(const GpuColumn *column, uint32 *pages, uint32 chunks);

/* All cached chunks, and notes on evicted ones, in the current memory context. */
extern GpuCachedColumn *GpuColumnList(int *count);

/* Remove the note that chunks of a column were evicted. */
extern void GpuColumnForgetPushedOut(const GpuColumn *column);

/* ---- making a chunk ---- */

/* A chunk that is being made, with pages that were not sent yet. */
typedef struct GpuColumnLoad
{
	GpuRef ref;
	GpuColumnPage *page; /* room for the pages of a slot */
	uint64 *value;
	uint64 *null; /* bitmap of NULLs */
	int pages;
	int rows;
	bool any_null;
} GpuColumnLoad;

/* Begin the chunk of this shape; false: the worker has no memory for it. */
extern bool GpuColumnBegin(GpuColumnLoad *load, const GpuColumnShape *shape);

/* Room for "rows" values of one more page, which GpuColumnAdd() completes. */
extern uint64 *GpuColumnRoom(GpuColumnLoad *load, int rows);

/* Add the page.  "null" tells for each row whether its value is NULL. */
extern void GpuColumnAdd(GpuColumnLoad *load, uint32 page, uint64 lsn, int rows, const bool *null);

/* End a chunk, and let all backends use it; false: the worker had no memory for it. */
extern bool
GpuColumnEnd(GpuColumnLoad *load, uint64 map_lsn, const GpuColumn *column, uint32 chunk);

/* ---- using a chunk ---- */

/* The state of a chunk. */
typedef struct GpuColumnState
{
	bool there; /* false: the chunk is gone, and nothing else is set */
	uint64 map_lsn;
	uint64 keys;
	GpuPages *copied; /* the copied pages; NULL: exactly the pages before "first" */
	uint32 first;
} GpuColumnState;

/* Keep only the pages that were copied, by the state of the chunk. */
static inline void
GpuPagesKeepCopied(GpuPages *pages, const GpuColumnState *state)
{
	if (state->copied)
		GpuPagesKeep(pages, state->copied);
	else
		GpuPagesRemoveFrom(pages, state->first);
}

/*
 * The states of "count" chunks; serial 0: there is no chunk.  A state that the worker shows
 * in shared memory (GpuChunkState) is read there.  For other chunks the worker is asked,
 * several requests at a time.
 */
extern void GpuColumnDescribe(const GpuRef *ref, uint32 count, GpuColumnState *state);

/* Free the states, with their sets of pages. */
extern void GpuColumnFreeStates(GpuColumnState *state, uint32 count);

/* Read the LSNs of a chunk's pages; false: the chunk is gone. */
extern bool GpuColumnLsns(const GpuRef *ref, uint64 *lsn);
extern void
GpuColumnRenew(const GpuRef *ref, uint64 old_lsn, uint64 map_lsn, const GpuPages *pages);

/* Distinct keys of pages, and the number of times that each came. */
typedef struct GpuKeyCounts
{
	int count;  /* one more than was requested: there are too many, and nothing else is set */
	bool nulls; /* the chunk has NULLs, perhaps in other pages */
	uint64 key[GPU_COUNTS_MAX];
	int64 times[GPU_COUNTS_MAX];
} GpuKeyCounts;

/* The device of a chunk; -1: not known. */
static inline int
GpuColumnDevice(const GpuColumnChunk *chunk)
{
	return gpu_shared->handle[chunk->ref.index].device;
}

/* Write into a slot which keys of a chunk are wanted. */
extern void GpuColumnWant(GpuSlot *slot, const GpuColumnChunk *chunk);

/* Order chunks so that the devices alternate, and all of them are at work. */
extern void GpuColumnInterleave(GpuColumnChunk *chunk, int chunks);

/*
 * Have a value on a device get the keys of a column's chunks, by a request of its family such
 * as SKETCH_COLUMN; false: not the keys of all pages were added.  Pages whose keys were added
 * are taken off their sets, and "added" becomes the number of these keys.  With "added" NULL
 * the sets do not change.  The request for the last chunk of a device has count 1, the others
 * 0.
 */
extern bool
GpuColumnSend(const GpuRef *ref, int op, const GpuColumnChunk *chunk, int chunks, int64 *added);

/*
 * Have the values of groups get the keys of chunks, and add up the number of keys that each
 * got.  False: some keys could not be added, and it is not known which.
 */
extern bool
GpuColumnSendGroups(int op, GpuGroupValues *groups, const GpuColumnChunk *chunk, int chunks);

/*
 * Like GpuColumnSend(), or GpuColumnSendGroups(), for values on several devices: chunk i is for value
 * ref[i], or for the values of groups[i].  "groups" may be NULL; else ref[i] is their first value.
 */
extern bool GpuColumnSendEach(int op, const GpuRef *ref, GpuGroupValues *const *groups,
							  const GpuColumnChunk *chunk, int chunks, int64 *added);

/*
 * Count the distinct keys of chunks, several at a time.  Pages whose keys were counted are
 * taken off their sets.  It ends when all are counted or "take" returns false.  "take" may
 * not wait for the worker.  If a chunk has more than "most" distinct keys, its pages stay.
 * "take" may get a chunk several times, with other pages.  False: a chunk is gone, or the
 * device has no memory for it.
 */
typedef bool (*GpuTakeCounts)(void *context, const GpuKeyCounts *counts);
extern bool GpuColumnCountsAll(const GpuColumnChunk *chunk, int chunks, int most,
							   GpuTakeCounts take, void *context);

/*
 * Find the groups that have more than "most" distinct keys in the first pages of a chunk.
 * False: the chunk is gone, or the device has no memory.
 */
extern bool
GpuColumnMany(const GpuColumnChunk *chunk, const qb_groups *groups, int most, bool *many);

/*
 * ---- exact counts of all keys of a column, from its cached chunks and from pages that were read ----
 *
 * The worker collects keys on the devices of their chunks.  Each device makes a list of its
 * distinct keys.  Then the keys are divided into ranges, one for each device.  Each device
 * adds up the counts of its range, and orders its keys by how often they came.  A backend
 * gets the most frequent keys.  If counts do not fit into device memory they are given up,
 * and the backend counts without the worker.
 */

typedef enum GpuExactOp
{
	EXACT_CREATE,  /* make counts without keys, with room for this number of keys */
	EXACT_COLUMN,  /* count keys of a chunk, "other"; after its last one, a device makes its list */
	EXACT_KEYS,    /* count keys that a backend has read */
	EXACT_DEVICES, /* which devices have keys?  No more keys come after this */
	EXACT_LIST,    /* for one device, like the next three: make its list */
	EXACT_FIND,    /* with several devices, after all lists: find where the ranges begin */
	EXACT_ORDER,   /* after that: add up the range, and order it */
	EXACT_READ     /* read a piece of the range's most frequent keys: keys, then counts */
} GpuExactOp;

/*
 * Begin to count at most "keys" keys; false: no memory.  Keys come by GpuColumnSend() and
 * GpuPostKeys().
 */
extern bool GpuExactBegin(GpuRef *ref, uint64 keys);

/* A key, and the number of times that it came. */
typedef struct GpuExactKey
{
	int64 key;
	int64 times;
} GpuExactKey;

/*
 * The most frequent keys, at most "most", the most frequent one first; equally frequent keys
 * are in ascending order.  Returned in the current memory context; NULL: the device had no
 * memory.  After this the counts take no more keys.
 */
extern GpuExactKey *GpuExactBest(const GpuRef *ref, int most, int *count);

#endif
