/*
 * sets_neon.c
 *		The sets family's inner loops with ARM's NEON.
 *
 * This file does what sets_avx2.c does, with vectors of 128 bits.  8-byte integers in
 * common are counted by vectors, but written by the plain merge.  Counting takes 33
 * instructions for four elements (GCC 12) instead of 44, and each step waits for the one
 * before it only once.  To write them, it would also have to find out which lanes they
 * are in; with one of them in each step that takes more instructions than the plain merge.
 * The speed was not measured on an ARM processor.
 *
 * src/engine/sets_neon.c
 */
#include "engine/sets_kernels.h"

#ifdef __aarch64__

#include "base/neon.h"

QB_INLINE uint64x2_t
load(const void *p)
{
	return vreinterpretq_u64_u8(vld1q_u8(p));
}

static bool
sorted32(const int32_t *a, uint64_t n)
{
	uint64_t i = 0;

	for (; i + 5 <= n; i += 4)
		if (vminvq_u32(vcgtq_s32(vld1q_s32(a + i + 1), vld1q_s32(a + i))) == 0)
			return false;
	return qset_sorted32(a + i, n - i);
}

static bool
sorted64(const int64_t *a, uint64_t n)
{
	uint64_t i = 0;

	for (; i + 3 <= n; i += 2)
	{
		uint64x2_t larger = vcgtq_s64(vld1q_s64(a + i + 1), vld1q_s64(a + i));

		if (vminvq_u32(vreinterpretq_u32_u64(larger)) == 0)
			return false;
	}
	return qset_sorted64(a + i, n - i);
}

/* Which of the 4 elements of x are in y: lanes of all ones. */
QB_INLINE uint32x4_t
members4(int32x4_t x, int32x4_t y)
{
	uint32x4_t even = vorrq_u32(vceqq_s32(x, y), vceqq_s32(x, vextq_s32(y, y, 2)));
	uint32x4_t odd = vorrq_u32(vceqq_s32(x, vextq_s32(y, y, 1)), vceqq_s32(x, vextq_s32(y, y, 3)));

	return vorrq_u32(even, odd);
}

/* One bit for each lane of all ones. */
QB_INLINE uint32_t
bits4(uint32x4_t lanes)
{
	static const uint32_t bit[4] = { 1, 2, 4, 8 };

	return vaddvq_u32(vandq_u32(lanes, vld1q_u32(bit)));
}

/*
 * Each lane counts what it has found.  No element is found twice, so a lane counts no
 * more than the number of 4-byte integers there are, divided by four.
 */
static uint64_t
count32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m)
{
	uint32x4_t common = vdupq_n_u32(0);
	uint64_t i = 0;
	uint64_t j = 0;

	while (i + 4 <= n && j + 4 <= m)
	{
		int32_t last_a = a[i + 3];
		int32_t last_b = b[j + 3];

		common = vsubq_u32(common, members4(vld1q_s32(a + i), vld1q_s32(b + j)));
		i += qset_step(last_a <= last_b, 4);
		j += qset_step(last_b <= last_a, 4);
	}
	return vaddlvq_u32(common) + qset_merge_count32(a + i, n - i, b + j, m - j);
}

static uint64_t
intersect32(const int32_t *a, uint64_t n, const int32_t *b, uint64_t m, int32_t *out)
{
	uint64_t i = 0;
	uint64_t j = 0;
	uint64_t common = 0;

	while (i + 4 <= n && j + 4 <= m)
	{
		int32_t last_a = a[i + 3];
		int32_t last_b = b[j + 3];
		uint32_t found = bits4(members4(vld1q_s32(a + i), vld1q_s32(b + j)));

		for (; found != 0; found &= found - 1)
			out[common++] = a[i + (uint32_t) __builtin_ctz(found)];
		i += qset_step(last_a <= last_b, 4);
		j += qset_step(last_b <= last_a, 4);
	}
	return common + qset_merge32(a + i, n - i, b + j, m - j, out + common);
}

/* The same for 2 elements of 8 bytes and 4 of another set, which are in two vectors. */
QB_INLINE uint64x2_t
members2(int64x2_t x, int64x2_t y, int64x2_t z)
{
	uint64x2_t first = vorrq_u64(vceqq_s64(x, y), vceqq_s64(x, vextq_s64(y, y, 1)));
	uint64x2_t second = vorrq_u64(vceqq_s64(x, z), vceqq_s64(x, vextq_s64(z, z, 1)));

	return vorrq_u64(first, second);
}

/*
 * Each step takes four elements of each set, which are two vectors.  With one vector of
 * each, half of a step's instructions would only move it on.
 */
static uint64_t
count64(const int64_t *a, uint64_t n, const int64_t *b, uint64_t m)
{
	const int64_t *end_a = a + n;
	const int64_t *end_b = b + m;
	uint64x2_t common = vdupq_n_u64(0);

	while (end_a - a >= 4 && end_b - b >= 4)
	{
		int64_t last_a = a[3];
		int64_t last_b = b[3];
		int64x2_t y = vld1q_s64(b);
		int64x2_t z = vld1q_s64(b + 2);

		common = vsubq_u64(common, members2(vld1q_s64(a), y, z));
		common = vsubq_u64(common, members2(vld1q_s64(a + 2), y, z));
		a += qset_step(last_a <= last_b, 1) * 4;
		b += qset_step(last_b <= last_a, 1) * 4;
	}
	return vaddvq_u64(common) +
		   qset_merge_count64(a, (uint64_t) (end_a - a), b, (uint64_t) (end_b - b));
}

