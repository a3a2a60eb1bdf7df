/*
 * techniques_search.c
 *		OBS, optimized binary search: the smaller set's elements in the larger.
 *
 * Paper, section 3 (Hu, Liu and Huang).  In the paper the first levels of the
 * larger set's search tree lie in shared memory.  Here a table of elements at
 * equal distances stands for these levels.  The table stays in the first-level
 * cache, so only the last levels touch the set.  O(n log m) comparisons, where
 * a is the smaller set.
 *
 * src/sets/techniques_search.c
 */
#include "sets/techniques.h"

/* Entries of the cached levels: 4 kB, ten levels. */
#define TOP 1024

/*
 * Is x in b?  The number of steps does not depend on the comparisons, so no
 * branch is mispredicted.
 */
static inline uint64_t
contains(const uint32_t *b, uint64_t m, uint32_t x)
{
	while (m > 1)
	{
		uint64_t half = m / 2;

		b = b[half] <= x ? b + half : b;
		m -= half;
	}
	return m == 1 && *b == x;
}

uint64_t
qset_search_piece(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m)
{
	uint64_t common = 0;
	uint64_t i;

	if (n > m)
		return qset_search_piece(b, m, a, n);
	for (i = 0; i < n; i++)
		common += contains(b, m, a[i]);
	return common;
}

/* The last entry <= x of a table whose size is a power of two; the first entry if none is. */
static inline uint64_t
segment_of(const uint32_t *top, uint32_t x)
{
	uint64_t at = 0;
	uint64_t half;

	for (half = TOP / 2; half > 0; half /= 2)
		at += top[at + half] <= x ? half : 0;
	return at;
}

uint64_t
qset_search_count(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m)
{
	uint32_t top[TOP];
	uint64_t segment = (m + TOP - 1) / TOP;
	uint64_t common = 0;
	uint64_t i;

	if (n > m)
		return qset_search_count(b, m, a, n);
	if (m < 2 * TOP)
		return qset_search_piece(a, n, b, m);
	for (i = 0; i < TOP; i++)
		top[i] = i * segment < m ? b[i * segment] : UINT32_MAX;
	for (i = 0; i < n; i++)
	{
		uint64_t from = segment_of(top, a[i]) * segment;

		common += contains(b + from, m - from < segment ? m - from : segment, a[i]);
	}
	return common;
}
