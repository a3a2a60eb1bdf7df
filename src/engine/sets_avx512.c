/*
 * sets_avx512.c
 *		The sets family's inner loops with AVX-512, and the choice of loops.
 *
 * Two sorted sets are merged in blocks of one vector.  All elements of a block of A
 * are compared with all elements of a block of B; then the block with the smaller
 * last element (both, if equal) makes room for the next one.  This is the paper's
 * SIMD baseline (section 4; Lemire, Boytsov and Kurz) with wider vectors and without
 * a branch that could be mispredicted.  The plain merge does the ends.  Only
 * counting 4-byte elements is faster with the vectors of AVX2: a block of twice as
 * many elements needs twice as many comparisons, so the width gains nothing, and the
 * comparisons of AVX2 run on more units.
 *
 * AVX-512 VPOPCNTDQ is not used, because many processors lack it: bits are counted
 * four at a time, by a table in a vector.
 *
 * src/engine/sets_avx512.c
 */
#include "engine/sets_kernels.h"

#include "base/vector.h"

#ifdef __x86_64__

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")))
#define AVX512_INLINE \
	static inline     \
		__attribute__((always_inline, target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")))

AVX512 static bool
sorted32(const int32_t *a, uint64_t n)
{
	uint64_t i = 0;

	for (; i + 17 <= n; i += 16)
		if (_mm512_cmpge_epi32_mask(_mm512_loadu_si512(a + i), _mm512_loadu_si512(a + i + 1)))
			return false;
	return qset_sorted32(a + i, n - i);
}

AVX512 static bool
sorted64(const int64_t *a, uint64_t n)
{
	uint64_t i = 0;

	for (; i + 9 <= n; i += 8)
		if (_mm512_cmpge_epi64_mask(_mm512_loadu_si512(a + i), _mm512_loadu_si512(a + i + 1)))
			return false;
	return qset_sorted64(a + i, n - i);
}

/* Which of the 16 elements of x are in y?  x stays, and y is rotated. */
AVX512_INLINE __mmask16
members16(__m512i x, __m512i y)
{
	__mmask16 found = 0;
	int quarter;

	for (quarter = 0; quarter < 4; quarter++)
	{
		found |= _mm512_cmpeq_epi32_mask(x, y) |
				 _mm512_cmpeq_epi32_mask(x, _mm512_shuffle_epi32(y, 0x39)) |
				 _mm512_cmpeq_epi32_mask(x, _mm512_shuffle_epi32(y, 0x4E)) |
				 _mm512_cmpeq_epi32_mask(x, _mm512_shuffle_epi32(y, 0x93));
		y = _mm512_shuffle_i64x2(y, y, 0x39);
	}
	return found;
}

/* Stores whole vectors, because compressing into memory is slow on some processors. */
AVX512 static uint64_t
intersect32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m, int32_t *out)
{
	uint64_t i = 0;
	uint64_t j = 0;
	uint64_t common = 0;

	while (i + 16 <= n && j + 16 <= m)
	{
		int32_t last_a = a[i + 15];
		int32_t last_b = b[j + 15];
		__m512i x = _mm512_loadu_si512(a + i);
		__mmask16 found = members16(x, _mm512_loadu_si512(b + j));

		_mm512_storeu_si512(out + common, _mm512_maskz_compress_epi32(found, x));
		common += (uint64_t) _mm_popcnt_u32(found);
		i += qset_step(last_a <= last_b, 16);
		j += qset_step(last_b <= last_a, 16);
	}
	return common + qset_merge32(a + i, n - i, b + j, m - j, out + common);
}

/* Which of the 8 elements of x are in y. */
AVX512_INLINE __mmask8
members8(__m512i x, __m512i y)
{
	__m512i odd = _mm512_shuffle_epi32(y, 0x4E); /* neighbours exchanged */
	__mmask8 found = 0;
	int quarter;

	for (quarter = 0; quarter < 4; quarter++)
	{
		found |= _mm512_cmpeq_epi64_mask(x, y) | _mm512_cmpeq_epi64_mask(x, odd);
		y = _mm512_shuffle_i64x2(y, y, 0x39);
		odd = _mm512_shuffle_i64x2(odd, odd, 0x39);
	}
	return found;
}

AVX512_INLINE uint64_t
merge64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m, int64_t *out)
{
	uint64_t i = 0;
	uint64_t j = 0;
	uint64_t common = 0;

	while (i + 8 <= n && j + 8 <= m)
	{
		int64_t last_a = a[i + 7];
		int64_t last_b = b[j + 7];
		__m512i x = _mm512_loadu_si512(a + i);
		__mmask8 found = members8(x, _mm512_loadu_si512(b + j));

		if (out)
			_mm512_storeu_si512(out + common, _mm512_maskz_compress_epi64(found, x));
		common += (uint64_t) _mm_popcnt_u32(found);
		i += qset_step(last_a <= last_b, 8);
		j += qset_step(last_b <= last_a, 8);
	}
	if (out)
		return common + qset_merge64(a + i, n - i, b + j, m - j, out + common);
	return common + qset_merge_count64(a + i, n - i, b + j, m - j);
}

