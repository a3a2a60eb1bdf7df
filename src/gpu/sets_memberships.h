/*
 * sets_memberships.h
 *		Rows (set id, element) that are to become a collection of sets on a device: what
 *		slots hold, and a backend's calls.
 *
 * Rows come from two cached columns, or are sent by a backend that has read them.  In
 * the end the worker sorts them and makes them unique.  From that it makes a collection to
 * search in (SETS_MAKE), or a backend fetches the arrays of sets/collection.h.
 *
 * A device may have no room for more rows, or none to sort them.  Then a backend fetches
 * the rows themselves.
 *
 * src/gpu/sets_memberships.h
 */
#ifndef QS_GPU_SETS_MEMBERS_H
#define QS_GPU_SETS_MEMBERS_H

#include "gpu/client.h"
#include "gpu/column_gpu.h"

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
