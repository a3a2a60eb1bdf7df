/*
 * test_sets_filter.c
 *		Which pairs pass a filter: thresholds are fractions, and exact at every boundary.
 *
 * test/unit/test_sets_filter.c
 */
#include "sets_support.h"

/* Check known fractions, and thresholds that are refused. */
static void
fractions(void **state)
{
	static const struct
	{
		double jaccard;
		uint64_t numerator, denominator;
	} known[] = {
		{ 0, 0, 1 },
		{ 1, 1, 1 },
		{ 0.5, 1, 2 },
		{ 0.8, 4, 5 },
		{ 1.0 / 3, 1, 3 },
		{ 0.1, 1, 10 },
		{ 0.95, 19, 20 },
		{ 2.0 / 3, 2, 3 },
		{ 0.333333, 333333, 1000000 },
		{ 0.125, 1, 8 },
		{ 0x1p-33, 1, UINT64_C(1) << 33 },
		{ 0x1p-1074, 1, UINT64_C(1) << 33 },
	};
	qset_filter f;
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(known); i++)
	{
		WHERE("case %d", (int) i);
		REQUIRE_OK(qset_filter_init(&f, 1, known[i].jaccard, 0));
		REQUIRE(f.numerator == known[i].numerator && f.denominator == known[i].denominator);
	}
	REQUIRE_STATUS(qset_filter_init(&f, -1, 0, 0), QB_BAD_FILTER);
	REQUIRE_STATUS(qset_filter_init(&f, 0, -0.1, 0), QB_BAD_FILTER);
	REQUIRE_STATUS(qset_filter_init(&f, 0, 1.0001, 0), QB_BAD_FILTER);
	REQUIRE_STATUS(qset_filter_init(&f, 0, strtod("nan", NULL), 0), QB_BAD_FILTER);
}

/* The quotient of the fraction equals the threshold, unless the threshold is below 2^-33. */
static void
fractions_are_exact(void **state)
{
	test_rng rng = test_seeded(11);
	qset_filter f;
	int i;

	(void) state;
	for (i = 0; i < 100000; i++)
	{
		double j = (double) (test_random(&rng) >> 11) * 0x1p-53;

		j = j / (double) (UINT64_C(1) << test_below(&rng, 30));
		if (j < 0x1p-33)
			continue;
		REQUIRE_OK(qset_filter_init(&f, 1, j, 0));
		REQUIRE((double) f.numerator / (double) f.denominator == j);
	}
}

/*
 * The filter passes exactly the pairs whose quotient reaches the threshold, at and next to each
 * boundary.
 */
static void
boundaries_are_exact(void **state)
{
	uint64_t either;
	uint64_t common;

	(void) state;
	for (either = 1; either < 60; either++)
		for (common = 0; common <= either; common++)
		{
			uint64_t c;
			uint64_t e;
			double j = (double) common / (double) either;
			qset_filter f;
			uint64_t least;
			uint64_t most;

			REQUIRE_OK(qset_filter_init(&f, 0, j, 0));
			for (e = 1; e < 60; e++)
				for (c = 0; c <= e; c++)
					REQUIRE(qset_filter_pass(&f, c, e) == (c * either >= common * e));
			/* if a pair of sets of sizes "either" and e can pass, e is within the bounds */
			for (e = 1; e < 60; e++)
			{
				qset_filter_sizes(&f, either, &least, &most);
				c = e < either ? e : either;
				if (qset_filter_pass(&f, c, e + either - c))
					REQUIRE(e >= least && e <= most && c >= qset_filter_least(&f, e));
			}
		}
}

/*
 * For a set that shares "common" elements with another set, qset_filter_most() returns the largest
 * size of the other set that passes.
 */
static void
largest_sizes_are_exact(void **state)
{
	static const double index[] = { 0.3, 0.5, 2.0 / 3, 0.8, 0.95, 1, 0.123456789012345678 };
	uint64_t size;
	uint64_t common;
	uint64_t other;
	size_t i;
	qset_filter f;

	(void) state;
	for (i = 0; i < sizeof(index) / sizeof(index[0]); i++)
	{
		REQUIRE(qset_filter_init(&f, 1, index[i], 0) == QB_OK);
		for (size = 1; size < 40; size++)
			for (common = 1; common <= size; common++)
				for (other = common; other < 200; other++)
					REQUIRE(qset_filter_pass(&f, common, size + other - common) ==
							(other <= qset_filter_most(&f, size, common)));
	}
	REQUIRE(qset_filter_init(&f, 3, 0, 0) == QB_OK);
	REQUIRE(qset_filter_most(&f, 10, 1) == UINT64_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fractions),
		cmocka_unit_test(fractions_are_exact),
		cmocka_unit_test(boundaries_are_exact),
		cmocka_unit_test(largest_sizes_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
