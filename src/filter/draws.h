/*
 * draws.h
 *		Which of a key's positions an insertion sets: integers only.
 *
 * A key has k positions,
 *
 *	h = mix64(fingerprint ^ f(seed))
 *	position j = mulhi64(mix64(h + (j + 1) * C), m)			j = 0 .. k - 1
 *
 * The high part of the product makes halving m join neighbouring bits.  In a blocked
 * Bloom filter all k positions are in one block of 512 bits, so that a key costs one
 * cache line and not k,
 *
 *	block = mulhi64(h, m / 512)
 *	bit j of the block = 9 bits of mix64(h + (j / 7 + 1) * C), from bit 9 (j % 7) on
 *
 * and halving m joins neighbouring blocks.  A row has a stream of random numbers that
 * depends only on the nonce and the row,
 *
 *	base = f(nonce) ^ mix64(row)
 *	draw t = mix64(base + t * golden ratio)					t = 0, 1, ..
 *
 * so neither order nor batches nor threads can change what a row sets, and the
 * filter is a pure union over rows.  Setting each position with probability p needs
 * no draw for each position, because the gaps between the positions that are set are
 * geometric:
 *
 *	j = 0
 *	loop	g = gap of the next draw, j += g; stop at j >= k
 *			unless g is QF_GAPS: set position j, j += 1
 *
 * A draw r skips positions one by one while r < 2^64 P(gap > i) = s(i), where s(0) =
 * q and s(i + 1) = mulhi64(s(i), q), but at most QF_GAPS of them.  After QF_GAPS the
 * next draw goes on from there, as the geometric distribution has no memory.  A row
 * takes k p + 1 draws, and k / QF_GAPS more where k is larger than QF_GAPS.
 *
 * c copies of a row set each position with probability 1 - q^c.  Their draws are
 * those of a row with q^c, which squaring gives, in place of q.
 *
 * A table of s gives a gap at once.  It is made for a batch and not kept.
 *
 * src/filter/draws.h
 */
#ifndef QF_DRAWS_H
#define QF_DRAWS_H

#include "base/hash.h"
#include "filter/params.h"

/* An odd constant for the mixes that give positions. */
#define QF_POSITION_STEP UINT64_C(0xD1342543DE82EF95)

/* The most positions that one draw skips. */
#define QF_GAPS 1024

/* Bits of a block that one mixed word gives. */
#define QF_BLOCK_DRAWS (64 / QF_BLOCK_LOG)

/* The highest bits of a draw say where to enter the table; then a step or none is left. */
#define QF_GUIDE_BITS 10
#define QF_GUIDE      (1 << QF_GUIDE_BITS)

typedef struct qf_gaps
{
	uint32_t count;               /* of beyond: k, but at most QF_GAPS */
	uint16_t guide[QF_GUIDE + 1]; /* b: how many s exceed b << (64 - QF_GUIDE_BITS) */
	uint64_t beyond[QF_GAPS];     /* s */
} qf_gaps;

/* Make the table for parameters with q > 0. */
extern void qf_gaps_make(qf_gaps *gaps, const qf_params *p);

/* q to the power of "copies", copies > 0: the chance that none of the copies sets a position. */
QB_INLINE uint64_t
qf_power(uint64_t q, uint64_t copies)
{
	uint64_t power = 0;
	bool any = false;

	for (; copies > 0; copies >>= 1)
	{
		if (copies & 1)
			power = any ? qb_mul_high(power, q) : q;
		any = any || (copies & 1);
		q = qb_mul_high(q, q);
	}
	return power;
}

/* h of a fingerprint; seed_key is qb_seed_key(seed). */
QB_INLINE uint64_t
qf_hash(uint64_t fingerprint, uint64_t seed_key)
{
	return qb_hash(fingerprint, seed_key);
}

/* The number that is mixed and reduced to position j. */
QB_INLINE uint64_t
qf_position_input(uint64_t h, uint32_t j)
{
	return h + (j + UINT64_C(1)) * QF_POSITION_STEP;
}

QB_INLINE uint32_t
qf_position_of(uint64_t input, uint64_t m)
{
	return (uint32_t) qb_reduce(qb_mix64(input), m);
}

QB_INLINE uint32_t
qf_position(uint64_t h, uint32_t j, uint64_t m)
{
	return qf_position_of(qf_position_input(h, j), m);
}

/* The first position of the block of h. */
QB_INLINE uint32_t
qf_block(uint64_t h, uint64_t m)
{
	return (uint32_t) qb_reduce(h, m / QF_BLOCK_BITS) * QF_BLOCK_BITS;
}

/*
 * The indexes in a block of positions j = QF_BLOCK_DRAWS * group and following:
 * QF_BLOCK_LOG bits each, the first one lowest.
 */
QB_INLINE uint64_t
qf_block_draw(uint64_t h, uint32_t group)
{
	return qb_mix64(qf_position_input(h, group));
}

/* Position j in any layout.  Loops over j are faster with one draw for several positions. */
QB_INLINE uint32_t
qf_any_position(const qf_params *p, uint64_t h, uint32_t j)
{
	uint64_t draw;

	if (p->layout != QF_BLOCKED)
		return qf_position(h, j, p->m);
	draw = qf_block_draw(h, j / QF_BLOCK_DRAWS) >> j % QF_BLOCK_DRAWS * QF_BLOCK_LOG;
	return qf_block(h, p->m) + (uint32_t) (draw % QF_BLOCK_BITS);
}

/* What a nonce contributes to the draws; computed once per batch. */
QB_INLINE uint64_t
qf_nonce_key(uint64_t nonce)
{
	return qb_seed_key(nonce);
}

QB_INLINE uint64_t
qf_draw_base(uint64_t nonce_key, uint64_t row)
{
	return nonce_key ^ qb_mix64(row);
}

QB_INLINE uint64_t
qf_draw(uint64_t base, uint64_t t)
{
	return qb_mix64(base + QB_ROW_STEP * t);
}

/*
 * A row whose first draw is below this skips all of its positions, which is the
 * usual case where k p is small.  0 if no draw skips all.
 */
QB_INLINE uint64_t
qf_idle_below(const qf_gaps *gaps, uint32_t k)
{
	return gaps->count == k ? gaps->beyond[k - 1] : 0;
}

/* The gap of a draw, 0 .. count. */
QB_INLINE uint32_t
qf_gap(const qf_gaps *gaps, uint64_t draw)
{
	uint32_t b = (uint32_t) (draw >> (64 - QF_GUIDE_BITS));
	uint32_t low = gaps->guide[b + 1];
	uint32_t high = gaps->guide[b];

	while (low < high)
	{
		uint32_t middle = (low + high) / 2;

		if (draw < gaps->beyond[middle])
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The gap of a draw without a table, one position after another. */
QB_INLINE uint32_t
qf_gap_by_steps(uint64_t q, uint32_t most, uint64_t draw)
{
	uint64_t beyond = q;
	uint32_t gap = 0;

	while (gap < most && draw < beyond)
	{
		beyond = qb_mul_high(beyond, q);
		gap++;
	}
	return gap;
}

#endif
