/*
 * best.c
 *		The best pairs of one set.
 *
 * src/sets/best.c
 */
#include "sets/best.h"

/* Let the item at the root sink to its place among the first "count". */
static void
sink(const qset_best *best, uint64_t count)
{
	qset_pair *heap = best->pair;
	qset_pair x = heap[0];
	uint64_t at = 0;

	for (;;)
	{
		uint64_t child = 2 * at + 1;

		if (child + 1 < count &&
			qset_pair_better(best->order, best->size, &heap[child], &heap[child + 1]))
			child++;
		if (child >= count || !qset_pair_better(best->order, best->size, &x, &heap[child]))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = x;
}

void
qset_best_offer(qset_best *best, const qset_pair *pair)
{
	qset_pair *heap = best->pair;
	uint64_t at = best->count;

	if (at == best->room)
	{
		if (!qset_pair_better(best->order, best->size, pair, &heap[0]))
			return;
		heap[0] = *pair;
		sink(best, at);
		return;
	}
	for (; at > 0 && qset_pair_better(best->order, best->size, &heap[(at - 1) / 2], pair);
		 at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = *pair;
	best->count++;
}

/* Sinking an item among millions costs some cache misses. */
#define SORT_PATIENCE (QSET_PATIENCE / 64)

/* Again and again the worst of the rest goes to the end of the rest. */
bool
qset_best_sort(qset_best *best, const qset_interrupt *interrupt)
{
	uint64_t rest;

	for (rest = best->count; rest > 1; rest--)
	{
		qset_pair worst = best->pair[0];

		if (rest % SORT_PATIENCE == 0 && qset_stopped(interrupt))
			return false;
		best->pair[0] = best->pair[rest - 1];
		sink(best, rest - 1);
		best->pair[rest - 1] = worst;
	}
	return true;
}
