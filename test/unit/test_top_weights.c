/*
 * test_top_weights.c
 *		The most frequent keys by weight.
 *
 * Promises must hold for weights of any distribution and size, and after weights are
 * removed.
 *
 * test/unit/test_top_weights.c
 */
#include "top_support.h"

#define KEYS 3000

/* Distributions of the weights of a stream. */
typedef enum weight_kind
{
	SMALL,   /* 0 to 3 */
	EVEN,    /* 0 to 999,999, uniform */
	SKEWED,  /* uniform below a random power of two, up to 2^30 */
	ONE_KEY, /* key 17 has nearly all the weight */
	LARGE,   /* up to 2^48, for totals near INT64_MAX */
	WEIGHT_KINDS
} weight_kind;

static int64_t
weight_of(weight_kind kind, test_rng *rng, uint64_t number)
{
	switch (kind)
	{
		case SMALL:
			return (int64_t) test_below(rng, 4);
		case EVEN:
			return (int64_t) test_below(rng, 1000000);
		case SKEWED:
			return (int64_t) test_below(rng, UINT64_C(2) << test_below(rng, 30));
		case ONE_KEY:
			return number == 17 ? INT64_C(1) << 40 : 1;
		default:
			return (int64_t) test_below(rng, UINT64_C(1) << 48);
	}
}

/* Add rows of equally frequent keys, which differ only in weight. */
static void
fill(top_counted *c, test_rng *rng, weight_kind kind, uint64_t keys, size_t rows)
{
	static uint64_t key[QS_BATCH];
	static int64_t weight[QS_BATCH];

	while (rows > 0)
	{
		size_t n = 1 + test_below(rng, rows < QS_BATCH ? rows : QS_BATCH);
		size_t i;

		for (i = 0; i < n; i++)
		{
			uint64_t number = test_below(rng, keys);

			key[i] = test_key(number);
			weight[i] = weight_of(kind, rng, number);
			c->truth[number] += weight[i];
		}
		REQUIRE_OK(top_try_batch(c, key, weight, n));
		rows -= n;
	}
}

static qs_params
params_of(int structure)
{
	return test_usual_params(structure, structure == QS_THREAD ? 3000 : 256);
}

static void
promises_are_kept(void **state)
{
	static const uint64_t keys[] = { 1, 50, KEYS };
	int structure;
	int kind;
	size_t i;

	(void) state;
	for (structure = 1; structure < QS_STRUCTURES; structure++)
		for (kind = 0; kind < WEIGHT_KINDS; kind++)
			for (i = 0; i < ALL_OF(keys); i++)
			{
				qs_params p = params_of(structure);
				test_rng rng = test_seeded((uint64_t) kind * 10 + i + 1);
				top_counted c;

				WHERE("structure %d, weights %d, keys %zu", structure, kind, i);
				top_begin(&c, &p, 10, i % 2 == 0);
				fill(&c, &rng, kind, keys[i], 20000);
				top_check(&c);
				top_end(&c);
				test_no_leak();
			}
}

/* A key with nearly all the weight is found, with nearly exact bounds. */
static void
the_heaviest_key_is_found(void **state)
{
	qs_params p = params_of(QS_MULTILEVEL);
	test_rng rng = test_seeded(4);
	top_counted c;
	qs_top_key key;
	uint64_t i;

	(void) state;
	top_begin(&c, &p, 1, false);
	fill(&c, &rng, ONE_KEY, KEYS, 50000);
	top_check(&c);
	REQUIRE(qs_top_find(&c.top, test_key(17), &key));
	REQUIRE(key.lower >= INT64_C(1) << 40 && key.before < 50000);
	for (i = 0; i < c.top.count; i++)
		REQUIRE(c.top.key[i].fingerprint == test_key(17) || c.top.key[i].lower < 50000);
	top_end(&c);
}

/* A batch that would exceed the largest total is refused, and all promises still hold. */
static void
totals_do_not_wrap(void **state)
{
	int structure;

	(void) state;
	for (structure = 1; structure < QS_STRUCTURES; structure++)
	{
		qs_params p = params_of(structure);
		test_rng rng = test_seeded((uint64_t) structure);
		uint64_t key[] = { test_key(1), test_key(2), test_key(1) };
		int64_t weight[] = { INT64_MAX / 2, INT64_MAX / 2, 2 };
		top_counted c, other;

		WHERE("structure %d", structure);
		top_begin(&c, &p, 5, false);
		top_begin(&other, &p, 5, false);
		fill(&other, &rng, SMALL, 100, 1000);
		REQUIRE(top_try_batch(&c, key, weight, 3) == QB_TOTAL_OVERFLOW);
		REQUIRE(c.sketch.total == 0 && c.top.count == 0);
		REQUIRE_OK(top_try_batch(&c, key, weight, 2));
		c.truth[1] = c.truth[2] = INT64_MAX / 2;
		weight[0] = 1;
		REQUIRE_OK(top_try_batch(&c, key, weight, 1));
		c.truth[1]++;
		REQUIRE(c.sketch.total == INT64_MAX);
		REQUIRE(top_try_batch(&c, key, weight, 1) == QB_TOTAL_OVERFLOW);
		REQUIRE(qs_top_merge(&other.top, &other.sketch, &c.top, &c.sketch) == QB_TOTAL_OVERFLOW);
		top_check(&c);
		top_check(&other);
		top_end(&c);
		top_end(&other);
		test_no_leak();
	}
}