static uint64_t
and_count(const uint64_t *a, const uint64_t *b, uint64_t words)
{
	uint64x2_t sum = vdupq_n_u64(0);
	uint64_t i = 0;

	for (; i + 2 <= words; i += 2)
	{
		uint8x16_t both = vreinterpretq_u8_u64(vandq_u64(load(a + i), load(b + i)));

		sum = vpadalq_u32(sum, vpaddlq_u16(vpaddlq_u8(vcntq_u8(both))));
	}
	return vaddvq_u64(sum) + qset_and_count_each(a + i, b + i, words - i);
}

/* A full adder of 128 bits: returns the carries, and *sum becomes the parity. */
QB_INLINE uint64x2_t
carry_of(uint64x2_t *sum, uint64x2_t x, uint64x2_t y)
{
	uint64x2_t odd = veorq_u64(x, y);
	uint64x2_t carry = vorrq_u64(vandq_u64(x, y), vandq_u64(odd, *sum));

	*sum = veorq_u64(*sum, odd);
	return carry;
}

/* Carry "x" into the planes from "at" on; plane p has bit p of 128 counters. */
QB_INLINE void
ripple(uint64x2_t *plane, int at, uint64x2_t x)
{
	for (; qb_neon_any(vreinterpretq_u8_u64(x)); at++)
	{
		uint64x2_t carry = vandq_u64(plane[at], x);

		plane[at] = veorq_u64(plane[at], x);
		x = carry;
	}
}

/* Planes to numbers: each 16-bit lane has a copy of 8 bits of a plane, and tests its own bit. */
QB_INLINE void
spread(const uint64x2_t *plane, int planes, uint16_t *out)
{
	static const uint16_t bits[8] = { 1, 2, 4, 8, 16, 32, 64, 128 };
	const uint16x8_t bit = vld1q_u16(bits);
	uint8_t mask[16][16];
	int p;
	int i;

	for (p = 0; p < planes; p++)
		vst1q_u8(mask[p], vreinterpretq_u8_u64(plane[p]));
	for (i = 0; i < 16; i++)
	{
		uint16x8_t sum = vdupq_n_u16(0);

		for (p = 0; p < planes; p++)
		{
			uint16x8_t has = vtstq_u16(vdupq_n_u16(mask[p][i]), bit);

			sum = vorrq_u16(sum, vandq_u16(has, vdupq_n_u16((uint16_t) (1 << p))));
		}
		vst1q_u16(out + i * 8, sum);
	}
}

#define QSET_VECTOR        uint64x2_t
#define QSET_VECTOR_INLINE QB_INLINE
#include "engine/sets_adder.h"

static void
sum_columns(const uint64_t *const *column, uint32_t columns, uint64_t at, uint16_t *out)
{
	uint64x2_t plane[QSET_PLANES];
	uint64_t word;

	for (word = 0; word < QSET_BLOCK_WORDS; word += 2)
	{
		add_columns(column, columns, at + word, plane);
		spread(plane, planes_of(columns), out + word * 64);
	}
}

static uint32_t
find16(const uint16_t *row, uint32_t from, uint32_t to, uint16_t least, uint32_t *out)
{
	uint16x8_t bound = vdupq_n_u16(least);
	uint32_t *end = out;
	uint32_t i = from;

	for (; i + 16 <= to; i += 16)
	{
		uint16x8_t x = vcgeq_u16(vld1q_u16(row + i), bound);
		uint16x8_t y = vcgeq_u16(vld1q_u16(row + i + 8), bound);
		uint8x16_t reach = vcombine_u8(vmovn_u16(x), vmovn_u16(y));

		if (qb_neon_any(reach))
			end = qset_emit_bits(qb_neon_bits(reach), i, end);
	}
	return (uint32_t) (end - out) + qset_kernels_plain.find16(row, i, to, least, end);
}

static uint32_t
find16_sized(const uint16_t *row, const uint32_t *size, uint32_t from, uint32_t to, uint16_t least,
			 uint32_t most, uint32_t *out)
{
	return qset_keep_sizes(size, most, out, find16(row, from, to, least, out));
}

static uint32_t
find32(const uint32_t *row, uint32_t from, uint32_t to, uint32_t least, uint32_t *out)
{
	uint32x4_t bound = vdupq_n_u32(least);
	uint32_t *end = out;
	uint32_t i = from;

	for (; i + 4 <= to; i += 4)
	{
		uint32_t found = bits4(vcgeq_u32(vld1q_u32(row + i), bound));

		if (found != 0)
			end = qset_emit_bits(found, i, end);
	}
	return (uint32_t) (end - out) + qset_kernels_plain.find32(row, i, to, least, end);
}

static uint64_t
probe(const uint64_t *bits, const uint32_t *element, uint64_t n)
{
	return qset_probe_each(bits, element, n);
}

static void
probe_sets(const uint64_t *bits, const uint32_t *element, const uint64_t *offset,
		   const uint32_t *set, uint32_t n, uint16_t *common)
{
	qset_probe_sets_each(bits, element, offset, set, n, common);
}

static uint32_t
sieve(const qset_sieve *s, int level, const void *list, uint64_t n, bool wide, uint32_t *out)
{
	return qset_sieve_list(s, level, list, n, wide, out);
}

const qset_kernels qset_kernels_neon = {
	.name = "neon",
	.sorted32 = sorted32,
	.sorted64 = sorted64,
	.count32 = count32,
	.count64 = count64,
	.intersect32 = intersect32,
	.intersect64 = qset_merge64,
	.and_count = and_count,
	.probe = probe,
	.probe_sets = probe_sets,
	.sum_columns = sum_columns,
	.find16 = find16,
	.find16_sized = find16_sized,
	.find32 = find32,
	.sieve = sieve,
};

#endif
