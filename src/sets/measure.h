/*
 * measure.h
 *		All pairs: what plan.c learns about the input before it chooses a method.
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

/*
 * Find the sets that can be part of a pair, the degrees of their elements, and
 * the plan's counts.
 */
extern qb_status qset_measure(qset_preparation *p);

/* Events of the lists of all elements whose degree is below a bound. */
extern uint64_t qset_events_below(const qset_preparation *p, uint64_t bound);

/* Upper bound of the elements in all prefixes of one side. */
extern uint64_t qset_prefix_room(const qset_preparation *p, const qset_side *s);

/*
 * Estimate how many events the lists of prefixes will have, from the prefixes
 * of one set in QSET_SAMPLE.  The elements' degrees would suffice if all sets
 * were alike, but in real collections small sets have frequent elements.
 */
#define QSET_SAMPLE 16

extern qb_status qset_sample_prefixes(qset_preparation *p, double *events);

/* Make the prefixes of all sets, and count the events of their lists. */
extern qb_status qset_make_prefixes(qset_preparation *p);

/* ---- averages and fractions ---- */

/* Averages and fractions that the costs of methods use. */
typedef struct qset_sums
{
	double pairs;   /* all pairs */
	double alike;   /* pairs whose sizes allow them to pass */
	double meeting; /* fraction of the prefixes' events whose sizes allow the pair to pass */
	double others;  /* elements of the columns of all such pairs, together */
	double row;     /* average elements of a row */
	double column;  /* average elements of a column */
	double element; /* average elements of both sides */
	double blocks;  /* blocks of columns that a row sees, on average */
} qset_sums;

extern void qset_sum(const qset_preparation *p, qset_sums *s);

#endif
