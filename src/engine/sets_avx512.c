/*
 * sets_avx512.c
 *		Compiles the inner loops of sets (sets_vector.c) for AVX-512, and chooses the loops in use.
 *
 * src/engine/sets_avx512.c
 */
#include "base/isa.h"
#include "engine/sets_kernels.h"

#ifdef __x86_64__
#define QB_VECTOR 64
#include "engine/sets_vector.c"
#endif

static const qset_kernels *const sets[QB_ISAS] = {
	[QB_ISA_SCALAR] = &qset_kernels_plain,
#if defined(__x86_64__)
	[QB_ISA_AVX2] = &qset_kernels_vector,
	[QB_ISA_AVX512] = &qset_kernels_avx512,
#elif defined(__aarch64__)
	[QB_ISA_NEON] = &qset_kernels_vector,
#endif
};

const qset_kernels *
qset_kernels_now(void)
{
	return sets[qb_isa_now()];
}
