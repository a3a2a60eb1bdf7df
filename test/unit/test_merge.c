/*
 * test_merge.c
 *		The bytes depend only on the multiset of keys: no order, batch, split or merge tree
 *		changes them.
 *
 * Each property is checked for every structure, on streams with few distinct keys (explicit
 * sketches), about as many keys as the explicit limit, and many keys (dense sketches).
 *
 * test/unit/test_merge.c
 */
#include "support.h"

#define STREAM 9000

typedef struct stream
{
	qs_params p;
	uint64_t key[STREAM];
	int64_t weight[STREAM];
	size_t count;
} stream;

/* Run a check for each structure and for several numbers of distinct keys, with random depths. */
static void
for_each_stream(void (*check)(const stream *s))
{
	static const uint64_t distinct[] = { 1, 60, 64, 65, 66, 600, 5000 };
	static stream s;
	test_rng rng = test_seeded(30);
	int structure;
	size_t k;
	size_t i;

	for (structure = QS_THREAD; structure < QS_STRUCTURES; structure++)
		for (k = 0; k < ALL_OF(distinct); k++)
		{
			int depth = 1 + (int) test_below(&rng, 5);
			uint64_t n = structure == QS_WARP        ? 16
						 : structure == QS_HALF_WARP ? 32
						 : structure == QS_THREAD    ? 8 * 64 / (uint64_t) depth
													 : 64;

			s.p = test_params(structure, n, depth, 3, (int) test_below(&rng, 11), k);
			s.count = k == 0 ? 10 : STREAM;
			WHERE("%s, %d distinct, depth %d", qs_structure_name(structure), (int) distinct[k],
				  depth);
			for (i = 0; i < s.count; i++)
			{
				/* each key occurs at least once */
				s.key[i] = test_key(i < distinct[k] ? i : test_below(&rng, distinct[k]));
				s.weight[i] = 1 + (int64_t) test_below(&rng, 5);
			}
			check(&s);
		}
	test_no_leak();
}

/* Insert the stream in batches of "batch" keys. */
static void
insert_in_batches(qs_sketch *sk, const uint64_t *key, const int64_t *weight, size_t count,
				  size_t batch)
{
	size_t i;

	for (i = 0; i < count; i += batch)
		REQUIRE_OK(qs_engine_cpu.insert(sk, key + i, weight ? weight + i : NULL,
										count - i < batch ? count - i : batch));
}

static test_bytes
built(const qs_params *p, const uint64_t *key, const int64_t *weight, size_t count, size_t batch)
{
	qs_sketch sk;
	test_bytes b;

	test_init(&sk, p);
	insert_in_batches(&sk, key, weight, count, batch);
	b = test_write_valid(&sk);
	qs_free(&sk);
	return b;
}

static test_bytes
built_at_once(const stream *s)
{
	return built(&s->p, s->key, s->weight, s->count, s->count);
}

static void
require_equal(test_bytes wanted, test_bytes got)
{
	REQUIRE(test_equal_bytes(wanted, got));
	free(got.data);
}

/* ---- order and batches ---- */

static void
check_orders(const stream *s)
{
	static stream t;
	test_bytes wanted = built_at_once(s);
	test_rng rng = test_seeded(31);
	int i;

	t = *s;
	for (i = 0; i < 4; i++)
	{
		test_shuffle(&rng, t.key, t.weight, t.count);
		require_equal(wanted, built_at_once(&t));
	}
	free(wanted.data);
}

static void
order_does_not_matter(void **state)
{
	(void) state;
	for_each_stream(check_orders);
}

static void
check_batches(const stream *s)
{
	static const size_t batches[] = { 1, 7, 64, QS_BATCH - 1, QS_BATCH, QS_BATCH + 1 };
	test_bytes wanted = built_at_once(s);
	size_t i;

	for (i = 0; i < ALL_OF(batches); i++)
		require_equal(wanted, built(&s->p, s->key, s->weight, s->count, batches[i]));
	free(wanted.data);
}

static void
batches_do_not_matter(void **state)
{
	(void) state;
	for_each_stream(check_batches);
}

