/*
 * filter.h
 *		A probabilistic Bloom filter in memory: state and life cycle.
 *
 * A filter has m bits, all zero at first.  Each insertion sets each of its key's k positions with
 * probability p.  The number of set positions gives an estimate of the key's frequency
 * (estimate.h).  With p = 1, this number shows only whether the key was inserted.  Merging ORs the
 * bits, and no key can be removed.  params.h says which bits a row sets.
 *
 * A filter counts its rows only if each insertion is a new row.  A Bloom filter, and a filter whose
 * rows have ids, must not count a repeated row, because a repeated row changes no bit.  The number
 * of rows of these filters is QF_ROWS_UNKNOWN from the first row on.  So the bytes of a merge do
 * not depend on rows that both filters have.
 *
 * A filter is either owned, with memory from the caller's allocator, or a read-only view of
 * serialized bytes.  An owned dense filter may be "remote": an engine has its bits on a device.
 * The engine must copy the bits back before a function of this file uses the bits.
 *
 * Explicit encoding: the positions of the set bits, in an open-addressing hash table.  Only owned
 * filters are explicit.  With more than qf_explicit_limit() positions, the filter becomes dense,
 * and remains dense in memory.
 *
 * Dense encoding: words of 64 bits; position i is bit i % 64 of word i / 64.  A block of a blocked
 * Bloom filter is as long as a cache line.  In memory, the blocks of all but small filters are
 * aligned to cache lines.  Serialized bytes are not aligned, so a block of a view may cross two
 * lines.
 *
 * Compact encoding: the gaps between the set bits (format.h).  Only views are compact.
 *
 * The bits alone determine whether a filter is written in compact or dense encoding (format.h).
 *
 * The functions are not thread safe.
 *
 * src/filter/filter.h
 */
#ifndef QF_FILTER_H
#define QF_FILTER_H

#include "base/status.h"
#include "filter/params.h"

#define QF_ROWS_UNKNOWN (-1)

typedef enum qf_encoding
{
	QF_EXPLICIT = 1,
	QF_DENSE = 2,
	QF_ENCODING_COMPACT = 3 /* QF_COMPACT is the name of a preset */
} qf_encoding;

struct qf_kernels;

typedef struct qf_filter
{
	qf_params params;
	qb_keys keys;
	int64_t rows;  /* number of insertions, or QF_ROWS_UNKNOWN */
	uint64_t ones; /* number of set bits */

	uint8_t encoding; /* qf_encoding */
	bool view;

	uint64_t seed_key;       /* qb_seed_key(params.seed) */
	const qb_memory *memory; /* NULL for a view */

	uint8_t *positions; /* explicit: slots of 4 bytes */
	uint64_t slots;     /* explicit: number of slots, a power of two or 0 */
	uint8_t *bits;      /* dense: the bits */
	void *remote;       /* dense: the engine's data if the bits are on a device; else NULL */

	const uint8_t *compact; /* compact: the body */
	uint64_t compact_bytes;
} qf_filter;

/* Make an empty owned filter in explicit encoding.  Allocates no memory. */
extern void qf_init(qf_filter *f, const qf_params *p, const qb_memory *memory);

/* Release the memory of an owned filter. */
extern void qf_free(qf_filter *f);

/* Make "to", which is uninitialized, an owned copy of "from", which may be a view. */
extern qb_status qf_copy(qf_filter *to, const qf_filter *from, const qb_memory *memory);

/* Change an owned filter from explicit to dense encoding. */
extern qb_status qf_make_dense(qf_filter *f);

/*
 * Add "rows" to the number of rows.  0 changes nothing.  If "countable" is false, or the filter is
 * a Bloom filter, any other number of rows makes f->rows QF_ROWS_UNKNOWN.  QB_TOTAL_OVERFLOW leaves
 * the filter unchanged.
 */
extern qb_status qf_count_rows(qf_filter *f, int64_t rows, bool countable);

/* Set bits of an owned filter in explicit or dense encoding.  Positions are less than m. */
extern qb_status qf_set(qf_filter *f, const uint32_t *position, size_t count);

/* Return the number of keys that are looked up between two pauses, with k probes for each key. */
QB_INLINE size_t
qf_keys_at_once(const qf_params *p)
{
	return QB_PATIENCE / p->k + 1;
}

/* Return how many of the key's k positions are set.  f may be a view. */
extern uint32_t qf_count(const qf_filter *f, uint64_t fingerprint);

/*
 * True if all positions of the key are set.  Stops at the first zero bit, except in a block of a
 * compact filter.
 */
extern bool qf_has(const qf_filter *f, uint64_t fingerprint);

/*
 * True if both filters have equal parameters and one type of keys.  A filter without keys fits any
 * type.
 */
