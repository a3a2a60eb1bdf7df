/*
 * test_filter_estimate.c
 *		Estimates and bounds, compared with sums over the binomial distribution.
 *
 * test/unit/test_filter_estimate.c
 */
#include "filter_support.h"

#include <math.h>

/* Make a filter that counts this fraction of its bits as set.  No bit is set in memory. */
static qf_filter
filled(uint32_t k, double p, double fraction)
{
	qf_params params = filter_params(1 << 24, k, p, 0);
	qf_filter f;

	filter_init(&f, &params);
	f.ones = (uint64_t) (fraction * (1 << 24));
	f.rows = 1000;
	return f;
}

static double
binomial(uint32_t k, uint32_t y, double chance)
{
	return exp(lgamma(k + 1.0) - lgamma(y + 1.0) - lgamma(k - y + 1.0) + y * log(chance) +
			   (k - y) * log1p(-chance));
}

/* Returns the expected fraction of set positions of a key whose rows set few bits of the filter. */
static double
fraction_at(const qf_scale *s, double frequency)
{
	return 1 - s->zero * exp(-frequency * s->step);
}

/* The expectation of the estimate, over all numbers of set positions, equals the frequency. */
static void
estimates_are_unbiased(void **state)
{
	static const double frequencies[] = { 0, 100, 500, 1000, 1500, 2000 };
	static const uint32_t hashes[] = { 50, 200, 267, 2000 };
	size_t a, b;
	uint32_t y;

	(void) state;
	for (a = 0; a < ALL_OF(hashes); a++)
		for (b = 0; b < ALL_OF(frequencies); b++)
		{
			qf_filter f = filled(hashes[a], 0.001, 0.26);
			double mean = 0, squares = 0, sd;
			qf_scale s;

			WHERE("k %u, frequency %g", hashes[a], frequencies[b]);
			qf_scale_make(&s, &f);
			for (y = 0; y <= hashes[a]; y++)
			{
				double weight = binomial(hashes[a], y, fraction_at(&s, frequencies[b]));
				double estimate = qf_estimate(&s, y);

				mean += weight * estimate;
				squares += weight * estimate * estimate;
			}
			sd = sqrt(squares - mean * mean);
			REQUIRE(fabs(mean - frequencies[b]) < 1 + frequencies[b] * 0.001);
			if (frequencies[b] > 0 && hashes[a] >= 200)
				REQUIRE(fabs(sd / qf_relative_sd(&s, frequencies[b]) / frequencies[b] - 1) < 0.05);
		}
}

/*
 * Estimates are unbiased even if all rows have one key.  The key has nearly a third as many
 * positions as the filter has bits, so some of its positions coincide.
 */
static void
estimates_are_unbiased_where_one_key_is_all_rows(void **state)
{
	enum
	{
		FREQUENCY = 200,
		TRIALS = 4000
	};
	qf_request r = { .rows = FREQUENCY, .frequency = FREQUENCY, .error = 0.1 };
	uint64_t keys[FREQUENCY];
	double sum = 0, squares = 0, mean, sd, theory = 0;
	qf_params p;
	size_t i;
	int t;

	(void) state;
	REQUIRE_OK(qf_params_make(&p, &r));
	assert_true(p.m < p.k * 4);
	for (t = 0; t < TRIALS; t++)
	{
		double estimate;
		qf_scale s;
		qf_filter f;

		for (i = 0; i < FREQUENCY; i++)
			keys[i] = test_key((uint64_t) t);
		filter_init(&f, &p);
		filter_insert(&f, keys, FREQUENCY, 0, (uint64_t) t);
		qf_scale_make(&s, &f);
		estimate = qf_estimate(&s, filter_query(&f, keys[0])) / FREQUENCY;
		sum += estimate;
		squares += estimate * estimate;
		theory += qf_relative_sd(&s, FREQUENCY) / TRIALS;
		qf_free(&f);
	}
	mean = sum / TRIALS;
	sd = sqrt(squares / TRIALS - mean * mean);
	WHERE("mean %g, sd %g", mean, sd);
	REQUIRE(fabs(mean - 1) < 0.01); /* the standard deviation of the mean is 0.0015 */
	REQUIRE(fabs(sd / theory - 1) < 0.05);
}

