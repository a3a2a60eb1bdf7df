/*
 * sets_gpu.h
 *		Sets on a GPU: the requests, and a source of pairs for the functions on sets.
 *
 * A collection is sent to a device piece by piece, offsets before elements.  The worker copies the
 * whole collection to other devices.  A search for pairs is a separate value, because several
 * searches may use one cached collection.  A search receives ranges of rows, and returns the pairs
 * of each range piece by piece.
 *
 * src/gpu/sets_gpu.h
 */
#ifndef QS_GPU_SETS_GPU_H
#define QS_GPU_SETS_GPU_H

#include "gpu/client.h"
#include "gpu/column_gpu.h"
#include "gpu/gpu.h"

#include "sets/pairs.h"

typedef enum GpuSetsOp
{
	SETS_CREATE,   /* make a collection of these sizes on "device"; -1: on any device */
	SETS_IDS,      /* write a piece of the ids, which the worker stores, from byte "offset" on */
	SETS_OFFSETS,  /* write a piece of the offsets */
	SETS_ELEMENTS, /* write a piece of the elements */
	SETS_INDEX,    /* after all pieces: index the collection */
	SETS_COPY,     /* make a copy of collection "other" on another device */
	SETS_MAKE,     /* make a collection of the sorted rows of "other" (sets_memberships.c) */
	SETS_GET_IDS,  /* read a piece of the ids */
	SETS_GET_OFFSETS,
	SETS_SEARCH,  /* make a search whose rows and columns are the sets of "other" */
	SETS_AGAINST, /* make the sets of "other" the columns of a search */
	SETS_OPEN,    /* prepare a search; the reply has its expected time */
	SETS_ROWS,    /* begin to search a range of rows */
	SETS_PAIRS    /* the reply has the next "count" pairs of the range */
} GpuSetsOp;

typedef struct GpuSetsShape
{
	uint64 sets;
	uint64 elements;
	uint64 universe;
	int device;
} GpuSetsShape;

typedef struct GpuSetsSearch
{
	qset_filter filter;
	int method;
	bool directed;
} GpuSetsSearch;

typedef struct GpuSetsRows
{
	uint64 first;
	uint64 count;
} GpuSetsRows;

typedef struct GpuSetsReply
{
	/* reply of SETS_PAIRS */
	bool over; /* the range has no more pairs */
	uint64 at; /* changes whenever the search makes progress */

	/* reply of SETS_OPEN; SETS_INDEX sets only "ms" */
	double ms;  /* SETS_INDEX: time of indexing; SETS_OPEN: expected time of the search */
	int method; /* the qset_method that was chosen */
} GpuSetsReply;

StaticAssertDecl(sizeof(GpuSetsShape) <= sizeof(GpuShape), "shape of a collection does not fit");
StaticAssertDecl(sizeof(GpuSetsSearch) <= sizeof(GpuShape), "a search does not fit");

/* The number of pairs that a slot holds. */
#define GPU_SLOT_PAIRS (GPU_SLOT_BYTES / sizeof(qset_pair))

/* ---- the GPU as functions on sets see it ---- */

/* Names collections for the worker's cache. */
extern const GpuStored gpu_stored_sets;

typedef struct GpuPairs GpuPairs;

/*
 * True if the GPU should find the pairs of collections with this number of elements.  The reason
 * for the choice is written into "why".
 */
extern bool GpuWantsPairs(uint64 elements, char why[GPU_TEXT_BYTES]);

/*
 * What a backend knows about a collection that it has not read: its sizes, and the offsets and ids
 * of its sets.
 */
typedef struct GpuKept
{
	uint64 sets;
	uint64 elements;
	uint64 *offset;
	int64 *id;
} GpuKept;

/* The origin of the collections of a search. */
typedef enum GpuPairsOrigin
{
	PAIRS_READ,     /* the collections in "request" */
	PAIRS_KEPT,     /* one collection, which the worker may have in its cache */
	PAIRS_ON_DEVICE /* one collection, of sorted rows that are only on a device */
} GpuPairsOrigin;

typedef struct GpuPairsSource
{
	GpuPairsOrigin origin;
	const qset_request *request;
	const StoredName *name;    /* READ: name for the cache, or NULL; KEPT: name in the cache */
	const GpuRef *memberships; /* ON_DEVICE: the handle of the rows */
	GpuKept known; /* ON_DEVICE: all members; KEPT: sizes only, GpuPairsOpen() sets the arrays */

	/* Called after a search in "rows" rows has begun, and before pairs are requested. */
	void (*begun)(void *context, uint64 rows);
	void *context;
} GpuPairsSource;

