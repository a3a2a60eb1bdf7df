/*
 * test_absent.c
 *		Removing absent keys whose counters are all positive.
 *
 * A sketch cannot detect that these keys are absent.  It allows the removal if the
 * remaining counters could belong to other keys.  It refuses with QB_UNDERFLOW if a
 * counter would fall below zero, or if a counter would exceed the remaining weight of its
 * bucket.  A sketch with a counter above that weight would be invalid, and the counter
 * might not fit its width.
 *
 * test/unit/test_absent.c
 */
#include "samples.h"

#include "sketch/measure.h"

/*
 * Set own[i] to 1 for each counter that the key owns in the only bucket, and to 0 for each
 * other counter.
 */
static void
counters_of(const qs_params *p, uint64_t key, uint64_t *own)
{
	qs_sketch sk;

	test_init_dense(&sk, p);
	test_insert(&sk, key, 1);
	qs_bucket_read(&sk, QS_SIDE_BEST, 0, own);
	qs_free(&sk);
}

/*
 * Remove absent keys whose counters are all positive.  Each allowed removal must leave a valid
 * sketch, also when wide counters become narrow.
 */
static void
absent_keys_leave_it_valid(void **state)
{
	int s;
	int round;

	(void) state;
	STRUCTURES(s)
	for (round = 0; round < 60; round++)
	{
		int64_t unit = round % 3 == 0 ? INT64_C(1) << 28 : 1;
		qs_sketch sk;
		uint64_t i;

		WHERE("%s, round %d", qs_structure_name(s), round);
		sample_init_dense(&sk, s, 1 + (uint64_t) round % 2, (uint64_t) round);
		for (i = 0; i < 30; i++)
			test_insert(&sk, test_key(i), unit * (int64_t) (1 + i % 4));
		for (i = 1000; i < 1400 && sk.total > 0; i++)
		{
			int64_t most = test_estimate(&sk, test_key(i));

			if (test_try_remove(&sk, test_key(i), most) == QB_OK)
				test_require_valid(&sk);
		}
		qs_free(&sk);
	}
	test_no_leak();
}

/* Subtract sketches that were never merged. */
static void
absent_sketches_leave_it_valid(void **state)
{
	int s;
	int round;

	(void) state;
	STRUCTURES(s)
	{
		uint64_t n = s == QS_THREAD ? 8 : 1;
		int taken = 0;
		int refused = 0;

		for (round = 0; round < 300; round++)
		{
			qs_sketch a;
			qs_sketch b;
			test_bytes before;

			WHERE("%s, round %d", qs_structure_name(s), round);
			sample_init_dense(&a, s, n, (uint64_t) round);
			sample_init_dense(&b, s, n, (uint64_t) round);
			test_fill(&a, (uint64_t) round, 60, 60);
			test_fill(&b, 1000 + (uint64_t) round, 60, (size_t) round % 20 + 1);
			before = test_write_valid(&a);
			if (qs_subtract(&a, &b) == QB_OK)
			{
				test_require_valid(&a);
				taken++;
			}
			else
			{
				REQUIRE(test_writes(&a, before));
				refused++;
			}
			free(before.data);
			qs_free(&a);
			qs_free(&b);
		}
		REQUIRE(taken > 0 && refused > 0);
	}
	test_no_leak();
}

/*
 * Fill a one-bucket sketch with those of 3000 keys that share one counter.  Returns a key that
 * does not own the shared counter and whose counters are large enough for a removal of the
 * key.
 */
static uint64_t
fill_around(qs_sketch *sk)
{
	uint64_t sum[QS_BUCKET_MAX] = { 0 };
	uint64_t own[QS_BUCKET_MAX];
	uint32_t counters = qs_bucket_counters(sk, QS_SIDE_BEST);
	uint32_t shared = 0;
	bool covered = false;
	uint64_t i;
	uint32_t c;

	for (i = 0; i < 3000; i++)
	{
		counters_of(&sk->params, test_key(i), own);
		while (i == 0 && own[shared] == 0)
			shared++;
		for (c = 0; c < counters && own[shared] > 0; c++)
			sum[c] += own[c];
		if (own[shared] > 0)
			test_insert(sk, test_key(i), 1);
	}
	for (i = 3000; !covered; i++)
	{
		counters_of(&sk->params, test_key(i), own);
		covered = own[shared] == 0;
		for (c = 0; c < counters; c++)
			covered = covered && own[c] <= sum[c];
	}
	return test_key(i - 1);
}

