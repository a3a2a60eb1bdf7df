/*
 * test_sets_collection.c
 *		Collections of sets: building, merging, subsets.
 *
 * test/unit/test_sets_collection.c
 */
#include "sets_support.h"

#define SEEDS 1500

/* A table has a 1 for each element of each set.  Sets and elements are numbers below SIDE. */
#define SIDE 24

typedef uint8_t table[SIDE][SIDE];

static void
fill_table(table t, uint64_t seed, uint64_t rows, qset_builder *b)
{
	test_rng rng = test_seeded(seed);
	uint64_t i;

	for (i = 0; i < rows; i++)
	{
		uint64_t set = test_below(&rng, SIDE);
		uint64_t element = test_below(&rng, SIDE);

		t[set][element] = 1;
		test_add(b, (int64_t) set - SIDE / 2, element - SIDE / 2);
	}
}

static bool
in_collection(const qset_collection *c, uint64_t set, uint64_t element)
{
	int64_t at = qset_collection_find(c, (int64_t) set - SIDE / 2);
	uint64_t i;

	for (i = at < 0 ? 0 : c->offset[at]; at >= 0 && i < c->offset[at + 1]; i++)
		if (c->low[c->rank[i]] == element - SIDE / 2)
		{
			REQUIRE(!c->wide || c->high[c->rank[i]] == test_upper(element - SIDE / 2));
			return true;
		}
	return false;
}

static void
require_table(const qset_collection *c, table t)
{
	uint64_t set;
	uint64_t element;

	test_require_collection(c);
	for (set = 0; set < SIDE; set++)
		for (element = 0; element < SIDE; element++)
			REQUIRE(in_collection(c, set, element) == (t[set][element] != 0));
}

/* Sets and elements are in order, even if ids and elements are at the limits of 64 bits. */
static void
orders_the_limits(void **state)
{
	static const int64_t key[][3] = { { INT64_MAX, INT64_MIN, INT64_MAX - 1 },
									  { INT64_MIN + 5, INT64_MIN + 1, INT64_MAX },
									  { INT64_MIN, INT64_MAX, 0 } };
	size_t i;
	int j;

	(void) state;
	for (i = 0; i < ALL_OF(key); i++)
	{
		qset_builder b;
		qset_collection c;

		WHERE("keys %d", (int) i);
		test_builder(&b, false);
		for (j = 0; j < 3; j++)
			test_add(&b, key[i][j], (uint64_t) key[i][j]);
		REQUIRE_OK(qset_builder_finish(&b, &c));
		test_require_collection(&c);
		for (j = 0; j < 3; j++)
			REQUIRE(qset_collection_find(&c, key[i][j]) >= 0);
		qset_collection_free(&c);
		qset_builder_free(&b);
	}
}

static void
has_its_rows(void **state)
{
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < SEEDS; seed++)
	{
		table t = { { 0 } };
		qset_builder b;
		qset_collection c;

		WHERE("seed %d", (int) seed);
		test_builder(&b, seed % 2);
		fill_table(t, seed, seed % 300, &b);
		REQUIRE_OK(qset_builder_finish(&b, &c));
		require_table(&c, t);
		qset_collection_free(&c);
		/* add rows after the first collection was made */
		fill_table(t, seed + SEEDS, seed % 50, &b);
		REQUIRE_OK(qset_builder_finish(&b, &c));
		require_table(&c, t);
		qset_collection_free(&c);
		qset_builder_free(&b);
	}
	test_no_leak();
}

