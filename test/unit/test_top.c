/*
 * test_top.c
 *		The most frequent keys of sketches: promises, compared with exact counts.
 *
 * The tests cover all structures and random merge trees.
 *
 * test/unit/test_top.c
 */
#include "top_support.h"

#include "sketch/merge.h"

#include <math.h>

static qs_params
params_of(int structure)
{
	return test_usual_params(structure, structure == QS_THREAD ? 3000 : 256);
}

/* n of the list, and numbers of keys and rows, for explicit, half full and overloaded sketches. */
static const struct
{
	uint32_t n;
	uint64_t keys;
	size_t rows;
} sizes[] = { { 1, 1, 1 },
			  { 10, 100, 300 },
			  { 10, TOP_KEYS, 100 },
			  { 10, TOP_KEYS, 60000 },
			  { 100, TOP_KEYS, 60000 },
			  { 3, TOP_KEYS / 2, 200000 },
			  { 5000, TOP_KEYS, 60000 } };

static void
promises_are_kept(void **state)
{
	int structure;
	size_t i;

	(void) state;
	for (structure = 1; structure < QS_STRUCTURES; structure++)
		for (i = 0; i < ALL_OF(sizes); i++)
		{
			qs_params p = params_of(structure);
			test_rng rng = test_seeded(i + 1);
			top_counted c;

			WHERE("structure %d, size %zu", structure, i);
			top_begin(&c, &p, sizes[i].n, i % 2 == 0);
			top_fill(&c, &rng, 0, sizes[i].keys, sizes[i].rows);
			top_check(&c);
			top_end(&c);
			test_no_leak();
		}
}

/*
 * A new candidate may be exactly at the threshold after other keys were dropped.  Its further
 * rows in the batch must still be counted.
 */
static void
keys_at_the_threshold_are_counted(void **state)
{
	qs_params p = test_usual_params(QS_MULTILEVEL, 512);
	uint64_t seed;

	(void) state;
	for (seed = 1; seed <= 40; seed++)
	{
		test_rng rng = test_seeded(seed);
		uint64_t key[766];
		top_counted c;
		size_t i, n;

		WHERE("seed %llu", (unsigned long long) seed);
		top_begin(&c, &p, 10, false);
		for (i = 0; i < 80000; i += n)
		{
			for (n = 0; n < ALL_OF(key); n++)
			{
				double unit = (double) (test_random(&rng) >> 11) / 9007199254740992.0;
				uint64_t number = (uint64_t) pow(TOP_KEYS - 1, unit);

				key[n] = test_key(number);
				c.truth[number]++;
			}
			REQUIRE_OK(top_try_batch(&c, key, NULL, n));
		}
		top_check(&c);
		top_end(&c);
	}
}

/* Candidates do not change the bytes of the sketch. */
static void
sketches_are_the_same_without(void **state)
{
	qs_params p = params_of(QS_MULTILEVEL);
	test_rng rng = test_seeded(9);
	test_rng again = test_seeded(9);
	qs_sketch alone;
	top_counted c;
	size_t i;

	(void) state;
	top_begin(&c, &p, 10, false);
	test_init(&alone, &p);
	for (i = 0; i < 30000; i++)
	{
		uint64_t key = test_key(test_skewed(&rng, TOP_KEYS));

		REQUIRE_OK(top_try_batch(&c, &key, NULL, 1));
		test_insert(&alone, test_key(test_skewed(&again, TOP_KEYS)), 1);
	}
	REQUIRE(test_same(&c.sketch, &alone));
	qs_free(&alone);
	top_end(&c);
}

/* Frequent keys become candidates early, so nearly all of their rows are counted exactly. */
static void
frequent_keys_are_nearly_exact(void **state)
{
	qs_params p = test_usual_params(QS_MULTILEVEL, 8192);
	test_rng rng = test_seeded(77);
	top_counted c;
	uint64_t i;

	(void) state;
	top_begin(&c, &p, 10, false);
	top_fill(&c, &rng, 0, TOP_KEYS, 400000);
	qs_top_finish(&c.top, &c.sketch);
	for (i = 0; i < 10; i++)
	{
		qs_top_key key;

		REQUIRE(qs_top_find(&c.top, test_key(i), &key));
		REQUIRE(key.before <= 3 && c.truth[i] > 500);
	}
	top_end(&c);
}

