/*
 * sets_slices.h
 *		Large stored arrays of integers, read slice by slice.
 *
 * src/pg/sets_slices.h
 */
#ifndef QS_PG_SETS_SLICES_H
#define QS_PG_SETS_SLICES_H

#include "postgres.h"

#include "engine/sets_kernels.h"

/* An ascending array, of which a slice is in memory. */
typedef struct SetSlices
{
	struct varlena *stored; /* the stored array; NULL: all of it is in memory */
	Oid type;               /* type of its elements */
	bool wide;              /* 8 bytes instead of 4 */
	uint64 count;           /* elements of the array */
	uint64 read;            /* elements up to the end of the slice */
	void *slice;            /* the slice's memory; NULL: not to be freed */
	const char *item;       /* the first element of the slice that was not counted yet */
	uint64 left;
	int64 last;      /* the last element that was read */
	bool descending; /* the array turned out not to ascend */
} SetSlices;

extern bool SetSlicesOpen(SetSlices *s, Datum array);
extern void SetSlicesOfMemory(SetSlices *s, const void *item, uint64 count, bool wide);
extern bool
SetSlicesCommon(const qset_kernels *kernels, SetSlices *a, SetSlices *b, uint64 *common);
extern void SetSlicesClose(SetSlices *s);

#endif
