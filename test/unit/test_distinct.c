/*
 * test_distinct.c
 *		The number of distinct keys of a sketch.
 *
 * Explicit sketches are exact.  The errors of dense sketches, over many seeds, must scatter
 * as the standard error of moments.h predicts.
 *
 * test/unit/test_distinct.c
 */
#include "support.h"

#include <math.h>

#include "sketch/moments.h"
#include "sketch/format.h"
#include "sketch/sf.h"

#define TRIALS 1000

/* Make a dense sketch of "keys" keys, which differ between trials. */
static void
fill(qs_sketch *sk, const qs_params *p, uint64_t trial, uint64_t keys)
{
	uint64_t batch[QS_BATCH];
	int64_t weight[QS_BATCH];
	uint64_t i;

	test_init_dense(sk, p);
	for (i = 0; i < keys;)
	{
		size_t n = 0;

		for (; n < QS_BATCH && i < keys; n++, i++)
		{
			batch[n] = test_key(trial << 32 | (i + 2));
			weight[n] = 1 + (int64_t) (i % 700);
		}
		REQUIRE_OK(qs_engine_cpu.insert(sk, batch, weight, n));
	}
}

/* Check that estimates scatter around the number of keys as their standard errors predict. */
static void
check_trials(const qs_params *p, int part, uint64_t keys)
{
	double squares = 0;
	double mean = 0;
	int within = 0;
	uint64_t trial;

	for (trial = 0; trial < TRIALS; trial++)
	{
		qs_params seeded = *p;
		qs_sketch full, sk;
		qs_distinct found;
		double off;

		seeded.seed = trial;
		fill(&full, &seeded, trial, keys);
		if (part)
			REQUIRE_OK(qs_sf_part(&sk, &full, part, &test_heap));
		found = qs_distinct_keys(part ? &sk : &full, &test_heap);
		REQUIRE(found.known && found.standard_error > 0);
		off = (found.estimate - (double) keys) / found.standard_error;
		within += fabs(off) <= 3;
		mean += off / TRIALS;
		squares += off * off / TRIALS;
		qs_free(&full);
		if (part)
			qs_free(&sk);
	}
	REQUIRE(within >= TRIALS * 99 / 100);
	REQUIRE(fabs(mean) < 0.15);
	REQUIRE(sqrt(squares) > 0.9 && sqrt(squares) < 1.12);
}

/*
 * Test sketches with few keys, with about one key per three counters, and with nearly as many
 * keys as can be estimated.
 */
static void
errors_are_those_of_theory(void **state)
{
	static const double loads[] = { 0.05, 1, 3 };
	int structure;
	size_t i;

	(void) state;
	for (structure = 1; structure < QS_STRUCTURES; structure++)
		for (i = 0; i < ALL_OF(loads); i++)
		{
			uint64_t width = structure == QS_THREAD ? 1 : qs_bucket_width(structure);
			uint64_t cells = structure == QS_SF ? 4 : 1;
			qs_params p = test_params(structure, 3600 / width, 3, 4, 10, 0);
			double counters = (double) (p.n * width * cells);

			WHERE("structure %d, load %g", structure, loads[i]);
			check_trials(&p, 0,
						 (uint64_t) (counters * loads[i] / (structure == QS_THREAD ? 1 : 3)));
		}
}

/* Test parts of sf sketches, depths from 1 to 16, and a single mask. */
static void
errors_hold_for_parts_and_masks(void **state)
{
	static const struct
	{
		int structure, depth, log2_masks, part;
		uint64_t n, keys;
	} cases[] = {
		{ QS_SF, 3, 10, QS_PART_DEVICE, 400, 900 }, { QS_SF, 3, 10, QS_PART_HOST, 300, 3000 },
		{ QS_WARP, 16, 10, 0, 100, 150 },           { QS_MULTILEVEL, 1, 10, 0, 120, 3000 },
		{ QS_MULTILEVEL, 5, 0, 0, 100, 700 },       { QS_SUB_WARP, 4, 0, 0, 400, 900 },
		{ QS_THREAD, 8, 0, 0, 500, 700 },
	};
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(cases); i++)
	{
		qs_params p = test_params(cases[i].structure, cases[i].n, (uint32_t) cases[i].depth, 4,
								  (uint32_t) cases[i].log2_masks, 0);

		WHERE("case %zu", i);
		check_trials(&p, cases[i].part, cases[i].keys);
	}
}

