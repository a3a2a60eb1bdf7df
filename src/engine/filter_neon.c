/*
 * filter_neon.c
 *		Inner loops of filters with ARM's NEON.
 *
 * Two loops gain.  One unites filters and counts their ones.  The other one looks keys
 * up in blocks.  NEON gathers nothing from memory, but a block fits into four vectors,
 * and one table lookup takes a byte from these for each position of a draw.
 *
 * The other loops are the plain ones:
 *
 *	busy, positions		NEON has no product of 64-bit lanes.  Making two from smaller
 *						products takes at least five instructions; two scalar
 *						products are two instructions.
 *	query				It needs the same products, and one bit from anywhere in
 *						memory for each.
 *	set					NEON scatters nothing, and two bits may be in the same byte.
 *
 * Inserting into blocks is plain, too (filter_cpu.c).  Making the bits of a block in
 * vectors takes 14 instructions for each position.  Setting one bit in memory takes 15,
 * and these also count it.
 *
 * Numbers of instructions decided this, as GCC 12 makes them.  Uniting 64 bytes takes 31
 * instead of 96.  Looking up a key of seven bits takes 45; the plain loop takes 109 if the
 * key is there, else 42 to 102 with a branch that nothing predicts.  The speed was not
 * measured on an ARM processor.
 *
 * src/engine/filter_neon.c
 */
#include "engine/filter_kernels.h"

#ifdef __aarch64__

#include "base/neon.h"

/* The words of a block, which unite() also takes at a time. */
#define BLOCK_WORDS (QF_BLOCK_BITS / 64)

static size_t
busy(uint64_t nonce_key, const uint64_t *row, uint64_t first, size_t count, uint64_t idle,
	 qf_busy *out)
{
	return qf_busy_from(nonce_key, row, first, 0, count, idle, out, 0);
}

static void
positions(const uint64_t *input, size_t count, uint64_t m, uint32_t *position)
{
	qf_positions_from(input, 0, count, m, position);
}

static uint64_t
set(uint8_t *bits, const uint32_t *position, size_t count)
{
	return qf_set_ahead(bits, position, count);
}

static void
query(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count, uint32_t *out)
{
	size_t i;

	for (i = 0; i < count; i++)
		out[i] = qf_query_from(bits, p, h[i], 0);
}

/*
 * Which positions of a draw are zero bits of a block?  Each lane is a position; "used"
 * is 1 in the lanes that count, else 0.
 *
 * The place of position j has 9 bits, from bit 9 j on.  These bits lie in bytes j and
 * j + 1, from bit j of both on.
 */
QB_INLINE bool
any_zero(uint8x16x4_t block, uint64_t draw, uint8x8_t used)
{
	static const uint8_t pair[16] = { 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 7 };
	static const int16_t down[8] = { 0, -1, -2, -3, -4, -5, -6, -7 };
	uint8x16_t pairs = vqtbl1q_u8(vreinterpretq_u8_u64(vdupq_n_u64(draw)), vld1q_u8(pair));
	uint16x8_t place = vshlq_u16(vreinterpretq_u16_u8(pairs), vld1q_s16(down));
	uint8x8_t byte = vand_u8(vshrn_n_u16(place, 3), vdup_n_u8(QF_BLOCK_BITS / 8 - 1));
	uint8x8_t shift = vand_u8(vmovn_u16(place), vdup_n_u8(7));
	uint8x8_t bit = vshl_u8(used, vreinterpret_s8_u8(shift));

	return vget_lane_u64(vreinterpret_u64_u8(vbic_u8(bit, vqtbl4_u8(block, byte))), 0) != 0;
}

/* Are all k positions of h set in its block? */
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
		qf_fetch_block(bits, p, h[i + QF_AHEAD]);
		found[i] = block_has(bits + qf_block(h[i], p->m) / 8, p->k, h[i]);
	}
}

/* A byte lane counts the ones of a block: at most 4 times 8. */
static uint64_t
unite(uint8_t *into, const uint8_t *from, uint64_t words)
{
	uint64x2_t sum = vdupq_n_u64(0);
	uint64_t i;
	int part;

	for (i = 0; i + BLOCK_WORDS <= words; i += BLOCK_WORDS)
	{
		uint8x16_t ones = vdupq_n_u8(0);

		for (part = 0; part < QF_BLOCK_BITS / 8; part += 16, into += 16, from += 16)
		{
			uint8x16_t both = vorrq_u8(vld1q_u8(into), vld1q_u8(from));

			vst1q_u8(into, both);
			ones = vaddq_u8(ones, vcntq_u8(both));
		}
		sum = vpadalq_u32(sum, vpaddlq_u16(vpaddlq_u8(ones)));
	}
	return vaddvq_u64(sum) + qf_unite_counting(into, from, words - i);
}

const qf_kernels qf_kernels_neon = {
	.busy = busy,
	.positions = positions,
	.set = set,
	.query = query,
	.blocks_have = blocks_have,
	.unite = unite,
};

#endif
