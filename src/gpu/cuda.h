/*
 * cuda.h
 *		Devices that are GPUs, as the families' parts of them see them.
 *
 * src/gpu/cuda.h
 */
#ifndef QS_GPU_CUDA_H
#define QS_GPU_CUDA_H

#include "gpu/device.h"

#include "qs_cuda.h"

typedef struct GpuCudaDevice
{
	qs_cuda *gpu;
	uint64 base;  /* device memory that is not for values */
	uint64 limit; /* of memory for values */
	char error[GPU_TEXT_BYTES];
} GpuCudaDevice;

/* Device memory without the workspace: it grows by what a new value takes. */
extern uint64 GpuCudaHeld(const GpuCudaDevice *device);

/* Is there room for so many bytes, by the limit? */
extern bool GpuCudaHasRoom(const GpuCudaDevice *device, uint64 bytes);

/* The limit as the engine wants it: of all memory of the device, 0 is none. */
extern uint64 GpuCudaLimit(const GpuCudaDevice *device);

/* What they do for each family. */
extern const struct GpuSketchDeviceOps gpu_cuda_sketches; /* sketch_cuda.c */
extern const struct GpuSetsDeviceOps gpu_cuda_sets;       /* sets_cuda.c */
extern const struct GpuFilterDeviceOps gpu_cuda_filters;  /* filter_cuda.c */
extern const struct GpuColumnDeviceOps gpu_cuda_columns;  /* column_cuda.c */
extern const struct GpuExactDeviceOps gpu_cuda_exact;     /* column_exact_cuda.c */
extern const struct GpuMembersDeviceOps gpu_cuda_members; /* sets_members_cuda.c */

/* A collection of sorted rows: sets_members_cuda.c, for sets_cuda.c. */
struct qset_cuda_sets;
extern qb_status GpuCudaMakeSets(void *members, struct qset_cuda_sets **sets);

#endif