/* A compact sketch gives the estimate of its tables. */
static void
compact_agrees(void **state)
{
	int structure;

	(void) state;
	for (structure = QS_THREAD; structure < QS_STRUCTURES; structure++)
	{
		qs_params p = test_usual_params(structure, 1024);
		qs_distinct of_view, of_tables;
		qs_sketch sk, view;
		test_bytes b;

		WHERE("structure %d", structure);
		fill(&sk, &p, 1, 200);
		b = test_write(&sk);
		REQUIRE_OK(qs_open(&view, b.data, b.length));
		REQUIRE(view.encoding == QS_COMPACT);
		of_view = qs_distinct_keys(&view, &test_heap);
		of_tables = qs_distinct_keys(&sk, &test_heap);
		REQUIRE(of_view.known && of_view.estimate == of_tables.estimate &&
				of_view.standard_error == of_tables.standard_error);
		free(b.data);
		qs_free(&sk);
	}
	test_no_leak();
}

static void
few_keys_are_exact(void **state)
{
	qs_params p = test_usual_params(QS_MULTILEVEL, 256);
	qs_sketch sk, dense;
	qs_distinct found;
	uint64_t i;

	(void) state;
	test_init(&sk, &p);
	test_init_dense(&dense, &p);
	for (i = 0; i <= 40; i++)
	{
		found = qs_distinct_keys(&sk, &test_heap);
		REQUIRE(found.known && found.estimate == (double) i && found.standard_error == 0);
		test_insert(&sk, test_key(i), 7);
		test_insert(&sk, test_key(i), 1);
	}
	found = qs_distinct_keys(&dense, &test_heap);
	REQUIRE(found.known && found.estimate == 0 && found.standard_error == 0);
	REQUIRE_OK(test_try_remove(&sk, test_key(3), 8));
	REQUIRE(qs_distinct_keys(&sk, &test_heap).estimate == 40);
	qs_free(&sk);
	qs_free(&dense);
}

/* A copy of a view gives the estimate of the sketch.  An overfull sketch gives no estimate. */
static void
views_and_full_sketches(void **state)
{
	int structure;

	(void) state;
	for (structure = 1; structure < QS_STRUCTURES; structure++)
	{
		qs_params p = test_usual_params(structure, 64);
		qs_sketch sk, view, copy;
		qs_distinct a, b;
		test_bytes bytes;

		WHERE("structure %d", structure);
		fill(&sk, &p, 1, 60);
		bytes = test_write_valid(&sk);
		REQUIRE_OK(qs_open(&view, bytes.data, bytes.length));
		a = qs_distinct_keys(&sk, &test_heap);
		REQUIRE_OK(qs_copy(&copy, &view, &test_heap));
		b = qs_distinct_keys(&copy, &test_heap);
		REQUIRE(a.known == b.known && a.estimate == b.estimate &&
				a.standard_error == b.standard_error);
		free(bytes.data);
		qs_free(&copy);
		qs_free(&sk);
		fill(&sk, &p, 2, 60000);
		REQUIRE(!qs_distinct_keys(&sk, &test_heap).known);
		qs_free(&sk);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compact_agrees),
		cmocka_unit_test(few_keys_are_exact),
		cmocka_unit_test(views_and_full_sketches),
		cmocka_unit_test(errors_are_those_of_theory),
		cmocka_unit_test(errors_hold_for_parts_and_masks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
