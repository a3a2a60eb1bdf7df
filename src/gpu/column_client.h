/*
 * column_client.h
 *		A backend's side of the GPU worker: cached columns, and calls.
 *
 * The functions here may wait; see client.h.  A chunk may go at any time, since
 * the worker frees chunks to make room.
 *
 * src/gpu/column_client.h
 */
#ifndef QS_GPU_COLUMN_CLIENT_H
#define QS_GPU_COLUMN_CLIENT_H

#include "gpu/column_request.h"

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

/* Forget a chunk, if it is there. */
extern bool GpuColumnForget(const GpuRef *ref);

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

/*
 * Begin a chunk; false if the worker has no memory for it.  The chunks of a
 * table go to the devices in rotation.
 */
extern bool GpuColumnBegin(GpuColumnLoad *load, Oid relation, uint32 chunk);

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
	GpuPages copied;
} GpuColumnState;

/* Ask "count" chunks for their states, several at a time; serial 0: there is no chunk. */
extern void GpuColumnDescribe(const GpuRef *ref, uint32 count, GpuColumnState *state);

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
 * such as SKETCH_COLUMN, and take the pages off their sets whose keys it got.  Returns
 * how many keys these were.
 */
extern int64 GpuColumnSend(const GpuRef *ref, int op, const GpuColumnChunk *chunk, int chunks);

/*
 * Count distinct keys of a chunk, if there are at most "most", and take the
 * pages off its set whose keys were counted, which may be some of them.  False:
 * a chunk is gone, or the device has no room.
 */
extern bool GpuColumnCounts(const GpuColumnChunk *chunk, int most, GpuKeyCounts *counts);

/*
 * The same for many chunks, several at a time, until all pages are counted or "take" returns
 * false.  A chunk may come several times, with other pages.
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

#endif
