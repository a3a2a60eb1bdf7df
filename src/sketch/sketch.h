/*
 * sketch.h
 *		Creates, copies, queries and frees sketches, and changes their encoding.
 *
 * The functions are not thread safe.
 *
 * src/sketch/sketch.h
 */
#ifndef QS_SKETCH_H
#define QS_SKETCH_H

#include "sketch/structure.h"

extern const qs_ops *qs_ops_of(int structure);

/* Makes an empty owned sketch in explicit encoding.  Allocates nothing. */
extern void qs_init(qs_sketch *sk, const qs_params *p, const qb_memory *memory);

/* Releases all memory of an owned sketch. */
extern void qs_free(qs_sketch *sk);

/* Makes "to", which is uninitialized, an owned copy of "from" (owned or view). */
extern qb_status qs_copy(qs_sketch *to, const qs_sketch *from, const qb_memory *memory);

/*
 * Makes "to" an owned copy of a part of "from": the slim table (QS_PART_DEVICE) or the fat table
 * (QS_PART_HOST).  QS_PART_FULL makes a full sketch from a host part.
 */
extern qb_status
qs_sf_part(qs_sketch *to, const qs_sketch *from, qs_part part, const qb_memory *memory);

/* Makes the table of masks.  A sketch without this table computes each mask when needed. */
extern qb_status qs_make_masks(qs_sketch *sk);

/* Changes an owned explicit sketch to dense encoding. */
extern qb_status qs_make_dense(qs_sketch *sk);

/*
 * Makes an empty sketch dense.  The caller copies counters of this width into the sketch's tables.
 */
extern qb_status qs_start_dense(qs_sketch *sk, bool wide);

/*
 * Does the work of qs_start_dense() without making a table of masks, for a sketch to which no keys
 * are added.
 */
extern qb_status qs_start_tables(qs_sketch *sk, bool wide);

/*
 * Prepares an owned sketch for a total N that is larger by "weight".  Widens dense counters if N
 * would reach 2^32.  QB_TOTAL_OVERFLOW: N would exceed 2^63 - 1.
 */
extern qb_status qs_prepare(qs_sketch *sk, int64_t weight);

/* QB_OK if keys can be added.  QB_READ_ONLY: the sketch is a device part of sf. */
extern qb_status qs_writable(const qs_sketch *sk);

/*
 * Returns the sum of a batch's weights, or -1 if the sum overflows.  If weight is NULL, all weights
 * are 1.
 */
static inline int64_t
qs_weight_sum(const int64_t *weight, size_t count)
{
	int64_t sum = 0;
	size_t i;

	if (!weight)
		return (int64_t) count;
	for (i = 0; i < count; i++)
		if (__builtin_add_overflow(sum, weight[i], &sum))
			return -1;
	return sum;
}

/* Returns the estimate of one key.  The sketch may be a view. */
extern int64_t qs_estimate(const qs_sketch *sk, uint64_t fingerprint);

/*
 * Prefetches a cache line of the bucket that the estimate of a key will read.  Does nothing for
 * thread, and for sketches without a table.
 */
extern void qs_estimate_soon(const qs_sketch *sk, uint64_t fingerprint);

/* Finishes the work that qs_merge_deferred() deferred.  QB_NO_MEMORY: some of this work remains. */
extern qb_status qs_materialize(qs_sketch *sk);

#endif
