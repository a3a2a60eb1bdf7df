/*
 * keyed_worker.h
 *		Sketches and filters in the GPU worker: values on a device that get keys, from slots or from
 *		chunks of cached columns.
 *
 * A value is made on one device.  Chunks on other devices have replicas there: values of the same
 * parameters, which get the keys of the chunks on their devices.  So keys stay where they are.
 * Replicas are merged into the value piece by piece before anybody reads it, and others are served in
 * between.  Keys that come between two pieces go into a new replica.
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
	void *on_device; /* NULL: there is none */
	int device;
	GpuShape params;                /* that it was made of */
	uint64 given;                   /* filters: rows, positions, and bytes of bits */
	void *replica[GPU_DEVICES_MAX]; /* or NULL */
	void *joining;                  /* the replica that is being merged, or NULL */
	int joining_device;             /* that it is on */
	int replicas;                   /* that are there, the joining one included */
	bool begun;                     /* a merge into the value has begun */
	uint64 merged;                  /* and got so far, in units of the family */
} GpuKeyed;

/* What a family does with its values. */
typedef struct GpuKeyedOps
{
	/* Make a value of these parameters: an empty one, or a copy of "from" if not NULL. */
	qb_status (*make)(qs_cuda *gpu, const GpuShape *params, const void *from, void **made);
	void (*destroy)(void *value);
	uint64 (*bytes)(const void *value); /* of device memory */

	/* Add keys that are on its device; QB_NO_MEMORY changes nothing. */
	qb_status (*insert)(void *value, const uint64 *key, uint64 count);

	/* Does it gain more from large batches than copying the keys of several chunks takes?  NULL: never. */
	bool (*gains_together)(const void *value);

	/*
	 * Merge the next piece of a value of the same parameters, which is on this device; "more": there are
	 * further ones.  It counts in "merged", and ends with 0 there.
	 */
	qb_status (*merge)(GpuKeyed *into, void *from, int device, bool *more);

	/* As in GpuHandler; a single request comes here, too. */
	qb_status (*serve)(GpuSlot *const *slot, int *count);

	uint32 makes; /* requests that need no value on a device; bits: 1 << op */
	uint32 whole; /* requests before which replicas are merged */

	/* Its device may have no memory for further keys, or to merge: then it is full (shared.h). */
	bool grows;
} GpuKeyedOps;

/* By the number of the handle. */
extern GpuKeyed gpu_keyed[GPU_HANDLES];

/* Make the value of a handle. */
extern qb_status GpuKeyedMake(int index, const GpuKeyedOps *ops, int device, const GpuShape *params,
							  const void *from);

/* Is a value full?  Note that it is: its backend will fetch it. */
extern bool GpuKeyedIsFull(int index);
extern void GpuKeyedNoteFull(int index);

/* The value, or its replica, on a device; it is made if there is none.  NULL: it could not be. */
extern void *GpuKeyedOn(GpuKeyed *k, int device, qb_status *status);

/*
 * Add gathered keys on their device.  After QB_NO_MEMORY none were added, and if they are of one chunk a
 * value that grows is full.
 */
extern qb_status GpuKeyedAdd(int index, const GpuGathered *gathered);

/* Serve requests for keys of chunks, at so much work for each key. */
extern qb_status GpuKeyedServeColumns(GpuSlot *const *slot, int *count, double work);

/* What the handlers of these families have in common: GpuHandler. */
extern qb_status GpuKeyedServe(GpuSlot *slot);
extern qb_status GpuKeyedServeAll(GpuSlot *const *slot, int *count);
extern int GpuKeyedChoose(GpuSlot *slot);
extern void GpuKeyedDrop(int index);
extern GpuLocation GpuKeyedLocation(int index);

#endif
