/*
 * sets_single_pair.h
 *		One pair of sets by any of the techniques, for tests and benchmarks.
 *
 * bench/sets_single_pair.h
 */
#ifndef QSET_BENCH_SINGLE_PAIR_H
#define QSET_BENCH_SINGLE_PAIR_H

#include "sets/pairs.h"

/*
 * Count common elements by one method (QSET_AUTO: merge or gallop).  QB_NO_MEMORY: memory runs out.
 * QB_BAD_METHOD: the method is not for single pairs.
 */
extern qb_status
qset_single_count(const qset_kernels *k, int method, const uint32_t *a, uint64_t n,
				  const uint32_t *b, uint64_t m, const qb_memory *memory, uint64_t *common);

#endif
