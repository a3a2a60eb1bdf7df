/*
 * test_slice.c
 *		Merging slice by slice gives the bytes of merging as a whole.
 *
 * The bytes must be equal for any cuts, with or without copying slices first, and with or
 * without adding keys between slices.  The bytes must also be equal for slices to which
 * many sketches were added in different orders.
 *
 * test/unit/test_slice.c
 */
#include "support.h"

#include "sketch/merge.h"

#define STREAM 3000

/*
 * Add random keys.  The sums of their weights exceed a byte of multilevel counters.  With "large",
 * totals exceed 2^32.
 */
static void
add_keys(qs_sketch *sk, test_rng *rng, bool large)
{
	uint64_t key[STREAM];
	int64_t weight[STREAM];
	size_t i;

	for (i = 0; i < STREAM; i++)
	{
		key[i] = test_key(test_below(rng, 500));
		weight[i] = 1 + (int64_t) test_below(rng, large ? UINT64_C(1) << 26 : 60);
	}
	REQUIRE_OK(qs_engine_cpu.insert(sk, key, weight, STREAM));
}

/* Merge one slice, in place or from a copy. */
static void
merge_slice(qs_sketch *into, const qs_sketch *from, qs_slice units, bool taken)
{
	qs_sketch slice;

	if (!taken)
	{
		REQUIRE_OK(qs_merge_slice(into, units, from, units));
		return;
	}
	REQUIRE_OK(qs_take_slice(&slice, from, units, &test_heap));
	REQUIRE(slice.wide == from->wide && slice.total == 0);
	REQUIRE_OK(qs_merge_slice(into, units, &slice, (qs_slice){ 0, units.count }));
	qs_free(&slice);
}

/* Merge in random slices, and sometimes add keys between two slices. */
static void
merge_slices(qs_sketch *into, const qs_sketch *from, test_rng *rng, bool taken, bool large)
{
	uint64_t units, at, count;
	qs_sketch head;

	qs_init(&head, &from->params, NULL);
	head.encoding = QS_DENSE;
	head.total = from->total;
	REQUIRE_OK(qs_merge_begin(into, taken ? &head : from));
	units = qs_slice_units(&into->params);
	for (at = 0; at < units; at += count)
	{
		count = 1 + test_below(rng, units - at);
		merge_slice(into, from, (qs_slice){ at, count }, taken);
		if (test_below(rng, 3) == 0)
			add_keys(into, rng, large);
	}
}

/* Merge as a whole what merge_slices() merges in slices.  Add the same keys at the end. */
static void
merge_whole(qs_sketch *into, const qs_sketch *from, test_rng *rng, bool large)
{
	uint64_t at, count;
	uint64_t units;

	REQUIRE_OK(qs_merge(into, from));
	units = qs_slice_units(&into->params);
	for (at = 0; at < units; at += count)
	{
		count = 1 + test_below(rng, units - at);
		if (test_below(rng, 3) == 0)
			add_keys(into, rng, large);
	}
}

static void
check_slices(const qs_params *params, test_rng *rng)
{
	bool large[2] = { test_below(rng, 2) == 0, test_below(rng, 2) == 0 };
	bool taken = test_below(rng, 2) == 0;
	test_rng start = *rng, again;
	qs_sketch from, into[2];
	int i;

	test_init_dense(&from, params);
	add_keys(&from, rng, large[1]);
	for (i = 0; i < 2; i++)
	{
		test_init_dense(&into[i], params);
		again = start;
		add_keys(&into[i], &again, large[0]);
	}
	start = again;
	merge_slices(&into[0], &from, &again, taken, large[0]);
	merge_whole(&into[1], &from, &start, large[0]);
	REQUIRE(test_same(&into[0], &into[1]));
	for (i = 0; i < 2; i++)
		qs_free(&into[i]);
	qs_free(&from);
	test_no_leak();
}

static void
slices_are_the_whole(void **state)
{
	test_rng rng = test_seeded(7);
	int structure, round;

	(void) state;
	for (structure = QS_THREAD; structure < QS_STRUCTURES; structure++)
		for (round = 0; round < 40; round++)
		{
			uint64_t n = 1 + test_below(&rng, 90);
			int depth = 1 + (int) test_below(&rng, 5);
			int masks = structure == QS_THREAD ? 0 : (int) test_below(&rng, 11);
			qs_params p = test_params(structure, n, depth, 3, masks, 5);

			WHERE("%s, round %d", qs_structure_name(structure), round);
			p.n <<= test_below(&rng, 4);
			check_slices(&p, &rng);
		}
}

#define ADDED 5

/* Add all sketches to a slice, beginning with a random sketch.  Merge the slice into "into". */
static void
add_to_slice(qs_sketch *into, const qs_sketch *from, qs_slice units, test_rng *rng)
{
	uint64_t first = test_below(rng, ADDED);
	qs_sketch slice = { .memory = &test_heap };
	qs_sketch head;
	int i;

	for (i = 0; i < ADDED; i++)
		REQUIRE_OK(qs_add_slice(&slice, &from[(first + (uint64_t) i) % ADDED], units));
	if (units.first == 0)
	{
		head = slice;
		head.params = into->params;
		REQUIRE_OK(qs_merge_begin(into, &head));
	}
	REQUIRE_OK(qs_merge_slice(into, units, &slice, (qs_slice){ 0, units.count }));
	qs_free(&slice);
}

