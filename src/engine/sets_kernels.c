/*
 * sets_kernels.c
 *		Which of the sets family's inner loops are in use.
 *
 * src/engine/sets_kernels.c
 */
#include "engine/kernels.h"
#include "engine/sets_kernels.h"

const qi_kernels *
qi_kernels_now(void)
{
#ifdef __x86_64__
	const char *name = qs_kernels_now()->name;

	if (strcmp(name, qi_kernels_avx512.name) == 0)
		return &qi_kernels_avx512;
	if (strcmp(name, qi_kernels_avx2.name) == 0)
		return &qi_kernels_avx2;
#endif
	return &qi_kernels_plain;
}
