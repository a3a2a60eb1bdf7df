/*
 * unmix.h
 *		Inverses of the hash functions without a secret, to make keys with given hashes.
 *
 * test/unit/unmix.h
 */
#ifndef QB_TEST_UNMIX_H
#define QB_TEST_UNMIX_H

#include <stdint.h>

/*
 * Returns the inverse of an odd number modulo 2^64.  Each Newton step doubles the number of
 * right bits.
 */
static inline uint64_t
test_inverse_of(uint64_t odd)
{
	uint64_t x = odd;
	int i;

	for (i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

static inline uint64_t
test_unshift(uint64_t x, int by)
{
	uint64_t y = x;
	int i;

	for (i = by; i < 64; i += by)
		y = x ^ (y >> by);
	return y;
}

/* Returns the inverse of qb_mix64(). */
static inline uint64_t
test_unmix(uint64_t x)
{
	x = test_unshift(x, 31) * test_inverse_of(UINT64_C(0x94D049BB133111EB));
	x = test_unshift(x, 27) * test_inverse_of(UINT64_C(0xBF58476D1CE4E5B9));
	return test_unshift(x, 30);
}

#endif
