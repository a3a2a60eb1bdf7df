/*
 * test_remove.c
 *		Removing and subtracting undo adding exactly, or are refused and change nothing.
 *
 * In these tests, keys are present, or the sketch can detect that they are absent.
 * test_absent.c tests absent keys that a sketch cannot detect.
 *
 * test/unit/test_remove.c
 */
#include "samples.h"

/* ---- present keys ---- */

static void
removing_undoes_adding(void **state)
{
	enum
	{
		KEYS = 10000
	};
	static uint64_t key[KEYS];
	static int64_t weight[KEYS];
	test_rng rng = test_seeded(20);
	int s;
	int i;

	(void) state;
	STRUCTURES(s)
	{
		qs_sketch sk;
		test_bytes before;

		WHERE("%s", qs_structure_name(s));
		sample_init_dense(&sk, s, 64, 1);
		test_fill(&sk, 21, 1000, 5000);
		before = test_write_valid(&sk);
		for (i = 0; i < KEYS; i++)
		{
			key[i] = test_key(test_below(&rng, 3000));
			weight[i] = (int64_t) test_below(&rng, 400);
		}
		REQUIRE_OK(qs_engine_cpu.insert(&sk, key, weight, KEYS));
		REQUIRE(!test_writes(&sk, before));
		test_shuffle(&rng, key, weight, KEYS);
		REQUIRE_OK(qs_engine_cpu.remove(&sk, key, weight, KEYS));
		REQUIRE(test_writes(&sk, before));
		free(before.data);
		qs_free(&sk);
	}
	test_no_leak();
}

/* An explicit entry is removed when its count reaches zero, in any order of removals. */
static void
explicit_entries_vanish(void **state)
{
	test_rng rng = test_seeded(22);
	qs_params p = test_usual_params(QS_SUB_WARP, 300);
	int round;

	(void) state;
	for (round = 0; round < 200; round++)
	{
		uint64_t key[300];
		qs_sketch sk;
		size_t keys = 1 + (size_t) test_below(&rng, 300);
		size_t kept = (size_t) test_below(&rng, keys);
		size_t i;

		test_init(&sk, &p);
		for (i = 0; i < keys; i++)
			key[i] = test_key(i);
		test_shuffle(&rng, key, NULL, keys);
		REQUIRE_OK(qs_engine_cpu.insert(&sk, key, NULL, keys));
		test_shuffle(&rng, key, NULL, keys);
		REQUIRE_OK(qs_engine_cpu.remove(&sk, key + kept, NULL, keys - kept));
		REQUIRE(sk.encoding == QS_EXPLICIT && sk.used == kept);
		for (i = 0; i < keys; i++)
			REQUIRE(test_estimate(&sk, key[i]) == (i < kept));
		test_require_valid(&sk);
		qs_free(&sk);
	}
	test_no_leak();
}

static void
subtracting_undoes_merging(void **state)
{
	int s;

	(void) state;
	STRUCTURES(s)
	{
		qs_sketch a;
		qs_sketch b;
		test_bytes before;

		WHERE("%s", qs_structure_name(s));
		sample_init_dense(&a, s, 32, 1);
		sample_init_dense(&b, s, 32, 1);
		test_fill(&a, 23, 1000, 5000);
		test_fill(&b, 24, 1000, 9000);
		before = test_write_valid(&a);
		REQUIRE_OK(qs_merge(&a, &b));
		REQUIRE(a.total == 14000);
		REQUIRE_OK(qs_subtract(&a, &b));
		REQUIRE(test_writes(&a, before));
		REQUIRE_OK(qs_subtract(&a, &a));
		qs_free(&b);
		sample_init_dense(&b, s, 32, 1);
		REQUIRE(a.total == 0 && test_same(&a, &b));
		free(before.data);
		qs_free(&a);
		qs_free(&b);
	}
	test_no_leak();
}

/* ---- absent keys ---- */

static void
require_refused(qs_sketch *sk, const uint64_t *key, const int64_t *weight, size_t count)
{
	test_bytes before = test_write_valid(sk);

	REQUIRE_STATUS(qs_engine_cpu.remove(sk, key, weight, count), QB_UNDERFLOW);
	REQUIRE(test_writes(sk, before));
	free(before.data);
}

/* The last weight of a long removal exceeds the estimate by 1, so the whole removal is undone. */
static void
refusals_change_nothing(void **state)
{
	enum
	{
		KEYS = 3 * QS_BATCH + 5
	};
	static uint64_t key[KEYS + 1];
	static int64_t weight[KEYS + 1];
	size_t i;
	size_t k;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
	{
		qs_sketch sk;

		if (samples[i].part == QS_PART_DEVICE)
			continue;
		WHERE("%s", samples[i].name);
		sample_build(&sk, &samples[i]);
		for (k = 0; k < KEYS; k++)
		{
			key[k] = test_key(k % 3 == 0 ? 0 : k % 3 == 1 ? 1 : 5);
			weight[k] = (int64_t) (k % 7);
		}
		REQUIRE_OK(qs_engine_cpu.insert(&sk, key, weight, KEYS));
		test_insert(&sk, test_key(7), 1);
		for (k = 0; k < 4; k++)
		{
			key[KEYS] = test_key(k);
			weight[KEYS] = test_estimate(&sk, key[KEYS]) + 1;
			require_refused(&sk, key, weight, KEYS + 1);
			require_refused(&sk, key + KEYS, weight + KEYS, 1);
		}
		qs_free(&sk);
	}
	test_no_leak();
}

