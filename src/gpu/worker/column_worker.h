/*
 * column_worker.h
 *		Cached columns in the GPU worker: what it has of a chunk, and keys of chunks for the
 *		request handlers of families.
 *
 *	column_serve.c	making chunks, and requests
 *	column_gather.c	wanted keys of chunks
 *
 * src/gpu/worker/column_worker.h
 */
#ifndef QS_GPU_COLUMN_WORKER_H
#define QS_GPU_COLUMN_WORKER_H

#include "gpu/column_gpu.h"
#include "gpu/worker/worker.h"

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
	GpuColumnShape shape; /* which chunk it is */
	bool leads;           /* stands for all columns of these pages */
	bool begins;          /* stands for its table, of which all chunks are on this device */
	uint64 room;
	uint64 rows;
	uint64 nulls;
	uint64 *null; /* the bitmap of NULLs, while pages come; NULL: there is none yet */
	uint32 pages; /* pages before this one have come */
	uint64 map_lsn;
	GpuPages copied;
	uint32 copied_count; /* pages in "copied"; set when the chunk is finished */
	uint32 copied_first; /* "copied" has exactly the pages before this one; 0: others, or none */
	uint32 *first;       /* row of each page, GPU_CHUNK_PAGES + 1 */
	uint64 layout;       /* chunks with the same "first" have the same number; 0: not finished */
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

/* Which keys to gather. */
typedef struct GpuGather
{
	GpuRef chunk;
	const GpuWanted *wanted;
	const qb_groups *groups; /* NULL: all keys, else side by side by group */
	bool copied; /* keys are copied, even if all of a chunk are wanted as they lie there */
	uint32 from; /* page to begin with */
	uint64 most; /* rows, or else a single page */
} GpuGather;

/* Keys from whole pages of chunks, in device memory until the next call. */
typedef struct GpuGathered
{
	int index; /* handle of the first chunk */
	int device;
	int chunks; /* how many they come from */
	const uint64 *key;
	const uint64 *pair; /* PROJECT_PAIRS: beside each key the number of the pair's column */
	uint64 count;       /* of keys */
	uint64 of_group[QB_GROUPS_MAX]; /* keys of each group */
	uint32 end;                     /* all wanted pages before this one are in */
} GpuGathered;

/*
 * Gather keys.  QB_NO_MEMORY: the device has no room to bring them together, or a chunk is
 * gone.  The tests of PROJECT_PAIRS leave out rows in which the pair's column is NULL.
 */
extern qb_status GpuColumnGather(const GpuGather *gather, GpuGathered *gathered);

/*
 * Only count the rows that are wanted, into "count".  Without tests all wanted pages are
 * counted at once.
 */
extern qb_status GpuColumnCountRows(const GpuGather *gather, GpuGathered *gathered);

/* What a family does with the keys of chunks that requests name. */
typedef struct GpuAdding
{
	double work;             /* of each key */
	const qb_groups *groups; /* NULL: keys are for one value */
	bool
		together; /* keys of several chunks are copied, to come together, also where none are tested */

	/* Give gathered keys, of which there are some, to the value that the request is about. */
	qb_status (*add)(GpuSlot *slot, const GpuGathered *gathered);
} GpuAdding;

/*
 * Serve a request of a family for keys of a chunk (GpuColumnSend()), of as many pages as fit in
 * a piece of the work; or several, of all wanted pages, as GpuHandler.serve_all does.  The first
 * slot gets the number of all keys in "done".
 */
extern qb_status GpuColumnServe(GpuSlot *const *slot, int *count, const GpuAdding *adding);

/* Serve one request for keys of a chunk, for a single value. */
static inline qb_status
GpuColumnServeOne(GpuSlot *slot, qb_status (*add)(GpuSlot *slot, const GpuGathered *gathered))
{
	const GpuAdding adding = { .work = 1, .add = add };
	int one = 1;

	return GpuColumnServe(&slot, &one, &adding);
}

#endif
