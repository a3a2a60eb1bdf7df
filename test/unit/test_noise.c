/*
 * test_noise.c
 *		The measured error, compared with all choices of counters, and with real keys.
 *
 * In small sketches, the tests try every choice of counters of every bucket.  The measured
 * distribution must equal the distribution of all choices.  In larger sketches the error
 * must hold for present and for absent keys.  "make accuracy" checks even larger sketches.
 *
 * test/unit/test_noise.c
 */
#include "samples.h"

#include "sketch/measure.h"

#define VALUES 600 /* limit of estimates; sketches have 500 rows, so each bin has one value */

static const double levels[] = { 0, 0.1, 0.5, 0.9, 0.95, 0.99, 1 };

/* For each estimate, the number of choices of counters that give an absent key this estimate. */
typedef struct census
{
	double estimates[VALUES];
	double choices;
} census;

/* ---- all choices of counters ---- */

static void
count_value(census *c, uint64_t value)
{
	REQUIRE(value < VALUES);
	c->estimates[value]++;
	c->choices++;
}

/* Count the minimum of each set of d counters of a bucket. */
static void
count_masks(census *c, const uint64_t *value, uint32_t m, uint32_t d)
{
	uint64_t mask;

	for (mask = 0; mask < UINT64_C(1) << m; mask++)
	{
		uint64_t least = UINT64_MAX;
		uint32_t i;

		if ((uint32_t) __builtin_popcountll(mask) != d)
			continue;
		for (i = 0; i < m; i++)
			if (mask >> i & 1 && value[i] < least)
				least = value[i];
		count_value(c, least);
	}
}

/* Count the minimum of one cell in each of three sub-buckets, for all choices. */
static void
count_cells(census *c, const uint64_t *cell, uint32_t z)
{
	uint32_t a, b, e;

	for (a = 0; a < 8 * z; a++)
		for (b = (a / z + 1) * z; b < 8 * z; b++)
			for (e = (b / z + 1) * z; e < 8 * z; e++)
			{
				uint64_t least = cell[a] < cell[b] ? cell[a] : cell[b];

				count_value(c, cell[e] < least ? cell[e] : least);
			}
}

/* Count the minimum of one counter in each of three rows, for all choices. */
static void
count_rows(census *c, const qs_sketch *sk)
{
	uint64_t n = sk->params.n;
	uint64_t i;

	for (i = 0; i < n * n * n; i++)
	{
		uint64_t a = qb_counter_get(sk->table, i % n, sk->wide);
		uint64_t b = qb_counter_get(sk->table, n + i / n % n, sk->wide);
		uint64_t e = qb_counter_get(sk->table, 2 * n + i / n / n, sk->wide);
		uint64_t least = a < b ? a : b;

		count_value(c, e < least ? e : least);
	}
}

static void
take_census(census *c, const qs_sketch *sk)
{
	uint64_t value[QS_BUCKET_MAX];
	uint64_t b;

	memset(c, 0, sizeof(*c));
	if (sk->params.structure == QS_THREAD)
	{
		count_rows(c, sk);
		return;
	}
	for (b = 0; b < sk->params.n; b++)
	{
		qs_bucket_read(sk, QS_SIDE_ESTIMATE, b, value);
		if (qs_bucket_is_fat(sk, QS_SIDE_ESTIMATE))
			count_cells(c, value, sk->params.z);
		else
			count_masks(c, value, qs_bucket_counters(sk, QS_SIDE_ESTIMATE), sk->params.depth);
	}
}

/* Returns the least value v such that at least this fraction of the choices is <= v. */
static int64_t
quantile(const census *c, double fraction)
{
	double sum = 0;
	int64_t v;

	for (v = 0; v < VALUES - 1; v++)
		if ((sum += c->estimates[v]) >= (fraction - 1e-9) * c->choices && sum > 0)
			break;
	return v;
}

static double
census_mean(const census *c)
{
	double sum = 0;
	int v;

	for (v = 0; v < VALUES; v++)
		sum += v * c->estimates[v];
	return sum / c->choices;
}

