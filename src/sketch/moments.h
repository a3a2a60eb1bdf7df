/*
 * moments.h
 *		Estimates the number of distinct keys of a sketch, and the size of a join of two
 *		sketches.
 *
 * The size of a join, J, is the number of pairs of equal keys.  J is the sum, over all keys, of f *
 * g, where f and g are the key's counts in the two sketches.  If a sketch is joined with itself, J
 * is the second moment of its counts.
 *
 * Let a and b be the same bucket of two sketches, with m counters each.  Let Na and Nb be the sums
 * of their keys' counts, and <a, b> the sum of the products of their counters.  In <a, b> the
 * product f * g of a key appears d times.  The product of the counts of two different keys appears
 * d * d / m times on average, because masks are independent.  So
 *
 *		J^ = (<a, b> - (d * d / m) Na Nb) / (d - d * d / m)
 *
 * is an unbiased estimate of J for a bucket.  The estimate for two sketches is the sum over all
 * buckets.  For a bucket, the estimate is a multiple of the covariance of the counters of a and b.
 * A row of thread is one bucket with d = 1 and m = n, and the estimate is the median of all rows.
 * If keys own whole buckets (d = m), the totals of all buckets are treated as a row.  A fat bucket
 * of sf has m = 8 z cells.
 *
 * The standard error is computed from the moments of each bucket's counters.  A key that has nearly
 * all of a bucket's second moment is treated separately.  The result for two explicit sketches is
 * exact, with a standard error of 0.
 *
 * Counters are converted to doubles, and their mean is subtracted before counters are multiplied.
 * So the rounding error is about 1e-15 of the sum of the products' absolute values.  For explicit
 * sketches, integer products are summed in 128 bits, and the sum is rounded once.
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

/*
 * True if counters of a sketch are sums of counts.  The counters of an sf sketch's device part are
 * maxima.
 */
extern bool qs_has_product(const qs_sketch *sk);

/*
 * Estimates J of two sketches for which qs_has_product() is true.  a and b may be one sketch.  If
 * one n is the other n times a power of two, the larger sketch is read as if folded.  If only one
 * sketch is explicit, a dense copy of this sketch is read.  QB_MISMATCH: parameters or keys do not
 * match.  QB_NO_MEMORY is the only other error.  Pauses by "memory", because millions of buckets
 * take seconds.
 */
extern qb_status
qs_inner_product(const qs_sketch *a, const qs_sketch *b, const qb_memory *memory, qs_product *out);

/*
 * ---- how many distinct keys a sketch has, from the counters that are zero ----
 *
 * An explicit sketch has an entry for each key.  A dense sketch does not store its keys, but a
 * counter is zero if and only if no key owns the counter.  Let D be the number of keys, C the
 * number of counters, and U the number of zero counters.  Let p be the chance that a key owns a
 * given counter:
 *
 *	thread						1 / n, in each of d rows of n counters
 *	bucketed, multilevel		(d / m) / n, in n buckets of m counters
 *	sf, full or host part		(d / 8) / (z n), in n buckets of 8 z fat cells
 *	sf, device part				(d / 8) / n: a slim counter is zero if its z cells are
 *
 * Keys choose their counters independently, so a counter is zero with probability q = (1 - p)^D,
 * and E U = C q.  The estimate D^ solves this equation for D, with U / C instead of q, and is then
 * corrected:
 *
 *	D^ = (ln (U/C) + Var U / (2 U^2)) / ln (1 - p)
 *
 * The second term removes the bias of the logarithm, because E ln U is about ln E U - Var U / (2 (E
 * U)^2).
 *
 * The standard error of D^ is the standard error of U, divided by the slope dU/dD = U ln (1 - p):
 *
 *	sqrt (Var U) / (U |ln (1 - p)|)
 *
 * Var U is the sum over all pairs of counters (a, b) of P(both zero) - q^2.  Let s be the chance
 * that a key owns both a and b.  Then P(both zero) = (1 - 2p + s)^D, and the term of a pair is
 *
 *	a = b					q - q^2
 *	a, b in one bucket		q^2 ((1 + (s - p^2) / (1 - p)^2)^D - 1)
 *	in different buckets	the formula of one bucket with s = 0, because a key has one bucket;
 *							the term is negative
 *	in different rows		0 (thread): rows are independent
 *
 * In one bucket, s depends only on the distance of a and b, because masks are rotated by 0 .. m-1
 * positions with equal chance (params.h).  Let r be the number of bits in a mask whose neighbour at
 * this distance is set, too.  Then r of the mask's m rotations select both a and b.  The mean of r
 * over the table of masks gives s, so the error is right for few masks, too.  Two fat cells of one
 * sub-bucket have s = 0.  For two cells of different sub-buckets, s is the value for their slim
 * counters, divided by z^2.
 *
 * U includes the counters of buckets that are all zero.  An estimate from the number of zero
 * buckets would be less accurate than the estimate from U.  The number of zero buckets does not
 * distinguish one key in a bucket from two keys, although two keys usually own different counters.
 *
 * Limits.  The relative error hardly grows until most counters are in use, and then grows fast.
 * With fewer than QS_DISTINCT_ZEROS zero counters, U is no longer nearly normal, and no estimate is
 * returned.  For d = 3 and a megabyte of counters, the limit is about 3 keys for each counter.
 * HyperLogLog has no such limit.
 *
 * Weights do not matter.  Completely removed keys are not counted, because their counters fall to
 * zero.
 */

/* The least number of zero counters for an estimate. */
#define QS_DISTINCT_ZEROS 32

typedef struct qs_distinct
{
	bool known; /* false: too few counters are zero */
	double estimate;
	double standard_error;
} qs_distinct;

/*
 * Estimates the number of distinct keys of a sketch in any encoding, owned or view.  "memory" is
 * only used to pause.
 */
extern qs_distinct qs_distinct_keys(const qs_sketch *sk, const qb_memory *memory);

#endif