static void
merged_lists_keep_promises(void **state)
{
	test_rng rng = test_seeded(15);
	int round;

	(void) state;
	for (round = 0; round < 30; round++)
	{
		qs_params p = params_of(1 + round % (QS_STRUCTURES - 1));
		top_counted a, b;
		uint64_t i;

		WHERE("round %d", round);
		top_begin(&a, &p, 5, round % 2 == 0);
		top_begin(&b, &p, 5, round % 2 == 0);
		fill(&a, &rng, round % WEIGHT_KINDS, KEYS, 1 + test_below(&rng, 10000));
		fill(&b, &rng, round / 2 % WEIGHT_KINDS, KEYS, 1 + test_below(&rng, 10000));
		REQUIRE_OK(qs_top_merge(&a.top, &a.sketch, &b.top, &b.sketch));
		for (i = 0; i < TOP_KEYS; i++)
			a.truth[i] += b.truth[i];
		top_check(&a);
		fill(&a, &rng, SMALL, KEYS, 1000);
		top_check(&a);
		top_end(&a);
		top_end(&b);
		test_no_leak();
	}
}

/* Remove all or part of the weights of random keys. */
static void
take_back(top_counted *c, test_rng *rng, uint64_t keys)
{
	qs_sketch removed;
	uint64_t i;

	test_init(&removed, &c->sketch.params);
	for (i = 0; i < keys; i++)
	{
		uint64_t number = test_below(rng, KEYS);
		int64_t weight = c->truth[number];

		if (weight > 0 && test_below(rng, 3) > 0)
			weight = 1 + (int64_t) test_below(rng, (uint64_t) weight);
		test_insert(&removed, test_key(number), weight);
		c->truth[number] -= weight;
	}
	REQUIRE_OK(qs_top_subtract(&c->top, &c->sketch, NULL, &removed));
	qs_free(&removed);
}

static void
removing_keeps_promises(void **state)
{
	test_rng rng = test_seeded(25);
	int round;

	(void) state;
	for (round = 0; round < 60; round++)
	{
		qs_params p = params_of(1 + round % (QS_STRUCTURES - 1));
		bool few = round % 3 == 0;
		top_counted c;
		test_bytes bytes;

		WHERE("round %d", round);
		top_begin(&c, &p, 5, round % 2 == 0);
		fill(&c, &rng, round % WEIGHT_KINDS, few ? 30 : KEYS, 1 + test_below(&rng, 20000));
		take_back(&c, &rng, round % 4 == 0 ? 5000 : 20);
		top_check(&c);
		bytes = top_write(&c);
		REQUIRE_OK(qs_top_validate(bytes.data, bytes.length));
		free(bytes.data);
		fill(&c, &rng, SMALL, KEYS, 3000);
		top_check(&c);
		top_end(&c);
		test_no_leak();
	}
}

/* Subtract "part" from "from".  If "as_bytes", subtract a view of the bytes of "part". */
static void
subtract_list(top_counted *from, top_counted *part, bool as_bytes)
{
	test_bytes bytes = top_write(part);
	qs_sketch sketch;
	qs_top view;

	REQUIRE_OK(qs_top_open(&view, &sketch, bytes.data, bytes.length));
	if (as_bytes)
		REQUIRE_OK(qs_top_subtract(&from->top, &from->sketch, &view, &sketch));
	else
		REQUIRE_OK(qs_top_subtract(&from->top, &from->sketch, &part->top, &part->sketch));
	free(bytes.data);
}

/*
 * Subtracting the list of some rows keeps all promises, and keeps all candidates that still
 * have weight.
 */
