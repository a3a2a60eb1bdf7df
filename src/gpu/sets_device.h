/*
 * sets_device.h
 *		What sets ask of a device.
 *
 * A device holds collections, and searches for pairs of their sets.  A collection
 * stays as long as there is a search in it.  Statuses are as in device.h.
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
	qb_status (*create)(void *device, const GpuSetsShape *shape, void **sets);

	/* A collection of this shape, of sorted rows of the device (sets_members_device.h). */
	qb_status (*make)(void *device, void *members, const GpuSetsShape *shape, void **sets);

	/* A copy of a collection of any device, with its index. */
	qb_status (*copy)(void *device, void *from, void **sets);

	void (*destroy)(void *sets);

	/* The data may change once these return. */
	qb_status (*put_offsets)(void *sets, uint64 first, const uint64 *offset, size_t count);
	qb_status (*put_elements)(void *sets, uint64 first, const uint32 *element, size_t count);

	/* After all elements. */
	qb_status (*index)(void *sets);

	/* Its device memory. */
	uint64 (*bytes)(const void *sets);

	/* A search; columns NULL: within one collection.  The reply has its method and time. */
	qb_status (*search)(void *sets, void *columns, const GpuSetsSearch *search, void **made,
						GpuSetsReply *reply);
	void (*end)(void *search);
	uint64 (*search_bytes)(const void *search);

	/* Begin with these rows, in place of the last ones, and return at once. */
	qb_status (*begin)(void *search, const GpuSetsRows *rows);

	/*
	 * The next pairs of the rows begun with.  It waits as long as "patience" says,
	 * and may then have none.  The reply says whether the rows have more pairs, and how
	 * far the search has got.
	 */
	qb_status (*next)(void *search, bool (*patience)(void), qset_pair *out, uint64 room,
					  uint64 *count, GpuSetsReply *reply);
} GpuSetsDeviceOps;

#endif