extern bool qf_mergeable(const qf_filter *a, const qf_filter *b);

/*
 * into |= from.  "into" is owned.  QB_MISMATCH: the filters are not mergeable.  An error leaves
 * "into" unchanged, except for bits that were set before QB_NO_MEMORY or before a pause jumped out.
 */
extern qb_status qf_merge(qf_filter *into, const qf_filter *from, const struct qf_kernels *kernels);

/* Merge the number of rows and the type of keys, but not the bits.  "from" may be without bits. */
extern qb_status qf_merge_rows(qf_filter *into, const qf_filter *from);

/* Set the bits of an explicit filter "from" in "into". */
extern qb_status qf_unite_explicit(qf_filter *into, const qf_filter *from);

/* Halve an owned filter until it has m bits.  QB_NO_FOLD: halving does not lead to a valid m. */
extern qb_status qf_fold(qf_filter *f, uint64_t m);

/* ---- dense bits, plain ---- */

QB_INLINE bool
qf_bit(const uint8_t *bits, uint32_t position)
{
	return bits[position / 8] >> position % 8 & 1;
}

/* Set a bit.  Returns 1 if it was zero, else 0. */
QB_INLINE uint32_t
qf_set_bit(uint8_t *bits, uint32_t position)
{
	uint8_t old = bits[position / 8];

	bits[position / 8] = (uint8_t) (old | 1 << position % 8);
	return ~(uint32_t) old >> position % 8 & 1;
}

/* ---- dense bits of a blocked filter, for one key ---- */

/* Set the bits at all positions of h.  Returns the number of bits that were zero. */
QB_INLINE uint32_t
qf_block_set(uint8_t *bits, const qf_params *p, uint64_t h)
{
	uint8_t *block = bits + qf_block(h, p->m) / 8;
	uint32_t ones = 0;
	uint32_t j, end;

	for (j = 0; j < p->k; j = end)
	{
		uint64_t draw = qf_block_draw(h, j / QF_BLOCK_DRAWS);

		end = p->k - j < QF_BLOCK_DRAWS ? p->k : j + QF_BLOCK_DRAWS;
		for (; j < end; j++, draw >>= QF_BLOCK_LOG)
			ones += qf_set_bit(block, (uint32_t) (draw % QF_BLOCK_BITS));
	}
	return ones;
}

/* True if all positions of h are set. */
QB_INLINE bool
qf_block_has(const uint8_t *bits, const qf_params *p, uint64_t h)
{
	const uint8_t *block = bits + qf_block(h, p->m) / 8;
	uint32_t j, end;

	for (j = 0; j < p->k; j = end)
	{
		uint64_t draw = qf_block_draw(h, j / QF_BLOCK_DRAWS);

		end = p->k - j < QF_BLOCK_DRAWS ? p->k : j + QF_BLOCK_DRAWS;
		for (; j < end; j++, draw >>= QF_BLOCK_LOG)
			if (!qf_bit(block, (uint32_t) (draw % QF_BLOCK_BITS)))
				return false;
	}
	return true;
}

