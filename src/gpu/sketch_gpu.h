/*
 * sketch_gpu.h
 *		The GPU as functions on sketches see it: an engine, lookups, tokens.
 *
 * src/gpu/sketch_gpu.h
 */
#ifndef QS_GPU_SKETCH_GPU_H
#define QS_GPU_SKETCH_GPU_H

#include "gpu/gpu.h"
#include "gpu/column_request.h"
#include "gpu/sketch_request.h"

#include "engine/sketch_engine.h"

/* Why does a sketch of such parameters not go to a GPU, however many keys it gets?  NULL: it does. */
extern const char *GpuSketchReason(const qs_params *p);

/* Do sketches of such parameters stay on the CPU for any reason of their own? */
extern bool GpuSketchOnlyOnCpu(const qs_params *p);

/* The engine for new sketches, as qsketch.device wants it. */
extern const qs_engine *GpuSketchEngine(void);

/* The engine of a sketch that is on a device, or not. */
extern const qs_engine *GpuSketchEngineOf(const qs_sketch *sk);

/*
 * Add the keys of these pages of a cached column.  The pages that were done are
 * taken off the sets: the others have to be read.  "count" grows by the keys added.
 */
extern qb_status
GpuSketchAddColumn(qs_sketch *sk, const GpuColumnChunk *chunk, int chunks, int64 *count);

/*
 * Which sketches of groups, of equal parameters and without keys yet, get dense by the keys
 * of this chunk alone?  Those are on a device now, without keys.
 */
extern void GpuSketchGetDense(qs_sketch **sk, const qb_groups *groups, const GpuColumnChunk *chunk,
							  bool *dense);

/*
 * Add the keys of these pages to sketches of groups that are on a device.  False: not all
 * of them could be added, and the sketches are of no use.
 */
extern bool GpuSketchAddGroups(qs_sketch **sk, const qb_groups *groups, const GpuColumnChunk *chunk,
							   int chunks, uint64 *added);

/* A partial state on a device, passed to the combine function as a varlena. */
extern Size GpuTokenSize(void);
extern void GpuWriteToken(const qs_sketch *sk, struct varlena *out);
extern bool GpuIsToken(Datum datum);
extern void GpuOpenToken(Datum datum, qs_sketch *sk, const qb_memory *memory);

/* Is the GPU to look up so many keys in a sketch? */
extern bool GpuSketchWantsLookup(const qs_sketch *sk, size_t count);

/* Cached sketches. */
extern const GpuStored gpu_stored_sketches;

#endif
