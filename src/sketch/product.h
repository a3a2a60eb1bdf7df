/*
 * product.h
 *		How many pairs of equal keys two sketches have: the size of a join.
 *
 * For counts f and g of keys in two sketches, J is the sum over all keys of
 * f * g; of a sketch with itself, the second moment of its counts.
 *
 * Take two buckets of m counters, a and b, with the sums Na and Nb of their
 * keys' counts.  In <a, b>, the sum of the products of their counters, a key
 * meets itself d times and another key d * d / m times on average, since masks
 * are independent.  So
 *
 *		J = (<a, b> - (d * d / m) Na Nb) / (d - d * d / m)
 *
 * of a bucket is unbiased, and so is the sum over buckets.  That is a multiple
 * of the covariance of the counters.  A row of thread is one bucket with d = 1
 * and m = n, and the median of the rows is the estimate; so is the row of all
 * totals where keys own whole buckets (d = m).  A fat bucket of sf has m = 8 z
 * cells.
 *
 * The standard error is measured as well, from the moments of each bucket's
 * counters, and takes a key apart that makes nearly all of a bucket.  Explicit
 * sketches are exact, with a standard error of 0.
 *
 * Numbers are doubles, made from counters less their mean, so that an estimate
 * is accurate to some 1e-15 of the sum of the absolute products of these.
 * Exact products are summed in 128 bits and rounded once.
 *
 * Derivations and measured calibration: docs/accuracy.md.
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

/* Does a sketch have counters that sum up, as all but device parts of sf have? */
extern bool qs_has_product(const qs_sketch *sk);

/*
 * Product of two such sketches that are mergeable, which may be the same one.
 * The one with more buckets is folded in a copy; QB_NO_MEMORY is the only error.
 * Pauses, as millions of buckets take seconds.
 */
extern qb_status
qs_inner_product(const qs_sketch *a, const qs_sketch *b, const qb_memory *memory, qs_product *out);

#endif
