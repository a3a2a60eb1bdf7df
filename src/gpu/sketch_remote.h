/*
 * sketch_remote.h
 *		What "remote" of a sketch points to when its tables are on a device.
 *
 * src/gpu/sketch_remote.h
 */
#ifndef QS_GPU_REMOTE_H
#define QS_GPU_REMOTE_H

#include "gpu/sketch_request.h"

#include "sketch/sketch.h"
#include "utils/palloc.h"

/* In the sketch's memory context, which drops the device's sketch at its end. */
typedef struct GpuRemote
{
	GpuRef ref;        /* serial 0: none */
	bool in_transfer;  /* the sketch is for whoever redeems its token */
	TokenNumber token; /* if in transfer */
	bool merging;      /* a merge into it has not ended, and never will after an error */
	MemoryContextCallback callback;
	struct GpuRemote *before; /* of the sketch that is read before this one; or NULL */
	struct GpuRemote *next;   /* of the sketch that is read after it; or NULL */
	bool described;           /* "shape" is set */
	GpuSketchShape shape;     /* what the tables looked like; they may have got keys since */
} GpuRemote;

static inline GpuRemote *
GpuRemoteOf(const qs_sketch *sk)
{
	return sk->remote;
}

/* Free the tables of a sketch, which are on a device now. */
extern void GpuSketchBecomeRemote(qs_sketch *sk, const GpuRef *ref);

/* Bring the tables of a sketch here, if they are on a device. */
extern qb_status GpuSketchMaterialize(qs_sketch *sk);

/* Sketches on a device will be read in this order, so let the worker get the next one ready. */
extern void GpuSketchChain(qs_sketch **sk, uint32 count);

/* Make an explicit sketch dense on this device, or on any (-1); false: no memory. */
extern bool GpuSketchMoveExplicit(qs_sketch *sk, int device);

/*
 * Make all explicit sketches of the same parameters dense on a device that "moves" names.
 * Those that there is no memory for are taken off it.
 */
extern void GpuSketchMoveAll(qs_sketch **sk, uint32 count, int device, bool *moves);

/* Move a dense sketch to a device; false: no memory. */
extern bool GpuSketchMoveDense(qs_sketch *sk);

/* Has its device no memory for a sketch to grow?  Then it is to be materialized. */
extern bool GpuSketchCannotGrow(const qs_sketch *sk);

/* Add keys to a sketch wherever it is, which may move it to a device. */
extern qb_status
GpuSketchInsert(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count);

#endif
