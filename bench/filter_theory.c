/*
 * filter_theory.c
 *		Checks that a filter behaves as the formulas of estimate.h say.
 *
 * bench/filter_theory.c
 */
#include <math.h>
#include <stdlib.h>

#include "filter_workload.h"

/* ---- the number of set positions is binomial ---- */

#define TRIALS 20000

typedef struct setting
{
	const char *name;
	qf_preset preset;
	double rows, frequency, error;
	int k;
} setting;

/*
 * Return the chance that a position of a key with this frequency stays zero.  Three types of draws
 * can set the position: draws for the position, draws for other positions of the key that are the
 * same bit, and draws of other rows.
 */
static double
zero_chance(const qf_params *p, double rows, double frequency)
{
	double prob = (double) -p->q / 18446744073709551616.0;
	double own = pow(1 - prob, frequency);
	double m = (double) p->m;

	return own * pow(1 - (1 - own) / m, p->k - 1) *
		   pow(1 - prob / m, (double) p->k * (rows - frequency));
}

static double
squared_distance(double observed, double expected)
{
	return (observed - expected) * (observed - expected) / expected;
}

/*
 * Return Pearson's statistic of counts 0 .. k against a binomial distribution, and set *df to the
 * degrees of freedom.  Rare counts are pooled with their neighbours.
 */
static double
chi_square(const uint32_t *seen, uint32_t k, double chance, int *df)
{
	double expected = 0, observed = 0, last_expected = 0, last_observed = 0, chi = 0;
	uint32_t y;

	*df = -1;
	for (y = 0; y <= k; y++)
	{
		double log_p = lgamma(k + 1.0) - lgamma(y + 1.0) - lgamma(k - y + 1.0) + y * log(chance) +
					   (k - y) * log1p(-chance);

		expected += TRIALS * exp(log_p);
		observed += seen[y];
		if (expected < 20)
			continue;
		if (last_expected > 0)
			chi += squared_distance(last_observed, last_expected);
		last_expected = expected;
		last_observed = observed;
		expected = observed = 0;
		++*df;
	}
	return chi + squared_distance(last_observed + observed, last_expected + expected);
}

static void
check_binomial(const setting *s)
{
	uint32_t *seen = bench_alloc(QF_HASHES_MAX + 1, sizeof(uint32_t));
	moments y = { 0 };
	double chance, chi, deviations;
	qf_filter f;
	int df, i;

	filter_start(&f, s->preset, s->rows, s->frequency, s->error, s->k);
	bench_check(qf_make_dense(&f));
	for (i = 0; i < TRIALS; i++)
	{
		feeder feed;
		uint32_t set;

		memset(f.bits, 0, qf_words(&f.params) * 8);
		f.ones = 0;
		feeder_start(&feed, &f, (uint64_t) i);
		feed_rows(&feed, filter_key(1, (uint64_t) i), (uint64_t) s->frequency);
		feed_noise(&feed, (uint64_t) (s->rows - s->frequency));
		feeder_end(&feed);
		set = filter_set_of(&f, filter_key(1, (uint64_t) i));
		seen[set]++;
		moments_add(&y, set);
	}
	chance = 1 - zero_chance(&f.params, s->rows, s->frequency);
	chi = chi_square(seen, f.params.k, chance, &df);
	/* By Wilson and Hilferty, the cube root of chi / df has nearly a normal distribution. */
	deviations = (cbrt(chi / df) - 1 + 2.0 / (9 * df)) / sqrt(2.0 / (9 * df));
	report_check(
		deviations < 3 && deviations > -3.5,
		"binomial, %s: mean %.3f (theory %.3f), variance %.3f (%.3f), chi-square %.1f with "
		"%d degrees of freedom",
		s->name, moments_mean(&y), f.params.k * chance, pow(moments_sd(&y), 2),
		f.params.k * chance * (1 - chance), chi, df);
	qf_free(&f);
	free(seen);
}

