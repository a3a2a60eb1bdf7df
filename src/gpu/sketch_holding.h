/*
 * sketch_holding.h
 *		What the GPU worker has of a sketch.
 *
 *	sketch_serve.c		requests of sketches, also those for keys of cached columns
 *	sketch_replicas.c	keys of chunks on several devices; merging, slice by slice
 *
 * src/gpu/sketch_holding.h
 */
#ifndef QS_GPU_SKETCH_HOLDING_H
#define QS_GPU_SKETCH_HOLDING_H

#include "gpu/column_worker.h"
#include "gpu/sketch_gpu.h"
#include "gpu/worker.h"

#include "sketch_cuda.h"

/*
 * The sketch of a handle.  If its device has no memory for it to grow it is "full" (shared.h),
 * and its keys are in partitions that its backend merges: the sketch on its device, those on
 * other devices, and one in the worker's memory.
 */
typedef struct GpuSketchHolding
{
	qs_cuda_sketch *on_device;
	qs_sketch *on_host; /* tables on their way to the device, or keys that it had no memory for */
	int device;
	int depth;        /* counters of a key */
	qs_params params; /* set while it is on a device */
	qs_cuda_sketch
		*replica[GPU_DEVICES_MAX]; /* keys of chunks on other devices, to be merged; or NULL */
	qs_cuda_sketch *joining;       /* the replica that is being merged, or NULL */
	int joining_device;            /* that it is on */
	int replicas;                  /* number of replicas that are there, with that one */
	GpuSketchMerged merged; /* of the sketch or replica that is being merged: sketch_replicas.c */
	GpuSketchShape shape;   /* of on_host, while it is written or read */
} GpuSketchHolding;

extern GpuSketchHolding gpu_sketch_holding[GPU_HANDLES];

/* What sketches ask of the devices. */
static inline const qs_sketch_ops *
GpuSketchOps(void)
{
	return gpu_device_ops->sketch;
}

static inline bool
GpuSketchIsFull(int index)
{
	return gpu_shared->handle[index].full;
}

/* A sketch has no memory of its device to grow: its backend will fetch it. */
static inline void
GpuSketchNoteFull(int index)
{
	if (!GpuSketchIsFull(index))
		GpuCount(COUNT_FALLBACKS, 1);
	gpu_shared->handle[index].full = true;
}

/* A sketch on a device that is merged into another one. */
typedef struct GpuSketchSource
{
	qs_cuda_sketch *sketch;
	int device;
	const qs_params *params;
} GpuSketchSource;

/*
 * Merge the next slice of a sketch into another one; "more": there are further slices.  After
 * QB_NO_MEMORY "merged" says how far that got.
 */
extern qb_status GpuSketchMerge(GpuSketchHolding *h, const GpuSketchSource *from, bool *more);

/* The worker's own memory. */
extern const qb_memory *GpuSketchMemory(void);

/*
 * Count gathered keys of another device in a replica there; merge the next slice of a replica into
 * the sketch; a replica by its number from 1 on, or NULL; drop all replicas.
 */
extern qb_status GpuSketchInsertReplica(GpuSketchHolding *h, const GpuGathered *gathered);
extern qb_status GpuSketchMergeReplica(GpuSketchHolding *h);
extern void *GpuSketchPart(const GpuSketchHolding *h, int number);
extern void GpuSketchDropReplicas(GpuSketchHolding *h);

/* SKETCH_COLUMN and SKETCH_GROUPS */
extern qb_status GpuSketchServeColumn(GpuSketchHolding *h, GpuSlot *slot);
extern qb_status GpuSketchServeGroups(GpuSketchHolding *h, GpuSlot *slot);

#endif
