/*
 * filter_gpu.h
 *		The GPU as functions on filters see it: an engine, lookups.
 *
 * src/gpu/filter_gpu.h
 */
#ifndef QS_GPU_FILTER_GPU_H
#define QS_GPU_FILTER_GPU_H

#include "gpu/filter_request.h"
#include "gpu/gpu.h"

#include "engine/filter_engine.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* Why do filters of these parameters not go to a GPU, however many rows they get?  NULL: they do. */
extern const char *GpuFilterReason(const qf_params *p);

/* The engine for new filters that take rows, as qsketch.device wants it. */
extern const qf_engine *GpuFilterEngine(void);

/* Is the GPU to look up so many keys in a filter? */
extern bool GpuFilterMayLookup(size_t count);
extern bool GpuFilterWantsLookup(const qf_filter *f, size_t count);

/* The name of a stored filter, or of one whose bytes are here. */
extern void
GpuFilterNameStored(const struct varatt_external *toast, const uint8 *header, StoredName *key);
extern void GpuFilterNameBytes(const uint8 *bytes, Size length, StoredName *key);

/* Look up in the copy of this name, as GpuFilterAsk(); false if there is none. */
extern bool GpuFilterLookupCached(const StoredName *name, GpuFilterOp op, const uint64 *key,
								  size_t count, void *answer);

/*
 * Look up in a filter that is taken to a device, where it stays under this name
 * if it has one; false if there is no memory for it.
 */
extern bool GpuFilterLookupLoaded(const qf_filter *f, const StoredName *name, GpuFilterOp op,
								  const uint64 *key, size_t count, void *answer);

#endif
