/*
 * isa.c
 *		Chooses the vector instructions that all CPU engines use.
 *
 * src/base/isa.c
 */
#include "base/isa.h"

static const char *const names[QB_ISAS] = { "scalar", "neon", "avx2", "avx512" };

static int current = -1; /* a qb_isa; -1: not chosen yet */

const char *
qb_isa_name(qb_isa isa)
{
	return names[isa];
}

bool
qb_isa_usable(qb_isa isa)
{
#ifdef __x86_64__
	if (isa == QB_ISA_AVX512)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
			   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
			   __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
	if (isa == QB_ISA_AVX2)
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
#elif defined(__aarch64__)
	if (isa == QB_ISA_NEON)
		return true;
#endif
	return isa == QB_ISA_SCALAR;
}

qb_isa
qb_isa_now(void)
{
	if (current < 0)
		qb_isa_use("auto");
	return (qb_isa) current;
}

bool
qb_isa_use(const char *name)
{
	int isa;

	for (isa = QB_ISAS - 1; isa >= 0; isa--)
		if ((strcmp(name, "auto") == 0 || strcmp(name, names[isa]) == 0) &&
			qb_isa_usable((qb_isa) isa))
		{
			current = isa;
			return true;
		}
	return false;
}
