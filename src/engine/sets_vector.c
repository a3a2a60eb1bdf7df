/*
 * sets_vector.c
 *		The sets family's inner loops with AVX2, AVX-512 or NEON (base/vector.h).
 *
 * Two sorted sets A and B are merged in blocks of one vector, or of two vectors for 8-byte elements
 * with NEON.  A step compares all elements of a block of A with all elements of a block of B.  The
 * set whose block has the smaller last element advances to its next block.  If the last elements
 * are equal, both sets advance.  The plain merge handles the elements after the last full block.
 *
 * The merge follows the SIMD baseline in section 4 of the paper that sets/sets.h names.  The
 * baseline is by Lemire, Boytsov and Kurz.  With AVX2 and AVX-512 the merge has wider vectors.  No
 * branch chooses the set that advances, because the processor would often mispredict this branch.
 *
 * sets_avx512.c includes this file to compile it for AVX-512.  The AVX-512 table has three AVX2
 * functions.  qset_count32_vector() counts common 4-byte elements.  A version for AVX-512 would
 * not be faster: it compares each element with twice as many elements, on fewer units of the
 * processor.  qset_probe_vector() and qset_probe_sets_vector() look elements up in a bitmap.
 * Gathering 16 words takes as long as gathering eight words twice, and a small set fits into one
 * vector of AVX2.
 *
 * For NEON, count64() counts common 8-byte integers in vectors, but intersect64() is the plain
 * merge.  For four elements, count64() takes 33 instructions (GCC 12), and the plain merge takes
 * 44.  A step of either function waits for the step before.  count64() advances by four elements in
 * a step, the plain merge by one element.  To write common integers, NEON would also have to find
 * their lanes.  If each step has one common integer, finding its lane makes the step longer than
 * the plain merge of the same four elements.  The speed was not measured on an ARM processor.
 *
 * src/engine/sets_vector.c
 */
#include "engine/sets_kernels.h"

#include "base/vector.h"

#ifdef QB_VECTOR

/* The number of elements of 2, 4 and 8 bytes in a vector. */
#define LANES16 (QB_VECTOR / 2)
#define LANES32 (QB_VECTOR / 4)
#define LANES64 (QB_VECTOR / 8)

/* The number of 8-byte elements of each set that one step of a merge compares. */
#define STEP64 (QB_VECTOR == 64 ? 8 : 4)

/* The number of 2-byte counters that one step of find16() tests. */
#define STEP16 (QB_VECTOR == 16 ? 16 : 32)

/* Number of sets by which qset_probe_sets_vector() prefetches ahead. */
#define AHEAD 8

/*
 * If both sets have at least this many elements, merging their halves alternately is faster than
 * one merge.
 */
#define TWO_STREAMS 64

/* ---- functions that differ between AVX-512, AVX2 and NEON ---- */

#if QB_VECTOR == 64

/* The result of a comparison: a mask with a bit for each lane. */
typedef __mmask16 found32;
typedef __mmask8 found64;

/* Returns which elements of x are in y. */
QB_VECTOR_INLINE found32
members32(qb_u32s x, qb_u32s y)
{
	__m512i a = (__m512i) x;
	__m512i b = (__m512i) y;
	found32 found = 0;
	int quarter;

	for (quarter = 0; quarter < 4; quarter++)
	{
		found |= _mm512_cmpeq_epi32_mask(a, b) |
				 _mm512_cmpeq_epi32_mask(a, _mm512_shuffle_epi32(b, 0x39)) |
				 _mm512_cmpeq_epi32_mask(a, _mm512_shuffle_epi32(b, 0x4E)) |
				 _mm512_cmpeq_epi32_mask(a, _mm512_shuffle_epi32(b, 0x93));
		b = _mm512_shuffle_i64x2(b, b, 0x39);
	}
	return found;
}

/* Returns which of the STEP64 elements at a are among the STEP64 elements at b. */
QB_VECTOR_INLINE found64
members64(const int64_t *a, const int64_t *b)
{
	__m512i x = _mm512_loadu_si512(a);
	__m512i y = _mm512_loadu_si512(b);
	__m512i z = _mm512_shuffle_epi32(y, 0x4E); /* neighbours exchanged */
	found64 found = 0;
	int quarter;

	for (quarter = 0; quarter < 4; quarter++)
	{
		found |= _mm512_cmpeq_epi64_mask(x, y) | _mm512_cmpeq_epi64_mask(x, z);
		y = _mm512_shuffle_i64x2(y, y, 0x39);
		z = _mm512_shuffle_i64x2(z, z, 0x39);
	}
	return found;
}

