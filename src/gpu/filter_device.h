/*
 * filter_device.h
 *		What filters ask of a device.
 *
 * A device holds the bits of dense filters and works on whole batches.  Only
 * making a filter takes memory: nothing else fails with QB_NO_MEMORY.  Statuses
 * are as in device.h.
 *
 * src/gpu/filter_device.h
 */
#ifndef QS_GPU_FILTER_DEVICE_H
#define QS_GPU_FILTER_DEVICE_H

#include "gpu/device.h"

#include "engine/filter_engine.h"

typedef struct GpuFilterDeviceOps
{
	/* A filter without bits; *filter is NULL on failure. */
	qb_status (*create)(void *device, const qf_params *params, void **filter);
	void (*destroy)(void *filter);

	/* Write a piece of its bits, and read it.  The memory may change once these return. */
	qb_status (*write)(void *filter, uint64 offset, const uint8 *from, size_t bytes);
	qb_status (*read)(void *filter, uint64 offset, uint8 *to, size_t bytes);

	/*
	 * Set bits; insert rows, which have ids or copies or neither.  The memory may
	 * change once these return.
	 */
	qb_status (*set)(void *filter, const uint32 *position, size_t count);
	qb_status (*insert)(void *filter, const qf_batch *batch);

	/* Insert rows whose keys are in device memory, without copies. */
	qb_status (*insert_device)(void *filter, const qf_batch *batch);

	/* How many positions of each key are set; are all?  Answers may overwrite keys. */
	qb_status (*query)(void *filter, const uint64 *key, size_t count, int64 *set);
	qb_status (*contains)(void *filter, const uint64 *key, size_t count, bool *found);

	qb_status (*ones)(void *filter, uint64 *ones);

	/* Its device memory. */
	uint64 (*bytes)(const void *filter);
} GpuFilterDeviceOps;

#endif
