/*
 * sets_avx2.c
 *		The sets family's inner loops with AVX2.
 *
 * This file does what sets_avx512.c does, with vectors of half the width and without
 * masks.
 *
 * src/engine/sets_avx2.c
 */
#include "engine/sets_kernels.h"

#ifdef __x86_64__

#include <immintrin.h>

#define AVX2        __attribute__((target("avx2,popcnt")))
#define AVX2_INLINE static inline __attribute__((always_inline, target("avx2,popcnt")))

/* Sets whose elements are looked up are prefetched this many ahead. */
#define AHEAD 8

/* From this many elements of the smaller set on, it pays to merge two halves in turns. */
#define TWO_STREAMS 64

AVX2_INLINE __m256i
load(const void *p)
{
	return _mm256_loadu_si256(p);
}

AVX2 static bool
sorted32(const int32_t *a, uint64_t n)
{
	uint64_t i = 0;

	for (; i + 9 <= n; i += 8)
		if (_mm256_movemask_epi8(_mm256_cmpgt_epi32(load(a + i + 1), load(a + i))) != -1)
			return false;
	return qset_sorted32(a + i, n - i);
}

AVX2 static bool
sorted64(const int64_t *a, uint64_t n)
{
	uint64_t i = 0;

	for (; i + 5 <= n; i += 4)
		if (_mm256_movemask_epi8(_mm256_cmpgt_epi64(load(a + i + 1), load(a + i))) != -1)
			return false;
	return qset_sorted64(a + i, n - i);
}

/* Which of the 8 elements of x are in y, as a mask of 8 bits. */
AVX2_INLINE uint32_t
members8(__m256i x, __m256i y)
{
	__m256i z = _mm256_permute2x128_si256(y, y, 1);
	__m256i found = _mm256_or_si256(_mm256_cmpeq_epi32(x, y), _mm256_cmpeq_epi32(x, z));

#define TURN(v, by) _mm256_cmpeq_epi32(x, _mm256_shuffle_epi32(v, by))
	found = _mm256_or_si256(found, _mm256_or_si256(TURN(y, 0x39), TURN(z, 0x39)));
	found = _mm256_or_si256(found, _mm256_or_si256(TURN(y, 0x4E), TURN(z, 0x4E)));
	found = _mm256_or_si256(found, _mm256_or_si256(TURN(y, 0x93), TURN(z, 0x93)));
#undef TURN
	return (uint32_t) _mm256_movemask_ps(_mm256_castsi256_ps(found));
}

AVX2_INLINE uint64_t
merge32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m, int32_t *out)
{
	uint64_t i = 0;
	uint64_t j = 0;
	uint64_t common = 0;

	while (i + 8 <= n && j + 8 <= m)
	{
		int32_t last_a = a[i + 7];
		int32_t last_b = b[j + 7];
		uint32_t found = members8(load(a + i), load(b + j));

		if (out)
			for (uint32_t f = found, c = 0; f != 0; f &= f - 1)
				out[common + c++] = a[i + (uint32_t) __builtin_ctz(f)];
		common += (uint64_t) _mm_popcnt_u32(found);
		i += qset_step(last_a <= last_b, 8);
		j += qset_step(last_b <= last_a, 8);
	}
	if (out)
		return common + qset_merge32(a + i, n - i, b + j, m - j, out + common);
	return common + qset_merge_count32(a + i, n - i, b + j, m - j);
}

/*
 * Compare a block of each set, and step forward in the set with the smaller last
 * element, or in both.
 */
AVX2_INLINE uint64_t
count_block32(const int32_t **a, const int32_t **b)
{
	int32_t last_a = (*a)[7];
	int32_t last_b = (*b)[7];
	uint32_t found = members8(load(*a), load(*b));

	*a += qset_step(last_a <= last_b, 8);
	*b += qset_step(last_b <= last_a, 8);
	return (uint64_t) _mm_popcnt_u32(found);
}

/* The first element of b that is >= x. */
static const int32_t *
first_not_below(const int32_t *b, uint64_t m, int32_t x)
{
	while (m > 0)
	{
		uint64_t half = m / 2;

		if (b[half] < x)
		{
			b += half + 1;
			m -= half + 1;
		}
		else
			m = half;
	}
	return b;
}

/*
 * A step of the merge waits for the loads of the step before.  So large sets are cut
 * in halves and the two merges take turns: one computes while the other waits.
 */
AVX2 uint64_t
qset_count32_avx2(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m)
{
	const int32_t *end_a = a + n;
	const int32_t *end_b = b + m;
	const int32_t *half_a = a + n / 2;
	const int32_t *half_b;
	const int32_t *x = half_a;
	const int32_t *y;
	uint64_t common = 0;

	if (n < TWO_STREAMS || m < TWO_STREAMS)
		return merge32(a, n, b, m, NULL);
	half_b = y = first_not_below(b, m, *half_a);
	while (half_a - a >= 8 && half_b - b >= 8 && end_a - x >= 8 && end_b - y >= 8)
	{
		common += count_block32(&a, &b);
		common += count_block32(&x, &y);
	}
	common += merge32(a, (uint64_t) (half_a - a), b, (uint64_t) (half_b - b), NULL);
	return common + merge32(x, (uint64_t) (end_a - x), y, (uint64_t) (end_b - y), NULL);
}