QB_VECTOR_INLINE qb_u64s
tally64(qb_u64s common, found64 found)
{
	return (qb_u64s) _mm512_mask_add_epi64((__m512i) common, found, (__m512i) common,
										   _mm512_set1_epi64(1));
}

/*
 * Write the lanes of x whose bits in "found" are set.  Returns the number of these lanes.  Stores
 * the whole vector, because compressing into memory is slow on some processors.
 */
QB_VECTOR_INLINE uint32_t
write32(__m512i x, __mmask16 found, void *out)
{
	_mm512_storeu_si512(out, _mm512_maskz_compress_epi32(found, x));
	return (uint32_t) _mm_popcnt_u32(found);
}

QB_VECTOR_INLINE uint32_t
keep32(const int32_t *a, found32 found, int32_t *out)
{
	return write32(_mm512_loadu_si512(a), found, out);
}

QB_VECTOR_INLINE uint32_t
keep64(const int64_t *a, found64 found, int64_t *out)
{
	_mm512_storeu_si512(out, _mm512_maskz_compress_epi64(found, _mm512_loadu_si512(a)));
	return (uint32_t) _mm_popcnt_u32(found);
}

/*
 * Write base + i for each set bit i of "found", which has "count" bits.  Returns the end of the
 * output.
 */
QB_VECTOR_INLINE uint32_t *
emit(uint32_t found, uint32_t count, uint32_t base, uint32_t *out)
{
	const __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	uint32_t i;

	for (i = 0; i < count; i += LANES32)
		out += write32(_mm512_add_epi32(numbers, _mm512_set1_epi32((int) (base + i))),
					   (__mmask16) (found >> i), out);
	return out;
}

QB_VECTOR_INLINE uint32_t
not_below16(const uint16_t *row, uint16_t least)
{
	return _mm512_cmpge_epu16_mask(_mm512_loadu_si512(row), _mm512_set1_epi16((short) least));
}

QB_VECTOR_INLINE uint32_t
not_below32(const uint32_t *row, uint32_t least)
{
	return _mm512_cmpge_epu32_mask(_mm512_loadu_si512(row), _mm512_set1_epi32((int) least));
}

/*
 * Returns the bits of "found" whose sizes are at most "most".  "found" has STEP16 bits, and "size"
 * has STEP16 entries.
 */
QB_VECTOR_INLINE uint32_t
keep_sizes(uint32_t found, const uint32_t *size, uint32_t most)
{
	__m512i limit = _mm512_set1_epi32((int) most);
	__m512i low = _mm512_loadu_si512(size);
	__m512i high = _mm512_loadu_si512(size + 16);

	return _mm512_kunpackw(_mm512_mask_cmple_epu32_mask((__mmask16) (found >> 16), high, limit),
						   _mm512_mask_cmple_epu32_mask((__mmask16) found, low, limit));
}

/* Add x and y to *sum, bit by bit, as a full adder does.  Returns the carries. */
QB_VECTOR_INLINE qb_u64s
carry_of(qb_u64s *sum, qb_u64s x, qb_u64s y)
{
	__m512i old = (__m512i) *sum;

	*sum = (qb_u64s) _mm512_ternarylogic_epi64(old, (__m512i) x, (__m512i) y, 0x96);
	return (qb_u64s) _mm512_ternarylogic_epi64(old, (__m512i) x, (__m512i) y, 0xE8);
}

/* Convert up to eight planes to counters.  Plane p has bit p of each counter. */
QB_VECTOR_INLINE void
spread_bytes(const qb_u64s *plane, int planes, uint16_t *out)
{
	uint64_t mask[8][8];
	int p;
	int i;

	for (p = 0; p < planes; p++)
		qb_vector_store(mask[p], (qb_u8s) plane[p]);
	for (i = 0; i < 8; i++, out += 64)
	{
		__m512i sum = _mm512_maskz_set1_epi8(mask[0][i], 1);

		for (p = 1; p < planes; p++)
			sum = _mm512_mask_add_epi8(sum, mask[p][i], sum, _mm512_set1_epi8((char) (1 << p)));
		_mm512_storeu_si512(out, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(sum)));
		_mm512_storeu_si512(out + 32, _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(sum, 1)));
	}
}

