/*
 * kernels.h
 *		The inner loops of sketches on the CPU, one table for each instruction set.
 *
 * A table has fast loops for hashing and for merging multilevel sketches, and may have fast loops
 * for adding a batch and for selecting keys with large estimates.  If a table has no fast loop for
 * adding, the structure's plain loop (qs_ops.add) is used.  The files engine/sketch_*.c define the
 * tables, and engine/sketch_cpu.c chooses a table.  All tables compute the same bytes.
 *
 * src/sketch/kernels.h
 */
#ifndef QS_KERNELS_H
#define QS_KERNELS_H

#include "sketch/multilevel.h"

typedef void (*qs_kernel_add)(qs_sketch *sk, const uint64_t *hv, const int64_t *weight,
							  size_t count);

typedef struct qs_kernels
{
	/* Computes hv of up to QS_BATCH fingerprints. */
	void (*hash)(uint64_t seed_key, const uint64_t *fingerprint, size_t count, uint64_t *hv);

	/*
	 * Fast loops for qs_ops.add of each structure.  "count" is 1 to QS_BATCH.  Only the loop of
	 * multilevel also adds to wide sketches.  NULL: the structure has only the plain loop.
	 */
	qs_kernel_add add[QS_STRUCTURES];

	/*
	 * Finds the keys whose estimates in a dense multilevel sketch are at least "least".  "count" is
	 * 1 to QS_BATCH.  Writes the indexes of the found keys to "found", ascending.  Returns their
	 * number.  NULL: there is no fast loop.
	 */
	size_t (*select)(const qs_sketch *sk, const uint64_t *hv, size_t count, uint64_t least,
					 uint32_t *found);

	/*
	 * Adds keys to a dense multilevel sketch, after reserve().  "count" is 1 to QS_BATCH.  Selects
	 * all keys whose estimates after the addition are at least "least", and possibly other keys.
	 * Writes the indexes of the selected keys to "found", ascending.  Returns their number.  NULL:
	 * there is no fast loop.
	 */
	size_t (*add_select)(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count,
						 uint64_t least, uint32_t *found);

	/* qs_ops.accumulate of multilevel. */
	qs_accumulate accumulate;
} qs_kernels;

/* The tables for AVX2 or NEON, and for AVX-512.  A build has the tables of its architecture. */
extern const qs_kernels qs_kernels_vector;
extern const qs_kernels qs_kernels_avx512;

/* The plain loop of hash().  Each instruction set compiles this loop. */
QB_INLINE void
qs_hash_each(uint64_t seed_key, const uint64_t *fingerprint, size_t count, uint64_t *__restrict hv)
{
	size_t i;

	for (i = 0; i < count; i++)
		hv[i] = qb_hash(fingerprint[i], seed_key);
}

/*
 * Computes buckets and masks of a batch: the results of qb_reduce() and qs_mask_in().  Uses no
 * 128-bit products, because no vector instruction computes them.  A product of 96 bits is enough,
 * because all bucketed structures have n < 2^32.  The sketch must have its table of masks.
 * "bucket" has QS_PREFETCH_AHEAD elements more than "count".  The additional elements repeat the
 * last bucket, so that loops can prefetch without a test for the end.
 */
QB_INLINE void
qs_locate_batch(const qs_sketch *sk, uint32_t m, const uint64_t *hv, size_t count,
				uint32_t *__restrict bucket, uint32_t *__restrict mask)
{
	const uint32_t *masks = sk->masks;
	uint64_t n = sk->params.n;
	uint32_t last = qs_mask_count(&sk->params) - 1;
	size_t i;

	for (i = 0; i < count; i++)
	{
		uint64_t low = (hv[i] & UINT32_MAX) * n >> 32;

		bucket[i] = (uint32_t) (((hv[i] >> 32) * n + low) >> 32);
		mask[i] = qs_mask_rotation(masks[(uint32_t) hv[i] & last], m, hv[i]);
	}
	for (i = count; i < count + QS_PREFETCH_AHEAD; i++)
		bucket[i] = bucket[count - 1];
}

#endif
