/*
 * kernels.h
 *		Two sets, or one and many: the plain functions, and the inner loops of the sets
 *		family, one table for each instruction set.
 *
 * Sets are strictly ascending arrays of integers.  What every processor has is declared
 * first: functions of sorted arrays for 4- and 8-byte signed integers (sorted_template.h), and
 * the paper's methods for one pair ("SISI", techniques.c).  The merge is the paper's
 * std::set_intersection and, in its vector versions, its SIMD baseline; galloping is for
 * sets of very different sizes.
 *
 * Union and difference are counted from the sizes: |A| + |B| - common and
 * |A| - common.
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

#include "sets/filter.h"

/* ---- sorted arrays ---- */

/* From this ratio of the sizes on, galloping beats merging. */
#define QSET_GALLOP_RATIO 32

/* Up to this many elements an insertion sort is faster than a radix sort. */
#define QSET_SMALL_SORT 48

/* Elements that vector versions may write beyond the result. */
#define QSET_SLACK 16

/*
 * A step without a branch: "by" or 0.  Compilers like to make a branch here,
 * which the processor mispredicts half of the time; the empty assembly
 * instruction hides the value from the compiler.
 */
QB_INLINE uint64_t
qset_step(bool go_on, uint64_t by)
{
	uint64_t step = (uint64_t) go_on * by;

#ifndef __CUDA_ARCH__
	__asm__("" : "+r"(step));
#endif
	return step;
}

/* True if the array is strictly ascending, and so is a set already. */
extern bool qset_sorted32(const int32_t *a, uint64_t n);
extern bool qset_sorted64(const int64_t *a, uint64_t n);

/*
 * Turn any array into a set: sort it, drop duplicates, set *n.  "scratch" has room for n elements
 * (up to QSET_SMALL_SORT none is needed).  "memory" is only used to pause, and may be NULL.  O(n).
 */
extern void qset_sort_unique32(int32_t *a, uint64_t *n, int32_t *scratch, const qb_memory *memory);
extern void qset_sort_unique64(int64_t *a, uint64_t *n, int64_t *scratch, const qb_memory *memory);

/* The number of common elements by a merge without branches.  O(n + m). */
extern uint64_t qset_merge_count32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m);
extern uint64_t qset_merge_count64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m);

/*
 * Write the common elements, and return their number.  "out" has room for
 * QSET_SLACK elements more than the smaller set has.
 */
extern uint64_t
qset_merge32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m, int32_t *out);
extern uint64_t
qset_merge64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m, int64_t *out);

/*
 * As merge, but search each element of the smaller set "a" in "b".  A search starts where the last
 * one ended, with steps that double.  If out is NULL, only count.  O(n log(m / n)).
 */
extern uint64_t
qset_gallop32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m, int32_t *out);
extern uint64_t
qset_gallop64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m, int64_t *out);

/* ---- the table ---- */

/* Sets in one step of sum_columns(): the bits of the widest vector. */
#define QSET_BLOCK       512
#define QSET_BLOCK_WORDS (QSET_BLOCK / 64)

/* The most columns that one call of sum_columns() can add. */
#define QSET_MAX_COLUMNS 65535

/*
 * A slice of a row of counters.  The wanted positions are those whose counters are at least
 * "least".
 */
typedef struct qset_slice
{
	const void *row;
	uint32_t from;
	uint32_t to;
	uint32_t least;       /* for counters of 2 bytes at most UINT16_MAX */
	uint32_t most;        /* for counters of 2 bytes: the position's size must be at most this */
	const uint32_t *size; /* NULL: any size */
} qset_slice;

