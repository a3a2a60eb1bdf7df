/*
 * sets_members_device.h
 *		What rows of a collection of sets ask of a device.
 *
 * Statuses are as in device.h.
 *
 * src/gpu/sets_members_device.h
 */
#ifndef QS_GPU_SETS_MEMBERS_DEVICE_H
#define QS_GPU_SETS_MEMBERS_DEVICE_H

#include "gpu/device.h"
#include "gpu/sets_members.h"

/* The most rows. */
#define GPU_MEMBERS_MAX (UINT64CONST(1) << 27)

typedef struct GpuMembersDeviceOps
{
	/* No rows; *members is NULL on failure. */
	qb_status (*create)(void *device, void **members);
	void (*destroy)(void *members);

	/* Add rows, which may change once this returns; the same with rows in the device's memory. */
	qb_status (*add)(void *members, const int64 *id, const uint64 *element, size_t count);
	qb_status (*add_device)(void *members, const int64 *id, const uint64 *element, size_t count);

	/* How many rows were added. */
	uint64 (*rows)(const void *members);

	/* Sort the rows and make them unique: no more are added. */
	qb_status (*sort)(void *members, GpuMembersSizes *sizes);

	/* Items of an array that is there. */
	qb_status (*get)(void *members, GpuMembersArray array, uint64 first, size_t count, void *to);

	/* Their device memory. */
	uint64 (*bytes)(const void *members);
} GpuMembersDeviceOps;

/* The sorted rows of an entry, their sizes and their device; NULL: there are none. */
extern void *GpuMembersSorted(int index, GpuMembersSizes *sizes, int *device);

#endif
