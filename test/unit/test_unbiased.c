/*
 * test_unbiased.c
 *		The unbiased estimate, compared with its definition and with the minimum.
 *
 * The tests compute the definition by brute force, from all choices of the key's counters
 * and of other counters.  The gain in overloaded sketches is measured on small sketches;
 * "make accuracy" measures the gain on large sketches.
 *
 * test/unit/test_unbiased.c
 */
#include "samples.h"

#include <math.h>

#include "sketch/measure.h"
#include "sketch/sf.h"

/* The sum of the minima of choices of counters, and the number of choices. */
typedef struct choices
{
	double sum;
	double number;
} choices;

/* ---- the definition ---- */

/* Add the minimum of each choice of k counters in "mask". */
static void
choose_counters(choices *c, const uint64_t *value, uint32_t mask, uint32_t k)
{
	uint32_t subset;

	for (subset = mask; subset != 0; subset = (subset - 1) & mask)
	{
		uint64_t least = UINT64_MAX;
		uint32_t i;

		if ((uint32_t) __builtin_popcount(subset) != k)
			continue;
		for (i = 0; i < 32; i++)
			if (subset >> i & 1 && value[i] < least)
				least = value[i];
		c->sum += (double) least;
		c->number++;
	}
}

/* Returns the mean minimum of k counters of the key, less the mean minimum of k other counters. */
static double
defined_plain(const qs_sketch *sk, uint64_t hv, uint32_t k)
{
	uint32_t m = qs_bucket_width(sk->params.structure);
	uint32_t mask = qs_mask_of(sk, hv);
	uint32_t all = m == 32 ? UINT32_MAX : (UINT32_C(1) << m) - 1;
	uint64_t value[QS_BUCKET_MAX];
	choices own = { 0, 0 };
	choices others = { 0, 0 };

	qs_bucket_read(sk, QS_SIDE_BEST, qb_reduce(hv, sk->params.n), value);
	choose_counters(&own, value, mask, k);
	choose_counters(&others, value, all & ~mask, k);
	return own.sum / own.number - others.sum / others.number;
}

/* Collect the cells of sub-bucket j that the key does not own; returns their number. */
static uint32_t
strange_cells(const qs_sketch *sk, uint64_t hv, const uint64_t *cell, uint32_t j, uint64_t *to)
{
	uint32_t z = sk->params.z;
	uint32_t mask = qs_mask_of(sk, hv);
	uint32_t before = (uint32_t) __builtin_popcount(mask & ((UINT32_C(1) << j) - 1));
	uint32_t count = 0;
	uint32_t i;

	for (i = 0; i < z; i++)
		if (!(mask >> j & 1) || i != qs_sf_cell(hv, before, z))
			to[count++] = cell[j * z + i];
	return count;
}

/*
 * Returns the estimate, less the mean minimum of one cell in each of three sub-buckets.  The
 * key owns none of these cells.
 */
static double
defined_fat(const qs_sketch *sk, uint64_t hv, double estimate)
{
	uint64_t cell[QS_BUCKET_MAX];
	uint64_t left[8][QS_Z_MAX];
	uint32_t size[8];
	choices sets = { 0, 0 };
	uint32_t a, b, c, i, j, k;

	qs_bucket_read(sk, QS_SIDE_BEST, qb_reduce(hv, sk->params.n), cell);
	for (a = 0; a < 8; a++)
		size[a] = strange_cells(sk, hv, cell, a, left[a]);
	for (a = 0; a < 8; a++)
		for (b = a + 1; b < 8; b++)
			for (c = b + 1; c < 8; c++)
			{
				double sum = 0;

				for (i = 0; i < size[a]; i++)
					for (j = 0; j < size[b]; j++)
						for (k = 0; k < size[c]; k++)
							sum += fmin((double) left[a][i],
										fmin((double) left[b][j], (double) left[c][k]));
				sets.sum += sum / (size[a] * size[b] * size[c]);
				sets.number++;
			}
	return estimate - sets.sum / sets.number;
}

