/*
 * test_sf.c
 *		The sf sketch: its tables, its parts and the order of its estimates.
 *
 * test/unit/test_sf.c
 */
#include "support.h"

#define KEYS 500

static const int zs[] = { 2, 3, 8, 64 };

/* Check that count <= fat <= slim <= sub_warp, for each key. */
static void
require_chain(const qs_sketch *full, const qs_sketch *plain, const int64_t *truth)
{
	qs_sketch host;
	qs_sketch device;
	uint64_t i;

	REQUIRE_OK(qs_sf_part(&host, full, QS_PART_HOST, &test_heap));
	REQUIRE_OK(qs_sf_part(&device, full, QS_PART_DEVICE, &test_heap));
	for (i = 0; i < KEYS; i++)
	{
		int64_t fat = test_estimate(&host, test_key(i));
		int64_t slim = test_estimate(full, test_key(i));

		REQUIRE(truth[i] <= fat && fat <= slim && slim <= test_estimate(plain, test_key(i)));
		REQUIRE(test_estimate(&device, test_key(i)) == slim);
	}
	qs_free(&host);
	qs_free(&device);
}

static void
estimates_are_in_order(void **state)
{
	test_rng rng = test_seeded(40);
	int round;

	(void) state;
	for (round = 0; round < 200; round++)
	{
		int z = zs[round % 4];
		int depth = 1 + (int) test_below(&rng, 8);
		uint64_t n = 1 + test_below(&rng, 24);
		qs_params p = test_params(QS_SF, n, depth, z, 8, (uint64_t) round);
		qs_params q = test_params(QS_SUB_WARP, n, depth, 0, 8, (uint64_t) round);
		int64_t truth[KEYS] = { 0 };
		qs_sketch sf;
		qs_sketch plain;
		int i;

		WHERE("round %d, z %d, depth %d, n %d", round, z, depth, (int) n);
		test_init_dense(&sf, &p);
		test_init_dense(&plain, &q);
		for (i = 0; i < 400; i++)
		{
			uint64_t index = test_skewed(&rng, KEYS);
			int64_t weight = (int64_t) test_below(&rng, 100);

			truth[index] += weight;
			test_insert(&sf, test_key(index), weight);
			test_insert(&plain, test_key(index), weight);
		}
		require_chain(&sf, &plain, truth);
		qs_free(&sf);
		qs_free(&plain);
	}
	test_no_leak();
}

/* Check that each slim counter is the largest of its z cells. */
static void
require_maxima(const qs_sketch *sk)
{
	uint32_t z = sk->params.z;
	uint64_t i;
	uint32_t k;

	for (i = 0; i < sk->params.n * 8; i++)
	{
		uint64_t most = 0;

		for (k = 0; k < z; k++)
		{
			uint64_t v = qb_counter_get(sk->extra, i * z + k, sk->wide);

			most = v > most ? v : most;
		}
		REQUIRE(qb_counter_get(sk->table, i, sk->wide) == most);
	}
}

/* Slim counters are the maxima of their cells after each operation. */
static void
slim_follows_fat(void **state)
{
	test_rng rng = test_seeded(41);
	size_t k;
	int i;

	(void) state;
	for (k = 0; k < ALL_OF(zs); k++)
	{
		qs_params p = test_params(QS_SF, 8, 3, zs[k], 10, 4);
		qs_sketch sk;
		qs_sketch other;

		test_init_dense(&sk, &p);
		test_init_dense(&other, &p);
		test_fill(&other, 42, KEYS, 1000);
		for (i = 0; i < 500; i++)
		{
			uint64_t key = test_key(test_below(&rng, KEYS));

			test_insert(&sk, key, (int64_t) test_below(&rng, 50));
			require_maxima(&sk);
			test_try_remove(&sk, test_key(test_below(&rng, KEYS)), 3);
			require_maxima(&sk);
		}
		REQUIRE_OK(qs_merge(&sk, &other));
		require_maxima(&sk);
		REQUIRE_OK(qs_subtract(&sk, &other));
		require_maxima(&sk);
		test_insert(&sk, test_key(3), INT64_C(1) << 33);
		require_maxima(&sk);
		REQUIRE_OK(qs_fold(&sk, 2));
		require_maxima(&sk);
		qs_free(&sk);
		qs_free(&other);
	}
	test_no_leak();
}