/*
 * Removing the key would leave no counter below zero.  But the shared counter would exceed the
 * remaining weight.
 */
static void
impossible_buckets_are_refused(void **state)
{
	int s;

	(void) state;
	for (s = QS_WARP; s < QS_STRUCTURES; s++)
	{
		qs_sketch a;
		qs_sketch b;
		test_bytes before;
		uint64_t key;

		WHERE("%s", qs_structure_name(s));
		sample_init_dense(&a, s, 1, 3);
		key = fill_around(&a);
		before = test_write_valid(&a);
		REQUIRE(test_estimate(&a, key) > 0);
		REQUIRE_STATUS(test_try_remove(&a, key, 1), QB_UNDERFLOW);
		sample_init_dense(&b, s, 1, 3);
		test_insert(&b, key, 1);
		REQUIRE_STATUS(qs_subtract(&a, &b), QB_UNDERFLOW);
		REQUIRE(test_writes(&a, before));
		free(before.data);
		qs_free(&a);
		qs_free(&b);
	}
	test_no_leak();
}

enum
{
	ABSENT = 5
};

/* Remove absent keys: as a batch (ways 0 to 4), or by subtracting a sketch of the keys (way 5). */
static qb_status
take_absent(int s, uint64_t round, const uint64_t *key, int way, qs_sketch *sk)
{
	qs_sketch minus;
	qb_status status;

	sample_init_dense(sk, s, s == QS_THREAD ? 4 : 1, round);
	test_fill(sk, round, 200, 5 + (size_t) round % 40 * 4);
	sample_init_dense(&minus, s, sk->params.n, round);
	REQUIRE_OK(qs_engine_cpu.insert(&minus, key, NULL, ABSENT));
	status = way == 5 ? qs_subtract(sk, &minus) : qs_engine_cpu.remove(sk, key, NULL, ABSENT);
	qs_free(&minus);
	return status;
}

/* Try all ways, each with another order of keys; returns their common status. */
static qb_status
take_in_any_order(int s, uint64_t round)
{
	test_rng rng = test_seeded(round);
	qb_status wanted = QB_OK;
	test_bytes after = { NULL, 0 };
	uint64_t key[ABSENT];
	uint64_t i;
	int way;

	for (i = 0; i < ABSENT; i++)
		key[i] = test_key(1000 + i);
	for (way = 0; way < 6; way++)
	{
		qs_sketch sk;
		qb_status status = take_absent(s, round, key, way, &sk);

		if (way == 0)
		{
			wanted = status;
			after = test_write_valid(&sk);
		}
		REQUIRE(status == wanted && test_writes(&sk, after));
		test_shuffle(&rng, key, NULL, ABSENT);
		qs_free(&sk);
	}
	free(after.data);
	return wanted;
}

/*
 * Whether absent keys can be removed depends only on the remaining counters.  The order of the
 * keys does not matter.  Subtracting a sketch of the keys has the effect of removing the keys.
 */
static void
order_decides_nothing(void **state)
{
	int s;
	int round;

	(void) state;
	STRUCTURES(s)
	{
		int taken = 0;

		for (round = 0; round < 300; round++)
		{
			WHERE("%s, round %d", qs_structure_name(s), round);
			taken += take_in_any_order(s, (uint64_t) round) == QB_OK;
		}
		REQUIRE(taken > 0 && taken < round);
	}
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_keys_leave_it_valid),
		cmocka_unit_test(absent_sketches_leave_it_valid),
		cmocka_unit_test(impossible_buckets_are_refused),
		cmocka_unit_test(order_decides_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
