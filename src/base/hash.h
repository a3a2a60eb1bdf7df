/*
 * hash.h
 *		From a key's fingerprint to its hash, and from there to an index.
 *
 * A key reaches a family of values (sketches, filters, sets) as a 64-bit
 * fingerprint: the value itself if it has at most 64 bits, else a 64-bit hash.
 * One full-avalanche mix gives hv, and every choice is taken from hv.  An index
 * below n is the high part of a product, (hv * n) >> 64, so halving n joins
 * neighbours.  Further indexes come from a second mix of hv.
 *
 * No modulo and no floating point: CPU and GPU compute the same bits.
 *
 * src/base/hash.h
 */
#ifndef QB_HASH_H
#define QB_HASH_H

#include "base/port.h"

/* An odd constant for streams of random numbers and for second mixes: 2^64 / golden ratio. */
#define QB_ROW_STEP UINT64_C(0x9E3779B97F4A7C15)

/* Full-avalanche bijection of 64 bits (the finalizer of splitmix64). */
QB_INLINE uint64_t
qb_mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xBF58476D1CE4E5B9);
	x ^= x >> 27;
	x *= UINT64_C(0x94D049BB133111EB);
	x ^= x >> 31;
	return x;
}

/* What a seed contributes to each hash; computed once for each value. */
QB_INLINE uint64_t
qb_seed_key(uint64_t seed)
{
	return qb_mix64(seed + QB_ROW_STEP);
}

/* hv of a fingerprint.  A bijection, so distinct fingerprints never share hv. */
QB_INLINE uint64_t
qb_hash(uint64_t fingerprint, uint64_t seed_key)
{
	return qb_mix64(fingerprint ^ seed_key);
}

/* hv mapped to 0 .. n-1 by its high bits. */
QB_INLINE uint64_t
qb_reduce(uint64_t hv, uint64_t n)
{
	return qb_mul_high(hv, n);
}

#endif