/* ---- parts ---- */

static void
build(qs_sketch *sk, qs_part part, uint64_t seed, size_t count)
{
	qs_params p = test_params(QS_SF, 16, 3, 8, 10, 4);
	qs_sketch full;

	test_init(&full, &p);
	test_fill(&full, seed, KEYS, count);
	if (part == QS_PART_FULL)
	{
		*sk = full;
		return;
	}
	REQUIRE_OK(qs_sf_part(sk, &full, part, &test_heap));
	qs_free(&full);
}

static void
a_device_part_only_answers(void **state)
{
	qs_sketch sk;
	qs_sketch part;
	test_bytes before;

	(void) state;
	build(&sk, QS_PART_DEVICE, 43, 1000);
	before = test_write_valid(&sk);
	assert_int_equal(test_table_bytes(&sk), 16 * 8 * 4);
	REQUIRE_STATUS(test_try_insert(&sk, 1, 1), QB_READ_ONLY);
	REQUIRE_STATUS(test_try_insert(&sk, 1, 0), QB_READ_ONLY);
	REQUIRE_STATUS(test_try_remove(&sk, 1, 1), QB_READ_ONLY);
	REQUIRE_STATUS(qs_subtract(&sk, &sk), QB_READ_ONLY);
	REQUIRE_STATUS(qs_sf_part(&part, &sk, QS_PART_FULL, &test_heap), QB_WRONG_PART);
	REQUIRE_STATUS(qs_sf_part(&part, &sk, QS_PART_HOST, &test_heap), QB_WRONG_PART);
	REQUIRE_STATUS(qs_sf_part(&part, &sk, QS_PART_DEVICE, &test_heap), QB_WRONG_PART);
	REQUIRE(test_writes(&sk, before));
	free(before.data);
	qs_free(&sk);
	test_no_leak();
}

/* Merged device parts give upper bounds, which may exceed the bounds of the merged sketch. */
static void
merged_device_parts_stay_above(void **state)
{
	qs_sketch a;
	qs_sketch b;
	qs_sketch slim_a;
	qs_sketch slim_b;
	qs_sketch slim_ab;
	uint64_t i;

	(void) state;
	build(&a, QS_PART_FULL, 44, 3000);
	build(&b, QS_PART_FULL, 45, 2000);
	REQUIRE_OK(qs_sf_part(&slim_a, &a, QS_PART_DEVICE, &test_heap));
	REQUIRE_OK(qs_sf_part(&slim_b, &b, QS_PART_DEVICE, &test_heap));
	REQUIRE_OK(qs_merge(&a, &b));
	REQUIRE_OK(qs_sf_part(&slim_ab, &a, QS_PART_DEVICE, &test_heap));
	REQUIRE_OK(qs_merge(&slim_a, &slim_b));
	test_require_valid(&slim_a);
	for (i = 0; i < KEYS; i++)
		REQUIRE(test_estimate(&slim_a, test_key(i)) >= test_estimate(&slim_ab, test_key(i)));
	REQUIRE_OK(qs_fold(&slim_a, 4));
	test_require_valid(&slim_a);
	qs_free(&a);
	qs_free(&b);
	qs_free(&slim_a);
	qs_free(&slim_b);
	qs_free(&slim_ab);
	test_no_leak();
}