static void
check_exact(const qs_sketch *sk)
{
	census c;
	qs_noise noise;
	double off;
	size_t i;

	take_census(&c, sk);
	REQUIRE_OK(qs_noise_init(&noise, sk, 1, &test_heap));
	for (i = 0; i < ALL_OF(levels); i++)
	{
		double each = (1 - levels[i]) / (7 * noise.repeats);

		REQUIRE(qs_noise_error(&noise, levels[i], 1) == quantile(&c, levels[i]));
		REQUIRE(qs_noise_error(&noise, levels[i], 7) == quantile(&c, 1 - each));
	}
	off = noise.mean - census_mean(&c);
	REQUIRE(off > -1e-6 && off < 1e-6);
	qs_noise_free(&noise);
}

static void
it_is_exact(void **state)
{
	static const struct
	{
		int structure, depth, z;
		uint64_t n;
	} cases[] = {
		{ QS_THREAD, 3, 0, 20 },  { QS_HALF_WARP, 3, 0, 4 }, { QS_HALF_WARP, 12, 0, 4 },
		{ QS_SUB_WARP, 1, 0, 8 }, { QS_SUB_WARP, 3, 0, 8 },  { QS_SUB_WARP, 5, 0, 8 },
		{ QS_SUB_WARP, 8, 0, 8 }, { QS_SF, 3, 2, 4 },        { QS_SF, 3, 5, 4 },
	};
	size_t i;
	int part;

	(void) state;
	for (i = 0; i < ALL_OF(cases); i++)
		for (part = QS_PART_FULL; part <= QS_PART_HOST; part++)
		{
			qs_params p =
				test_params(cases[i].structure, cases[i].n, cases[i].depth, cases[i].z, 10, i);
			qs_sketch sk, piece;

			WHERE("case %zu, part %d", i, part);
			test_init_dense(&sk, &p);
			test_fill(&sk, i, 300, 500);
			if (part == QS_PART_FULL)
				check_exact(&sk);
			else if (p.structure == QS_SF)
			{
				REQUIRE_OK(qs_sf_part(&piece, &sk, (qs_part) part, &test_heap));
				check_exact(&piece);
				qs_free(&piece);
			}
			qs_free(&sk);
		}
	test_no_leak();
}

/* ---- real keys ---- */

enum
{
	KEYS = 10000
};

static uint64_t key[KEYS];
static int64_t count[KEYS];

/* Draw uniform or skewed counts of 200,000 rows. */
static void
draw_counts(uint64_t seed, bool skewed)
{
	test_rng rng = test_seeded(seed);
	int i;

	memset(count, 0, sizeof(count));
	for (i = 0; i < KEYS; i++)
		key[i] = test_random(&rng);
	for (i = 0; i < 20 * KEYS; i++)
		count[skewed ? test_skewed(&rng, KEYS) : test_below(&rng, KEYS)]++;
}

static double
fraction_within(const qs_sketch *sk, int64_t error, bool present)
{
	int within = 0;
	int i;

	for (i = 0; i < KEYS; i++)
		within += present ? test_estimate(sk, key[i]) - count[i] <= error
						  : test_estimate(sk, ~key[i]) <= error;
	return (double) within / KEYS;
}

/*
 * Check the fraction of keys whose error is within the measured error.  The tolerance is 0.02,
 * because there is only one seed.  With slim counters, the fraction of present keys has no upper
 * limit.
 */
static void
check_keys(const qs_sketch *sk, const qs_noise *noise)
{
	bool slim = sk->params.structure == QS_SF && sk->params.part != QS_PART_HOST;
	size_t i;

	for (i = 0; i < ALL_OF(levels); i++)
	{
		int64_t error = qs_noise_error(noise, levels[i], 1);

		REQUIRE(fraction_within(sk, error, false) >= levels[i] - 0.02);
		REQUIRE(fraction_within(sk, error, true) >= levels[i] - 0.02);
		if (i > 0)
			REQUIRE(fraction_within(sk, error - 1, false) <= levels[i] + 0.02);
		if (i > 0 && !slim)
			REQUIRE(fraction_within(sk, error - 1, true) <= levels[i] + 0.02);
	}
}