/* Convert up to 16 planes to counters. */
QB_VECTOR_INLINE void
spread(const qb_u64s *plane, int planes, uint16_t *out)
{
	uint32_t mask[16][16];
	int p;
	int i;

	if (planes <= 8)
	{
		spread_bytes(plane, planes, out);
		return;
	}
	for (p = 0; p < planes; p++)
		qb_vector_store(mask[p], (qb_u8s) plane[p]);
	for (i = 0; i < 16; i++)
	{
		__m512i sum = _mm512_setzero_si512();

		for (p = 0; p < planes; p++)
			sum = _mm512_mask_add_epi16(sum, mask[p][i], sum, _mm512_set1_epi16((short) (1 << p)));
		_mm512_storeu_si512(out + i * LANES16, sum);
	}
}

#else

/*
 * Gathering eight words is no faster than the plain loop, which the compiler vectorizes with four
 * lanes.
 */
QB_VECTOR_TARGET uint64_t
qset_probe_vector(const uint64_t *bits, const uint32_t *element, uint64_t n)
{
	return qset_probe_each(bits, element, n);
}

/* The result of a comparison: all ones in each lane in which the comparison is true. */
typedef qb_u32s found32;
typedef qb_u64s found64;

#ifdef __x86_64__

/* Returns which elements of x are in y. */
QB_VECTOR_INLINE found32
members32(qb_u32s x, qb_u32s y)
{
	qb_u32s z = (qb_u32s) _mm256_permute2x128_si256((__m256i) y, (__m256i) y, 1);

#define ROTATED(v, by) (x == (qb_u32s) _mm256_shuffle_epi32((__m256i) (v), by))
	return (found32) ((x == y) | (x == z) | (ROTATED(y, 0x39) | ROTATED(z, 0x39)) |
					  (ROTATED(y, 0x4E) | ROTATED(z, 0x4E)) |
					  (ROTATED(y, 0x93) | ROTATED(z, 0x93)));
#undef ROTATED
}

/* The number of 4-byte elements found. */
typedef uint64_t tally;

QB_VECTOR_INLINE tally
tally_of(found32 found)
{
	return (tally) _mm_popcnt_u32(qb_vector_bits32(found));
}

QB_VECTOR_INLINE uint64_t
total(tally t)
{
	return t;
}

/* Returns which of the STEP64 elements at a are among the STEP64 elements at b. */
QB_VECTOR_INLINE found64
members64(const int64_t *a, const int64_t *b)
{
	qb_u64s x = (qb_u64s) qb_vector_load(a);
	qb_u64s y = (qb_u64s) qb_vector_load(b);

#define ROTATED(by) (x == (qb_u64s) _mm256_permute4x64_epi64((__m256i) y, by))
	return (found64) (((x == y) | ROTATED(0x39)) | (ROTATED(0x4E) | ROTATED(0x93)));
#undef ROTATED
}

/* Write the elements of a whose lanes in "found" are set.  Returns the number of these elements. */
QB_VECTOR_INLINE uint32_t
keep64(const int64_t *a, found64 found, int64_t *out)
{
	uint32_t bits = (uint32_t) _mm256_movemask_pd((__m256d) found);
	uint32_t kept = 0;

	for (; bits != 0; bits &= bits - 1)
		out[kept++] = a[__builtin_ctz(bits)];
	return kept;
}

/* Narrow the 16-bit lanes of two vectors to bytes.  Each lane is all ones or all zeros. */
QB_VECTOR_INLINE qb_u8s
narrow(qb_u16s x, qb_u16s y)
{
	/* packing interleaves the halves of both vectors; the permutation restores their order */
	return (qb_u8s) _mm256_permute4x64_epi64(_mm256_packs_epi16((__m256i) x, (__m256i) y), 0xD8);
}

/* The bits of a plane that belong to one vector of 2-byte counters. */
typedef uint16_t plane_piece;

/*
 * A set of up to eight elements takes one step and no loop, because the processor could mispredict
 * the end of a loop.
 */
