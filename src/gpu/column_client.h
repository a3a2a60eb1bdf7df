/*
 * column_client.h
 *		A backend's side of the GPU worker: copies of columns, and calls.
 *
 * The functions here may wait; see client.h.  A copy may go at any time, since the
 * worker frees copies to make room.
 *
 * src/gpu/column_client.h
 */
#ifndef QS_GPU_COLUMN_CLIENT_H
#define QS_GPU_COLUMN_CLIENT_H

#include "gpu/column_request.h"

/* Are there copies of columns, and may this backend use them?  One look at shared memory. */
extern bool GpuColumnsExist(void);

/* Find the copies of a column by range; serial 0: none.  Their number. */
extern int GpuColumnFind(const GpuColumn *column, GpuRef *ref, uint32 ranges);

/* All copies, in memory of the caller's context. */
extern GpuColumnCopy *GpuColumnList(int *count);

/* Forget a copy, if it is there. */
extern bool GpuColumnForget(const GpuRef *ref);

/* ---- making a copy ---- */

/* Pages on their way. */
typedef struct GpuColumnLoad
{
	GpuRef ref;
	GpuColumnPage *page; /* room for a slot's */
	uint64 *key;
	int pages;
	int keys;
} GpuColumnLoad;

/* Begin a copy; false if the worker has no memory for it. */
extern bool GpuColumnBegin(GpuColumnLoad *load, Oid relation);

/* Room for so many keys of one more page.  They count with GpuColumnAdd(). */
extern uint64 *GpuColumnRoom(GpuColumnLoad *load, int keys);
extern void GpuColumnAdd(GpuColumnLoad *load, uint32 page, uint64 lsn, int keys);

/* End a copy and leave it to all backends; false if the worker had no memory for it. */
extern bool
GpuColumnEnd(GpuColumnLoad *load, uint64 map_lsn, const GpuColumn *column, uint32 range);

/* ---- using a copy: each is false if it is gone ---- */

extern bool GpuColumnDescribe(const GpuRef *ref, GpuPages *pages, uint64 *map_lsn, uint64 *keys);
extern bool GpuColumnLsns(const GpuRef *ref, uint64 *lsn);
extern void
GpuColumnRenew(const GpuRef *ref, uint64 old_lsn, uint64 map_lsn, const GpuPages *pages);

/*
 * Read keys of these pages, at most GPU_SLOT_KEYS, and take the pages off the set whose
 * keys were read.
 */
extern bool GpuColumnRead(const GpuRef *ref, GpuPages *pages, uint64 *key, int *count);

#endif
