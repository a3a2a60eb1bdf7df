/*
 * sketch_client.h
 *		The tables of a sketch on their way through slots, piece by piece.
 *
 * src/gpu/sketch_client.h
 */
#ifndef QS_SKETCH_CLIENT_H
#define QS_SKETCH_CLIENT_H

#include "gpu/column_request.h"
#include "gpu/sketch_request.h"

/* Describe a dense sketch, owned or a view. */
extern void GpuShapeOf(GpuSketchShape *shape, const qs_sketch *sk);

/* Bytes of all tables. */
static inline uint64
GpuShapeBytes(const GpuSketchShape *shape)
{
	return shape->table_bytes + shape->extra_bytes;
}

/* Make an empty owned sketch dense, with tables to be written. */
extern qb_status GpuSketchMakeTables(qs_sketch *sk, const GpuSketchShape *shape);

/* Copy a piece out of the tables, or into them. */
extern void GpuReadPiece(const qs_sketch *sk, const GpuSketchShape *shape, uint64 offset,
						 uint64 bytes, uint8 *to);
extern void GpuWritePiece(qs_sketch *sk, const GpuSketchShape *shape, uint64 offset, uint64 bytes,
						  const uint8 *from);

/*
 * ---- a backend's side of the GPU worker: sketches there, and calls ----
 *
 * The functions here may wait; see client.h.
 */

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
 * Add the keys of these pages of a cached column, several chunks at a time.
 * The pages whose keys were added are taken off the sets: all of them, unless a
 * chunk is gone or the device has no memory.  Returns the number of keys that
 * were added.
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
