/*
 * filter_request.h
 *		What backends ask of the worker's filters: numbers, and what slots hold.
 *
 * The worker has the bits of dense filters.  Bits go there and come back piece by
 * piece, counted in bytes.
 *
 * src/gpu/filter_request.h
 */
#ifndef QS_GPU_FILTER_REQUEST_H
#define QS_GPU_FILTER_REQUEST_H

#include "gpu/shared.h"

#include "filter/format.h"

typedef enum GpuFilterOp
{
	FILTER_CREATE,   /* a filter without bits, of these parameters, on device "count" or any */
	FILTER_WRITE,    /* a piece of its bits */
	FILTER_SET,      /* positions of bits, of 4 bytes */
	FILTER_INSERT,   /* rows: fingerprints, or these and then ids or copies */
	FILTER_QUERY,    /* keys; the reply has how many positions of each are set, in their place */
	FILTER_CONTAINS, /* keys; the reply has a bool for each: are all its positions set? */
	FILTER_FETCH,    /* the reply says what it was given, and how many bits are set */
	FILTER_READ,     /* a piece of its bits */

	/*
	 * Rows of the keys of a copy, which is the other handle, of wanted pages (GpuWanted).
	 * The reply says how many rows were inserted, "done", of all wanted pages before page
	 * "offset".
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

#endif
