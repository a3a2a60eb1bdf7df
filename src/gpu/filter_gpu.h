/*
 * filter_gpu.h
 *		Filters on a GPU: the requests to the worker, and the functions that backends call.
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
	FILTER_CREATE,   /* make an empty filter of the slot's parameters, on device "count" or any */
	FILTER_WRITE,    /* write a piece of its bits */
	FILTER_SET,      /* set the bits at these positions, of 4 bytes each */
	FILTER_INSERT,   /* insert rows: fingerprints, or fingerprints and then ids or copies */
	FILTER_QUERY,    /* keys; the reply has for each key the number of its positions that are set */
	FILTER_CONTAINS, /* keys; the reply has a bool for each: all of its positions are set */
	FILTER_FETCH,    /* the reply has the amount that was sent, and the number of set bits */
	FILTER_READ,     /* read a piece of its bits */

	/*
	 * Insert rows with keys of a chunk, which is the other handle, from the wanted pages
	 * (GpuWanted).  The reply has in "done" the number of inserted rows, of all wanted pages
	 * before page "offset".  If requests are served together, the first reply has the number
	 * of all rows, and the others have 0.
	 */
	FILTER_COLUMN
} GpuFilterOp;

/* Bytes of the answer to a lookup of one key. */
static inline Size
GpuFilterAnswerBytes(GpuFilterOp op)
{
	return op == FILTER_CONTAINS ? sizeof(bool) : sizeof(int64);
}

/* FILTER_INSERT: the numbers from which rows draw. */
typedef struct GpuFilterRows
{
	uint64 nonce;
	uint64 first; /* number of the first row, if they have no ids */
	bool ids;     /* numbers follow the fingerprints: true: ids, false: copies */
} GpuFilterRows;

/* The reply of FILTER_FETCH. */
typedef struct GpuFilterState
{
	uint64 given; /* rows, positions and bytes of bits; tells whether all arrived */
	uint64 ones;
} GpuFilterState;

StaticAssertDecl(sizeof(qf_params) <= sizeof(GpuShape), "parameters of a filter do not fit");
StaticAssertDecl(sizeof(GpuFilterRows) <= sizeof(GpuShape), "numbers of rows do not fit");
StaticAssertDecl(sizeof(GpuFilterState) <= sizeof(GpuShape), "state of a filter does not fit");
StaticAssertDecl(QF_EXPLICIT_MAX * sizeof(uint32) <= GPU_SLOT_BYTES, "positions do not fit");
StaticAssertDecl(QF_HEADER_BYTES <= sizeof(((StoredName *) 0)->header),
				 "header of a filter does not fit");

/* ---- the GPU as functions on filters see it: an engine, lookups ---- */

/* Returns why a filter with these parameters probably does not go to a GPU; NULL: it does. */
extern const char *GpuFilterReason(const qf_params *p, const StateWork *work);

/* The engine for new filters that take rows, as set by qsketch.device. */
extern const qf_engine *GpuFilterEngine(const qf_params *p, const StateWork *work);

/*
 * Insert rows with the keys of cached columns.  Pages that were done are taken off their
 * sets; none are if there is no memory.  "count" becomes the number of rows.  The filter's
 * engine must be the GPU's.  If there are chunks, a filter of any size goes to a device,
 * because the keys are already there.  Only for Bloom filters: rows of frequency filters draw
 * by their numbers.
 */
extern qb_status
GpuFilterAddColumn(qf_filter *f, const GpuColumnChunk *chunk, int chunks, int64 *count);

/* True if the GPU should look up "count" keys in a filter. */
extern bool GpuFilterWantsLookup(const qf_filter *f, size_t count);

/* Cached filters. */
extern const GpuStored gpu_stored_filters;

#endif
