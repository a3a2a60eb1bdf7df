/*
 * test_noise.c
 *		The measured error: against counting everything, and against keys.
 *
 * In small sketches every bucket and every choice of counters is tried, so the
 * measured distribution must be exact.  In larger ones it must hold for the
 * keys that are there and for others, and over 200 seeds for all keys of a
 * sketch at once; "make accuracy" does the same with larger ones.
 *
 * src/test/unit/test_noise.c
 */
#include "samples.h"

#include "sketch/bucket.h"
#include "sketch/noise.h"

#define VALUES 600 /* small enough for bins of one value */

static const double levels[] = { 0, 0.1, 0.5, 0.9, 0.95, 0.99, 1 };

/* How many of all choices of counters tell an absent key so much. */
typedef struct census
{
	double told[VALUES];
	double choices;
} census;

/* ---- counting everything ---- */

static void
count_value(census *c, uint64_t value)
{
	REQUIRE(value < VALUES);
	c->told[value]++;
	c->choices++;
}

/* Every set of d counters of a bucket. */
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

/* Every cell in each of any three sub-buckets. */
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

/* Every counter of each of three rows. */
static void
count_rows(census *c, const qs_sketch *sk)
{
	uint64_t n = sk->params.n;
	uint64_t i;

	for (i = 0; i < n * n * n; i++)
	{
		uint64_t a = qs_counter_get(sk->table, i % n, sk->wide);
		uint64_t b = qs_counter_get(sk->table, n + i / n % n, sk->wide);
		uint64_t e = qs_counter_get(sk->table, 2 * n + i / n / n, sk->wide);
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
		qs_bucket_read(sk, QS_SIDE_TOLD, b, value);
		if (qs_bucket_is_fat(sk, QS_SIDE_TOLD))
			count_cells(c, value, sk->params.z);
		else
			count_masks(c, value, qs_bucket_counters(sk, QS_SIDE_TOLD), sk->params.depth);
	}
}

/* Least value that at least this share of the choices does not exceed. */
static int64_t
quantile(const census *c, double share)
{
	double sum = 0;
	int64_t v;

	for (v = 0; v < VALUES - 1; v++)
		if ((sum += c->told[v]) >= (share - 1e-9) * c->choices && sum > 0)
			break;
	return v;
}

static double
census_mean(const census *c)
{
	double sum = 0;
	int v;

	for (v = 0; v < VALUES; v++)
		sum += v * c->told[v];
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

/* ---- against keys ---- */

enum
{
	KEYS = 10000
};

static uint64_t key[KEYS];
static int64_t count[KEYS];

/* Counts of 200,000 rows: uniform or skewed. */
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
share_within(const qs_sketch *sk, int64_t error, bool present)
{
	int within = 0;
	int i;

	for (i = 0; i < KEYS; i++)
		within += present ? test_estimate(sk, key[i]) - count[i] <= error
						  : test_estimate(sk, ~key[i]) <= error;
	return (double) within / KEYS;
}

/* One seed of few keys: within two points, or more where told by slim counters. */
static void
check_keys(const qs_sketch *sk, const qs_noise *noise)
{
	bool slim = sk->params.structure == QS_SF && sk->params.part != QS_PART_HOST;
	size_t i;

	for (i = 0; i < ALL_OF(levels); i++)
	{
		int64_t error = qs_noise_error(noise, levels[i], 1);

		REQUIRE(share_within(sk, error, false) >= levels[i] - 0.02);
		REQUIRE(share_within(sk, error, true) >= levels[i] - 0.02);
		if (i > 0)
			REQUIRE(share_within(sk, error - 1, false) <= levels[i] + 0.02);
		if (i > 0 && !slim)
			REQUIRE(share_within(sk, error - 1, true) <= levels[i] + 0.02);
	}
}

static void
it_holds_for_keys(void **state)
{
	int s;
	int skewed;

	(void) state;
	for (s = QS_THREAD; s <= QS_SF; s++)
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

/* The bounds contain the truth: the upper always, the lower mostly. */
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

/* ---- many probes at once ---- */

static int
compare_masks(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *) a;
	uint32_t y = *(const uint32_t *) b;

	return (x > y) - (x < y);
}

/* The chance that two keys of a bucket have the same mask, from all turns of the table. */
static double
chance_of_same_mask(const qs_params *p)
{
	uint32_t m = qs_bucket_width(p->structure);
	uint32_t masks = qs_mask_count(p) * m;
	uint32_t *mask = malloc(masks * sizeof(*mask));
	double pairs = 0;
	uint32_t i, first;

	REQUIRE(mask != NULL);
	for (i = 0; i < masks; i++)
		mask[i] = qs_mask_turn_by(qs_mask(qs_seed_key(p->seed), m, p->depth, i / m), m, i % m);
	qsort(mask, masks, sizeof(*mask), compare_masks);
	for (i = first = 0; i < masks; i++)
	{
		first = mask[i] == mask[first] ? first : i;
		pairs += 2.0 * (i - first) + 1;
	}
	free(mask);
	return pairs / masks / masks;
}

/* That chance, as a multiple of what all C(m, d) masks would give: mean of 400 seeds. */
static void
repeats_are_those_of_tables(void **state)
{
	static const struct
	{
		int structure, depth, log2_masks;
		double all;
	} cases[] = {
		{ QS_SUB_WARP, 3, 10, 56 },     { QS_SUB_WARP, 4, 0, 70 },
		{ QS_SUB_WARP, 4, 3, 70 },      { QS_HALF_WARP, 6, 6, 8008 },
		{ QS_MULTILEVEL, 3, 0, 3276 },  { QS_MULTILEVEL, 3, 10, 3276 },
		{ QS_MULTILEVEL, 4, 5, 20475 }, { QS_WARP, 3, 10, 4960 },
		{ QS_WARP, 1, 2, 32 },
	};
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(cases); i++)
	{
		double repeats = 0;
		qs_noise noise;
		qs_sketch sk;
		uint64_t seed;

		WHERE("case %zu", i);
		for (seed = 0; seed < 400; seed++)
		{
			qs_params p =
				test_params(cases[i].structure, 4, cases[i].depth, 0, cases[i].log2_masks, seed);

			repeats += chance_of_same_mask(&p) * cases[i].all / 400;
			if (seed > 0)
				continue;
			test_init_dense(&sk, &p);
			REQUIRE_OK(qs_noise_init(&noise, &sk, 2, &test_heap));
		}
		REQUIRE(noise.repeats > repeats * 0.95 && noise.repeats < repeats * 1.05);
		qs_noise_free(&noise);
		qs_free(&sk);
	}
	test_no_leak();
}

