/*
 * test_filter_params.c
 *		Choosing the parameters of filters, and the table of gaps.
 *
 * test/unit/test_filter_params.c
 */
#include "filter_support.h"

#include <math.h>

#define TWO_64 18446744073709551616.0

static double
p_of(const qf_params *p)
{
	return (double) -p->q / TWO_64;
}

/* The paper's preset reproduces Table 1 of the paper exactly. */
static void
paper_preset_reproduces_table_1(void **state)
{
	static const struct
	{
		qf_request request;
		double p;
		uint64_t m;
	} cases[] = {
		{ { .rows = 1000, .frequency = 50, .error = 0.1, .k = 200, .preset = QF_PAPER },
		  0.0308,
		  58466 },
		{ { .rows = 10000, .frequency = 100, .error = 0.1, .k = 500, .preset = QF_PAPER },
		  0.0153,
		  726078 },
	};
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(cases); i++)
	{
		qf_params p;

		REQUIRE_OK(qf_params_make(&p, &cases[i].request));
		REQUIRE(p.m == cases[i].m);
		REQUIRE(fabs(p_of(&p) - cases[i].p) < 1e-8);
	}
}

static void
presets_follow_their_formulas(void **state)
{
	static const struct
	{
		int preset;
		double t, load;
		uint32_t k;
		double bits; /* bits, divided by rows / frequency */
	} cases[] = {
		{ QF_BALANCED, 1.0, 0.3, 267, 890 },
		{ QF_COMPACT, 0.797, 0.797, 618, 618 },
		{ QF_FAST, 1.59, 0.105, 176, 2665 },
	};
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(cases); i++)
	{
		qf_request r = { .rows = 10000000, .frequency = 1000, .error = 0.1 };
		qf_params p;
		double load;

		r.preset = cases[i].preset;
		WHERE("%s", qf_preset_name(r.preset));
		REQUIRE(qf_preset_by_name(qf_preset_name(r.preset), strlen(qf_preset_name(r.preset))) ==
				r.preset);
		REQUIRE_OK(qf_params_make(&p, &r));
		load = p.k * 1e7 * p_of(&p) / (double) p.m;
		REQUIRE(p.k == cases[i].k);
		REQUIRE(fabs(-log1p(-p_of(&p)) * 1000 / cases[i].t - 1) < 1e-6);
		REQUIRE(load <= cases[i].load && load > cases[i].load * 0.999);
		REQUIRE(fabs((double) p.m / 10000 / cases[i].bits - 1) < 0.003);
		REQUIRE_OK(qf_params_check(&p));
	}
}

/* A chosen size is a small number times a power of two, so it can be halved many times. */
static void
chosen_sizes_can_be_halved(void **state)
{
	qf_request r = { .rows = 123456789, .frequency = 777, .error = 0.1 };
	qf_params p;

	(void) state;
	REQUIRE_OK(qf_params_make(&p, &r));
	REQUIRE(p.m % 64 == 0 && p.m >> __builtin_ctzll(p.m) < 2048);
}

static void
bloom_parameters_give_the_rate(void **state)
{
	static const double rates[] = { 0.5, 0.1, 0.01, 0.001, 1e-9 };
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(rates); i++)
	{
		qf_params p;
		double rate;

		REQUIRE_OK(qf_params_make_bloom(&p, 1000000, rates[i], 5, QF_STANDARD));
		rate = pow(-expm1(-(double) p.k * 1e6 / (double) p.m), p.k);
		REQUIRE(p.q == 0 && p.seed == 5);
		REQUIRE(rate <= rates[i] && rate > rates[i] * 0.98);
	}
}

/*
 * Each throw sets a random bit of a block.  For each number t of throws up to "throws", set rate[t]
 * to the chance that k random bits are all set.  chance[set] is the probability of "set" set bits.
 */
static void
block_rates(uint32_t k, uint32_t throws, double *rate)
{
	double chance[QF_BLOCK_BITS + 1] = { 1 };
	uint32_t t, set;

	for (t = 0; t <= throws; t++)
	{
		rate[t] = 0;
		for (set = QF_BLOCK_BITS; set <= QF_BLOCK_BITS; set--)
		{
			rate[t] += chance[set] * pow(set / 512.0, k);
			chance[set] *= set / 512.0;
			if (set > 0)
				chance[set] += chance[set - 1] * (513.0 - set) / 512;
		}
	}
}

/*
 * The rate of a blocked filter is near the requested rate.  The rate is summed over all numbers
 * of keys in a block.
 */
