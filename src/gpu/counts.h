/*
 * counts.h
 *		Reading and resetting the counters of qsketch_stat_gpu.
 *
 * src/gpu/counts.h
 */
#ifndef QS_GPU_COUNTS_H
#define QS_GPU_COUNTS_H

#include "gpu/shared.h"

#include "utils/timestamp.h"

typedef struct GpuCounts
{
	TimestampTz since; /* when the counters were zero */
	uint64 counter[GPU_COUNTERS];
} GpuCounts;

extern void GpuCountsInit(void);
extern void GpuReadCounts(GpuCounts *counts);
extern bool GpuResetCounts(void);

#endif