/* Order, batches and duplicates of rows do not change the collection. */
static void
order_and_batches_do_not_matter(void **state)
{
	enum
	{
		ROWS = 20000
	};
	int64_t *id = test_array(ROWS, sizeof(*id));
	uint64_t *low = test_array(ROWS, sizeof(*low));
	test_rng rng = test_seeded(3);
	qset_builder forward;
	qset_builder backward;
	qset_collection a;
	qset_collection b;
	uint64_t i;

	(void) state;
	for (i = 0; i < ROWS; i++)
	{
		id[i] = (int64_t) test_below(&rng, 900) - 450;
		low[i] = test_random(&rng) >> test_below(&rng, 64);
	}
	test_builder(&forward, false);
	test_builder(&backward, false);
	REQUIRE_OK(qset_builder_add(&forward, id, low, NULL, ROWS));
	for (i = ROWS; i > 0; i--)
	{
		test_add(&backward, id[i - 1], low[i - 1]);
		if (i % 3 == 0)
			test_add(&backward, id[i - 1], low[i - 1]);
	}
	REQUIRE_OK(qset_builder_finish(&forward, &a));
	REQUIRE_OK(qset_builder_finish(&backward, &b));
	test_require_collection(&a);
	REQUIRE(test_same_collection(&a, &b));
	REQUIRE(qset_collection_memory(&a) > a.elements * 4);
	qset_collection_free(&a);
	qset_collection_free(&b);
	qset_builder_free(&forward);
	qset_builder_free(&backward);
	free(id);
	free(low);
	test_no_leak();
}

static void
merges_are_unions(void **state)
{
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < SEEDS; seed++)
	{
		table t = { { 0 } };
		qset_builder part[3];
		qset_builder all;
		qset_collection c;
		int i;

		test_builder(&all, seed % 2);
		for (i = 0; i < 3; i++)
		{
			test_builder(&part[i], seed % 2);
			fill_table(t, seed * 3 + (uint64_t) i, seed % 100, &part[i]);
			REQUIRE_OK(qset_builder_finish(&part[i], &c));
			REQUIRE_OK(qset_builder_add_collection(&all, &c));
			qset_collection_free(&c);
			qset_builder_free(&part[i]);
		}
		REQUIRE_OK(qset_builder_finish(&all, &c));
		require_table(&c, t);
		qset_collection_free(&c);
		qset_builder_free(&all);
	}
	test_no_leak();
}

static void
subsets(void **state)
{
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < SEEDS; seed++)
	{
		test_rng rng = test_seeded(seed);
		table t = { { 0 } };
		int64_t id[10];
		uint8_t chosen[SIDE] = { 0 };
		qset_builder b;
		qset_collection c;
		qset_collection some;
		uint64_t i;

		test_builder(&b, seed % 2);
		fill_table(t, seed, seed % 300, &b);
		REQUIRE_OK(qset_builder_finish(&b, &c));
		for (i = 0; i < 10; i++)
		{
			uint64_t set = test_below(&rng, SIDE + 3); /* some sets do not exist */

			id[i] = (int64_t) set - SIDE / 2;
			if (set < SIDE)
				chosen[set] = 1;
		}
		for (i = 0; i < SIDE; i++)
			if (!chosen[i])
				memset(t[i], 0, SIDE);
		REQUIRE_OK(qset_collection_subset(&some, &c, id, 10, &test_heap));
		require_table(&some, t);
		qset_collection_free(&some);
		qset_collection_free(&c);
		qset_builder_free(&b);
	}
	test_no_leak();
}

static void
maps_of_ranks(void **state)
{
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < 300; seed++)
	{
		qset_collection a;
		qset_collection b;
		uint32_t *map;
		uint64_t i;
		uint64_t j;

		test_collection(&a, seed, seed % 2);
		test_collection(&b, seed / 2, seed % 2);
		map = test_array(a.universe, sizeof(*map));
		REQUIRE_OK(qset_collection_map(&a, &b, map));
		for (i = 0; i < a.universe; i++)
		{
			uint32_t wanted = UINT32_MAX;

			for (j = 0; j < b.universe; j++)
				if (qset_element_compare(&a, i, &b, j) == 0)
					wanted = (uint32_t) j;
			REQUIRE(map[i] == wanted);
		}
		free(map);
		qset_collection_free(&a);
		qset_collection_free(&b);
	}
}

