/*
 * kernels.h
 *		Functions of sorted arrays and bitmaps; a table of loops for each instruction set.
 *
 * Sets are strictly ascending arrays of integers.  The functions of sorted arrays are for 4- and
 * 8-byte signed integers (sorted_template.h).  techniques.c has the methods of the paper (sets.h)
 * for one pair ("SISI").  The plain merge is the paper's std::set_intersection, and the vector
 * merges are its SIMD baseline.  Galloping is for sets of very different sizes.
 *
 * Union and difference are counted from the sizes: |A| + |B| - common and |A| - common.
 *
 * kernels.c has the plain table; engine/sets_*.c have the fast tables and choose a table.
 * Functions that need a loop take the table as an argument, so that tests can run each function
 * with each table.  All tables give the same results.
 *
 * src/sets/kernels.h
 */
#ifndef QSET_KERNELS_H
#define QSET_KERNELS_H

#include "sets/filter.h"

/* ---- sorted arrays ---- */

/* From this ratio of the sizes on, galloping is faster than merging. */
#define QSET_GALLOP_RATIO 32

/* Up to this many elements, insertion sort is faster than radix sort. */
#define QSET_SMALL_SORT 48

/* The number of elements that vector loops may write beyond the result. */
#define QSET_SLACK 16

/*
 * Return "by" if go_on is true, else 0, without a branch.  Compilers tend to make a branch, which
 * the processor mispredicts half of the time.  The empty assembly instruction hides the value from
 * the compiler.
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

/* True if the array is strictly ascending, and therefore a set. */
extern bool qset_sorted32(const int32_t *a, uint64_t n);
extern bool qset_sorted64(const int64_t *a, uint64_t n);

/*
 * Turn any array into a set: sort it, drop duplicates, and set *n.  "scratch" has n elements, and
 * is not used if n <= QSET_SMALL_SORT.  "memory" is used only for pauses, and may be NULL.  O(n).
 */
extern void qset_sort_unique32(int32_t *a, uint64_t *n, int32_t *scratch, const qb_memory *memory);
extern void qset_sort_unique64(int64_t *a, uint64_t *n, int64_t *scratch, const qb_memory *memory);

/* Return the number of common elements, by a merge without branches.  O(n + m). */
extern uint64_t qset_merge_count32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m);
extern uint64_t qset_merge_count64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m);

/*
 * Write the common elements, and return their number.  "out" has space for QSET_SLACK more elements
 * than the smaller set has.
 */
extern uint64_t
qset_merge32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m, int32_t *out);
extern uint64_t
qset_merge64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m, int64_t *out);

/*
 * Write the common elements unless "out" is NULL, and return their number.  Search each element of
 * the smaller set "a" in "b".  A search starts where the preceding search ended, with steps that
 * double.  O(n log(m / n)).
 */
extern uint64_t
qset_gallop32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m, int32_t *out);
extern uint64_t
qset_gallop64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m, int64_t *out);

/* ---- the table ---- */

/* The number of sets in one call of sum_columns(), one for each bit of the widest vector. */
#define QSET_BLOCK       512
#define QSET_BLOCK_WORDS (QSET_BLOCK / 64)

/* The maximum number of columns that one call of sum_columns() can add. */
#define QSET_MAX_COLUMNS 65535

/*
 * A slice of a row of counters.  A position in the slice is wanted if its counter is at least
 * "least" and, for counters of 2 bytes, its size is at most "most".
 */
typedef struct qset_slice
{
	const void *row;
	uint32_t from;
	uint32_t to;
	uint32_t least;       /* for counters of 2 bytes at most UINT16_MAX */
	uint32_t most;        /* for counters of 2 bytes: the greatest size of a wanted position */
	const uint32_t *size; /* size of each position; NULL: no position is too large */
} qset_slice;

typedef struct qset_kernels
{
	const char *name;

	/* The functions of sorted arrays, such as qset_sorted32(). */
	bool (*sorted32)(const int32_t *a, uint64_t n);
	bool (*sorted64)(const int64_t *a, uint64_t n);
	uint64_t (*count32)(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m);
	uint64_t (*count64)(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m);
	uint64_t (*intersect32)(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m,
							int32_t *out);
	uint64_t (*intersect64)(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m,
							int64_t *out);

	/* Return the number of bits that are set in both bitmaps. */
	uint64_t (*and_count)(const uint64_t *a, const uint64_t *b, uint64_t words);

	/* Return how many of n elements have their bit set. */
	uint64_t (*probe)(const uint64_t *bits, const uint32_t *element, uint64_t n);

	/*
	 * Call probe() for n sets: common[i] becomes the result for the elements of set[i].  Set s has
	 * the elements element[offset[s]] .. element[offset[s + 1] - 1].
	 */
	void (*probe_sets)(const uint64_t *bits, const uint32_t *element, const uint64_t *offset,
					   const uint32_t *set, uint32_t n, uint16_t *common);

	/*
	 * Add up one block of a bit matrix that is stored by columns.  The block has QSET_BLOCK bits of
	 * each column, from word "at" on.  out[s] becomes the number of columns in which bit s of the
	 * block is set.
	 */
	void (*sum_columns)(const uint64_t *const *column, uint32_t columns, uint64_t at,
						uint16_t *out);

	/*
	 * Write the wanted positions of a slice to "out", in ascending order, and return their number.
	 * "out" has space for to - from + QSET_SLACK positions.
	 */
	uint32_t (*find16)(const qset_slice *s, uint32_t *out);
	uint32_t (*find32)(const qset_slice *s, uint32_t *out);

	/*
	 * Find the columns of a list whose signatures allow them to pass, write them to "out", and
	 * return their number.  The list has n columns, of 4 bytes if "wide", else of 2 bytes.  All
	 * signatures are of one level.  "out" has space for n + QSET_SLACK columns.
	 */
	uint32_t (*sieve)(const qset_sieve *s, int level, const void *list, uint64_t n, bool wide,
					  uint32_t *out);
} qset_kernels;