static void
empty_sketches_refuse(void **state)
{
	static const int64_t none[2] = { 0, 0 };
	const uint64_t key[2] = { test_key(0), test_key(5) };
	int s;

	(void) state;
	STRUCTURES(s)
	{
		qs_params p = sample_params(s);
		qs_sketch sk;

		test_init(&sk, &p);
		require_refused(&sk, key, NULL, 2);
		REQUIRE_OK(qs_engine_cpu.remove(&sk, key, none, 2));
		REQUIRE_OK(qs_engine_cpu.insert(&sk, key, none, 2));
		REQUIRE(sk.used == 0 && sk.total == 0);
		REQUIRE_OK(qs_make_dense(&sk));
		require_refused(&sk, key, NULL, 2);
		REQUIRE_OK(qs_engine_cpu.remove(&sk, key, none, 2));
		qs_free(&sk);
	}
	test_no_leak();
}

/* Subtracting more than the total is refused before the sketch becomes dense. */
static void
larger_totals_change_nothing(void **state)
{
	int s;

	(void) state;
	STRUCTURES(s)
	{
		qs_params p = test_usual_params(s, 64);
		qs_sketch a;
		qs_sketch b;
		test_bytes before;

		test_init(&a, &p);
		test_insert(&a, test_key(1), 10);
		test_init_dense(&b, &p);
		test_insert(&b, test_key(1), 11);
		before = test_write_valid(&a);
		REQUIRE_STATUS(qs_subtract(&a, &b), QB_UNDERFLOW);
		REQUIRE(test_writes(&a, before));
		free(before.data);
		qs_free(&a);
		qs_free(&b);
	}
	test_no_leak();
}

/* ---- memory ---- */

/* Undoing a removal must not allocate memory, since memory may have run out. */
static void
refusals_need_no_memory(void **state)
{
	static uint64_t key[QS_BATCH];
	size_t keys;
	size_t i;
	int s;

	(void) state;
	STRUCTURES(s)
	for (keys = 1; keys <= 100; keys++)
	{
		qs_params p = test_usual_params(s, 64);
		qs_sketch sk;
		test_bytes before;

		test_init(&sk, &p);
		for (i = 0; i < keys; i++)
			key[i] = test_key(i);
		REQUIRE_OK(qs_engine_cpu.insert(&sk, key, NULL, keys));
		REQUIRE_OK(qs_engine_cpu.insert(&sk, key, NULL, keys));
		for (; i < QS_BATCH; i++)
			key[i] = test_key(i % keys);
		before = test_write_valid(&sk);
		test_fail_at(1);
		require_refused(&sk, key, NULL, keys * 2 + 1);
		test_fail_at(0);
		REQUIRE(test_writes(&sk, before));
		free(before.data);
		qs_free(&sk);
	}
	test_no_leak();
}

/* Undoing the subtraction of an explicit sketch must not allocate memory. */
static void
refused_subtractions_need_no_memory(void **state)
{
	size_t keys;
	size_t i;

	(void) state;
	for (keys = 1; keys <= 60; keys++)
	{
		qs_params p = test_usual_params(QS_SUB_WARP, 64);
		qs_sketch a;
		qs_sketch b;
		test_bytes before;

		test_init(&a, &p);
		test_init(&b, &p);
		for (i = 0; i < keys; i++)
		{
			test_insert(&a, test_key(i), 2);
			test_insert(&b, test_key(i), i + 1 < keys ? 1 : 3);
		}
		test_insert(&a, test_key(1000), 1000);
		before = test_write_valid(&a);
		test_fail_at(1);
		REQUIRE_STATUS(qs_subtract(&a, &b), QB_UNDERFLOW);
		test_fail_at(0);
		REQUIRE(test_writes(&a, before));
		free(before.data);
		qs_free(&a);
		qs_free(&b);
	}
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(removing_undoes_adding),
		cmocka_unit_test(explicit_entries_vanish),
		cmocka_unit_test(subtracting_undoes_merging),
		cmocka_unit_test(refusals_change_nothing),
		cmocka_unit_test(empty_sketches_refuse),
		cmocka_unit_test(larger_totals_change_nothing),
		cmocka_unit_test(refusals_need_no_memory),
		cmocka_unit_test(refused_subtractions_need_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
