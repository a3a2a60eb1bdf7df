/*
 * moments.h
 *		Moments of counts: the number of distinct keys of a sketch, and the number of pairs of equal
 *		keys of two sketches, which is the size of a join.
 *
 * J is the sum, over all keys, of f * g, where f and g are the key's counts in the
 * two sketches.  For a sketch with itself, J is the second moment of its counts.
 *
 * Take two buckets of m counters, a and b, and let Na and Nb be the sums of their
 * keys' counts.  <a, b> is the sum of the products of their counters.  In <a, b> a key meets itself
 * d times.  It meets another key d * d / m times on average, since masks are independent.  So
 *
 *		J = (<a, b> - (d * d / m) Na Nb) / (d - d * d / m)
 *
 * is an unbiased estimate for a bucket, and so is its sum over buckets.  J is a multiple of the
 * covariance of the counters.  A row of thread is one bucket with d = 1 and m = n, and the estimate
 * is the median of the rows.  Where keys own whole buckets (d = m), the totals of all buckets are
 * such a row.  A fat bucket of sf has m = 8 z cells.
 *
 * The standard error is measured as well, from the moments of each bucket's
 * counters.  A key that makes nearly all of a bucket is treated separately.  Explicit sketches are
 * exact, with a standard error of 0.
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

/* True if a sketch has counters that sum up.  Only the device part of an sf sketch does not. */
extern bool qs_has_product(const qs_sketch *sk);

/*
 * The product of two such sketches, which may be one sketch.  If one is larger, folding it must
 * lead to the size of the other, and it is read as if it were folded.  If only one is explicit, a
 * copy of it gets tables.  QB_NO_MEMORY is the only error.  The function pauses, because millions
 * of buckets take seconds.
 */
extern qb_status
qs_inner_product(const qs_sketch *a, const qs_sketch *b, const qb_memory *memory, qs_product *out);

/*
 * ---- how many distinct keys a sketch has, from the counters that are zero ----
 *
 * An explicit sketch knows the number.  A dense sketch does not know its keys, but a counter is
 * zero if and only if no key has it.  With D keys and C counters, of which U are zero, let p be the
 * chance that a key has a given counter:
 *
 *	thread						1 / n, in each of d rows of n counters
 *	bucketed, multilevel		(d / m) / n, in n buckets of m counters
 *	sf, full or host part		(d / 8) / (z n), in n buckets of 8 z fat cells
 *	sf, device part				(d / 8) / n: a slim counter is zero if its z cells are
 *
 * Keys choose independently, so a counter is zero with probability q = (1 - p)^D, and
 * E U = C q.  The estimate D^ solves this equation for D, with U / C in place of q:
 *
 *	D^ = (ln (U/C) + Var U / (2 U^2)) / ln (1 - p)
 *
 * The second term removes the bias of the logarithm, since E ln U is about
 * ln E U - Var U / (2 (E U)^2).
 *
 * The standard error is that of U, divided by the slope dU/dD = U ln (1 - p):
 *
 *	sqrt (Var U) / (U |ln (1 - p)|)
 *
 * Var U is the sum over all pairs of counters (a, b) of P(both zero) - q^2.  Let s be the
 * chance that a key has both.  Then P(both zero) = (1 - 2p + s)^D, and the term of a pair is
 *
 *	a = b					q - q^2
 *	a, b in one bucket		q^2 ((1 + (s - p^2) / (1 - p)^2)^D - 1)
 *	in different buckets	the same with s = 0: a key has one bucket.  Negative: a key that
 *							falls here does not fall there.
 *	in different rows		0 (thread): rows are independent
 *
 * In one bucket s depends on the distance of a and b alone, since masks are rotated by any number
 * of positions with equal chance (params.h).  Count the bits of a mask whose neighbour at this
 * distance is set, too.  This many of the mask's m rotations have both a and b.  s is the mean over
 * the table of masks, so the error is right for few masks as well.  Fat cells of one sub-bucket
 * have s = 0; in two sub-buckets s is that of the slim counters over z^2.
 *
 * U includes the counters of buckets that are all zero.  The fraction of such buckets alone would
 * be less accurate, because it does not distinguish one key in a bucket from two, which mostly have
 * different counters.
 *
 * Where it works.  The relative error hardly grows until most counters are in use, and then grows
 * fast.  With less than QS_DISTINCT_ZEROS zeros U is no longer nearly normal, and no estimate is
 * given.  For d = 3 and a megabyte of counters the limit is about 3 keys for each counter.
 * HyperLogLog has no such limit.
 *
 * Weights do not matter.  Removed keys do not count, because a counter that fell to zero is zero.
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
 * Estimate the distinct keys of a sketch, owned or view.  A compact sketch must be copied first
 * (qs_copy), which makes tables.  "memory" is only used to pause.
 */
extern qs_distinct qs_distinct_keys(const qs_sketch *sk, const qb_memory *memory);

#endif
