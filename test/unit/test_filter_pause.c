/*
 * test_filter_pause.c
 *		Insertion into filters pauses, and a stopped insertion can be repeated.
 *
 * test/unit/test_filter_pause.c
 */
#include "filter_support.h"

#define ROWS 200

static uint64_t keys[ROWS];
static int64_t copies[ROWS];

static jmp_buf stopped;
static int pauses;

static void
count_pause(void)
{
	pauses++;
}

static void
jump_out(void)
{
	longjmp(stopped, 1);
}

static int
make_rows(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < ROWS; i++)
	{
		keys[i] = test_key(i);
		copies[i] = 1000;
	}
	return 0;
}

/*
 * Initialize a filter.  Each row sets half of 65536 positions, and a row with 1000 copies sets
 * all of them.
 */
static void
start(qf_filter *f, const qb_memory *memory)
{
	qf_params p = { .m = 1 << 22, .k = 65536, .q = UINT64_C(1) << 63 };

	qf_init(f, &p, memory);
	f->keys = (qb_keys){ .family = 1 };
}

/* Insertion pauses at least once per QB_PATIENCE set positions, even if the rows are few. */
static void
insertion_pauses_by_its_work(void **state)
{
	const int least = (int) (ROWS * UINT64_C(65536) / 2 / QB_PATIENCE) - 1;
	qb_memory patient = test_heap;
	size_t i;

	(void) state;
	REQUIRE(least > 0);
	patient.pause = count_pause;
	for (i = 0; i < 2; i++)
	{
		qf_batch b = { .fingerprint = keys, .count = ROWS, .copies = i ? copies : NULL };
		qf_filter f;

		pauses = 0;
		start(&f, &patient);
		REQUIRE_OK(qf_engine_cpu.insert(&f, &b));
		REQUIRE(pauses >= least);
		qf_free(&f);
	}
	test_no_leak();
}

static void
stop_and_repeat(const int64_t *weight)
{
	qb_memory impatient = test_heap;
	qf_batch b = { .fingerprint = keys, .count = ROWS, .copies = weight };
	qf_filter f, wanted;

	impatient.pause = jump_out;
	start(&f, &impatient);
	start(&wanted, &test_heap);
	if (setjmp(stopped) == 0)
	{
		qf_engine_cpu.insert(&f, &b);
		REQUIRE(!"stopped");
	}
	REQUIRE(f.rows == 0 && f.ones > 0);
	impatient.pause = NULL;
	REQUIRE_OK(qf_engine_cpu.insert(&f, &b));
	REQUIRE_OK(qf_engine_cpu.insert(&wanted, &b));
	REQUIRE(filter_same(&f, &wanted));
	qf_free(&f);
	qf_free(&wanted);
}

/* Repeating a stopped insertion gives the filter of a single insertion. */
static void
a_stopped_insertion_can_be_repeated(void **state)
{
	(void) state;
	stop_and_repeat(NULL);
	stop_and_repeat(copies);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(insertion_pauses_by_its_work),
		cmocka_unit_test(a_stopped_insertion_can_be_repeated),
	};

	return cmocka_run_group_tests(tests, make_rows, NULL);
}