static void
binomial(void)
{
	static const setting settings[] = {
		{ "the paper's case 1", QF_PAPER, 1000, 50, 0.1, 200 },
		{ "balanced", QF_BALANCED, 4000, 40, 0.2, 0 },
		{ "compact", QF_COMPACT, 3000, 20, 0.3, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		check_binomial(&settings[i]);
}

/* ---- estimates of all frequencies, in one large filter ---- */

#define DESIGN 1000.0 /* the frequency for which the filter is designed */
#define SPREAD 30000  /* number of keys whose frequencies cover the range, to check bounds */

static const struct
{
	double fraction; /* frequency as a fraction of the design frequency */
	uint32_t keys;
} levels[] = { { 0.1, 36000 }, { 0.2, 12000 }, { 0.5, 4000 },
			   { 1.0, 3000 },  { 1.5, 3000 },  { 2.0, 600 } };

#define LEVELS (sizeof(levels) / sizeof(levels[0]))

/*
 * Return the frequency of key i, from 0.1 to 1.5 times the design frequency.  The logarithms are
 * evenly spaced.
 */
static uint64_t
spread_frequency(uint32_t i)
{
	return (uint64_t) (0.1 * DESIGN * pow(15, (i + 0.5) / SPREAD) + 0.5);
}

static void
fill_all_frequencies(qf_filter *f, double rows)
{
	feeder feed;
	size_t l;
	uint32_t i;

	feeder_start(&feed, f, 1);
	for (l = 0; l < LEVELS; l++)
		for (i = 0; i < levels[l].keys; i++)
			feed_rows(&feed, filter_key((uint32_t) l + 1, i),
					  (uint64_t) (levels[l].fraction * DESIGN));
	for (i = 0; i < SPREAD; i++)
		feed_rows(&feed, filter_key(100, i), spread_frequency(i));
	feed_noise(&feed, (uint64_t) rows - feed.row);
	feeder_end(&feed);
}

static void
report_level(const qf_filter *f, const qf_scale *scale, size_t l, FILE *table)
{
	double truth = levels[l].fraction * DESIGN;
	double theory = qf_relative_sd(scale, truth);
	moments ours = { 0 }, paper = { 0 };
	double bias, sd;
	uint32_t i;

	for (i = 0; i < levels[l].keys; i++)
	{
		uint32_t set = filter_set_of(f, filter_key((uint32_t) l + 1, i));

		moments_add(&ours, qf_estimate(scale, set) / truth);
		moments_add(&paper, qf_estimate_paper(scale, set) / truth);
	}
	bias = moments_mean(&ours) - 1;
	sd = moments_sd(&ours);
	if (levels[l].fraction <= 1.5)
	{
		report_check(fabs(bias) <= 0.01, "%.1f f: bias %+.2f %%", levels[l].fraction, 100 * bias);
		report_check(fabs(sd / theory - 1) <= 0.05, "%.1f f: relative sd %.4f, theory %.4f",
					 levels[l].fraction, sd, theory);
	}
	fprintf(table, "| %.1f | %u | %+.2f %% | %+.2f %% | %.2f %% | %.2f %% |\n", levels[l].fraction,
			levels[l].keys, 100 * bias, 100 * (moments_mean(&paper) - 1), 100 * sd, 100 * theory);
}

static void
report_bounds(const qf_filter *f, const qf_scale *scale, FILE *table)
{
	static const double confidences[] = { 0.5, 0.9, 0.95, 0.99 };
	size_t c;
	uint32_t i;

	fprintf(table, "\nFraction of intervals that contain the frequency, by confidence:");
	for (c = 0; c < sizeof(confidences) / sizeof(confidences[0]); c++)
	{
		double deviations = qf_deviations(confidences[c]);
		double held = 0;

		for (i = 0; i < SPREAD; i++)
		{
			double truth = (double) spread_frequency(i);
			qf_bounds b = qf_bounds_of(scale, filter_set_of(f, filter_key(100, i)), deviations);

			held += b.lower <= truth && truth <= b.upper;
		}
		held /= SPREAD;
		report_check(fabs(held - confidences[c]) <= 0.01, "bounds of confidence %.2f hold in %.4f",
					 confidences[c], held);
		fprintf(table, "%s %.2f: %.4f", c > 0 ? "," : "", confidences[c], held);
	}
	fprintf(table, ".\n");
}

static void
frequencies(void)
{
	FILE *table = report_open("filter-frequencies");
	double rows = 4e7;
	qf_scale scale;
	qf_filter f;
	size_t l;

	filter_start(&f, QF_BALANCED, rows, DESIGN, 0.1, 0);
	fill_all_frequencies(&f, rows);
	qf_scale_make(&scale, &f);
	fprintf(table, "| frequency / f | keys | bias | bias of the paper's | relative sd | theory |\n"
				   "|---|---|---|---|---|---|\n");
	for (l = 0; l < LEVELS; l++)
		report_level(&f, &scale, l, table);
	report_bounds(&f, &scale, table);
	fclose(table);
	qf_free(&f);
}

/* ---- a key with a large fraction of all rows ---- */

/*
 * Return the number of trials for a key of frequency fraction * DESIGN.  Estimates of rare keys
 * have a larger relative variance, and need more trials.
 */
static int
trials_of(double fraction)
{
	return fraction < 0.5 ? 40000 : 8000;
}

static void
check_few(double ratio, double fraction)
{
	double truth = fraction * DESIGN, rows = ratio * DESIGN, theory = 0, held = 0;
	moments ours = { 0 };
	int trials = trials_of(fraction);
	double bias, error;
	qf_filter f;
	int i;

	filter_start(&f, QF_BALANCED, rows, DESIGN, 0.1, 0);
	bench_check(qf_make_dense(&f));
	for (i = 0; i < trials; i++)
	{
		qf_scale scale;
		qf_bounds b;
		feeder feed;
		uint32_t set;

		memset(f.bits, 0, qf_words(&f.params) * 8);
		f.ones = 0;
		feeder_start(&feed, &f, (uint64_t) i);
		feed_rows(&feed, filter_key(1, (uint64_t) i), (uint64_t) truth);
		feed_noise(&feed, (uint64_t) (rows - truth));
		feeder_end(&feed);
		qf_scale_make(&scale, &f);
		set = filter_set_of(&f, filter_key(1, (uint64_t) i));
		b = qf_bounds_of(&scale, set, qf_deviations(0.95));
		held += b.lower <= truth && truth <= b.upper;
		moments_add(&ours, qf_estimate(&scale, set) / truth);
		theory += qf_relative_sd(&scale, truth) / trials;
	}
	bias = moments_mean(&ours) - 1;
	error = moments_sd(&ours) / sqrt(trials);
	held /= trials;
	report_check(fabs(bias) <= 0.01 && fabs(moments_sd(&ours) / theory - 1) <= 0.05 &&
					 fabs(held - 0.95) <= 0.01,
				 "%.1f f of %.1f f rows: bias %+.2f %% (+- %.2f), sd %.3f of theory's, %.4f held",
				 fraction, ratio, 100 * bias, 100 * error, moments_sd(&ours) / theory, held);
	qf_free(&f);
}

static void
few_rows(void)
{
	static const double ratios[] = { 1, 1.5, 3 };
	static const double fractions[] = { 0.1, 0.5, 1, 1.5 };
	size_t r, s;

	for (r = 0; r < sizeof(ratios) / sizeof(ratios[0]); r++)
		for (s = 0; s < sizeof(fractions) / sizeof(fractions[0]); s++)
			if (fractions[s] <= ratios[r])
				check_few(ratios[r], fractions[s]);
}

/* ---- presets ---- */

static void
presets(void)
{
	static const struct
	{
		qf_preset preset;
		double error;
	} cases[] = { { QF_BALANCED, 0.2 },
				  { QF_BALANCED, 0.1 },
				  { QF_BALANCED, 0.05 },
				  { QF_COMPACT, 0.1 },
				  { QF_FAST, 0.1 } };
	double rows = 3e6, frequency = 200;
	uint32_t keys = 1500, i;
	size_t c;

	for (c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
	{
		moments error = { 0 };
		qf_scale scale;
		feeder feed;
		qf_filter f;
		double had;

		filter_start(&f, cases[c].preset, rows, frequency, cases[c].error, 0);
		feeder_start(&feed, &f, 7);
		for (i = 0; i < keys; i++)
			feed_rows(&feed, filter_key(1, i), (uint64_t) frequency);
		feed_noise(&feed, (uint64_t) rows - feed.row);
		feeder_end(&feed);
		qf_scale_make(&scale, &f);
		for (i = 0; i < keys; i++)
			moments_add(&error,
						qf_estimate(&scale, filter_set_of(&f, filter_key(1, i))) / frequency);
		had = moments_sd(&error);
		report_check(fabs(had / cases[c].error - 1) <= 0.1, "%s, error %.2f asked: %.4f",
					 qf_preset_name(cases[c].preset), cases[c].error, had);
		qf_free(&f);
	}
}

void
accuracy_theory(void)
{
	binomial();
	frequencies();
	few_rows();
	presets();
}
