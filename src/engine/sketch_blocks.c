/*
 * sketch_blocks.c
 *		Fast loops that find (AVX2) and write (AVX-512) the blocks of the compact encoding.
 *
 * Loops with AVX2 find the blocks that are not zero, and count the bytes of their counters.  Memory
 * limits the speed of these loops, so AVX-512 would gain nothing.
 *
 * Loops with AVX-512 and BMI2 write blocks.  A counter below 128 is a varint of one byte.  So a
 * block of such counters is written by moving its nonzero bytes next to each other.  With VBMI2 one
 * instruction moves the bytes of a whole low bucket.  BMI2 moves the bytes of a word, to which
 * eight counters of 4 bytes were narrowed before.
 *
 * src/engine/sketch_blocks.c
 */
#include "base/isa.h"
#include "sketch/compact_write.h"

#ifdef __x86_64__

#include <immintrin.h>

#include "sketch/multilevel.h"

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll_count(8)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

#define AVX2 __attribute__((target("avx2,popcnt")))

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi2,popcnt")))

#define VBMI2 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi2,popcnt")))

#define TOP_BITS UINT64_C(0x8080808080808080)

AVX2 QB_INLINE __m256i
load(const uint8_t *p)
{
	return _mm256_loadu_si256((const void *) p);
}

/* ---- finding the blocks that are not zero ---- */

/*
 * Returns a bit for each block, which is 1 if the block has any bit of "wanted" set.  A block has a
 * multiple of 32 bytes.
 */
AVX2 QB_INLINE uint64_t
blocks_with(const uint8_t *table, uint32_t bytes, uint64_t count, __m256i wanted)
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

/* Returns a mask of the last four bytes of a low bucket, which are the index of its high bucket. */
AVX2 QB_INLINE __m256i
index_bytes(void)
{
	return _mm256_setr_epi32(0, 0, 0, 0, 0, 0, 0, -1);
}

AVX2 static uint64_t
present_low_avx2(const uint8_t *low, uint64_t count)
{
	return blocks_with(low, QS_LOW_BYTES, count,
					   _mm256_xor_si256(index_bytes(), _mm256_set1_epi32(-1)));
}

AVX2 static uint64_t
have_index_avx2(const uint8_t *low, uint64_t count)
{
	return blocks_with(low, QS_LOW_BYTES, count, index_bytes());
}

/* Compare eight counters with 2^shift.  Returns a mask of the counters that are not smaller. */
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

AVX2 static uint64_t
present_cells_avx2(const uint8_t *table, uint32_t bytes, uint64_t count)
{
	const __m256i all = _mm256_set1_epi32(-1);

	if (bytes == 4)
		return present_counters(table, count);
	if (bytes == 32)
		return blocks_with(table, 32, count, all);
	return blocks_with(table, bytes, count, all);
}

/* ---- counting the bytes of blocks ---- */

/*
 * A varint takes one byte for a counter below 128, and two bytes for any other one-byte counter.
 * Buckets with a high index are not measured, and their bits in *apart are set.
 */
AVX2 static uint64_t
measure_low_avx2(const uint8_t *low, uint64_t present, uint64_t *apart)
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

/*
 * Returns the number of bytes that eight counters take as varints.  A counter takes one byte for
 * each 7 bits, and a counter of 0 takes no byte.
 */
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

/* Measure blocks of one counter, eight blocks at a time.  Only present blocks are read. */
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

AVX2 static uint64_t
measure_cells_avx2(const uint8_t *table, uint32_t width, uint64_t present)
{
	if (width == 1)
		return measure_counters(table, present);
	if (width == 8)
		return measure(table, 8, present);
	return measure(table, width, present);
}

/* ---- writing blocks ---- */

/*
 * Write a mask of "mask_bytes" bytes, and then the nonzero bytes of the words.  The mask has a bit
 * for each byte of the words.  All bytes are below 128.
 */
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
has_room(const qs_block_writer *w, const uint8_t *limit)
{
	return limit - w->next >= QS_SHORT_BLOCK;
}

