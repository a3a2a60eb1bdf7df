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

/* Cached collections. */
extern const GpuStored gpu_stored_sets;

typedef struct GpuPairs GpuPairs;

/* Is the GPU to find the pairs of collections with so many elements?  "why" says why. */
extern bool GpuWantsPairs(uint64 elements, char why[GPU_TEXT_BYTES]);

/* Is told that a search in so many rows has begun, before its first pair is found. */
typedef struct GpuPairsWatch
{
	void (*begun)(void *context, uint64 rows);
	void *context;
} GpuPairsWatch;

/*
 * Take the request's collections to the worker, and wait for the first pairs.
 * NULL: there is no room for the collections, or the worker was lost and the CPU
 * may do it; "why" says which.  What the worker holds for the search goes with
 * the current memory context at the latest.  A request for one collection may
 * have a name, under which the worker keeps the collection.
 */
extern GpuPairs *GpuPairsOpen(const qset_request *request, const StoredName *name,
							  const GpuPairsWatch *watch, char why[GPU_TEXT_BYTES]);

/* A collection as far as it is known here: the sizes of its sets, and their ids. */
typedef struct GpuKept
{
	uint64 sets;
	uint64 elements;
	uint64 *offset;
	int64 *id;
} GpuKept;

/*
 * The same for a collection that the worker keeps under this name.  "kept" has the
 * numbers of sets and elements, and gets the rest.  NULL: none is kept.
 */
extern GpuPairs *GpuPairsOpenKept(const qset_request *request, const StoredName *name,
								  const GpuPairsWatch *watch, GpuKept *kept);

/*
 * The same for a collection of rows that are sorted on a device, and nowhere else.  "made"
 * is what is known of it here.  NULL: there is no room, as "why" says.
 */
extern GpuPairs *
GpuPairsOpenMade(const qset_request *request, const GpuRef *memberships, const GpuPairsWatch *watch,
				 const GpuKept *made, char why[GPU_TEXT_BYTES]);

/*
 * The next pairs, at most so many, in the order of qset_job_next(); *count 0: there
 * are no more.  They are good until the next call.
 */
extern const qset_pair *GpuPairsNext(GpuPairs *pairs, uint64 most, uint64 *count);

extern void GpuPairsClose(GpuPairs *pairs);

/* The qset_method by which. */
extern int GpuPairsMethod(const GpuPairs *pairs);

/* Devices that work on it. */
extern int GpuPairsDevices(const GpuPairs *pairs);

#endif
