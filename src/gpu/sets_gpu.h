/*
 * sets_gpu.h
 *		Sets on a GPU: the requests, and a source of pairs for the functions on sets.
 *
 * A collection goes to a device of the worker piece by piece, offsets first.  From there it
 * goes to other devices as a whole.  A search for pairs is a value of its own, because
 * several searches may run in one kept collection.  A search gets ranges of rows, and returns
 * their pairs piece by piece.
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
	SETS_CREATE,   /* make a collection of a size, on a device; -1: on any */
	SETS_IDS,      /* write a piece of its ids, from "offset" on; kept for other backends */
	SETS_OFFSETS,  /* write a piece of its offsets */
	SETS_ELEMENTS, /* write a piece of its elements */
	SETS_INDEX,    /* all pieces were sent: index it */
	SETS_COPY,     /* make a copy of collection "other" on another device */
	SETS_MAKE,     /* make a collection of the sorted rows of "other" (sets_memberships.c) */
	SETS_GET_IDS,  /* read a piece of its ids */
	SETS_GET_OFFSETS,
	SETS_SEARCH,  /* make a search whose rows and columns are the sets of "other" */
	SETS_AGAINST, /* set its columns: the sets of "other" */
	SETS_OPEN,    /* prepare it; the reply has the time that it might take */
	SETS_ROWS,    /* begin with a range of rows */
	SETS_PAIRS    /* read the range's next "count" pairs, and whether they are the last */
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
	bool over; /* there are no more pairs of the range */
	uint64 at; /* changes whenever the search makes progress */

	/* SETS_OPEN; SETS_INDEX has "ms" alone */
	double ms;  /* SETS_OPEN: expected time, 0: not known; SETS_INDEX: its time */
	int method; /* the qset_method that was chosen */
} GpuSetsReply;

StaticAssertDecl(sizeof(GpuSetsShape) <= sizeof(GpuShape), "shape of a collection does not fit");
StaticAssertDecl(sizeof(GpuSetsSearch) <= sizeof(GpuShape), "a search does not fit");

/* The number of pairs that a slot holds. */
#define GPU_SLOT_PAIRS (GPU_SLOT_BYTES / sizeof(qset_pair))

/* ---- the GPU as functions on sets see it ---- */

/* Cached collections. */
extern const GpuStored gpu_stored_sets;

typedef struct GpuPairs GpuPairs;

/*
 * True if the GPU should find the pairs of collections with this number of elements.  "why"
 * gets the reason.
 */
extern bool GpuWantsPairs(uint64 elements, char why[GPU_TEXT_BYTES]);

/* What a backend knows of a kept collection: its sizes, and the ids of its sets. */
typedef struct GpuKept
{
	uint64 sets;
	uint64 elements;
	uint64 *offset;
	int64 *id;
} GpuKept;

/* Where the collections of a search come from. */
typedef enum GpuPairsOrigin
{
	PAIRS_READ,     /* the request has them */
	PAIRS_KEPT,     /* one collection, which the worker may keep under the name of its value */
	PAIRS_ON_DEVICE /* one collection, of rows that are sorted on a device, and are nowhere else */
} GpuPairsOrigin;

typedef struct GpuPairsSource
{
	GpuPairsOrigin origin;
	const qset_request *request;
	const StoredName *name;    /* READ: to keep the collection; NULL: not kept; KEPT: to find it */
	const GpuRef *memberships; /* ON_DEVICE: the rows */
	GpuKept known; /* ON_DEVICE: all is set; KEPT: numbers of sets and elements, later all */

	/* Called when a search in "rows" rows has begun, before its first pair is found. */
	void (*begun)(void *context, uint64 rows);
	void *context;
} GpuPairsSource;

/*
 * Bring the collections to a device, and wait for the first pairs.  NULL in these cases:
 * there is no memory, or the worker was lost and the CPU may find the pairs, with the reason
 * in "why"; or the worker does not keep the collection.  The worker's values for the search
 * are dropped with the current memory context at the latest.
 */
extern GpuPairs *GpuPairsOpen(GpuPairsSource *source, char why[GPU_TEXT_BYTES]);

/*
 * The next pairs, at most "most", in the order of qset_job_next(); *count 0: none are left.
 * They are valid until the next call.
 */
extern const qset_pair *GpuPairsNext(GpuPairs *pairs, uint64 most, uint64 *count);

extern void GpuPairsClose(GpuPairs *pairs);

/* The qset_method of the search. */
extern int GpuPairsMethod(const GpuPairs *pairs);

/* The number of devices that work on the search. */
extern int GpuPairsDevices(const GpuPairs *pairs);

/*
 * ---- rows (set id, element) that are to become a collection of sets on a device ----
 *
 * Rows come from two cached columns, or are sent by a backend that has read them.  In the end
 * the worker sorts them and removes duplicates.  From the result it makes a collection to
 * search in (SETS_MAKE), or a backend fetches the arrays of sets/collection.h.
 *
 * A device may have no room for more rows, or none to sort them.  Then a backend fetches
 * the rows themselves.
 */

typedef enum GpuMembershipsOp
{
	MEMBERSHIPS_CREATE, /* begin without rows; the first chunk decides the device */

	/*
	 * Add rows of chunks.  Elements are those of the other handle, and ids those of the
	 * wanted pair's column.  The reply has in "done" the number of added rows, of all wanted
	 * pages before page "offset".
	 */
	MEMBERSHIPS_COLUMN,
	MEMBERSHIPS_ROWS, /* "count" ids, then as many elements */
	MEMBERSHIPS_SORT, /* no more rows come: sort them; the reply has the sizes */
	MEMBERSHIPS_READ  /* read a piece of array "count" */
} GpuMembershipsOp;

typedef enum GpuMembershipsArray
{
	MEMBERSHIPS_ROW_IDS, /* the rows, if they are not sorted */
	MEMBERSHIPS_ROW_ELEMENTS,
	MEMBERSHIPS_IDS, /* arrays of the collection, if the rows are sorted */
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

/* Rows of a collection on a device, until their memory context goes. */
typedef struct GpuMemberships
{
	GpuScopedHandle handle;
	uint64 rows; /* rows that were added */
} GpuMemberships;

/* Begin without rows; NULL: the worker has no memory. */
extern GpuMemberships *GpuMembershipsBegin(MemoryContext context);

/*
 * Add rows of chunks.  Pages that were done are taken off their sets.  Returns the number of
 * rows.
 */
extern int64
GpuMembershipsAddColumns(GpuMemberships *memberships, const GpuColumnChunk *chunk, int chunks);

/* Add at most GPU_SLOT_WEIGHED rows; false: there is no memory, and nothing has changed. */
extern bool GpuMembershipsAddRows(GpuMemberships *memberships, const int64 *id,
								  const uint64 *element, uint32 count);

/*
 * Sort the rows, after the last one; false: there is no memory for that, and nothing has
 * changed.
 */
extern bool GpuMembershipsSort(GpuMemberships *memberships, GpuMembershipsSizes *sizes);

/* Fetch items of an array. */
extern void GpuMembershipsRead(GpuMemberships *memberships, GpuMembershipsArray array, uint64 first,
							   uint64 count, void *to);

/* ---- the worker's ---- */

/* The sorted rows of a handle, with their sizes and their device; NULL: there are none. */
extern struct qset_cuda_memberships *
GpuMembershipsSorted(int index, GpuMembershipsSizes *sizes, int *device);

#endif
