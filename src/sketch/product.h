/*
 * product.h
 *		How many pairs of equal keys two sketches have: the size of a join.
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
 * src/sketch/product.h
 */
#ifndef QS_PRODUCT_H
#define QS_PRODUCT_H

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

#endif
