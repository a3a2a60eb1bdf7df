/*
 * estimate.c
 *		Estimates frequencies, their bounds, and numbers of distinct keys.
 *
 * src/filter/estimate.c
 */
#include <math.h>

#include "filter/estimate.h"

#define TWO_64        18446744073709551616.0
#define EULER_GAMMA   0.57721566490153286
#define FEW_HARMONICS 16 /* harmonic() uses the series from this n on */

/* Return 1 + 1/2 + .. + 1/n. */
static double
harmonic(uint32_t n)
{
	double sum = 0;
	double x = n;

	if (n >= FEW_HARMONICS)
		return log(x) + EULER_GAMMA + 1 / (2 * x) - 1 / (12 * x * x) + 1 / (120 * x * x * x * x);
	for (; n > 0; n--)
		sum += 1.0 / n;
	return sum;
}

/* Return the fraction of zero bits.  A full filter counts as having half a zero bit. */
static double
zero_fraction(const qf_filter *f)
{
	double m = (double) f->params.m;

	return f->ones < f->params.m ? 1 - (double) f->ones / m : 0.5 / m;
}

void
qf_scale_make(qf_scale *scale, const qf_filter *f)
{
	scale->k = f->params.k;
	scale->m = (double) f->params.m;
	scale->zero = zero_fraction(f);
	scale->log_zero = log(scale->zero);
	scale->step = -log1p(-(double) -f->params.q / TWO_64);
	scale->harmonic = harmonic(f->params.k);
	scale->rows = f->rows == QF_ROWS_UNKNOWN ? NAN : (double) f->rows;
}

double
qf_estimate(const qf_scale *s, uint32_t set)
{
	uint32_t zeros = (uint32_t) s->k - set;

	return (s->harmonic - harmonic(zeros) + s->log_zero) / s->step;
}

double
qf_estimate_paper(const qf_scale *s, uint32_t set)
{
	double p = -expm1(-s->step);
	double w = set < s->k ? 1 - set / s->k : 0.5 / s->k;

	return (s->k * s->rows * p + s->m * log(w)) / (p * (s->k - s->m)) + 0.0; /* turns -0 into 0 */
}

double
qf_deviations(double confidence)
{
	double low = 0;
	double high = 40;
	int i;

	for (i = 0; i < 60; i++)
	{
		double middle = (low + high) / 2;

		if (erfc(middle / sqrt(2)) > 1 - confidence)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Return the frequency, at least 0, that leaves the fraction w of a key's positions zero. */
static double
frequency_at(const qf_scale *s, double w)
{
	double f = w > 0 ? (s->log_zero - log(w)) / s->step : INFINITY;

	return f > 0 ? f : 0;
}

qf_bounds
qf_bounds_of(const qf_scale *s, uint32_t set, double deviations)
{
	double y = set / s->k;
	double square = deviations * deviations;
	double middle = y + square / (2 * s->k);
	double half = deviations * sqrt(y * (1 - y) / s->k + square / (4 * s->k * s->k));
	double all = 1 + square / s->k;
	double estimate = qf_estimate(s, set);
	qf_bounds b;

	b.estimate = estimate > 0 ? estimate : 0;
	b.lower = frequency_at(s, 1 - (middle - half) / all);
	b.upper = frequency_at(s, 1 - (middle + half) / all);
	b.lower = b.lower < b.estimate ? b.lower : b.estimate;
	b.upper = b.upper > b.estimate ? b.upper : b.estimate;
	if (qf_saturated(s, set))
		b.estimate = b.upper = INFINITY;
	return b;
}

double
qf_relative_sd(const qf_scale *s, double frequency)
{
	double t = frequency * s->step;

	return sqrt(expm1(t - s->log_zero) / s->k) / t;
}

/* In a blocked filter, a key sets only bits of one block. */
double
qf_distinct(const qf_filter *f)
{
	bool blocked = f->params.layout == QF_BLOCKED;
	double bits = blocked ? QF_BLOCK_BITS : (double) f->params.m;
	double chance = -expm1(f->params.k * log1p(-1 / bits));

	return log(zero_fraction(f)) / log1p(-chance * bits / (double) f->params.m) +
		   0.0; /* turns -0 into 0 */
}