static void
deviations_are_those_of_the_normal_distribution(void **state)
{
	(void) state;
	assert_true(fabs(qf_deviations(0.5) - 0.674489750196) < 1e-9);
	assert_true(fabs(qf_deviations(0.95) - 1.959963984540) < 1e-9);
	assert_true(fabs(qf_deviations(0.99) - 2.575829303549) < 1e-9);
	assert_true(qf_deviations(0) < 1e-9);
}

/*
 * lower <= estimate <= upper.  All three grow with the number of set positions, and bounds
 * widen with confidence.
 */
static void
bounds_enclose_the_estimate(void **state)
{
	static const double confidences[] = { 0.0, 0.01, 0.5, 0.95, 0.999999 };
	static const double fractions[] = { 0, 0.26, 0.9, 1 };
	size_t c, n;
	uint32_t y;

	(void) state;
	for (n = 0; n < ALL_OF(fractions); n++)
	{
		qf_filter f = filled(200, 0.001, fractions[n]);
		qf_scale s;

		qf_scale_make(&s, &f);
		for (y = 0; y <= 200; y++)
		{
			qf_bounds narrow = qf_bounds_of(&s, y, 0);

			for (c = 0; c < ALL_OF(confidences); c++)
			{
				qf_bounds b = qf_bounds_of(&s, y, qf_deviations(confidences[c]));
				qf_bounds less = qf_bounds_of(&s, y > 0 ? y - 1 : 0, qf_deviations(confidences[c]));

				WHERE("share %g, y %u, confidence %g", fractions[n], y, confidences[c]);
				REQUIRE(0 <= b.lower && b.lower <= b.estimate && b.estimate <= b.upper);
				REQUIRE(b.lower <= narrow.lower && b.upper >= narrow.upper);
				REQUIRE(less.lower <= b.lower && less.estimate <= b.estimate &&
						less.upper <= b.upper);
				REQUIRE(isinf(b.upper) == (y == 200) && isinf(b.estimate) == (y == 200));
				REQUIRE(qf_saturated(&s, y) == (y == 200) && isfinite(b.lower));
				narrow = b;
			}
		}
	}
}

/* Compare with the paper's formula: (k n p + m ln(1 - y / k)) / (p (k - m)). */
static void
the_papers_estimate_is_the_papers(void **state)
{
	qf_filter f = filled(200, 0.0308, 0.1);
	qf_scale s;
	double m = 1 << 24;

	(void) state;
	qf_scale_make(&s, &f);
	assert_true(fabs(qf_estimate_paper(&s, 150) /
						 ((200 * 1000 * 0.0308 + m * log(0.25)) / (0.0308 * (200 - m))) -
					 1) < 1e-9);
	assert_true(isfinite(qf_estimate_paper(&s, 200)));
	f.rows = 0;
	qf_scale_make(&s, &f);
	assert_true(qf_estimate_paper(&s, 0) == 0 && !signbit(qf_estimate_paper(&s, 0)));
	f.rows = QF_ROWS_UNKNOWN;
	qf_scale_make(&s, &f);
	assert_true(isnan(qf_estimate_paper(&s, 150)));
}

static void
distinct_keys_of_a_bloom_filter(void **state)
{
	qf_filter f = filled(7, 1, 0.5);

	(void) state;
	assert_true(fabs(qf_distinct(&f) / ((1 << 24) * log(2) / 7) - 1) < 1e-6);
	f.params.layout = QF_BLOCKED;
	assert_true(fabs(qf_distinct(&f) / ((1 << 24) * log(2) / (512 * (1 - pow(511 / 512.0, 7)))) -
					 1) < 1e-4);
	f.ones = 0;
	assert_true(qf_distinct(&f) == 0 && !signbit(qf_distinct(&f)));
	f.ones = f.params.m;
	assert_true(isfinite(qf_distinct(&f)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_are_unbiased),
		cmocka_unit_test(estimates_are_unbiased_where_one_key_is_all_rows),
		cmocka_unit_test(deviations_are_those_of_the_normal_distribution),
		cmocka_unit_test(bounds_enclose_the_estimate),
		cmocka_unit_test(the_papers_estimate_is_the_papers),
		cmocka_unit_test(distinct_keys_of_a_bloom_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
