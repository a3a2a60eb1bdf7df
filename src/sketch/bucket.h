/*
 * bucket.h
 *		The counters of one bucket as numbers, whatever the structure.
 *
 * What measuring and unbiased estimates share: reading a bucket, sorting it,
 * and the chances with which each counter is the minimum of a random choice.
 * A bucket of sf is read from the slim table (8 counters) or from the fat one
 * (8 sub-buckets of z cells, one after the other); thread has no buckets, and
 * position i of all rows takes their place.
 *
 * src/sketch/bucket.h
 */
#ifndef QS_BUCKET_H
#define QS_BUCKET_H

#include "sketch/sf.h"
#include "sketch/sketch.h"

/* Most counters of a bucket: a fat one with the largest z. */
#define QS_BUCKET_MAX (QS_SF_WIDTH * QS_Z_MAX)

/* Which table of an sf sketch; all others have one. */
typedef enum qs_side
{
	QS_SIDE_TOLD, /* the counters that estimates come from */
	QS_SIDE_BEST  /* the fat table where there is one */
} qs_side;

/* Do we read the fat table of an sf sketch? */
extern bool qs_bucket_is_fat(const qs_sketch *sk, qs_side side);

/* Number of counters, at most QS_BUCKET_MAX. */
extern uint32_t qs_bucket_counters(const qs_sketch *sk, qs_side side);

/* Counters of a dense sketch's bucket in their order. */
extern void qs_bucket_read(const qs_sketch *sk, qs_side side, uint64_t bucket, uint64_t *value);

/* Ascending. */
extern void qs_values_sort(uint64_t *value, uint32_t count);

/*
 * chance[i], i = 0 .. count - k: that of value i of "count" ascending ones to
 * be the least of k, 1 <= k <= count, chosen at random.  The others have none.
 */
extern void qs_subset_chances(uint32_t count, uint32_t k, double *chance);

/* Mean of the minimum of k of "count" ascending values, over all choices. */
extern double qs_subset_minimum(const uint64_t *value, uint32_t count, uint32_t k);

/*
 * The same for fat buckets: k of 8 sub-buckets and a cell in each.  "cell" has
 * sub-bucket j from j * stride on, size[j] >= 1 of them, ascending.  Writes
 * the values that the minimum can take and their chances (at most the number
 * of cells, and zero); returns how many.
 */
extern uint32_t qs_fat_chances(const uint64_t *cell, uint32_t stride, const uint32_t *size,
							   uint32_t k, uint64_t *value, double *chance);

#endif