/*
 * Check that merging lists of different n or size is refused.  Then fold both lists to the
 * smaller n and size.
 */
static void
make_equal(top_counted *a, top_counted *b)
{
	uint32_t n = a->top.n < b->top.n ? a->top.n : b->top.n;
	uint64_t buckets =
		a->sketch.params.n < b->sketch.params.n ? a->sketch.params.n : b->sketch.params.n;

	if (a->top.n == b->top.n && a->sketch.params.n == b->sketch.params.n)
		return;
	REQUIRE_STATUS(qs_top_merge(&a->top, &a->sketch, &b->top, &b->sketch), QB_MISMATCH);
	REQUIRE_OK(qs_top_fold(&a->top, &a->sketch, n, buckets));
	top_check(a);
	REQUIRE_OK(qs_top_fold(&b->top, &b->sketch, n, buckets));
	top_check(b);
}

/* Ways to merge a list. */
enum
{
	OWNED,
	FLAT, /* from bytes */
	ALONE /* list and sketch separately */
};

/* Merge the lists from bytes, and then the dense sketches. */
static void
merge_alone(top_counted *into, top_counted *from)
{
	uint8_t *bytes;
	qs_top view;

	qs_top_finish(&from->top, &from->sketch);
	bytes = malloc(qs_top_list_size(&from->top) + 1);
	view = qs_top_write_list(&from->top, bytes);
	qs_top_open_list(&view, bytes);
	REQUIRE_OK(qs_top_merge_list(&into->top, &view));
	free(bytes);
	REQUIRE_OK(qs_merge(&into->sketch, &from->sketch));
}

/* into += from; frees "from". */
static void
merge(top_counted *into, top_counted *from, uint64_t way)
{
	uint64_t i;

	make_equal(into, from);

	if (way == ALONE && into->sketch.encoding == QS_DENSE && from->sketch.encoding == QS_DENSE)
		merge_alone(into, from);
	else if (way == FLAT)
	{
		test_bytes b = top_write(from);
		qs_sketch sketch;
		qs_top view;

		REQUIRE_OK(qs_top_validate(b.data, b.length));
		REQUIRE_OK(qs_top_open(&view, &sketch, b.data, b.length));
		REQUIRE_OK(qs_top_merge(&into->top, &into->sketch, &view, &sketch));
		free(b.data);
	}
	else
		REQUIRE_OK(qs_top_merge(&into->top, &into->sketch, &from->top, &from->sketch));
	for (i = 0; i < TOP_KEYS; i++)
		into->truth[i] += from->truth[i];
	top_end(from);
}

/* Merge lists of random sizes and keys in a random tree. */
static void
merged_lists_keep_promises(void **state)
{
	test_rng rng = test_seeded(5);
	int round;

	(void) state;
	for (round = 0; round < 40; round++)
	{
		qs_params p = params_of(1 + round % (QS_STRUCTURES - 1));
		top_counted part[8];
		int parts = 2 + (int) test_below(&rng, 7);
		int i;

		WHERE("round %d", round);
		for (i = 0; i < parts; i++)
		{
			qs_params own = p;

			own.n <<= test_below(&rng, 2);
			top_begin(&part[i], &own, 10 + (uint32_t) test_below(&rng, 10), round % 2 == 0);
			top_fill(&part[i], &rng, test_below(&rng, TOP_KEYS / 2),
					 test_below(&rng, 2) ? 50 : TOP_KEYS / 2, 1 + test_below(&rng, 20000));
		}
		for (; parts > 1; parts--)
		{
			int a = (int) test_below(&rng, (uint64_t) parts - 1);

			merge(&part[a], &part[parts - 1], test_below(&rng, 3));
			if (test_below(&rng, 2))
				top_fill(&part[a], &rng, 0, TOP_KEYS, test_below(&rng, 5000));
			top_check(&part[a]);
		}
		top_end(&part[0]);
		test_no_leak();
	}
}

