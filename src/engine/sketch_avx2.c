/*
 * sketch_avx2.c
 *		Inner loops of sketches with AVX2.
 *
 * The same loops as in sketch_avx512.c for the bucketed structures, with eight
 * counters at a time.  AVX2 has no masks.  So eight bits become eight lanes of 0 or
 * -1, by comparing each lane with its own bit, and subtracting -1 adds 1.
 *
 * src/engine/sketch_avx2.c
 */
#include "engine/sketch_kernels.h"

#ifdef __x86_64__

#include <immintrin.h>

#include "sketch/multilevel_merge.h"

#define AVX2 __attribute__((target("avx2")))

/*
 * AVX2 has no product of 64-bit lanes, so this is the plain loop, compiled to better
 * scalar code.
 */
AVX2 static void
hash(uint64_t seed_key, const uint64_t *fingerprint, size_t count, uint64_t *hv)
{
	qs_hash_each(seed_key, fingerprint, count, hv);
}

/* m = 8, 16 or 32: one, two or four vectors of eight counters. */
AVX2 QB_INLINE void
add8s(qs_sketch *sk, uint32_t m, const uint64_t *hv, const int64_t *weight, size_t count)
{
	const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
	uint32_t bucket[QS_BATCH + QS_PREFETCH_AHEAD];
	uint32_t mask[QS_BATCH];
	size_t i;

	qs_locate_batch(sk, m, hv, count, bucket, mask);
	for (i = 0; i < count; i++)
	{
		uint8_t *p = sk->table + (size_t) bucket[i] * m * 4;
		const uint8_t *next = sk->table + (size_t) bucket[i + QS_PREFETCH_AHEAD] * m * 4;
		__m256i w = _mm256_set1_epi32(weight ? (int) weight[i] : 1);
		uint32_t part;

		for (part = 0; part < m / 8; part++)
		{
			__m256i v = _mm256_loadu_si256((const void *) (p + part * 32));
			__m256i bits = _mm256_set1_epi32((int) (mask[i] >> (part * 8)));
			__m256i chosen = _mm256_cmpeq_epi32(_mm256_and_si256(bits, bit), bit);

			__builtin_prefetch(next + part * 32, 1);
			v = _mm256_add_epi32(v, _mm256_and_si256(chosen, w));
			_mm256_storeu_si256((void *) (p + part * 32), v);
		}
	}
}

AVX2 static void
add8(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	add8s(sk, 8, hv, weight, count);
}

AVX2 static void
add16(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	add8s(sk, 16, hv, weight, count);
}

AVX2 static void
add32(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	add8s(sk, 32, hv, weight, count);
}

/* A byte has carried if the sum is smaller than what was added; see qs_low_add. */
AVX2 QB_INLINE size_t
low_add(uint8_t *into, const uint8_t *from, size_t count, bool negative, uint8_t *carries,
		qs_carry *list)
{
	const __m256i counters = _mm256_setr_epi32(-1, -1, -1, -1, -1, -1, -1, 0);
	size_t listed = 0;
	size_t i;

	for (i = 0; i < count; i++, into += QS_LOW_BYTES, from += QS_LOW_BYTES)
	{
		__m256i old = _mm256_loadu_si256((const void *) into);
		__m256i bucket = _mm256_loadu_si256((const void *) from);
		__m256i v = _mm256_and_si256(bucket, counters);
		__m256i sum = negative ? _mm256_sub_epi8(old, v) : _mm256_add_epi8(old, v);
		__m256i larger = negative ? old : sum;
		__m256i fits = _mm256_cmpeq_epi8(_mm256_max_epu8(larger, v), larger);
		uint32_t mask = ~(uint32_t) _mm256_movemask_epi8(fits);

		_mm256_storeu_si256((void *) into, sum);
		if (carries)
		{
			__m256i *count_of = (__m256i *) (carries + i * QS_LOW_BYTES);
			__m256i carried = _mm256_add_epi8(fits, _mm256_set1_epi8(1));

			_mm256_storeu_si256(count_of, _mm256_add_epi8(_mm256_loadu_si256(count_of), carried));
			mask = 0;
		}
		if ((mask | qb_load32(from + QS_LOW_COUNTERS)) != 0)
			list[listed++] = (qs_carry){ (uint32_t) i, mask };
	}
	return listed;
}

AVX2 static qb_status
accumulate(qs_sketch *into, const qs_sketch *from, bool negative)
{
	return qs_multilevel_accumulate_by(into, from, negative, low_add);
}

const qs_kernels qs_kernels_avx2 = {
	.hash = hash,
	.add = { [QS_WARP] = add32, [QS_HALF_WARP] = add16, [QS_SUB_WARP] = add8 },
	.accumulate = accumulate,
};

#endif
