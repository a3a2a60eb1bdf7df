/*
 * neon.h
 *		What the loops with ARM's NEON share.
 *
 * NEON has no instruction that makes a bit of each lane.  Where lanes of all ones are
 * rare, a loop asks first whether there is any, and makes bits only then.
 *
 * src/base/neon.h
 */
#ifndef QB_NEON_H
#define QB_NEON_H

#include <arm_neon.h>

#include "base/port.h"

/* Is any bit of the vector set? */
QB_INLINE bool
qb_neon_any(uint8x16_t v)
{
	return vmaxvq_u8(v) != 0;
}

/* One bit for each byte, of bytes that are 0 or 255. */
QB_INLINE uint32_t
qb_neon_bits(uint8x16_t lanes)
{
	static const uint8_t bit[16] = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
	uint8x16_t own = vandq_u8(lanes, vld1q_u8(bit));

	return vaddv_u8(vget_low_u8(own)) | (uint32_t) vaddv_u8(vget_high_u8(own)) << 8;
}

#endif
