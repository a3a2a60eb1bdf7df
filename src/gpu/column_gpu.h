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
 * Values of a chunk never change.  What may change is which pages count as copied, and the
 * LSN of the map's page for which that is known.
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

/* Heap pages that one page of the visibility map covers, 4 in a byte. */
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
	COLUMN_CREATE,   /* an empty chunk */
	COLUMN_PUT,      /* pages with their values, in the order of pages */
	COLUMN_FINISH,   /* all pages are there; the LSN of the map's page before they were read */
	COLUMN_DESCRIBE, /* the reply says that LSN, and which pages were copied */
	COLUMN_LSNS,     /* a piece of the pages' LSNs */
	COLUMN_RENEW,    /* a newer LSN of the map's page, and the pages that are still true */
	COLUMN_COUNTS,   /* distinct wanted keys; the reply has those of pages up to "offset" */
	COLUMN_MANY      /* which groups have more distinct keys than "count" in the first pages */
} GpuColumnOp;

/* What is wanted of the rows that pass. */
typedef enum GpuProjection
{
	PROJECT_KEYS, /* keys that are not NULL */
	PROJECT_ROWS, /* a key 0 for each row */
	PROJECT_PAIRS /* keys that are not NULL, and beside them those of a tested column */
} GpuProjection;

/* Keys that are wanted: those of the rows on "pages" that pass the tests of other columns. */
typedef struct GpuWanted
{
	GpuPages pages;
	uint32 projection; /* GpuProjection */
	uint32 pair;       /* PROJECT_PAIRS: the tested column */
	qb_selection tests;
	GpuRef tested[QB_SELECTION_COLUMNS];
} GpuWanted;

/* Values of groups, of one family, that get keys together; and how many keys each of them got. */
typedef struct GpuGroupValues
{
	qb_groups groups;
	GpuRef value[QB_GROUPS_MAX];
	uint64 added[QB_GROUPS_MAX];
} GpuGroupValues;

/* Keys of a chunk for the values of groups, of which the handle is the first. */
typedef struct GpuWantedOfGroups
{
	GpuWanted wanted;
	GpuGroupValues all;
} GpuWantedOfGroups;

/*
 * COLUMN_PUT: "count" GpuColumnPages, then "bytes" bytes of values.  If any value is NULL
 * ("weighted"), a bitmap of the NULLs follows, in words.
 */
typedef struct GpuColumnPage
{
	uint32 page; /* in the chunk */
	uint32 rows;
	uint64 lsn;
} GpuColumnPage;

/* In the shape of a slot. */
typedef struct GpuColumnShape
{
	uint64 map_lsn;  /* COLUMN_FINISH, COLUMN_RENEW; reply of COLUMN_DESCRIBE */
	uint64 old_lsn;  /* COLUMN_RENEW: the LSN that the chunk was described with */
	uint64 keys;     /* reply of COLUMN_DESCRIBE: values that are not NULL */
	uint32 root;     /* COLUMN_CREATE: the table that "relation" is a partition of, or itself */
	uint32 relation; /* the table that has the chunk */
	uint32 chunk;    /* the number of the chunk in "relation" */
} GpuColumnShape;

/* COLUMN_MANY: groups of wanted keys; the reply says which have many distinct ones. */
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
 * The reply of COLUMN_COUNTS: "count" keys, then as many counts; and whether
 * the chunk has NULLs ("weighted").  Nobody asks for more distinct keys than
 * there is room for.
 */
#define GPU_COUNTS_MAX (GPU_SLOT_WEIGHED / 4)

/* What identifies the values of a column, and their fingerprints. */
typedef struct GpuColumn
{
	Oid database;
	Oid relation;
	Oid tablespace;
	uint32 file; /* relfilenumber: a rewritten table has another one */
	Oid type;
	int32 typmod;
	Oid collation; /* of the keys */
	int16 attribute;
	int16 zero;
} GpuColumn;

StaticAssertDecl(sizeof(GpuColumn) <= sizeof(((StoredName *) 0)->header),
				 "name of a column does not fit");

/* A chunk as the table of handles has it; or what was pushed out of a column. */
typedef struct GpuCachedColumn
{
	GpuColumn column;
	uint32 chunk;
	GpuRef ref;
	uint64 bytes;
	uint64 used;          /* TimestampTz */
	uint32 pushed_out;    /* chunks; 0: this is a chunk, and the next two are not set */
	Oid pushed_out_by;    /* role */
	uint64 pushed_out_at; /* TimestampTz */
} GpuCachedColumn;

