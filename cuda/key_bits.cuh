/*
 * key_bits.cuh
 *		The bits in which keys differ: a radix sort needs to look at no others.
 *
 * Most columns have keys of 20 to 30 bits, so that is a third of the passes.
 *
 * cuda/key_bits.cuh
 */
#ifndef QS_KEY_BITS_CUH
#define QS_KEY_BITS_CUH

#include "device.cuh"

/* Bits that any and that all of some keys have. */
struct qs_key_bits
{
	uint64_t any = 0;
	uint64_t all = ~UINT64_C(0);
};

/* Learn the bits of more keys, and wait. */
extern qb_status qs_learn_bits(qs_cuda *gpu, const int64_t *key, uint64_t count, qs_key_bits *bits);

/* From the first bit in which any two keys differ to the last. */
struct qs_bit_range
{
	int begin, end;
};

static inline qs_bit_range
qs_differing(const qs_key_bits &bits)
{
	uint64_t differ = bits.any & ~bits.all;

	if (differ == 0)
		return { 0, 1 };
	return { __builtin_ctzll(differ), 64 - __builtin_clzll(differ) };
}

#endif
