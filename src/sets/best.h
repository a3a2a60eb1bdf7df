/*
 * best.h
 *		The best pairs of one set.
 *
 * A heap whose root is the worst pair that is kept.  Once it is full, most pairs are
 * refused after one comparison with the root.
 *
 * src/sets/best.h
 */
#ifndef QSET_BEST_H
#define QSET_BEST_H

#include "sets/filter.h"

typedef struct qset_best
{
	qset_pair *pair; /* the caller's memory */
	uint64_t room;   /* the most pairs that are kept, at least 1 */
	uint64_t count;
	qset_order order;
	uint64_t size; /* of the set whose pairs they are */
} qset_best;

/* Keep a pair if it is among the best so far. */
extern void qset_best_offer(qset_best *best, const qset_pair *pair);

/* Sort the pairs, the best first; false: cancelled. */
extern bool qset_best_sort(qset_best *best, const qset_interrupt *interrupt);

#endif
