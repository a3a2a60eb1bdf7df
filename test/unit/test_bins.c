/*
 * test_bins.c
 *		Bins for measuring: each distance lies in exactly one bin.
 *
 * test/unit/test_bins.c
 */
#include "support.h"

#include "sketch/measure.h"

/* Check that a distance lies within its bin, and that the bin is narrow enough. */
static void
check(uint64_t distance)
{
	uint32_t bin = qs_bin_of(distance);
	uint64_t start = qs_bin_start(bin);
	uint64_t width = qs_bin_width(bin);

	assert_true(start <= distance && distance - start < width);
	assert_true(width == 1 || width <= distance / QS_BINS_FINE);
}

static void
bins_hold_their_distances(void **state)
{
	test_rng rng = test_seeded(1);
	int i;

	(void) state;
	for (i = 0; i < 100000; i++)
	{
		check((uint64_t) i);
		check(test_random(&rng) >> test_below(&rng, 64));
	}
	for (i = 0; i < 64; i++)
	{
		check(UINT64_C(1) << i);
		check((UINT64_C(1) << i) - 1);
	}
	check(UINT64_MAX);
}

/* The bins cover all distances without gaps. */
static void
bins_follow_each_other(void **state)
{
	uint32_t last = qs_bin_of(UINT64_MAX);
	uint32_t bin;

	(void) state;
	assert_int_equal(last, 14591);
	for (bin = 0; bin < last; bin++)
		assert_true(qs_bin_start(bin) + qs_bin_width(bin) == qs_bin_start(bin + 1));
	assert_true(qs_bin_start(last) + (qs_bin_width(last) - 1) == UINT64_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bins_hold_their_distances),
		cmocka_unit_test(bins_follow_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
