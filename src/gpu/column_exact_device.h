/*
 * column_exact_device.h
 *		What exact counts of keys ask of a device.
 *
 * Statuses are as in device.h.
 *
 * src/gpu/column_exact_device.h
 */
#ifndef QS_GPU_COLUMN_EXACT_DEVICE_H
#define QS_GPU_COLUMN_EXACT_DEVICE_H

#include "gpu/device.h"

typedef struct GpuExactDeviceOps
{
	/*
	 * Counts of no keys, with room for so many keys at a time; *exact is NULL on failure.
	 * If more keys come than there is room for, at most half as many may be distinct.
	 */
	qb_status (*create)(void *device, uint64 room, void **exact);
	void (*destroy)(void *exact);

	/*
	 * Add keys, which may change once this returns; the same with keys in the device's
	 * memory.  QB_NO_MEMORY: there are too many distinct keys, and the counts mean
	 * nothing any more.
	 */
	qb_status (*add)(void *exact, const uint64 *key, size_t count);
	qb_status (*add_device)(void *exact, const uint64 *key, size_t count);

	/* Order distinct keys: the most frequent first, of equally frequent ones the smallest. */
	qb_status (*order)(void *exact, uint64 *found);

	/* Keys of that order, and how often each came. */
	qb_status (*get)(void *exact, uint64 first, size_t count, uint64 *key, int64 *times);

	/* Its device memory. */
	uint64 (*bytes)(const void *exact);
} GpuExactDeviceOps;

#endif
