/*
 * test_absent.c
 *		Removing keys that were never there, though all of their counters are positive.
 *
 * The sketch cannot know that a key was never there.  It allows the removal as long
 * as what is left could come from other keys.  It refuses with QB_UNDERFLOW if a
 * counter would fall below zero, or if a counter would be larger than all the weight
 * left in its bucket.  In that second case the sketch would be invalid when written,
 * and the counter might not even fit its width.
 *
 * test/unit/test_absent.c
 */
#include "samples.h"

#include "sketch/measure.h"

/* Set own[i] to 1 for each counter of the only bucket that the key owns, and to 0 for all others. */
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
 * Remove absent keys whose counters are all positive.  The sketch cannot know that they are
 * absent, but every removal that it allows must leave it valid, down to its last key, and
 * also while wide counters become narrow.
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

/* Subtract whole sketches that were never merged into this one. */
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
 * Fill a sketch of one bucket with keys that share one counter, until all its
 * counters are positive.  Returns a key that does not own this counter, and whose
 * own counters are all large enough for it to be removed.
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
 * No counter would fall below zero here, but the counter that all keys share would
 * be larger than all the weight that is left.
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

/* Remove absent keys in way 0 to 4, as a batch, or in way 5, as a sketch that is subtracted. */
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

/* Try all ways, in changing orders; returns the answer that all of them give. */
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
 * Whether a batch of absent keys can be removed depends on what is left, and not on the
 * order of the keys, on batches, or on removing a sketch instead.
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
