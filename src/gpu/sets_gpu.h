/*
 * sets_gpu.h
 *		Sets on a GPU: requests, and what functions on sets see: a source of pairs.
 *
 * A collection goes to a device of the worker piece by piece, offsets first.  From
 * there it goes to other devices as a whole.  A search for pairs is a value of its
 * own, because several searches may run in one kept collection.  A search is given
 * rows to look at, and gives their pairs piece by piece.
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
	SETS_CREATE,   /* a collection of a size, on a device; -1: on any */
	SETS_IDS,      /* a piece of its ids, from "offset" on: for a backend that finds it kept */
	SETS_OFFSETS,  /* a piece of its offsets */
	SETS_ELEMENTS, /* a piece of its elements */
	SETS_INDEX,    /* all is there: index it */
	SETS_COPY,     /* a collection that is there as "other" is, on another device */
	SETS_MAKE,     /* a collection of the sorted rows of "other" (sets_memberships.c) */
	SETS_GET_IDS,  /* a piece of the ids back */
	SETS_GET_OFFSETS,
	SETS_SEARCH,  /* a search whose rows are the sets of "other", and its columns too */
	SETS_AGAINST, /* its columns are those of "other" */
	SETS_OPEN,    /* prepare it: the reply says how long it might take */
	SETS_ROWS,    /* begin with these rows */
	SETS_PAIRS    /* their next pairs: the reply has them, "count", and if these are all */
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
	/* SETS_PAIRS */
	bool over; /* the rows begun with have no more pairs */
	uint64 at; /* a number that changes as the search gets on */

	/* SETS_OPEN; SETS_INDEX has "ms" alone */
	double ms;  /* expected time of all rows, 0: not known; time that the index took */
	int method; /* qset_method that was chosen */
} GpuSetsReply;

StaticAssertDecl(sizeof(GpuSetsShape) <= sizeof(GpuShape), "shape of a collection does not fit");
StaticAssertDecl(sizeof(GpuSetsSearch) <= sizeof(GpuShape), "a search does not fit");

/* Pairs that a slot holds. */
#define GPU_SLOT_PAIRS (GPU_SLOT_BYTES / sizeof(qset_pair))

/* ---- the GPU as functions on sets see it ---- */

/* Cached collections. */
extern const GpuStored gpu_stored_sets;

typedef struct GpuPairs GpuPairs;

/* Is the GPU to find the pairs of collections with so many elements?  "why" says why. */
extern bool GpuWantsPairs(uint64 elements, char why[GPU_TEXT_BYTES]);

/* A collection as far as it is known here: the sizes of its sets, and their ids. */
typedef struct GpuKept
{
	uint64 sets;
	uint64 elements;
	uint64 *offset;
	int64 *id;
} GpuKept;

/* Where the collections of a search are. */
typedef enum GpuPairsPlace
{
	PAIRS_READ, /* in the request */
	PAIRS_KEPT, /* one collection, which the worker may keep under the name of its value */
	PAIRS_MADE  /* one collection of rows that are sorted on a device, and nowhere else */
} GpuPairsPlace;

typedef struct GpuPairsSource
{
	GpuPairsPlace place;
	const qset_request *request;
	const StoredName *name; /* READ: to keep the collection, NULL: it has none; KEPT: to find it */
	const GpuRef *memberships; /* MADE: the rows */
	GpuKept known;             /* MADE: all; KEPT: the numbers of sets and elements, and then all */

	/* Is told that a search in so many rows has begun, before its first pair is found. */
	void (*begun)(void *context, uint64 rows);
	void *context;
} GpuPairsSource;

/*
 * Have the collections on a device, and wait for the first pairs.  NULL: there is no room, or the
 * worker was lost and the CPU may do it, and "why" says which; or the worker does not keep the
 * collection.  What the worker holds for the search goes with the current memory context at the
 * latest.
 */
extern GpuPairs *GpuPairsOpen(GpuPairsSource *source, char why[GPU_TEXT_BYTES]);

/*
 * The next pairs, at most so many, in the order of qset_job_next(); *count 0: there
 * are no more.  They are good until the next call.
 */
extern const qset_pair *GpuPairsNext(GpuPairs *pairs, uint64 most, uint64 *count);

extern void GpuPairsClose(GpuPairs *pairs);

/* The qset_method by which. */
extern int GpuPairsMethod(const GpuPairs *pairs);

/* Devices that work on it. */
extern int GpuPairsDevices(const GpuPairs *pairs);

/*
 * ---- rows (set id, element) that are to become a collection of sets on a device ----
 *
 * Rows come from two cached columns, or are sent by a backend that has read them.  In
 * the end the worker sorts them and makes them unique.  From that it makes a collection to
 * search in (SETS_MAKE), or a backend fetches the arrays of sets/collection.h.
 *
 * A device may have no room for more rows, or none to sort them.  Then a backend fetches
 * the rows themselves.
 */

typedef enum GpuMembershipsOp
{
	MEMBERSHIPS_CREATE, /* no rows; their device is that of the first chunk */

	/*
	 * Rows of chunks: elements are those of the other handle, and ids those of the wanted
	 * pair's column.  The reply says how many rows were added, "done", of all wanted pages
	 * before page "offset".
	 */
	MEMBERSHIPS_COLUMN,
	MEMBERSHIPS_ROWS, /* "count" ids, then as many elements */
	MEMBERSHIPS_SORT, /* no more rows come; the reply has sizes */
	MEMBERSHIPS_READ  /* a piece of array "count" */
} GpuMembershipsOp;

typedef enum GpuMembershipsArray
{
	MEMBERSHIPS_ROW_IDS, /* rows, if they are not sorted */
	MEMBERSHIPS_ROW_ELEMENTS,
	MEMBERSHIPS_IDS, /* the arrays of the collection, if they are */
	MEMBERSHIPS_OFFSETS,
	MEMBERSHIPS_RANKS,
	MEMBERSHIPS_VALUES /* of elements, by rank */
} GpuMembershipsArray;

/* In the shape of a slot: the reply of MEMBERSHIPS_SORT. */
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

/* Rows of a collection on a device, until their memory context goes. */
typedef struct GpuMemberships
{
	GpuOwned owned;
	uint64 rows; /* that were added */
} GpuMemberships;

/* No rows yet; NULL: the worker has no memory. */
extern GpuMemberships *GpuMembershipsBegin(MemoryContext context);

/* Add rows of chunks, and take the pages off their sets that were done.  Returns how many. */
extern int64
GpuMembershipsAddColumns(GpuMemberships *memberships, const GpuColumnChunk *chunk, int chunks);

/* Add at most GPU_SLOT_WEIGHED rows; false: there is no room, and nothing has changed. */
extern bool GpuMembershipsAddRows(GpuMemberships *memberships, const int64 *id,
								  const uint64 *element, uint32 count);

/* End with the rows; false: there is no room to sort them, and nothing has changed. */
extern bool GpuMembershipsSort(GpuMemberships *memberships, GpuMembershipsSizes *sizes);

/* Fetch items of an array. */
extern void GpuMembershipsRead(GpuMemberships *memberships, GpuMembershipsArray array, uint64 first,
							   uint64 count, void *to);

/* ---- the worker's ---- */

/* The sorted rows of a handle, their sizes and their device; NULL: there are none. */
extern struct qset_cuda_memberships *
GpuMembershipsSorted(int index, GpuMembershipsSizes *sizes, int *device);

#endif