AVX512 static uint64_t
count64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m)
{
	return merge64(a, n, b, m, NULL);
}

AVX512 static uint64_t
intersect64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m, int64_t *out)
{
	return merge64(a, n, b, m, out);
}

AVX512 static uint64_t
and_count(const uint64_t *a, const uint64_t *b, uint64_t words)
{
	const __m512i table =
		_mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
	const __m512i low = _mm512_set1_epi8(15);
	__m512i sum = _mm512_setzero_si512();
	uint64_t i = 0;

	for (; i + 8 <= words; i += 8)
	{
		__m512i both = _mm512_and_si512(_mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i));
		__m512i bytes = _mm512_add_epi8(
			_mm512_shuffle_epi8(table, _mm512_and_si512(both, low)),
			_mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(both, 4), low)));

		sum = _mm512_add_epi64(sum, _mm512_sad_epu8(bytes, _mm512_setzero_si512()));
	}
	return (uint64_t) _mm512_reduce_add_epi64(sum) + qset_and_count_each(a + i, b + i, words - i);
}

/* Gathers sixteen words at a time, and of each 64-bit word only the half that has the bit. */
AVX512 static uint64_t
probe(const uint64_t *bits, const uint32_t *element, uint64_t n)
{
	__m512i one = _mm512_set1_epi32(1);
	uint64_t sum = 0;
	uint64_t i = 0;

	for (; i + 16 <= n; i += 16)
	{
		__m512i e = _mm512_loadu_si512(element + i);
		__m512i word = _mm512_i32gather_epi32(_mm512_srli_epi32(e, 5), (const void *) bits, 4);
		__m512i bit = _mm512_sllv_epi32(one, _mm512_and_si512(e, _mm512_set1_epi32(31)));

		sum += (uint64_t) _mm_popcnt_u32(_mm512_test_epi32_mask(word, bit));
	}
	return sum + qset_kernels_plain.probe(bits, element + i, n - i);
}

/* A full adder of 512 bits: returns the carries, and *sum becomes the parity. */
AVX512_INLINE __m512i
carry_of(__m512i *sum, __m512i x, __m512i y)
{
	__m512i carry = _mm512_ternarylogic_epi64(*sum, x, y, 0xE8);

	*sum = _mm512_ternarylogic_epi64(*sum, x, y, 0x96);
	return carry;
}

/* Carry "x" into the planes from "at" on; plane p has bit p of 512 counters. */
AVX512_INLINE void
ripple(__m512i *plane, int at, __m512i x)
{
	for (; _mm512_test_epi64_mask(x, x) != 0; at++)
	{
		__m512i carry = _mm512_and_si512(plane[at], x);

		plane[at] = _mm512_xor_si512(plane[at], x);
		x = carry;
	}
}

/* Up to 8 planes to numbers, as bytes: plane p adds 2^p to each counter whose bit it has. */
AVX512_INLINE void
spread_bytes(const __m512i *plane, int planes, uint16_t *out)
{
	uint64_t mask[8][8];
	int p;
	int i;

	for (p = 0; p < planes; p++)
		_mm512_storeu_si512(mask[p], plane[p]);
	for (i = 0; i < 8; i++)
	{
		__m512i sum = _mm512_maskz_set1_epi8((__mmask64) mask[0][i], 1);

		for (p = 1; p < planes; p++)
			sum = _mm512_mask_add_epi8(sum, (__mmask64) mask[p][i], sum,
									   _mm512_set1_epi8((char) (1 << p)));
		_mm512_storeu_si512(out + i * 64, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(sum)));
		_mm512_storeu_si512(out + i * 64 + 32,
							_mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(sum, 1)));
	}
}