static void
blocked_parameters_give_the_rate(void **state)
{
	static const double rates[] = { 0.5, 0.1, 0.01, 0.001, 1e-5, 1e-9 };
	static const double more[] = {
		1.0, 1.01, 1.04, 1.09, 1.26, 1.97
	}; /* limit of the bits, relative to a standard filter */
	static double block[30 * 700];
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(rates); i++)
	{
		qf_params p, standard;
		double mean, rate = 0;
		uint32_t n;

		REQUIRE_OK(qf_params_make_bloom(&p, 1000000, rates[i], 5, QF_BLOCKED));
		REQUIRE_OK(qf_params_make_bloom(&standard, 1000000, rates[i], 5, QF_STANDARD));
		WHERE("rate %g, k %u, m %g", rates[i], p.k, (double) p.m);
		mean = 1e6 * QF_BLOCK_BITS / (double) p.m;
		block_rates(p.k, p.k * 600, block);
		for (n = 0; n <= 600; n++)
			rate += exp(n * log(mean) - mean - lgamma(n + 1.0)) * block[n * p.k];
		REQUIRE(p.layout == QF_BLOCKED && p.q == 0 && p.seed == 5 && p.k == standard.k);
		REQUIRE(rate < rates[i] * 1.003 && rate > rates[i] * 0.98);
		REQUIRE(fabs(qf_blocked_rate(&p, 1e6) / rate - 1) < 0.004);
		REQUIRE((double) p.m <= (double) standard.m * (more[i] + 0.005));
	}
}

/*
 * In filters of few keys, the number of keys in a block is binomial, or a single block has all
 * keys.
 */
static void
small_blocked_filters_have_their_rate(void **state)
{
	static const int64_t keys[] = { 1, 2, 10, 100, 3000 };
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(keys); i++)
	{
		qf_params p, less;

		REQUIRE_OK(qf_params_make_bloom(&p, keys[i], 0.001, 0, QF_BLOCKED));
		REQUIRE(p.m % QF_BLOCK_BITS == 0 && qf_blocked_rate(&p, (double) keys[i]) <= 0.001);
		less = p;
		less.m -= less.m / 100 + QF_BLOCK_BITS;
		REQUIRE(p.m == QF_BLOCK_BITS || qf_blocked_rate(&less, (double) keys[i]) > 0.001);
	}
}

static void
layouts_have_names(void **state)
{
	(void) state;
	assert_int_equal(qf_layout_by_name("blocked", 7), QF_BLOCKED);
	assert_int_equal(qf_layout_by_name("standard", 8), QF_STANDARD);
	assert_int_equal(qf_layout_by_name("blocked", 6), -1);
	assert_null(qf_layout_name(QF_LAYOUTS));
	assert_null(qf_layout_name(-1));
}

static qf_request
request(int64_t rows, int64_t frequency, double error, int64_t k, int preset)
{
	return (qf_request){
		.rows = rows, .frequency = frequency, .error = error, .k = k, .preset = preset
	};
}

static void
what_is_out_of_range_is_named(void **state)
{
	const struct
	{
		qf_request request;
		qb_status status;
	} cases[] = {
		{ request(0, 1, 0.1, 0, 0), QB_BAD_ROWS },
		{ request(-5, 1, 0.1, 0, 0), QB_BAD_ROWS },
		{ request(QF_ROWS_MAX + 1, 1, 0.1, 0, 0), QB_BAD_ROWS },
		{ request(100, 0, 0.1, 0, 0), QB_BAD_FREQUENCY },
		{ request(100, 101, 0.1, 0, 0), QB_BAD_FREQUENCY },
		{ request(QF_ROWS_MAX, QF_FREQUENCY_MAX + 1, 0.1, 0, 0), QB_BAD_FREQUENCY },
		{ request(100, 10, 0.0099, 0, 0), QB_BAD_ERROR },
		{ request(100, 10, 1.01, 0, 0), QB_BAD_ERROR },
		{ request(100, 10, (double) NAN, 0, 0), QB_BAD_ERROR },
		{ request(100, 10, 0.1, -1, 0), QB_BAD_HASHES },
		{ request(100, 10, 0.1, QF_HASHES_MAX + 1, 0), QB_BAD_HASHES },
		{ request(100, 10, 0.1, 0, QF_PAPER), QB_BAD_HASHES },
		{ request(100, 1, 0.1, 200, QF_PAPER), QB_BAD_FREQUENCY },
		{ request(100, 10, 0.1, 0, -1), QB_BAD_PRESET },
		{ request(100, 10, 0.1, 0, QF_PRESETS), QB_BAD_PRESET },
		{ request(QF_ROWS_MAX, 1, 0.1, 0, 0), QB_BAD_SIZE },
		{ request(QF_ROWS_MAX, 2, 0.1, 200, QF_PAPER), QB_BAD_SIZE },
		{ request(QF_ROWS_MAX, QF_FREQUENCY_MAX, 1, 0, QF_FAST), QB_OK },
		{ request(1, 1, 1, 0, 0), QB_OK },
		{ request(1, 1, QF_ERROR_MIN, 0, QF_COMPACT), QB_OK },
	};
	qf_params p;
	size_t i;
	int layout;

	(void) state;
	for (i = 0; i < ALL_OF(cases); i++)
	{
		WHERE("case %d", (int) i);
		REQUIRE_STATUS(qf_params_make(&p, &cases[i].request), cases[i].status);
		if (cases[i].status == QB_OK)
			REQUIRE_OK(qf_params_check(&p));
	}
	for (layout = 0; layout < QF_LAYOUTS; layout++)
	{
		REQUIRE_STATUS(qf_params_make_bloom(&p, 0, 0.01, 0, layout), QB_BAD_ROWS);
		REQUIRE_STATUS(qf_params_make_bloom(&p, 10, 0, 0, layout), QB_BAD_RATE);
		REQUIRE_STATUS(qf_params_make_bloom(&p, 10, 0.51, 0, layout), QB_BAD_RATE);
		REQUIRE_STATUS(qf_params_make_bloom(&p, 10, (double) NAN, 0, layout), QB_BAD_RATE);
		REQUIRE_STATUS(qf_params_make_bloom(&p, QF_ROWS_MAX, 0.01, 0, layout), QB_BAD_SIZE);
		REQUIRE_OK(qf_params_make_bloom(&p, 1, QF_RATE_MIN, 0, layout));
	}
	REQUIRE_STATUS(qf_params_make_bloom(&p, 10, 0.01, 0, -1), QB_BAD_LAYOUT);
	REQUIRE_STATUS(qf_params_make_bloom(&p, 10, 0.01, 0, QF_LAYOUTS), QB_BAD_LAYOUT);
	REQUIRE_OK(qf_params_check(&p));
}

