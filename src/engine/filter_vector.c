/*
 * filter_vector.c
 *		Inner loops of filters with AVX2 or NEON (base/vector.h).
 *
 * The loops for AVX2 are the loops of filter_avx512.c with four lanes.  A 64-bit product takes
 * three 32-bit products, but one mix of four lanes is still cheaper than four scalar mixes.  AVX2
 * has no compress instruction, so a branchless loop stores the chosen lanes.
 *
 * For NEON two loops are vectorized.  unite() unites filters and counts their ones.  blocks_have()
 * looks keys up in blocks.  A block fits into four vectors.  For each position of a draw, a table
 * lookup reads one byte from these vectors.  The remaining loops for NEON are plain loops, for
 * these reasons:
 *
 *	busy, positions		NEON has no product of 64-bit lanes.  To make two products of 64 bits from
 *						smaller products takes at least five instructions.  Two scalar products
 *						take two instructions.
 *	query				The loop needs products of 64-bit lanes, and NEON cannot gather the bits
 *						from memory.
 *	set					NEON cannot scatter to memory, and two bits may be in one byte.
 *
 * Inserting into blocks is also a plain loop (filter_cpu.c).  Computing the bits of a block in
 * vectors would take 14 instructions for each position.  The plain loop takes 15 instructions for
 * each position, including the counting of ones.
 *
 * The loops were chosen by the numbers of instructions that GCC 12 generates.  Uniting 64 bytes
 * takes 33 instructions with NEON, and 96 in a plain loop.  Looking up a key of seven bits takes 45
 * instructions with NEON.  The plain loop takes 109 instructions for a key that is in the filter.
 * For any other key the plain loop takes 42 to 102 instructions and an unpredictable branch.  The
 * speed was not measured on an ARM processor.
 *
 * src/engine/filter_vector.c
 */
#include "base/vector.h"
#include "engine/filter_engine.h"
#include "filter/filter.h"

#ifdef QB_VECTOR

#define BLOCK_BYTES (QF_BLOCK_BITS / 8)

/* ---- functions that differ between AVX2 and NEON ---- */

#ifdef __x86_64__

