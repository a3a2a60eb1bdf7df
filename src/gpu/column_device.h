/*
 * column_device.h
 *		What copies of columns ask of a device.
 *
 * A device holds the keys of a copy as one array in its memory.  Statuses are as in
 * device.h.
 *
 * src/gpu/column_device.h
 */
#ifndef QS_GPU_COLUMN_DEVICE_H
#define QS_GPU_COLUMN_DEVICE_H

#include "gpu/device.h"

/* Keys that lie side by side. */
typedef struct GpuRun
{
	uint64 first;
	uint64 count;
} GpuRun;

typedef struct GpuColumnDeviceOps
{
	/* An array without room; *column is NULL on failure. */
	qb_status (*create)(void *device, void **column);
	void (*destroy)(void *column);

	/* Change the room to so many keys, of which the first "kept" stay. */
	qb_status (*resize)(void *column, uint64 room, uint64 kept);

	/* Write keys, which may change once this returns. */
	qb_status (*put)(void *column, uint64 first, const uint64 *key, size_t count);

	/*
	 * The keys of these runs side by side in device memory, until the next call for any
	 * column of the device.
	 */
	qb_status (*gather)(void *column, const GpuRun *run, int runs, const uint64 **key);

	/* Copy gathered keys from device memory. */
	qb_status (*fetch)(void *column, const uint64 *key, size_t count, uint64 *to);

	/*
	 * Count distinct keys among gathered ones: "found" keys, and how often each came, in
	 * any order.  "found" is "most" + 1 if there are more than "most".
	 */
	qb_status (*counts)(void *column, const uint64 *key, size_t count, int most, uint64 *distinct,
						int64 *times, int *found);

	/* Its device memory. */
	uint64 (*bytes)(const void *column);
} GpuColumnDeviceOps;

#endif
