/*
 * sets_kernels.c
 *		Which of the inner loops of sets are in use.
 *
 * src/engine/sets_kernels.c
 */
#include "engine/sets_kernels.h"

#include "base/isa.h"

static const qi_kernels *const sets[QS_ISAS] = {
	[QS_ISA_SCALAR] = &qi_kernels_plain,
#ifdef __x86_64__
	[QS_ISA_AVX2] = &qi_kernels_avx2,
	[QS_ISA_AVX512] = &qi_kernels_avx512,
#endif
};

const qi_kernels *
qi_kernels_now(void)
{
	return sets[qs_isa_now()];
}