static void
no_memory_to_build(void **state)
{
	qb_status status = QB_NO_MEMORY;
	qset_collection c;
	long fail;

	(void) state;
	test_collection(&c, 5, true);
	for (fail = 1; status != QB_OK; fail++)
	{
		qset_builder builder;
		qset_collection again;

		test_builder(&builder, true);
		test_fail_at(fail);
		status = qset_builder_add_collection(&builder, &c);
		if (status == QB_OK)
			status = qset_builder_finish(&builder, &again);
		test_fail_at(0);
		REQUIRE(status == QB_OK || status == QB_NO_MEMORY);
		if (status == QB_OK)
			qset_collection_free(&again);
		qset_builder_free(&builder);
	}
	qset_collection_free(&c);
	test_no_leak();
}

/* ---- pauses ---- */

/* Make a collection of 2^22 rows in "sets" sets; all elements differ. */
static void
large_collection(qset_collection *c, uint64_t sets)
{
	enum
	{
		ROWS = 4 * QSET_PATIENCE
	};
	int64_t *id = test_array(ROWS, sizeof(*id));
	uint64_t *low = test_array(ROWS, sizeof(*low));
	qset_builder b;
	uint64_t i;

	for (i = 0; i < ROWS; i++)
	{
		id[i] = (int64_t) (i % sets);
		low[i] = i;
	}
	qset_builder_init(&b, false, &test_qi_keys, &test_heap);
	REQUIRE_OK(qset_builder_add(&b, id, low, NULL, ROWS));
	REQUIRE_OK(qset_builder_finish(&b, c));
	qset_builder_free(&b);
	free(id);
	free(low);
}

/* Operations on a large collection. */
typedef enum large_work
{
	WORK_READ,
	WORK_ADD,
	WORK_FINISH,
	WORK_SUBSET,
	LARGE_WORKS
} large_work;

typedef struct large_task
{
	large_work work;
	const qset_collection *c;
	test_bytes bytes;
} large_task;

static void
do_large_work(void *context)
{
	const large_task *t = context;
	const qset_collection *c = t->c;
	qset_collection out;
	qset_builder b;

	qset_builder_init(&b, false, &test_qi_keys, &test_pausing_heap);
	if (t->work == WORK_READ)
		REQUIRE_OK(qset_read(&out, t->bytes.data, t->bytes.length, &test_pausing_heap));
	if (t->work == WORK_SUBSET)
		REQUIRE_OK(qset_collection_subset(&out, c, c->id, c->sets, &test_pausing_heap));
	if (t->work == WORK_ADD || t->work == WORK_FINISH)
		REQUIRE_OK(qset_builder_add_collection(&b, c));
	if (t->work == WORK_FINISH)
		REQUIRE_OK(qset_builder_finish(&b, &out));
}

/* Long work pauses.  A jump out of any pause leaves the collection unchanged. */
static void
long_work_pauses(void **state)
{
	static const uint64_t wanted[LARGE_WORKS] = { 7, 6, 46, 10 };
	uint64_t sets;

	(void) state;
	for (sets = 100; sets <= 4 * QSET_PATIENCE; sets *= 41943)
	{
		qset_collection c;
		large_task t = { .c = &c };
		test_bytes after;

		large_collection(&c, sets);
		t.bytes = test_flat(&c);
		for (t.work = WORK_READ; t.work < LARGE_WORKS; t.work++)
		{
			uint64_t all;
			uint64_t at;

			WHERE("work %d on %llu sets", (int) t.work, (unsigned long long) sets);
			REQUIRE(test_until(do_large_work, &t, 0));
			all = test_pausing.paused;
			REQUIRE(all >= wanted[t.work]);
			for (at = 1; at <= all; at += 1 + all / 5)
				REQUIRE(!test_until(do_large_work, &t, at));
		}
		after = test_flat(&c);
		REQUIRE(test_equal_bytes(t.bytes, after));
		free(after.data);
		free(t.bytes.data);
		qset_collection_free(&c);
		test_no_leak();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_its_rows),
		cmocka_unit_test(orders_the_limits),
		cmocka_unit_test(order_and_batches_do_not_matter),
		cmocka_unit_test(merges_are_unions),
		cmocka_unit_test(subsets),
		cmocka_unit_test(maps_of_ranks),
		cmocka_unit_test(no_memory_to_build),
		cmocka_unit_test(long_work_pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
