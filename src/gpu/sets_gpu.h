/*
 * sets_gpu.h
 *		The GPU as functions on sets see it: a source of pairs.
 *
 * src/gpu/sets_gpu.h
 */
#ifndef QS_GPU_SETS_GPU_H
#define QS_GPU_SETS_GPU_H

#include "gpu/gpu.h"

#include "sets/pairs.h"

typedef struct GpuPairs GpuPairs;

/* Is the GPU to find the pairs of collections with so many elements? */
extern bool GpuWantsPairs(uint64 elements);

/*
 * Take the request's collections to the worker, and begin; NULL if there is no
 * room for them.  What it holds there goes with the current memory context at
 * the latest.
 */
extern GpuPairs *GpuPairsOpen(const qi_request *request);

/* The next pairs, in the order of qi_job_next(); 0: there are no more. */
extern uint64 GpuPairsNext(GpuPairs *pairs, qi_pair *out, uint64 room);

extern void GpuPairsClose(GpuPairs *pairs);

#endif
