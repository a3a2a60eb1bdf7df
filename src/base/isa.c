/*
 * isa.c
 *		Which vector instructions the CPU engines use: one choice for all.
 *
 * src/base/isa.c
 */
#include "base/isa.h"

static const char *const names[QS_ISAS] = { "scalar", "avx2", "avx512" };

static int current = -1; /* a qs_isa; -1: not chosen yet */

const char *
qs_isa_name(qs_isa isa)
{
	return names[isa];
}

bool
qs_isa_usable(qs_isa isa)
{
#ifdef __x86_64__
	if (isa == QS_ISA_AVX512)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
			   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
	if (isa == QS_ISA_AVX2)
		return __builtin_cpu_supports("avx2");
#endif
	return isa == QS_ISA_SCALAR;
}

qs_isa
qs_isa_now(void)
{
	if (current < 0)
		qs_isa_use("auto");
	return (qs_isa) current;
}

bool
qs_isa_use(const char *name)
{
	int isa;

	for (isa = QS_ISAS - 1; isa >= 0; isa--)
		if ((strcmp(name, "auto") == 0 || strcmp(name, names[isa]) == 0) &&
			qs_isa_usable((qs_isa) isa))
		{
			current = isa;
			return true;
		}
	return false;
}