static void
it_holds_for_keys(void **state)
{
	int s;
	int skewed;

	(void) state;
	for (s = QS_THREAD; s < QS_STRUCTURES; s++)
		for (skewed = 0; skewed < 2; skewed++)
		{
			qs_params p = test_usual_params(s, s == QS_THREAD ? 2000 : 2000 * 3 / 8);
			qs_sketch sk;
			qs_noise noise;

			WHERE("%s, skewed %d", qs_structure_name(s), skewed);
			draw_counts((uint64_t) s, skewed);
			test_init_dense(&sk, &p);
			REQUIRE_OK(qs_engine_cpu.insert(&sk, key, count, KEYS));
			REQUIRE_OK(qs_noise_init(&noise, &sk, 1, &test_heap));
			check_keys(&sk, &noise);
			qs_noise_free(&noise);
			qs_free(&sk);
		}
	test_no_leak();
}

/*
 * The upper bound is never below the count.  The lower bound exceeds the count for at most 12 %
 * of the keys.
 */
static void
bounds_hold(void **state)
{
	qs_params p = test_usual_params(QS_SUB_WARP, 500);
	qs_sketch sk;
	qs_noise noise;
	int64_t error;
	int above = 0;
	int i;

	(void) state;
	draw_counts(3, true);
	test_init_dense(&sk, &p);
	REQUIRE_OK(qs_engine_cpu.insert(&sk, key, count, KEYS));
	REQUIRE_OK(qs_noise_init(&noise, &sk, 1, &test_heap));
	error = qs_noise_error(&noise, 0.9, 1);
	for (i = 0; i < KEYS; i++)
	{
		qs_bounds b = qs_bounds_of(qs_estimate(&sk, key[i]), error);

		REQUIRE(b.estimate == test_estimate(&sk, key[i]) && b.upper == b.estimate);
		REQUIRE(b.upper >= count[i] && b.lower >= 0 && b.lower <= b.upper);
		above += b.lower > count[i];
	}
	REQUIRE(above > 0 && above <= 0.12 * KEYS);
	qs_noise_free(&noise);
	qs_free(&sk);
}

/* ---- bins, forms, memory ---- */

/* Values beyond 512 share bins, so quantiles are interpolated within a bin. */
static void
wide_bins_are_close(void **state)
{
	qs_params p =
		test_params(QS_SUB_WARP, 4096, 8, 0, 10, 1); /* a key owns all counters of its bucket */
	test_rng rng = test_seeded(4);
	qs_sketch sk;
	qs_noise noise;
	int64_t previous = 0;
	int i;

	(void) state;
	test_init_dense(&sk, &p);
	for (i = 0; i < 200000; i++)
		test_insert(&sk, test_random(&rng), 1000 + (int64_t) test_below(&rng, 1 << 20));
	REQUIRE_OK(qs_noise_init(&noise, &sk, 1, &test_heap));
	REQUIRE(noise.bins > 512 && noise.bins < 16384);
	for (i = 0; i <= 100; i++)
	{
		int64_t error = qs_noise_error(&noise, i / 100.0, 1);
		uint64_t within = 0;
		uint64_t b;

		for (b = 0; b < p.n; b++)
			within += (int64_t) qb_counter_get(sk.table, b * 8, sk.wide) <= error;
		REQUIRE(error >= previous);
		REQUIRE(within >= (i / 100.0 - 0.002) * p.n && within <= (i / 100.0 + 0.002) * p.n + 1);
		previous = error;
	}
	qs_noise_free(&noise);
	qs_free(&sk);
	test_no_leak();
}

