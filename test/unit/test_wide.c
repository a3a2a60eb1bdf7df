/*
 * test_wide.c
 *		Large weights: wide counters, and the limit of totals.
 *
 * Counters become wide at N = 2^32.  A sketch whose N is smaller again is written with
 * narrow counters.  N is at most 2^63 - 1.
 *
 * test/unit/test_wide.c
 */
#include "samples.h"

#define LIMIT (INT64_C(1) << 32)

/* What is tested: a sketch of a structure (part 0), or only the host part of an sf sketch. */
typedef struct kind
{
	int structure;
	int part;
} kind;

static const kind kinds[] = {
	{ QS_THREAD, 0 },     { QS_WARP, 0 }, { QS_HALF_WARP, 0 },     { QS_SUB_WARP, 0 },
	{ QS_MULTILEVEL, 0 }, { QS_SF, 0 },   { QS_SF, QS_PART_HOST },
};

static void
init_dense(qs_sketch *sk, const kind *k, uint64_t n)
{
	qs_params p = test_params(k->structure, n, 3, 3, 6, 5);

	p.part = (uint8_t) k->part;
	test_init_dense(sk, &p);
	WHERE("%s, part %d, n %d", qs_structure_name(k->structure), k->part, (int) n);
}

/* Check that the sketch is valid, and that field "counter bytes" of its header is "bytes". */
static void
require_width(const qs_sketch *sk, int bytes)
{
	test_bytes b = test_write_valid(sk);

	REQUIRE(b.data[TEST_AT_COUNTER_BYTES] == bytes);
	free(b.data);
}

/* Counters are narrow up to N = 2^32 - 1, and wide from 2^32 on. */
static void
counters_widen_at_the_limit(void **state)
{
	size_t k;
	int64_t extra;

	(void) state;
	for (k = 0; k < ALL_OF(kinds); k++)
		for (extra = 1; extra < 1000; extra *= 7)
		{
			qs_sketch sk;

			init_dense(&sk, &kinds[k], 8);
			test_fill(&sk, 70, 50, 100);
			test_insert(&sk, test_key(3), LIMIT - 1 - sk.total);
			require_width(&sk, 4);
			REQUIRE(!sk.wide);
			test_insert(&sk, test_key(3), 0);
			REQUIRE(!sk.wide);
			test_insert(&sk, test_key(3), extra);
			require_width(&sk, 8);
			REQUIRE(test_estimate(&sk, test_key(3)) >= LIMIT - 101 + extra);
			qs_free(&sk);
		}
	test_no_leak();
}

/* The bytes do not depend on when a sketch became wide, and no weight is lost. */
static void
when_it_widens_does_not_matter(void **state)
{
	static const int64_t weight[] = { LIMIT - 1, 1, LIMIT - 1, 70000, LIMIT, 255, LIMIT * 3 + 7 };
	size_t k;
	size_t first;
	size_t i;

	(void) state;
	for (k = 0; k < ALL_OF(kinds); k++)
	{
		test_bytes wanted = { NULL, 0 };

		for (first = 0; first < ALL_OF(weight); first++)
		{
			qs_sketch sk;

			init_dense(&sk, &kinds[k], 64);
			for (i = 0; i < ALL_OF(weight); i++)
			{
				size_t which = (first + i) % ALL_OF(weight);

				test_insert(&sk, test_key(which), weight[which]);
			}
			for (i = 0; i < ALL_OF(weight); i++)
				REQUIRE(test_estimate(&sk, test_key(i)) >= weight[i]);
			if (first == 0)
				wanted = test_write_valid(&sk);
			REQUIRE(test_writes(&sk, wanted));
			qs_free(&sk);
		}
		free(wanted.data);
	}
	test_no_leak();
}

/* An explicit sketch with a large total becomes wide when it becomes dense. */
static void
explicit_sketches_become_wide(void **state)
{
	size_t k;

	(void) state;
	for (k = 0; k < ALL_OF(kinds); k++)
	{
		qs_params p = test_params(kinds[k].structure, 8, 3, 3, 6, 5);
		qs_sketch sk;
		uint64_t i;

		p.part = (uint8_t) kinds[k].part;
		test_init(&sk, &p);
		test_insert(&sk, test_key(0), LIMIT * 5);
		REQUIRE(sk.encoding == QS_EXPLICIT && test_estimate(&sk, test_key(0)) == LIMIT * 5);
		require_width(&sk, 0);
		for (i = 1; sk.encoding == QS_EXPLICIT; i++)
			test_insert(&sk, test_key(i), 1);
		require_width(&sk, 8);
		REQUIRE(test_estimate(&sk, test_key(0)) >= LIMIT * 5);
		qs_free(&sk);
	}
	test_no_leak();
}

/* Merge narrow sketches beyond the limit, and a wide sketch into a narrow sketch. */
static void
merging_widens(void **state)
{
	size_t k;
	uint64_t more;

	(void) state;
	for (k = 0; k < ALL_OF(kinds); k++)
		for (more = 1; more <= 4; more *= 2)
		{
			qs_sketch a;
			qs_sketch b;
			qs_sketch both;

			init_dense(&a, &kinds[k], 8);
			init_dense(&b, &kinds[k], 8 * more);
			init_dense(&both, &kinds[k], 8);
			test_insert(&a, test_key(1), LIMIT - 5);
			test_insert(&b, test_key(2), LIMIT / 2);
			test_insert(&both, test_key(1), LIMIT - 5);
			test_insert(&both, test_key(2), LIMIT / 2);
			REQUIRE_OK(qs_fold(&b, 8));
			REQUIRE(!a.wide && !b.wide && both.wide);
			REQUIRE_OK(qs_merge(&b, &a));
			REQUIRE(b.wide && test_same(&b, &both));
			REQUIRE_OK(qs_merge(&a, &b));
			test_insert(&both, test_key(1), LIMIT - 5);
			REQUIRE(a.wide && test_same(&a, &both));
			qs_free(&a);
			qs_free(&b);
			qs_free(&both);
		}
	test_no_leak();
}

