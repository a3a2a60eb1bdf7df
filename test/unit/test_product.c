/*
 * test_product.c
 *		Inner products and second moments.
 *
 * Estimates are compared with exact products for every structure.  Different forms and
 * counter widths must give equal products.  Errors and reported standard errors are
 * measured on small sketches; "make accuracy" measures them on large sketches.
 *
 * test/unit/test_product.c
 */
#include "samples.h"

#include <math.h>

#include "sketch/moments.h"

static qs_product
product(const qs_sketch *a, const qs_sketch *b)
{
	qs_product p;

	REQUIRE_STATUS(qs_inner_product(a, b, &test_heap, &p), QB_OK);
	return p;
}

static void
explicit_is_exact(void **state)
{
	qs_params params = test_usual_params(QS_MULTILEVEL, 1024);
	qs_params smaller = test_usual_params(QS_MULTILEVEL, 256);
	qs_sketch a, b;
	qs_product p;

	(void) state;
	test_init(&a, &params);
	test_init(&b, &smaller);
	p = product(&a, &b);
	REQUIRE(p.estimate == 0 && p.standard_error == 0);
	test_insert(&a, 1, 3);
	test_insert(&a, 2, 5);
	test_insert(&b, 2, 7);
	test_insert(&b, 4, 11);
	p = product(&a, &b);
	REQUIRE(p.estimate == 35 && p.standard_error == 0);
	p = product(&a, &a);
	REQUIRE(p.estimate == 9 + 25 && p.standard_error == 0);
	test_insert(&a, 3, INT64_MAX - 8);
	REQUIRE(product(&a, &a).estimate == ldexp(1, 126));
	qs_free(&a);
	qs_free(&b);
	test_no_leak();
}

/*
 * The product of a single key is exact.  In thread sketches its standard error is not 0,
 * because the mean that is subtracted from each counter looks like many light keys.
 */
static void
lone_key(int structure, uint64_t key)
{
	qs_params params = test_usual_params(structure, 64);
	qs_sketch sk;
	qs_product p;

	WHERE("structure %d, key %d", structure, (int) key);
	test_init_dense(&sk, &params);
	test_insert(&sk, key, 1000);
	p = product(&sk, &sk);
	REQUIRE(fabs(p.estimate - 1e6) < 1e-6);
	REQUIRE(p.standard_error < (structure == QS_THREAD ? 3e4 : 1e-3));
	qs_free(&sk);
}

static void
lone_keys(void **state)
{
	int structure;
	uint64_t key;

	(void) state;
	for (structure = QS_THREAD; structure < QS_STRUCTURES; structure++)
		for (key = 0; key < 20; key++)
			lone_key(structure, key);
	test_no_leak();
}

#define KEYS 3000

/* Compute the mean and the mean square of the errors of 40 seeds, in standard errors. */
static void
errors(const qs_params *like, double *mean, double *square)
{
	enum
	{
		SEEDS = 40
	};
	int seed;

	*mean = *square = 0;
	for (seed = 0; seed < SEEDS; seed++)
	{
		qs_params params = *like;
		double truth = 0;
		qs_sketch a, b;
		qs_product p;
		uint64_t i;

		params.seed = (uint64_t) seed;
		test_init_dense(&a, &params);
		params.n /= 2;
		test_init_dense(&b, &params);
		for (i = 0; i < KEYS; i++)
		{
			test_insert(&a, test_key(i), (int64_t) (1 + i % 5));
			test_insert(&b, test_key(i + KEYS / 2), (int64_t) (1 + i % 3));
			if (i + KEYS / 2 < KEYS)
				truth += (double) ((1 + (i + KEYS / 2) % 5) * (1 + i % 3));
		}
		p = product(&a, &b);
		REQUIRE(product(&b, &a).estimate == p.estimate);
		*mean += (p.estimate - truth) / p.standard_error / SEEDS;
		*square += pow((p.estimate - truth) / p.standard_error, 2) / SEEDS;
		qs_free(&a);
		qs_free(&b);
	}
}

/*
 * The mean may be off by 4 standard deviations of the mean of 40 normal errors.  The mean square,
 * whose expectation is 1, may be 0.35 to 2.
 */
