/*
 * sketch_avx512.c
 *		Inner loops of sketches with AVX-512.
 *
 * A bucket of sub_warp is one vector of 32 bytes, a bucket of half_warp one of 64,
 * and a bucket of warp two of 64.  Each vector of a key's bucket costs a load, an
 * addition under the key's mask, and a store.  Hashes, buckets and masks of the whole
 * batch come first, in loops that the compiler makes eight keys wide.  The loops of
 * multilevel are in sketch_avx512_multilevel.c.
 *
 * The least that a key costs: one cache line read and written.
 *
 * src/engine/sketch_avx512.c
 */
#include "engine/sketch_avx512.h"

#ifdef __x86_64__

AVX512 static void
hash(uint64_t seed_key, const uint64_t *fingerprint, size_t count, uint64_t *restrict hv)
{
	size_t i;

	for (i = 0; i < count; i++)
		hv[i] = qb_hash(fingerprint[i], seed_key);
}

QB_INLINE uint32_t
weight_of(const int64_t *weight, size_t i)
{
	return weight ? (uint32_t) weight[i] : 1;
}

AVX512 static void
add8(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	uint32_t bucket[QS_BATCH + QS_PREFETCH_AHEAD];
	uint32_t mask[QS_BATCH];
	size_t i;

	qs_locate_batch(sk, 8, hv, count, bucket, mask);
	for (i = 0; i < count; i++)
	{
		uint8_t *p = sk->table + (size_t) bucket[i] * 32;
		__m256i v = _mm256_loadu_si256((const void *) p);
		__m256i w = _mm256_set1_epi32((int) weight_of(weight, i));

		__builtin_prefetch(sk->table + (size_t) bucket[i + QS_PREFETCH_AHEAD] * 32, 1);
		_mm256_storeu_si256((void *) p, _mm256_mask_add_epi32(v, (__mmask8) mask[i], v, w));
	}
}

/* m = 16 or 32: one or two vectors of 16 counters. */
AVX512 QB_INLINE void
add16s(qs_sketch *sk, uint32_t m, const uint64_t *hv, const int64_t *weight, size_t count)
{
	uint32_t bucket[QS_BATCH + QS_PREFETCH_AHEAD];
	uint32_t mask[QS_BATCH];
	size_t i;

	qs_locate_batch(sk, m, hv, count, bucket, mask);
	for (i = 0; i < count; i++)
	{
		uint8_t *p = sk->table + (size_t) bucket[i] * m * 4;
		const uint8_t *next = sk->table + (size_t) bucket[i + QS_PREFETCH_AHEAD] * m * 4;
		__m512i w = _mm512_set1_epi32((int) weight_of(weight, i));
		uint32_t half;

		for (half = 0; half < m / 16; half++)
		{
			__m512i v = _mm512_loadu_si512(p + half * 64);

			__builtin_prefetch(next + half * 64, 1);
			v = _mm512_mask_add_epi32(v, (__mmask16) (mask[i] >> (half * 16)), v, w);
			_mm512_storeu_si512(p + half * 64, v);
		}
	}
}

AVX512 static void
add16(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	add16s(sk, 16, hv, weight, count);
}

AVX512 static void
add32(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	add16s(sk, 32, hv, weight, count);
}

const qs_kernels qs_kernels_avx512 = {
	.hash = hash,
	.add = { [QS_WARP] = add32,
			 [QS_HALF_WARP] = add16,
			 [QS_SUB_WARP] = add8,
			 [QS_MULTILEVEL] = qs_avx512_add_low },
	.select = qs_avx512_select,
	.add_select = qs_avx512_add_select,
	.accumulate = qs_avx512_accumulate,
};

#endif
