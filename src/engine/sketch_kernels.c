/*
 * sketch_kernels.c
 *		Which of the inner loops of sketches are in use.
 *
 * src/engine/sketch_kernels.c
 */
#include "engine/sketch_kernels.h"

#include "base/vector.h"

static const qs_kernels *const sets[QB_ISAS] = {
	[QB_ISA_SCALAR] = &qs_kernels_plain,
#ifdef QB_VECTOR
	[QB_ISA_VECTOR] = &qs_kernels_vector,
#endif
#ifdef __x86_64__
	[QB_ISA_AVX512] = &qs_kernels_avx512,
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

/* Can fast loops select keys by this limit? */
static bool
selects(const qs_sketch *sk, size_t count, int64_t least)
{
	return least > 0 && count > 0 && sk->encoding == QS_DENSE &&
		   sk->params.structure == QS_MULTILEVEL && sk->masks;
}

void
qs_kernels_select(const qs_sketch *sk, const uint64_t *fingerprint, size_t count,
				  qs_selection *selection)
{
	const qs_kernels *now = qs_kernels_now();
	uint64_t hv[QS_BATCH];
	size_t i;

	if (now->select && selects(sk, count, selection->least))
	{
		now->hash(sk->seed_key, fingerprint, count, hv);
		selection->count =
			now->select(sk, hv, count, (uint64_t) selection->least, selection->found);
		return;
	}
	for (i = 0; i < count; i++)
		selection->found[i] = (uint32_t) i;
	selection->count = count;
}

bool
qs_kernels_add_select(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count,
					  qs_selection *selection)
{
	const qs_kernels *now = qs_kernels_now();

	if (!now->add_select || !selects(sk, count, selection->least))
		return false;
	selection->count =
		now->add_select(sk, hv, weight, count, (uint64_t) selection->least, selection->found);
	return true;
}
