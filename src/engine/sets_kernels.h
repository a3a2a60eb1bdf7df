/*
 * sets_kernels.h
 *		The tables of inner loops of sets for each instruction set, and the table in use.
 *
 * src/engine/sets_kernels.h
 */
#ifndef QSET_SETS_KERNELS_H
#define QSET_SETS_KERNELS_H

#include "sets/kernels.h"

/* The tables for AVX2 or NEON, and for AVX-512.  A build has the tables of its architecture. */
extern const qset_kernels qset_kernels_vector;
extern const qset_kernels qset_kernels_avx512;

/* Functions for AVX2 that are also in the AVX-512 table. */
extern uint64_t qset_count32_vector(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m);
extern uint64_t qset_probe_vector(const uint64_t *bits, const uint32_t *element, uint64_t n);
extern void
qset_probe_sets_vector(const uint64_t *bits, const uint32_t *element, const uint64_t *offset,
					   const uint32_t *set, uint32_t n, uint16_t *common);

/* Returns the table in use, which qb_isa_use() chooses. */
extern const qset_kernels *qset_kernels_now(void);

#endif
