/*
 * filter_kernels.h
 *		The inner loops of filters for each instruction set, and the choice.
 *
 * src/engine/filter_kernels.h
 */
#ifndef QF_FILTER_KERNELS_H
#define QF_FILTER_KERNELS_H

#include "base/isa.h"
#include "engine/filter_engine.h"
#include "filter/kernels.h"

#ifdef __x86_64__
extern const qf_kernels qf_kernels_avx2;
extern const qf_kernels qf_kernels_avx512;
#elif defined(__aarch64__)
extern const qf_kernels qf_kernels_neon;
#endif

/* The table in use; qb_isa_use() changes it. */
extern const qf_kernels *qf_kernels_now(void);

#endif
