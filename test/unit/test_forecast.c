/*
 * test_forecast.c
 *		Forecasts of errors, compared with the errors of real sketches.
 *
 * test/unit/test_forecast.c
 */
#include "support.h"

#include <math.h>

#include "sketch/measure.h"

static qs_forecast
forecast_of(const qs_params *params, const qs_load *load, double confidence)
{
	qs_forecast f;

	REQUIRE_STATUS(qs_forecast_make(&f, params, load, confidence, &test_heap), QB_OK);
	return f;
}

static qs_forecast
forecast(const qs_params *params, double rows, double keys, double confidence)
{
	qs_load load = { .total = rows, .keys = keys };

	return forecast_of(params, &load, confidence);
}

/*
 * Compare a sketch with its forecast.  The error may differ by "most" plus "fraction" times the
 * error, and the size by 10 %.
 */
static void
require_near(const qs_sketch *sk, qs_forecast f, double confidence, double most, double fraction)
{
	qs_noise noise;
	double error, bytes;

	REQUIRE_STATUS(qs_noise_init(&noise, sk, 1, &test_heap), QB_OK);
	error = (double) qs_noise_error(&noise, confidence, 1);
	bytes = (double) (sk->encoding == QS_EXPLICIT ? 16 * sk->used : test_table_bytes(sk));
	WHERE("structure %d, total %g, confidence %g: error %g, forecast %g; bytes %g, forecast %g",
		  sk->params.structure, (double) sk->total, confidence, error, f.error, bytes,
		  f.table_bytes);
	REQUIRE(fabs(f.error - error) <= most + fraction * error);
	REQUIRE(fabs(f.table_bytes - bytes) <= 0.1 * bytes);
	qs_noise_free(&noise);
}

/* Compare a sketch, all of whose keys have the same count, with its forecast. */
static void
compare(int structure, uint64_t n, uint64_t keys, int64_t count, double confidence)
{
	qs_params params = test_usual_params(structure, n);
	qs_forecast f = forecast(&params, (double) keys * (double) count, (double) keys, confidence);
	qs_sketch sk;
	uint64_t i;

	test_init(&sk, &params);
	for (i = 0; i < keys; i++)
		test_insert(&sk, test_key(i), count);
	require_near(&sk, f, confidence, 2 * (double) count, 0.05);
	qs_free(&sk);
}

/* Returns a weight from "least" to 10^4 * least, uniformly distributed on a logarithmic scale. */
static int64_t
spread_weight(uint64_t i, double least)
{
	return (int64_t) (least * pow(10, 4 * (double) (qb_mix64(i) >> 11) / 9007199254740992.0));
}

/* The number of weights in the sample that the forecast reads. */
#define SOME 2000

static void
compare_weights(int structure, uint64_t n, uint64_t keys, double least, double fraction)
{
	static const double confidences[] = { 0.5, 0.95, 0.99 };
	qs_params params = test_usual_params(structure, n);
	int64_t weight[SOME];
	qs_load load = { .keys = (double) keys, .weight = weight, .weights = SOME };
	qs_sketch sk;
	uint64_t i;

	for (i = 0; i < SOME; i++)
	{
		weight[i] = spread_weight(keys + i, least);
		load.total += (double) weight[i] / SOME * (double) keys;
	}
	test_init(&sk, &params);
	for (i = 0; i < keys; i++)
		test_insert(&sk, test_key(i), spread_weight(i, least));
	for (i = 0; i < ALL_OF(confidences); i++)
		require_near(&sk, forecast_of(&params, &load, confidences[i]), confidences[i], 3 * least,
					 fraction);
	qs_free(&sk);
}

/*
 * Test narrow and wide counters, with few and many keys in a bucket.  With few keys, the error
 * varies more with the positions of the heavy keys, so the tolerance is larger.
 */
static void
as_built_with_weights(void **state)
{
	int structure;

	(void) state;
	for (structure = QS_THREAD; structure < QS_STRUCTURES; structure++)
	{
		uint64_t n = structure == QS_THREAD ? 4096 : 256;

		compare_weights(structure, n, 3000, 10, 0.6);
		compare_weights(structure, n, 30000, 10, 0.06);
		compare_weights(structure, n, 30000, 1000, 0.06);
	}
	test_no_leak();
}

static void
as_built(void **state)
{
	int structure;

	(void) state;
	for (structure = QS_THREAD; structure < QS_STRUCTURES; structure++)
	{
		uint64_t n = structure == QS_THREAD ? 4096 : 256;

		compare(structure, n, 10, 100, 0.95);
		compare(structure, n, 3000, 1, 0.95);
		compare(structure, n, 30000, 1, 0.5);
		compare(structure, n, 30000, 7, 0.99);
		compare(structure, n / 64, 60000, 1, 0.95);
	}
	test_no_leak();
}

/* More rows or fewer buckets never decrease the error, for any number of rows. */
static void
grows(void **state)
{
	int structure;

	(void) state;
	for (structure = QS_THREAD; structure < QS_STRUCTURES; structure++)
	{
		double before = 0;
		double rows;

		for (rows = 1; rows < 1e19; rows *= 1000)
		{
			qs_params params = test_usual_params(structure, 1024);
			double error = forecast(&params, rows, rows, 0.95).error;

			WHERE("structure %d, %g rows: %g after %g", structure, rows, error, before);
			REQUIRE(error >= before && error <= rows);
			params.n = 512;
			REQUIRE(forecast(&params, rows, rows, 0.95).error >= error);
			before = error;
		}
	}
	test_no_leak();
}

static void
out_of_memory(void **state)
{
	qs_params params = test_usual_params(QS_MULTILEVEL, 64);
	qs_load load = { .total = 1e6, .keys = 1e5 };
	qs_forecast f;
	long k;

	(void) state;
	for (k = 1;; k++)
	{
		qb_status status;

		test_fail_at(k);
		status = qs_forecast_make(&f, &params, &load, 0.95, &test_heap);
		test_fail_at(0);
		if (status == QB_OK)
			break;
		REQUIRE(status == QB_NO_MEMORY);
	}
	REQUIRE(k > 2);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_built),
		cmocka_unit_test(as_built_with_weights),
		cmocka_unit_test(grows),
		cmocka_unit_test(out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