/* Adding a key once with weight 5 is the same as adding it five times with weight 1. */
static void
check_weights(const stream *s)
{
	static uint64_t key[STREAM * 5];
	test_bytes wanted = built_at_once(s);
	test_rng rng = test_seeded(32);
	size_t count = 0;
	size_t i;
	int64_t k;

	for (i = 0; i < s->count; i++)
		for (k = 0; k < s->weight[i]; k++)
			key[count++] = s->key[i];
	require_equal(wanted, built(&s->p, key, NULL, count, count));
	test_shuffle(&rng, key, NULL, count);
	require_equal(wanted, built(&s->p, key, NULL, count, 1000));
	free(wanted.data);
}

static void
weights_are_repetitions(void **state)
{
	(void) state;
	for_each_stream(check_weights);
}

/*
 * A sketch is explicit exactly if the number of its distinct keys is within the limit, for any
 * weights.
 */
static void
check_form(const stream *s)
{
	test_bytes b = built_at_once(s);
	uint64_t limit = qs_explicit_limit(&s->p);
	uint64_t distinct = 0;
	size_t i;
	size_t j;

	for (i = 0; i < s->count && distinct <= limit; i++)
	{
		for (j = 0; j < i && s->key[j] != s->key[i];)
			j++;
		distinct += j == i;
	}
	REQUIRE((b.data[TEST_AT_FORM] == QS_EXPLICIT) == (distinct <= limit));
	free(b.data);
}

static void
explicit_up_to_the_limit(void **state)
{
	(void) state;
	for_each_stream(check_form);
}

/* ---- splits and merges ---- */

#define PARTS 7

/* Distribute the stream over sketches of n, 2n and 4n buckets, and fold them to n. */
static void
deal(const stream *s, qs_sketch *part)
{
	test_rng rng = test_seeded(33);
	qs_params p = s->p;
	size_t i;

	for (i = 0; i < PARTS; i++)
	{
		p.n = s->p.n << (i == 0 ? 0 : test_below(&rng, 3));
		test_init(&part[i], &p);
	}
	for (i = 0; i < s->count; i++)
		test_insert(&part[test_below(&rng, PARTS)], s->key[i], s->weight[i]);
	for (i = 0; i < PARTS; i++)
		REQUIRE_OK(qs_fold(&part[i], s->p.n));
}

static void
free_all(qs_sketch *part, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		qs_free(&part[i]);
}

/*
 * Merge all parts into the first part, in pairs, or one after another from bytes.  Each merge
 * tree gives the same bytes.
 */
static void
check_splits(const stream *s)
{
	test_bytes wanted = built_at_once(s);
	qs_sketch part[PARTS];
	size_t i;
	size_t step;

	deal(s, part);
	for (i = PARTS - 1; i > 0; i--)
		REQUIRE_OK(qs_merge(&part[0], &part[i]));
	REQUIRE(test_writes(&part[0], wanted));
	free_all(part, PARTS);

	deal(s, part);
	for (step = 1; step < PARTS; step *= 2)
		for (i = 0; i + step < PARTS; i += 2 * step)
			REQUIRE_OK(qs_merge(&part[i], &part[i + step]));
	REQUIRE(test_writes(&part[0], wanted));
	free_all(part, PARTS);

	deal(s, part);
	for (i = 0; i + 1 < PARTS; i++)
	{
		test_bytes b = test_write_valid(&part[i]);
		qs_sketch view;

		REQUIRE_OK(qs_open(&view, b.data, b.length));
		REQUIRE_OK(qs_merge(&part[i + 1], &view));
		free(b.data);
	}
	REQUIRE(test_writes(&part[PARTS - 1], wanted));
	free_all(part, PARTS);
	free(wanted.data);
}

static void
splits_do_not_matter(void **state)
{
	(void) state;
	for_each_stream(check_splits);
}

/* a + b equals b + a, and merging does not change the source. */
static void
check_commuting(const stream *s)
{
	qs_sketch part[PARTS];
	qs_sketch left;
	qs_sketch right;
	size_t i;
	size_t j;

	deal(s, part);
	for (i = 0; i < PARTS; i++)
		for (j = 0; j < i; j++)
		{
			test_bytes before = test_write(&part[j]);

			REQUIRE_OK(qs_copy(&left, &part[i], &test_heap));
			REQUIRE_OK(qs_copy(&right, &part[j], &test_heap));
			REQUIRE_OK(qs_merge(&left, &part[j]));
			REQUIRE_OK(qs_merge(&right, &part[i]));
			REQUIRE(test_same(&left, &right));
			REQUIRE(test_writes(&part[j], before));
			free(before.data);
			qs_free(&left);
			qs_free(&right);
		}
	free_all(part, PARTS);
}

