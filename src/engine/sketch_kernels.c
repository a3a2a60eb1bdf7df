/*
 * sketch_kernels.c
 *		Which of the inner loops of sketches are in use.
 *
 * src/engine/sketch_kernels.c
 */
#include "engine/sketch_kernels.h"

static const qs_kernels *const sets[QB_ISAS] = {
	[QB_ISA_SCALAR] = &qs_kernels_plain,
#ifdef __x86_64__
	[QB_ISA_AVX2] = &qs_kernels_avx2,
	[QB_ISA_AVX512] = &qs_kernels_avx512,
#elif defined(__aarch64__)
	[QB_ISA_NEON] = &qs_kernels_neon,
#endif
};

const qs_kernels *
qs_kernels_now(void)
{
	return sets[qb_isa_now()];
}

static qb_status
accumulate(qs_sketch *into, const qs_sketch *from, bool negative)
{
	return qs_kernels_now()->accumulate(into, from, negative);
}

/* Runs at load: from then on sketches merge with the table in use. */
__attribute__((constructor)) static void
provide_accumulate(void)
{
	qs_multilevel_accumulate = accumulate;
}

void
qs_kernels_add(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	uint8_t structure = sk->params.structure;
	bool takes_width = !sk->wide || structure == QS_MULTILEVEL;
	qs_kernel_add add = takes_width ? qs_kernels_now()->add[structure] : NULL;

	if (count == 0)
		return;
	if (add)
		add(sk, hv, weight, count);
	else
		sk->ops->add(sk, hv, weight, count);
}

size_t
qs_kernels_select(const qs_sketch *sk, const uint64_t *fingerprint, size_t count, int64_t least,
				  uint32_t *found)
{
	const qs_kernels *now = qs_kernels_now();
	uint64_t hv[QS_BATCH];
	size_t i;

	if (now->select && least > 0 && sk->form == QS_DENSE && count > 0 &&
		sk->params.structure == QS_MULTILEVEL && sk->masks)
	{
		now->hash(sk->seed_key, fingerprint, count, hv);
		return now->select(sk, hv, count, (uint64_t) least, found);
	}
	for (i = 0; i < count; i++)
		found[i] = (uint32_t) i;
	return count;
}