static void
samples_can_be_measured(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
	{
		qs_sketch sk, view;
		qs_noise owned, viewed;
		test_bytes bytes;
		size_t k;

		WHERE("%s", samples[i].name);
		sample_build(&sk, &samples[i]);
		bytes = test_write_valid(&sk);
		test_dense(&view, bytes);
		REQUIRE_OK(qs_noise_init(&owned, &sk, 1, &test_heap));
		REQUIRE_OK(qs_noise_init(&viewed, &view, 1, &test_heap));
		for (k = 0; k < ALL_OF(levels); k++)
		{
			int64_t error = qs_noise_error(&owned, levels[k], 1);

			REQUIRE(error == qs_noise_error(&viewed, levels[k], 1));
			REQUIRE(error >= 0 && error <= sk.total);
			REQUIRE(sk.encoding == QS_DENSE || error == 0);
			REQUIRE(error <= qs_noise_error(&owned, levels[k], 2));
			REQUIRE(qs_noise_error(&owned, levels[k], UINT64_MAX) == qs_noise_error(&owned, 1, 1));
		}
		REQUIRE(owned.mean == viewed.mean && owned.mean_weight == viewed.mean_weight);
		qs_noise_free(&owned);
		qs_noise_free(&viewed);
		test_dense_free(&view);
		qs_free(&sk);
		free(bytes.data);
	}
	test_no_leak();
}

/*
 * The validator refuses these counters, but a caller in C may pass them.  No arithmetic may
 * overflow (UBSan checks), and all bounds must stay in range.
 */
static void
impossible_counters_are_harmless(void **state)
{
	static const int structures[] = { QS_THREAD, QS_WARP, QS_SUB_WARP };
	static const uint64_t counters[] = { 0, 1, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX };
	size_t s, i, j, k;

	(void) state;
	for (s = 0; s < ALL_OF(structures); s++)
		for (i = 0; i < ALL_OF(counters) * ALL_OF(counters); i++)
		{
			qs_params p = sample_params(structures[s]);
			uint64_t bytes = qs_table_bytes(&p, true);
			qs_sketch sk;
			qs_noise noise;

			WHERE("%d, %zu", structures[s], i);
			test_init_dense(&sk, &p);
			test_insert(&sk, test_key(0), INT64_C(1) << 33); /* makes the counters wide */
			for (j = 0; j < bytes / 8; j++)
				qb_store64(sk.table + 8 * j,
						   counters[j % 7 ? i / ALL_OF(counters) : i % ALL_OF(counters)]);
			REQUIRE_OK(qs_noise_init(&noise, &sk, 1, &test_heap));
			for (k = 0; k < 2 * ALL_OF(levels); k++)
			{
				int64_t error = qs_noise_error(&noise, levels[k / 2], k % 2 ? UINT64_MAX : 1);
				qs_bounds bounds = qs_bounds_of(qs_estimate(&sk, 1), error);

				REQUIRE(error >= 0 && (uint64_t) error <= noise.most);
				REQUIRE(bounds.lower >= 0 && bounds.lower <= (bounds.upper > 0 ? bounds.upper : 0));
			}
			qs_noise_free(&noise);
			qs_free(&sk);
		}
	test_no_leak();
}

/* Each allocation fails in turn, and nothing leaks. */
static void
failing_memory_is_reported(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
	{
		qb_status status = QB_NO_MEMORY;
		qs_sketch sk;
		qs_noise noise;
		long k;

		WHERE("%s", samples[i].name);
		sample_build(&sk, &samples[i]);
		for (k = 1; status == QB_NO_MEMORY; k++)
		{
			long before = test_heap_state.live;

			REQUIRE(k < 10);
			test_fail_at(k);
			status = qs_noise_init(&noise, &sk, 1, &test_heap);
			test_fail_at(0);
			REQUIRE(status == QB_OK || test_heap_state.live == before);
		}
		REQUIRE_OK(status);
		qs_noise_free(&noise);
		qs_free(&sk);
	}
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_exact),
		cmocka_unit_test(it_holds_for_keys),
		cmocka_unit_test(bounds_hold),
		cmocka_unit_test(wide_bins_are_close),
		cmocka_unit_test(samples_can_be_measured),
		cmocka_unit_test(impossible_counters_are_harmless),
		cmocka_unit_test(failing_memory_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
