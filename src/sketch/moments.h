/*
 * moments.h
 *		Moments of counts: how many distinct keys a sketch has, and how many pairs of equal
 *		keys two sketches have, which is the size of a join.
 *
 * J is the sum, over all keys, of f * g, where f and g are the key's counts in the
 * two sketches.  For a sketch with itself, J is the second moment of its counts.
 *
 * Take two buckets of m counters, a and b, and let Na and Nb be the sums of their
 * keys' counts.  <a, b> is the sum of the products of their counters.  In it a key
 * meets itself d times, and another key d * d / m times on average, since masks are
 * independent.  So
 *
 *		J = (<a, b> - (d * d / m) Na Nb) / (d - d * d / m)
 *
 * is an unbiased estimate for a bucket, and so is its sum over buckets.  It is a
 * multiple of the covariance of the counters.  A row of thread is one bucket with d
 * = 1 and m = n, and the median of the rows is the estimate.  Where keys own whole
 * buckets (d = m), the totals of all buckets are such a row.  A fat bucket of sf has
 * m = 8 z cells.
 *
 * The standard error is measured as well, from the moments of each bucket's
 * counters.  A key that makes nearly all of a bucket is treated apart.  Explicit
 * sketches are exact, with a standard error of 0.
 *
 * Numbers are doubles, made from counters less their mean, so an estimate is
 * accurate to some 1e-15 of the sum of the products' absolute values.  Exact
 * products are summed in 128 bits and rounded once.
 *
 * Derivations and measured calibration: docs/engineering/accuracy.md.
 *
 * src/sketch/moments.h
 */
#ifndef QS_MOMENTS_H
#define QS_MOMENTS_H

#include "sketch/sketch.h"

typedef struct qs_product
{
	double estimate;
	double standard_error;
} qs_product;

/* Does a sketch have counters that sum up?  All have but device parts of sf. */
extern bool qs_has_product(const qs_sketch *sk);

/*
 * The product of two such sketches, which may be the same one.  If one is larger, folding
 * must lead to the other, and it is read as if it were folded.  If only one is explicit, a
 * copy of it gets tables.  QB_NO_MEMORY is the only error.  Pauses, because millions of
 * buckets take seconds.
 */
extern qb_status
qs_inner_product(const qs_sketch *a, const qs_sketch *b, const qb_memory *memory, qs_product *out);

/*
 * ---- how many distinct keys a sketch has, from the counters that are zero ----
 *
 * An explicit sketch knows the number.  A dense one does not know its keys, but a
 * counter is zero if and only if no key has it.  With D keys and C counters, of which U are
 * zero, let p be the chance that a key has a given counter:
 *
 *	thread						1 / n, in each of d rows of n counters
 *	bucketed, multilevel		(d / m) / n, in n buckets of m counters
 *	sf, full or host part		(d / 8) / (z n), in n buckets of 8 z fat cells
 *	sf, device part				(d / 8) / n: a slim counter is zero if its z cells are
 *
 * Keys choose independently, so a counter is zero with probability q = (1 - p)^D, and
 * E U = C q.  The estimate solves that for D, with U / C in place of q:
 *
 *	D^ = (ln (U/C) + Var U / (2 U^2)) / ln (1 - p)
 *
 * The second term takes back the bias of the logarithm: E ln U is about
 * ln E U - Var U / (2 (E U)^2).
 *
 * The standard error is that of U, divided by the slope dU/dD = U ln (1 - p):
 *
 *	sqrt (Var U) / (U |ln (1 - p)|)
 *
 * Var U is the sum over all pairs of counters (a, b) of P(both zero) - q^2.  Let s be the
 * chance that a key has both.  Then P(both zero) = (1 - 2p + s)^D, and
 *
 *	a = b					q - q^2
 *	a, b in one bucket		q^2 ((1 + (s - p^2) / (1 - p)^2)^D - 1)
 *	in different buckets	the same with s = 0: a key has one bucket.  Negative: a key that
 *							falls here does not fall there.
 *	in different rows		0 (thread): rows are independent
 *
 * In one bucket s depends on the distance of a and b alone, since masks are rotated by any
 * number of positions with equal chance (params.h): of m rotations of a mask as many have both
 * as the mask has bits whose neighbour at that distance is set, too.  The mean over the table
 * of masks is taken, so the error is right for few masks as well.  Fat cells of one sub-bucket
 * have s = 0; in two sub-buckets s is that of the slim counters over z^2.
 *
 * Buckets that are all zero are counted with their counters.  The fraction of such buckets
 * alone would tell less: two keys in one bucket look like one there, but have mostly different
 * counters.
 *
 * Where it works.  The relative error hardly grows until most counters are taken, and then
 * fast.  With less than QS_DISTINCT_ZEROS zeros U is no longer nearly normal, and no estimate
 * is given.  For d = 3 and a megabyte of counters that is beyond about 3 keys for each counter.
 * HyperLogLog goes as far as one likes.
 *
 * Weights do not matter, but removed keys are gone: a counter that fell to zero is zero.
 */

/* The least number of counters that must be zero. */
#define QS_DISTINCT_ZEROS 32

typedef struct qs_distinct
{
	bool known; /* false: too few counters are zero */
	double estimate;
	double standard_error;
} qs_distinct;

/*
 * Estimate the distinct keys of a sketch, owned or view.  Of a compact one tables must be made
 * first (qs_copy).  "memory" lends a pause.
 */
extern qs_distinct qs_distinct_keys(const qs_sketch *sk, const qb_memory *memory);

#endif
