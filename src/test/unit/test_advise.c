/*
 * test_advise.c
 *		Forecasts of errors, against sketches that are built.
 *
 * src/test/unit/test_advise.c
 */
#include "support.h"

#include <math.h>

#include "sketch/advise.h"
#include "sketch/measure.h"

static qs_forecast
forecast(const qs_params *params, double rows, double keys, double confidence)
{
	qs_forecast f;

	REQUIRE_STATUS(qs_forecast_make(&f, params, rows, keys, confidence, &test_heap), QS_OK);
	return f;
}

/* Keys of equal count, as many as are asked for. */
static void
compare(int structure, uint64_t n, uint64_t keys, int64_t count, double confidence)
{
	qs_params params = test_usual_params(structure, n);
	qs_forecast f = forecast(&params, (double) keys * (double) count, (double) keys, confidence);
	qs_noise noise;
	qs_sketch sk;
	double error, bytes;
	uint64_t i;

	test_init(&sk, &params);
	for (i = 0; i < keys; i++)
		test_insert(&sk, test_key(i), count);
	REQUIRE_STATUS(qs_noise_init(&noise, &sk, 1, &test_heap), QS_OK);
	error = (double) qs_noise_error(&noise, confidence, 1);
	bytes = (double) qs_flat_size(&sk);
	WHERE("structure %d, %d keys of %d: error %g, forecast %g; bytes %g, forecast %g", structure,
		  (int) keys, (int) count, error, f.error, bytes, f.stored_bytes);
	REQUIRE(fabs(f.error - error) <= 2 * (double) count + 0.05 * error);
	REQUIRE(fabs(f.stored_bytes - bytes) <= 0.1 * bytes);
	qs_noise_free(&noise);
	qs_free(&sk);
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

/* More rows, and fewer buckets, never make an error smaller; any number of rows will do. */
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
	qs_forecast f;
	long k;

	(void) state;
	for (k = 1;; k++)
	{
		qs_status status;

		test_fail_at(k);
		status = qs_forecast_make(&f, &params, 1e6, 1e5, 0.95, &test_heap);
		test_fail_at(0);
		if (status == QS_OK)
			break;
		REQUIRE(status == QS_NO_MEMORY);
	}
	REQUIRE(k > 2);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_built),
		cmocka_unit_test(grows),
		cmocka_unit_test(out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