static void
check_added(const qs_params *params, test_rng *rng)
{
	qs_sketch from[ADDED], into[2];
	uint64_t at, count;
	int i;

	for (i = 0; i < ADDED; i++)
	{
		test_init_dense(&from[i], params);
		add_keys(&from[i], rng, test_below(rng, 4) == 0);
	}
	for (i = 0; i < 2; i++)
		qs_init(&into[i], params, &test_heap);
	REQUIRE_OK(qs_make_dense(&into[1]));
	for (i = 0; i < ADDED; i++)
		REQUIRE_OK(qs_merge(&into[1], &from[i]));
	for (at = 0; at < qs_slice_units(params); at += count)
	{
		count = 1 + test_below(rng, qs_slice_units(params) - at);
		add_to_slice(&into[0], from, (qs_slice){ at, count }, rng);
	}
	REQUIRE(test_same(&into[0], &into[1]));
	for (i = 0; i < ADDED; i++)
		qs_free(&from[i]);
	for (i = 0; i < 2; i++)
		qs_free(&into[i]);
	test_no_leak();
}

static void
slices_take_many(void **state)
{
	test_rng rng = test_seeded(9);
	qs_params p, other;
	qs_sketch slice, from;
	int structure, round;

	(void) state;
	for (structure = QS_THREAD; structure < QS_STRUCTURES; structure++)
		for (round = 0; round < 12; round++)
		{
			WHERE("%s, round %d", qs_structure_name(structure), round);
			p = test_params(structure, 1 + test_below(&rng, 300), 1 + (int) test_below(&rng, 5), 3,
							structure == QS_THREAD ? 0 : 4, 5);
			check_added(&p, &rng);
		}
	/* adding is refused for other parameters and for too large totals */
	other = qs_slice_params(&p, 1);
	other.part = QS_PART_HOST;
	other.seed++;
	test_init_dense(&from, &p);
	qs_init(&slice, &other, &test_heap);
	REQUIRE_STATUS(qs_add_slice(&slice, &from, (qs_slice){ 0, 1 }), QB_MISMATCH);
	slice.params.seed--;
	slice.total = INT64_MAX;
	from.total = 1;
	REQUIRE_STATUS(qs_add_slice(&slice, &from, (qs_slice){ 0, 1 }), QB_TOTAL_OVERFLOW);
	qs_free(&from);
	qs_free(&slice);
	test_no_leak();
}

/*
 * Removed keys leave high buckets that are all zero.  Slices contain these high buckets, to which
 * keys are added again.
 */
static void
dead_high_buckets(void **state)
{
	qs_params p = test_params(QS_MULTILEVEL, 400, 3, 3, 4, 5);
	uint64_t key[STREAM];
	int64_t weight[STREAM];
	qs_sketch from, into[2];
	int i;

	(void) state;
	for (i = 0; i < STREAM; i++)
	{
		key[i] = test_key((uint64_t) i);
		weight[i] = 300;
	}
	test_init_dense(&from, &p);
	REQUIRE_OK(qs_engine_cpu.insert(&from, key, weight, STREAM));
	REQUIRE_OK(qs_engine_cpu.remove(&from, key, weight, STREAM - 1));
	REQUIRE(from.total == 300 && from.extra_used > 300);
	for (i = 0; i < 2; i++)
		test_init_dense(&into[i], &p);
	REQUIRE_OK(qs_merge(&into[1], &from));
	REQUIRE_OK(qs_merge_begin(&into[0], &from));
	for (i = 0; i < 400; i += 40)
		merge_slice(&into[0], &from, (qs_slice){ (uint64_t) i, 40 }, i % 80 == 0);
	for (i = 0; i < 2; i++)
		REQUIRE_OK(qs_engine_cpu.insert(&into[i], key, weight, STREAM));
	REQUIRE(test_same(&into[0], &into[1]));
	qs_free(&from);
	for (i = 0; i < 2; i++)
		qs_free(&into[i]);
	test_no_leak();
}

/*
 * Let an allocation fail while a sketch is added to a slice twice; returns false if both calls
 * succeed.
 */
static bool
fails_to_add(const qs_sketch *from, long call)
{
	qs_sketch slice = { .memory = &test_heap };
	qb_status status;

	test_fail_at(call);
	status = qs_add_slice(&slice, from, (qs_slice){ 3, 50 });
	if (status == QB_OK)
		status = qs_add_slice(&slice, from, (qs_slice){ 3, 50 });
	test_fail_at(0);
	qs_free(&slice);
	return status != QB_OK;
}

/* If memory runs out, nothing leaks, and the sketches can be freed. */
static void
no_memory(void **state)
{
	qs_params p = test_params(QS_MULTILEVEL, 64, 3, 3, 4, 5);
	test_rng rng = test_seeded(8);
	int failures = 0;
	int add_failures = 0;
	qs_sketch from, slice;
	long call;

	(void) state;
	test_init_dense(&from, &p);
	add_keys(&from, &rng, true);
	for (call = 1; call < 20; call++)
	{
		test_fail_at(call);
		if (qs_take_slice(&slice, &from, (qs_slice){ 3, 50 }, &test_heap) == QB_OK)
			qs_free(&slice);
		else
			failures++;
		test_fail_at(0);
		add_failures += fails_to_add(&from, call);
	}
	REQUIRE(failures > 1 && add_failures > 1);
	qs_free(&from);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_are_the_whole),
		cmocka_unit_test(slices_take_many),
		cmocka_unit_test(dead_high_buckets),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
