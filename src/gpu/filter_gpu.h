/*
 * filter_gpu.h
 *		Filters on a GPU: the requests to the worker, and the functions that backends call.
 *
 * The worker has the bits of dense filters.  Bits are sent and fetched in pieces, whose sizes and
 * offsets are in bytes.
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
	FILTER_CREATE, /* make an empty filter of the shape's parameters, on device "count"; -1: any */
	FILTER_WRITE,  /* write a piece of the bits */
	FILTER_SET,    /* set the bits at these positions, of 4 bytes each */
	FILTER_INSERT, /* insert rows by fingerprints; if "weighted" is set, ids or copies follow */
	FILTER_QUERY,  /* look up keys; the reply has each key's number of set positions */
	FILTER_CONTAINS, /* look up keys; the reply tells for each key if all positions are set */
	FILTER_FETCH,    /* the reply is a GpuFilterState */
	FILTER_READ,     /* read a piece of the bits */

	/*
	 * Insert rows with the wanted keys (GpuWanted) of chunk "other".  In the reply, "done" is the
	 * number of inserted rows, and "offset" is the first page that was not read.  If requests are
	 * served together, the first reply has the number of all rows, and all other replies have 0.
	 */
	FILTER_COLUMN
} GpuFilterOp;

/* Bytes of the answer to a lookup of one key. */
static inline Size
GpuFilterAnswerBytes(GpuFilterOp op)
{
	return op == FILTER_CONTAINS ? sizeof(bool) : sizeof(int64);
}

/* FILTER_INSERT: the numbers that choose the bits of each row. */
typedef struct GpuFilterRows
{
	uint64 nonce;
	uint64 first; /* number of the first row, if the rows have no ids */
	bool ids;     /* true: ids follow the fingerprints; false: copies, if "weighted" is set */
} GpuFilterRows;

/* The reply of FILTER_FETCH. */
typedef struct GpuFilterState
{
	uint64 given; /* sum of rows, positions and bytes that arrived */
	uint64 ones;
} GpuFilterState;

StaticAssertDecl(sizeof(qf_params) <= sizeof(GpuShape), "parameters of a filter do not fit");
StaticAssertDecl(sizeof(GpuFilterRows) <= sizeof(GpuShape), "numbers of rows do not fit");
StaticAssertDecl(sizeof(GpuFilterState) <= sizeof(GpuShape), "state of a filter does not fit");
StaticAssertDecl(QF_EXPLICIT_MAX * sizeof(uint32) <= GPU_SLOT_BYTES, "positions do not fit");
StaticAssertDecl(QF_HEADER_BYTES <= sizeof(((StoredName *) 0)->header),
				 "header of a filter does not fit");

/* ---- the engine and lookups, for functions on filters ---- */

/*
 * Returns why a filter with these parameters will probably stay on the CPU; NULL: the filter will
 * probably move to a GPU.
 */
extern const char *GpuFilterReason(const qf_params *p, const StateWork *work);

/* The engine for new filters: the CPU's engine, or an engine that moves filters to a GPU. */
extern const qf_engine *GpuFilterEngine(const qf_params *p, const StateWork *work);

/*
 * Insert rows with the keys of cached columns.  Pages whose rows were inserted are removed from the
 * chunks' sets.  If a device has no memory, the pages whose rows it could not insert stay in the
 * sets.  "count" becomes the number of inserted rows.  The filter must have a GPU engine.  A
 * filter of any size moves to a device, because the keys are already on a device.  The filter must
 * be a Bloom filter, because a frequency filter also needs the number of each row.
 */
extern qb_status
GpuFilterAddColumn(qf_filter *f, const GpuColumnChunk *chunk, int chunks, int64 *count);

/* True if the GPU should look up "count" keys in a filter. */
extern bool GpuFilterWantsLookup(const qf_filter *f, size_t count);

/* Names and loads filters for the worker's cache. */
extern const GpuStored gpu_stored_filters;

#endif
