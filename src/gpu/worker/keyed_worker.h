/*
 * keyed_worker.h
 *		Sketches and filters in the worker: values on devices to which keys are added.
 *
 * A value is created on one device.  Keys of chunks on another device are added to a replica of the
 * value on that device.  So no keys are copied between devices.  A replica has the same parameters
 * as the value.  Before the value is read, the replicas are merged into it piece by piece.  Other
 * requests are served between two pieces.  If keys for the replica's device arrive between two
 * pieces, they are added to a new replica.
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
	void *on_device; /* NULL: the value is not on a device */
	int device;
	GpuShape params;                /* parameters of the value */
	uint64 given;                   /* filters: sum of the rows, positions and bytes that arrived */
	void *replica[GPU_DEVICES_MAX]; /* replica on each device; or NULL */
	void *joining;                  /* the replica that is being merged, or NULL */
	int joining_device;             /* the device of "joining" */
	int replicas;                   /* number of replicas, including "joining" */
	bool begun;                     /* a merge into the value has begun */
	uint64 merged;                  /* amount that was merged, in units of the family */
} GpuKeyed;

/* The functions of a family for its values. */
typedef struct GpuKeyedOps
{
	/*
	 * Makes an empty value of these parameters.  If "from" is not NULL (only sketches), makes a
	 * copy of "from".
	 */
	qb_status (*make)(qs_cuda *gpu, const GpuShape *params, const void *from, void **created);
	void (*destroy)(void *value);
	uint64 (*bytes)(const void *value); /* device memory of a value */

	/* Adds keys in the memory of the value's device.  On QB_NO_MEMORY, the value is unchanged. */
	qb_status (*insert)(void *value, const uint64 *key, uint64 count);

	/*
	 * True if adding the keys of several chunks as one batch saves more time than copying the keys
	 * takes.  NULL: never.
	 */
	bool (*gains_together)(const void *value);

	/*
	 * Merges the next piece of a replica, which is on "device".  "more" tells whether further
	 * pieces follow.  "merged" counts the progress, and is 0 again at the end.
	 */
	qb_status (*merge)(GpuKeyed *into, void *from, int device, bool *more);

	/* Like GpuHandler.serve_all, but also called for a single request. */
	qb_status (*serve)(GpuSlot *const *slot, int *count);

	uint32 makes; /* requests that are allowed without a value on a device (bits: 1 << op) */
	uint32 whole; /* requests before which all replicas are merged */

	/*
	 * The value may need more device memory to add keys, or to merge.  Without this memory, the
	 * value becomes full (shared.h).
	 */
	bool grows;
} GpuKeyedOps;

/* The values, indexed by handle. */
extern GpuKeyed gpu_keyed[GPU_HANDLES];

/* Make the value of a handle on a device: empty, or a copy of "from". */
extern qb_status GpuKeyedMake(int index, const GpuKeyedOps *ops, int device, const GpuShape *params,
							  const void *from);

/*
 * GpuKeyedNoteFull() marks a value full, so that its backend fetches it.  GpuKeyedIsFull() tells
 * whether a value is full.
 */
extern bool GpuKeyedIsFull(int index);
extern void GpuKeyedNoteFull(int index);

/*
 * Return the value or its replica on a device.  A missing replica is created.  NULL: the creation
 * failed.
 */
extern void *GpuKeyedOn(GpuKeyed *k, int device, qb_status *status);

/*
 * Add gathered keys on their device.  After QB_NO_MEMORY, no key was added, and a value that grows
 * is marked full if the keys are from a single chunk.
 */
extern qb_status GpuKeyedAdd(int index, const GpuGathered *gathered);

/* Serve requests for keys of chunks.  "work" is the work for each key. */
extern qb_status GpuKeyedServeColumns(GpuSlot *const *slot, int *count, double work);

/* Functions for the GpuHandlers of sketches and filters. */
extern qb_status GpuKeyedServe(GpuSlot *slot);
extern qb_status GpuKeyedServeAll(GpuSlot *const *slot, int *count);
extern int GpuKeyedChoose(GpuSlot *slot);
extern void GpuKeyedDrop(int index);
extern GpuLocation GpuKeyedLocation(int index);

#endif
