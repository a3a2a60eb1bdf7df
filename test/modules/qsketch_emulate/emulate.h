/*
 * emulate.h
 *		Devices made of the CPU engines, as the families' parts of them see them.
 *
 * test/modules/qsketch_emulate/emulate.h
 */
#ifndef QSKETCH_EMULATE_H
#define QSKETCH_EMULATE_H

#include "gpu/device.h"

#include "base/memory.h"

typedef struct GpuEmulatedDevice
{
	qb_memory memory; /* counted and limited; context: this device */
	uint64 used;
	uint64 limit;
	bool unlimited; /* for the moment */
} GpuEmulatedDevice;

/* What they do for each family. */
extern const struct GpuSketchDeviceOps gpu_emulated_sketches; /* sketch.c */
extern const struct GpuSetsDeviceOps gpu_emulated_sets;       /* sets.c */
extern const struct GpuFilterDeviceOps gpu_emulated_filters;  /* filter.c */
extern const struct GpuColumnDeviceOps gpu_emulated_columns;  /* column.c */
extern const struct GpuExactDeviceOps gpu_emulated_exact;     /* column_exact.c */
extern const struct GpuMembersDeviceOps gpu_emulated_members; /* sets_members.c */

#endif
