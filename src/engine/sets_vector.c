/*
 * sets_vector.c
 *		The sets family's inner loops with AVX2 or NEON (base/vector.h).
 *
 * This file does what sets_avx512.c does, with vectors of half or a quarter of the width
 * and without masks.
 *
 * NEON counts common 8-byte integers, but the plain merge writes them.  Counting takes
 * 33 instructions for four elements (GCC 12) instead of 44, and each step waits for the
 * one before it only once.  To write them, NEON would also have to find out which lanes
 * they are in; with one of them in each step that takes more instructions than the plain
 * merge.  The speed was not measured on an ARM processor.
 *
 * src/engine/sets_vector.c
 */
#include "engine/sets_kernels.h"

#include "base/vector.h"

#ifdef QB_VECTOR

/* Elements of 2, 4 and 8 bytes in a vector. */
#define LANES16 (QB_VECTOR / 2)
#define LANES32 (QB_VECTOR / 4)
#define LANES64 (QB_VECTOR / 8)

/* Elements of 8 bytes that one step of a merge takes, on either side. */
#define STEP64 4

/* Sets whose elements are looked up are prefetched this many ahead. */
#define AHEAD 8

/* From this many elements of the smaller set on, it pays to merge two halves in turns. */
#define TWO_STREAMS 64

/* ---- what differs ---- */

#ifdef __x86_64__

/* Which elements of x are in y: lanes of all ones. */
QB_VECTOR_INLINE qb_u32s
members32(qb_u32s x, qb_u32s y)
{
	qb_u32s z = (qb_u32s) _mm256_permute2x128_si256((__m256i) y, (__m256i) y, 1);

#define ROTATED(v, by) (x == (qb_u32s) _mm256_shuffle_epi32((__m256i) (v), by))
	return (qb_u32s) ((x == y) | (x == z) | (ROTATED(y, 0x39) | ROTATED(z, 0x39)) |
					  (ROTATED(y, 0x4E) | ROTATED(z, 0x4E)) |
					  (ROTATED(y, 0x93) | ROTATED(z, 0x93)));
#undef ROTATED
}

/* How many elements of 4 bytes were found. */
typedef uint64_t tally;

QB_VECTOR_INLINE tally
tally_of(qb_u32s found)
{
	return (tally) _mm_popcnt_u32(qb_vector_bits32(found));
}

QB_VECTOR_INLINE uint64_t
total(tally t)
{
	return t;
}

/* Which of STEP64 elements at a are in those at b. */
QB_VECTOR_INLINE qb_u64s
members64(const int64_t *a, const int64_t *b)
{
	qb_u64s x = (qb_u64s) qb_vector_load(a);
	qb_u64s y = (qb_u64s) qb_vector_load(b);

#define ROTATED(by) (x == (qb_u64s) _mm256_permute4x64_epi64((__m256i) y, by))
	return (qb_u64s) (((x == y) | ROTATED(0x39)) | (ROTATED(0x4E) | ROTATED(0x93)));
#undef ROTATED
}

QB_VECTOR_TARGET static uint64_t
intersect64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m, int64_t *out)
{
	uint64_t i = 0;
	uint64_t j = 0;
	uint64_t common = 0;

	while (i + STEP64 <= n && j + STEP64 <= m)
	{
		int64_t last_a = a[i + STEP64 - 1];
		int64_t last_b = b[j + STEP64 - 1];
		uint32_t found = (uint32_t) _mm256_movemask_pd((__m256d) members64(a + i, b + j));

		for (; found != 0; found &= found - 1)
			out[common++] = a[i + (uint32_t) __builtin_ctz(found)];
		i += qset_step(last_a <= last_b, STEP64);
		j += qset_step(last_b <= last_a, STEP64);
	}
	return common + qset_merge64(a + i, n - i, b + j, m - j, out + common);
}

/* Bytes of the lanes of two vectors, which are all ones or zeros. */
QB_VECTOR_INLINE qb_u8s
narrow(qb_u16s x, qb_u16s y)
{
	/* packing interleaves the halves of both vectors; the permutation restores their order */
	return (qb_u8s) _mm256_permute4x64_epi64(_mm256_packs_epi16((__m256i) x, (__m256i) y), 0xD8);
}

/* The bits of as many counters as a vector has. */
typedef uint16_t plane_piece;

/*
 * Sets of up to eight elements take one step, so that the processor need not predict how
 * many turns a loop takes.  The AVX-512 table uses this function, too.
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

QB_INLINE qb_u32s
members32(qb_u32s x, qb_u32s y)
{
#define ROTATED(by) (x == vextq_u32(y, y, by))
	return (qb_u32s) (((x == y) | ROTATED(2)) | (ROTATED(1) | ROTATED(3)));
#undef ROTATED
}

/*
 * Each lane counts what it has found.  No element is found twice, so a lane counts no
 * more than the number of 4-byte integers there are, divided by four.
 */
typedef qb_u32s tally;

QB_INLINE tally
tally_of(qb_u32s found)
{
	return -found;
}

QB_INLINE uint64_t
total(tally t)
{
	return vaddlvq_u32(t);
}

/* Which of 2 elements of 8 bytes are in 4 others, which are in two vectors. */
QB_INLINE qb_u64s
members2(qb_u64s x, qb_u64s y, qb_u64s z)
{
	return (qb_u64s) (((x == y) | (x == vextq_u64(y, y, 1))) |
					  ((x == z) | (x == vextq_u64(z, z, 1))));
}

/*
 * The sum of the lanes of two vectors.  With one vector a step, half of a step's
 * instructions would only move it on.
 */
