/*
 * sketch_holding.h
 *		What the GPU worker has of a sketch.
 *
 *	sketch_serve.c			requests of sketches
 *	sketch_serve_column.c	those for keys of copies of columns
 *	sketch_parts.c			keys of copies on several devices
 *	sketch_merge.c			merging, slice by slice
 *
 * src/gpu/sketch_holding.h
 */
#ifndef QS_GPU_SKETCH_HOLDING_H
#define QS_GPU_SKETCH_HOLDING_H

#include "gpu/column_worker.h"
#include "gpu/sketch_request.h"
#include "gpu/worker.h"

#include "sketch_cuda.h"

/* The sketch of an entry: on_device or on_host, or neither. */
typedef struct GpuSketchHolding
{
	qs_cuda_sketch *on_device;
	qs_sketch *on_host;
	int device;
	int depth;        /* counters of a key */
	qs_params params; /* set while it is on a device */
	bool placed;      /* it has got keys of a copy, and stays on its device */
	qs_cuda_sketch
		*part[GPU_DEVICES_MAX]; /* keys of copies on other devices, to be merged; or NULL */
	qs_cuda_sketch *joining;    /* the part that is being merged, while it is on a device */
	int joining_device;         /* that it is on */
	qs_sketch *joining_on_host; /* the same part, if its device had no memory left */
	int parts;                  /* number of parts that are there, with that one */
	uint64 merged;              /* units of another sketch that were added: sketch_merge.c */
	bool frozen; /* nothing came since a backend was told the tables' shape, to read them */
	GpuSketchShape shape; /* of the tables, while they are written or read */
} GpuSketchHolding;

extern GpuSketchHolding gpu_sketch_holding[GPU_ENTRIES];

/* What sketches ask of the devices. */
static inline const qs_sketch_ops *
GpuSketchOps(void)
{
	return gpu_device_ops->sketch;
}

/* Move a sketch from its device to the worker's memory. */
extern qb_status GpuSketchEvict(int index);

/* Copy a sketch of a device to the worker's memory, and free such a copy. */
extern qb_status GpuSketchFetch(qs_cuda_sketch *on_device, qs_sketch **copy);
extern void GpuSketchFreeCopy(qs_sketch **copy);

/* Make a sketch without keys anew on another device.  If there is no memory, it stays. */
extern qb_status GpuSketchMakeElsewhere(GpuSketchHolding *h, int device);

/*
 * Where a sketch is that is merged into another one: pointers to its pointers, because it may
 * come to the worker's memory meanwhile.
 */
typedef struct GpuSketchSource
{
	qs_cuda_sketch *const *on_device;
	const int *device;
	const qs_params *params;   /* while it is on a device */
	qs_sketch *const *on_host; /* while it is not */

	/* Move it to the worker's memory; "index" is that of a holding. */
	qb_status (*to_host)(int index);
	int index;
} GpuSketchSource;

/* Merge the next slice of a sketch into another one; "more": there are further slices. */
extern qb_status GpuSketchMerge(int index, const GpuSketchSource *from, bool *more);

/* The worker's own memory. */
extern const qb_memory *GpuSketchMemory(void);

/*
 * Count picked keys of another device in a part there; merge the next slice of a part into
 * the sketch, on its device or in the worker's memory; drop all parts.
 */
extern qb_status GpuSketchInsertPart(GpuSketchHolding *h, const GpuPicked *picked);
extern qb_status GpuSketchMergePart(int index);
extern void GpuSketchDropParts(GpuSketchHolding *h);

/* SKETCH_COLUMN and SKETCH_GROUPS */
extern qb_status GpuSketchServeColumn(GpuSketchHolding *h, GpuSlot *slot);
extern qb_status GpuSketchServeGroups(GpuSketchHolding *h, GpuSlot *slot);

#endif
