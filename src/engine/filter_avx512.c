/*
 * filter_avx512.c
 *		Inner loops of filters with AVX-512.
 *
 * A vector holds eight rows or eight positions.  A gather instruction reads the bits of eight
 * positions.  If k p is small (filter/params.h), most rows of a frequency filter set no bit, and
 * end with their first draw.  For eight such rows, busy() computes two mixes, of two
 * multiplications each, and one comparison.
 *
 * src/engine/filter_avx512.c
 */
#include "engine/filter_engine.h"
#include "filter/filter.h"

#ifdef __x86_64__

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")))

AVX512 static inline __m512i
mix8(__m512i x)
{
	x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 30));
	x = _mm512_mullo_epi64(x, _mm512_set1_epi64((long long) UINT64_C(0xBF58476D1CE4E5B9)));
	x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 27));
	x = _mm512_mullo_epi64(x, _mm512_set1_epi64((long long) UINT64_C(0x94D049BB133111EB)));
	return _mm512_xor_si512(x, _mm512_srli_epi64(x, 31));
}

/*
 * Returns the positions of eight inputs.  The product of a mixed input and m has up to 96 bits.
 * The product is computed from the products of the mixed input's two halves and m.
 */
AVX512 static inline __m256i
positions8(__m512i input, __m512i m)
{
	__m512i x = mix8(input);
	__m512i low = _mm512_srli_epi64(_mm512_mul_epu32(x, m), 32);
	__m512i high = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), m);

	return _mm512_cvtepi64_epi32(_mm512_srli_epi64(_mm512_add_epi64(high, low), 32));
}

/* Returns the filter's bits at eight positions, as a mask. */
AVX512 static inline __mmask8
bits8(const uint8_t *bits, __m256i position)
{
	__m256i word = _mm256_i32gather_epi32((const void *) bits, _mm256_srli_epi32(position, 5), 4);
	__m256i bit = _mm256_and_si256(position, _mm256_set1_epi32(31));

	return _mm256_test_epi32_mask(word, _mm256_sllv_epi32(_mm256_set1_epi32(1), bit));
}

/* Returns the eight numbers a + i * step, for i = 0 to 7. */
AVX512 static inline __m512i
series8(uint64_t a, uint64_t step)
{
	const __m512i seq = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
	__m512i steps = _mm512_mullo_epi64(seq, _mm512_set1_epi64((long long) step));

	return _mm512_add_epi64(_mm512_set1_epi64((long long) a), steps);
}

/*
 * Store the numbers and indexes whose bits in "chosen" are set.  Returns how many bits are set.
 * Overwrites all eight entries of both arrays.  Some processors compress a register and store the
 * whole register many times faster than they compress into memory.
 */
AVX512 static inline size_t
store_chosen8(__mmask8 chosen, __m512i number, __m256i index, uint64_t *numbers, uint32_t *indexes)
{
	_mm512_storeu_si512(numbers, _mm512_maskz_compress_epi64(chosen, number));
	_mm256_storeu_si256((void *) indexes, _mm256_maskz_compress_epi32(chosen, index));
	return (size_t) __builtin_popcount(chosen);
}

AVX512 static void
busy(const qf_chunk *r, qf_busy *out)
{
	__m512i nonce = _mm512_set1_epi64((long long) r->nonce_key);
	__m512i limit = _mm512_set1_epi64((long long) r->idle);
	__m512i number = series8(r->first, 1);
	__m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	size_t found = 0;
	size_t i;

	for (i = 0; i + 8 <= r->count; i += 8)
	{
		__m512i base = mix8(r->row ? _mm512_loadu_si512(r->row + i) : number);
		__mmask8 draws;

		base = _mm512_xor_si512(base, nonce);
		draws = _mm512_cmpge_epu64_mask(mix8(base), limit);
		found += store_chosen8(draws, base, index, out->base + found, out->index + found);
		number = _mm512_add_epi64(number, _mm512_set1_epi64(8));
		index = _mm256_add_epi32(index, _mm256_set1_epi32(8));
	}
	out->count = found;
	qf_busy_from(r, i, out);
}

AVX512 static void
positions(const uint64_t *input, size_t count, uint64_t m, uint32_t *position)
{
	__m512i bits = _mm512_set1_epi64((long long) m);
	size_t i;

	for (i = 0; i + 8 <= count; i += 8)
		_mm256_storeu_si256((void *) (position + i),
							positions8(_mm512_loadu_si512(input + i), bits));
	qf_positions_each(input + i, count - i, m, position + i);
}

AVX512 static uint64_t
set(uint8_t *bits, const uint32_t *position, size_t count)
{
	return qf_set_ahead(bits, position, count);
}

AVX512 static void
query(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count, uint32_t *out)
{
	__m512i m = _mm512_set1_epi64((long long) p->m);
	__m512i first = series8(QF_POSITION_STEP, QF_POSITION_STEP);
	__m512i step = _mm512_set1_epi64((long long) (QF_POSITION_STEP * 8));
	size_t i;

	for (i = 0; i < count; i++)
	{
		__m512i input = _mm512_add_epi64(first, _mm512_set1_epi64((long long) h[i]));
		uint32_t ones = 0;
		uint32_t j;

		for (j = 0; j + 8 <= p->k; j += 8)
		{
			ones += (uint32_t) __builtin_popcount(bits8(bits, positions8(input, m)));
			input = _mm512_add_epi64(input, step);
		}
		out[i] = ones + qf_query_from(bits, p, h[i], j);
	}
}

AVX512 static void
blocks_have(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count, bool *found)
{
	qf_blocks_have_ahead(bits, p, h, count, found);
}

AVX512 static uint64_t
unite(uint8_t *into, const uint8_t *from, uint64_t words)
{
	return qf_unite_each(into, from, words, true);
}

const qf_kernels qf_kernels_avx512 = {
	.busy = busy,
	.positions = positions,
	.set = set,
	.query = query,
	.blocks_have = blocks_have,
	.unite = unite,
};

#endif
