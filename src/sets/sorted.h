/*
 * sorted.h
 *		Sets as strictly ascending arrays of integers: the plain functions.
 *
 * Each function exists for 4- and 8-byte signed integers.  The merge is the
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

/* Is the array strictly ascending, that is, a set already? */
extern bool qset_sorted32(const int32_t *a, uint64_t n);
extern bool qset_sorted64(const int64_t *a, uint64_t n);

/*
 * Make a set of any array: sort it, drop duplicates, set *n.  "scratch" has
 * room for n elements (up to QSET_SMALL_SORT none is needed).  False: the sort
 * was stopped, and the array's content is undefined.  O(n).
 */
extern bool
qset_sort_unique32(int32_t *a, uint64_t *n, int32_t *scratch, const qset_interrupt *interrupt);
extern bool
qset_sort_unique64(int64_t *a, uint64_t *n, int64_t *scratch, const qset_interrupt *interrupt);

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
 * As merge, but search each element of the smaller set "a" in "b".  A search
 * starts where the last one ended, with steps that double.  out NULL: only
 * count.  O(n log(m / n)).
 */
extern uint64_t
qset_gallop32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m, int32_t *out);
extern uint64_t
qset_gallop64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m, int64_t *out);

#endif
