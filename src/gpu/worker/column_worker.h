/*
 * column_worker.h
 *		The GPU worker's data of a cached chunk, and the gathering of keys for other handlers.
 *
 *	column_serve.c	loading chunks, and requests for chunks
 *	column_gather.c	wanted keys of chunks
 *
 * src/gpu/worker/column_worker.h
 */
#ifndef QS_GPU_COLUMN_WORKER_H
#define QS_GPU_COLUMN_WORKER_H

#include "gpu/column_gpu.h"
#include "gpu/worker/worker.h"

#include "column_cuda.h"

/* Maximum number of distinct keys that are remembered for a chunk. */
#define GPU_COUNTED_MAX 512

/*
 * A remembered count: the distinct keys of all rows of a set of pages.  Repeated queries want the
 * same keys.
 */
typedef struct GpuCounted
{
	GpuPages pages;
	uint32 projection;
	int most;
	int count;   /* number of distinct keys; most + 1: more keys exist, and are not stored */
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
	GpuColumnShape shape; /* identifies the table and the pages */
	bool leads;           /* true for only one chunk of several with the same pages */
	bool begins; /* true for only one chunk of a table; false if the table is on several devices */
	uint64 room;
	uint64 rows;
	uint64 nulls;
	uint64 *null; /* bitmap of NULLs until the chunk is finished; NULL: no NULLs yet */
	uint32 pages; /* all pages before this page have arrived */
	uint64 map_lsn;
	GpuPages copied;
	uint32 copied_count; /* number of pages in "copied"; 0 until the chunk is finished */
	uint32 copied_first; /* copied_count if "copied" has only the first pages; else 0 */
	uint32 *first;       /* first row of each page, and the number of rows: GPU_CHUNK_PAGES + 1 */
	uint64 layout;       /* equal only for chunks with equal "first"; 0: not finished */
	uint64 *lsn;         /* LSN of each page: GPU_CHUNK_PAGES */
	GpuCounted *counted; /* the remembered count; or NULL */
} GpuChunk;

/* The chunk of each handle, or NULL. */
extern GpuChunk *gpu_chunk[GPU_HANDLES];

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
	const qb_groups *groups; /* the keys are ordered by group; NULL: no groups */
	bool copied;             /* keys are always copied, and never used in the chunk's own array */
	uint32 from;             /* first page to gather */
	uint64 most;             /* maximum number of rows to gather; a single page may have more */
} GpuGather;

/*
 * Gathered keys of whole pages.  The keys are in device memory, and valid until the next keys are
 * gathered on this device.
 */
typedef struct GpuGathered
{
	int index; /* handle of the first chunk */
	int device;
	int chunks; /* number of chunks */
	const uint64 *key;
	const uint64 *pair;             /* PROJECT_PAIRS: for each key, the number in column "pair" */
	uint64 count;                   /* number of keys */
	uint64 of_group[QB_GROUPS_MAX]; /* number of keys of each group */
	uint32 end;                     /* the keys of all wanted pages before this page are gathered */
} GpuGathered;

/*
 * Gather keys.  QB_NO_MEMORY: the device has no memory for the keys, a chunk is gone or on another
 * device, the columns differ in the number of rows of the pages, or the request is invalid.  With
 * PROJECT_PAIRS, the tests must exclude rows whose column "pair" is NULL.
 */
extern qb_status GpuColumnGather(const GpuGather *gather, GpuGathered *gathered);

/*
 * Count the wanted rows into gathered->count.  If there are no tests, one call counts the rows of
 * all wanted pages, and gathers no keys.
 */
extern qb_status GpuColumnCountRows(const GpuGather *gather, GpuGathered *gathered);

/* How a family adds the keys of chunks. */
typedef struct GpuAdding
{
	double work;             /* work for each key */
	const qb_groups *groups; /* NULL: all keys are for one value */
	bool together; /* keys of several chunks are copied into one array, even without tests */

	/* Adds the gathered keys, at least one, to the value or values of the request. */
	qb_status (*add)(GpuSlot *slot, const GpuGathered *gathered);
} GpuAdding;

/*
 * Serve a request for the keys of a chunk (GpuColumnSend()), for the pages of one piece of work.
 * Several requests are served completely, as in GpuHandler.serve_all.  The number of keys that were
 * gathered for all requests is added to "done" of the first slot.
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