QB_VECTOR_TARGET void
qset_probe_sets_vector(const uint64_t *bits, const uint32_t *element, const uint64_t *offset,
					   const uint32_t *set, uint32_t n, uint16_t *common)
{
	uint32_t i;

	for (i = 0; i < n; i++)
	{
		const uint32_t *e = element + offset[set[i]];
		uint64_t size = offset[set[i] + 1] - offset[set[i]];
		__m256i lanes = _mm256_cmpgt_epi32(_mm256_set1_epi32((int) size),
										   _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
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
		common[i] = (uint16_t) _mm_popcnt_u32(qb_vector_bits32((qb_u32s) words));
	}
}

#else

QB_INLINE found32
members32(qb_u32s x, qb_u32s y)
{
#define ROTATED(by) (x == vextq_u32(y, y, by))
	return (found32) (((x == y) | ROTATED(2)) | (ROTATED(1) | ROTATED(3)));
#undef ROTATED
}

/*
 * Each lane counts the elements that it has found.  A set has at most 2^32 elements, each of the
 * four lanes has a quarter of them, and no element is found twice.  So a count is at most 2^30.
 */
typedef qb_u32s tally;

QB_INLINE tally
tally_of(found32 found)
{
	return -found;
}

QB_INLINE uint64_t
total(tally t)
{
	return vaddlvq_u32(t);
}

/* Returns which of the two elements of x are among the four elements of y and z. */
QB_INLINE qb_u64s
members2(qb_u64s x, qb_u64s y, qb_u64s z)
{
	return (qb_u64s) (((x == y) | (x == vextq_u64(y, y, 1))) |
					  ((x == z) | (x == vextq_u64(z, z, 1))));
}

/*
 * Finds which of the four elements at a are among the four elements at b.  Each of the two lanes
 * adds up the results of two elements.  A step that compared only one vector would spend half of
 * its instructions on advancing to the next step.
 */
QB_INLINE found64
members64(const int64_t *a, const int64_t *b)
{
	qb_u64s y = (qb_u64s) qb_vector_load(b);
	qb_u64s z = (qb_u64s) qb_vector_load(b + 2);

	return members2((qb_u64s) qb_vector_load(a), y, z) +
		   members2((qb_u64s) qb_vector_load(a + 2), y, z);
}

QB_INLINE qb_u8s
narrow(qb_u16s x, qb_u16s y)
{
	return vcombine_u8(vmovn_u16(x), vmovn_u16(y));
}

typedef uint8_t plane_piece;

void
qset_probe_sets_vector(const uint64_t *bits, const uint32_t *element, const uint64_t *offset,
					   const uint32_t *set, uint32_t n, uint16_t *common)
{
	qset_probe_sets_each(bits, element, offset, set, n, common);
}

#endif

QB_VECTOR_INLINE qb_u64s
tally64(qb_u64s common, found64 found)
{
	return common - found;
}

QB_VECTOR_INLINE uint32_t
keep32(const int32_t *a, found32 found, int32_t *out)
{
	uint32_t bits = qb_vector_bits32(found);
	uint32_t kept = 0;

	for (; bits != 0; bits &= bits - 1)
		out[kept++] = a[__builtin_ctz(bits)];
	return kept;
}

QB_VECTOR_INLINE uint32_t *
emit(uint32_t found, uint32_t count, uint32_t base, uint32_t *out)
{
	(void) count;
	return qset_emit_bits(found, base, out);
}

/* Compare STEP16 counters with "least".  Returns a mask of the counters that are not smaller. */
QB_VECTOR_INLINE uint32_t
not_below16(const uint16_t *row, uint16_t least)
{
	qb_u16s x = (qb_u16s) qb_vector_load(row);
	qb_u16s y = (qb_u16s) qb_vector_load(row + LANES16);

	return qb_vector_bits(narrow((qb_u16s) (x >= least), (qb_u16s) (y >= least)));
}

/* Compare LANES32 counters with "least".  Returns a mask of the counters that are not smaller. */
QB_VECTOR_INLINE uint32_t
not_below32(const uint32_t *row, uint32_t least)
{
	return qb_vector_bits32((qb_u32s) ((qb_u32s) qb_vector_load(row) >= least));
}

QB_VECTOR_INLINE uint32_t
keep_sizes(uint32_t found, const uint32_t *size, uint32_t most)
{
	uint32_t bits = 0;
	uint32_t i;

	for (i = 0; i < STEP16; i += LANES32)
		bits |= qb_vector_bits32((qb_u32s) ((qb_u32s) qb_vector_load(size + i) <= most)) << i;
	return found & bits;
}

QB_VECTOR_INLINE qb_u64s
carry_of(qb_u64s *sum, qb_u64s x, qb_u64s y)
{
	qb_u64s odd = x ^ y;
	qb_u64s carry = (x & y) | (odd & *sum);

	*sum ^= odd;
	return carry;
}

/*
 * Convert up to 16 planes to counters.  A vector has 16-bit lanes, one for each counter.  For each
 * plane, all lanes get the plane's bits for the vector, and each lane tests its counter's bit.
 */
QB_VECTOR_INLINE void
spread(const qb_u64s *plane, int planes, uint16_t *out)
{
	static const uint16_t bits[16] = { 1,   2,   4,    8,    16,   32,   64,    128,
									   256, 512, 1024, 2048, 4096, 8192, 16384, 32768 };
	const qb_u16s bit = (qb_u16s) qb_vector_load(bits);
	plane_piece mask[16][16];
	int p;
	int i;

	for (p = 0; p < planes; p++)
		qb_vector_store(mask[p], (qb_u8s) plane[p]);
	for (i = 0; i < 16; i++)
	{
		qb_u16s sum = { 0 };

		for (p = 0; p < planes; p++)
			sum |= (qb_u16s) ((bit & mask[p][i]) == bit) & (uint16_t) (1 << p);
		qb_vector_store(out + i * LANES16, (qb_u8s) sum);
	}
}
#endif

/* ---- two sets ---- */

QB_VECTOR_TARGET static bool
sorted32(const int32_t *a, uint64_t n)
{
	uint64_t i = 0;

	for (; i + LANES32 + 1 <= n; i += LANES32)
		if (!qb_vector_all(
				(qb_u8s) ((qb_i32s) qb_vector_load(a + i + 1) > (qb_i32s) qb_vector_load(a + i))))
			return false;
	return qset_sorted32(a + i, n - i);
}

QB_VECTOR_TARGET static bool
sorted64(const int64_t *a, uint64_t n)
{
	uint64_t i = 0;

	for (; i + LANES64 + 1 <= n; i += LANES64)
		if (!qb_vector_all(
				(qb_u8s) ((qb_i64s) qb_vector_load(a + i + 1) > (qb_i64s) qb_vector_load(a + i))))
			return false;
	return qset_sorted64(a + i, n - i);
}

/*
 * Returns which elements of the block at *a are in the block at *b.  last_a and last_b are the last
 * elements of these blocks.  Advances *a to its next block if last_a <= last_b, and *b to its next
 * block if last_b <= last_a.
 */
QB_VECTOR_INLINE found32
merge_block32(const int32_t **a, const int32_t **b)
{
	int32_t last_a = (*a)[LANES32 - 1];
	int32_t last_b = (*b)[LANES32 - 1];
	found32 found = members32((qb_u32s) qb_vector_load(*a), (qb_u32s) qb_vector_load(*b));

	*a += qset_step(last_a <= last_b, LANES32);
	*b += qset_step(last_b <= last_a, LANES32);
	return found;
}

#if QB_VECTOR != 64

QB_VECTOR_INLINE uint64_t
count_merging32(const int32_t *a, const int32_t *end_a, const int32_t *b, const int32_t *end_b)
{
	tally common = { 0 };

	while (end_a - a >= LANES32 && end_b - b >= LANES32)
		common += tally_of(merge_block32(&a, &b));
	return total(common) + qset_merge_count32(a, (uint64_t) (end_a - a), b, (uint64_t) (end_b - b));
}

/* Returns the first element of b that is at least x. */
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
 * A step of a merge waits for the loads of the step before.  So large sets are cut in halves, and
 * the loop alternates between the merges of the two halves.  While a step of one merge waits, the
 * processor computes a step of the other merge.
 */
QB_VECTOR_TARGET uint64_t
qset_count32_vector(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m)
{
	const int32_t *end_a = a + n;
	const int32_t *end_b = b + m;
	const int32_t *half_a = a + n / 2;
	const int32_t *half_b;
	const int32_t *x = half_a;
	const int32_t *y;
	tally common = { 0 };

	if (n < TWO_STREAMS || m < TWO_STREAMS)
		return count_merging32(a, end_a, b, end_b);
	half_b = y = first_not_below(b, m, *half_a);
	while (half_a - a >= LANES32 && half_b - b >= LANES32 && end_a - x >= LANES32 &&
		   end_b - y >= LANES32)
	{
		common += tally_of(merge_block32(&a, &b));
		common += tally_of(merge_block32(&x, &y));
	}
	return total(common) + count_merging32(a, half_a, b, half_b) +
		   count_merging32(x, end_a, y, end_b);
}

#endif

QB_VECTOR_TARGET static uint64_t
intersect32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m, int32_t *out)
{
	const int32_t *end_a = a + n;
	const int32_t *end_b = b + m;
	uint64_t common = 0;

	while (end_a - a >= LANES32 && end_b - b >= LANES32)
	{
		const int32_t *block = a;

		common += keep32(block, merge_block32(&a, &b), out + common);
	}
	return common +
		   qset_merge32(a, (uint64_t) (end_a - a), b, (uint64_t) (end_b - b), out + common);
}

