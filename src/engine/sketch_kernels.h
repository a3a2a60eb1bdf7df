/*
 * sketch_kernels.h
 *		The inner loops of sketches for each instruction set, and the choice.
 *
 * src/engine/sketch_kernels.h
 */
#ifndef QS_SKETCH_KERNELS_H
#define QS_SKETCH_KERNELS_H

#include "base/isa.h"
#include "sketch/kernels.h"

/* Those of AVX2 or NEON, and of AVX-512, where the processor is of such a kind. */
extern const qs_kernels qs_kernels_vector;
extern const qs_kernels qs_kernels_avx512;

/* The table in use; qb_isa_use() changes it. */
extern const qs_kernels *qs_kernels_now(void);

/* Add a batch of hv to dense tables, with the loops in use. */
extern void qs_kernels_add(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count);

/* Selected keys of a batch: all whose estimates are at least "least", and perhaps others. */
typedef struct qs_selection
{
	int64_t least;
	size_t count;
	uint32_t found[QS_BATCH]; /* their numbers, ascending */
} qs_selection;

/* Select among at most QS_BATCH keys, all of them if there is no fast loop. */
extern void qs_kernels_select(const qs_sketch *sk, const uint64_t *fingerprint, size_t count,
							  qs_selection *selection);

/* Add a batch to dense tables and select among it; false: do that in two steps. */
extern bool qs_kernels_add_select(qs_sketch *sk, const uint64_t *hv, const int64_t *weight,
								  size_t count, qs_selection *selection);

/*
 * Insert at most QS_BATCH keys by the CPU's engine, and select among them by their
 * estimates after that.
 */
extern qb_status qs_insert_select(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight,
								  size_t count, qs_selection *selection);

/*
 * Buckets and masks of a batch: the results of qb_reduce() and qs_mask_in(),
 * computed without 128-bit products, which vectors lack.  n < 2^32 for all bucketed
 * structures, so a product of 96 bits is enough.  The sketch must have its table of
 * masks.  "bucket" has room for QS_PREFETCH_AHEAD more elements, which repeat the
 * last one, so that loops can fetch ahead without a test.
 */
QB_INLINE void
qs_locate_batch(const qs_sketch *sk, uint32_t m, const uint64_t *hv, size_t count,
				uint32_t *restrict bucket, uint32_t *restrict mask)
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
