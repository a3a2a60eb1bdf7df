/*
 * filter_gpu.h
 *		Filters on a GPU: requests, and what functions on filters see.
 *
 * The worker has the bits of dense filters.  Bits go there and come back piece by
 * piece, counted in bytes.
 *
 * src/gpu/filter_gpu.h
 */
#ifndef QS_FILTER_GPU_H
#define QS_FILTER_GPU_H

#include "engine/filter_engine.h"
#include "filter/format.h"
#include "gpu/gpu.h"
#include "gpu/column_gpu.h"
#include "gpu/shared.h"

typedef enum GpuFilterOp
{
	FILTER_CREATE,   /* a filter without bits, of the slot's parameters, on device "count" or any */
	FILTER_WRITE,    /* a piece of its bits */
	FILTER_SET,      /* positions of bits, of 4 bytes */
	FILTER_INSERT,   /* rows: fingerprints, or fingerprints and then ids or copies */
	FILTER_QUERY,    /* keys; the reply has how many positions of each are set, in their place */
	FILTER_CONTAINS, /* keys; the reply has a bool for each: are all its positions set? */
	FILTER_FETCH,    /* the reply says what it was given, and how many bits are set */
	FILTER_READ,     /* a piece of its bits */

	/*
	 * Rows of the keys of a chunk, which is the other handle, of wanted pages (GpuWanted).
	 * The reply says how many rows were inserted, "done", of all wanted pages before page
	 * "offset".  Of requests that are served together the first reply has the number of all
	 * rows, and the others have 0.
	 */
	FILTER_COLUMN
} GpuFilterOp;

/* Bytes of a lookup's answer. */
static inline Size
GpuFilterAnswerBytes(GpuFilterOp op)
{
	return op == FILTER_CONTAINS ? sizeof(bool) : sizeof(int64);
}

/* FILTER_INSERT: from which numbers rows draw. */
typedef struct GpuFilterRows
{
	uint64 nonce;
	uint64 first; /* row, if they have no ids */
	bool ids;     /* the numbers behind the fingerprints are ids, else copies */
} GpuFilterRows;

/* The reply of FILTER_FETCH. */
typedef struct GpuFilterState
{
	uint64 given; /* rows, positions, and bytes of bits: tells whether all arrived */
	uint64 ones;
} GpuFilterState;

StaticAssertDecl(sizeof(qf_params) <= sizeof(GpuShape), "parameters of a filter do not fit");
StaticAssertDecl(sizeof(GpuFilterRows) <= sizeof(GpuShape), "numbers of rows do not fit");
StaticAssertDecl(sizeof(GpuFilterState) <= sizeof(GpuShape), "state of a filter does not fit");
StaticAssertDecl(QF_EXPLICIT_MAX * sizeof(uint32) <= GPU_SLOT_BYTES, "positions do not fit");
StaticAssertDecl(QF_HEADER_BYTES <= sizeof(((StoredName *) 0)->header),
				 "header of a filter does not fit");

/* ---- the GPU as functions on filters see it: an engine, lookups ---- */

/* Why does a filter of such parameters probably not go to a GPU?  NULL: it does. */
extern const char *GpuFilterReason(const qf_params *p, const StateWork *work);

/* The engine for new filters that take rows, as qsketch.device wants it. */
extern const qf_engine *GpuFilterEngine(const qf_params *p, const StateWork *work);

/*
 * Insert rows of the keys of cached columns, and take the pages off their sets that were done:
 * none if there is no memory.  "count" is how many rows they had.  The filter, whose
 * engine is that of the GPU, goes to a device, however small it is: the keys are there
 * already; without chunks it stays.  Only for Bloom filters: rows of others draw by their numbers.
 */
extern qb_status
GpuFilterAddColumn(qf_filter *f, const GpuColumnChunk *chunk, int chunks, int64 *count);

/* Is the GPU to look up so many keys in a filter? */
extern bool GpuFilterWantsLookup(const qf_filter *f, size_t count);

/* Cached filters. */
extern const GpuStored gpu_stored_filters;

#endif
