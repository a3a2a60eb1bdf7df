/*
 * bucket.h
 *		The counters of one bucket as numbers, whatever the structure.
 *
 * Measuring and unbiased estimates share this: reading a bucket, sorting it, and the
 * chances with which each counter is the minimum of a random choice.  A bucket of sf
 * is read from the slim table (8 counters) or from the fat table (8 sub-buckets of z
 * cells, one after another).  thread has no buckets; position i of all rows takes
 * their place.
 *
 * src/sketch/bucket.h
 */
#ifndef QS_BUCKET_H
#define QS_BUCKET_H

#include "sketch/sf.h"
#include "sketch/sketch.h"

/* The most counters of a bucket: those of a fat bucket with the largest z. */
#define QS_BUCKET_MAX (QS_SF_WIDTH * QS_Z_MAX)

/* Which table of an sf sketch is read; all other structures have only one. */
typedef enum qs_side
{
	QS_SIDE_TOLD, /* the table that estimates come from */
	QS_SIDE_BEST  /* the fat table where there is one */
} qs_side;

/* Do we read the fat table of an sf sketch? */
extern bool qs_bucket_is_fat(const qs_sketch *sk, qs_side side);

/* Number of counters, at most QS_BUCKET_MAX. */
extern uint32_t qs_bucket_counters(const qs_sketch *sk, qs_side side);

/* Counters of a dense sketch's bucket in their order. */
extern void qs_bucket_read(const qs_sketch *sk, qs_side side, uint64_t bucket, uint64_t *value);

/* Sort values in ascending order. */
extern void qs_values_sort(uint64_t *value, uint32_t count);

/*
 * chance[i] for i = 0 .. count - k: the chance that value i of "count" ascending
 * values is the least of k that are chosen at random, 1 <= k <= count.  Larger
 * values have no chance.
 */
extern void qs_subset_chances(uint32_t count, uint32_t k, double *chance);

/* Mean of the minimum of k of "count" ascending values, over all choices. */
extern double qs_subset_minimum(const uint64_t *value, uint32_t count, uint32_t k);

/*
 * Values and chances of the minimum in a fat bucket, where k of 8 sub-buckets and a
 * cell in each are chosen.  "cell" has size[j] >= 1 cells of sub-bucket j, ascending,
 * from index j * stride on.  Writes the values that the minimum can take (at most one
 * for each cell, and zero) and their chances; returns how many.
 */
extern uint32_t qs_fat_chances(const uint64_t *cell, uint32_t stride, const uint32_t *size,
							   uint32_t k, uint64_t *value, double *chance);

#endif
