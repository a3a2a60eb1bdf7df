/*
 * device.h
 *		What the GPU worker works on: GPUs, or what another module gives in their place.
 *
 * Statuses are those of base.  QB_NO_MEMORY: the device has no memory left, and
 * nothing has changed.  QB_DEVICE_ERROR: the device cannot be trusted any more, and
 * error() says why.
 *
 * Only the worker calls these, and only after it was forked: no GPU is touched
 * by the postmaster or by a backend.
 *
 * src/gpu/device.h
 */
#ifndef QS_GPU_DEVICE_H
#define QS_GPU_DEVICE_H

#include "gpu/shared.h"

typedef struct GpuDeviceOps
{
	/* Number of devices in this host; 0 with a reason of GPU_TEXT_BYTES. */
	int (*count)(char *reason);

	/* Open device "number" and describe it; NULL with a reason on failure. */
	void *(*open)(int number, GpuDeviceInfo *info, char *reason);

	/* Page-lock the slots for all devices; true if they copy from them directly. */
	bool (*pin)(void *device, void *memory, Size bytes);

	/* Values may take so many bytes from now on. */
	void (*limit)(void *device, uint64 bytes);

	/* Device memory of all values. */
	uint64 (*memory_used)(const void *device);

	const char *(*error)(void *device);

	/* Work of a piece of a request, in random reads or writes of memory: some 20 ms. */
	double piece_work;

	/* Bytes of tables that are merged in a piece of a request. */
	uint64 merge_bytes;

	/* What each family asks of it. */
	const struct GpuSketchDeviceOps *sketch;   /* sketch_device.h */
	const struct GpuSetsDeviceOps *sets;       /* sets_device.h */
	const struct GpuFilterDeviceOps *filter;   /* filter_device.h */
	const struct GpuColumnDeviceOps *column;   /* column_device.h */
	const struct GpuExactDeviceOps *exact;     /* column_exact_device.h */
	const struct GpuMembersDeviceOps *members; /* sets_members_device.h */
} GpuDeviceOps;

extern const GpuDeviceOps gpu_cuda_devices;

/*
 * Use other devices than GPUs: for modules of tests, which the server loads at its start.
 * They were built with a table of so many bytes, of this version.
 */
extern PGDLLEXPORT void GpuUseDevices(const GpuDeviceOps *ops, Size bytes, const char *version);

#endif
