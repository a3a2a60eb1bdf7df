/*
 * test_merge_deferred.c
 *		Many merges into one sketch: deferring carries does not change the result.
 *
 * Each sketch that qs_merge_deferred() merges is also merged into a twin by qs_merge().
 * After qs_materialize() both sketches must have the same bytes.
 *
 * test/unit/test_merge_deferred.c
 */
#include "isa_support.h"

#include "sketch/multilevel.h"
#include "engine/sketch_engine.h"

/* ---- carries up to the limit of a byte ---- */

/* Make a dense sketch with one key of this weight, and with light keys. */
static void
build_single(qs_sketch *sk, const qs_params *p, int64_t weight, uint64_t light)
{
	uint64_t i;

	test_init_dense(sk, p);
	test_insert(sk, test_key(2), weight);
	for (i = 3; i < 3 + light; i++)
		test_insert(sk, test_key(i), 1);
}

/*
 * Each merge has the largest possible carries.  The numbers of merges are near the numbers at
 * which a byte of carries is full.
 */
static void
check_numbers_of_merges(void)
{
	static const int numbers[] = {
		1, 2, 3, 254, 255, 256, 257, 258, 509, 510, 511, 512, 513, 1100
	};
	qs_params p = test_params(QS_MULTILEVEL, 4, 1, 0, 10, 3);
	qs_sketch from;
	size_t n;
	int i;

	build_single(&from, &p, 255, 0);
	for (n = 0; n < ALL_OF(numbers); n++)
	{
		qs_sketch sk;
		qs_sketch wanted;

		WHERE("%s, %d merges", qb_isa_name(qb_isa_now()), numbers[n]);
		build_single(&sk, &p, 255 + 256, 57);
		REQUIRE_OK(qs_copy(&wanted, &sk, &test_heap));
		for (i = 0; i < numbers[n]; i++)
		{
			REQUIRE_OK(qs_merge_deferred(&sk, &from));
			REQUIRE_OK(qs_merge(&wanted, &from));
			REQUIRE((sk.carries != NULL) == (i > 0));
			REQUIRE((sk.carried > 0) == (i > 0));
		}
		REQUIRE_OK(qs_materialize(&sk));
		REQUIRE(sk.carries == NULL);
		REQUIRE(test_same(&sk, &wanted));
		REQUIRE_OK(qs_materialize(&sk));
		REQUIRE(test_same(&sk, &wanted));
		qs_free(&sk);
		qs_free(&wanted);
	}
	qs_free(&from);
}

static void
bytes_do_not_overflow(void **state)
{
	(void) state;
	test_with_each_isa(check_numbers_of_merges);
}

/* ---- when carries are deferred ---- */

static void
materialized_sketches_are_merged_at_once(void **state)
{
	qs_params p = test_usual_params(QS_MULTILEVEL, 64);
	qs_sketch sk;
	qs_sketch light;
	qs_sketch heavy;
	int i;

	(void) state;
	test_init_dense(&sk, &p);
	test_init_dense(&light, &p);
	test_init_dense(&heavy, &p);
	test_fill(&light, 1, 1000, 64 * 4);
	test_fill(&heavy, 2, 4000, 64 * 4000);

	/* with few high buckets in "sk", no carries are deferred */
	for (i = 0; i < 3; i++)
		REQUIRE_OK(qs_merge_deferred(&sk, &light));
	assert_null(sk.carries);
	REQUIRE_OK(qs_materialize(&sk));

	/* with one merge between two calls of qs_materialize(), no carries are deferred */
	REQUIRE_OK(qs_merge(&sk, &heavy));
	REQUIRE(sk.extra_used >= 16);
	for (i = 0; i < 3; i++)
	{
		REQUIRE_OK(qs_merge_deferred(&sk, &light));
		assert_null(sk.carries);
		REQUIRE_OK(qs_materialize(&sk));
	}

	/* the second merge defers its carries, but only if its source has few high buckets */
	REQUIRE_OK(qs_merge_deferred(&sk, &light));
	REQUIRE_OK(qs_merge_deferred(&sk, &light));
	assert_non_null(sk.carries);
	assert_int_equal(sk.carried, 1);
	REQUIRE_OK(qs_merge_deferred(&sk, &heavy));
	assert_int_equal(sk.carried, 1);
	REQUIRE_OK(qs_merge_deferred(&sk, &light));
	assert_int_equal(sk.carried, 2);
	qs_free(&sk);
	qs_free(&light);
	qs_free(&heavy);
	test_no_leak();
}

/* ---- mixed with other changes ---- */

#define STOCK 6

/* Make the i-th source sketch.  Source sketches differ in form, number of rows and weights. */
static void
make_stock(qs_sketch *sk, const qs_params *p, test_rng *rng, int i)
{
	qs_params own = *p;

	own.n <<= i == 4;
	test_init(sk, &own);
	if (i < 5)
		REQUIRE_OK(qs_make_dense(sk));
	test_fill(sk, (uint64_t) i, 2000, p->n << 2 * (i % 4));
	if (i == 3)
		test_insert(sk, test_key(test_below(rng, 2000)), INT64_C(1) << 29);
	REQUIRE_OK(qs_fold(sk, p->n));
}

static void
same_answer(qb_status status, qb_status wanted)
{
	REQUIRE_STATUS(status, wanted);
}

