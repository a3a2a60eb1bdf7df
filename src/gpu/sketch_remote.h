/*
 * sketch_remote.h
 *		What "remote" of a sketch points to when its tables are on a device.
 *
 * src/gpu/sketch_remote.h
 */
#ifndef QS_GPU_REMOTE_H
#define QS_GPU_REMOTE_H

#include "gpu/shared.h"

#include "sketch/sketch.h"
#include "utils/palloc.h"

/* In the sketch's memory context, which drops the device's sketch at its end. */
typedef struct GpuRemote
{
	GpuRef ref;          /* serial 0: none */
	bool handed;         /* the sketch is for whoever redeems its ticket */
	TicketNumber ticket; /* if handed */
	MemoryContextCallback callback;
} GpuRemote;

static inline GpuRemote *
GpuRemoteOf(const qs_sketch *sk)
{
	return sk->remote;
}

/* Free the tables of a sketch, which are on a device now. */
extern void GpuSketchBecomeRemote(qs_sketch *sk, const GpuRef *ref);

/* Make an explicit sketch dense on a device, or move a dense one there; false: no memory. */
extern bool GpuSketchMoveExplicit(qs_sketch *sk);
extern bool GpuSketchMoveDense(qs_sketch *sk);

/* Did a sketch come back to the worker's memory, for lack of device memory to grow? */
extern bool GpuSketchWasEvicted(const qs_sketch *sk);

/* Add keys to a sketch wherever it is, which may move it to a device. */
extern qb_status
GpuSketchInsert(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count);

#endif
