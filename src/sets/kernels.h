/*
 * kernels.h
 *		The inner loops of the sets family, one table for each instruction set.
 *
 * The plain table is here; engine/sets_*.c have the fast ones and choose.
 * Functions of this family that need a loop take the table as an argument, so
 * that tests can run each of them with each table.  All tables give the same
 * results.
 *
 * src/sets/kernels.h
 */
#ifndef QSET_KERNELS_H
#define QSET_KERNELS_H

#include "sets/signature.h"
#include "sets/sorted.h"

/* Sets in one step of sum_columns(): the bits of the widest vector. */
#define QSET_BLOCK       512
#define QSET_BLOCK_WORDS (QSET_BLOCK / 64)

/* The most columns that one call of sum_columns() can add. */
#define QSET_MAX_COLUMNS 65535

typedef struct qset_kernels
{
	const char *name;

	/* As the plain functions of sorted.h. */
	bool (*sorted32)(const int32_t *a, uint64_t n);
	bool (*sorted64)(const int64_t *a, uint64_t n);
	uint64_t (*count32)(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m);
	uint64_t (*count64)(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m);
	uint64_t (*intersect32)(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m,
							int32_t *out);
	uint64_t (*intersect64)(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m,
							int64_t *out);

	/* Bits set in both of two bitmaps. */
	uint64_t (*and_count)(const uint64_t *a, const uint64_t *b, uint64_t words);

	/* How many of n elements have their bit set. */
	uint64_t (*probe)(const uint64_t *bits, const uint32_t *element, uint64_t n);

	/*
	 * The same for n sets at once: common[i] for set[i].  Set s has the elements
	 * element[offset[s]] .. element[offset[s + 1] - 1].
	 */
	void (*probe_sets)(const uint64_t *bits, const uint32_t *element, const uint64_t *offset,
					   const uint32_t *set, uint32_t n, uint16_t *common);

	/*
	 * One block of a bit matrix that is stored by columns: out[s] = in how many
	 * of the columns is bit s of the QSET_BLOCK bits from word "at" on set.
	 */
	void (*sum_columns)(const uint64_t *const *column, uint32_t columns, uint64_t at,
						uint16_t *out);

	/*
	 * Write the positions from .. to-1 whose counters are at least "least" to
	 * "out", ascending.  "out" has room for to - from + QSET_SLACK.
	 */
	uint32_t (*find16)(const uint16_t *row, uint32_t from, uint32_t to, uint16_t least,
					   uint32_t *out);
	/* As find16(), but only positions whose size is at most "most". */
	uint32_t (*find16_sized)(const uint16_t *row, const uint32_t *size, uint32_t from, uint32_t to,
							 uint16_t least, uint32_t most, uint32_t *out);
	uint32_t (*find32)(const uint32_t *row, uint32_t from, uint32_t to, uint32_t least,
					   uint32_t *out);

	/*
	 * Write the columns of a list of n, of 4 bytes each if it is wide, else of 2, whose
	 * signatures allow them to pass.  All signatures are of one level.  "out" has room
	 * for n + QSET_SLACK.
	 */
	uint32_t (*sieve)(const qset_sieve *s, int level, const void *list, uint64_t n, bool wide,
					  uint32_t *out);
} qset_kernels;

extern const qset_kernels qset_kernels_plain;

/*
 * Count the common elements of two sets, or also write them.  Both functions
 * merge or gallop, whichever suits the sizes.
 */
extern uint64_t
qset_count32(const qset_kernels *k, const int32_t *a, uint64_t n, const int32_t *b, uint64_t m);
extern uint64_t
qset_count64(const qset_kernels *k, const int64_t *a, uint64_t n, const int64_t *b, uint64_t m);
extern uint64_t qset_intersect32(const qset_kernels *k, const int32_t *a, uint64_t n,
								 const int32_t *b, uint64_t m, int32_t *out);
extern uint64_t qset_intersect64(const qset_kernels *k, const int64_t *a, uint64_t n,
								 const int64_t *b, uint64_t m, int64_t *out);

/* The plain loop of probe(); each instruction set compiles it for itself. */
QB_INLINE uint64_t
qset_probe_each(const uint64_t *bits, const uint32_t *element, uint64_t n)
{
	uint64_t sum = 0;
	uint64_t i;

	for (i = 0; i < n; i++)
		sum += bits[element[i] / 64] >> element[i] % 64 & 1;
	return sum;
}

/* The same for probe_sets(). */
QB_INLINE void
qset_probe_sets_each(const uint64_t *bits, const uint32_t *element, const uint64_t *offset,
					 const uint32_t *set, uint32_t n, uint16_t *common)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		common[i] = (uint16_t) qset_probe_each(bits, element + offset[set[i]],
											   offset[set[i] + 1] - offset[set[i]]);
}

/* The plain loop of and_count(); vector versions finish the last words with it. */
QB_INLINE uint64_t
qset_and_count_each(const uint64_t *a, const uint64_t *b, uint64_t words)
{
	uint64_t sum = 0;
	uint64_t i;

	for (i = 0; i < words; i++)
		sum += (uint64_t) __builtin_popcountll(a[i] & b[i]);
	return sum;
}

/* Keep the positions whose size is at most "most", in place; returns how many are left. */
QB_INLINE uint32_t
qset_keep_sizes(const uint32_t *size, uint32_t most, uint32_t *position, uint32_t count)
{
	uint32_t kept = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
	{
		uint32_t x = position[i];

		position[kept] = x;
		kept += size[x] <= most;
	}
	return kept;
}

/* Write the positions of a word's set bits, counted from "base"; returns the end of "out". */
QB_INLINE uint32_t *
qset_emit_bits(uint64_t word, uint32_t base, uint32_t *out)
{
	for (; word != 0; word &= word - 1)
		*out++ = base + (uint32_t) __builtin_ctzll(word);
	return out;
}

#endif
