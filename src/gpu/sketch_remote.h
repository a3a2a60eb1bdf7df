/*
 * sketch_remote.h
 *		What "remote" of a sketch points to when its tables are on a device.
 *
 * src/gpu/sketch_remote.h
 */
#ifndef QS_GPU_REMOTE_H
#define QS_GPU_REMOTE_H

#include "gpu/shared.h"

#include "utils/palloc.h"

/* In the sketch's memory context, which drops the device's sketch at its end. */
typedef struct GpuRemote
{
	GpuRef ref;     /* serial 0: none */
	bool handed;    /* the sketch is for whoever redeems its ticket */
	GpuNonce nonce; /* if handed: its secret name */
	MemoryContextCallback callback;
} GpuRemote;

/* Free the tables of a sketch, which are on a device now. */
extern void GpuSketchBecomeRemote(qs_sketch *sk, const GpuRef *ref);

#endif