static void
require_close(double a, double b)
{
	REQUIRE(fabs(a - b) <= 1e-9 * (1 + fabs(a) + fabs(b)));
}

/* Compare the unbiased estimates of keys with the definition, for mean weights 0 and 1. */
static void
check_plain(const qs_sketch *sk, const qs_noise *measured)
{
	uint32_t d = sk->params.depth;
	uint32_t m = qs_bucket_width(sk->params.structure);
	qs_noise noise = *measured;
	uint64_t i;

	for (i = 0; i < 100; i++)
	{
		uint64_t hv = qb_hash(test_key(i), sk->seed_key);

		noise.mean_weight = 0;
		require_close(qs_estimate_unbiased(sk, &noise, test_key(i)),
					  defined_plain(sk, hv, d < m - d ? d : m - d));
		noise.mean_weight = 1;
		require_close(qs_estimate_unbiased(sk, &noise, test_key(i)), defined_plain(sk, hv, 1));
	}
}

static void
plain_is_as_defined(void **state)
{
	static const struct
	{
		int structure, depth;
	} cases[] = { { QS_HALF_WARP, 3 }, { QS_HALF_WARP, 10 }, { QS_SUB_WARP, 1 }, { QS_SUB_WARP, 3 },
				  { QS_SUB_WARP, 4 },  { QS_SUB_WARP, 5 },   { QS_SUB_WARP, 7 } };
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(cases); i++)
	{
		qs_params p = test_params(cases[i].structure, 8, cases[i].depth, 0, 10, i);
		qs_sketch sk;
		qs_noise noise;

		WHERE("case %zu", i);
		test_init_dense(&sk, &p);
		test_fill(&sk, i, 500, 3000);
		REQUIRE_OK(qs_noise_init(&noise, &sk, 1, &test_heap));
		check_plain(&sk, &noise);
		qs_noise_free(&noise);
		qs_free(&sk);
	}
	test_no_leak();
}

static void
fat_is_as_defined(void **state)
{
	int z;

	(void) state;
	for (z = 2; z < 8; z += 3)
	{
		qs_params p = test_params(QS_SF, 8, 3, z, 10, 1);
		qs_sketch sk, host;
		qs_noise noise;
		uint64_t i;

		WHERE("z %d", z);
		test_init_dense(&sk, &p);
		test_fill(&sk, 5, 500, 3000);
		REQUIRE_OK(qs_sf_part(&host, &sk, QS_PART_HOST, &test_heap));
		REQUIRE_OK(qs_noise_init(&noise, &host, 1, &test_heap));
		noise.mean_weight = 0;
		for (i = 0; i < 100; i++)
		{
			double estimate = (double) test_estimate(&host, test_key(i));
			double unbiased = qs_estimate_unbiased(&host, &noise, test_key(i));

			require_close(unbiased,
						  defined_fat(&host, qb_hash(test_key(i), sk.seed_key), estimate));
			require_close(unbiased, qs_estimate_unbiased(&sk, &noise, test_key(i)));
		}
		qs_noise_free(&noise);
		qs_free(&host);
		qs_free(&sk);
	}
	test_no_leak();
}

/* Explicit sketches give exact estimates without a measurement. */
static void
samples_can_be_asked(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
	{
		qs_sketch sk;
		qs_noise noise;
		uint64_t k;

		WHERE("%s", samples[i].name);
		sample_build(&sk, &samples[i]);
		REQUIRE(qs_unbiased_needs_noise(&sk) == (sk.encoding == QS_DENSE));
		REQUIRE_OK(qs_noise_init(&noise, &sk, 1, &test_heap));
		for (k = 0; k < 50; k++)
		{
			double estimate = (double) test_estimate(&sk, test_key(k));
			double unbiased = qs_estimate_unbiased(
				&sk, qs_unbiased_needs_noise(&sk) ? &noise : NULL, test_key(k));

			REQUIRE(isfinite(unbiased) && unbiased <= (double) sk.total);
			if (sk.encoding == QS_EXPLICIT)
				REQUIRE(unbiased == estimate);
		}
		qs_noise_free(&noise);
		qs_free(&sk);
	}
	test_no_leak();
}

