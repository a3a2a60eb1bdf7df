/*
 * kernels.h
 *		The inner loops of filters on the CPU, one table for each instruction set.
 *
 * The plain table is here; engine/filter_*.c have the fast tables and the choice.
 * All give the same bits.  The inline functions are the plain loops; fast versions
 * use them for what does not fill a vector.
 *
 * src/filter/kernels.h
 */
#ifndef QF_KERNELS_H
#define QF_KERNELS_H

#include "filter/filter.h"

/* How many rows, keys or positions are worked on at a time. */
#define QF_CHUNK 1024

/* How many bits ahead of the one to be set the loops fetch cache lines. */
#define QF_AHEAD 32

/* Rows that set something. */
typedef struct qf_busy
{
	uint32_t index[QF_CHUNK]; /* of the row in its chunk */
	uint64_t base[QF_CHUNK];  /* of the row's draws */
} qf_busy;

typedef struct qf_kernels
{
	/*
	 * Find the rows whose first draw is not below "idle", among up to QF_CHUNK.  The
	 * rows' numbers are those of "row", or if that is NULL run from "first" on.
	 * Returns how many were found.
	 */
	size_t (*busy)(uint64_t nonce_key, const uint64_t *row, uint64_t first, size_t count,
				   uint64_t idle, qf_busy *busy);

	/* Turn inputs of positions (draws.h) into positions. */
	void (*positions)(const uint64_t *input, size_t count, uint64_t m, uint32_t *position);

	/* Set bits; returns how many were zero. */
	uint64_t (*set)(uint8_t *bits, const uint32_t *position, size_t count);

	/* How many of the k positions of each h are set. */
	void (*query)(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count,
				  uint32_t *set);

	/*
	 * Of each h, whether all k bits of its block are set.  The filter is blocked, and h
	 * has QF_AHEAD elements beyond "count".
	 */
	void (*blocks_have)(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count,
						bool *found);

	qf_unite_words unite;
} qf_kernels;

extern const qf_kernels qf_kernels_plain;

/* ---- plain loops ---- */

QB_INLINE size_t
qf_busy_from(uint64_t nonce_key, const uint64_t *row, uint64_t first, size_t i, size_t count,
			 uint64_t idle, qf_busy *busy, size_t found)
{
	for (; i < count; i++)
	{
		uint64_t base = qf_draw_base(nonce_key, row ? row[i] : first + i);

		busy->index[found] = (uint32_t) i;
		busy->base[found] = base;
		found += qf_draw(base, 0) >= idle;
	}
	return found;
}

QB_INLINE void
qf_positions_from(const uint64_t *input, size_t i, size_t count, uint64_t m, uint32_t *position)
{
	for (; i < count; i++)
		position[i] = qf_position_of(input[i], m);
}

QB_INLINE uint64_t
qf_set_ahead(uint8_t *bits, const uint32_t *position, size_t count)
{
	uint64_t ones = 0;
	size_t i;

	for (i = 0; i < QF_AHEAD && i < count; i++)
		__builtin_prefetch(bits + position[i] / 8, 1);
	for (i = 0; i + QF_AHEAD < count; i++)
	{
		__builtin_prefetch(bits + position[i + QF_AHEAD] / 8, 1);
		ones += qf_set_bit(bits, position[i]);
	}
	for (; i < count; i++)
		ones += qf_set_bit(bits, position[i]);
	return ones;
}

QB_INLINE uint32_t
qf_query_from(const uint8_t *bits, const qf_params *p, uint64_t h, uint32_t j)
{
	uint32_t set = 0;

	for (; j < p->k; j++)
		set += qf_bit(bits, qf_position(h, j, p->m));
	return set;
}

QB_INLINE void
qf_fetch_block(const uint8_t *bits, const qf_params *p, uint64_t h)
{
	__builtin_prefetch(bits + qf_block(h, p->m) / 8);
}

QB_INLINE void
qf_blocks_have_ahead(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count,
					 bool *found)
{
	const bool *end = found + count;

	for (; found < end; found++, h++)
	{
		qf_fetch_block(bits, p, h[QF_AHEAD]);
		*found = qf_block_has(bits, p, *h);
	}
}

/* qf_unite() for processors with an instruction that counts the bits of a word. */
QB_INLINE uint64_t
qf_unite_counting(uint8_t *into, const uint8_t *from, uint64_t words)
{
	uint64_t ones = 0;
	uint64_t i;

	for (i = 0; i < words; i++)
	{
		uint64_t w = qb_load64(into + i * 8) | qb_load64(from + i * 8);

		qb_store64(into + i * 8, w);
		ones += (uint64_t) __builtin_popcountll(w);
	}
	return ones;
}

#endif