/* qf_gap() equals qf_gap_by_steps() for random draws and at every edge of the table. */
static void
table_of_gaps_agrees_with_steps(void **state)
{
	static const double chances[] = { 1e-15, 1e-6, 0.001, 0.03, 0.5, 0.9, 0.999999 };
	static const uint32_t hashes[] = { 1, 2, 200, 1023, 1024, 5000 };
	static qf_gaps gaps;
	test_rng rng = test_seeded(1);
	size_t a, b;
	uint32_t i;

	(void) state;
	for (a = 0; a < ALL_OF(chances); a++)
		for (b = 0; b < ALL_OF(hashes); b++)
		{
			qf_params p = filter_params(10000, hashes[b], chances[a], 0);

			WHERE("p %g, k %u", chances[a], hashes[b]);
			qf_gaps_make(&gaps, &p);
			REQUIRE(gaps.count == (p.k < QF_GAPS ? p.k : QF_GAPS));
			for (i = 0; i < 2 * gaps.count + 2 * QF_GUIDE + 1000; i++)
			{
				uint64_t draw = test_random(&rng) >> test_below(&rng, 3);

				if (i / 2 < gaps.count)
					draw = gaps.beyond[i / 2] - i % 2;
				else if (i / 2 < gaps.count + QF_GUIDE)
					draw = ((uint64_t) (i / 2 - gaps.count) << (64 - QF_GUIDE_BITS)) - i % 2;
				REQUIRE(qf_gap(&gaps, draw) == qf_gap_by_steps(p.q, gaps.count, draw));
			}
			REQUIRE(qf_idle_below(&gaps, p.k) == (p.k > QF_GAPS ? 0 : gaps.beyond[p.k - 1]));
		}
}

static void
powers_are_those_of_several_copies(void **state)
{
	uint64_t q = -(uint64_t) (0.01 * TWO_64);
	uint64_t c;

	(void) state;
	assert_true(qf_power(q, 1) == q);
	assert_true(qf_power(0, 3) == 0);
	for (c = 2; c < 2000; c = c * 3 / 2)
		assert_true(fabs((double) qf_power(q, c) / TWO_64 / pow(0.99, (double) c) - 1) < 1e-9);
	assert_true(qf_power(q, INT64_MAX) == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paper_preset_reproduces_table_1),
		cmocka_unit_test(presets_follow_their_formulas),
		cmocka_unit_test(chosen_sizes_can_be_halved),
		cmocka_unit_test(bloom_parameters_give_the_rate),
		cmocka_unit_test(blocked_parameters_give_the_rate),
		cmocka_unit_test(small_blocked_filters_have_their_rate),
		cmocka_unit_test(layouts_have_names),
		cmocka_unit_test(what_is_out_of_range_is_named),
		cmocka_unit_test(table_of_gaps_agrees_with_steps),
		cmocka_unit_test(powers_are_those_of_several_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
