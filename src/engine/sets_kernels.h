/*
 * sets_kernels.h
 *		The inner loops of sets for each instruction set, and the choice.
 *
 * src/engine/sets_kernels.h
 */
#ifndef QSET_SETS_KERNELS_H
#define QSET_SETS_KERNELS_H

#include "sets/kernels.h"

#ifdef __x86_64__
extern const qset_kernels qset_kernels_avx2;
extern const qset_kernels qset_kernels_avx512;

/* How many elements both sets have; the AVX-512 table uses this function, too. */
extern uint64_t qset_count32_avx2(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m);
#elif defined(__aarch64__)
extern const qset_kernels qset_kernels_neon;
#endif

/* The table in use; qb_isa_use() changes it. */
extern const qset_kernels *qset_kernels_now(void);

#endif