enum
{
	PROBES = 1000, /* keys that are there: all are probed */
	HEAVY = 5,     /* of them with a weight of 2 % of all rows, or more */
	SEEDS = 200
};

static const struct
{
	double confidence;
	int fewest; /* fewer of 200 seeds have a chance below 1e-4 if it is right */
} promises[] = { { 0.5, 74 }, { 0.95, 177 } };

/* Counts of 20,000 rows, heavy keys among them. */
static void
draw_with_heavy(uint64_t seed)
{
	test_rng rng = test_seeded(seed);
	int i;

	memset(count, 0, sizeof(count));
	for (i = 0; i < PROBES; i++)
		key[i] = test_random(&rng);
	for (i = 0; i < 20 * PROBES; i++)
		count[test_skewed(&rng, PROBES)]++;
	for (i = 0; i < HEAVY; i++)
		count[i] += 500 * (i + 1);
}

/* Is no key told more than its count and the error? */
static bool
all_within(const qs_sketch *sk, int64_t error)
{
	int i;

	for (i = 0; i < PROBES; i++)
		if (qs_bounds_of(qs_estimate(sk, key[i]), error).lower > count[i])
			return false;
	return true;
}

/* In how many seeds does each promise hold? */
static void
count_seeds(int structure, qs_part part, int log2_masks, int *held)
{
	uint64_t seed;

	for (seed = 1; seed <= SEEDS; seed++)
	{
		qs_params p =
			test_params(structure, structure == QS_THREAD ? 512 : 128, 3, 8, log2_masks, seed);
		qs_sketch whole, sk;
		qs_noise noise;
		size_t k;

		draw_with_heavy(seed);
		test_init_dense(&whole, &p);
		REQUIRE_OK(qs_engine_cpu.insert(&whole, key, count, PROBES));
		if (part == QS_PART_FULL)
			REQUIRE_OK(qs_copy(&sk, &whole, &test_heap));
		else
			REQUIRE_OK(qs_sf_part(&sk, &whole, part, &test_heap));
		REQUIRE_OK(qs_noise_init(&noise, &sk, PROBES, &test_heap));
		for (k = 0; k < ALL_OF(promises); k++)
			held[k] += all_within(&sk, qs_noise_error(&noise, promises[k].confidence, PROBES));
		qs_noise_free(&noise);
		qs_free(&sk);
		qs_free(&whole);
	}
}

static void
check_seeds(int structure, qs_part part, int log2_masks)
{
	int held[ALL_OF(promises)] = { 0 };
	size_t k;

	count_seeds(structure, part, log2_masks, held);
	for (k = 0; k < ALL_OF(promises); k++)
	{
		WHERE("%s, part %d, 2^%d masks, %.2f: %d", qs_structure_name(structure), part, log2_masks,
			  promises[k].confidence, held[k]);
		REQUIRE(held[k] >= promises[k].fewest);
	}
}

static void
it_holds_for_all_keys_at_once(void **state)
{
	int s;

	(void) state;
	for (s = QS_THREAD; s <= QS_SF; s++)
		check_seeds(s, QS_PART_FULL, 10);
	check_seeds(QS_SF, QS_PART_DEVICE, 10);
	check_seeds(QS_SF, QS_PART_HOST, 10);
	test_no_leak();
}

/* Also where so few masks are in use that heavy keys often meet their own. */
static void
it_holds_with_few_masks(void **state)
{
	(void) state;
	check_seeds(QS_WARP, QS_PART_FULL, 0);
	check_seeds(QS_MULTILEVEL, QS_PART_FULL, 1);
	test_no_leak();
}

