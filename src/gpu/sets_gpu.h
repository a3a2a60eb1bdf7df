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

/* Is the GPU to find the pairs of collections with so many elements?  "why" says why. */
extern bool GpuWantsPairs(uint64 elements, char why[GPU_TEXT_BYTES]);

/*
 * Take the request's collections to the worker, and begin; NULL if there is no
 * room for them, which "why" then says.  What it holds there goes with the
 * current memory context at the latest.  With a name the collection, of which
 * there is one, may be kept there.
 */
extern GpuPairs *
GpuPairsOpen(const qset_request *request, const StoredName *name, char why[GPU_TEXT_BYTES]);

/* A collection as far as it is known here: the sizes of its sets, and their ids. */
typedef struct GpuKept
{
	uint64 sets;
	uint64 elements;
	uint64 *offset;
	int64 *id;
} GpuKept;

/*
 * Likewise of one that is kept there under this name: "kept" has its sets and
 * elements, and gets the rest.  NULL if there is none.
 */
extern GpuPairs *
GpuPairsOpenKept(const qset_request *request, const StoredName *name, GpuKept *kept);

/* The next pairs, in the order of qset_job_next(); 0: there are no more. */
extern uint64 GpuPairsNext(GpuPairs *pairs, qset_pair *out, uint64 room);

extern void GpuPairsClose(GpuPairs *pairs);

/* The qset_method by which. */
extern int GpuPairsMethod(const GpuPairs *pairs);

/* Devices that work on it. */
extern int GpuPairsDevices(const GpuPairs *pairs);

#endif
