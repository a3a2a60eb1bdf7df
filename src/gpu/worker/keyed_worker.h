/*
 * keyed_worker.h
 *		Sketches and filters in the GPU worker: values on a device that get keys, from slots or from
 *		chunks of cached columns.
 *
 * A value is created on one device.  Chunks on other devices have replicas there: values of the
 * same parameters, which get the keys of the chunks on their devices.  So keys stay where
 * they are.  Replicas are merged into the value piece by piece before it is read.  Other
 * requests are served between two pieces.  Keys that come between two pieces go into a new
 * replica.
 *
 * src/gpu/worker/keyed_worker.h
 */
#ifndef QS_GPU_KEYED_WORKER_H
#define QS_GPU_KEYED_WORKER_H

#include "gpu/worker/column_worker.h"

/* The value of a handle. */
typedef struct GpuKeyed
{
	const struct GpuKeyedOps *ops;
	void *on_device; /* NULL: it is not on a device */
	int device;
	GpuShape params; /* with which it was created */
	uint64 given;    /* filters: amount sent, in rows, positions, and bytes of bits */
	void *replica[GPU_DEVICES_MAX]; /* replica on each device; or NULL */
	void *joining;                  /* the replica that is being merged, or NULL */
	int joining_device;             /* the device of that replica */
	int replicas;                   /* number of replicas, with the joining one */
	bool begun;                     /* a merge into the value has begun */
	uint64 merged;                  /* how much was merged, in units of the family */
} GpuKeyed;

/* What a family does with its values. */
typedef struct GpuKeyedOps
{
	/* Makes a value of these parameters: an empty one, or a copy of "from" if that is not NULL. */
	qb_status (*make)(qs_cuda *gpu, const GpuShape *params, const void *from, void **created);
	void (*destroy)(void *value);
	uint64 (*bytes)(const void *value); /* device memory of a value */

	/* Adds keys that are on the value's device.  After QB_NO_MEMORY nothing has changed. */
	qb_status (*insert)(void *value, const uint64 *key, uint64 count);

	/*
	 * True if larger batches save more time than it takes to copy the keys of several
	 * chunks.  NULL: never.
	 */
	bool (*gains_together)(const void *value);

	/*
	 * Merges the next piece of a value with the same parameters, which is on this device.
	 * "more" tells whether further pieces are left.  It counts in "merged", which is 0 again
	 * at the end.
	 */
	qb_status (*merge)(GpuKeyed *into, void *from, int device, bool *more);

	/* Like serve_all in GpuHandler; single requests come here, too. */
	qb_status (*serve)(GpuSlot *const *slot, int *count);

	uint32 makes; /* requests that need no value on a device (bits: 1 << op) */
	uint32 whole; /* requests before which replicas are merged */

	/*
	 * The device may have no memory to add further keys, or to merge.  Then the value is full
	 * (shared.h).
	 */
	bool grows;
} GpuKeyedOps;

/* The values, by the numbers of their handles. */
extern GpuKeyed gpu_keyed[GPU_HANDLES];

/* Make the value of a handle. */
extern qb_status GpuKeyedMake(int index, const GpuKeyedOps *ops, int device, const GpuShape *params,
							  const void *from);

/* True if a value is full; note that a value is full.  Its backend will then fetch it. */
extern bool GpuKeyedIsFull(int index);
extern void GpuKeyedNoteFull(int index);

/*
 * The value or its replica on a device.  A replica is created if there is none.  NULL: it could
 * not be created.
 */
extern void *GpuKeyedOn(GpuKeyed *k, int device, qb_status *status);

/*
 * Add gathered keys on their device.  After QB_NO_MEMORY no key was added.  If these keys are of a
 * single chunk, a value that can grow was marked as full.
 */
extern qb_status GpuKeyedAdd(int index, const GpuGathered *gathered);

/* Serve requests for keys of chunks, with this work for each key. */
extern qb_status GpuKeyedServeColumns(GpuSlot *const *slot, int *count, double work);

/* The common part of the handlers of these families, for GpuHandler. */
extern qb_status GpuKeyedServe(GpuSlot *slot);
extern qb_status GpuKeyedServeAll(GpuSlot *const *slot, int *count);
extern int GpuKeyedChoose(GpuSlot *slot);
extern void GpuKeyedDrop(int index);
extern GpuLocation GpuKeyedLocation(int index);

#endif
