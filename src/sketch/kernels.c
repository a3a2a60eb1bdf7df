/*
 * kernels.c
 *		The plain inner loops of sketches; each structure's file has its own loops.
 *
 * src/sketch/kernels.c
 */
#include "sketch/kernels.h"

static void
hash(uint64_t seed_key, const uint64_t *fingerprint, size_t count, uint64_t *hv)
{
	size_t i;

	for (i = 0; i < count; i++)
		hv[i] = qb_hash(fingerprint[i], seed_key);
}

const qs_kernels qs_kernels_plain = { .hash = hash, .accumulate = qs_multilevel_accumulate_plain };