AVX512_INLINE void
spread(const __m512i *plane, int planes, uint16_t *out)
{
	uint32_t mask[16][16];
	int p;
	int i;

	for (p = 0; p < planes; p++)
		_mm512_storeu_si512(mask[p], plane[p]);
	for (i = 0; i < 16; i++)
	{
		__m512i sum = _mm512_setzero_si512();

		for (p = 0; p < planes; p++)
			sum = _mm512_mask_add_epi16(sum, (__mmask32) mask[p][i], sum,
										_mm512_set1_epi16((short) (1 << p)));
		_mm512_storeu_si512(out + i * 32, sum);
	}
}

AVX512_INLINE __m512i
load(const void *p)
{
	return _mm512_loadu_si512(p);
}

#define QSET_VECTOR        __m512i
#define QSET_VECTOR_INLINE AVX512_INLINE
#include "engine/sets_adder.h"

AVX512 static void
sum_columns(const uint64_t *const *column, uint32_t columns, uint64_t at, uint16_t *out)
{
	__m512i plane[QSET_PLANES];

	add_columns(column, columns, at, plane);
	if (planes_of(columns) <= 8)
		spread_bytes(plane, planes_of(columns), out);
	else
		spread(plane, planes_of(columns), out);
}

/* Store the numbers of the set bits, counted from "base"; returns the end. */
AVX512_INLINE uint32_t *
emit16(__mmask16 found, __m512i base, uint32_t *out)
{
	_mm512_storeu_si512(out, _mm512_maskz_compress_epi32(found, base));
	return out + _mm_popcnt_u32(found);
}

/* 0 .. 15, plus "from". */
AVX512_INLINE __m512i
numbers(uint32_t from)
{
	return _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
							_mm512_set1_epi32((int) from));
}

AVX512 static uint32_t
find16(const qset_slice *s, uint32_t *out)
{
	const uint16_t *row = s->row;
	__m512i bound = _mm512_set1_epi16((short) s->least);
	__m512i limit = _mm512_set1_epi32((int) s->most);
	uint32_t *end = out;
	uint32_t i = s->from;

	for (; i + 32 <= s->to; i += 32)
	{
		__mmask32 found = _mm512_cmpge_epu16_mask(_mm512_loadu_si512(row + i), bound);
		__mmask16 low = (__mmask16) found;
		__mmask16 high = (__mmask16) (found >> 16);

		if (found == 0)
			continue;
		if (s->size)
		{
			low = _mm512_mask_cmple_epu32_mask(low, _mm512_loadu_si512(s->size + i), limit);
			high = _mm512_mask_cmple_epu32_mask(high, _mm512_loadu_si512(s->size + i + 16), limit);
			if ((low | high) == 0)
				continue;
		}
		end = emit16(low, numbers(i), end);
		end = emit16(high, numbers(i + 16), end);
	}
	return (uint32_t) (end - out) + qset_find_rest(qset_kernels_plain.find16, s, i, end);
}

AVX512 static uint32_t
find32(const qset_slice *s, uint32_t *out)
{
	const uint32_t *row = s->row;
	__m512i bound = _mm512_set1_epi32((int) s->least);
	uint32_t *end = out;
	uint32_t i = s->from;

	for (; i + 16 <= s->to; i += 16)
	{
		__mmask16 found = _mm512_cmpge_epu32_mask(_mm512_loadu_si512(row + i), bound);

		if (found != 0)
			end = emit16(found, numbers(i), end);
	}
	return (uint32_t) (end - out) + qset_find_rest(qset_kernels_plain.find32, s, i, end);
}

/* Gathering what the sieve knows of eight columns is no faster than the plain loop. */
AVX512 static uint32_t
sieve(const qset_sieve *s, int level, const void *list, uint64_t n, bool wide, uint32_t *out)
{
	return qset_sieve_list(s, level, list, n, wide, out);
}

const qset_kernels qset_kernels_avx512 = {
	.name = "avx512",
	.sorted32 = sorted32,
	.sorted64 = sorted64,
	.count32 = qset_count32_vector,
	.count64 = count64,
	.intersect32 = intersect32,
	.intersect64 = intersect64,
	.and_count = and_count,
	.probe = probe,
	.probe_sets = qset_probe_sets_vector,
	.sum_columns = sum_columns,
	.find16 = find16,
	.find32 = find32,
	.sieve = sieve,
};

#endif

/* ---- the choice ---- */

static const qset_kernels *const sets[QB_ISAS] = {
	[QB_ISA_SCALAR] = &qset_kernels_plain,
#ifdef QB_VECTOR
	[QB_ISA_VECTOR] = &qset_kernels_vector,
#endif
#ifdef __x86_64__
	[QB_ISA_AVX512] = &qset_kernels_avx512,
#endif
};

const qset_kernels *
qset_kernels_now(void)
{
	return sets[qb_isa_now()];
}
