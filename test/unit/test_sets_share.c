/*
 * test_sets_share.c
 *		All pairs: shards have similar work, and the pairs of all shards, in order, are the
 *		pairs of all rows.
 *
 * test/unit/test_sets_share.c
 */
#include "sets_support.h"

#define SEEDS 300
#define ROOM  20000

static qset_pair whole[ROOM];
static qset_pair joined[ROOM];

/*
 * Append the pairs of a range of rows, at most "room" pairs per call; returns the new number of
 * pairs.
 */
static uint64_t
append(qset_job *job, uint64_t first, uint64_t end, qset_pair *out, uint64_t at, uint64_t room)
{
	uint64_t count;

	qset_job_shard(job, first, end, 1);
	do
	{
		REQUIRE(at + room <= ROOM);
		REQUIRE_OK(qset_job_next(job, out + at, room, &count));
		at += count;
	}
	while (count > 0);
	return at;
}

static uint64_t *
prepared_block(const qset_request *r)
{
	qset_preparation p;
	uint64_t *block;

	REQUIRE_OK(qset_prepare(&p, r));
	block = test_array(p.plan.bytes, 1);
	memset(block, 0, p.plan.bytes);
	REQUIRE_OK(qset_fill(&p, block));
	qset_prepared_free(&p);
	return block;
}

/* Check that the ranges cover all rows in order. */
static void
require_partition(const uint64_t *first, uint64_t shards, uint64_t rows)
{
	uint64_t i;

	REQUIRE(first[0] == 0 && first[shards] == rows);
	for (i = 0; i < shards; i++)
		REQUIRE(first[i] <= first[i + 1]);
}

static void
try_shards(const void *block, uint64_t shards, uint64_t room)
{
	uint64_t *first = test_array(shards + 1, sizeof(*first));
	uint64_t all;
	uint64_t got = 0;
	uint64_t i;
	qset_job job;

	REQUIRE_OK(qset_job_open(&job, block, &qset_kernels_plain, &test_heap, NULL));
	all = append(&job, 0, qset_job_rows(&job), whole, 0, 1000);
	REQUIRE_OK(qset_job_split(&job, first, shards));
	require_partition(first, shards, qset_job_rows(&job));
	for (i = 0; i < shards; i++)
		got = append(&job, first[i], first[i + 1], joined, got, room);
	REQUIRE(got == all && memcmp(whole, joined, all * sizeof(qset_pair)) == 0);
	qset_job_close(&job);
	free(first);
}

static void
pairs_in_order(void **state)
{
	uint64_t seed;
	int method;

	(void) state;
	for (seed = 0; seed < SEEDS; seed++)
	{
		test_rng rng = test_seeded(seed + 7000);
		qset_collection c;
		qset_collection d;
		qset_request r = { .rows = &c, .memory = &test_heap };

		snprintf(test_where, sizeof(test_where), "seed %d", (int) seed);
		test_collection(&c, seed, seed % 2);
		test_collection(&d, seed + 1, seed % 2);
		REQUIRE_OK(qset_filter_init(&r.filter, (int64_t) test_below(&rng, 4), 0,
									test_below(&rng, 3) ? 0 : 1 + test_below(&rng, 4)));
		r.columns = test_below(&rng, 3) ? NULL : &d;
		for (method = QSET_AUTO; method < QSET_METHODS; method++)
		{
			uint64_t *block;

			r.method = method;
			block = prepared_block(&r);
			try_shards(block, 1 + test_below(&rng, 40), 1 + test_below(&rng, 30));
			free(block);
		}
		qset_collection_free(&c);
		qset_collection_free(&d);
	}
	test_no_leak();
}

/*
 * Returns the number of elements that a set shares with later sets, summed over the later sets.
 * The index visits each of these elements.  later[rank] counts the sets, from this set on, that
 * have an element.  The call excludes this set from later[].
 */
static uint64_t
events_of(const qset_collection *c, uint32_t *later, uint64_t set)
{
	const uint32_t *rank = qset_set_ranks(c, set);
	uint64_t events = 0;
	uint64_t i;

	for (i = 0; i < qset_set_size(c, set); i++)
		events += --later[rank[i]];
	return events;
}

/*
 * Make a collection whose first sets have most of the work, because these sets are large and
 * have the most later sets.
 */
static void
skewed_collection(qset_collection *c)
{
	const uint32_t universe = 1000;
	uint64_t s;
	uint64_t e;

	memset(c, 0, sizeof(*c));
	c->sets = 3000;
	c->universe = universe;
	for (s = 0; s < c->sets; s++)
		c->elements += s < 300 ? 200 : 20;
	c->keys = (qb_keys){ .family = 1 };
	REQUIRE_OK(qset_collection_alloc(c, &test_heap));
	for (e = 0; e < universe; e++)
		c->low[e] = e;
	for (s = 0; s < c->sets; s++)
	{
		uint64_t size = s < 300 ? 200 : 20;

		c->id[s] = (int64_t) s;
		c->offset[s + 1] = c->offset[s] + size;
		for (e = 0; e < size; e++)
			c->rank[c->offset[s] + e] = (uint32_t) (e * (universe / size) + s % (universe / size));
	}
}

static void
same_work(void **state)
{
	const uint64_t shards = 20;
	uint64_t work[20] = { 0 };
	uint64_t first[21];
	uint64_t all = 0;
	uint32_t *later;
	qset_collection c;
	qset_request r = {
		.rows = &c, .method = QSET_INDEX, .variant = QSET_VARIANT_OFF, .memory = &test_heap
	};
	uint64_t *block;
	uint64_t i;
	uint64_t s;
	qset_job job;

	(void) state;
	skewed_collection(&c);
	REQUIRE_OK(qset_filter_init(&r.filter, 1, 0, 0));
	block = prepared_block(&r);
	later = test_array(c.universe, sizeof(*later));
	memset(later, 0, c.universe * sizeof(*later));
	for (i = 0; i < c.elements; i++)
		later[c.rank[i]]++;
	REQUIRE_OK(qset_job_open(&job, block, &qset_kernels_plain, &test_heap, NULL));
	REQUIRE_OK(qset_job_split(&job, first, shards));
	for (i = 0; i < shards; i++)
		for (s = first[i]; s < first[i + 1]; s++)
			work[i] += events_of(&c, later, s);
	for (i = 0; i < shards; i++)
		all += work[i];
	for (i = 0; i < shards; i++)
		REQUIRE(work[i] * shards < all * 13 / 10);
	qset_job_close(&job);
	free(later);
	free(block);
	qset_collection_free(&c);
	test_no_leak();
}

static bool
stop_at_once(void *context)
{
	(void) context;
	return true;
}

/* A long split of a job calls the interrupt function. */
static void
stops_when_told(void **state)
{
	qset_interrupt interrupt = { stop_at_once, NULL };
	uint64_t first[3];
	qset_collection c;
	qset_request r = { .rows = &c, .method = QSET_INDEX, .memory = &test_heap };
	uint64_t *block;
	qset_job job;

	(void) state;
	skewed_collection(&c);
	REQUIRE_OK(qset_filter_init(&r.filter, 1, 0, 0));
	block = prepared_block(&r);
	REQUIRE_OK(qset_job_open(&job, block, &qset_kernels_plain, &test_heap, &interrupt));
	job.patience = 1000;
	assert_int_equal(qset_job_split(&job, first, 2), QB_CANCELLED);
	qset_job_close(&job);
	free(block);
	qset_collection_free(&c);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_in_order),
		cmocka_unit_test(same_work),
		cmocka_unit_test(stops_when_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
