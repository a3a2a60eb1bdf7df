/*
 * filter_kernels.c
 *		Which of the inner loops of filters are in use.
 *
 * src/engine/filter_kernels.c
 */
#include "engine/filter_kernels.h"

static const qf_kernels *const sets[QB_ISAS] = {
	[QB_ISA_SCALAR] = &qf_kernels_plain,
#ifdef __x86_64__
	[QB_ISA_AVX2] = &qf_kernels_avx2,
	[QB_ISA_AVX512] = &qf_kernels_avx512,
#elif defined(__aarch64__)
	[QB_ISA_NEON] = &qf_kernels_neon,
#endif
};

const qf_kernels *
qf_kernels_now(void)
{
	return sets[qb_isa_now()];
}