/* ---- the gain: 20,000 keys, 400,000 rows, several seeds ---- */

enum
{
	KEYS = 20000,
	ROWS = 20 * KEYS,
	TOP = 100,
	SEEDS = 6
};

static uint64_t key[KEYS];
static int64_t count[KEYS];

/* Sums of errors over keys and seeds.  Keys are numbered by descending frequency. */
typedef struct worth
{
	double minimum, unbiased;           /* absolute error */
	double rare_minimum, rare_clipped;  /* absolute error of the less frequent half of the keys */
	double top_minimum, top_unbiased;   /* relative error of the TOP most frequent keys */
	double minimum_bias, unbiased_bias; /* signed error */
	double weight;                      /* mean_weight of the last seed */
} worth;

/* Draw rows one by one.  The probability of key i is proportional to (i + 1)^-theta. */
static void
draw_counts(uint64_t seed, double theta)
{
	static double below[KEYS + 1];
	test_rng rng = test_seeded(seed);
	int i, row;

	for (i = 0; i < KEYS; i++)
	{
		below[i + 1] = below[i] + pow(i + 1, -theta);
		key[i] = test_random(&rng);
		count[i] = 0;
	}
	for (row = 0; row < ROWS; row++)
	{
		double x = (double) test_below(&rng, UINT64_C(1) << 40) * 0x1p-40 * below[KEYS];
		int low = 0;
		int high = KEYS - 1;

		while (low < high)
		{
			int middle = (low + high + 1) / 2;

			if (below[middle] <= x)
				low = middle;
			else
				high = middle - 1;
		}
		count[low]++;
	}
}

static void
add_worth(worth *w, const qs_sketch *sk, const qs_noise *noise)
{
	int i;

	w->weight = noise->mean_weight;
	for (i = 0; i < KEYS; i++)
	{
		double estimate = (double) test_estimate(sk, key[i]);
		double unbiased = qs_estimate_unbiased(sk, noise, key[i]);
		double truth = (double) count[i];

		w->minimum += estimate - truth;
		w->unbiased += fabs(unbiased - truth);
		w->minimum_bias += estimate - truth;
		w->unbiased_bias += unbiased - truth;
		if (i >= KEYS / 2)
		{
			w->rare_minimum += estimate - truth;
			w->rare_clipped += fabs(fmin(estimate, fmax(0, unbiased)) - truth);
		}
		if (i < TOP && count[i] > 0)
		{
			w->top_minimum += (estimate - truth) / truth;
			w->top_unbiased += fabs(unbiased - truth) / truth;
		}
	}
}

/*
 * Measure at this load: the weight per counter in a row of a thread sketch.  Any other structure
 * has 3/8 as many buckets as this row has counters.
 */
static worth
measure(int structure, double theta, double load, qs_part part)
{
	uint64_t n = (uint64_t) (ROWS / load);
	qs_params p = test_usual_params(structure, structure == QS_THREAD ? n : n * 3 / 8);
	worth w = { 0 };
	uint64_t seed;

	WHERE("%s, theta %.1f, load %.0f", qs_structure_name(structure), theta, load);
	for (seed = 1; seed <= SEEDS; seed++)
	{
		qs_sketch sk, piece;
		qs_noise noise;

		p.seed = seed;
		draw_counts(seed, theta);
		test_init_dense(&sk, &p);
		REQUIRE_OK(qs_engine_cpu.insert(&sk, key, count, KEYS));
		if (part != QS_PART_FULL)
		{
			REQUIRE_OK(qs_sf_part(&piece, &sk, part, &test_heap));
			qs_free(&sk);
			sk = piece;
		}
		REQUIRE_OK(qs_noise_init(&noise, &sk, 1, &test_heap));
		add_worth(&w, &sk, &noise);
		qs_noise_free(&noise);
		qs_free(&sk);
	}
	return w;
}

