/*
 * test_sets_jobs.c
 *		All pairs: cancelled jobs, limits, mismatches and lack of memory.
 *
 * test/unit/test_sets_jobs.c
 */
#include "pairs_support.h"

static qset_pair pulled[ROOM];

/* Run a job from the request to the last pair.  Frees all memory, at whatever step the job ends. */
static qb_status
whole_run(const qset_request *r, const qset_interrupt *interrupt)
{
	qset_plan plan;
	uint64_t *block;
	uint64_t count;
	qset_job job;
	qb_status status = make_block(r, &plan, &block);

	if (status == QB_OK)
	{
		status = qset_job_open(&job, block, qset_kernels_now(), &test_heap, interrupt);
		if (status == QB_OK)
			qset_job_shard(&job, 0, qset_job_rows(&job), 1);
		for (count = 1; status == QB_OK && count > 0;)
			status = qset_job_next(&job, pulled, ROOM, &count);
		qset_job_close(&job);
	}
	free(block);
	return status;
}

static bool
stop_at(void *context)
{
	int *left = context;

	return (*left)-- <= 0;
}

/* Cancel the job at each call of the interrupt function in turn. */
static void
stops_when_told(void **state)
{
	qset_collection c;
	int asked = 0;
	int method;

	(void) state;
	large_collection(20000, 20000, &c);
	for (method = QSET_INDEX; method <= QSET_HYBRID; method++)
	{
		qb_status status = QB_CANCELLED;
		int patience;

		for (patience = 0; status == QB_CANCELLED; patience++)
		{
			int left = patience;
			qset_interrupt interrupt = { stop_at, &left };
			qset_request r = { .rows = &c, .memory = &test_heap };

			r.method = method;
			REQUIRE_OK(qset_filter_init(&r.filter, 3, 0, 0));
			status = whole_run(&r, &interrupt);
			REQUIRE(status == QB_OK || status == QB_CANCELLED);
			asked = patience;
		}
		REQUIRE(status == QB_OK && asked > 3);
	}
	qset_collection_free(&c);
	test_no_leak();
}

static void
limits_and_mismatches(void **state)
{
	qset_collection c;
	qset_collection other;
	qset_request r = { .rows = &c, .memory = &test_heap };
	qset_preparation p;

	(void) state;
	large_collection(3000, 0, &c);
	REQUIRE_OK(qset_filter_init(&r.filter, 1, 0, 0));
	r.memory_limit = 1000;
	REQUIRE_STATUS(qset_prepare(&p, &r), QB_NO_ROOM);
	qset_prepared_free(&p);
	r.method = QSET_HYBRID;
	REQUIRE_STATUS(qset_prepare(&p, &r), QB_NO_ROOM);
	qset_prepared_free(&p);
	r.memory_limit = 10000000;
	REQUIRE_OK(qset_prepare(&p, &r));
	REQUIRE(p.plan.bytes <= r.memory_limit);
	qset_prepared_free(&p);
	r.method = QSET_METHODS;
	REQUIRE_STATUS(qset_prepare(&p, &r), QB_BAD_METHOD);
	qset_prepared_free(&p);
	r.method = QSET_AUTO;
	test_collection(&other, 3, true);
	r.columns = &other;
	REQUIRE(other.sets > 0);
	REQUIRE_STATUS(qset_prepare(&p, &r), QB_MISMATCH);
	qset_prepared_free(&p);
	qset_collection_free(&other);
	qset_collection_free(&c);
	test_no_leak();
}

/* Returns the method that QSET_AUTO chooses. */
static int
chosen(const qset_collection *c)
{
	qset_request r = { .rows = c, .memory = &test_heap };
	qset_preparation p;
	int chosen, method;

	REQUIRE_OK(qset_filter_init(&r.filter, 1, 0, 0));
	REQUIRE_OK(qset_prepare(&p, &r));
	chosen = p.plan.method;
	REQUIRE(chosen >= QSET_INDEX || p.plan.resident);
	for (method = p.plan.resident ? QSET_BITMAP : QSET_INDEX; method < QSET_METHODS; method++)
		REQUIRE(p.plan.cost[chosen] <= p.plan.cost[method]);
	qset_prepared_free(&p);
	return chosen;
}