typedef struct qset_kernels
{
	const char *name;

	/* As the plain functions of sorted arrays. */
	bool (*sorted32)(const int32_t *a, uint64_t n);
	bool (*sorted64)(const int64_t *a, uint64_t n);
	uint64_t (*count32)(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m);
	uint64_t (*count64)(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m);
	uint64_t (*intersect32)(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m,
							int32_t *out);
	uint64_t (*intersect64)(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m,
							int64_t *out);

	/* The number of bits that are set in both bitmaps. */
	uint64_t (*and_count)(const uint64_t *a, const uint64_t *b, uint64_t words);

	/* The number of n elements whose bit is set. */
	uint64_t (*probe)(const uint64_t *bits, const uint32_t *element, uint64_t n);

	/*
	 * probe() for n sets at once: common[i] is the result for set[i].  Set s has the elements
	 * element[offset[s]] .. element[offset[s + 1] - 1].
	 */
	void (*probe_sets)(const uint64_t *bits, const uint32_t *element, const uint64_t *offset,
					   const uint32_t *set, uint32_t n, uint16_t *common);

	/*
	 * Add up one block of a bit matrix that is stored by columns.  The block has the QSET_BLOCK
	 * bits from word "at" on, and out[s] is the number of columns in which its bit s is set.
	 */
	void (*sum_columns)(const uint64_t *const *column, uint32_t columns, uint64_t at,
						uint16_t *out);

	/*
	 * Write the wanted positions of a slice of a row of counters, of 2 or 4 bytes, to
	 * "out", ascending.  "out" has room for to - from + QSET_SLACK.
	 */
	uint32_t (*find16)(const qset_slice *s, uint32_t *out);
	uint32_t (*find32)(const qset_slice *s, uint32_t *out);

	/*
	 * Write the columns of a list that may pass by their signatures.  The list has n columns, of 4
	 * bytes each if it is wide, else of 2.  All signatures are of one level.  "out" has room for n
	 * + QSET_SLACK.
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

/* The plain loop of probe_sets(); each instruction set compiles it for itself. */
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

/* The plain loop of find16() and find32(), for the rest of a slice from position i on. */
QB_INLINE uint32_t
qset_find_rest(uint32_t (*find)(const qset_slice *s, uint32_t *out), const qset_slice *s,
			   uint32_t i, uint32_t *out)
{
	qset_slice rest = *s;

	rest.from = i;
	return find(&rest, out);
}

/* Write the positions of a word's set bits, counted from "base"; returns the end of "out". */
QB_INLINE uint32_t *
qset_emit_bits(uint64_t word, uint32_t base, uint32_t *out)
{
	for (; word != 0; word &= word - 1)
		*out++ = base + (uint32_t) __builtin_ctzll(word);
	return out;
}

/*
 * ---- the paper's methods for one pair of sets ----
 *
 * Their sets are ascending element numbers below 2^31, as a collection has them.
 * The methods exist to be compared: set functions on arrays merge or gallop
 * (qset_count32()), which beats all of them on one processor.
 *
 *	merge			O(n + m), sequential
 *	search			O(n log m), n the smaller; m's top levels cached
 *	merge_search	the same in pieces that fit the fastest cache
 *	hash			O(n + m), random access to n entries
 *	merge_hash		the same in such pieces
 *	bitmap			O(n + m) and |E|/8 bytes for the smaller
 */

/* Merged elements in one piece of merge_search and merge_hash: 16 kB. */
#define QSET_PIECE 4096

/*
 * Find where the merge of two sets has taken "diagonal" elements.  Returns how many of them are
 * from a; *y is how many are from b.  Of two equal elements a's comes first.  If the diagonal cuts
 * a match in two, the match stays whole in the left piece, which then has one
 * element more.  So the pieces between cuts can be intersected one by one, and
 * their counts added.
 */
extern uint64_t qset_path_cut(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m,
							  uint64_t diagonal, uint64_t *y);

/* Count a pair piece by piece; "count" counts one piece. */
typedef uint64_t (*qset_piece_count)(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);
extern uint64_t qset_path_count(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m,
								qset_piece_count piece);

/* Search each element of the smaller set; O(n log m). */
extern uint64_t qset_search_count(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);
extern uint64_t qset_search_piece(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);

/* A hash table without overflow.  The elements of each bucket lie together. */
typedef struct qset_hash
{
	uint32_t *start; /* buckets + 1 */
	uint32_t *item;
	uint32_t shift; /* bucket = the upper 64 - shift bits of the hash */
} qset_hash;

/* The number of starts in a table for n elements: its buckets, and the end of the last. */
extern uint64_t qset_hash_starts(uint64_t n);

/* Fill a table whose arrays have room for qset_hash_starts(n) starts and n elements. */
extern void qset_hash_build(qset_hash *h, const uint32_t *a, uint64_t n);
extern uint64_t qset_hash_count(const qset_hash *h, const uint32_t *b, uint64_t m);
extern uint64_t qset_hash_piece(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);

/* Words of a bitmap that has a bit for each of 0 .. universe-1. */
QB_INLINE uint64_t
qset_bitmap_words(uint64_t universe)
{
	return (universe + 63) / 64;
}

extern void qset_bitmap_set(uint64_t *bits, const uint32_t *a, uint64_t n);
extern void qset_bitmap_clear(uint64_t *bits, const uint32_t *a, uint64_t n);

#endif
