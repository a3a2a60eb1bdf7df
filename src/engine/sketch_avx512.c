/*
 * sketch_avx512.c
 *		Inner loops of sketches with AVX-512.
 *
 * A bucket of sub_warp is one vector of 32 bytes, a bucket of half_warp one of 64,
 * and a bucket of warp two of 64.  Each vector of a key's bucket costs a load, an
 * addition under the key's mask, and a store.  A low bucket of multilevel is one
 * vector of 32 one-byte counters; the few that overflow are carried one by one.
 * Hashes, buckets and masks of the whole batch come first, in loops that the
 * compiler makes eight keys wide.
 *
 * The least that a key costs: one cache line read and written.
 *
 * src/engine/sketch_avx512.c
 */
#include "engine/sketch_kernels.h"

#ifdef __x86_64__

#include <immintrin.h>

#include "sketch/multilevel_merge.h"

/* gcc uses vectors of 512 bits in loops only when asked to; clang does not know the option. */
#ifdef __clang__
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif

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

/* Carry the counters of a low bucket that have passed 255. */
static __attribute__((noinline)) void
carry(qs_sketch *sk, uint8_t *low, uint32_t counters)
{
	uint8_t *high = qs_high_for_update(sk, low);

	for (; counters != 0; counters &= counters - 1)
	{
		uint32_t c = (uint32_t) __builtin_ctz(counters);

		qb_counter_set(high, c, sk->wide, qb_counter_get(high, c, sk->wide) + 1);
	}
}

/*
 * Add to the counters of a high bucket: "more" to those that a mask selects, and 1 to those
 * that have carried.
 */
AVX512 QB_INLINE void
add_high(uint8_t *high, bool wide, uint32_t mask, uint64_t more, uint32_t carried)
{
	const __m512i one = wide ? _mm512_set1_epi64(1) : _mm512_set1_epi32(1);
	const __m512i w = wide ? _mm512_set1_epi64((long long) more) : _mm512_set1_epi32((int) more);
	uint32_t lanes = wide ? 8 : 16;
	uint32_t i;

	for (i = 0; i < QS_HIGH_COUNTERS; i += lanes, high += 64)
	{
		__m512i v = _mm512_loadu_si512(high);

		if (wide)
		{
			v = _mm512_mask_add_epi64(v, (__mmask8) (mask >> i), v, w);
			v = _mm512_mask_add_epi64(v, (__mmask8) (carried >> i), v, one);
		}
		else
		{
			v = _mm512_mask_add_epi32(v, (__mmask16) (mask >> i), v, w);
			v = _mm512_mask_add_epi32(v, (__mmask16) (carried >> i), v, one);
		}
		_mm512_storeu_si512(high, v);
	}
}

/* Fetch the high bucket of a low bucket, if there is one. */
QB_INLINE void
fetch_high(const qs_sketch *sk, const uint8_t *low, bool wide)
{
	const uint8_t *high = qs_high_of(sk, low);
	uint32_t line;

	for (line = 0; high && line < (wide ? 4 : 2); line++)
		__builtin_prefetch(high + line * 64, 1);
}

/*
 * Multilevel with weights.  Most weights above 255 change the high bucket.  Its place is in
 * the low bucket, so it is fetched half as long before its turn as the low bucket.
 */
AVX512 QB_INLINE void
add_weights(qs_sketch *sk, bool wide, const uint64_t *hv, const int64_t *weight, size_t count)
{
	uint32_t bucket[QS_BATCH + QS_PREFETCH_AHEAD];
	uint32_t mask[QS_BATCH];
	size_t i;

	qs_locate_batch(sk, QS_LOW_COUNTERS, hv, count, bucket, mask);
	for (i = 0; i < count; i++)
	{
		uint8_t *p = sk->table + (size_t) bucket[i] * QS_LOW_BYTES;
		uint64_t more = (uint64_t) weight[i] >> 8;
		__m256i w = _mm256_set1_epi8((char) weight[i]);
		__m256i v = _mm256_loadu_si256((const void *) p);
		__m256i sum = _mm256_mask_add_epi8(v, mask[i], v, w);
		uint32_t carried = _mm256_mask_cmplt_epu8_mask(mask[i], sum, w);

		__builtin_prefetch(sk->table + (size_t) bucket[i + QS_PREFETCH_AHEAD] * QS_LOW_BYTES, 1);
		fetch_high(sk, sk->table + (size_t) bucket[i + QS_PREFETCH_AHEAD / 2] * QS_LOW_BYTES, wide);
		_mm256_storeu_si256((void *) p, sum);
		if ((more | carried) != 0)
			add_high(qs_high_for_update(sk, p), wide, mask[i], more, carried);
	}
}

/* One-byte counters of multilevel. */
AVX512 static void
add_low(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	uint32_t bucket[QS_BATCH + QS_PREFETCH_AHEAD];
	uint32_t mask[QS_BATCH];
	const __m256i one = _mm256_set1_epi8(1);
	size_t i;

	if (weight && sk->wide)
		add_weights(sk, true, hv, weight, count);
	else if (weight)
		add_weights(sk, false, hv, weight, count);
	if (weight)
		return;
	qs_locate_batch(sk, QS_LOW_COUNTERS, hv, count, bucket, mask);
	for (i = 0; i < count; i++)
	{
		uint8_t *p = sk->table + (size_t) bucket[i] * QS_LOW_BYTES;
		__m256i v = _mm256_loadu_si256((const void *) p);
		__m256i sum = _mm256_mask_add_epi8(v, mask[i], v, one);

		__builtin_prefetch(sk->table + (size_t) bucket[i + QS_PREFETCH_AHEAD] * QS_LOW_BYTES, 1);
		_mm256_storeu_si256((void *) p, sum);
		if (__builtin_expect(_mm256_mask_testn_epi8_mask(mask[i], sum, sum) != 0, 0))
			carry(sk, p, _mm256_mask_testn_epi8_mask(mask[i], sum, sum));
	}
}

