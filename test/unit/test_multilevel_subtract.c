/*
 * test_multilevel_subtract.c
 *		Subtracting too much from a multilevel sketch is refused and changes nothing, with
 *		each instruction set.
 *
 * test/unit/test_multilevel_subtract.c
 */
#include "multilevel_support.h"

/*
 * One counter is smaller by 1 than the counter to be subtracted.  The subtraction must be
 * refused and change nothing.
 */
static void
check_underflows(void)
{
	static counters c;
	uint64_t a[MOST];
	uint64_t b[MOST];
	uint64_t i;
	size_t e;

	find_keys(&c, 2);
	for (i = 0; i < c.count; i++)
		for (e = 1; e < EDGES; e++)
		{
			qs_sketch into;
			qs_sketch from;
			test_bytes before;

			WHERE("%s, counter %d, %d", qb_isa_name(qb_isa_now()), (int) i, (int) edges[e]);
			memset(a, 0, sizeof(a));
			memset(b, 0, sizeof(b));
			a[i] = edges[e] - 1;
			b[i] = edges[e];
			a[(i + 1) % c.count] = e % 2 ? 200 : 2000;
			build(&into, &c, a);
			build(&from, &c, b);
			before = test_write_valid(&into);
			REQUIRE_STATUS(qs_subtract(&into, &from), QB_UNDERFLOW);
			REQUIRE(test_writes(&into, before));
			free(before.data);
			qs_free(&into);
			qs_free(&from);
		}
}

static void
underflows_are_refused(void **state)
{
	(void) state;
	test_with_each_isa(check_underflows);
}

/*
 * True if the definition allows the subtraction: no counter falls below zero, and in each bucket
 * the largest remaining counter times the depth is at most the sum of the remaining counters.
 */
static bool
may_subtract(const qs_sketch *into, const qs_sketch *from)
{
	uint64_t b;
	uint32_t c;

	for (b = 0; b < into->params.n; b++)
	{
		uint64_t old[QS_LOW_COUNTERS];
		uint64_t less[QS_LOW_COUNTERS];
		unsigned __int128 sum = 0;
		uint64_t most = 0;

		qs_multilevel_values(into, b, old);
		qs_multilevel_values(from, b, less);
		for (c = 0; c < QS_LOW_COUNTERS; c++)
		{
			if (old[c] < less[c])
				return false;
			sum += old[c] - less[c];
			most = old[c] - less[c] > most ? old[c] - less[c] : most;
		}
		if ((unsigned __int128) most * into->params.depth > sum)
			return false;
	}
	return true;
}

/*
 * Subtract a key that may be absent.  Its weight is its estimate or its estimate + 1.  The status
 * must agree with may_subtract().
 */
static void
check_verdicts(void)
{
	test_rng rng = test_seeded(73);
	int allowed = 0;
	int too_small = 0;
	int round;

	for (round = 0; round < 4000; round++)
	{
		static const uint64_t scales[] = { 1, 30, 700, 1 << 16, 1 << 24, UINT64_C(1) << 31 };
		qs_params p = test_params(QS_MULTILEVEL, 1 + test_below(&rng, 2),
								  2 + (int) test_below(&rng, 4), 0, 4, 3);
		uint64_t scale = scales[test_below(&rng, ALL_OF(scales))];
		uint64_t key = test_key(test_below(&rng, 40));
		qs_sketch into;
		qs_sketch from;
		int64_t most;
		int64_t weight;
		bool may;
		int i;

		WHERE("%s, round %d", qb_isa_name(qb_isa_now()), round);
		test_init_dense(&into, &p);
		test_init_dense(&from, &p);
		for (i = 0; i < 14; i++)
			test_insert(&into, test_key(test_below(&rng, 30)),
						1 + (int64_t) test_below(&rng, scale));
		most = test_estimate(&into, key);
		weight = round % 2 ? most : most + (int64_t) test_below(&rng, 2);
		test_insert(&from, key, weight);
		may = from.total <= into.total && may_subtract(&into, &from);
		REQUIRE_STATUS(qs_subtract(&into, &from), may ? QB_OK : QB_UNDERFLOW);
		test_require_valid(&into);
		allowed += may;
		too_small += weight > most;
		qs_free(&into);
		qs_free(&from);
	}
	REQUIRE(allowed > 400 && too_small > 400);
}

static void
verdicts_are_the_definition(void **state)
{
	(void) state;
	test_with_each_isa(check_verdicts);
}

/* Returns a key of depth 2 that owns exactly the counters in "wanted" of the only bucket. */
static uint64_t
key_of_mask(const qs_params *p, uint32_t wanted)
{
	uint64_t seed_key = qb_seed_key(p->seed);
	uint64_t i;

	for (i = 2;; i++)
	{
		uint64_t hv = qb_hash(test_key(i), seed_key);
		uint32_t index = (uint32_t) hv & (qs_mask_count(p) - 1);
		uint32_t mask = qs_mask(seed_key, QS_LOW_COUNTERS, 2, index);

		if (qs_mask_rotation(mask, QS_LOW_COUNTERS, hv) == wanted)
			return test_key(i);
		REQUIRE(i < 1000000);
	}
}

/*
 * Add a key that owns counters a and b, and a key that owns b and c.  Subtract a key that owns a
 * and c.  No counter falls below zero, but counter b would exceed the remaining weight.
 */
static void
check_unfit_rests(void)
{
	static const int64_t weights[] = { 1, 100, 300, 1 << 16, 1 << 24, INT64_C(1) << 33 };
	qs_params p = test_params(QS_MULTILEVEL, 1, 2, 0, 10, 5);
	uint32_t a;
	size_t w;

	for (a = 0; a < QS_LOW_COUNTERS; a++)
		for (w = 0; w < ALL_OF(weights); w++)
		{
			uint32_t bit_a = UINT32_C(1) << a;
			uint32_t bit_b = UINT32_C(1) << (a + 9) % QS_LOW_COUNTERS;
			uint32_t bit_c = UINT32_C(1) << (a + 20) % QS_LOW_COUNTERS;
			qs_sketch into;
			qs_sketch from;
			test_bytes before;

			WHERE("%s, counter %d, weight %lld", qb_isa_name(qb_isa_now()), (int) a,
				  (long long) weights[w]);
			test_init_dense(&into, &p);
			test_init_dense(&from, &p);
			test_insert(&into, key_of_mask(&p, bit_a | bit_b), weights[w]);
			test_insert(&into, key_of_mask(&p, bit_b | bit_c), weights[w]);
			test_insert(&from, key_of_mask(&p, bit_a | bit_c), 1);
			before = test_write_valid(&into);
			REQUIRE(!may_subtract(&into, &from));
			REQUIRE_STATUS(qs_subtract(&into, &from), QB_UNDERFLOW);
			REQUIRE(test_writes(&into, before));
			free(before.data);
			qs_free(&into);
			qs_free(&from);
		}
}

static void
unfit_rests_are_refused(void **state)
{
	(void) state;
	test_with_each_isa(check_unfit_rests);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(underflows_are_refused),
		cmocka_unit_test(verdicts_are_the_definition),
		cmocka_unit_test(unfit_rests_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
