/*
 * groups_sorting.h
 *		The tuples of a page in the order of their groups, by counting.
 *
 * src/scan/groups_sorting.h
 */
#ifndef QS_SCAN_GROUPS_SORTING_H
#define QS_SCAN_GROUPS_SORTING_H

#include "scan/scan.h"

struct ScanGroup;

/* The tuples of a page, sorted by group. */
typedef struct Sorting
{
	uint64 number; /* counts the sortings */
	int groups;
	struct ScanGroup *group[MaxHeapTuplesPerPage];
	uint16 end[MaxHeapTuplesPerPage];   /* of each group: where its tuples end in "order" */
	uint16 order[MaxHeapTuplesPerPage]; /* indexes of tuples, by group */
	int16 place[MaxHeapTuplesPerPage];  /* of each tuple: the index of its group */
	PageTuples part;                    /* the tuples of one group */
} Sorting;

/* Order the tuples by group, and within a group as they were. */
static inline void
sort_out(Sorting *sorting, const PageTuples *tuples)
{
	uint16 start = 0;
	int i;

	for (i = 0; i < sorting->groups; i++)
	{
		uint16 count = sorting->end[i];

		sorting->end[i] = start;
		start += count;
	}
	for (i = 0; i < tuples->count; i++)
		sorting->order[sorting->end[sorting->place[i]]++] = (uint16) i;
}

#endif