/* Which counters of a high bucket are below t, and which are t. */
AVX512 QB_INLINE void
compare_high(const uint8_t *high, bool wide, uint64_t t, uint32_t *below, uint32_t *same)
{
	const __m512i limit = wide ? _mm512_set1_epi64((long long) t) : _mm512_set1_epi32((int) t);
	uint32_t lanes = wide ? 8 : 16;
	uint32_t i;

	*below = *same = 0;
#pragma GCC unroll 4
	for (i = 0; i < QS_HIGH_COUNTERS; i += lanes, high += 64)
	{
		__m512i v = _mm512_loadu_si512(high);

		*below |= (wide ? (uint32_t) _mm512_cmplt_epu64_mask(v, limit)
						: (uint32_t) _mm512_cmplt_epu32_mask(v, limit))
				  << i;
		*same |= (wide ? (uint32_t) _mm512_cmpeq_epi64_mask(v, limit)
					   : (uint32_t) _mm512_cmpeq_epi32_mask(v, limit))
				 << i;
	}
}

/*
 * Keys whose estimates are at least "least".  No high part of a key's counters may be below
 * that of "least".  Where it is the same, the low part may not be smaller.  High buckets are
 * fetched ahead if most low buckets have one: asking each of the others would cost more.
 */
AVX512 QB_INLINE size_t
select_of(const qs_sketch *sk, bool wide, const uint64_t *hv, size_t count, uint64_t least,
		  uint32_t *found)
{
	uint32_t bucket[QS_BATCH + QS_PREFETCH_AHEAD];
	uint32_t mask[QS_BATCH];
	const __m256i low_least = _mm256_set1_epi8((char) least);
	uint64_t t = least >> 8;
	bool many = sk->extra_used > sk->params.n / 2;
	size_t n = 0;
	size_t i;

	qs_locate_batch(sk, QS_LOW_COUNTERS, hv, count, bucket, mask);
	for (i = 0; i < count; i++)
	{
		const uint8_t *low = sk->table + (size_t) bucket[i] * QS_LOW_BYTES;
		const uint8_t *high = qs_high_of(sk, low);
		uint32_t below = t > 0 ? UINT32_MAX : 0;
		uint32_t same = UINT32_MAX;

		__builtin_prefetch(sk->table + (size_t) bucket[i + QS_PREFETCH_AHEAD] * QS_LOW_BYTES);
		if (many)
			fetch_high(sk, sk->table + (size_t) bucket[i + QS_PREFETCH_AHEAD / 2] * QS_LOW_BYTES,
					   wide);
		if (high)
			compare_high(high, wide, t, &below, &same);
		same &= _mm256_cmplt_epu8_mask(_mm256_loadu_si256((const void *) low), low_least);
		found[n] = (uint32_t) i;
		n += (mask[i] & (below | same)) == 0;
	}
	return n;
}

AVX512 static size_t
select_keys(const qs_sketch *sk, const uint64_t *hv, size_t count, uint64_t least, uint32_t *found)
{
	return sk->wide ? select_of(sk, true, hv, count, least, found)
					: select_of(sk, false, hv, count, least, found);
}

/* A byte has carried if the sum is smaller than what was added; see qs_low_add. */
AVX512 QB_INLINE size_t
low_add(uint8_t *into, const uint8_t *from, uint64_t more, size_t count, bool negative,
		uint8_t *carries, qs_carry *list)
{
	const __mmask32 counters = (UINT32_C(1) << QS_LOW_COUNTERS) - 1;
	const __m256i one = _mm256_set1_epi8(1);
	size_t listed = 0;
	size_t i;

	for (i = 0; i < count; i++, into += QS_LOW_BYTES, from += more * QS_LOW_BYTES)
	{
		__m256i old = _mm256_loadu_si256((const void *) into);
		__m256i v = _mm256_loadu_si256((const void *) from);
		__m256i sum = negative ? _mm256_mask_sub_epi8(old, counters, old, v)
							   : _mm256_mask_add_epi8(old, counters, old, v);
		uint32_t mask = _mm256_mask_cmplt_epu8_mask(counters, negative ? old : sum, v);

		_mm256_storeu_si256((void *) into, sum);
		if (carries)
		{
			void *count_of = carries + i * QS_LOW_BYTES;
			__m256i carried = _mm256_loadu_si256(count_of);

			_mm256_storeu_si256(count_of, _mm256_mask_add_epi8(carried, mask, carried, one));
			mask = 0;
		}
		if ((mask | qb_load32(from + QS_LOW_COUNTERS)) != 0)
			list[listed++] = (qs_carry){ (uint32_t) i, mask };
	}
	return listed;
}

AVX512 static qb_status
accumulate(qs_sketch *into, const qs_sketch *from, bool negative)
{
	return qs_multilevel_accumulate_by(into, from, negative, low_add);
}

const qs_kernels qs_kernels_avx512 = {
	.hash = hash,
	.add = { [QS_WARP] = add32,
			 [QS_HALF_WARP] = add16,
			 [QS_SUB_WARP] = add8,
			 [QS_MULTILEVEL] = add_low },
	.select = select_keys,
	.accumulate = accumulate,
};

#endif
