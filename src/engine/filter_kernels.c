/*
 * filter_kernels.c
 *		Which of the inner loops of filters are in use.
 *
 * src/engine/filter_kernels.c
 */
#include "engine/filter_kernels.h"

static const qf_kernels *const sets[QS_ISAS] = {
	[QS_ISA_SCALAR] = &qf_kernels_plain,
#ifdef __x86_64__
	[QS_ISA_AVX2] = &qf_kernels_avx2,
	[QS_ISA_AVX512] = &qf_kernels_avx512,
#endif
};

const qf_kernels *
qf_kernels_now(void)
{
	return sets[qs_isa_now()];
}