/*
 * Pages of a chunk whose keys a value is to get, of the rows that pass the tests.  Pages
 * that it got are taken off the set.
 */
typedef struct GpuColumnChunk
{
	GpuRef ref;
	GpuPages *pages;
	GpuProjection projection;
	uint32 pair;
	const qb_selection *tests; /* NULL: of all rows */
	GpuRef tested[QB_SELECTION_COLUMNS];
} GpuColumnChunk;

static inline bool
GpuPagesHave(const GpuPages *pages, uint32 page)
{
	return pages->bits[page / 8] >> page % 8 & 1;
}

/* How many pages of the set come one after the other from "page" on. */
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

/* Take off the pages of another set. */
static inline void
GpuPagesTakeOff(GpuPages *pages, const GpuPages *other)
{
	int i;

	for (i = 0; i < (int) lengthof(pages->word); i++)
		pages->word[i] &= ~other->word[i];
}

/*
 * Mostly a set has all pages or none, and few words need a call.  pg_popcount() of PostgreSQL 15 calls a
 * function for each 8 bytes, or goes byte by byte through sets that are not aligned to 8.
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

/* Take off this page and all behind it. */
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

/* Words of a bitmap with a bit for each of so many rows. */
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

/* Are there cached columns, and may this backend use them?  One look at shared memory. */
extern bool GpuColumnsExist(void);

/* Find the cached chunks of a column; serial 0: none.  Their number. */
extern int GpuColumnFind(const GpuColumn *column, GpuRef *ref, uint32 chunks);

/*
 * Lower "pages" of each chunk to the number of pages that are cached, or to 0
 * if there is no such chunk.  The worker is not asked: the numbers are those
 * that a query left last.
 */
extern void GpuColumnCover(const GpuColumn *column, uint32 *pages, uint32 chunks);

/* All cached chunks, and what was pushed out, in memory of the caller's context. */
extern GpuCachedColumn *GpuColumnList(int *count);

/* Forget that chunks of a column were pushed out. */
extern void GpuColumnForgetPushedOut(const GpuColumn *column);

/* ---- making a chunk ---- */

/* Pages on their way. */
typedef struct GpuColumnLoad
{
	GpuRef ref;
	GpuColumnPage *page; /* room for a slot's */
	uint64 *value;
	uint64 *null; /* bitmap */
	int pages;
	int rows;
	bool any_null;
} GpuColumnLoad;

/* Begin the chunk of this shape; false if the worker has no memory for it. */
extern bool GpuColumnBegin(GpuColumnLoad *load, const GpuColumnShape *shape);

/* Room for so many values of one more page.  They count with GpuColumnAdd(). */
extern uint64 *GpuColumnRoom(GpuColumnLoad *load, int rows);

/* Add the page.  "null" says for each row whether it is NULL. */
extern void GpuColumnAdd(GpuColumnLoad *load, uint32 page, uint64 lsn, int rows, const bool *null);

/* End a chunk and leave it to all backends; false if the worker had no memory for it. */
extern bool
GpuColumnEnd(GpuColumnLoad *load, uint64 map_lsn, const GpuColumn *column, uint32 chunk);

/* ---- using a chunk ---- */

/* What a chunk says of itself. */
typedef struct GpuColumnState
{
	bool there; /* false: it is gone, and nothing else is set */
	uint64 map_lsn;
	uint64 keys;
	GpuPages *copied; /* the copied pages; NULL: they are those before "first" */
	uint32 first;
} GpuColumnState;

/* Keep the pages that the chunk says were copied. */
static inline void
GpuPagesKeepCopied(GpuPages *pages, const GpuColumnState *state)
{
	if (state->copied)
		GpuPagesKeep(pages, state->copied);
	else
		GpuPagesRemoveFrom(pages, state->first);
}

/*
 * The states of "count" chunks; serial 0: there is no chunk.  What the worker shows in shared memory
 * (GpuChunkShown) is read there.  The worker is asked about the others, several at a time.
 */
extern void GpuColumnDescribe(const GpuRef *ref, uint32 count, GpuColumnState *state);

/* Free states, and what was made for them. */
extern void GpuColumnFreeStates(GpuColumnState *state, uint32 count);

