/*
 * sets_nearest.c
 *		All pairs of sets: for each set of a collection its best pairs, with their ranks.
 *
 * A search with "top" gives the pairs of one set after those of another, in the order of
 * the other sets.  Here the pairs of one set are collected and sorted.  So no more than
 * one set's pairs are in memory, and all kinds of search will do.
 *
 * src/pg/sets_nearest.c
 */
#include "pg/sets_pairs.h"

#include "miscadmin.h"
#include "utils/memutils.h"

/* Pairs that are collected between two looks for interrupts. */
#define PATIENCE 16384

/* Room for twice as many pairs of one set. */
static void
grow(PairScan *scan)
{
	qset_best *best = &scan->best;
	uint64 room = best->room > 0 ? best->room * 2 : 16;
	qset_pair *pair;

	if (room * sizeof(qset_pair) > MaxAllocSize)
		SetsTooManyPairs(best->room);
	pair = qset_alloc(&scan->memory, room, sizeof(qset_pair));
	if (pair == NULL)
		SetsCheck(QB_NO_MEMORY);
	if (best->count > 0)
		memcpy(pair, best->pair, best->count * sizeof(qset_pair));
	qset_release(&scan->memory, best->pair);
	best->pair = pair;
	best->room = room;
}

/* Collect the pairs of the next set, the best first; false: there are no more. */
static bool
collect(PairScan *scan)
{
	qset_best *best = &scan->best;
	const qset_pair *pair = PairScanNext(scan);
	uint32 row;

	if (pair == NULL)
		return false;
	row = pair->a;
	best->count = 0;
	best->size = scan->row_size ? scan->row_size[row] : 0;
	for (; pair && pair->a == row; pair = PairScanNext(scan))
	{
		if (best->count % PATIENCE == PATIENCE - 1)
			CHECK_FOR_INTERRUPTS();
		if (best->count == best->room)
			grow(scan);
		qset_best_offer(best, pair);
	}
	if (pair)
		scan->next--; /* the first pair of the set after this one */
	if (!qset_best_sort(best, &sets_interrupt))
		SetsCheck(QB_CANCELLED);
	return true;
}

/* The next pair, with its rank among those of its first set; NULL: there are no more. */
const qset_pair *
PairScanNextRanked(PairScan *scan, int64 *rank)
{
	if (scan->ranked_next == scan->best.count)
	{
		scan->ranked_next = 0;
		if (!collect(scan))
		{
			scan->best.count = 0;
			return NULL;
		}
	}
	*rank = (int64) scan->ranked_next + 1;
	return &scan->best.pair[scan->ranked_next++];
}
