/*
 * test_noise_probes.c
 *		The measured error of many probes together.
 *
 * The tests check how often keys share all counters, and a bound that holds for all keys
 * of a sketch together.  If a promise holds with a probability, the tests count for how
 * many of 200 seeds the promise holds.
 *
 * test/unit/test_noise_probes.c
 */
#include "support.h"

#include "sketch/measure.h"

static int
compare_masks(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *) a;
	uint32_t y = *(const uint32_t *) b;

	return (x > y) - (x < y);
}

/*
 * Returns the chance that two keys of a bucket have the same mask, computed from all rotations
 * of the masks.
 */
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
		mask[i] = qs_mask_rotate_by(qs_mask(qb_seed_key(p->seed), m, p->depth, i / m), m, i % m);
	qsort(mask, masks, sizeof(*mask), compare_masks);
	for (i = first = 0; i < masks; i++)
	{
		first = mask[i] == mask[first] ? first : i;
		pairs += 2.0 * (i - first) + 1;
	}
	free(mask);
	return pairs / masks / masks;
}

/*
 * noise.repeats is the chance of equal masks, relative to the chance with all C(m, d) masks.
 * Compare it with the mean of 400 seeds.
 */
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
	PROBES = 1000, /* present keys, all of which are probed */
	HEAVY = 5,     /* present keys with about 2 % of all rows, or more */
	SEEDS = 200
};

static uint64_t key[PROBES];
static int64_t count[PROBES];

static const struct
{
	double confidence;
	int fewest; /* least number of seeds, of 200; a right promise fails with a chance below 1e-4 */
} promises[] = { { 0.5, 74 }, { 0.95, 177 } };

/* Draw the counts of 20,000 rows, and add the rows of heavy keys. */
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

/* True if no estimate exceeds its key's count by more than the error. */
static bool
all_within(const qs_sketch *sk, int64_t error)
{
	int i;

	for (i = 0; i < PROBES; i++)
		if (qs_bounds_of(qs_estimate(sk, key[i]), error).lower > count[i])
			return false;
	return true;
}

/* Count the seeds for which each promise holds. */
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
	for (s = QS_THREAD; s < QS_STRUCTURES; s++)
		check_seeds(s, QS_PART_FULL, 10);
	check_seeds(QS_SF, QS_PART_DEVICE, 10);
	check_seeds(QS_SF, QS_PART_HOST, 10);
	test_no_leak();
}

/* The promises also hold with so few masks that heavy keys often share a mask. */
static void
it_holds_with_few_masks(void **state)
{
	(void) state;
	check_seeds(QS_WARP, QS_PART_FULL, 0);
	check_seeds(QS_MULTILEVEL, QS_PART_FULL, 1);
	test_no_leak();
}

/* True if measuring for one probe reads the key's bucket. */
static bool
is_measured(const qs_sketch *sk, uint64_t fingerprint)
{
	uint64_t bucket = qb_reduce(qb_hash(fingerprint, sk->seed_key), sk->params.n);
	uint64_t measured = qs_noise_buckets(sk, 1);
	uint64_t i = (bucket * measured + sk->params.n - 1) / sk->params.n;

	return i < measured && i * sk->params.n / measured == bucket;
}

/*
 * In a large table, measuring for one probe reads only some buckets.  Measuring for several
 * probes reads all buckets.
 */
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
	while (is_measured(&sk, lone))
		lone++;
	test_insert(&sk, lone, 12345);
	REQUIRE_OK(qs_noise_init(&one, &sk, 1, &test_heap));
	REQUIRE_OK(qs_noise_init(&many, &sk, 2, &test_heap));
	REQUIRE(qs_noise_error(&one, 1, 1) == 0);
	REQUIRE(qs_noise_error(&many, 1, 2) == 12345);
	/*
	 * another key shares all three counters with a chance of 1 / (56 n): C(8, 3) masks, n
	 * buckets
	 */
	REQUIRE(qs_noise_error(&many, 0.99, p.n / 10) == 0);
	REQUIRE(qs_noise_error(&many, 0.99, p.n) == 12345);
	qs_noise_free(&one);
	qs_noise_free(&many);
	qs_free(&sk);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repeats_are_those_of_tables),
		cmocka_unit_test(it_holds_for_all_keys_at_once),
		cmocka_unit_test(it_holds_with_few_masks),
		cmocka_unit_test(rare_noise_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
