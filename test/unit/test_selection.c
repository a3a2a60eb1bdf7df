/*
 * test_selection.c
 *		Selections of rows: tests on values of columns, validation of indexes, and groups.
 *
 * test/unit/test_selection.c
 */
#include "support.h"

#include "base/selection.h"

static const int64_t limit[] = { INT64_MIN, INT64_MIN + 1, INT32_MIN,     -7,       -1, 0, 1, 6, 7,
								 8,         INT32_MAX,     INT64_MAX - 1, INT64_MAX };

#define LIMITS (sizeof(limit) / sizeof(*limit))

static void
ranges_are_comparisons(void **state)
{
	size_t low, high, i;

	(void) state;
	for (low = 0; low < LIMITS; low++)
		for (high = low; high < LIMITS; high++)
			for (i = 0; i < LIMITS; i++)
			{
				qb_test test = { .kind = QB_TEST_RANGE, .low = limit[low], .high = limit[high] };
				bool inside = limit[low] <= limit[i] && limit[i] <= limit[high];

				assert_true(qb_test_passes(&test, NULL, false, limit[i]) == inside);
				test.negated = 1;
				assert_true(qb_test_passes(&test, NULL, false, limit[i]) == !inside);
			}
}

static void
lists_have_their_numbers(void **state)
{
	uint16_t count;
	size_t i;

	(void) state;
	for (count = 0; count <= LIMITS; count++)
		for (i = 0; i < LIMITS; i++)
		{
			qb_test test = { .kind = QB_TEST_LIST, .count = count };

			assert_true(qb_test_passes(&test, limit, false, limit[i]) == (i < count));
			assert_false(qb_test_passes(&test, limit, false, 12345));
			test.negated = 1;
			assert_true(qb_test_passes(&test, limit, false, limit[i]) == (i >= count));
		}
}

static void
null_passes_its_own_test_alone(void **state)
{
	qb_test test = { .kind = QB_TEST_RANGE, .low = INT64_MIN, .high = INT64_MAX };

	(void) state;
	assert_false(qb_test_passes(&test, limit, true, 0));
	test.negated = 1;
	assert_false(qb_test_passes(&test, limit, true, 0));
	test.kind = QB_TEST_LIST;
	assert_false(qb_test_passes(&test, limit, true, 0));
	test.kind = QB_TEST_NULL;
	assert_false(qb_test_passes(&test, limit, true, 0));
	assert_true(qb_test_passes(&test, limit, false, 0));
	test.negated = 0;
	assert_true(qb_test_passes(&test, limit, true, 0));
	assert_false(qb_test_passes(&test, limit, false, 0));
}

/* Returns a valid selection, whose list ends with the last number. */
static qb_selection
valid_selection(void)
{
	qb_selection selection = { .columns = 2, .tests = 1 };

	selection.test[0] = (qb_test){
		.column = 1, .kind = QB_TEST_LIST, .first = QB_SELECTION_NUMBERS - 3, .count = 3
	};
	return selection;
}

static void
indexes_out_of_bounds_are_refused(void **state)
{
	qb_selection selection = valid_selection();

	(void) state;
	assert_true(qb_selection_is_valid(&selection));
	selection.columns = QB_SELECTION_COLUMNS + 1;
	assert_false(qb_selection_is_valid(&selection));
	selection = valid_selection();
	selection.tests = QB_SELECTION_TESTS + 1;
	assert_false(qb_selection_is_valid(&selection));
	selection = valid_selection();
	selection.test[0].column = 2;
	assert_false(qb_selection_is_valid(&selection));
	selection = valid_selection();
	selection.test[0].kind = QB_TEST_NULL + 1;
	assert_false(qb_selection_is_valid(&selection));
	selection = valid_selection();
	selection.test[0].negated = 2;
	assert_false(qb_selection_is_valid(&selection));
	selection = valid_selection();
	selection.test[0].count = 4;
	assert_false(qb_selection_is_valid(&selection));
	selection = valid_selection();
	selection.test[0].first = 65535;
	assert_false(qb_selection_is_valid(&selection));
}

static void
groups_are_found(void **state)
{
	qb_selection selection = { .columns = 2 };
	qb_groups groups = { .column = 1, .null = 1, .count = QB_GROUPS_MAX };
	uint32_t count, i;

	(void) state;
	for (count = 0; count <= LIMITS; count++)
		for (i = 0; i < LIMITS; i++)
		{
			assert_true(qb_group_of(limit, count, 0, false, limit[i]) == (i < count ? i : count));
			assert_true(qb_group_of(limit, count, 0, false, 12345) == count);
			assert_true(qb_group_of(limit, count, 0, true, limit[i]) == count);
			assert_true(qb_group_of(limit, count + 1, 1, true, limit[i]) == count);
			assert_true(qb_group_of(limit, count + 1, 1, false, 12345) == count + 1);
		}
	assert_true(qb_groups_are_valid(&groups, &selection));
	groups.count++;
	assert_false(qb_groups_are_valid(&groups, &selection));
	groups.count = 0;
	assert_false(qb_groups_are_valid(&groups, &selection));
	groups = (qb_groups){ .column = 2, .count = 1 };
	assert_false(qb_groups_are_valid(&groups, &selection));
	groups = (qb_groups){ .null = 2, .count = 5 };
	assert_false(qb_groups_are_valid(&groups, &selection));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_comparisons),
		cmocka_unit_test(lists_have_their_numbers),
		cmocka_unit_test(null_passes_its_own_test_alone),
		cmocka_unit_test(indexes_out_of_bounds_are_refused),
		cmocka_unit_test(groups_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
