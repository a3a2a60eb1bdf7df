/*
 * sets_device.h
 *		What sets ask of a device.
 *
 * A device holds collections, and of each at most one search for pairs in which
 * its sets are the rows.  Statuses are as in device.h.
 *
 * src/gpu/sets_device.h
 */
#ifndef QS_GPU_SETS_DEVICE_H
#define QS_GPU_SETS_DEVICE_H

#include "gpu/sets_request.h"
#include "gpu/device.h"

typedef struct GpuSetsDeviceOps
{
	/* A collection whose arrays will be put in; *sets is NULL on failure. */
	qs_status (*create)(void *device, const GpuSetsShape *shape, void **sets);
	void (*destroy)(void *sets);

	/* The data may change once these return. */
	qs_status (*put_offsets)(void *sets, uint64 first, const uint64 *offset, size_t count);
	qs_status (*put_elements)(void *sets, uint64 first, const uint32 *element, size_t count);

	/* Begin a search, in place of the last one; columns NULL: within one collection. */
	qs_status (*search)(void *sets, void *columns, const GpuSetsSearch *search);

	/* The next pairs; it may be none although it is not over. */
	qs_status (*next)(void *sets, qi_pair *out, uint64 room, uint64 *count, bool *over);

	/* Its device memory, the search's included. */
	uint64 (*bytes)(const void *sets);
} GpuSetsDeviceOps;

#endif
