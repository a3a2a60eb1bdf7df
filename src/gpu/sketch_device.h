/*
 * sketch_device.h
 *		What sketches ask of a device.
 *
 * A device holds dense sketches in memory of its own and works on whole
 * batches.  Statuses are as in device.h.
 *
 * src/gpu/sketch_device.h
 */
#ifndef QS_GPU_SKETCH_DEVICE_H
#define QS_GPU_SKETCH_DEVICE_H

#include "gpu/device.h"

#include "sketch/slice.h"

/* A batch of keys; weight NULL: 1 each. */
typedef struct GpuKeys
{
	const uint64 *key;
	const int64 *weight;
	size_t count;
} GpuKeys;

typedef struct GpuSketchDeviceOps
{
	/* A sketch without keys, or a copy of a dense one; *sketch is NULL on failure. */
	qb_status (*create)(void *device, const qs_params *params, void **sketch);
	qb_status (*load)(void *device, const qs_sketch *from, void **sketch);
	void (*destroy)(void *sketch);

	/* The keys may change once this returns; weights NULL mean 1 each. */
	qb_status (*insert)(void *sketch, const uint64 *key, const int64 *weight, size_t count);
	/*
	 * The same with several batches at once, GPU_TOGETHER at most: all of them with weights
	 * or none.  After any error but QB_DEVICE_ERROR nothing has changed.
	 */
	qb_status (*insert_all)(void *sketch, const GpuKeys *batch, int batches);
	/* The same with keys in the device's memory, which stay there until the next gather. */
	qb_status (*insert_device)(void *sketch, const uint64 *key, size_t count);
	/*
	 * Such keys for many sketches of this device: count[i] keys for the i-th, side by side.
	 * QB_NO_MEMORY: nothing has changed, and they may still be added one after another.
	 */
	qb_status (*insert_groups)(void *const *sketch, const uint64 *count, uint32 sketches,
							   const uint64 *key);
	qb_status (*query)(void *sketch, const uint64 *key, size_t count, int64 *estimate);

	/*
	 * Merging in slices (sketch/slice.h): get ready for a sketch, given by its
	 * parameters and its total.  Then add slices of it, or of slices of it, which are on the
	 * same device.
	 */
	qb_status (*merge_begin)(void *sketch, const qs_params *from, int64 total);
	qb_status (*merge_slice)(void *sketch, qs_slice to, const void *from, qs_slice units);

	/* An owned copy of a slice.  A sketch that is being read stays as it is. */
	qb_status (*take_slice)(void *sketch, qs_slice units, qs_sketch *to, const qb_memory *memory);

	/*
	 * Describe the tables, which can then be read piece by piece until the sketch changes;
	 * "head" is not to be freed, and its tables may be in the device's memory.  QB_READ_ONLY:
	 * not this sketch.
	 */
	qb_status (*freeze)(void *sketch, qs_sketch *head);
	qb_status (*read)(void *sketch, uint64 offset, uint64 bytes, uint8 *to);

	/* Its device memory; the weight of all keys that were added. */
	uint64 (*bytes)(const void *sketch);
	int64 (*total)(const void *sketch);
} GpuSketchDeviceOps;

#endif