QB_INLINE qb_u64s
members64(const int64_t *a, const int64_t *b)
{
	qb_u64s y = (qb_u64s) qb_vector_load(b);
	qb_u64s z = (qb_u64s) qb_vector_load(b + 2);

	return members2((qb_u64s) qb_vector_load(a), y, z) +
		   members2((qb_u64s) qb_vector_load(a + 2), y, z);
}

static uint64_t
intersect64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m, int64_t *out)
{
	return qset_merge64(a, n, b, m, out);
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
 * Compare a block of each set, and step forward in the set with the smaller last
 * element, or in both.  Returns lanes of all ones for the elements of *a that are in *b.
 */
QB_VECTOR_INLINE qb_u32s
merge_block32(const int32_t **a, const int32_t **b)
{
	int32_t last_a = (*a)[LANES32 - 1];
	int32_t last_b = (*b)[LANES32 - 1];
	qb_u32s found = members32((qb_u32s) qb_vector_load(*a), (qb_u32s) qb_vector_load(*b));

	*a += qset_step(last_a <= last_b, LANES32);
	*b += qset_step(last_b <= last_a, LANES32);
	return found;
}

QB_VECTOR_INLINE uint64_t
count_merging32(const int32_t *a, const int32_t *end_a, const int32_t *b, const int32_t *end_b)
{
	tally common = { 0 };

	while (end_a - a >= LANES32 && end_b - b >= LANES32)
		common += tally_of(merge_block32(&a, &b));
	return total(common) + qset_merge_count32(a, (uint64_t) (end_a - a), b, (uint64_t) (end_b - b));
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

QB_VECTOR_TARGET static uint64_t
intersect32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m, int32_t *out)
{
	const int32_t *end_a = a + n;
	const int32_t *end_b = b + m;
	uint64_t common = 0;

	while (end_a - a >= LANES32 && end_b - b >= LANES32)
	{
		const int32_t *block = a;
		uint32_t found = qb_vector_bits32(merge_block32(&a, &b));

		for (; found != 0; found &= found - 1)
			out[common++] = block[__builtin_ctz(found)];
	}
	return common +
		   qset_merge32(a, (uint64_t) (end_a - a), b, (uint64_t) (end_b - b), out + common);
}

QB_VECTOR_TARGET static uint64_t
count64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m)
{
	const int64_t *end_a = a + n;
	const int64_t *end_b = b + m;
	qb_u64s common = { 0 };

	while (end_a - a >= STEP64 && end_b - b >= STEP64)
	{
		int64_t last_a = a[STEP64 - 1];
		int64_t last_b = b[STEP64 - 1];

		common -= members64(a, b);
		a += qset_step(last_a <= last_b, STEP64);
		b += qset_step(last_b <= last_a, STEP64);
	}
	return qb_vector_sum64(common) +
		   qset_merge_count64(a, (uint64_t) (end_a - a), b, (uint64_t) (end_b - b));
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
 * Gathering eight words is no faster than the plain loop, which the compiler makes
 * four lanes wide.
 */
QB_VECTOR_TARGET static uint64_t
probe(const uint64_t *bits, const uint32_t *element, uint64_t n)
{
	return qset_probe_each(bits, element, n);
}

/* ---- columns of bits ---- */

QB_VECTOR_INLINE qb_u64s
load(const void *p)
{
	return (qb_u64s) qb_vector_load(p);
}

/* A full adder: returns the carries, and *sum becomes the parity. */
QB_VECTOR_INLINE qb_u64s
carry_of(qb_u64s *sum, qb_u64s x, qb_u64s y)
{
	qb_u64s odd = x ^ y;
	qb_u64s carry = (x & y) | (odd & *sum);

	*sum ^= odd;
	return carry;
}

/* Carry "x" into the planes from "at" on; plane p has bit p of the counters. */
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

/* Planes to numbers: each 16-bit lane has a copy of a piece of a plane, and tests its own bit. */
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

#define QSET_VECTOR        qb_u64s
#define QSET_VECTOR_INLINE QB_VECTOR_INLINE
#include "engine/sets_adder.h"

QB_VECTOR_TARGET static void
sum_columns(const uint64_t *const *column, uint32_t columns, uint64_t at, uint16_t *out)
{
	qb_u64s plane[QSET_PLANES];
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

	for (; i + QB_VECTOR <= s->to; i += QB_VECTOR)
	{
		qb_u16s x = (qb_u16s) qb_vector_load(row + i);
		qb_u16s y = (qb_u16s) qb_vector_load(row + i + LANES16);
		uint32_t found = qb_vector_bits(narrow((qb_u16s) (x >= least), (qb_u16s) (y >= least)));

		if (found != 0)
			end = qset_emit_bits(found, i, end);
	}
	end = out + qset_keep_sizes(s, out, (uint32_t) (end - out));
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
		qb_u32s x = (qb_u32s) qb_vector_load(row + i);
		uint32_t found = qb_vector_bits32((qb_u32s) (x >= least));

		if (found != 0)
			end = qset_emit_bits(found, i, end);
	}
	return (uint32_t) (end - out) + qset_find_rest(qset_kernels_plain.find32, s, i, end);
}

QB_VECTOR_TARGET static uint32_t
sieve(const qset_sieve *s, int level, const void *list, uint64_t n, bool wide, uint32_t *out)
{
	return qset_sieve_list(s, level, list, n, wide, out);
}

const qset_kernels qset_kernels_vector = {
	.name = QB_VECTOR == 32 ? "avx2" : "neon",
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
