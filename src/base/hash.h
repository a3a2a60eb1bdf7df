/*
 * hash.h
 *		From a key's fingerprint to a bucket, a mask, a row or a cell.
 *
 * A key reaches the core as a 64-bit fingerprint (the value itself for
 * integers, a 64-bit hash for everything else).  One full-avalanche mix gives
 * hv, and every choice is taken from hv:
 *
 *	bucket		high bits: (hv * n) >> 64, so that halving n joins neighbours
 *	mask		low 16 bits: hv & (H - 1)
 *	its turn	the next 16 bits (masks.h)
 *	row j		of the thread sketch: high bits of a second mix of hv
 *	cell i		of an sf sub-bucket: high bits of another second mix of hv
 *
 * No modulo and no floating point: CPU and GPU compute the same bits.
 * Paper: sections II-D (rows), III (bucket and mask), IV-B (cells).
 *
 * src/base/hash.h
 */
#ifndef QS_HASH_H
#define QS_HASH_H

#include "base/port.h"

/* Odd constants of the second mixes: 2^64 / golden ratio, 2^64 / plastic number. */
#define QS_ROW_STEP  UINT64_C(0x9E3779B97F4A7C15)
#define QS_CELL_STEP UINT64_C(0xC13FA9A902A6328F)

/* Full-avalanche bijection of 64 bits (the finalizer of splitmix64). */
QS_INLINE uint64_t
qs_mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xBF58476D1CE4E5B9);
	x ^= x >> 27;
	x *= UINT64_C(0x94D049BB133111EB);
	x ^= x >> 31;
	return x;
}

/* What a seed contributes to each hash; computed once per sketch. */
QS_INLINE uint64_t
qs_seed_key(uint64_t seed)
{
	return qs_mix64(seed + QS_ROW_STEP);
}

/* hv of a fingerprint.  A bijection, so distinct fingerprints never share hv. */
QS_INLINE uint64_t
qs_hash(uint64_t fingerprint, uint64_t seed_key)
{
	return qs_mix64(fingerprint ^ seed_key);
}

/* hv mapped to 0 .. n-1 by its high bits. */
QS_INLINE uint64_t
qs_reduce(uint64_t hv, uint64_t n)
{
	return qs_mul_high(hv, n);
}

/* The second mix of hv that chooses the counter of row j. */
QS_INLINE uint64_t
qs_row_hash(uint64_t hv, uint32_t row)
{
	return qs_mix64(hv + QS_ROW_STEP * row);
}

/* Counter of row j, 0 .. n-1. */
QS_INLINE uint64_t
qs_row_cell(uint64_t hv, uint32_t row, uint64_t n)
{
	return qs_reduce(qs_row_hash(hv, row), n);
}

/* Cell of the i-th selected sub-bucket, 0 .. z-1. */
QS_INLINE uint32_t
qs_sf_cell(uint64_t hv, uint32_t i, uint32_t z)
{
	return (uint32_t) qs_reduce(qs_mix64(hv + QS_CELL_STEP * (i + 1)), z);
}

#endif
