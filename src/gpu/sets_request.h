/*
 * sets_request.h
 *		What backends ask of the worker's collections of sets: numbers, and what
 *		slots hold.
 *
 * A collection goes to a device of the worker piece by piece, offsets first.  From
 * there it goes to other devices as a whole.  A search for pairs is a value of its
 * own, because several searches may run in one kept collection.  A search is given
 * rows to look at, and gives their pairs piece by piece.
 *
 * src/gpu/sets_request.h
 */
#ifndef QS_GPU_SETS_REQUEST_H
#define QS_GPU_SETS_REQUEST_H

#include "gpu/shared.h"

#include "sets/pairs.h"

typedef enum GpuSetsOp
{
	SETS_CREATE,   /* a collection of a size, on a device */
	SETS_IDS,      /* a piece of its ids, from "offset" on: for a backend that finds it kept */
	SETS_OFFSETS,  /* a piece of its offsets */
	SETS_ELEMENTS, /* a piece of its elements */
	SETS_INDEX,    /* all is there: index it */
	SETS_COPY,     /* a collection that is there as "other" is, on another device */
	SETS_MAKE,     /* a collection of the sorted rows of "other" (sets_memberships.h): its shape */
	SETS_GET_IDS,  /* a piece of the ids back */
	SETS_GET_OFFSETS,
	SETS_SEARCH,  /* a search whose rows are the sets of "other", and its columns too */
	SETS_AGAINST, /* its columns are those of "other" */
	SETS_OPEN,    /* prepare it: the reply says how long it might take */
	SETS_ROWS,    /* begin with these rows */
	SETS_PAIRS    /* their next pairs: the reply has them, "count", and if these are all */
} GpuSetsOp;

typedef struct GpuSetsShape
{
	uint64 sets;
	uint64 elements;
	uint64 universe;
	int device;
} GpuSetsShape;

typedef struct GpuSetsSearch
{
	qset_filter filter;
	int method;
	bool directed;
} GpuSetsSearch;

typedef struct GpuSetsRows
{
	uint64 first;
	uint64 count;
} GpuSetsRows;

typedef struct GpuSetsReply
{
	/* SETS_PAIRS */
	bool over; /* the rows begun with have no more pairs */
	uint64 at; /* a number that changes as the search gets on */

	/* SETS_OPEN; SETS_INDEX has "ms" alone */
	double ms;  /* expected time of all rows, 0: not known; time that the index took */
	int method; /* qset_method that was chosen */
} GpuSetsReply;

StaticAssertDecl(sizeof(GpuSetsShape) <= sizeof(GpuShape), "shape of a collection does not fit");
StaticAssertDecl(sizeof(GpuSetsSearch) <= sizeof(GpuShape), "a search does not fit");

/* What a slot holds of each. */
#define GPU_SLOT_OFFSETS  (GPU_SLOT_BYTES / sizeof(uint64))
#define GPU_SLOT_ELEMENTS (GPU_SLOT_BYTES / sizeof(uint32))
#define GPU_SLOT_PAIRS    (GPU_SLOT_BYTES / sizeof(qset_pair))

#endif
