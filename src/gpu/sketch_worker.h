/*
 * sketch_worker.h
 *		Sketches in the GPU worker: what it has of a handle.
 *
 *	sketch_serve.c		requests
 *	sketch_columns.c	those for keys of cached columns
 *
 * src/gpu/sketch_worker.h
 */
#ifndef QS_GPU_SKETCH_WORKER_H
#define QS_GPU_SKETCH_WORKER_H

#include "gpu/column_worker.h"
#include "gpu/sketch_gpu.h"

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
	qs_params params; /* set while it is on a device */
	GpuReplicas replicas;
	GpuSketchMerged merged; /* of the sketch or replica that is being merged */
	GpuSketchShape shape;   /* of on_host, while it is written or read */
} GpuSketchHolding;

extern GpuSketchHolding gpu_sketch_holding[GPU_HANDLES];

/* What sketches ask of the devices. */
static inline const qs_sketch_ops *
GpuSketchOps(void)
{
	return gpu_device_ops->sketch;
}

/* Make a sketch on a device: an empty one, or a copy of "from" if not NULL. */
extern qb_status
GpuSketchMakeOn(int device, const qs_params *params, const qs_sketch *from, qs_cuda_sketch **made);

/* A sketch has no memory of its device to grow: its backend will fetch it. */
extern void GpuSketchNoteFull(int index);

/*
 * Serve a SKETCH_COLUMN; a SKETCH_GROUPS.  "Together": several of them, as GpuHandler.serve_all
 * does.
 */
extern qb_status GpuSketchServeColumn(GpuSketchHolding *h, GpuSlot *slot);
extern qb_status GpuSketchServeColumnsTogether(GpuSlot *const *slot, int *count);
extern qb_status GpuSketchServeGroups(GpuSketchHolding *h, GpuSlot *slot);
extern qb_status GpuSketchServeGroupsTogether(GpuSlot *const *slot, int *count);

#endif
