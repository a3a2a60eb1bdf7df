/*
 * filter_avx2.c
 *		Inner loops of filters with AVX2.
 *
 * The same loops as in filter_avx512.c, but four at a time.  A 64-bit product takes
 * three 32-bit ones, which still makes one mix of four lanes cheaper than four
 * mixes.  AVX2 has no compression, so a branchless loop stores what is chosen.
 *
 * src/engine/filter_avx2.c
 */
#include "engine/filter_kernels.h"

#ifdef __x86_64__

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,popcnt")))

AVX2 static inline __m256i
product4(__m256i a, uint64_t constant)
{
	__m256i b = _mm256_set1_epi64x((long long) constant);
	__m256i b_high = _mm256_set1_epi64x((long long) (constant >> 32));
	__m256i cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b),
									 _mm256_mul_epu32(a, b_high));

	return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(cross, 32));
}

AVX2 static inline __m256i
mix4(__m256i x)
{
	x = product4(_mm256_xor_si256(x, _mm256_srli_epi64(x, 30)), UINT64_C(0xBF58476D1CE4E5B9));
	x = product4(_mm256_xor_si256(x, _mm256_srli_epi64(x, 27)), UINT64_C(0x94D049BB133111EB));
	return _mm256_xor_si256(x, _mm256_srli_epi64(x, 31));
}

/* Positions of four inputs, in the lower halves of 64-bit lanes. */
AVX2 static inline __m256i
positions4(__m256i input, __m256i m)
{
	__m256i x = mix4(input);
	__m256i low = _mm256_srli_epi64(_mm256_mul_epu32(x, m), 32);
	__m256i high = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), m);

	return _mm256_srli_epi64(_mm256_add_epi64(high, low), 32);
}

/* 1 in each lane whose bit is set, else 0. */
AVX2 static inline __m256i
bits4(const uint8_t *bits, __m256i position)
{
	__m256i number = _mm256_srli_epi64(position, 6);
	__m256i word = _mm256_i64gather_epi64((const void *) bits, number, 8);
	__m256i place = _mm256_and_si256(position, _mm256_set1_epi64x(63));

	return _mm256_and_si256(_mm256_srlv_epi64(word, place), _mm256_set1_epi64x(1));
}

AVX2 static size_t
busy(uint64_t nonce_key, const uint64_t *row, uint64_t first, size_t count, uint64_t idle,
	 qf_busy *out)
{
	__m256i nonce = _mm256_set1_epi64x((long long) nonce_key);
	__m256i number =
		_mm256_add_epi64(_mm256_set1_epi64x((long long) first), _mm256_setr_epi64x(0, 1, 2, 3));
	size_t found = 0;
	size_t i, lane;

	for (i = 0; i + 4 <= count; i += 4)
	{
		uint64_t base[4], draw[4];
		__m256i b = mix4(row ? _mm256_loadu_si256((const void *) (row + i)) : number);

		b = _mm256_xor_si256(b, nonce);
		_mm256_storeu_si256((void *) base, b);
		_mm256_storeu_si256((void *) draw, mix4(b));
		for (lane = 0; lane < 4; lane++)
		{
			out->index[found] = (uint32_t) (i + lane);
			out->base[found] = base[lane];
			found += draw[lane] >= idle;
		}
		number = _mm256_add_epi64(number, _mm256_set1_epi64x(4));
	}
	return qf_busy_from(nonce_key, row, first, i, count, idle, out, found);
}

AVX2 static void
positions(const uint64_t *input, size_t count, uint64_t m, uint32_t *position)
{
	__m256i bits = _mm256_set1_epi64x((long long) m);
	__m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
	size_t i;

	for (i = 0; i + 4 <= count; i += 4)
	{
		__m256i four = positions4(_mm256_loadu_si256((const void *) (input + i)), bits);

		four = _mm256_permutevar8x32_epi32(four, even);
		_mm_storeu_si128((void *) (position + i), _mm256_castsi256_si128(four));
	}
	qf_positions_from(input, i, count, m, position);
}

AVX2 static uint64_t
set(uint8_t *bits, const uint32_t *position, size_t count)
{
	return qf_set_ahead(bits, position, count);
}

AVX2 static void
query(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count, uint32_t *out)
{
	__m256i m = _mm256_set1_epi64x((long long) p->m);
	__m256i step = _mm256_set1_epi64x((long long) (QF_POSITION_STEP * 4));
	size_t i;

	for (i = 0; i < count; i++)
	{
		__m256i input = _mm256_setr_epi64x(
			(long long) qf_position_input(h[i], 0), (long long) qf_position_input(h[i], 1),
			(long long) qf_position_input(h[i], 2), (long long) qf_position_input(h[i], 3));
		__m256i ones = _mm256_setzero_si256();
		uint64_t sum[4];
		uint32_t j;

		for (j = 0; j + 4 <= p->k; j += 4)
		{
			ones = _mm256_add_epi64(ones, bits4(bits, positions4(input, m)));
			input = _mm256_add_epi64(input, step);
		}
		_mm256_storeu_si256((void *) sum, ones);
		out[i] = (uint32_t) (sum[0] + sum[1] + sum[2] + sum[3]) + qf_query_from(bits, p, h[i], j);
	}
}

AVX2 static void
blocks_have(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count, bool *found)
{
	qf_blocks_have_ahead(bits, p, h, count, found);
}

AVX2 static uint64_t
unite(uint8_t *into, const uint8_t *from, uint64_t words)
{
	return qf_unite_counting(into, from, words);
}

const qf_kernels qf_kernels_avx2 = {
	.busy = busy,
	.positions = positions,
	.set = set,
	.query = query,
	.blocks_have = blocks_have,
	.unite = unite,
};

#endif
