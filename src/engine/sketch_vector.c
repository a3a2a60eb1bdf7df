/*
 * sketch_vector.c
 *		Inner loops of sketches with AVX2 or NEON (base/vector.h).
 *
 * The loops add keys to warp, half_warp and sub_warp, with eight or four counters at a time, and
 * merge multilevel sketches, as in sketch_avx512.c.  AVX2 and NEON have no mask registers.  So each
 * lane compares the mask with its own bit, and becomes all ones or all zeros.
 *
 * src/engine/sketch_vector.c
 */
#include "sketch/kernels.h"

#include "base/vector.h"

#ifdef QB_VECTOR

/* The number of counters in a vector. */
#define LANES (QB_VECTOR / 4)

/*
 * Neither AVX2 nor NEON has a product of 64-bit lanes.  So this function is the plain loop,
 * compiled for this instruction set.
 */
QB_VECTOR_TARGET static void
hash(uint64_t seed_key, const uint64_t *fingerprint, size_t count, uint64_t *hv)
{
	qs_hash_each(seed_key, fingerprint, count, hv);
}

/* Add keys to buckets of m = 8, 16 or 32 counters, which are one to eight vectors. */
QB_VECTOR_INLINE void
add_to(qs_sketch *sk, uint32_t m, const uint64_t *hv, const int64_t *weight, size_t count)
{
	const qb_u32s bit = (qb_u32s) qb_vector_load(qs_counter_bit);
	uint32_t bucket[QS_BATCH + QS_PREFETCH_AHEAD];
	uint32_t mask[QS_BATCH];
	size_t i;

	qs_locate_batch(sk, m, hv, count, bucket, mask);
	for (i = 0; i < count; i++)
	{
		uint8_t *p = sk->table + (size_t) bucket[i] * m * 4;
		const uint8_t *next = sk->table + (size_t) bucket[i + QS_PREFETCH_AHEAD] * m * 4;
		uint32_t w = weight ? (uint32_t) weight[i] : 1;
		uint32_t c;

		for (c = 0; c < m; c += LANES)
		{
			qb_u32s v = (qb_u32s) qb_vector_load(p + c * 4);
			qb_u32s chosen = (qb_u32s) ((bit & (mask[i] >> c)) == bit);

			if (c % 8 == 0)
				__builtin_prefetch(next + c * 4, 1);
			qb_vector_store(p + c * 4, (qb_u8s) (v + (chosen & w)));
		}
	}
}

QB_VECTOR_TARGET static void
add8(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	add_to(sk, 8, hv, weight, count);
}

QB_VECTOR_TARGET static void
add16(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	add_to(sk, 16, hv, weight, count);
}

QB_VECTOR_TARGET static void
add32(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	add_to(sk, 32, hv, weight, count);
}

/*
 * Add v to a vector of counters, or subtract v.  A byte has carried if its sum is less than the
 * number that was added.  A byte has borrowed if it was less than the number that was subtracted.
 * Returns all ones in the bytes that carried or borrowed.  Unless "carries" is NULL, also adds 1 to
 * byte i of "carries" if byte i carried or borrowed.
 */
QB_VECTOR_INLINE qb_u8s
add_bytes(uint8_t *into, qb_u8s v, bool negative, uint8_t *carries)
{
	qb_u8s old = qb_vector_load(into);
	qb_u8s sum = negative ? old - v : old + v;
	qb_u8s carried = (qb_u8s) ((negative ? old : sum) < v);

	qb_vector_store(into, sum);
	if (carries)
		qb_vector_store(carries, qb_vector_load(carries) - carried);
	return carried;
}

/* A qs_low_add function.  The high index after the counters does not change, because 0 is added. */
QB_VECTOR_INLINE size_t
low_add(uint8_t *into, const uint8_t *from, size_t count, bool negative, uint8_t *carries,
		qs_carry *list)
{
	qb_u32s counters = (qb_u32s){ 0 } - 1;
	size_t listed = 0;
	size_t i;

	counters[LANES - 1] = 0;
	for (i = 0; i < count; i++, into += QS_LOW_BYTES, from += QS_LOW_BYTES)
	{
		uint32_t mask = 0;
		uint32_t at;

		for (at = 0; at < QS_LOW_BYTES; at += QB_VECTOR)
		{
			bool last = at + QB_VECTOR == QS_LOW_BYTES;
			qb_u8s v = qb_vector_load(from + at);
			qb_u8s carried = add_bytes(into + at, last ? v & (qb_u8s) counters : v, negative,
									   carries ? carries + i * QS_LOW_BYTES + at : NULL);

			if (!carries)
				mask |= qb_vector_bits(carried) << at;
		}
		if ((mask | qb_load32(from + QS_LOW_COUNTERS)) != 0)
			list[listed++] = (qs_carry){ (uint32_t) i, mask };
	}
	return listed;
}

QB_VECTOR_TARGET static qb_status
accumulate(qs_sketch *into, const qs_sketch *from, bool negative)
{
	return qs_multilevel_accumulate_by(into, from, negative, low_add);
}

const qs_kernels qs_kernels_vector = {
	.hash = hash,
	.add = { [QS_WARP] = add32, [QS_HALF_WARP] = add16, [QS_SUB_WARP] = add8 },
	.accumulate = accumulate,
};

#endif
