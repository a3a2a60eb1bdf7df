/*
 * test_sets_parts.c
 *		A collection made from several runs in shards equals the collection of a single
 *		builder.
 *
 * test/unit/test_sets_parts.c
 */
#include "sets_support.h"

#include "sets/builder.h"

#define SEEDS 1200
#define RUNS  5

/* Runs of a random collection, and a builder with the rows of all runs. */
typedef struct scattered
{
	qset_builder all;
	qset_run run[RUNS];
	void *block[RUNS];
	uint32_t count;
} scattered;

/* Add random rows to both builders.  Add some rows twice to the first builder. */
static void
fill_run(test_rng *rng, uint64_t rows, uint64_t ids, int far, qset_builder *b, qset_builder *all)
{
	uint64_t i;

	for (i = 0; i < rows; i++)
	{
		int64_t id = (int64_t) (test_skewed(rng, ids) << far) - 100;
		uint64_t element = (test_skewed(rng, 300) << far) - 50;

		test_add(b, id, element);
		test_add(all, id, element);
		if (test_below(rng, 4) == 0)
			test_add(b, id, element);
	}
}

static void
scatter_rows(scattered *s, uint64_t seed)
{
	test_rng rng = test_seeded(seed);
	uint64_t ids = 1 + test_below(&rng, 1 + (UINT64_C(1) << test_below(&rng, 9)));
	int far = test_below(&rng, 2) ? 0 : (int) test_below(&rng, 50);
	uint32_t i;

	test_builder(&s->all, seed % 2);
	s->count = 1 + (uint32_t) test_below(&rng, RUNS);
	for (i = 0; i < s->count; i++)
	{
		qset_builder b;
		qset_collection grouped;

		test_builder(&b, seed % 2);
		fill_run(&rng, test_below(&rng, 400) * test_below(&rng, 2), ids, far, &b, &s->all);
		REQUIRE_OK(qset_builder_group(&b, &grouped));
		s->block[i] = test_array(qset_run_bytes(&grouped), 1);
		qset_run_write(&grouped, s->block[i]);
		qset_run_open(&s->run[i], s->block[i]);
		qset_collection_free(&grouped);
		qset_builder_free(&b);
	}
}

static void
scattered_free(scattered *s)
{
	uint32_t i;

	for (i = 0; i < s->count; i++)
		free(s->block[i]);
	qset_builder_free(&s->all);
}

static void
shard_free(qset_collection *shard)
{
	free(shard->id);
	free(shard->offset);
	free(shard->rank);
	free(shard->low);
	free(shard->high);
}

/* Make all shards.  Two of the three steps go through the shards backwards. */
static qb_status
make_shards(qset_runs *runs, uint32_t shards, qset_collection *shard)
{
	bool wide = runs->run[0].rows.wide;
	qb_status status = qset_runs_cut(runs, shards);
	uint64_t first = 0;
	uint32_t i;

	for (i = shards; i-- > 0 && status == QB_OK;)
	{
		qset_room room = qset_shard_room(runs, i);

		shard[i].wide = wide;
		shard[i].low = test_array(room.universe, sizeof(uint64_t));
		shard[i].high = wide ? test_array(room.universe, sizeof(uint64_t)) : NULL;
		shard[i].id = test_array(room.sets, sizeof(int64_t));
		shard[i].offset = test_array(room.sets + 1, sizeof(uint64_t));
		shard[i].rank = test_array(room.elements, sizeof(uint32_t));
		status = qset_shard_elements(runs, i, &shard[i]);
	}
	for (i = 0; i < shards && status == QB_OK; i++)
	{
		qset_shard_number(runs, i, first);
		first += shard[i].universe;
	}
	for (i = shards; i-- > 0 && status == QB_OK;)
		status = qset_shard_sets(runs, i, &shard[i]);
	return status;
}

static qb_status
build_in_shards(const scattered *s, uint32_t shards, qset_collection *out)
{
	qset_runs runs = { .run = s->run, .count = s->count, .memory = &test_heap };
	qset_collection shard[QSET_MOST_SHARDS] = { { .wide = false } };
	qb_status status = make_shards(&runs, shards, shard);
	uint32_t i;

	if (status == QB_OK)
		status = qset_runs_join(shard, shards, &test_qi_keys, out, &test_heap);
	for (i = 0; i < shards; i++)
		shard_free(&shard[i]);
	return status;
}

static void
same_as_by_one(void **state)
{
	static const uint32_t shards[] = { 1, 2, 3, 20, QSET_MOST_SHARDS };
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < SEEDS; seed++)
	{
		scattered s;
		qset_collection wanted;
		qset_collection got;

		WHERE("seed %d", (int) seed);
		scatter_rows(&s, seed);
		REQUIRE_OK(qset_builder_finish(&s.all, &wanted));
		REQUIRE_OK(build_in_shards(&s, shards[seed % ALL_OF(shards)], &got));
		test_require_collection(&got);
		REQUIRE(test_same_collection(&wanted, &got));
		qset_collection_free(&wanted);
		qset_collection_free(&got);
		scattered_free(&s);
	}
	test_no_leak();
}

/* Shards of many rows have similar sizes, even if the distributions of the runs differ. */
static void
shards_are_even(void **state)
{
	enum
	{
		ROWS = 100000,
		SHARDS = 8
	};
	scattered s = { .count = 2 };
	qset_runs runs = { .run = s.run, .count = 2, .memory = &test_heap };
	test_rng rng = test_seeded(9);
	uint32_t i;
	uint64_t row;

	(void) state;
	test_builder(&s.all, false);
	for (i = 0; i < 2; i++)
	{
		qset_builder b;
		qset_collection grouped;

		test_builder(&b, false);
		for (row = 0; row < ROWS; row++)
			test_add(&b, (int64_t) test_below(&rng, 1000 + 9000 * i), test_random(&rng) >> 20 >> i);
		REQUIRE_OK(qset_builder_group(&b, &grouped));
		s.block[i] = test_array(qset_run_bytes(&grouped), 1);
		qset_run_write(&grouped, s.block[i]);
		qset_run_open(&s.run[i], s.block[i]);
		qset_collection_free(&grouped);
		qset_builder_free(&b);
	}
	REQUIRE_OK(qset_runs_cut(&runs, SHARDS));
	for (i = 0; i < SHARDS; i++)
	{
		qset_room room = qset_shard_room(&runs, i);

		REQUIRE(room.elements > ROWS * 2 / SHARDS / 2 && room.elements < ROWS * 2 / SHARDS * 2);
		REQUIRE(room.universe > ROWS * 2 / SHARDS / 2 && room.universe < ROWS * 2 / SHARDS * 2);
	}
	scattered_free(&s);
	test_no_leak();
}

static void
no_memory(void **state)
{
	qb_status status = QB_NO_MEMORY;
	scattered s;
	long fail;

	(void) state;
	scatter_rows(&s, 17);
	for (fail = 1; status != QB_OK; fail++)
	{
		qset_collection c;

		test_fail_at(fail);
		status = build_in_shards(&s, 3, &c);
		test_fail_at(0);
		REQUIRE(status == QB_OK || status == QB_NO_MEMORY);
		if (status == QB_OK)
			qset_collection_free(&c);
	}
	REQUIRE(fail > 10);
	scattered_free(&s);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_by_one),
		cmocka_unit_test(shards_are_even),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
