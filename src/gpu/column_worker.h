/*
 * column_worker.h
 *		Cached columns in the GPU worker: what it has of a chunk, and keys of chunks for the
 *		request handlers of families.
 *
 *	column_serve.c	making chunks, and requests
 *	column_gather.c	wanted keys of chunks
 *
 * src/gpu/column_worker.h
 */
#ifndef QS_GPU_COLUMN_WORKER_H
#define QS_GPU_COLUMN_WORKER_H

#include "gpu/column_gpu.h"
#include "gpu/worker.h"

#include "column_cuda.h"

/* The most distinct keys that are remembered. */
#define GPU_COUNTED_MAX 512

/*
 * Distinct keys of all rows of some pages, as they were last counted: repeated queries ask
 * for the same ones.
 */
typedef struct GpuCounted
{
	GpuPages pages;
	uint32 projection;
	int most;
	int count;   /* of distinct keys; most + 1: there are more, which are not here */
	uint64 rows; /* that were counted */
	uint32 end;  /* the first page that was not */
	uint64 key[GPU_COUNTED_MAX];
	int64 times[GPU_COUNTED_MAX];
} GpuCounted;

typedef struct GpuHolding
{
	uint64 serial;
	qs_cuda_copy *values; /* on the device */
	int device;
	uint64 room;
	uint64 rows;
	uint64 nulls;
	uint64 *null; /* the bitmap of NULLs, while pages come; NULL: there is none yet */
	uint32 pages; /* pages before this one have come */
	uint64 map_lsn;
	GpuPages copied;
	uint32 *first;       /* row of each page, GPU_CHUNK_PAGES + 1 */
	uint64 *lsn;         /* GPU_CHUNK_PAGES */
	GpuCounted *counted; /* NULL: nothing was counted */
} GpuHolding;

/* The chunk of a handle, or NULL. */
extern GpuHolding *gpu_holding[GPU_HANDLES];

static inline const qs_column_ops *
GpuColumnOps(void)
{
	return gpu_device_ops->column;
}

/* ---- keys of chunks, for request handlers of families ---- */

/* Keys from whole pages of a chunk, in device memory until the next call. */
typedef struct GpuGathered
{
	int index; /* handle of the chunk */
	int device;
	const uint64 *key;
	uint64 count;
	uint32 end; /* all wanted pages before this one are in */
} GpuGathered;

/*
 * Gather keys that are wanted, from page "from" on: of whole pages, which have at most
 * "most" rows, or else of a single page.  QB_NO_MEMORY: the device has no room to
 * bring them together, or a chunk is gone.
 */
extern qb_status GpuColumnGather(int index, const GpuWanted *wanted, uint32 from, uint64 most,
								 GpuGathered *gathered);

/*
 * Only count the rows that are wanted, into "count".  Without tests all wanted pages are
 * counted at once.
 */
extern qb_status
GpuColumnGatherRows(int index, const GpuWanted *wanted, uint64 most, GpuGathered *gathered);

/* Gather keys side by side by group: of each group so many. */
extern qb_status
GpuColumnGatherGroups(int index, const GpuWanted *wanted, const qb_groups *groups, uint32 from,
					  uint64 most, GpuGathered *gathered, uint64 *count);

/*
 * Numbers that are not NULL, and beside each the number of the wanted pair's column in the
 * same row.  The tests leave out rows in which that is NULL.
 */
extern qb_status GpuColumnGatherPairs(int index, const GpuWanted *wanted, uint32 from, uint64 most,
									  GpuGathered *gathered, const uint64 **pair);

/*
 * Copy gathered->count words from device memory to the worker's own: "key" is the gathered keys, or
 * what was gathered beside them.  The caller frees the copy; NULL: there is no memory, or the
 * device has failed.
 */
extern uint64 *GpuColumnFetch(const GpuGathered *gathered, const uint64 *key, qb_status *status);

#endif
