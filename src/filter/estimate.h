/*
 * estimate.h
 *		From the number of set positions of a key to its frequency.
 *
 * A position of a key with frequency f stays zero with probability w =
 * z' (1 - p)^f, where z' is the share of zero bits that the other keys leave.
 * So
 *
 *	f = (ln z' - ln w) / |ln(1 - p)|
 *
 * ln w.  Of the k positions "zeros" are zero, which is binomial with mean k w.
 * The harmonic numbers H estimate its logarithm without bias, up to
 * sum over j > k of (1 - w)^j / j, which is nothing:
 *
 *	E[H(k) - H(zeros)] = sum over j = 1 .. k of (1 - w)^j / j = -ln w
 *
 * (ln(1 - y / k) itself is biased by (1 / w - 1) / 2k, about 1 % of f at k =
 * 200, and has no value when all positions are set; this is then the value of
 * half a zero position.)
 *
 * ln z'.  Taken for it is the share z of zero bits in the whole filter, one number
 * kept current.  It has the key's own bits in it, but so has w: with a = (1 - p)^f,
 * any bit is hit by the key's k positions in
 *
 *	z = z' (1 - (1 - a) / m)^k
 *
 * and that of one of its positions by the k - 1 others
 *
 *	w = z' a (1 - (1 - a) / m)^(k - 1)
 *
 * so that w / z is a but for 1 / m, also where a key's positions are a third of the
 * filter.  Neither the number of rows nor the design enters, so this is as right
 * for skewed keys, for a key that is most of all rows, after merges and beyond the
 * design load.
 *
 * Floating point, and the C library's logarithms: estimates may differ in their
 * last bits between machines, filters never do.  p = 1 tells no frequencies.
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
	double zero;     /* z, at least half a bit */
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
 * Are all k positions set?  Then the key may have come any number of times: the
 * formulas below give what half a zero position would say, which is right on
 * average over many keys and says nothing of this one.
 */
static inline bool
qf_saturated(const qf_scale *scale, uint32_t set)
{
	return set >= scale->k;
}

/*
 * Frequency of a key of which "set" positions are set.  Unbiased, so that it
 * is negative for about half of the keys that never came.
 */
extern double qf_estimate(const qf_scale *scale, uint32_t set);

/*
 * The paper's estimate, for comparison: (k n p + m ln(1 - set / k)) /
 * (p (k - m)).  NaN where the number of rows is not known.
 */
extern double qf_estimate_paper(const qf_scale *scale, uint32_t set);

/* How many standard deviations hold this share of a normal distribution. */
extern double qf_deviations(double confidence);

/*
 * Between which frequencies it is, with the confidence that "deviations" stands
 * for: Wilson's interval for the share of set positions.  Not below 0.
 */
extern qf_bounds qf_bounds_of(const qf_scale *scale, uint32_t set, double deviations);

/* Standard deviation of the estimates of this frequency, as a share of it. */
extern double qf_relative_sd(const qf_scale *scale, double frequency);

/*
 * Distinct keys of a Bloom filter, from its share z of zero bits: a key sets a
 * given bit with chance c, so n keys leave z = (1 - c)^n.  Half a zero bit if it is
 * full.
 */
extern double qf_distinct(const qf_filter *f);

#endif
