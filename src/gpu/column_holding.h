/*
 * column_holding.h
 *		What the GPU worker has of a copy.
 *
 *	column_serve.c	making copies, and requests
 *	column_pick.c	wanted keys of copies
 *
 * src/gpu/column_holding.h
 */
#ifndef QS_GPU_COLUMN_HOLDING_H
#define QS_GPU_COLUMN_HOLDING_H

#include "gpu/column_device.h"
#include "gpu/column_request.h"
#include "gpu/worker.h"

typedef struct GpuHolding
{
	uint64 serial;
	void *values; /* on the device */
	int device;
	qb_number_form form;
	uint64 room;
	uint64 rows;
	uint64 nulls;
	uint64 *null; /* the bitmap of NULLs, while pages come; NULL: there is none yet */
	uint32 pages; /* pages before this one have come */
	uint64 map_lsn;
	GpuPages copied;
	uint32 *first; /* row of each page, GPU_RANGE_PAGES + 1 */
	uint64 *lsn;   /* GPU_RANGE_PAGES */
} GpuHolding;

/* The copy of an entry, or NULL. */
extern GpuHolding *gpu_holding[GPU_ENTRIES];

static inline const GpuColumnDeviceOps *
GpuColumnOps(void)
{
	return gpu_device_ops->column;
}

#endif
