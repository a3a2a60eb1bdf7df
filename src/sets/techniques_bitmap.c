/*
 * techniques_bitmap.c
 *		BI, bitmap-based intersection: one bit for each element of the universe.
 *
 * Paper, section 3.  Naive: all sets have bitmaps, and a pair costs |E|/64
 * words of AND and popcount (qset_kernels.and_count).  Dynamic (Bisson and
 * Fatica): one set at a time has a bitmap, and each set compared with it costs
 * one probe for each of its elements (qset_kernels.probe).  Clearing the
 * bitmap walks the set again instead of the universe.
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
