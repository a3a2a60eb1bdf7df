/*
 * masks.h
 *		Hash masks: which d of a bucket's m counters belong to a key.
 *
 * A sketch has H masks (a power of two up to 65536), each with exactly d of m bits
 * set.  Bit i selects counter i.  A mask is drawn without bias from a stream that
 * depends only on (seed, m, d) and the mask's index.  So a mask can be computed by
 * itself, without the table, and a table of H masks begins with the table of H/2.
 * Paper: section III-A.
 *
 * A key's mask is a mask of the table, rotated by 0 .. m-1 positions.  Two keys of a
 * bucket with the same mask cannot be told apart.  With 1024 masks and no rotation
 * that happens 4 to 6 times as often as with any d of m counters, when there are
 * thousands of such choices: it costs multilevel a fifth of its accuracy and warp a
 * sixteenth.  With rotation, 1024 masks are as good as all masks.
 *
 * src/sketch/masks.h
 */
#ifndef QS_MASKS_H
#define QS_MASKS_H

#include "base/hash.h"

#define QS_MASKS_MAX     65536
#define QS_MASK_BITS_MAX 32

/*
 * Mask number "index" with d bits out of m: Floyd's sampling, one draw of 32 bits
 * for each bit of the mask.  Costs d mixes, so hot loops look the mask up in a
 * table.
 */
QB_INLINE uint32_t
qs_mask(uint64_t seed_key, uint32_t m, uint32_t d, uint32_t index)
{
	uint64_t state = qb_mix64(seed_key ^ ((uint64_t) m << 40 | (uint64_t) d << 32 | index));
	uint32_t mask = 0;
	uint32_t j;

	for (j = m - d; j < m; j++)
	{
		uint64_t draw = qb_mix64(state += QB_ROW_STEP) >> 32;
		uint32_t bit = UINT32_C(1) << (uint32_t) ((draw * (j + 1)) >> 32);

		mask |= (mask & bit) ? UINT32_C(1) << j : bit;
	}
	return mask;
}

/*
 * By how many positions hv rotates its mask.  Uses the 16 bits of hv above the bits
 * that index the table of masks, and below the bits that choose among up to 2^32
 * buckets.
 */
QB_INLINE uint32_t
qs_mask_places(uint32_t m, uint64_t hv)
{
	return (((uint32_t) hv >> 16) * m) >> 16;
}

QB_INLINE uint32_t
qs_mask_rotate_by(uint32_t mask, uint32_t m, uint32_t places)
{
	/* in two steps, since m may be 32 and places 0 */
	uint32_t below = mask >> 1 >> (m - 1 - places);

	return (mask << places | below) & (UINT32_MAX >> (32 - m));
}

/* The mask, rotated as hv says. */
QB_INLINE uint32_t
qs_mask_rotation(uint32_t mask, uint32_t m, uint64_t hv)
{
	return qs_mask_rotate_by(mask, m, qs_mask_places(m, hv));
}

#endif