/* The count of a dropped key is at most the bound, and remaining keys are found. */
static void
dropping_keeps_promises(void **state)
{
	qs_params p = test_usual_params(QS_MULTILEVEL, 4096);
	test_rng rng = test_seeded(6);
	top_counted c;
	int64_t least;
	uint64_t i;

	(void) state;
	top_begin(&c, &p, 100, true);
	top_fill(&c, &rng, 0, TOP_KEYS, 100000);
	top_check(&c);
	for (least = 1; c.top.count > 0; least *= 2)
	{
		qs_top_drop_below(&c.top, least);
		for (i = 0; i < c.top.count; i++)
			REQUIRE(c.top.key[i].lower + c.top.key[i].before >= least);
		top_check(&c);
	}
	REQUIRE(least > 1000);
	top_end(&c);
	test_no_leak();
}

/* While sketches are explicit, the order of rows and merges does not matter. */
static void
explicit_lists_are_the_same_in_any_order(void **state)
{
	qs_params p = test_usual_params(QS_MULTILEVEL, 8192);
	test_rng rng = test_seeded(11);
	uint64_t key[3000];
	test_bytes first = { 0 };
	int round;
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(key); i++)
		key[i] = test_key(test_skewed(&rng, 1500));
	for (round = 0; round < 10; round++)
	{
		top_counted a, b;
		test_bytes bytes;
		size_t cut = test_below(&rng, ALL_OF(key) - 1) + 1;

		top_begin(&a, &p, 5, true);
		top_begin(&b, &p, 5, true);
		test_shuffle(&rng, key, NULL, ALL_OF(key));
		REQUIRE_OK(top_try_batch(&a, key, NULL, cut));
		REQUIRE_OK(top_try_batch(&b, key + cut, NULL, ALL_OF(key) - cut));
		merge(&a, &b, round % 2);
		REQUIRE(a.sketch.encoding == QS_EXPLICIT);
		bytes = top_write(&a);
		if (round == 0)
			first = bytes;
		else
		{
			REQUIRE(test_equal_bytes(first, bytes));
			free(bytes.data);
		}
		top_end(&a);
	}
	free(first.data);
	test_no_leak();
}

/* Each allocation fails in turn.  The status must be QB_NO_MEMORY, and everything must be freed. */
static void
memory_may_run_out(void **state)
{
	long k;
	bool failed = true;

	(void) state;
	for (k = 1; failed; k++)
	{
		qs_params p = params_of(QS_MULTILEVEL);
		uint64_t key[600];
		top_counted a, b;
		size_t i;

		top_begin(&a, &p, 10, true);
		top_begin(&b, &p, 10, true);
		for (i = 0; i < ALL_OF(key); i++)
			key[i] = test_key(i * 7 % 900);
		test_fail_at(k);
		failed = top_try_batch(&a, key, NULL, ALL_OF(key)) == QB_NO_MEMORY ||
				 top_try_batch(&b, key, NULL, 200) == QB_NO_MEMORY ||
				 qs_top_merge(&a.top, &a.sketch, &b.top, &b.sketch) == QB_NO_MEMORY;
		test_fail_at(0);
		top_end(&a);
		top_end(&b);
		test_no_leak();
	}
	REQUIRE(k > 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(promises_are_kept),
		cmocka_unit_test(keys_at_the_threshold_are_counted),
		cmocka_unit_test(sketches_are_the_same_without),
		cmocka_unit_test(frequent_keys_are_nearly_exact),
		cmocka_unit_test(merged_lists_keep_promises),
		cmocka_unit_test(dropping_keeps_promises),
		cmocka_unit_test(explicit_lists_are_the_same_in_any_order),
		cmocka_unit_test(memory_may_run_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