static void
subtracting_keeps_promises(void **state)
{
	test_rng rng = test_seeded(35);
	int round;

	(void) state;
	for (round = 0; round < 90; round++)
	{
		qs_params p = params_of(1 + round % (QS_STRUCTURES - 1));
		uint64_t keys = round % 3 == 0 ? 30 : KEYS;
		top_counted all, part, before;
		test_bytes bytes;
		uint64_t i;

		WHERE("round %d", round);
		top_begin(&all, &p, 5, round % 2 == 0);
		top_begin(&part, &p, 5, round % 2 == 0);
		fill(&part, &rng, round % WEIGHT_KINDS, keys, 1 + test_below(&rng, 5000));
		fill(&all, &rng, round / 2 % WEIGHT_KINDS, keys, 1 + test_below(&rng, 10000));
		REQUIRE_OK(qs_top_merge(&all.top, &all.sketch, &part.top, &part.sketch));
		qs_top_finish(&all.top, &all.sketch);
		REQUIRE_OK(qs_top_copy(&before.top, &all.top, &test_heap));
		subtract_list(&all, &part, round % 4 < 2);
		top_check(&all);
		for (i = 0; i < TOP_KEYS; i++)
			if (all.truth[i] > 0 && qs_top_lookup(&before.top, test_key(i)))
				REQUIRE(qs_top_lookup(&all.top, test_key(i)));
		REQUIRE(all.top.bound <= before.top.bound);
		bytes = top_write(&all);
		REQUIRE_OK(qs_top_validate(bytes.data, bytes.length));
		free(bytes.data);
		qs_top_free(&before.top);
		fill(&all, &rng, SMALL, keys, 3000);
		top_check(&all);
		top_end(&all);
		top_end(&part);
		test_no_leak();
	}
}

/* Subtracting a dense list makes an explicit list dense, even if the dense list has few keys. */
static void
dense_from_explicit_keeps_promises(void **state)
{
	qs_params p = params_of(QS_MULTILEVEL);
	test_rng rng = test_seeded(55);
	top_counted all, part, most;

	(void) state;
	top_begin(&all, &p, 1, true);
	top_begin(&part, &p, 1, true);
	top_begin(&most, &p, 1, true);
	fill(&part, &rng, SKEWED, 200, 2000);
	REQUIRE_OK(qs_top_merge(&all.top, &all.sketch, &part.top, &part.sketch));
	fill(&all, &rng, EVEN, 200, 2000);
	fill(&most, &rng, SMALL, KEYS, 20000);
	REQUIRE_OK(qs_top_merge(&part.top, &part.sketch, &most.top, &most.sketch));
	subtract_list(&part, &most, false);
	top_check(&part);
	REQUIRE(all.sketch.encoding == QS_EXPLICIT && part.sketch.encoding == QS_DENSE);
	subtract_list(&all, &part, true);
	REQUIRE(all.sketch.encoding == QS_DENSE);
	top_check(&all);
	top_end(&all);
	top_end(&part);
	top_end(&most);
	test_no_leak();
}

/*
 * Subtract a list of rows that were never added.  The call returns QB_UNDERFLOW, or the result
 * is valid.
 */
static void
other_rows_are_noticed(void **state)
{
	test_rng rng = test_seeded(45);
	int noticed = 0;
	int round;

	(void) state;
	for (round = 0; round < 600; round++)
	{
		qs_params p = test_usual_params(1 + round % (QS_STRUCTURES - 1), 4);
		uint64_t few = 1 + test_below(&rng, 40);
		top_counted a, b;
		qb_status status;

		WHERE("round %d", round);
		top_begin(&a, &p, 5, round % 2 == 0);
		top_begin(&b, &p, 5, round % 2 == 0);
		fill(&a, &rng, SMALL, KEYS, 1 + test_below(&rng, 3000));
		fill(&b, &rng, SMALL, few, 1 + test_below(&rng, 100));
		status = qs_top_subtract(&a.top, &a.sketch, round % 3 == 0 ? NULL : &b.top, &b.sketch);
		REQUIRE(status == QB_OK || status == QB_UNDERFLOW);
		noticed += status == QB_UNDERFLOW;
		if (status == QB_OK)
		{
			test_bytes bytes = top_write(&a);

			REQUIRE_OK(qs_top_validate(bytes.data, bytes.length));
			free(bytes.data);
		}
		top_end(&a);
		top_end(&b);
		test_no_leak();
	}
	REQUIRE(noticed > 100 && noticed < 600);
}

static void
too_much_cannot_be_removed(void **state)
{
	qs_params p = params_of(QS_MULTILEVEL);
	uint64_t key[] = { test_key(1) };
	qs_sketch removed;
	top_counted c, other;

	(void) state;
	top_begin(&c, &p, 5, false);
	REQUIRE_OK(top_try_batch(&c, key, NULL, 1));
	test_init(&removed, &p);
	test_insert(&removed, test_key(2), 1);
	REQUIRE(qs_top_subtract(&c.top, &c.sketch, NULL, &removed) == QB_UNDERFLOW);
	top_begin(&other, &p, 6, false);
	REQUIRE(qs_top_subtract(&c.top, &c.sketch, &other.top, &other.sketch) == QB_MISMATCH);
	top_end(&other);
	qs_free(&removed);
	top_end(&c);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(promises_are_kept),
		cmocka_unit_test(the_heaviest_key_is_found),
		cmocka_unit_test(totals_do_not_wrap),
		cmocka_unit_test(merged_lists_keep_promises),
		cmocka_unit_test(removing_keeps_promises),
		cmocka_unit_test(subtracting_keeps_promises),
		cmocka_unit_test(dense_from_explicit_keeps_promises),
		cmocka_unit_test(other_rows_are_noticed),
		cmocka_unit_test(too_much_cannot_be_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