/* Is the bucket of the key looked at for one probe as well? */
static bool
is_looked_at(const qs_sketch *sk, uint64_t fingerprint)
{
	uint64_t bucket = qs_reduce(qs_hash(fingerprint, sk->seed_key), sk->params.n);
	uint64_t looks = qs_noise_buckets(sk, 1);
	uint64_t i = (bucket * looks + sk->params.n - 1) / sk->params.n;

	return i < looks && i * sk->params.n / looks == bucket;
}

/* Of a large table one probe sees a part, several see all. */
static void
rare_noise_is_found(void **state)
{
	qs_params p = test_usual_params(QS_SUB_WARP, QS_NOISE_COUNTERS / 8 + 64);
	uint64_t lone = 0;
	qs_sketch sk;
	qs_noise one, many;

	(void) state;
	test_init_dense(&sk, &p);
	REQUIRE(qs_noise_buckets(&sk, 1) == p.n - 64 && qs_noise_buckets(&sk, 2) == p.n);
	while (is_looked_at(&sk, lone))
		lone++;
	test_insert(&sk, lone, 12345);
	REQUIRE_OK(qs_noise_init(&one, &sk, 1, &test_heap));
	REQUIRE_OK(qs_noise_init(&many, &sk, 2, &test_heap));
	REQUIRE(qs_noise_error(&one, 1, 1) == 0);
	REQUIRE(qs_noise_error(&many, 1, 2) == 12345);
	/* its three counters are one of 56 choices in one of n buckets */
	REQUIRE(qs_noise_error(&many, 0.99, p.n / 10) == 0);
	REQUIRE(qs_noise_error(&many, 0.99, p.n) == 12345);
	qs_noise_free(&one);
	qs_noise_free(&many);
	qs_free(&sk);
	test_no_leak();
}

/* ---- bins, forms, memory ---- */

/* Beyond 512 bins are wide: quantiles of one bucket's counters, interpolated. */
static void
wide_bins_are_close(void **state)
{
	qs_params p = test_params(QS_SUB_WARP, 4096, 8, 0, 10, 1); /* all of a bucket */
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
			within += (int64_t) qs_counter_get(sk.table, b * 8, sk.wide) <= error;
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
		REQUIRE_OK(qs_open(&view, bytes.data, bytes.length));
		REQUIRE_OK(qs_noise_init(&owned, &sk, 1, &test_heap));
		REQUIRE_OK(qs_noise_init(&viewed, &view, 1, &test_heap));
		for (k = 0; k < ALL_OF(levels); k++)
		{
			int64_t error = qs_noise_error(&owned, levels[k], 1);

			REQUIRE(error == qs_noise_error(&viewed, levels[k], 1));
			REQUIRE(error >= 0 && error <= sk.total);
			REQUIRE(sk.form == QS_DENSE || error == 0);
			REQUIRE(error <= qs_noise_error(&owned, levels[k], 2));
			REQUIRE(qs_noise_error(&owned, levels[k], UINT64_MAX) == qs_noise_error(&owned, 1, 1));
		}
		REQUIRE(owned.mean == viewed.mean && owned.mean_weight == viewed.mean_weight);
		qs_noise_free(&owned);
		qs_noise_free(&viewed);
		qs_free(&sk);
		free(bytes.data);
	}
	test_no_leak();
}

/*
 * Counters that no sketch can have, which the validator refuses but a caller in
 * C may bring: no arithmetic overflows (UBSan watches), no bound leaves its range.
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
			uint64_t bytes = qs_ops_of(p.structure)->table_bytes(&p, true);
			qs_sketch sk;
			qs_noise noise;

			WHERE("%d, %zu", structures[s], i);
			test_init_dense(&sk, &p);
			test_insert(&sk, test_key(0), INT64_C(1) << 33); /* wide */
			for (j = 0; j < bytes / 8; j++)
				qs_store64(sk.table + 8 * j,
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

/* Whichever allocation fails, nothing is left behind. */
static void
failing_memory_is_reported(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
	{
		qs_status status = QS_NO_MEMORY;
		qs_sketch sk;
		qs_noise noise;
		long k;

		WHERE("%s", samples[i].name);
		sample_build(&sk, &samples[i]);
		for (k = 1; status == QS_NO_MEMORY; k++)
		{
			long before = test_heap_state.live;

			REQUIRE(k < 10);
			test_fail_at(k);
			status = qs_noise_init(&noise, &sk, 1, &test_heap);
			test_fail_at(0);
			REQUIRE(status == QS_OK || test_heap_state.live == before);
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
		cmocka_unit_test(repeats_are_those_of_tables),
		cmocka_unit_test(it_holds_for_all_keys_at_once),
		cmocka_unit_test(it_holds_with_few_masks),
		cmocka_unit_test(rare_noise_is_found),
		cmocka_unit_test(wide_bins_are_close),
		cmocka_unit_test(samples_can_be_measured),
		cmocka_unit_test(impossible_counters_are_harmless),
		cmocka_unit_test(failing_memory_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
