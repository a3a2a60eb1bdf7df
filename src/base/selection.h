/*
 * selection.h
 *		Which rows pass conditions on columns of numbers, and the fingerprints of numbers.
 *
 * A number stands for the value of a column: it has the order of the values.  So every
 * comparison with a constant is a range of numbers.  A selection is an AND of tests of
 * columns.  It has a fixed size and no pointers, because it is sent through shared
 * memory and given to kernels.  qb_selection_is_valid() checks every index in it.
 *
 * NULL passes no test but the one for NULL, as a comparison with NULL is not true.
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
	uint8_t negated; /* 1: rows pass for which the test is false */
	uint16_t first;  /* QB_TEST_LIST: place of its first number, ascending */
	uint16_t count;  /* and how many they are */
	int64_t low;
	int64_t high;
} qb_test;

/* All tests must pass.  Without tests all rows pass. */
typedef struct qb_selection
{
	uint32_t columns;
	uint32_t tests;
	qb_test test[QB_SELECTION_TESTS];
	int64_t number[QB_SELECTION_NUMBERS]; /* of all lists */
} qb_selection;

extern bool qb_selection_is_valid(const qb_selection *selection);

/* Rows that lie side by side in the column of the keys (the first) and in all tested columns. */
#define QB_TILE_ROWS 2048

typedef struct qb_tile
{
	uint32_t rows; /* at most QB_TILE_ROWS */
	uint32_t first[1 + QB_SELECTION_COLUMNS];
} qb_tile;

/* Is the number in an ascending list? */
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

/* Does a row pass the test?  "list" has the numbers of the selection's lists. */
QB_INLINE bool
qb_test_passes(const qb_test *test, const int64_t *list, bool null, int64_t number)
{
	uint64_t width = (uint64_t) test->high - (uint64_t) test->low;

	if (test->kind == QB_TEST_NULL)
		return null != (test->negated != 0);
	if (null)
		return false;
	if (test->kind == QB_TEST_LIST)
		return qb_has_number(list + test->first, test->count, number) != (test->negated != 0);
	return ((uint64_t) number - (uint64_t) test->low <= width) != (test->negated != 0);
}

/* ---- groups ---- */

#define QB_GROUPS_MAX 512

/* Groups of rows by the number in a column of a selection, and the group of its NULLs. */
typedef struct qb_groups
{
	uint32_t column;
	uint32_t null;                 /* 1: the last group is that of NULLs */
	uint32_t count;                /* of all groups */
	int64_t number[QB_GROUPS_MAX]; /* ascending, of the groups but that of NULLs */
} qb_groups;

extern bool qb_groups_are_valid(const qb_groups *groups, const qb_selection *selection);

/* The group of a row; "count" if it belongs to none. */
QB_INLINE uint32_t
qb_group_of(const int64_t *number, uint32_t count, uint32_t with_null, bool null, int64_t wanted)
{
	uint32_t numbers = count - with_null;
	uint32_t low = 0;

	if (null)
		return numbers; /* the last one, or none */
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

/* ---- fingerprints ---- */

/* How the fingerprint of a key comes from the number that stands for it. */
typedef enum qb_number_form
{
	QB_NUMBER_IS_KEY, /* it is the fingerprint */
	QB_NUMBER_HASH32, /* PostgreSQL's hash of 32 bits: of dates and booleans */
	QB_NUMBER_HASH64, /* and of 64 bits: of times and timestamps */
	QB_NUMBER_NONE    /* every key is 0, and that of NULL, too: rows are counted */
} qb_number_form;

QB_INLINE uint32_t
qb_rotate32(uint32_t x, int by)
{
	return x << by | x >> (32 - by);
}

/*
 * The extended hash of a 32-bit integer with seed 0, as PostgreSQL defines it: the last
 * round of Jenkins' lookup3.  It is part of the format of stored values, and PostgreSQL
 * cannot change it, because hash partitions depend on it.
 */
QB_INLINE uint64_t
qb_hash32(uint32_t x)
{
	const uint32_t start = UINT32_C(0x9E3779B9) + 4 + 3923095;
	uint32_t a = start + x;
	uint32_t b = start;
	uint32_t c = (start ^ b) - qb_rotate32(b, 14);

	a = (a ^ c) - qb_rotate32(c, 11);
	b = (b ^ a) - qb_rotate32(a, 25);
	c = (c ^ b) - qb_rotate32(b, 16);
	a = (a ^ c) - qb_rotate32(c, 4);
	b = (b ^ a) - qb_rotate32(a, 14);
	c = (c ^ b) - qb_rotate32(b, 24);
	return (uint64_t) b << 32 | c;
}

/* The extended hash of a 64-bit integer: that of an integer of 32 bits if it fits in one. */
QB_INLINE uint64_t
qb_hash64(int64_t x)
{
	uint32_t high = (uint32_t) ((uint64_t) x >> 32);

	return qb_hash32((uint32_t) x ^ (x >= 0 ? high : ~high));
}

QB_INLINE uint64_t
qb_number_fingerprint(int64_t number, qb_number_form form)
{
	if (form == QB_NUMBER_HASH32)
		return qb_hash32((uint32_t) number);
	if (form == QB_NUMBER_HASH64)
		return qb_hash64(number);
	return form == QB_NUMBER_NONE ? 0 : (uint64_t) number;
}

#endif