/* Does the work of merge_block32() for elements of 8 bytes. */
QB_VECTOR_INLINE found64
merge_block64(const int64_t **a, const int64_t **b)
{
	int64_t last_a = (*a)[STEP64 - 1];
	int64_t last_b = (*b)[STEP64 - 1];
	found64 found = members64(*a, *b);

	*a += qset_step(last_a <= last_b, STEP64);
	*b += qset_step(last_b <= last_a, STEP64);
	return found;
}

QB_VECTOR_TARGET static uint64_t
count64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m)
{
	const int64_t *end_a = a + n;
	const int64_t *end_b = b + m;
	qb_u64s common = { 0 };

	while (end_a - a >= STEP64 && end_b - b >= STEP64)
		common = tally64(common, merge_block64(&a, &b));
	return qb_vector_sum64(common) +
		   qset_merge_count64(a, (uint64_t) (end_a - a), b, (uint64_t) (end_b - b));
}

QB_VECTOR_TARGET static uint64_t
intersect64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m, int64_t *out)
{
	const int64_t *end_a = a + n;
	const int64_t *end_b = b + m;
	uint64_t common = 0;

#ifdef __x86_64__
	while (end_a - a >= STEP64 && end_b - b >= STEP64)
	{
		const int64_t *block = a;

		common += keep64(block, merge_block64(&a, &b), out + common);
	}
#endif
	return common +
		   qset_merge64(a, (uint64_t) (end_a - a), b, (uint64_t) (end_b - b), out + common);
}