/* A host part takes keys, merges and folds like the full sketch, and can be made full again. */
static void
a_host_part_is_as_good_as_the_whole(void **state)
{
	size_t count;

	(void) state;
	for (count = 5; count < 3000; count *= 3)
	{
		qs_sketch full;
		qs_sketch host;
		qs_sketch other;
		qs_sketch whole;

		WHERE("%d keys", (int) count);
		build(&full, QS_PART_FULL, 46, count);
		build(&host, QS_PART_HOST, 46, count);
		test_fill(&full, 47, KEYS, 7);
		test_fill(&host, 47, KEYS, 7);
		build(&other, QS_PART_FULL, 48, count);
		REQUIRE_OK(qs_merge(&full, &other));
		qs_free(&other);
		build(&other, QS_PART_HOST, 48, count);
		REQUIRE_OK(qs_merge(&host, &other));
		qs_free(&other);
		REQUIRE_OK(qs_fold(&full, 8));
		REQUIRE_OK(qs_fold(&host, 8));
		REQUIRE_OK(qs_sf_part(&whole, &host, QS_PART_FULL, &test_heap));
		REQUIRE(test_same(&whole, &full));
		REQUIRE_STATUS(qs_sf_part(&other, &host, QS_PART_DEVICE, &test_heap), QB_WRONG_PART);
		qs_free(&full);
		qs_free(&host);
		qs_free(&whole);
	}
	test_no_leak();
}

static void
parts_of_other_structures_do_not_exist(void **state)
{
	int s;
	int part;

	(void) state;
	for (s = QS_THREAD; s < QS_SF; s++)
		for (part = QS_PART_FULL; part <= QS_PART_HOST; part++)
		{
			qs_params p = test_usual_params(s, 16);
			qs_sketch sk;
			qs_sketch to;

			test_init(&sk, &p);
			REQUIRE_STATUS(qs_sf_part(&to, &sk, (qs_part) part, &test_heap), QB_WRONG_PART);
			qs_free(&sk);
		}
}

/* Different parts cannot be merged with each other. */
static void
parts_do_not_mix(void **state)
{
	qs_sketch sk[3];
	int i;
	int j;

	(void) state;
	for (i = 0; i < 3; i++)
		build(&sk[i], (qs_part) i, 49, 1000);
	for (i = 0; i < 3; i++)
		for (j = 0; j < 3; j++)
			if (i != j)
			{
				REQUIRE_STATUS(qs_merge(&sk[i], &sk[j]), QB_MISMATCH);
				REQUIRE_STATUS(qs_subtract(&sk[i], &sk[j]), QB_MISMATCH);
			}
	for (i = 0; i < 3; i++)
		qs_free(&sk[i]);
	test_no_leak();
}

/* An explicit and a dense sketch of the same keys have equal device parts. */
static void
explicit_sketches_have_device_parts(void **state)
{
	qs_sketch few;
	qs_sketch dense;
	qs_sketch a;
	qs_sketch b;

	(void) state;
	build(&few, QS_PART_FULL, 50, 10);
	assert_int_equal(few.encoding, QS_EXPLICIT);
	REQUIRE_OK(qs_copy(&dense, &few, &test_heap));
	REQUIRE_OK(qs_make_dense(&dense));
	REQUIRE_OK(qs_sf_part(&a, &few, QS_PART_DEVICE, &test_heap));
	REQUIRE_OK(qs_sf_part(&b, &dense, QS_PART_DEVICE, &test_heap));
	assert_int_equal(a.encoding, QS_DENSE);
	REQUIRE(test_same(&a, &b));
	qs_free(&few);
	qs_free(&dense);
	qs_free(&a);
	qs_free(&b);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_are_in_order),
		cmocka_unit_test(slim_follows_fat),
		cmocka_unit_test(a_device_part_only_answers),
		cmocka_unit_test(merged_device_parts_stay_above),
		cmocka_unit_test(a_host_part_is_as_good_as_the_whole),
		cmocka_unit_test(parts_of_other_structures_do_not_exist),
		cmocka_unit_test(parts_do_not_mix),
		cmocka_unit_test(explicit_sketches_have_device_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