static void
it_pays_on_uniform_keys(void **state)
{
	worth w = measure(QS_SUB_WARP, 0, 100, QS_PART_FULL);

	(void) state;
	REQUIRE(w.unbiased <= 0.36 * w.minimum); /* promised: 0.45 */
	REQUIRE(w.weight > 0.5);
	REQUIRE(fabs(w.unbiased_bias) <= 0.03 * w.minimum_bias);
	REQUIRE(w.top_unbiased <= w.top_minimum);
	w = measure(QS_SUB_WARP, 0, 1000, QS_PART_FULL);
	REQUIRE(w.unbiased <= 0.1 * w.minimum); /* promised: 0.12 */
	REQUIRE(fabs(w.unbiased_bias) <= 0.03 * w.minimum_bias);
	REQUIRE(w.top_unbiased <= w.top_minimum);
}

static void
it_pays_on_skewed_keys(void **state)
{
	worth w = measure(QS_SUB_WARP, 1, 100, QS_PART_FULL);

	(void) state;
	REQUIRE(w.rare_clipped <= 0.6 * w.rare_minimum);
	REQUIRE(w.weight < 0.5);
	/* a bias of 3 % is promised for many seeds; with few seeds, collisions of heavy keys matter */
	REQUIRE(fabs(w.unbiased_bias) <= 0.06 * w.minimum_bias);
	REQUIRE(w.top_unbiased <= w.top_minimum);
}

static void
it_pays_in_every_structure(void **state)
{
	int s;

	(void) state;
	for (s = QS_THREAD; s < QS_STRUCTURES; s++)
	{
		worth w = measure(s, 0, 1000, QS_PART_FULL);

		REQUIRE(w.unbiased <= 0.25 * w.minimum);
		REQUIRE(fabs(w.unbiased_bias) <= 0.03 * w.minimum_bias);
	}
}

/* Slim counters contain less information than fat counters, so some bias remains at any load. */
static void
it_helps_a_device_part(void **state)
{
	double load;

	(void) state;
	for (load = 10; load <= 1000; load *= 10)
	{
		worth w = measure(QS_SF, 0, load, QS_PART_DEVICE);

		REQUIRE(fabs(w.unbiased_bias) <= 0.4 * w.minimum_bias);
	}
}

/* Damaged counters may have values that no valid sketch has.  The measurement must terminate. */
static void
it_measures_what_is_damaged(void **state)
{
	qs_params p = test_params(QS_SF, 4, 3, 4, 0, 0);
	qs_sketch full;
	qs_sketch device;
	qs_noise noise;

	(void) state;
	test_init_dense(&full, &p);
	test_insert(&full, 1, QS_WIDE_TOTAL);
	REQUIRE(qs_sf_part(&device, &full, QS_PART_DEVICE, &test_heap) == QB_OK);
	memset(device.table, 0xff, qs_table_bytes(&device.params, device.wide) / 2);
	REQUIRE(qs_noise_init(&noise, &device, 1, &test_heap) == QB_OK);
	REQUIRE(qs_noise_error(&noise, 1, 1) >= 0);
	qs_noise_free(&noise);
	qs_free(&device);
	qs_free(&full);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_is_as_defined),    cmocka_unit_test(fat_is_as_defined),
		cmocka_unit_test(samples_can_be_asked),   cmocka_unit_test(it_pays_on_uniform_keys),
		cmocka_unit_test(it_pays_on_skewed_keys), cmocka_unit_test(it_pays_in_every_structure),
		cmocka_unit_test(it_helps_a_device_part), cmocka_unit_test(it_measures_what_is_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
