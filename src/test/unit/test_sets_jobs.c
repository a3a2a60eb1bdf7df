/*
 * test_sets_jobs.c
 *		All pairs: what can go wrong.  Jobs stop when told, limits and mismatches
 *		are refused, and running out of memory anywhere leaks nothing.
 *
 * src/test/unit/test_sets_jobs.c
 */
#include "pairs_support.h"

static qi_pair pulled[ROOM];

/* From the request to the last pair; what was given is freed, wherever it ended. */
static qs_status
whole_run(const qi_request *r)
{
	qi_plan plan;
	uint64_t *block;
	uint64_t count;
	qi_job job;
	qs_status status = make_block(r, &plan, &block);

	if (status == QS_OK)
	{
		status = qi_job_open(&job, block, qi_kernels_now(), &test_heap, r->interrupt);
		if (status == QS_OK)
			qi_job_share(&job, 0, qi_job_rows(&job), 1);
		for (count = 1; status == QS_OK && count > 0;)
			status = qi_job_next(&job, pulled, ROOM, &count);
		qi_job_close(&job);
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

/* Every question may be the one that is answered with "stop". */
static void
stops_when_told(void **state)
{
	qi_collection c;
	int asked = 0;
	int method;

	(void) state;
	large_collection(30000, 20000, &c);
	for (method = QI_INDEX; method <= QI_HYBRID; method++)
	{
		qs_status status = QS_CANCELLED;
		int patience;

		for (patience = 0; status == QS_CANCELLED; patience++)
		{
			int left = patience;
			qi_interrupt interrupt = { stop_at, &left };
			qi_request r = { .rows = &c, .memory = &test_heap, .interrupt = &interrupt };

			r.method = method;
			REQUIRE_OK(qi_filter_init(&r.filter, 3, 0, 0));
			status = whole_run(&r);
			REQUIRE(status == QS_OK || status == QS_CANCELLED);
			asked = patience;
		}
		REQUIRE(status == QS_OK && asked > 3);
	}
	qi_collection_free(&c);
	test_no_leak();
}

static void
limits_and_mismatches(void **state)
{
	qi_collection c;
	qi_collection other;
	qi_request r = { .rows = &c, .memory = &test_heap };
	qi_preparation p;

	(void) state;
	large_collection(3000, 0, &c);
	REQUIRE_OK(qi_filter_init(&r.filter, 1, 0, 0));
	r.memory_limit = 1000;
	REQUIRE_STATUS(qi_prepare(&p, &r), QS_NO_ROOM);
	qi_prepared_free(&p);
	r.method = QI_HYBRID;
	REQUIRE_STATUS(qi_prepare(&p, &r), QS_NO_ROOM);
	qi_prepared_free(&p);
	r.memory_limit = 10000000;
	REQUIRE_OK(qi_prepare(&p, &r));
	REQUIRE(p.plan.bytes <= r.memory_limit);
	qi_prepared_free(&p);
	r.method = QI_METHODS;
	REQUIRE_STATUS(qi_prepare(&p, &r), QS_BAD_METHOD);
	qi_prepared_free(&p);
	r.method = QI_AUTO;
	test_collection(&other, 3, true);
	r.columns = &other;
	REQUIRE(other.sets > 0);
	REQUIRE_STATUS(qi_prepare(&p, &r), QS_MISMATCH);
	qi_prepared_free(&p);
	qi_collection_free(&other);
	qi_collection_free(&c);
	test_no_leak();
}

/* In what qi_memory_enough() says there is room for every method and every question. */
static void
there_is_always_room(void **state)
{
	static const double least[] = { 0, 0.5, 0.9 };
	qi_collection c[3];
	int one, two, method, filter;

	(void) state;
	test_collection(&c[0], 12, false);
	test_collection(&c[1], 13, false);
	large_collection(70000, 20000, &c[2]);
	for (one = 0; one < 3; one++)
		for (two = 0; two < 4; two++)
			for (method = QI_AUTO; method < QI_METHODS; method++)
				for (filter = 0; filter < 6; filter++)
				{
					qi_request r = { .rows = &c[one], .columns = two < 3 ? &c[two] : NULL };
					qi_preparation p;

					r.method = method;
					r.memory = &test_heap;
					REQUIRE_OK(
						qi_filter_init(&r.filter, 1 + filter, least[filter / 2], filter % 2));
					r.memory_limit = qi_memory_enough(&r);
					WHERE("collections %d and %d, method %d, filter %d", one, two, method, filter);
					REQUIRE_OK(qi_prepare(&p, &r));
					REQUIRE(p.plan.bytes <= r.memory_limit);
					qi_prepared_free(&p);
				}
	for (one = 0; one < 3; one++)
		qi_collection_free(&c[one]);
	test_no_leak();
}

static void
no_memory(void **state)
{
	qi_collection a;
	qi_collection b;
	int method;
	int two;

	(void) state;
	test_collection(&a, 12, false);
	test_collection(&b, 14, false);
	for (method = QI_AUTO; method < QI_METHODS; method++)
		for (two = 0; two < 2; two++)
		{
			qi_request r = { .rows = &a, .columns = two ? &b : NULL, .method = method };
			long live = test_heap_state.live;
			qs_status status = QS_NO_MEMORY;
			long fail;

			r.memory = &test_heap;
			r.variant = QI_VARIANT_ON;
			REQUIRE_OK(qi_filter_init(&r.filter, 1, 0.2, two ? 3 : 0));
			for (fail = 1; status == QS_NO_MEMORY; fail++)
			{
				test_fail_at(fail);
				status = whole_run(&r);
				test_fail_at(0);
				REQUIRE(test_heap_state.live == live);
			}
			REQUIRE(status == QS_OK);
		}
	qi_collection_free(&a);
	qi_collection_free(&b);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_when_told),
		cmocka_unit_test(limits_and_mismatches),
		cmocka_unit_test(there_is_always_room),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
