/*
 * techniques_bitmap.c
 *		BI, bitmap-based intersection: one bit for each element of the universe.
 *
 * Paper, section 3.  Naive: all bitmaps are there, and a pair costs |E|/64
 * words of AND and popcount (qset_kernels.and_count).  Dynamic (as Bisson and
 * Fatica): one bitmap at a time, and each other set costs a probe an element
 * (qset_kernels.probe); clearing walks the set again instead of the universe.
 *
 * src/sets/techniques_bitmap.c
 */
#include "sets/techniques.h"

void
qset_bitmap_set(uint64_t *bits, const uint32_t *a, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		bits[a[i] / 64] |= UINT64_C(1) << a[i] % 64;
}

void
qset_bitmap_clear(uint64_t *bits, const uint32_t *a, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		bits[a[i] / 64] = 0;
}
