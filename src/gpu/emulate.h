/*
 * emulate.h
 *		Devices made of the CPU engines, as the families' parts of them see them.
 *
 * src/gpu/emulate.h
 */
#ifndef QS_GPU_EMULATE_H
#define QS_GPU_EMULATE_H

#include "gpu/device.h"

#include "base/memory.h"

typedef struct GpuEmulatedDevice
{
	qb_memory memory; /* counted and limited; context: this device */
	uint64 used;
	bool unlimited; /* for the moment */
} GpuEmulatedDevice;

/* What they do for each family. */
extern const struct GpuSketchDeviceOps gpu_emulated_sketches; /* sketch_emulate.c */
extern const struct GpuSetsDeviceOps gpu_emulated_sets;       /* sets_emulate.c */
extern const struct GpuFilterDeviceOps gpu_emulated_filters;  /* filter_emulate.c */
extern const struct GpuColumnDeviceOps gpu_emulated_columns;  /* column_emulate.c */
extern const struct GpuExactDeviceOps gpu_emulated_exact;     /* column_exact_emulate.c */
extern const struct GpuMembersDeviceOps gpu_emulated_members; /* sets_members_emulate.c */

#endif
