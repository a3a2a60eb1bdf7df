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

/* An ascending array, of which a part is in memory. */
typedef struct SetSlices
{
	struct varlena *stored; /* where the others are; NULL: all of it is in memory */
	Oid type;               /* of its elements */
	bool wide;              /* 8 bytes instead of 4 */
	uint64 count;           /* elements of the array */
	uint64 read;            /* of these, up to the end of the part */
	void *slice;            /* the part's memory; NULL: not ours */
	const char *item;       /* what is left of the part */
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
