/*
 * measure.h
 *		All pairs: what plan.c learns of the input before it chooses a method.
 *
 * src/sets/measure.h
 */
#ifndef QSET_MEASURE_H
#define QSET_MEASURE_H

#include "sets/block.h"

/* Are the pairs wanted within one collection? */
QB_INLINE bool
qset_within_one(const qset_request *r)
{
	return r->columns == NULL;
}

/* Which sets can be part of a pair, their elements' degrees, and the plan's counts of them. */
extern qb_status qset_measure(qset_preparation *p);

/* Events of lists of the elements whose degree is below a bound. */
extern uint64_t qset_events_below(const qset_preparation *p, uint64_t bound);

/* Elements in all prefixes, an upper bound. */
extern uint64_t qset_prefix_room(const qset_preparation *p, const qset_side *s);

/*
 * About how many events the lists of prefixes will have, from the prefixes of
 * one set in QSET_SAMPLE.  In collections whose sets are alike the elements'
 * degrees would do; but real ones have small sets of frequent elements.
 */
#define QSET_SAMPLE 16

extern qb_status qset_sample_prefixes(qset_preparation *p, double *events);

/* The prefixes of all sets, and the events of their lists. */
extern qb_status qset_make_prefixes(qset_preparation *p);

#endif