/* Return the number of set bits of a word, without a popcount instruction. */
QB_INLINE uint64_t
qf_ones_of(uint64_t w)
{
	w -= w >> 1 & UINT64_C(0x5555555555555555);
	w = (w & UINT64_C(0x3333333333333333)) + (w >> 2 & UINT64_C(0x3333333333333333));
	w = (w + (w >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
	return w * UINT64_C(0x0101010101010101) >> 56;
}

/* Return the number of set bits of the words. */
extern uint64_t qf_ones(const uint8_t *bits, uint64_t words);

/* ---- explicit positions ---- */

/* True if the position is in the list of an explicit filter. */
extern bool qf_explicit_has(const qf_filter *f, uint32_t position);

/*
 * Add positions to an owned explicit filter until it has qf_explicit_limit() positions.  Sets *done
 * to the number of leading elements of "position" that are in the filter afterwards.
 */
extern qb_status
qf_explicit_add(qf_filter *f, const uint32_t *position, size_t count, size_t *done);

/*
 * Set *position to the next position of an explicit filter.  *at must start at 0.  False: no
 * position is left.
 */
extern bool qf_explicit_next(const qf_filter *f, uint64_t *at, uint32_t *position);

/* Write all positions, at most QF_EXPLICIT_MAX, in ascending order. */
extern void qf_explicit_sorted(const qf_filter *f, uint32_t *out);

/* Set set[i] to qf_count() of key i of an explicit filter. */
extern void qf_explicit_query(const qf_filter *f, const uint64_t *fingerprint, size_t count,
							  uint32_t *set, const struct qf_kernels *kernels);

/*
 * ---- the inner loops on the CPU, one table for each instruction set ----
 *
 * filter.c has the plain table; engine/filter_*.c have the fast tables and choose a table.  All
 * tables give the same bits.  The inline functions are the plain loops.  Fast loops call the plain
 * loops for the last elements, which do not fill a vector.
 */

/* The number of rows, keys or positions that are processed at a time. */
#define QF_CHUNK 1024

/* Loops prefetch the cache line that is accessed this many bits or keys later. */
#define QF_FETCH_AHEAD 32

/* Up to QF_CHUNK rows. */
typedef struct qf_chunk
{
	uint64_t nonce_key;
	const uint64_t *row; /* the rows' numbers; NULL: consecutive numbers from "first" on */
	uint64_t first;
	size_t count;
	uint64_t idle; /* a row whose first draw is less than this sets no bit */
} qf_chunk;

/*
 * The rows of a chunk whose first draw is at least "idle".  Loops may also write up to one vector
 * of elements after element count - 1.
 */
typedef struct qf_busy
{
	size_t count;
	uint32_t index[QF_CHUNK]; /* index of the row in its chunk */
	uint64_t base[QF_CHUNK];  /* base of the row's draws */
} qf_busy;

typedef struct qf_kernels
{
	/* Find the rows whose first draw is at least "idle". */
	void (*busy)(const qf_chunk *rows, qf_busy *busy);

	/* Compute positions from their inputs (qf_position_input()). */
	void (*positions)(const uint64_t *input, size_t count, uint64_t m, uint32_t *position);

	/* Set bits.  Returns the number of bits that were zero. */
	uint64_t (*set)(uint8_t *bits, const uint32_t *position, size_t count);

	/* Set set[i] to the number of set bits among the k positions of h[i]. */
	void (*query)(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count,
				  uint32_t *set);

	/*
	 * Set found[i] to whether all k positions of h[i] are set.  The filter is blocked.  h has
	 * "count" + QF_FETCH_AHEAD elements.
	 */
	void (*blocks_have)(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count,
						bool *found);

	/* into |= from, word by word.  Returns the number of set bits of the result. */
	uint64_t (*unite)(uint8_t *into, const uint8_t *from, uint64_t words);
} qf_kernels;

extern const qf_kernels qf_kernels_plain;

/* ---- plain loops ---- */

/* Do the work of busy() for the rows from i on, and append the found rows to *busy. */
QB_INLINE void
qf_busy_from(const qf_chunk *r, size_t i, qf_busy *busy)
{
	size_t found = busy->count;

	for (; i < r->count; i++)
	{
		uint64_t base = qf_draw_base(r->nonce_key, r->row ? r->row[i] : r->first + i);

		busy->index[found] = (uint32_t) i;
		busy->base[found] = base;
		found += qf_draw(base, 0) >= r->idle;
	}
	busy->count = found;
}

QB_INLINE void
qf_busy_each(const qf_chunk *r, qf_busy *busy)
{
	busy->count = 0;
	qf_busy_from(r, 0, busy);
}

QB_INLINE void
qf_positions_each(const uint64_t *input, size_t count, uint64_t m, uint32_t *position)
{
	size_t i;

	for (i = 0; i < count; i++)
		position[i] = qf_position_of(input[i], m);
}

QB_INLINE uint64_t
qf_set_ahead(uint8_t *bits, const uint32_t *position, size_t count)
{
	uint64_t ones = 0;
	size_t i;

	for (i = 0; i < QF_FETCH_AHEAD && i < count; i++)
		__builtin_prefetch(bits + position[i] / 8, 1);
	for (i = 0; i + QF_FETCH_AHEAD < count; i++)
	{
		__builtin_prefetch(bits + position[i + QF_FETCH_AHEAD] / 8, 1);
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
qf_query_each(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count,
			  uint32_t *set)
{
	size_t i;

	for (i = 0; i < count; i++)
		set[i] = qf_query_from(bits, p, h[i], 0);
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
		qf_fetch_block(bits, p, h[QF_FETCH_AHEAD]);
		*found = qf_block_has(bits, p, *h);
	}
}

/* Do the work of unite().  "instruction": the processor has a popcount instruction. */
QB_INLINE uint64_t
qf_unite_each(uint8_t *into, const uint8_t *from, uint64_t words, bool instruction)
{
	uint64_t ones = 0;
	uint64_t i;

	for (i = 0; i < words; i++)
	{
		uint64_t w = qb_load64(into + i * 8) | qb_load64(from + i * 8);

		qb_store64(into + i * 8, w);
		ones += instruction ? (uint64_t) __builtin_popcountll(w) : qf_ones_of(w);
	}
	return ones;
}

#endif