/* ---- bitmaps ---- */

QB_VECTOR_TARGET static uint64_t
and_count(const uint64_t *a, const uint64_t *b, uint64_t words)
{
	qb_u64s sum = { 0 };
	uint64_t i = 0;

	for (; i + LANES64 <= words; i += LANES64)
		sum += qb_vector_sum8(qb_vector_ones(qb_vector_load(a + i) & qb_vector_load(b + i)));
	return qb_vector_sum64(sum) + qset_and_count_each(a + i, b + i, words - i);
}

/*
 * ---- columns of bits, added by carry-save adders (Harley and Seal) ----
 *
 * A column has one bit for each set.  The loop adds eight columns at a time.  For each vector of
 * bits, a column then costs about two logical operations with AVX-512, and about five with AVX2 or
 * NEON.  Plane p has bit p of each set's counter.
 */

/* Planes for the counters of QSET_MAX_COLUMNS columns, and one more plane, which stays zero. */
#define PLANES 17

QB_VECTOR_INLINE qb_u64s
load(const void *p)
{
	return (qb_u64s) qb_vector_load(p);
}

/* Add 2^at to the counters whose bits in x are set.  Plane p has bit p of the counters. */
QB_VECTOR_INLINE void
ripple(qb_u64s *plane, int at, qb_u64s x)
{
	for (; qb_vector_any((qb_u8s) x); at++)
	{
		qb_u64s carry = plane[at] & x;

		plane[at] ^= x;
		x = carry;
	}
}

/* Returns the number of planes that hold the sums of "columns" columns. */
QB_INLINE int
planes_of(uint32_t columns)
{
	return 32 - __builtin_clz(columns | 1);
}