/*
 * "auto" chooses the cheapest of index, hybrid and the bitmaps of all sets.  For a few large
 * sets it chooses bitmaps.
 */
static void
auto_takes_the_cheapest(void **state)
{
	qset_collection c;
	int sets;

	(void) state;
	for (sets = 160; sets < 5000; sets *= 4)
	{
		large_collection(sets, 0, &c);
		REQUIRE(chosen(&c) >= QSET_INDEX);
		qset_collection_free(&c);
	}
	large_collection(0, 20000, &c);
	REQUIRE(chosen(&c) == QSET_BITMAP);
	qset_collection_free(&c);
	test_no_leak();
}

/* "auto" chooses prefixes for many small sets only if the Jaccard threshold is high. */
static void
auto_takes_prefixes(void **state)
{
	static const double least[] = { 0, 0.9 };
	qset_collection c;
	qset_preparation p;
	int i;

	(void) state;
	large_collection(4000, 0, &c);
	for (i = 0; i < 2; i++)
	{
		qset_request r = { .rows = &c, .memory = &test_heap };

		REQUIRE_OK(qset_filter_init(&r.filter, 1, least[i], 0));
		REQUIRE_OK(qset_prepare(&p, &r));
		REQUIRE(p.plan.prefix == (least[i] > 0));
		qset_prepared_free(&p);
	}
	qset_collection_free(&c);
	test_no_leak();
}

/* The memory that qset_memory_enough() returns suffices for every method and every request. */
static void
there_is_always_room(void **state)
{
	static const double least[] = { 0, 0.5, 0.9 };
	qset_collection c[3];
	int one, two, method, filter;

	(void) state;
	test_collection(&c[0], 12, false);
	test_collection(&c[1], 13, false);
	large_collection(70000, 20000, &c[2]);
	for (one = 0; one < 3; one++)
		for (two = 0; two < 4; two++)
			for (method = QSET_AUTO; method < QSET_METHODS; method++)
				for (filter = 0; filter < 6; filter++)
				{
					qset_request r = { .rows = &c[one], .columns = two < 3 ? &c[two] : NULL };
					qset_preparation p;

					r.method = method;
					r.memory = &test_heap;
					REQUIRE_OK(
						qset_filter_init(&r.filter, 1 + filter, least[filter / 2], filter % 2));
					r.memory_limit = qset_memory_enough(&r);
					WHERE("collections %d and %d, method %d, filter %d", one, two, method, filter);
					REQUIRE_OK(qset_prepare(&p, &r));
					REQUIRE(p.plan.bytes <= r.memory_limit);
					qset_prepared_free(&p);
				}
	for (one = 0; one < 3; one++)
		qset_collection_free(&c[one]);
	test_no_leak();
}

static void
no_memory(void **state)
{
	qset_collection a;
	qset_collection b;
	int method;
	int two;

	(void) state;
	test_collection(&a, 12, false);
	test_collection(&b, 14, false);
	for (method = QSET_AUTO; method < QSET_METHODS; method++)
		for (two = 0; two < 2; two++)
		{
			qset_request r = { .rows = &a, .columns = two ? &b : NULL, .method = method };
			long live = test_heap_state.live;
			qb_status status = QB_NO_MEMORY;
			long fail;

			r.memory = &test_heap;
			r.variant = QSET_VARIANT_ON;
			REQUIRE_OK(qset_filter_init(&r.filter, 1, 0.2, two ? 3 : 0));
			for (fail = 1; status == QB_NO_MEMORY; fail++)
			{
				test_fail_at(fail);
				status = whole_run(&r, NULL);
				test_fail_at(0);
				REQUIRE(test_heap_state.live == live);
			}
			REQUIRE(status == QB_OK);
		}
	qset_collection_free(&a);
	qset_collection_free(&b);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_when_told),         cmocka_unit_test(limits_and_mismatches),
		cmocka_unit_test(auto_takes_the_cheapest), cmocka_unit_test(auto_takes_prefixes),
		cmocka_unit_test(there_is_always_room),    cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
