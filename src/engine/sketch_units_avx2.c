/*
 * sketch_units_avx2.c
 *		Looking at the units of tables with AVX2: which hold something, and how much.
 *
 * src/engine/sketch_units_avx2.c
 */
#include "engine/sketch_units.h"

#ifdef __x86_64__

#include <immintrin.h>

#include "sketch/multilevel_buckets.h"

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll_count(8)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

#define AVX2 __attribute__((target("avx2,popcnt")))

AVX2 QB_INLINE __m256i
load(const uint8_t *p)
{
	return _mm256_loadu_si256((const void *) p);
}

/* ---- which units hold something ---- */

/* Which units, each of a multiple of 32 bytes, have any bit of "wanted" set? */
AVX2 QB_INLINE uint64_t
present_in(const uint8_t *table, uint32_t bytes, uint64_t count, __m256i wanted)
{
	uint64_t bits = 0;
	uint64_t i;
	uint32_t c;

	UNROLL
	for (i = 0; i < count; i++, table += bytes)
	{
		__m256i all = load(table);

		for (c = 32; c < bytes; c += 32)
			all = _mm256_or_si256(all, load(table + c));
		bits |= (uint64_t) !_mm256_testz_si256(all, wanted) << i;
	}
	return bits;
}

/* The last four bytes of a low bucket. */
AVX2 QB_INLINE __m256i
index_bytes(void)
{
	return _mm256_setr_epi32(0, 0, 0, 0, 0, 0, 0, -1);
}

AVX2 uint64_t
qs_avx2_present_low(const uint8_t *low, uint64_t count)
{
	return present_in(low, QS_LOW_BYTES, count,
					  _mm256_xor_si256(index_bytes(), _mm256_set1_epi32(-1)));
}

AVX2 uint64_t
qs_avx2_have_index(const uint8_t *low, uint64_t count)
{
	return present_in(low, QS_LOW_BYTES, count, index_bytes());
}

/* Which of eight counters are at least 2^shift? */
AVX2 QB_INLINE uint32_t
reach(__m256i v, int shift)
{
	__m256i below = _mm256_cmpeq_epi32(_mm256_srli_epi32(v, shift), _mm256_setzero_si256());

	return ~(uint32_t) _mm256_movemask_ps(_mm256_castsi256_ps(below)) & 0xFF;
}

AVX2 static uint64_t
present_counters(const uint8_t *table, uint64_t count)
{
	uint64_t bits = 0;
	uint64_t i;

	for (i = 0; i + 8 <= count; i += 8)
		bits |= (uint64_t) reach(load(table + 4 * i), 0) << i;
	for (; i < count; i++)
		bits |= (uint64_t) (qb_load32(table + 4 * i) != 0) << i;
	return bits;
}

AVX2 uint64_t
qs_avx2_present_cells(const uint8_t *table, uint32_t bytes, uint64_t count)
{
	const __m256i all = _mm256_set1_epi32(-1);

	if (bytes == 4)
		return present_counters(table, count);
	if (bytes == 32)
		return present_in(table, 32, count, all);
	return present_in(table, bytes, count, all);
}

/* ---- how many bytes they take ---- */

/* A counter takes a byte, and one more from 128 on. */
AVX2 uint64_t
qs_avx2_measure_low(const uint8_t *low, uint64_t present, uint64_t *apart)
{
	uint64_t bytes = 0;

	for (; present != 0; present &= present - 1)
	{
		const uint8_t *bucket = low + (size_t) __builtin_ctzll(present) * QS_LOW_BYTES;
		__m256i v = load(bucket);
		__m256i zero = _mm256_cmpeq_epi8(v, _mm256_setzero_si256());

		if (qb_load32(bucket + QS_LOW_COUNTERS) != 0)
			*apart |= present & -present;
		else
			bytes += QS_LOW_BYTES -
					 (uint64_t) __builtin_popcount((uint32_t) _mm256_movemask_epi8(zero)) +
					 (uint64_t) __builtin_popcount((uint32_t) _mm256_movemask_epi8(v));
	}
	return bytes;
}

/* The bytes of eight counters: one more for each 7 bits. */
AVX2 QB_INLINE uint64_t
measure_eight(__m256i v)
{
	uint64_t bytes = (uint64_t) __builtin_popcount(reach(v, 0));
	int shift;

	if (!_mm256_testz_si256(v, _mm256_set1_epi32(-QS_SHORT)))
		for (shift = 7; shift < 32; shift += 7)
			bytes += (uint64_t) __builtin_popcount(reach(v, shift));
	return bytes;
}

AVX2 QB_INLINE uint64_t
measure(const uint8_t *table, uint32_t width, uint64_t present)
{
	uint64_t bytes = 0;
	uint32_t c;

	for (; present != 0; present &= present - 1)
		for (c = 0; c < width; c += 8)
			bytes +=
				measure_eight(load(table + ((size_t) __builtin_ctzll(present) * width + c) * 4));
	return bytes;
}

/* Counters that are units of their own, eight at a time.  Only those that are present are read. */
AVX2 static uint64_t
measure_counters(const uint8_t *table, uint64_t present)
{
	const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
	uint64_t bytes = 0;

	for (; present != 0; present >>= 8, table += 32)
	{
		__m256i bits = _mm256_set1_epi32((int) (present & 0xFF));
		__m256i lanes = _mm256_cmpeq_epi32(_mm256_and_si256(bits, bit), bit);

		bytes += measure_eight(_mm256_maskload_epi32((const int *) table, lanes));
	}
	return bytes;
}

AVX2 uint64_t
qs_avx2_measure_cells(const uint8_t *table, uint32_t width, uint64_t present)
{
	if (width == 1)
		return measure_counters(table, present);
	if (width == 8)
		return measure(table, 8, present);
	return measure(table, width, present);
}

#endif
