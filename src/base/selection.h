/*
 * selection.h
 *		Tests rows by conditions on columns of numbers, and assigns rows to groups.
 *
 * Each value of a column is represented by a number: the fingerprint that the value has as a key.
 * If the numbers of a type have the order of its values, a comparison with a constant is a range of
 * numbers, or a negated range.  Columns of all other types are tested only for NULL.
 *
 * A selection is an AND of tests of columns.  A selection has a fixed size and no pointers, because
 * it passes through shared memory to kernels.  qb_selection_is_valid() checks all of its indexes.
 *
 * NULL passes only a test for NULL, because a comparison with NULL is not true.
 *
 * src/base/selection.h
 */
#ifndef QB_SELECTION_H
#define QB_SELECTION_H

#include "base/port.h"

#define QB_SELECTION_COLUMNS 7
#define QB_SELECTION_TESTS   16
#define QB_SELECTION_NUMBERS 128

typedef enum qb_test_kind
{
	QB_TEST_RANGE, /* low <= number <= high */
	QB_TEST_LIST,  /* the number is in the list */
	QB_TEST_NULL   /* the value is NULL */
} qb_test_kind;

typedef struct qb_test
{
	uint16_t column;
	uint8_t kind;    /* qb_test_kind */
	uint8_t negated; /* 1: negated, rows pass if the test is false */
	uint16_t first;  /* QB_TEST_LIST: index of the first number of the list; the list ascends */
	uint16_t count;  /* QB_TEST_LIST: length of the list */
	int64_t low;
	int64_t high;
} qb_test;

/* A row passes if it passes all tests.  Without tests all rows pass. */
typedef struct qb_selection
{
	uint32_t columns;
	uint32_t tests;
	qb_test test[QB_SELECTION_TESTS];
	int64_t number[QB_SELECTION_NUMBERS]; /* the numbers of all lists */
} qb_selection;

extern bool qb_selection_is_valid(const qb_selection *selection);

/* A tile of consecutive rows, in the column of keys (column 0) and in all tested columns. */
#define QB_TILE_ROWS 2048

typedef struct qb_tile
{
	uint32_t rows;                            /* at most QB_TILE_ROWS */
	uint32_t first[1 + QB_SELECTION_COLUMNS]; /* index of the first row in each column */
} qb_tile;

/* True if "wanted" is in an ascending list of "count" numbers. */
QB_INLINE bool
qb_has_number(const int64_t *number, uint32_t count, int64_t wanted)
{
	while (count > 1)
	{
		uint32_t half = count / 2;

		number += number[half] <= wanted ? half : 0;
		count -= half;
	}
	return count == 1 && *number == wanted;
}

/* True if the number lies in the range of the test.  test->low is not above test->high. */
QB_INLINE bool
qb_in_range(const qb_test *test, int64_t number)
{
	return (uint64_t) number - (uint64_t) test->low <= (uint64_t) test->high - (uint64_t) test->low;
}

/* True if a row passes the test.  "list" has the numbers of the selection's lists. */
QB_INLINE bool
qb_test_passes(const qb_test *test, const int64_t *list, bool null, int64_t number)
{
	if (test->kind == QB_TEST_NULL)
		return null != (test->negated != 0);
	if (null)
		return false;
	if (test->kind == QB_TEST_LIST)
		return qb_has_number(list + test->first, test->count, number) != (test->negated != 0);
	return qb_in_range(test, number) != (test->negated != 0);
}

/* ---- groups ---- */

#define QB_GROUPS_MAX 512

/*
 * Groups of rows by a column of a selection: one group for each listed number, and one group for
 * NULL if "null" is 1.
 */
typedef struct qb_groups
{
	uint32_t column;
	uint32_t null;                 /* 1: the last group has the rows with NULL */
	uint32_t count;                /* number of groups, including the group of NULL */
	int64_t number[QB_GROUPS_MAX]; /* ascending; the group of NULL has no number */
} qb_groups;

extern bool qb_groups_are_valid(const qb_groups *groups, const qb_selection *selection);

/* Returns the group of a row, or "count" if the row belongs to no group. */
QB_INLINE uint32_t
qb_group_of(const int64_t *number, uint32_t count, uint32_t with_null, bool null, int64_t wanted)
{
	uint32_t numbers = count - with_null;
	uint32_t low = 0;

	if (null)
		return numbers; /* the last group, or "count" if NULL has no group */
	while (numbers - low > 1)
	{
		uint32_t middle = low + (numbers - low) / 2;

		if (number[middle] <= wanted)
			low = middle;
		else
			numbers = middle;
	}
	return low < numbers && number[low] == wanted ? low : count;
}

#endif
