/*
 * column_holding.h
 *		What the GPU worker has of a chunk of a cached column.
 *
 *	column_serve.c	making chunks, and requests
 *	column_gather.c	wanted keys of chunks
 *
 * src/gpu/column_holding.h
 */
#ifndef QS_GPU_COLUMN_HOLDING_H
#define QS_GPU_COLUMN_HOLDING_H

#include "gpu/column_request.h"
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

#endif