/* The LSNs of a chunk's pages; false if it is gone. */
extern bool GpuColumnLsns(const GpuRef *ref, uint64 *lsn);
extern void
GpuColumnRenew(const GpuRef *ref, uint64 old_lsn, uint64 map_lsn, const GpuPages *pages);

/* Distinct keys of pages, and how often each came. */
typedef struct GpuKeyCounts
{
	int count;  /* one more than was asked for: there are more, and nothing else is set */
	bool nulls; /* the chunk has NULLs, in whatever pages */
	uint64 key[GPU_COUNTS_MAX];
	int64 times[GPU_COUNTS_MAX];
} GpuKeyCounts;

/* The device that a chunk is on, or -1. */
static inline int
GpuColumnDevice(const GpuColumnChunk *chunk)
{
	return gpu_shared->handle[chunk->ref.index].device;
}

/* Write into a slot which keys of a chunk are wanted. */
extern void GpuColumnWant(GpuSlot *slot, const GpuColumnChunk *chunk);

/* Bring chunks into an order in which those of all devices alternate, so that all are at work. */
extern void GpuColumnInterleave(GpuColumnChunk *chunk, int chunks);

/*
 * Have a value on a device get the keys of chunks of a column, by a request of its family
 * such as SKETCH_COLUMN; false: not those of all pages.  The pages whose keys it got are taken
 * off their sets, and "added" is how many keys these were; NULL: the sets stay.  The slot's
 * count is 1 in the request for the last chunk of a device, else 0.
 */
extern bool
GpuColumnSend(const GpuRef *ref, int op, const GpuColumnChunk *chunk, int chunks, int64 *added);

/*
 * Have the values of groups get the keys of chunks, and add how many each of them got.  False: not
 * all keys could be added, and nobody knows which.
 */
extern bool
GpuColumnSendGroups(int op, GpuGroupValues *groups, const GpuColumnChunk *chunk, int chunks);

/*
 * Count distinct keys of chunks, several at a time, and take the pages off their sets whose keys
 * were counted, until that is all or "take" returns false.  It may not wait for the worker.  If a
 * chunk has more than "most" distinct keys its pages stay.  A chunk may come several times, with
 * other pages.  False: a chunk is gone, or the device has no room for it.
 */
typedef bool (*GpuTakeCounts)(void *context, const GpuKeyCounts *counts);
extern bool GpuColumnCountsAll(const GpuColumnChunk *chunk, int chunks, int most,
							   GpuTakeCounts take, void *context);

/*
 * Which groups have more than "most" distinct keys in the first pages of a
 * chunk?  False: a chunk is gone, or the device has no room.
 */
extern bool
GpuColumnMany(const GpuColumnChunk *chunk, const qb_groups *groups, int most, bool *many);

/*
 * ---- exact counts of all keys of a column, from its cached chunks and from pages that were read ----
 *
 * The worker collects keys on the devices of their chunks.  Each device makes a list of its distinct
 * keys.  Then the devices share the keys out by ranges: each adds up its range, and orders it by how
 * often the keys came.  A backend gets those that are the most frequent.  Counts that do not fit into
 * device memory are given up: then the backend counts without the worker.
 */

typedef enum GpuExactOp
{
	EXACT_CREATE,  /* counts of no keys, for so many keys */
	EXACT_COLUMN,  /* keys of a chunk, the other handle; the last one of a device makes its list */
	EXACT_KEYS,    /* keys that a backend has read */
	EXACT_DEVICES, /* which devices have keys?  After this no more come */
	EXACT_LIST,    /* of one device, as the next three: make its list */
	EXACT_FIND,    /* if there are several, after all lists: find where the ranges begin */
	EXACT_ORDER,   /* after that: add up its range, and order it */
	EXACT_READ     /* a piece of the most frequent keys of its range: keys, then counts */
} GpuExactOp;

/*
 * Begin to count so many keys or fewer; false: no memory.  Keys come by GpuColumnSend() and
 * GpuPostKeys().
 */
extern bool GpuExactBegin(GpuRef *ref, uint64 keys);

/* A key, and how often it came. */
typedef struct GpuExactKey
{
	int64 key;
	int64 times;
} GpuExactKey;

/*
 * The most frequent keys, at most "most": the first one first, and of equally frequent
 * ones the smallest.  In memory of the caller's context; NULL: there was no memory on
 * the device.  The counts take no more keys.
 */
extern GpuExactKey *GpuExactBest(const GpuRef *ref, int most, int *count);

#endif
