/*
 * column_worker.h
 *		Cached columns in the GPU worker: its data of a chunk, and keys of chunks for the
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

/* The most distinct keys that are remembered for a chunk. */
#define GPU_COUNTED_MAX 512

/*
 * The distinct keys of all rows of some pages, as last counted.  Repeated queries want the
 * same keys.
 */
typedef struct GpuCounted
{
	GpuPages pages;
	uint32 projection;
	int most;
	int count;   /* number of distinct keys; most + 1: there are more, which are not kept */
	uint64 rows; /* number of rows counted */
	uint32 end;  /* the first page that was not counted */
	uint64 key[GPU_COUNTED_MAX];
	int64 times[GPU_COUNTED_MAX];
} GpuCounted;

typedef struct GpuChunk
{
	uint64 serial;
	qs_cuda_copy *values; /* values in device memory */
	int device;
	GpuColumnShape shape; /* identifies the chunk */
	bool leads;           /* first cached column of these pages; others are placed on its device */
	bool begins;          /* represents its table, which is on this device alone */
	uint64 room;
	uint64 rows;
	uint64 nulls;
	uint64 *null; /* bitmap of NULLs while pages come; NULL: no NULLs yet */
	uint32 pages; /* all pages before this one have come */
	uint64 map_lsn;
	GpuPages copied;
	uint32 copied_count; /* number of pages in "copied"; set when the chunk is finished */
	uint32 copied_first; /* "copied" has exactly the pages before this one; 0: others, or none */
	uint32 *first;       /* first row of each page, and the end: GPU_CHUNK_PAGES + 1 */
	uint64 layout;       /* equal for chunks with the same "first"; 0: not finished */
	uint64 *lsn;         /* GPU_CHUNK_PAGES */
	GpuCounted *counted; /* NULL: nothing has been counted */
} GpuChunk;

/* The chunk of a handle, or NULL. */
extern GpuChunk *gpu_chunk[GPU_HANDLES];

static inline const qs_column_ops *
GpuColumnOps(void)
{
	return gpu_device_ops->column;
}

/* ---- keys of chunks, for request handlers of families ---- */

/* The keys to gather. */
typedef struct GpuGather
{
	GpuRef chunk;
	const GpuWanted *wanted;
	const qb_groups *groups; /* the keys of each group are written in one place; NULL: no groups */
	bool copied;             /* keys are always copied, not used where they lie in a chunk */
	uint32 from;             /* page to begin with */
	uint64 most;             /* most rows; a single page may have more */
} GpuGather;

/* Keys from whole pages of chunks.  They are in device memory, valid until the next call. */
typedef struct GpuGathered
{
	int index; /* handle of the first chunk */
	int device;
	int chunks; /* number of chunks */
	const uint64 *key;
	const uint64 *pair; /* PROJECT_PAIRS: for each key the number of the pair's column */
	uint64 count;       /* number of keys */
	uint64 of_group[QB_GROUPS_MAX]; /* keys of each group */
	uint32 end;                     /* the keys of all wanted pages before this one are gathered */
} GpuGathered;

/*
 * Gather keys.  QB_NO_MEMORY: the device has no memory for the keys, or a chunk is gone.  The
 * tests of PROJECT_PAIRS leave out rows in which the pair's column is NULL.
 */
extern qb_status GpuColumnGather(const GpuGather *gather, GpuGathered *gathered);

/*
 * Count the wanted rows into "count", without gathering keys.  Without tests all wanted pages
 * are counted at once.
 */
extern qb_status GpuColumnCountRows(const GpuGather *gather, GpuGathered *gathered);

/* How a family adds the keys of chunks that requests name. */
typedef struct GpuAdding
{
	double work;             /* work for each key */
	const qb_groups *groups; /* NULL: all keys are for one value */
	bool together; /* keys are copied even if no rows are tested, to join those of several chunks */

	/* Adds gathered keys, of which there is at least one, to the value of the request. */
	qb_status (*add)(GpuSlot *slot, const GpuGathered *gathered);
} GpuAdding;

/*
 * Serve a request of a family for keys of a chunk (GpuColumnSend()): the pages of one piece
 * of work.  Or serve several requests, with all wanted pages, as GpuHandler.serve_all does.
 * The first slot gets the number of all keys in "done".
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