/* A sketch whose N falls below 2^32 is written like a narrow sketch. */
static void
writing_narrows(void **state)
{
	size_t k;

	(void) state;
	for (k = 0; k < ALL_OF(kinds); k++)
	{
		qs_sketch sk;
		qs_sketch other;
		test_bytes narrow;
		test_bytes wide;

		init_dense(&sk, &kinds[k], 8);
		test_fill(&sk, 71, 50, 1000);
		test_insert(&sk, test_key(4), LIMIT - 1 - sk.total);
		narrow = test_write_valid(&sk);
		test_insert(&sk, test_key(2), 1);
		wide = test_write_valid(&sk);
		REQUIRE(wide.data[TEST_AT_COUNTER_BYTES] == 8);
		REQUIRE_OK(test_try_remove(&sk, test_key(2), 1));
		REQUIRE(sk.wide && test_writes(&sk, narrow));

		/*
		 * copy, fold, merge and subtract sketches whose counters in memory are wider than
		 * required
		 */
		REQUIRE_OK(qs_copy(&other, &sk, &test_heap));
		REQUIRE(test_writes(&other, narrow));
		test_insert(&other, test_key(2), 1);
		REQUIRE(test_writes(&other, wide));
		REQUIRE_OK(qs_subtract(&other, &sk));
		REQUIRE(other.total == 1 && test_estimate(&other, test_key(2)) == 1);
		require_width(&other, 4);
		REQUIRE_OK(qs_merge(&other, &sk));
		REQUIRE(test_writes(&other, wide));
		REQUIRE_OK(qs_fold(&sk, 4));
		require_width(&sk, 4);
		free(narrow.data);
		free(wide.data);
		qs_free(&sk);
		qs_free(&other);
	}
	test_no_leak();
}

/* N may reach 2^63 - 1.  A larger total is refused and changes nothing. */
static void
the_total_cannot_overflow(void **state)
{
	const int64_t twice[2] = { INT64_MAX, INT64_MAX };
	const uint64_t key[2] = { test_key(1), test_key(2) };
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
	{
		qs_sketch sk;
		qs_sketch one;
		test_bytes before;

		if (samples[i].part == QS_PART_DEVICE)
			continue;
		WHERE("%s", samples[i].name);
		sample_build(&sk, &samples[i]);
		before = test_write_valid(&sk);
		REQUIRE_STATUS(qs_engine_cpu.insert(&sk, key, twice, 2), QB_TOTAL_OVERFLOW);
		REQUIRE(test_writes(&sk, before));
		free(before.data);
		test_insert(&sk, test_key(1), INT64_MAX - sk.total);
		before = test_write_valid(&sk);
		REQUIRE_STATUS(test_try_insert(&sk, test_key(1), 1), QB_TOTAL_OVERFLOW);
		REQUIRE_STATUS(test_try_insert(&sk, test_key(99), INT64_MAX), QB_TOTAL_OVERFLOW);
		REQUIRE_OK(test_try_insert(&sk, test_key(99), 0));
		test_init(&one, &sk.params);
		test_insert(&one, test_key(1), 1);
		REQUIRE_STATUS(qs_merge(&sk, &one), QB_TOTAL_OVERFLOW);
		REQUIRE_STATUS(qs_merge(&one, &sk), QB_TOTAL_OVERFLOW);
		REQUIRE_STATUS(qs_merge(&sk, &sk), QB_TOTAL_OVERFLOW);
		REQUIRE(test_writes(&sk, before));
		free(before.data);
		qs_free(&one);
		qs_free(&sk);
	}
	test_no_leak();
}

/* Counters near the maximum lose nothing. */
static void
counters_go_to_the_top(void **state)
{
	static const int64_t weight[] = { INT64_C(1) << 62, (INT64_C(1) << 62) - 1, INT64_MAX };
	size_t k;
	size_t i;
	int depth;

	(void) state;
	for (k = 0; k < ALL_OF(kinds); k++)
		for (i = 0; i < ALL_OF(weight); i++)
			for (depth = 1; depth <= 8; depth += 7)
			{
				qs_params p = test_params(kinds[k].structure, 2, depth, 2, 6, 5);
				qs_sketch sk;
				test_bytes before;

				p.part = (uint8_t) kinds[k].part;
				test_init_dense(&sk, &p);
				WHERE("%s, depth %d, %lld", qs_structure_name(p.structure), depth,
					  (long long) weight[i]);
				test_fill(&sk, 72, 10, 20);
				before = test_write_valid(&sk);
				test_insert(&sk, test_key(9), weight[i] - 20);
				REQUIRE(test_estimate(&sk, test_key(9)) >= weight[i] - 20);
				REQUIRE(test_estimate(&sk, test_key(9)) <= weight[i]);
				require_width(&sk, 8);
				REQUIRE_OK(test_try_remove(&sk, test_key(9), weight[i] - 20));
				REQUIRE(test_writes(&sk, before));
				free(before.data);
				qs_free(&sk);
			}
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_widen_at_the_limit),
		cmocka_unit_test(when_it_widens_does_not_matter),
		cmocka_unit_test(explicit_sketches_become_wide),
		cmocka_unit_test(merging_widens),
		cmocka_unit_test(writing_narrows),
		cmocka_unit_test(the_total_cannot_overflow),
		cmocka_unit_test(counters_go_to_the_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
