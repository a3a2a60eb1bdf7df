/*
 * sketch_units_avx512.c
 *		Writing the units of tables with AVX-512, and with BMI2, which comes with it.
 *
 * Counters below 128 are their own varints.  An instruction puts the bytes that are not zero
 * next to each other: of a whole low bucket, on processors that have it (VBMI2), or of a word
 * of eight counters that became bytes.
 *
 * src/engine/sketch_units_avx512.c
 */
#include "engine/sketch_units.h"

#ifdef __x86_64__

#include <immintrin.h>

#include "sketch/multilevel_buckets.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi2,popcnt")))

#define VBMI2 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi2,popcnt")))

#define TOP_BITS UINT64_C(0x8080808080808080)

/* Write a mask of so many bytes, and the bytes of words that are not zero.  All are below 128. */
AVX512 QB_INLINE uint8_t *
put_words(uint8_t *out, const uint64_t *word, uint32_t words, uint32_t mask_bytes)
{
	uint8_t *mask_at = out;
	uint64_t mask = 0;
	uint32_t i;

	out += mask_bytes;
	for (i = 0; i < words; i++)
	{
		uint64_t used = (word[i] + ~TOP_BITS) & TOP_BITS;

		mask |= _pext_u64(used, TOP_BITS) << (8 * i);
		qb_store64(out, _pext_u64(word[i], (used >> 7) * 0xFF));
		out += __builtin_popcountll(used);
	}
	memcpy(mask_at, &mask, mask_bytes);
	return out;
}

QB_INLINE bool
has_room(const qs_unit_writer *w, const uint8_t *limit)
{
	return limit - w->next >= QS_SHORT_UNIT;
}

/* Only for processors with VBMI2. */
VBMI2 uint64_t
qs_avx512_put_low(qs_unit_writer *w, const uint8_t *limit, const uint8_t *low, uint64_t first,
				  uint64_t bits)
{
	for (; bits != 0 && has_room(w, limit); bits &= bits - 1)
	{
		uint32_t unit = (uint32_t) __builtin_ctzll(bits);
		__m256i v = _mm256_loadu_si256((const void *) (low + (size_t) unit * QS_LOW_BYTES));
		uint32_t used = _mm256_test_epi8_mask(v, v);

		if (_mm256_movepi8_mask(v) != 0 || used >> QS_LOW_COUNTERS != 0)
			break;
		qs_units_begin(w, first + unit);
		qb_store32(w->next, used);
		_mm256_storeu_si256((void *) (w->next + 4),
							_mm256_maskz_compress_epi8((__mmask32) used, v));
		w->next += 4 + __builtin_popcount(used);
	}
	return bits;
}

/* Make bytes of a unit's counters.  False: one of them is too large. */
AVX512 QB_INLINE bool
narrow(const uint8_t *unit, uint32_t width, uint64_t *word)
{
	uint32_t c;

	for (c = 0; c < width; c += 8)
	{
		__m256i v = _mm256_loadu_si256((const void *) (unit + 4 * c));

		if (_mm256_cmpge_epu32_mask(v, _mm256_set1_epi32(QS_SHORT)) != 0)
			return false;
		word[c / 8] = (uint64_t) _mm_cvtsi128_si64(_mm256_cvtepi32_epi8(v));
	}
	return true;
}

/* The constants make a loop of its own for each width. */
AVX512 QB_INLINE uint64_t
put_cells(qs_unit_writer *w, const uint8_t *limit, const uint8_t *table, uint32_t width,
		  uint64_t first, uint64_t bits)
{
	for (; bits != 0 && has_room(w, limit); bits &= bits - 1)
	{
		uint32_t unit = (uint32_t) __builtin_ctzll(bits);
		uint64_t word[QS_MASK_BITS_MAX / 8];

		if (!narrow(table + (size_t) unit * width * 4, width, word))
			break;
		qs_units_begin(w, first + unit);
		w->next = put_words(w->next, word, width / 8, width / 8);
	}
	return bits;
}

AVX512 uint64_t
qs_avx512_put_cells(qs_unit_writer *w, const uint8_t *limit, const uint8_t *table, uint32_t width,
					uint64_t first, uint64_t bits)
{
	if (width == 8)
		return put_cells(w, limit, table, 8, first, bits);
	if (width == 16)
		return put_cells(w, limit, table, 16, first, bits);
	return put_cells(w, limit, table, 32, first, bits);
}

#endif
