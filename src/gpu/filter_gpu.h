/*
 * filter_gpu.h
 *		The GPU as functions on filters see it: an engine, lookups.
 *
 * src/gpu/filter_gpu.h
 */
#ifndef QS_GPU_FILTER_GPU_H
#define QS_GPU_FILTER_GPU_H

#include "gpu/cache.h"
#include "gpu/column_request.h"
#include "gpu/filter_request.h"
#include "gpu/gpu.h"

#include "engine/filter_engine.h"

/* Why does a filter of such parameters not go to a GPU, however many rows it gets?  NULL: it does. */
extern const char *GpuFilterReason(const qf_params *p);

/* The engine for new filters that take rows, as qsketch.device wants it. */
extern const qf_engine *GpuFilterEngine(void);

/*
 * Insert rows of the keys of copies, and take the pages off their sets that were done:
 * none if there is no memory.  "count" is how many rows they had.  The filter, whose
 * engine is that of the GPU, goes to a device, however small it is: the keys are there
 * already; without chunks it stays.  Only for Bloom filters: rows of others draw by their numbers.
 */
extern qb_status
GpuFilterAddColumn(qf_filter *f, const GpuColumnChunk *chunk, int chunks, int64 *count);

/* Is the GPU to look up so many keys in a filter? */
extern bool GpuFilterWantsLookup(const qf_filter *f, size_t count);

/* Copies of stored filters on devices. */
extern const GpuStored gpu_stored_filters;

#endif
