/*
 * sets_kernels.c
 *		Which of the inner loops of sets are in use.
 *
 * src/engine/sets_kernels.c
 */
#include "engine/sets_kernels.h"

#include "base/isa.h"

static const qset_kernels *const sets[QB_ISAS] = {
	[QB_ISA_SCALAR] = &qset_kernels_plain,
#ifdef __x86_64__
	[QB_ISA_AVX2] = &qset_kernels_avx2,
	[QB_ISA_AVX512] = &qset_kernels_avx512,
#elif defined(__aarch64__)
	[QB_ISA_NEON] = &qset_kernels_neon,
#endif
};

const qset_kernels *
qset_kernels_now(void)
{
	return sets[qb_isa_now()];
}