extern const qset_kernels qset_kernels_plain;

/*
 * Return the number of common elements of two sets, by merging or galloping, whichever is faster
 * for these sizes.  qset_intersect32() and qset_intersect64() also write the common elements.
 */
extern uint64_t
qset_count32(const qset_kernels *k, const int32_t *a, uint64_t n, const int32_t *b, uint64_t m);
extern uint64_t
qset_count64(const qset_kernels *k, const int64_t *a, uint64_t n, const int64_t *b, uint64_t m);
extern uint64_t qset_intersect32(const qset_kernels *k, const int32_t *a, uint64_t n,
								 const int32_t *b, uint64_t m, int32_t *out);
extern uint64_t qset_intersect64(const qset_kernels *k, const int64_t *a, uint64_t n,
								 const int64_t *b, uint64_t m, int64_t *out);

/* The plain loop of probe(); each instruction set compiles its own version. */
QB_INLINE uint64_t
qset_probe_each(const uint64_t *bits, const uint32_t *element, uint64_t n)
{
	uint64_t sum = 0;
	uint64_t i;

	for (i = 0; i < n; i++)
		sum += bits[element[i] / 64] >> element[i] % 64 & 1;
	return sum;
}

/* The plain loop of probe_sets(); each instruction set compiles its own version. */
QB_INLINE void
qset_probe_sets_each(const uint64_t *bits, const uint32_t *element, const uint64_t *offset,
					 const uint32_t *set, uint32_t n, uint16_t *common)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		common[i] = (uint16_t) qset_probe_each(bits, element + offset[set[i]],
											   offset[set[i] + 1] - offset[set[i]]);
}

/* The plain loop of and_count(); vector loops call it for the last words. */
QB_INLINE uint64_t
qset_and_count_each(const uint64_t *a, const uint64_t *b, uint64_t words)
{
	uint64_t sum = 0;
	uint64_t i;

	for (i = 0; i < words; i++)
		sum += (uint64_t) __builtin_popcountll(a[i] & b[i]);
	return sum;
}

/* Call "find", the plain loop of find16() or find32(), for a slice from position i on. */
QB_INLINE uint32_t
qset_find_rest(uint32_t (*find)(const qset_slice *s, uint32_t *out), const qset_slice *s,
			   uint32_t i, uint32_t *out)
{
	qset_slice rest = *s;

	rest.from = i;
	return find(&rest, out);
}

/*
 * Write the positions of a word's set bits, plus "base".  Returns the end of the written positions.
 */
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
 * The sets are ascending element numbers below 2^31, as in a collection.  Except for bitmaps, the
 * methods exist only for comparison.  Set functions on arrays use qset_count32(), which is faster
 * than these methods on one processor.
 *
 *	merge			O(n + m), sequential
 *	search			O(n log m) for n <= m; caches the top levels of b
 *	merge_search	search in pieces that fit the fastest cache
 *	hash			O(n + m), random access to n entries
 *	merge_hash		hash in pieces that fit the fastest cache
 *	bitmap			O(n + m), and |E|/8 bytes for the bitmap of one set
 */

/* The number of merged elements in one piece of merge_search and merge_hash: 16 kB of elements. */
#define QSET_PIECE 4096

/*
 * Find where the merge of two sets has passed "diagonal" elements.  Returns the number of passed
 * elements of a; *y is the number of passed elements of b.  The merge passes the element of a
 * before an equal element of b.  If the diagonal separates two equal elements, both are passed, so
 * "diagonal" + 1 elements are passed.  So a cut never separates equal elements, and the pieces
 * between cuts can be intersected one by one.
 */
extern uint64_t qset_path_cut(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m,
							  uint64_t diagonal, uint64_t *y);

/* Count the common elements of a pair by calls of piece(), each for one piece of the pair. */
typedef uint64_t (*qset_piece_count)(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);
extern uint64_t qset_path_count(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m,
								qset_piece_count piece);

/* Count the common elements by searching each element of the smaller set.  O(n log m). */
extern uint64_t qset_search_count(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);
extern uint64_t qset_search_piece(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);

/* A hash table without overflow: the elements of each bucket are contiguous. */
typedef struct qset_hash
{
	uint32_t *start; /* index of each bucket's first item, then the number of items */
	uint32_t *item;
	uint32_t shift; /* bucket = the upper 64 - shift bits of the hash */
} qset_hash;

/* Return the length of "start" in a table for n elements: the number of buckets, plus 1. */
extern uint64_t qset_hash_starts(uint64_t n);

/* Fill a table.  "start" has qset_hash_starts(n) elements, and "item" has n elements. */
extern void qset_hash_build(qset_hash *h, const uint32_t *a, uint64_t n);
extern uint64_t qset_hash_count(const qset_hash *h, const uint32_t *b, uint64_t m);
extern uint64_t qset_hash_piece(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m);

/* Return the number of words of a bitmap with a bit for each of 0 .. universe - 1. */
QB_INLINE uint64_t
qset_bitmap_words(uint64_t universe)
{
	return (universe + 63) / 64;
}

extern void qset_bitmap_set(uint64_t *bits, const uint32_t *a, uint64_t n);
extern void qset_bitmap_clear(uint64_t *bits, const uint32_t *a, uint64_t n);

#endif
