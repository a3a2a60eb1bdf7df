/*
 * sketch_neon.c
 *		Inner loops of sketches with ARM's NEON.
 *
 * The same loops as in sketch_avx2.c, with four counters or 16 bytes at a time.  Every
 * 64-bit ARM processor has these instructions.  They are written for NEON, not
 * translated from AVX2.  SIMDe 0.7.4 and 0.8.2 were tried with GCC 12 and 14: a vector of
 * 32 bytes, which NEON lacks, went through memory after nearly each operation.
 *
 * src/engine/sketch_neon.c
 */
#include "engine/sketch_kernels.h"

#ifdef __aarch64__

#include "base/neon.h"
#include "sketch/multilevel_merge.h"

/* NEON has no product of 64-bit lanes either. */
static void
hash(uint64_t seed_key, const uint64_t *fingerprint, size_t count, uint64_t *hv)
{
	qs_hash_each(seed_key, fingerprint, count, hv);
}

/* m = 8, 16 or 32: two, four or eight vectors of four counters. */
QB_INLINE void
add4s(qs_sketch *sk, uint32_t m, const uint64_t *hv, const int64_t *weight, size_t count)
{
	const uint32x4_t bit = vld1q_u32(qs_counter_bit);
	uint32_t bucket[QS_BATCH + QS_PREFETCH_AHEAD];
	uint32_t mask[QS_BATCH];
	size_t i;

	qs_locate_batch(sk, m, hv, count, bucket, mask);
	for (i = 0; i < count; i++)
	{
		uint8_t *p = sk->table + (size_t) bucket[i] * m * 4;
		const uint8_t *next = sk->table + (size_t) bucket[i + QS_PREFETCH_AHEAD] * m * 4;
		uint32x4_t w = vdupq_n_u32(weight ? (uint32_t) weight[i] : 1);
		uint32_t part;

		for (part = 0; part < m / 4; part++)
		{
			uint32x4_t v = vreinterpretq_u32_u8(vld1q_u8(p + part * 16));
			uint32x4_t chosen = vtstq_u32(vdupq_n_u32(mask[i] >> (part * 4)), bit);

			if (part % 2 == 0)
				__builtin_prefetch(next + part * 16, 1);
			v = vaddq_u32(v, vandq_u32(chosen, w));
			vst1q_u8(p + part * 16, vreinterpretq_u8_u32(v));
		}
	}
}

static void
add8(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	add4s(sk, 8, hv, weight, count);
}

static void
add16(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	add4s(sk, 16, hv, weight, count);
}

static void
add32(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	add4s(sk, 32, hv, weight, count);
}

/*
 * Add or subtract 16 bytes.  A byte has carried if the sum is smaller than what was
 * added; it has borrowed if it was smaller than what was subtracted.  Returns the bytes
 * that did as 255.
 */
QB_INLINE uint8x16_t
add16_bytes(uint8_t *into, uint8x16_t v, bool negative)
{
	uint8x16_t old = vld1q_u8(into);
	uint8x16_t sum = negative ? vsubq_u8(old, v) : vaddq_u8(old, v);

	vst1q_u8(into, sum);
	return vcltq_u8(negative ? old : sum, v);
}

QB_INLINE void
count_carries(uint8_t *carries, uint8x16_t carried)
{
	vst1q_u8(carries, vsubq_u8(vld1q_u8(carries), carried));
}

/* See qs_low_add.  The high index behind the counters stays: nothing is added to it. */
QB_INLINE size_t
low_add(uint8_t *into, const uint8_t *from, size_t count, bool negative, uint8_t *carries,
		qs_carry *list)
{
	const uint8x16_t counters = vreinterpretq_u8_u32(vsetq_lane_u32(0, vdupq_n_u32(~0u), 3));
	size_t listed = 0;
	size_t i;

	for (i = 0; i < count; i++, into += QS_LOW_BYTES, from += QS_LOW_BYTES)
	{
		uint8x16_t a = add16_bytes(into, vld1q_u8(from), negative);
		uint8x16_t b = add16_bytes(into + 16, vandq_u8(vld1q_u8(from + 16), counters), negative);
		uint32_t mask = 0;

		if (carries)
		{
			count_carries(carries + i * QS_LOW_BYTES, a);
			count_carries(carries + i * QS_LOW_BYTES + 16, b);
		}
		else if (qb_neon_any(vorrq_u8(a, b)))
			mask = qb_neon_bits(a) | qb_neon_bits(b) << 16;
		if ((mask | qb_load32(from + QS_LOW_COUNTERS)) != 0)
			list[listed++] = (qs_carry){ (uint32_t) i, mask };
	}
	return listed;
}

static qb_status
accumulate(qs_sketch *into, const qs_sketch *from, bool negative)
{
	return qs_multilevel_accumulate_by(into, from, negative, low_add);
}

const qs_kernels qs_kernels_neon = {
	.hash = hash,
	.add = { [QS_WARP] = add32, [QS_HALF_WARP] = add16, [QS_SUB_WARP] = add8 },
	.accumulate = accumulate,
};

#endif