/* Runs only on processors with VBMI2. */
VBMI2 static uint64_t
put_low_vbmi2(qs_block_writer *w, const uint8_t *limit, const uint8_t *low, uint64_t first,
			  uint64_t bits)
{
	for (; bits != 0 && has_room(w, limit); bits &= bits - 1)
	{
		uint32_t block = (uint32_t) __builtin_ctzll(bits);
		__m256i v = _mm256_loadu_si256((const void *) (low + (size_t) block * QS_LOW_BYTES));
		uint32_t used = _mm256_test_epi8_mask(v, v);

		if (_mm256_movepi8_mask(v) != 0 || used >> QS_LOW_COUNTERS != 0)
			break;
		qs_blocks_begin(w, first + block);
		qb_store32(w->next, used);
		_mm256_storeu_si256((void *) (w->next + 4),
							_mm256_maskz_compress_epi8((__mmask32) used, v));
		w->next += 4 + __builtin_popcount(used);
	}
	return bits;
}

/* Narrow a block's counters to bytes.  False: a counter is 128 or more. */
AVX512 QB_INLINE bool
narrow(const uint8_t *block, uint32_t width, uint64_t *word)
{
	uint32_t c;

	for (c = 0; c < width; c += 8)
	{
		__m256i v = _mm256_loadu_si256((const void *) (block + 4 * c));

		if (_mm256_cmpge_epu32_mask(v, _mm256_set1_epi32(QS_SHORT)) != 0)
			return false;
		word[c / 8] = (uint64_t) _mm_cvtsi128_si64(_mm256_cvtepi32_epi8(v));
	}
	return true;
}

/* Callers pass constant widths, so the compiler makes a loop for each width. */
AVX512 QB_INLINE uint64_t
put_width(qs_block_writer *w, const uint8_t *limit, const uint8_t *table, uint32_t width,
		  uint64_t first, uint64_t bits)
{
	for (; bits != 0 && has_room(w, limit); bits &= bits - 1)
	{
		uint32_t block = (uint32_t) __builtin_ctzll(bits);
		uint64_t word[QS_MASK_BITS_MAX / 8];

		if (!narrow(table + (size_t) block * width * 4, width, word))
			break;
		qs_blocks_begin(w, first + block);
		w->next = put_words(w->next, word, width / 8, width / 8);
	}
	return bits;
}

AVX512 static uint64_t
put_cells_avx512(qs_block_writer *w, const uint8_t *limit, const uint8_t *table, uint32_t width,
				 uint64_t first, uint64_t bits)
{
	if (width == 8)
		return put_width(w, limit, table, 8, first, bits);
	if (width == 16)
		return put_width(w, limit, table, 16, first, bits);
	return put_width(w, limit, table, 32, first, bits);
}

/* ---- the choice ---- */

#define AVX2_KERNELS                                                      \
	.present_low = present_low_avx2, .have_index = have_index_avx2,       \
	.present_cells = present_cells_avx2, .measure_low = measure_low_avx2, \
	.measure_cells = measure_cells_avx2

static qs_block_kernels sets[QB_ISAS] = {
	[QB_ISA_AVX2] = { AVX2_KERNELS },
	[QB_ISA_AVX512] = { AVX2_KERNELS, .put_low = put_low_vbmi2, .put_cells = put_cells_avx512 },
};

static const qs_block_kernels *
blocks_now(void)
{
	return &sets[qb_isa_now()];
}

/* Runs when the library is loaded.  Makes sketches find and write blocks with the loops in use. */
__attribute__((constructor)) static void
provide_units(void)
{
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx512vbmi2"))
		sets[QB_ISA_AVX512].put_low = NULL;
	qs_block_kernels_now = blocks_now;
}

#endif