AVX2 static uint64_t
intersect32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m, int32_t *out)
{
	return merge32(a, n, b, m, out);
}

/* Which of the 4 elements of x are in y. */
AVX2_INLINE uint32_t
members4(__m256i x, __m256i y)
{
#define TURN(by) _mm256_cmpeq_epi64(x, _mm256_permute4x64_epi64(y, by))
	__m256i found = _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi64(x, y), TURN(0x39)),
									_mm256_or_si256(TURN(0x4E), TURN(0x93)));
#undef TURN

	return (uint32_t) _mm256_movemask_pd(_mm256_castsi256_pd(found));
}

AVX2_INLINE uint64_t
merge64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m, int64_t *out)
{
	uint64_t i = 0;
	uint64_t j = 0;
	uint64_t common = 0;

	while (i + 4 <= n && j + 4 <= m)
	{
		int64_t last_a = a[i + 3];
		int64_t last_b = b[j + 3];
		uint32_t found = members4(load(a + i), load(b + j));

		if (out)
			for (uint32_t f = found, c = 0; f != 0; f &= f - 1)
				out[common + c++] = a[i + (uint32_t) __builtin_ctz(f)];
		common += (uint64_t) _mm_popcnt_u32(found);
		i += qset_step(last_a <= last_b, 4);
		j += qset_step(last_b <= last_a, 4);
	}
	if (out)
		return common + qset_merge64(a + i, n - i, b + j, m - j, out + common);
	return common + qset_merge_count64(a + i, n - i, b + j, m - j);
}

AVX2 static uint64_t
count64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m)
{
	return merge64(a, n, b, m, NULL);
}

AVX2 static uint64_t
intersect64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m, int64_t *out)
{
	return merge64(a, n, b, m, out);
}

AVX2 static uint64_t
and_count(const uint64_t *a, const uint64_t *b, uint64_t words)
{
	const __m256i table =
		_mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
	const __m256i low = _mm256_set1_epi8(15);
	__m256i sum = _mm256_setzero_si256();
	uint64_t part[4];
	uint64_t i = 0;

	for (; i + 4 <= words; i += 4)
	{
		__m256i both = _mm256_and_si256(load(a + i), load(b + i));
		__m256i bytes = _mm256_add_epi8(
			_mm256_shuffle_epi8(table, _mm256_and_si256(both, low)),
			_mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(both, 4), low)));

		sum = _mm256_add_epi64(sum, _mm256_sad_epu8(bytes, _mm256_setzero_si256()));
	}
	_mm256_storeu_si256((__m256i *) part, sum);
	return part[0] + part[1] + part[2] + part[3] + qset_and_count_each(a + i, b + i, words - i);
}

/* A full adder of 256 bits: returns the carries, and *sum becomes the parity. */
AVX2_INLINE __m256i
carry_of(__m256i *sum, __m256i x, __m256i y)
{
	__m256i odd = _mm256_xor_si256(x, y);
	__m256i carry = _mm256_or_si256(_mm256_and_si256(x, y), _mm256_and_si256(odd, *sum));

	*sum = _mm256_xor_si256(*sum, odd);
	return carry;
}

/* Carry "x" into the planes from "at" on; plane p has bit p of 256 counters. */
AVX2_INLINE void
ripple(__m256i *plane, int at, __m256i x)
{
	for (; !_mm256_testz_si256(x, x); at++)
	{
		__m256i carry = _mm256_and_si256(plane[at], x);

		plane[at] = _mm256_xor_si256(plane[at], x);
		x = carry;
	}
}

/* Planes to numbers: each 16-bit lane has a copy of 16 bits of a plane, and tests its own bit. */
AVX2_INLINE void
spread(const __m256i *plane, int planes, uint16_t *out)
{
	const __m256i bit = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096,
										  8192, 16384, -32768);
	uint16_t mask[16][16];
	int p;
	int i;

	for (p = 0; p < planes; p++)
		_mm256_storeu_si256((__m256i *) mask[p], plane[p]);
	for (i = 0; i < 16; i++)
	{
		__m256i sum = _mm256_setzero_si256();

		for (p = 0; p < planes; p++)
		{
			__m256i mine = _mm256_and_si256(_mm256_set1_epi16((short) mask[p][i]), bit);
			__m256i has = _mm256_cmpeq_epi16(mine, bit);

			sum = _mm256_or_si256(sum, _mm256_and_si256(has, _mm256_set1_epi16((short) (1 << p))));
		}
		_mm256_storeu_si256((__m256i *) (out + i * 16), sum);
	}
}

#define QSET_VECTOR        __m256i
#define QSET_VECTOR_INLINE AVX2_INLINE
#include "engine/sets_adder.h"

