/*
 * measure.h
 *		All pairs: what plan.c learns of the input before it chooses a method.
 *
 * src/sets/measure.h
 */
#ifndef QI_MEASURE_H
#define QI_MEASURE_H

#include "sets/block.h"

/* Are the pairs wanted within one collection? */
QS_INLINE bool
qi_within_one(const qi_request *r)
{
	return r->columns == NULL;
}

/* Which sets can be part of a pair, their elements' degrees, and the plan's counts of them. */
extern qs_status qi_measure(qi_preparation *p);

/* Events of lists of the elements whose degree is below a bound. */
extern uint64_t qi_events_below(const qi_preparation *p, uint64_t bound);

/* Elements in all prefixes, an upper bound. */
extern uint64_t qi_prefix_room(const qi_preparation *p, const qi_side *s);

/*
 * About how many events the lists of prefixes will have, from the prefixes of
 * one set in QI_SAMPLE.  In collections whose sets are alike the elements'
 * degrees would do; but real ones have small sets of frequent elements.
 */
#define QI_SAMPLE 16

extern qs_status qi_sample_prefixes(qi_preparation *p, double *events);

/* The prefixes of all sets, and the events of their lists. */
extern qs_status qi_make_prefixes(qi_preparation *p);

#endif
