/*
 * estimate.h
 *		Estimates a key's frequency from the number of its set positions.
 *
 * A position of a key with frequency f stays zero with probability w = z' (1 - p)^f.  z' is the
 * fraction of zero bits that the other keys leave.  So
 *
 *	f = (ln z' - ln w) / |ln(1 - p)|
 *
 * ln w is estimated as follows.  Let "zeros" be the number of the key's k positions that are zero.
 * It is binomial with mean k w.  The harmonic numbers H estimate the logarithm of w without bias,
 * up to the negligible sum over j > k of (1 - w)^j / j:
 *
 *	E[H(k) - H(zeros)] = sum over j = 1 .. k of (1 - w)^j / j = -ln w
 *
 * The plain logarithm ln(1 - y / k) of y set positions is biased by (1 / w - 1) / 2k, about 1 % of
 * f at k = 200.  If all positions are set, this logarithm is infinite.  qf_estimate_paper() then
 * counts half a zero position.
 *
 * z' is estimated by the fraction z of zero bits in the whole filter.  The key's bits make z
 * smaller than z', but they make w smaller by nearly the same factor.  With a = (1 - p)^f, the
 * key's k positions leave any bit zero with chance
 *
 *	z = z' (1 - (1 - a) / m)^k
 *
 * and any one of the key's own positions stays zero with chance
 *
 *	w = z' a (1 - (1 - a) / m)^(k - 1)
 *
 * So w / z equals a up to 1 / m, even if a key's positions are a third of the filter.  The estimate
 * uses neither the number of rows nor the n and f of the design (params.h).  So the estimate
 * remains accurate for skewed keys, for a key that most rows have, after merges and beyond the
 * design load.
 *
 * Estimates use the C library's logarithms, so their last bits may differ between machines.
 * Filters are equal on all machines.  A filter with p = 1 has no estimates of frequencies.
 *
 * src/filter/estimate.h
 */
#ifndef QF_ESTIMATE_H
#define QF_ESTIMATE_H

#include "filter/filter.h"

/* Data of a filter that all its estimates use. */
typedef struct qf_scale
{
	double k;
	double m;
	double zero;     /* z; a full filter counts as having half a zero bit */
	double log_zero; /* ln z */
	double step;     /* |ln(1 - p)| */
	double harmonic; /* H(k) */
	double rows;     /* number of rows; NaN: unknown */
} qf_scale;

typedef struct qf_bounds
{
	double lower;
	double estimate; /* infinity if all positions are set */
	double upper;    /* infinity if all positions are set */
} qf_bounds;

/* Make the scale of a filter with p < 1.  The filter may be a view. */
extern void qf_scale_make(qf_scale *scale, const qf_filter *f);

/*
 * True if all k positions are set.  The key's frequency then has no upper bound.  qf_estimate() and
 * qf_estimate_paper() then return about the value for half a zero position, which says nothing
 * about a single key.
 */
static inline bool
qf_saturated(const qf_scale *scale, uint32_t set)
{
	return set >= scale->k;
}

/*
 * Estimate the frequency of a key with "set" set positions.  The estimate is unbiased, so it is
 * negative for about half of the absent keys.
 */
extern double qf_estimate(const qf_scale *scale, uint32_t set);

/*
 * Return the paper's estimate, for comparison: (k n p + m ln(1 - set / k)) / (p (k - m)).  NaN: the
 * number n of rows is unknown.
 */
extern double qf_estimate_paper(const qf_scale *scale, uint32_t set);

/*
 * Return the number of standard deviations around the mean within which the fraction "confidence"
 * of a normal distribution lies.
 */
extern double qf_deviations(double confidence);

/*
 * Return bounds of the frequency, at least 0, from Wilson's interval for the fraction of set
 * positions.  "deviations" is a result of qf_deviations().
 */
extern qf_bounds qf_bounds_of(const qf_scale *scale, uint32_t set, double deviations);

/* Return the standard deviation of estimates at this frequency, as a fraction of the frequency. */
extern double qf_relative_sd(const qf_scale *scale, double frequency);

/*
 * Estimate the number of distinct keys of a Bloom filter from its fraction z of zero bits.  A key
 * sets a given bit with chance c, so n keys leave z = (1 - c)^n.  A full filter counts as having
 * half a zero bit.
 */
extern double qf_distinct(const qf_filter *f);

#endif
