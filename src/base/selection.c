/*
 * selection.c
 *		Validates selections and groups of rows that another process has written.
 *
 * src/base/selection.c
 */
#include "base/selection.h"

static bool
test_is_valid(const qb_test *test, uint32_t columns)
{
	if (test->column >= columns || test->kind > QB_TEST_NULL || test->negated > 1)
		return false;
	return test->kind != QB_TEST_LIST || (test->first <= QB_SELECTION_NUMBERS &&
										  test->count <= QB_SELECTION_NUMBERS - test->first);
}

/* True if every index is within bounds.  The caller has validated the selection. */
bool
qb_groups_are_valid(const qb_groups *groups, const qb_selection *selection)
{
	return groups->column < selection->columns && groups->null <= 1 &&
		   groups->count >= groups->null && groups->count <= QB_GROUPS_MAX;
}

/*
 * True if every index is within bounds.  With valid indexes no test of a row reads outside of the
 * selection.
 */
bool
qb_selection_is_valid(const qb_selection *selection)
{
	uint32_t i;

	if (selection->columns > QB_SELECTION_COLUMNS || selection->tests > QB_SELECTION_TESTS)
		return false;
	for (i = 0; i < selection->tests; i++)
		if (!test_is_valid(&selection->test[i], selection->columns))
			return false;
	return true;
}
