/*
 * device.h
 *		What the GPU worker works on: GPUs, or an emulation of them.
 *
 * A device holds dense sketches in memory of its own and works on whole
 * batches.  Statuses are those of base: QS_NO_MEMORY where the device has
 * none left (nothing has changed then), QS_DEVICE_ERROR for anything after
 * which the device cannot be trusted; error() then says what it was.
 *
 * Only the worker calls these, and only after it was forked: no GPU is touched
 * by the postmaster or by a backend.
 *
 * src/gpu/device.h
 */
#ifndef QS_GPU_DEVICE_H
#define QS_GPU_DEVICE_H

#include "gpu/sketch_request.h"

typedef struct GpuDeviceOps
{
	const char *name;

	/* Number of devices in this host; 0 with a reason of GPU_TEXT_BYTES. */
	int (*count)(char *reason);

	/* Open device "number" and describe it; NULL with a reason on failure. */
	void *(*open)(int number, GpuDeviceInfo *info, char *reason);
	void (*close)(void *device);

	/* Page-lock the slots for all devices; true if they copy from them directly. */
	bool (*pin)(void *device, void *memory, Size bytes);

	/* A sketch without keys, or a copy of a dense one; *sketch is NULL on failure. */
	qs_status (*create)(void *device, const qs_params *params, void **sketch);
	qs_status (*load)(void *device, const qs_sketch *from, void **sketch);
	void (*destroy)(void *sketch);

	/* The keys may change once this returns; weights NULL mean 1 each. */
	qs_status (*insert)(void *sketch, const uint64 *key, const int64 *weight, size_t count);
	qs_status (*query)(void *sketch, const uint64 *key, size_t count, int64 *estimate);

	/* Add "from", a sketch of the same device. */
	qs_status (*merge)(void *sketch, const void *from);

	/* An owned copy. */
	qs_status (*fetch)(void *sketch, qs_sketch *to, const qs_memory *memory);

	/* Device memory of one sketch, and of all. */
	uint64 (*bytes)(const void *sketch);
	uint64 (*memory_used)(const void *device);

	const char *(*error)(void *device);
} GpuDeviceOps;

extern const GpuDeviceOps gpu_emulated_devices;
extern const GpuDeviceOps gpu_cuda_devices;

/* Bytes that sketches may take on a device: qsketch.gpu_memory_limit. */
extern uint64 GpuMemoryLimit(void);

#endif
