/*
 * column_exact.h
 *		Exact counts of all keys of a column, from its cached chunks and from pages that were read:
 *		what slots hold, and a backend's calls.
 *
 * The worker collects keys and counts them all at once.  A backend gets those that are
 * the most frequent.  Counts that do not fit into device memory are given up: then the
 * backend counts without the worker.
 *
 * src/gpu/column_exact.h
 */
#ifndef QS_GPU_COLUMN_EXACT_H
#define QS_GPU_COLUMN_EXACT_H

#include "gpu/column_gpu.h"

typedef enum GpuExactOp
{
	EXACT_CREATE, /* counts of no keys; the shape is how many may come */
	EXACT_COLUMN, /* keys of these pages of the other handle, a chunk */
	EXACT_KEYS,   /* keys that a backend has read */
	EXACT_ORDER,  /* no more keys come; the reply's shape is how many distinct ones there were */
	EXACT_READ    /* a piece of the most frequent keys: keys, then counts */
} GpuExactOp;

/* ---- a backend's calls, which may wait ---- */

/* Begin to count so many keys or fewer; false: no memory. */
extern bool GpuExactBegin(GpuRef *ref, uint64 keys);

/* Count the keys of all these pages; false: a chunk is gone, or there is no memory. */
extern bool GpuExactAddColumn(const GpuRef *ref, const GpuColumnChunk *chunk, int chunks);

/* Count keys, in the background: want of memory shows in the end. */
extern void GpuExactAddKeys(const GpuRef *ref, const uint64 *key, size_t count);

/* A key, and how often it came. */
typedef struct GpuExactKey
{
	int64 key;
	int64 times;
} GpuExactKey;

/*
 * The most frequent keys, at most "most": the first one first, and of equally frequent
 * ones the smallest.  In memory of the caller's context; NULL: there was no memory on
 * the device.  The counts take no more keys.
 */
extern GpuExactKey *GpuExactBest(const GpuRef *ref, int most, int *count);

#endif