/*
 * Copy the collections to a device, begin the search, and wait for the first pairs.  NULL with the
 * reason in "why": no memory, or the worker failed and the CPU may find the pairs.  For PAIRS_KEPT,
 * "why" is not set, and NULL may also mean that the collection is not cached.  The worker's values
 * for the search are dropped with the current memory context at the latest.
 */
extern GpuPairs *GpuPairsOpen(GpuPairsSource *source, char why[GPU_TEXT_BYTES]);

/*
 * Return the next pairs, at most "most", in the order of qset_job_next(); *count 0: no pairs are
 * left.  The pairs are valid until the next call.
 */
extern const qset_pair *GpuPairsNext(GpuPairs *pairs, uint64 most, uint64 *count);

extern void GpuPairsClose(GpuPairs *pairs);

/* The qset_method of the search. */
extern int GpuPairsMethod(const GpuPairs *pairs);

/* The number of devices that run the search. */
extern int GpuPairsDevices(const GpuPairs *pairs);

/*
 * ---- rows (set id, element) that will become a collection of sets on a device ----
 *
 * Rows are gathered from two cached columns, or sent by a backend that has read them.  All rows are
 * on the device of the first rows.  At the end, the worker sorts the rows and removes duplicates.
 * The worker then makes a collection of the sorted rows (SETS_MAKE), or a backend fetches the
 * arrays of sets/collection.h.
 *
 * If the device has no memory for more rows, or for sorting, the backend fetches the unsorted rows.
 */

typedef enum GpuMembershipsOp
{
	MEMBERSHIPS_CREATE, /* begin without rows */

	/*
	 * Add rows of a chunk.  The elements are the keys of chunk "other".  The ids are the values of
	 * the tested column "pair".  In the reply, "done" is the number of added rows, and "offset" is
	 * the first page that was not read.
	 */
	MEMBERSHIPS_COLUMN,
	MEMBERSHIPS_ROWS, /* add rows: "count" ids, then "count" elements */
	MEMBERSHIPS_SORT, /* after all rows: sort the rows; the reply has the sizes */
	MEMBERSHIPS_READ  /* read a piece of array number "count" (GpuMembershipsArray) */
} GpuMembershipsOp;

typedef enum GpuMembershipsArray
{
	MEMBERSHIPS_ROW_IDS, /* before sorting: the rows */
	MEMBERSHIPS_ROW_ELEMENTS,
	MEMBERSHIPS_IDS, /* after sorting: arrays of the collection */
	MEMBERSHIPS_OFFSETS,
	MEMBERSHIPS_RANKS,
	MEMBERSHIPS_VALUES /* elements, by rank */
} GpuMembershipsArray;

/* The shape in the reply of MEMBERSHIPS_SORT. */
typedef struct GpuMembershipsSizes
{
	uint64 sets;
	uint64 elements;
	uint64 universe;
} GpuMembershipsSizes;

static inline Size
GpuMembershipsItemBytes(GpuMembershipsArray array)
{
	return array == MEMBERSHIPS_RANKS ? sizeof(uint32) : sizeof(uint64);
}

/* ---- a backend's calls, which may wait ---- */

/* Rows on a device.  The rows are dropped with the memory context of this struct. */
typedef struct GpuMemberships
{
	GpuScopedHandle handle;
	uint64 rows; /* number of added rows */
} GpuMemberships;

/* Begin without rows; NULL: no memory or no handle is free. */
extern GpuMemberships *GpuMembershipsBegin(MemoryContext context);

/*
 * Add rows of chunks.  Pages whose rows were added are removed from the chunks' sets.  Returns the
 * number of added rows.
 */
extern int64
GpuMembershipsAddColumns(GpuMemberships *memberships, const GpuColumnChunk *chunk, int chunks);

/*
 * Add at most GPU_SLOT_WEIGHED rows.  False: the device has no memory, or there are too many rows.
 * Then no row was added.
 */
extern bool GpuMembershipsAddRows(GpuMemberships *memberships, const int64 *id,
								  const uint64 *element, uint32 count);

/*
 * Sort the rows after all rows were added; false: the device has no memory, and the rows are
 * unchanged.
 */
extern bool GpuMembershipsSort(GpuMemberships *memberships, GpuMembershipsSizes *sizes);

/* Fetch "count" items of an array, from item "first" on. */
extern void GpuMembershipsRead(GpuMemberships *memberships, GpuMembershipsArray array, uint64 first,
							   uint64 count, void *to);

/* ---- a function of the worker ---- */

/* The sorted rows of a handle, with their sizes and their device; NULL: no sorted rows. */
extern struct qset_cuda_memberships *
GpuMembershipsSorted(int index, GpuMembershipsSizes *sizes, int *device);

#endif
