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

/* The AVX-512 table uses these two functions, too: count32() and probe_sets(). */
extern uint64_t qset_count32_avx2(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m);
extern void
qset_probe_sets_avx2(const uint64_t *bits, const uint32_t *element, const uint64_t *offset,
					 const uint32_t *set, uint32_t n, uint16_t *common);
#elif defined(__aarch64__)
extern const qset_kernels qset_kernels_neon;
#endif

/* The table in use; qb_isa_use() changes it. */
extern const qset_kernels *qset_kernels_now(void);

#endif
