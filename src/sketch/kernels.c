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
	qs_hash_each(seed_key, fingerprint, count, hv);
}

const qs_kernels qs_kernels_plain = { .hash = hash, .accumulate = qs_multilevel_accumulate_plain };
