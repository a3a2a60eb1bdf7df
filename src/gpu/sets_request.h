/*
 * sets_request.h
 *		What backends ask of the worker's collections of sets: numbers, and what
 *		slots hold.
 *
 * A collection goes to the worker piece by piece, offsets first.  A search for
 * pairs belongs to the entry of the collection whose sets are its rows, and
 * gives its pairs piece by piece.
 *
 * src/gpu/sets_request.h
 */
#ifndef QS_GPU_SETS_REQUEST_H
#define QS_GPU_SETS_REQUEST_H

#include "gpu/shared.h"

#include "sets/pairs.h"

typedef enum GpuSetsOp
{
	SETS_CREATE,   /* a collection of a size */
	SETS_OFFSETS,  /* a piece of its offsets: "offset" and "count" in them */
	SETS_ELEMENTS, /* a piece of its elements, likewise */
	SETS_SEARCH,   /* begin a search; "other" has the columns if there are others */
	SETS_PAIRS     /* the next pairs: the reply has them, "count", and if these are all */
} GpuSetsOp;

typedef struct GpuSetsShape
{
	uint64 sets;
	uint64 elements;
	uint64 universe;
} GpuSetsShape;

typedef struct GpuSetsSearch
{
	qi_filter filter;
	int method;
	bool directed;
} GpuSetsSearch;

typedef struct GpuSetsReply
{
	bool over; /* there will be no more pairs */
} GpuSetsReply;

StaticAssertDecl(sizeof(GpuSetsShape) <= sizeof(GpuShape), "shape of a collection does not fit");
StaticAssertDecl(sizeof(GpuSetsSearch) <= sizeof(GpuShape), "a search does not fit");

/* What a slot holds of each. */
#define GPU_SLOT_OFFSETS  (GPU_SLOT_BYTES / sizeof(uint64))
#define GPU_SLOT_ELEMENTS (GPU_SLOT_BYTES / sizeof(uint32))
#define GPU_SLOT_PAIRS    (GPU_SLOT_BYTES / sizeof(qi_pair))

#endif
