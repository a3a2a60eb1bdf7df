/*
 * estimate.h
 *		From the number of set positions of a key to its frequency.
 *
 * A position of a key with frequency f stays zero with probability w =
 * z' (1 - p)^f, where z' is the fraction of zero bits that the other keys leave.
 * So
 *
 *	f = (ln z' - ln w) / |ln(1 - p)|
 *
 * ln w.  The number "zeros" of the key's k positions that are zero is binomial with
 * mean k w.  The harmonic numbers H estimate the logarithm of w without bias, up to
 * the negligible sum over j > k of (1 - w)^j / j:
 *
 *	E[H(k) - H(zeros)] = sum over j = 1 .. k of (1 - w)^j / j = -ln w
 *
 * (The plain logarithm, ln(1 - y / k) for y set positions, is biased by (1 / w - 1)
 * / 2k, about 1 % of f at k = 200.  It has no value when all positions are set; half
 * a zero position is then taken.)
 *
 * ln z'.  We use the fraction z of zero bits in the whole filter as z'. z is kept current as bits
 * are set.  z includes the key's own bits, but w includes them, too.  With a = (1 - p)^f, the key's
 * k positions leave any bit zero with chance
 *
 *	z = z' (1 - (1 - a) / m)^k
 *
 * and one of the key's positions is left zero by the other k - 1 positions with
 * chance
 *
 *	w = z' a (1 - (1 - a) / m)^(k - 1)
 *
 * so w / z equals a up to 1 / m, even if a key's positions are a third of the filter.  Neither the
 * number of rows nor the design parameters enter.  So the estimate keeps its accuracy for skewed
 * keys, for a key that makes up most of all rows, after merges and beyond the design load.
 *
 * Estimates are floating point and use the C library's logarithms, so they may
 * differ in their last bits between machines.  Filters never differ.  A filter with
 * p = 1 has no frequencies.
 *
 * src/filter/estimate.h
 */
#ifndef QF_ESTIMATE_H
#define QF_ESTIMATE_H

#include "filter/filter.h"

/* What all estimates of a filter have in common. */
typedef struct qf_scale
{
	double k;
	double m;
	double zero;     /* z, at least half a zero bit */
	double log_zero; /* ln z */
	double step;     /* |ln(1 - p)| */
	double harmonic; /* H(k) */
	double rows;     /* NaN: unknown */
} qf_scale;

typedef struct qf_bounds
{
	double lower;
	double estimate; /* infinity if all positions are set */
	double upper;    /* infinity if all positions are set */
} qf_bounds;

/* For a filter with p < 1; works on views. */
extern void qf_scale_make(qf_scale *scale, const qf_filter *f);

/*
 * True if all k positions are set.  Then the key may have come any number of times.  The functions
 * below then give the value of half a zero position, which is right on average over many keys but
 * says nothing about this one.
 */
static inline bool
qf_saturated(const qf_scale *scale, uint32_t set)
{
	return set >= scale->k;
}

/*
 * The frequency of a key with "set" positions set.  It is unbiased, so it is negative for about
 * half of the absent keys.
 */
extern double qf_estimate(const qf_scale *scale, uint32_t set);

/*
 * The paper's estimate, for comparison: (k n p + m ln(1 - set / k)) / (p (k - m)).
 * NaN if the number n of rows is not known.
 */
extern double qf_estimate_paper(const qf_scale *scale, uint32_t set);

/*
 * The number of standard deviations around the mean that hold this fraction of a normal
 * distribution.
 */
extern double qf_deviations(double confidence);

/*
 * Bounds of the frequency, never below 0, from Wilson's interval for the fraction of set positions.
 * "deviations" comes from the confidence (qf_deviations()).
 */
extern qf_bounds qf_bounds_of(const qf_scale *scale, uint32_t set, double deviations);

/* Standard deviation of estimates at this frequency, as a fraction of the frequency. */
extern double qf_relative_sd(const qf_scale *scale, double frequency);

/*
 * The number of distinct keys in a Bloom filter, from its fraction z of zero bits.  A
 * key sets a given bit with chance c, so n keys leave z = (1 - c)^n.  A full filter
 * counts as having half a zero bit.
 */
extern double qf_distinct(const qf_filter *f);

#endif