static void
merging_commutes(void **state)
{
	(void) state;
	for_each_stream(check_commuting);
}

/* A sketch that is folded before or after merging equals a sketch built with fewer buckets. */
static void
check_folding(const stream *s)
{
	uint64_t n;

	for (n = s->p.n; n % 2 == 0; n /= 2)
	{
		stream half = *s;
		qs_sketch part[PARTS];
		test_bytes wanted;
		size_t i;

		half.p.n = n / 2;
		wanted = built_at_once(&half);
		deal(s, part);
		for (i = 1; i < 4; i++)
			REQUIRE_OK(qs_merge(&part[0], &part[i]));
		REQUIRE_OK(qs_fold(&part[0], n / 2));
		for (i = 4; i < PARTS; i++)
		{
			REQUIRE_OK(qs_fold(&part[i], n / 2));
			REQUIRE_OK(qs_merge(&part[0], &part[i]));
		}
		REQUIRE(test_writes(&part[0], wanted));
		free(wanted.data);
		free_all(part, PARTS);
	}
}

static void
folding_is_building_smaller(void **state)
{
	(void) state;
	for_each_stream(check_folding);
}

/* ---- what cannot be merged or folded ---- */

static void
mismatches_are_refused(void **state)
{
	qs_params p = test_usual_params(QS_SUB_WARP, 24);
	qs_sketch a;
	int field;

	(void) state;
	test_init(&a, &p);
	test_fill(&a, 34, 1000, 1000);
	for (field = 0; field < 6; field++)
	{
		qs_params q = p;
		test_bytes before = test_write_valid(&a);
		qs_sketch b;

		q.seed += field == 0;
		q.depth += field == 1;
		q.log2_masks -= field == 2;
		q.n = field == 3 ? 20 : field == 5 ? 48 : q.n;
		q.structure = field == 4 ? QS_HALF_WARP : q.structure;
		test_init(&b, &q);
		REQUIRE_STATUS(qs_merge(&a, &b), QB_MISMATCH);
		REQUIRE_STATUS(qs_subtract(&a, &b), QB_MISMATCH);
		REQUIRE_STATUS(qs_merge(&b, &a), QB_MISMATCH);
		REQUIRE(test_writes(&a, before));
		free(before.data);
		qs_free(&b);
	}
	qs_free(&a);
	test_no_leak();
}

static void
folding_needs_halves(void **state)
{
	qs_params p = test_usual_params(QS_SUB_WARP, 24);
	qs_sketch sk;
	uint64_t n;

	(void) state;
	test_init(&sk, &p);
	test_fill(&sk, 35, 1000, 1000);
	for (n = 0; n < 200; n++)
		if (n != 3 && n != 6 && n != 12 && n != 24)
			REQUIRE_STATUS(qs_fold(&sk, n), QB_NO_FOLD);
	REQUIRE_OK(qs_fold(&sk, 24));
	REQUIRE_OK(qs_fold(&sk, 3));
	REQUIRE(sk.params.n == 3 && sk.total == 1000);
	qs_free(&sk);
	test_no_leak();
}

/* An empty sketch adopts the family and collation of the sketch that is merged into it. */
static void
empty_sketches_adopt_the_family(void **state)
{
	qs_params p = test_usual_params(QS_SUB_WARP, 24);
	qs_sketch empty;
	qs_sketch full;

	(void) state;
	qs_init(&empty, &p, &test_heap);
	test_init(&full, &p);
	test_insert(&full, 1, 1);
	REQUIRE_OK(qs_merge(&empty, &full));
	assert_int_equal(empty.keys.family, TEST_FAMILY);
	assert_int_equal(empty.keys.collation, TEST_COLLATION);
	REQUIRE(test_same(&empty, &full));
	qs_free(&empty);
	qs_init(&empty, &p, &test_heap);
	REQUIRE_OK(qs_merge(&full, &empty));
	assert_int_equal(full.keys.family, TEST_FAMILY);
	qs_free(&full);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(batches_do_not_matter),
		cmocka_unit_test(weights_are_repetitions),
		cmocka_unit_test(explicit_up_to_the_limit),
		cmocka_unit_test(splits_do_not_matter),
		cmocka_unit_test(merging_commutes),
		cmocka_unit_test(folding_is_building_smaller),
		cmocka_unit_test(mismatches_are_refused),
		cmocka_unit_test(folding_needs_halves),
		cmocka_unit_test(empty_sketches_adopt_the_family),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