QB_VECTOR_INLINE qb_u64s
mix4(qb_u64s x)
{
	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

/* The products of the lower halves of 64-bit lanes. */
QB_VECTOR_INLINE qb_u64s
product_low(qb_u64s a, qb_u64s b)
{
	return (qb_u64s) _mm256_mul_epu32((__m256i) a, (__m256i) b);
}

/* Positions of four inputs, in the lower halves of 64-bit lanes. */
QB_VECTOR_INLINE qb_u64s
positions4(qb_u64s input, qb_u64s m)
{
	qb_u64s x = mix4(input);

	return (product_low(x >> 32, m) + (product_low(x, m) >> 32)) >> 32;
}

/* Returns 1 in each lane whose position has its bit set, else 0. */
QB_VECTOR_INLINE qb_u64s
bits4(const uint8_t *bits, qb_u64s position)
{
	qb_u64s word =
		(qb_u64s) _mm256_i64gather_epi64((const void *) bits, (__m256i) (position >> 6), 8);

	return word >> (position & 63) & 1;
}

QB_VECTOR_TARGET static void
busy(const qf_chunk *r, qf_busy *out)
{
	qb_u64s number = (qb_u64s){ 0, 1, 2, 3 } + r->first;
	size_t found = 0;
	size_t i, lane;

	for (i = 0; i + 4 <= r->count; i += 4)
	{
		uint64_t base[4], draw[4];
		qb_u64s b = mix4(r->row ? (qb_u64s) qb_vector_load(r->row + i) : number) ^ r->nonce_key;

		qb_vector_store(base, (qb_u8s) b);
		qb_vector_store(draw, (qb_u8s) mix4(b));
		for (lane = 0; lane < 4; lane++)
		{
			out->index[found] = (uint32_t) (i + lane);
			out->base[found] = base[lane];
			found += draw[lane] >= r->idle;
		}
		number += 4;
	}
	out->count = found;
	qf_busy_from(r, i, out);
}

QB_VECTOR_TARGET static void
positions(const uint64_t *input, size_t count, uint64_t m, uint32_t *position)
{
	const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
	size_t i;

	for (i = 0; i + 4 <= count; i += 4)
	{
		__m256i four =
			(__m256i) positions4((qb_u64s) qb_vector_load(input + i), (qb_u64s){ 0 } + m);

		four = _mm256_permutevar8x32_epi32(four, even);
		_mm_storeu_si128((void *) (position + i), _mm256_castsi256_si128(four));
	}
	qf_positions_each(input + i, count - i, m, position + i);
}

QB_VECTOR_TARGET static void
query(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count, uint32_t *out)
{
	const qb_u64s step = (qb_u64s){ 0, 1, 2, 3 } * QF_POSITION_STEP;
	size_t i;

	for (i = 0; i < count; i++)
	{
		qb_u64s input = step + qf_position_input(h[i], 0);
		qb_u64s ones = { 0 };
		uint32_t j;

		for (j = 0; j + 4 <= p->k; j += 4)
		{
			ones += bits4(bits, positions4(input, (qb_u64s){ 0 } + p->m));
			input += QF_POSITION_STEP * 4;
		}
		out[i] = (uint32_t) qb_vector_sum64(ones) + qf_query_from(bits, p, h[i], j);
	}
}

QB_VECTOR_TARGET static void
blocks_have(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count, bool *found)
{
	qf_blocks_have_ahead(bits, p, h, count, found);
}

#else

/*
 * True if a used position of the draw is a zero bit of the block.  Each lane has a position.
 * "used" is 1 in the lanes of used positions, else 0.
 *
 * Position j is 9 bits of the draw, from bit 9 j on.  These are bits j to j + 8 of the 16-bit
 * number in bytes j and j + 1 of the draw.
 */
QB_INLINE bool
any_zero(uint8x16x4_t block, uint64_t draw, uint8x8_t used)
{
	static const uint8_t pair[16] = { 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 7 };
	static const int16_t down[8] = { 0, -1, -2, -3, -4, -5, -6, -7 };
	uint8x16_t pairs = vqtbl1q_u8(vreinterpretq_u8_u64(vdupq_n_u64(draw)), vld1q_u8(pair));
	uint16x8_t position = vshlq_u16(vreinterpretq_u16_u8(pairs), vld1q_s16(down));
	uint8x8_t byte = vand_u8(vshrn_n_u16(position, 3), vdup_n_u8(BLOCK_BYTES - 1));
	uint8x8_t shift = vand_u8(vmovn_u16(position), vdup_n_u8(7));
	uint8x8_t bit = vshl_u8(used, vreinterpret_s8_u8(shift));

	return vget_lane_u64(vreinterpret_u64_u8(vbic_u8(bit, vqtbl4_u8(block, byte))), 0) != 0;
}

/* True if all k positions of h are set in the block at "bits". */
QB_INLINE bool
block_has(const uint8_t *bits, uint32_t k, uint64_t h)
{
	static const uint8_t ones[QF_BLOCK_DRAWS + 8] = { 1, 1, 1, 1, 1, 1, 1 };
	uint8x16x4_t block = vld1q_u8_x4(bits);
	uint32_t group = 0;

	for (; k > QF_BLOCK_DRAWS; k -= QF_BLOCK_DRAWS)
		if (any_zero(block, qf_block_draw(h, group++), vld1_u8(ones)))
			return false;
	return !any_zero(block, qf_block_draw(h, group), vld1_u8(ones + QF_BLOCK_DRAWS - k));
}

static void
blocks_have(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count, bool *found)
{
	size_t i;

	for (i = 0; i < count; i++)
	{
		qf_fetch_block(bits, p, h[i + QF_FETCH_AHEAD]);
		found[i] = block_has(bits + qf_block(h[i], p->m) / 8, p->k, h[i]);
	}
}

#endif

/* ---- functions that AVX2 and NEON share ---- */

QB_VECTOR_TARGET static uint64_t
set(uint8_t *bits, const uint32_t *position, size_t count)
{
	return qf_set_ahead(bits, position, count);
}

/* A byte lane of "ones" counts the ones of at most 4 bytes of a block, so at most 32. */
QB_VECTOR_TARGET static uint64_t
unite(uint8_t *into, const uint8_t *from, uint64_t words)
{
	qb_u64s sum = { 0 };
	uint32_t at;

	for (; words >= BLOCK_BYTES / 8; words -= BLOCK_BYTES / 8)
	{
		qb_u8s ones = { 0 };

		for (at = 0; at < BLOCK_BYTES; at += QB_VECTOR, into += QB_VECTOR, from += QB_VECTOR)
		{
			qb_u8s both = qb_vector_load(into) | qb_vector_load(from);

			qb_vector_store(into, both);
			ones += qb_vector_ones(both);
		}
		sum += qb_vector_sum8(ones);
	}
	return qb_vector_sum64(sum) + qf_unite_each(into, from, words, true);
}

const qf_kernels qf_kernels_vector = {
#ifdef __x86_64__
	.busy = busy,
	.positions = positions,
	.query = query,
#else
	.busy = qf_busy_each,
	.positions = qf_positions_each,
	.query = qf_query_each,
#endif
	.set = set,
	.blocks_have = blocks_have,
	.unite = unite,
};

#endif