static void
calibrated(void **state)
{
	int structure;

	(void) state;
	for (structure = QS_THREAD; structure < QS_STRUCTURES; structure++)
	{
		int depth;

		for (depth = 1; depth <= 8; depth += 7 - 5 * (depth == 1))
		{
			qs_params params =
				test_params(structure, structure == QS_THREAD ? 2048 : 128, depth,
							structure == QS_SF ? 8 : 0, structure == QS_THREAD ? 0 : 10, 0);
			double mean, square;

			errors(&params, &mean, &square);
			WHERE("structure %d, depth %d: mean %g, mean square %g", structure, depth, mean,
				  square);
			REQUIRE(fabs(mean) < 0.65);
			REQUIRE(square > 0.35 && square < 2);
		}
	}
	test_no_leak();
}

/*
 * The result depends neither on the form (explicit or dense) nor on the counter width (4 or 8
 * bytes).
 */
static void
forms_agree(void **state)
{
	qs_params params = test_usual_params(QS_MULTILEVEL, 128);
	qs_sketch few, dense, many, wide;
	uint64_t i;

	(void) state;
	test_init(&few, &params);
	test_init_dense(&dense, &params);
	test_init_dense(&many, &params);
	qs_init(&wide, &params, &test_heap);
	REQUIRE_STATUS(qs_start_dense(&wide, true), QB_OK);
	for (i = 0; i < 20; i++)
	{
		test_insert(&few, test_key(i), 50);
		test_insert(&dense, test_key(i), 50);
	}
	test_fill(&many, 1, 3000, 20000);
	test_fill(&wide, 1, 3000, 20000);
	REQUIRE(product(&few, &many).estimate == product(&dense, &many).estimate);
	REQUIRE(product(&many, &few).standard_error == product(&dense, &many).standard_error);
	REQUIRE(product(&many, &many).estimate == product(&many, &wide).estimate);
	qs_free(&few);
	qs_free(&dense);
	qs_free(&many);
	qs_free(&wide);
	test_no_leak();
}

static void
require_same(qs_product a, qs_product b)
{
	REQUIRE(a.estimate == b.estimate && a.standard_error == b.standard_error);
}

/*
 * Check that a compact sketch and its tables give equal products, with themselves and with a
 * smaller sketch.
 */
static void
require_compact(test_bytes b)
{
	qs_sketch view, tables, half;

	REQUIRE_OK(qs_open(&view, b.data, b.length));
	REQUIRE(view.encoding == QS_COMPACT);
	REQUIRE_OK(qs_copy(&tables, &view, &test_heap));
	REQUIRE_OK(qs_copy(&half, &view, &test_heap));
	REQUIRE_OK(qs_fold(&half, half.params.n / 2));
	require_same(product(&view, &view), product(&tables, &tables));
	require_same(product(&view, &tables), product(&tables, &view));
	require_same(product(&view, &half), product(&tables, &half));
	require_same(product(&half, &view), product(&half, &tables));
	qs_free(&tables);
	qs_free(&half);
}

static void
compact_agrees(void **state)
{
	int structure;
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(samples); i++)
	{
		test_bytes b = sample_bytes(&samples[i]);

		WHERE("%s", samples[i].name);
		if (sample_form(samples[i].kind) == QS_COMPACT && samples[i].part != QS_PART_DEVICE)
			require_compact(b);
		free(b.data);
	}
	for (structure = QS_THREAD; structure < QS_STRUCTURES; structure++)
	{
		qs_params params = test_usual_params(structure, 4096);
		qs_sketch sk;
		test_bytes b;

		WHERE("structure %d", structure);
		test_init_dense(&sk, &params);
		test_fill(&sk, 1, 300, 2000);
		b = test_write(&sk);
		require_compact(b);
		free(b.data);
		qs_free(&sk);
	}
	test_no_leak();
}

/* If memory runs out, the status is QB_NO_MEMORY, and nothing leaks. */
static void
out_of_memory(void **state)
{
	qs_params params = test_usual_params(QS_SF, 64);
	qs_params smaller = test_usual_params(QS_SF, 32);
	qs_sketch few, many;
	qs_product p;
	long k;

	(void) state;
	test_init(&few, &params);
	test_init_dense(&many, &smaller);
	test_insert(&few, 1, 1);
	for (k = 1;; k++)
	{
		qb_status status;

		test_fail_at(k);
		status = qs_inner_product(&few, &many, &test_heap, &p);
		test_fail_at(0);
		if (status == QB_OK)
			break;
		REQUIRE(status == QB_NO_MEMORY);
	}
	REQUIRE(k > 1);
	qs_free(&few);
	qs_free(&many);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(explicit_is_exact), cmocka_unit_test(lone_keys),
		cmocka_unit_test(calibrated),        cmocka_unit_test(forms_agree),
		cmocka_unit_test(compact_agrees),    cmocka_unit_test(out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