/*
 * Add at most eight columns to the planes.  The branches are predictable, because the number of
 * columns stays constant within a row.
 */
QB_VECTOR_INLINE void
add_eight(qb_u64s *plane, const uint64_t *const *column, uint32_t columns, uint64_t at)
{
	const qb_u64s none = { 0 };
	qb_u64s two1;
	qb_u64s two2 = none;
	qb_u64s two3 = none;
	qb_u64s two4 = none;
	qb_u64s four1;

#define COLUMN(i) (columns > (i) ? load(column[i] + at) : none)
	two1 = carry_of(&plane[0], COLUMN(0), COLUMN(1));
	if (columns > 2)
		two2 = carry_of(&plane[0], COLUMN(2), COLUMN(3));
	four1 = carry_of(&plane[1], two1, two2);
	if (columns <= 4)
	{
		ripple(plane, 2, four1);
		return;
	}
	two3 = carry_of(&plane[0], COLUMN(4), COLUMN(5));
	if (columns > 6)
		two4 = carry_of(&plane[0], COLUMN(6), COLUMN(7));
	ripple(plane, 3, carry_of(&plane[2], four1, carry_of(&plane[1], two3, two4)));
#undef COLUMN
}

QB_VECTOR_INLINE void
add_columns(const uint64_t *const *column, uint32_t columns, uint64_t at, qb_u64s *plane)
{
	const qb_u64s zero = { 0 };
	uint32_t c = 0;
	int p;

	for (p = 0; p < 3 || p <= planes_of(columns); p++)
		plane[p] = zero;
	for (; c + 8 <= columns; c += 8)
		add_eight(plane, column + c, 8, at);
	if (c < columns)
		add_eight(plane, column + c, columns - c, at);
}

QB_VECTOR_TARGET static void
sum_columns(const uint64_t *const *column, uint32_t columns, uint64_t at, uint16_t *out)
{
	qb_u64s plane[PLANES];
	uint64_t word;

	for (word = 0; word < QSET_BLOCK_WORDS; word += LANES64)
	{
		add_columns(column, columns, at + word, plane);
		spread(plane, planes_of(columns), out + word * 64);
	}
}

/* ---- rows of counters ---- */

QB_VECTOR_TARGET static uint32_t
find16(const qset_slice *s, uint32_t *out)
{
	const uint16_t *row = s->row;
	uint16_t least = (uint16_t) s->least;
	uint32_t *end = out;
	uint32_t i = s->from;

	for (; i + STEP16 <= s->to; i += STEP16)
	{
		uint32_t found = not_below16(row + i, least);

		if (found != 0 && s->size)
			found = keep_sizes(found, s->size + i, s->most);
		if (found != 0)
			end = emit(found, STEP16, i, end);
	}
	return (uint32_t) (end - out) + qset_find_rest(qset_kernels_plain.find16, s, i, end);
}

QB_VECTOR_TARGET static uint32_t
find32(const qset_slice *s, uint32_t *out)
{
	const uint32_t *row = s->row;
	uint32_t least = s->least;
	uint32_t *end = out;
	uint32_t i = s->from;

	for (; i + LANES32 <= s->to; i += LANES32)
	{
		uint32_t found = not_below32(row + i, least);

		if (found != 0)
			end = emit(found, LANES32, i, end);
	}
	return (uint32_t) (end - out) + qset_find_rest(qset_kernels_plain.find32, s, i, end);
}

QB_VECTOR_TARGET static uint32_t
sieve(const qset_sieve *s, int level, const void *list, uint64_t n, bool wide, uint32_t *out)
{
	return qset_sieve_list(s, level, list, n, wide, out);
}

#if QB_VECTOR == 64
const qset_kernels qset_kernels_avx512 = {
	.name = "avx512",
#else
const qset_kernels qset_kernels_vector = {
	.name = QB_VECTOR == 32 ? "avx2" : "neon",
#endif
	.sorted32 = sorted32,
	.sorted64 = sorted64,
	.count32 = qset_count32_vector,
	.count64 = count64,
	.intersect32 = intersect32,
	.intersect64 = intersect64,
	.and_count = and_count,
	.probe = qset_probe_vector,
	.probe_sets = qset_probe_sets_vector,
	.sum_columns = sum_columns,
	.find16 = find16,
	.find32 = find32,
	.sieve = sieve,
};

#endif