AVX2_INLINE void
sum_half(const uint64_t *const *column, uint32_t columns, uint64_t at, uint16_t *out)
{
	__m256i plane[QSET_PLANES];

	add_columns(column, columns, at, plane);
	spread(plane, planes_of(columns), out);
}

AVX2 static void
sum_columns(const uint64_t *const *column, uint32_t columns, uint64_t at, uint16_t *out)
{
	sum_half(column, columns, at, out);
	sum_half(column, columns, at + 4, out + 256);
}

AVX2 static uint32_t
find16(const uint16_t *row, uint32_t from, uint32_t to, uint16_t least, uint32_t *out)
{
	__m256i bound = _mm256_set1_epi16((short) least);
	uint32_t *end = out;
	uint32_t i = from;

	for (; i + 32 <= to; i += 32)
	{
		__m256i x = load(row + i);
		__m256i y = load(row + i + 16);
		__m256i reach_x = _mm256_cmpeq_epi16(_mm256_max_epu16(x, bound), x);
		__m256i reach_y = _mm256_cmpeq_epi16(_mm256_max_epu16(y, bound), y);
		/* packing interleaves the halves of both vectors; the permutation restores their order */
		__m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(reach_x, reach_y), 0xD8);
		uint32_t found = (uint32_t) _mm256_movemask_epi8(both);

		if (found != 0)
			end = qset_emit_bits(found, i, end);
	}
	return (uint32_t) (end - out) + qset_kernels_plain.find16(row, i, to, least, end);
}

static uint32_t
find16_sized(const uint16_t *row, const uint32_t *size, uint32_t from, uint32_t to, uint16_t least,
			 uint32_t most, uint32_t *out)
{
	return qset_keep_sizes(size, most, out, find16(row, from, to, least, out));
}

AVX2 static uint32_t
find32(const uint32_t *row, uint32_t from, uint32_t to, uint32_t least, uint32_t *out)
{
	__m256i bound = _mm256_set1_epi32((int) least);
	uint32_t *end = out;
	uint32_t i = from;

	for (; i + 8 <= to; i += 8)
	{
		__m256i x = load(row + i);
		__m256i reach = _mm256_cmpeq_epi32(_mm256_max_epu32(x, bound), x);
		uint32_t found = (uint32_t) _mm256_movemask_ps(_mm256_castsi256_ps(reach));

		if (found != 0)
			end = qset_emit_bits(found, i, end);
	}
	return (uint32_t) (end - out) + qset_kernels_plain.find32(row, i, to, least, end);
}

/*
 * Gathering eight words is no faster than the plain loop, which the compiler makes
 * four lanes wide.
 */
AVX2 static uint64_t
probe(const uint64_t *bits, const uint32_t *element, uint64_t n)
{
	return qset_probe_each(bits, element, n);
}

/* The first lanes of a vector, as many as n <= 8. */
AVX2_INLINE __m256i
first_lanes(uint64_t n)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32((int) n),
							  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/*
 * Sets of up to eight elements take one step, so that the processor need not predict how
 * many turns a loop takes.  The AVX-512 table uses this function, too.
 */
AVX2 void
qset_probe_sets_avx2(const uint64_t *bits, const uint32_t *element, const uint64_t *offset,
					 const uint32_t *set, uint32_t n, uint16_t *common)
{
	uint32_t i;

	for (i = 0; i < n; i++)
	{
		const uint32_t *e = element + offset[set[i]];
		uint64_t size = offset[set[i] + 1] - offset[set[i]];
		__m256i lanes = first_lanes(size);
		__m256i x;
		__m256i words;

		if (i + AHEAD < n)
			__builtin_prefetch(element + offset[set[i + AHEAD]]);
		if (size > 8)
		{
			common[i] = (uint16_t) qset_probe_each(bits, e, size);
			continue;
		}
		x = _mm256_maskload_epi32((const int *) e, lanes);
		words = _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), (const int *) bits,
											_mm256_srli_epi32(x, 5), lanes, 4);
		/* each element's bit becomes the sign of its lane */
		words = _mm256_sllv_epi32(words, _mm256_andnot_si256(x, _mm256_set1_epi32(31)));
		common[i] =
			(uint16_t) _mm_popcnt_u32((uint32_t) _mm256_movemask_ps(_mm256_castsi256_ps(words)));
	}
}

AVX2 static uint32_t
sieve(const qset_sieve *s, int level, const void *list, uint64_t n, bool wide, uint32_t *out)
{
	return qset_sieve_list(s, level, list, n, wide, out);
}

const qset_kernels qset_kernels_avx2 = {
	.name = "avx2",
	.sorted32 = sorted32,
	.sorted64 = sorted64,
	.count32 = qset_count32_avx2,
	.count64 = count64,
	.intersect32 = intersect32,
	.intersect64 = intersect64,
	.and_count = and_count,
	.probe = probe,
	.probe_sets = qset_probe_sets_avx2,
	.sum_columns = sum_columns,
	.find16 = find16,
	.find16_sized = find16_sized,
	.find32 = find32,
	.sieve = sieve,
};

#endif
