/*
 * sketch.h
 *		The life cycle of a sketch, and the operations on it.
 *
 * Not thread safe.
 *
 * src/sketch/sketch.h
 */
#ifndef QS_SKETCH_H
#define QS_SKETCH_H

#include "sketch/structure.h"

extern const qs_ops *qs_ops_of(int structure);

/* An empty owned sketch in explicit encoding; needs no memory yet. */
extern void qs_init(qs_sketch *sk, const qs_params *p, const qb_memory *memory);

/* Release all tables of an owned sketch. */
extern void qs_free(qs_sketch *sk);

/* An owned copy of "from" (owned or view) in "to", which is uninitialized. */
extern qb_status qs_copy(qs_sketch *to, const qs_sketch *from, const qb_memory *memory);

/*
 * Make "to" another part of "from": an owned copy of the slim table
 * (QS_PART_DEVICE), of the fat table (QS_PART_HOST), or a full sketch made from a
 * host part (QS_PART_FULL).
 */
extern qb_status
qs_sf_part(qs_sketch *to, const qs_sketch *from, qs_part part, const qb_memory *memory);

/* Make the table of masks, in which a sketch looks up the masks of keys that are added. */
extern qb_status qs_make_masks(qs_sketch *sk);

/* Turn an explicit owned sketch dense. */
extern qb_status qs_make_dense(qs_sketch *sk);

/* Turn an empty sketch dense with counters of this width, for tables to be copied in. */
extern qb_status qs_start_dense(qs_sketch *sk, bool wide);

/* qs_start_dense() without a table of masks, for a sketch to which no keys are added. */
extern qb_status qs_start_tables(qs_sketch *sk, bool wide);

/*
 * Prepare an owned sketch for "weight" more.  QB_TOTAL_OVERFLOW: N would be too large.  Widens
 * dense counters if N would reach 2^32.
 */
extern qb_status qs_prepare(qs_sketch *sk, int64_t weight);

/* QB_OK if keys can be added.  QB_READ_ONLY for a device part, to which no keys can be added. */
extern qb_status qs_writable(const qs_sketch *sk);

/* The sum of a batch's weights; NULL: all weights are 1.  Returns -1 if the sum is out of range. */
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

/* Estimate of one key; works on views. */
extern int64_t qs_estimate(const qs_sketch *sk, uint64_t fingerprint);

/*
 * Announce that a key will soon be estimated.  Fetches the part of the table that the estimate will
 * read.  Does nothing for thread.
 */
extern void qs_estimate_soon(const qs_sketch *sk, uint64_t fingerprint);

/* Finish the work that qs_merge_deferred() left.  QB_NO_MEMORY leaves the rest unfinished. */
extern qb_status qs_materialize(qs_sketch *sk);

#endif