/* Fold all sketches to half their size. */
static void
fold_all(qs_sketch *sk, qs_sketch *twin, qs_sketch *stock)
{
	uint64_t n = sk->params.n / 2;
	int i;

	REQUIRE_OK(qs_fold(sk, n));
	REQUIRE_OK(qs_fold(twin, n));
	for (i = 0; i < STOCK; i++)
		REQUIRE_OK(qs_fold(&stock[i], n));
}

/* Apply the same random change to both sketches. */
static void
change_both(test_rng *rng, qs_sketch *sk, qs_sketch *twin, qs_sketch *stock)
{
	qs_sketch *other = &stock[test_below(rng, STOCK)];
	uint64_t key = test_key(test_below(rng, 2000));
	uint64_t what = test_below(rng, 40);

	if (what < 32)
	{
		REQUIRE_OK(qs_merge_deferred(sk, other));
		REQUIRE_OK(qs_merge(twin, other));
	}
	else if (what < 35)
	{
		test_insert(sk, key, 1 + (int64_t) (what - 32) * 300);
		test_insert(twin, key, 1 + (int64_t) (what - 32) * 300);
	}
	else if (what == 35)
		same_answer(qs_subtract(sk, other), qs_subtract(twin, other));
	else if (what == 36)
		same_answer(test_try_remove(sk, key, 1), test_try_remove(twin, key, 1));
	else if (what == 37)
	{
		/* qs_merge() is allowed while carries are deferred */
		REQUIRE_OK(qs_merge(sk, other));
		REQUIRE_OK(qs_merge(twin, other));
	}
	else if (what == 38)
		REQUIRE_OK(qs_materialize(sk));
	else if (sk->params.n % 2 == 0 && test_below(rng, 8) == 0)
		fold_all(sk, twin, stock);
}

/* Each round is long enough for counters to become wide. */
static void
check_mixed(void)
{
	test_rng rng = test_seeded(90);
	int structure;
	int round;
	int i;

	for (structure = QS_THREAD; structure <= QS_SF; structure++)
		for (round = 0; round < (structure == QS_MULTILEVEL ? 20 : 2); round++)
		{
			qs_params p = test_usual_params(structure, 32);
			qs_sketch stock[STOCK];
			qs_sketch sk;
			qs_sketch twin;
			int deferred = 0;

			WHERE("%s, %s, round %d", qb_isa_name(qb_isa_now()), qs_structure_name(structure),
				  round);
			for (i = 0; i < STOCK; i++)
				make_stock(&stock[i], &p, &rng, i);
			test_init(&sk, &p);
			test_init(&twin, &p);
			for (i = 0; i < 300; i++)
			{
				change_both(&rng, &sk, &twin, stock);
				deferred += sk.carries != NULL;
			}
			REQUIRE((deferred > 100) == (structure == QS_MULTILEVEL));
			REQUIRE(sk.wide);
			REQUIRE_OK(qs_materialize(&sk));
			REQUIRE(test_same(&sk, &twin));
			for (i = 0; i < STOCK; i++)
				qs_free(&stock[i]);
			qs_free(&sk);
			qs_free(&twin);
		}
}

static void
among_other_changes(void **state)
{
	(void) state;
	test_with_each_isa(check_mixed);
}

/* ---- out of memory ---- */

/*
 * Each allocation fails in turn, and the failed operation is repeated.  Each key must be
 * counted exactly once.
 */
static void
materializing_goes_on_after_a_failure(void **state)
{
	qs_params p = test_usual_params(QS_MULTILEVEL, 256);
	qb_status status = QB_NO_MEMORY;
	qs_sketch heavy;
	qs_sketch light;
	qs_sketch wanted;
	uint64_t i;
	long k;

	(void) state;
	test_init_dense(&heavy, &p);
	test_init_dense(&light, &p);
	/* about a third of the buckets have high buckets; the merges make other buckets carry, too */
	for (i = 0; i < 100; i++)
		test_insert(&heavy, test_key(i), 300);
	for (i = 0; i < 200; i++)
		test_insert(&light, test_key(i), 90);
	REQUIRE(light.extra_used < 64);
	test_init_dense(&wanted, &p);
	REQUIRE_OK(qs_merge(&wanted, &heavy));
	for (i = 0; i < 3; i++)
		REQUIRE_OK(qs_merge(&wanted, &light));
	for (k = 1; status == QB_NO_MEMORY; k++)
	{
		qs_sketch sk;

		REQUIRE_OK(qs_copy(&sk, &heavy, &test_heap));
		sk.merges = 1; /* as after a first merge */
		REQUIRE_OK(qs_merge_deferred(&sk, &light));
		REQUIRE_OK(qs_merge_deferred(&sk, &light));
		REQUIRE_OK(qs_merge_deferred(&sk, &light));
		assert_int_equal(sk.carried, 3);
		test_fail_at(k);
		status = qs_materialize(&sk);
		test_fail_at(0);
		REQUIRE_OK(qs_materialize(&sk));
		REQUIRE(test_same(&sk, &wanted));
		qs_free(&sk);
	}
	REQUIRE(status == QB_OK && k > 2);

	/* the merge fails if no memory for carries can be allocated */
	REQUIRE_OK(qs_merge_deferred(&wanted, &light));
	test_fail_at(1);
	REQUIRE_STATUS(qs_merge_deferred(&wanted, &light), QB_NO_MEMORY);
	test_fail_at(0);
	qs_free(&wanted);
	qs_free(&heavy);
	qs_free(&light);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_do_not_overflow),
		cmocka_unit_test(materialized_sketches_are_merged_at_once),
		cmocka_unit_test(among_other_changes),
		cmocka_unit_test(materializing_goes_on_after_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
