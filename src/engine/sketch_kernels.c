/*
 * sketch_kernels.c
 *		The plain inner loops, and the choice among all sets.
 *
 * src/engine/sketch_kernels.c
 */
#include "engine/sketch_kernels.h"

static bool
always(void)
{
	return true;
}

static void
hash(uint64_t seed_key, const uint64_t *fingerprint, size_t count, uint64_t *hv)
{
	size_t i;

	for (i = 0; i < count; i++)
		hv[i] = qs_hash(fingerprint[i], seed_key);
}

const qs_kernels qs_kernels_scalar = { .name = "scalar", .usable = always, .hash = hash };

/* Best first. */
static const qs_kernels *const sets[] = {
#ifdef __x86_64__
	&qs_kernels_avx512,
	&qs_kernels_avx2,
#endif
	&qs_kernels_scalar,
};

#define SETS (sizeof(sets) / sizeof(sets[0]))

static const qs_kernels *current;

const qs_kernels *
qs_kernels_now(void)
{
	if (!current)
		qs_kernels_use("auto");
	return current;
}

bool
qs_kernels_use(const char *name)
{
	size_t i;

	for (i = 0; i < SETS; i++)
		if ((strcmp(name, "auto") == 0 || strcmp(name, sets[i]->name) == 0) && sets[i]->usable())
		{
			current = sets[i];
			return true;
		}
	return false;
}

void
qs_kernels_add(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	qs_kernel_add add = sk->wide ? NULL : qs_kernels_now()->add[sk->params.structure];

	if (count == 0)
		return;
	if (add)
		add(sk, hv, weight, count);
	else
		sk->ops->add(sk, hv, weight, count);
}
