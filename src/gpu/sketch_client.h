/*
 * sketch_client.h
 *		A backend's side of the GPU worker: sketches there, and calls.
 *
 * The functions here may wait; see client.h.
 *
 * src/gpu/sketch_client.h
 */
#ifndef QS_GPU_SKETCH_CLIENT_H
#define QS_GPU_SKETCH_CLIENT_H

#include "gpu/column_request.h"
#include "gpu/sketch_request.h"

/* An empty sketch on this device, or on any (-1); false if there is no memory for it. */
extern bool GpuSketchCreate(const qs_params *params, int device, GpuRef *ref);

/* So many of them, several at a time; which ones are "made"? */
extern void
GpuSketchCreateAll(const qs_params *params, int device, uint32 count, GpuRef *ref, bool *made);

/*
 * A copy of a dense sketch on a device: of an sf sketch its slim table alone.  False
 * if there is no memory for it.
 */
extern bool GpuSketchUpload(const qs_sketch *sk, GpuRef *ref);

/* Add keys, in the background; weight NULL: 1 each. */
extern void GpuSketchSend(const GpuRef *ref, const uint64 *key, const int64 *weight, size_t count);

/*
 * Add the keys of these pages, from copies of a column, several chunks at a time.  The
 * pages whose keys were added are taken off the sets: all of them, unless a copy is gone
 * or the device has no memory.  Returns the number of keys that were added.
 */
extern int64 GpuSketchSendColumn(const GpuRef *ref, const GpuColumnChunk *chunk, int chunks);

/*
 * The same for the sketches of groups.  If pages are left in a set, some of the keys of
 * its chunk may have been added, and nobody knows which.
 */
extern void GpuSketchSendGroups(GpuGroupSketches *all, const GpuColumnChunk *chunk, int chunks);

/*
 * Add a sketch to another.  QB_NO_MEMORY: "merged" says how far that got, and the rest is to
 * be done here.
 */
extern qb_status
GpuSketchMergeInto(const GpuRef *ref, const GpuRef *other, GpuSketchMerged *merged);

/* Merge here what is left of a dense sketch. */
extern qb_status
GpuSketchMergeRest(qs_sketch *into, const qs_sketch *from, const GpuSketchMerged *merged);

/* A sketch in the worker, and what it has told of its tables.  Keys may have come since. */
typedef struct GpuSketchAhead
{
	GpuRef ref;
	bool known;
	GpuSketchShape shape;
} GpuSketchAhead;

/*
 * Fetch a sketch from the worker into "sk", an empty owned sketch, which gets dense.
 * The worker's sketch takes no more keys then, and has to be dropped.  "next", if it is not
 * NULL, is likely to be fetched after it, so the worker gets it ready meanwhile.
 */
extern qb_status GpuSketchDownload(const GpuSketchAhead *from, GpuSketchAhead *next, qs_sketch *sk);

#endif
