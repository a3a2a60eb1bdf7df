/*
 * sorted.h
 *		Sets as strictly ascending arrays of integers: the plain functions.
 *
 * Everything comes for 4- and 8-byte signed integers.  The merge is the
 * paper's std::set_intersection and, in its vector versions (engine/sets_*),
 * its SIMD baseline; galloping is for sets of very different sizes.
 *
 * Union and difference are counted from the sizes: |A| + |B| - common and
 * |A| - common.
 *
 * src/sets/sorted.h
 */
#ifndef QSET_SORTED_H
#define QSET_SORTED_H

#include "sets/sets.h"

/* From this ratio of the sizes on galloping beats merging. */
#define QSET_GALLOP_RATIO 32

/* Up to so many elements an insertion sort is faster than a radix sort. */
#define QSET_SMALL_SORT 48

/*
 * How many elements beyond the result vector versions may write.
 */
#define QSET_SLACK 16

/*
 * How far to go on: "by" or 0.  Compilers like to make a branch of it, which is
 * guessed wrong half of the time; the empty instruction hides the value.
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

/* Is the array strictly ascending, that is, a set already? */
extern bool qset_sorted32(const int32_t *a, uint64_t n);
extern bool qset_sorted64(const int64_t *a, uint64_t n);

/*
 * Make a set of any array: sort, drop what comes twice, set *n.  "scratch" has
 * room for n elements (none is needed up to QSET_SMALL_SORT).  False: stopped,
 * and the array is a mixture.  O(n).
 */
extern bool
qset_sort_unique32(int32_t *a, uint64_t *n, int32_t *scratch, const qset_interrupt *interrupt);
extern bool
qset_sort_unique64(int64_t *a, uint64_t *n, int64_t *scratch, const qset_interrupt *interrupt);

/* The number of common elements by a merge without branches.  O(n + m). */
extern uint64_t qset_merge_count32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m);
extern uint64_t qset_merge_count64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m);

/*
 * The common elements, and their number.  "out" has room for QSET_SLACK more
 * than the smaller set has.
 */
extern uint64_t
qset_merge32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m, int32_t *out);
extern uint64_t
qset_merge64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m, int64_t *out);

/*
 * The same by searching each element of the smaller set "a" in "b", from where
 * the last one was found, with steps that double; out NULL: only count.
 * O(n log(m / n)).
 */
extern uint64_t
qset_gallop32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m, int32_t *out);
extern uint64_t
qset_gallop64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m, int64_t *out);

#endif
