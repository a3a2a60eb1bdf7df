/*
 * sketch_units.c
 *		Which of the fast loops over the units of tables are in use.
 *
 * src/engine/sketch_units.c
 */
#include "engine/sketch_units.h"

/* Looking at units is limited by memory, so AVX-512 has no loops of its own for it. */
#define LOOKING_AVX2                                                            \
	.present_low = qs_avx2_present_low, .have_index = qs_avx2_have_index,       \
	.present_cells = qs_avx2_present_cells, .measure_low = qs_avx2_measure_low, \
	.measure_cells = qs_avx2_measure_cells

static qs_unit_kernels sets[QB_ISAS] = {
#ifdef __x86_64__
	[QB_ISA_AVX2] = { LOOKING_AVX2 },
	[QB_ISA_AVX512] = { LOOKING_AVX2, .put_low = qs_avx512_put_low,
						.put_cells = qs_avx512_put_cells },
#endif
};

static const qs_unit_kernels *
units_now(void)
{
	return &sets[qb_isa_now()];
}

/* Runs at load: from then on sketches are written with the loops in use. */
__attribute__((constructor)) static void
provide_units(void)
{
#ifdef __x86_64__
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx512vbmi2"))
		sets[QB_ISA_AVX512].put_low = NULL;
#endif
	qs_unit_kernels_now = units_now;
}
