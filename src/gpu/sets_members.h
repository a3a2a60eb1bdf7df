/*
 * sets_members.h
 *		Rows (set id, element) that are to become a collection of sets on a device: what
 *		slots hold, and a backend's calls.
 *
 * Rows come from copies of two columns, or are sent by a backend that has read them.  In
 * the end the worker sorts them and makes them unique.  From that it makes a collection to
 * search in (SETS_MAKE), or a backend fetches the arrays of sets/collection.h.
 *
 * A device may have no room for more rows, or none to sort them.  Then a backend fetches
 * the rows themselves.
 *
 * src/gpu/sets_members.h
 */
#ifndef QS_GPU_SETS_MEMBERS_H
#define QS_GPU_SETS_MEMBERS_H

#include "gpu/column_request.h"

typedef enum GpuMembersOp
{
	MEMBERS_CREATE, /* no rows; their device is that of the first copy */

	/*
	 * Rows of copies: elements are those of the other entry, and ids those of the wanted
	 * pair's column.  The reply says how many rows were added, "done", of all wanted pages
	 * before page "offset".
	 */
	MEMBERS_COLUMN,
	MEMBERS_ROWS, /* "count" ids, then as many elements */
	MEMBERS_SORT, /* no more rows come; the reply has sizes */
	MEMBERS_READ  /* a piece of an array */
} GpuMembersOp;

typedef enum GpuMembersArray
{
	MEMBERS_ROW_IDS, /* rows, if they are not sorted */
	MEMBERS_ROW_ELEMENTS,
	MEMBERS_IDS, /* the arrays of the collection, if they are */
	MEMBERS_OFFSETS,
	MEMBERS_RANKS,
	MEMBERS_VALUES /* of elements, by rank */
} GpuMembersArray;

/* In the shape of a slot: the reply of MEMBERS_SORT. */
typedef struct GpuMembersSizes
{
	uint64 sets;
	uint64 elements;
	uint64 universe;
} GpuMembersSizes;

/* In the shape of a slot: of MEMBERS_READ. */
typedef struct GpuMembersPiece
{
	uint32 array; /* GpuMembersArray */
} GpuMembersPiece;

static inline Size
GpuMembersItemBytes(GpuMembersArray array)
{
	return array == MEMBERS_RANKS ? sizeof(uint32) : sizeof(uint64);
}

/* ---- a backend's calls, which may wait: sets_members_client.c ---- */

/* Rows of a collection on a device, until their memory context goes. */
typedef struct GpuMembers
{
	GpuRef ref;
	uint64 rows; /* that were added */
	MemoryContextCallback callback;
} GpuMembers;

/* No rows yet; NULL: the worker has no memory. */
extern GpuMembers *GpuMembersBegin(MemoryContext context);
extern void GpuMembersEnd(GpuMembers *members);

/* Add rows of copies, and take the pages off their sets that were done.  Returns how many. */
extern int64 GpuMembersAddColumns(GpuMembers *members, const GpuColumnPart *part, int parts);

/* Add at most GPU_SLOT_WEIGHED rows; false: there is no room, and nothing has changed. */
extern bool
GpuMembersAddRows(GpuMembers *members, const int64 *id, const uint64 *element, uint32 count);

/* End with the rows; false: there is no room to sort them, and nothing has changed. */
extern bool GpuMembersSort(GpuMembers *members, GpuMembersSizes *sizes);

/* Fetch items of an array. */
extern void
GpuMembersRead(GpuMembers *members, GpuMembersArray array, uint64 first, uint64 count, void *to);

/* ---- the worker's: sets_members_serve.c ---- */

/* The sorted rows of an entry, their sizes and their device; NULL: there are none. */
extern struct qset_cuda_members *GpuMembersSorted(int index, GpuMembersSizes *sizes, int *device);

#endif
