/*
 * multilevel.h
 *		The multilevel sketch: one-byte counters that overflow into high buckets.
 *
 * src/sketch/multilevel.h
 */
#ifndef QS_MULTILEVEL_H
#define QS_MULTILEVEL_H

#include "sketch/sketch.h"

#define QS_LOW_COUNTERS   28   /* one-byte counters of a low bucket */
#define QS_LOW_BYTES      32   /* those, and the 4-byte high index */
#define QS_HIGH_COUNTERS  32   /* of which the first 28 are used */
#define QS_HIGH_INDEX_MIN 1024 /* smaller indexes are reserved; 0 = none */

extern const qs_ops qs_multilevel_ops;

/* The 28 counter values of a low bucket. */
extern void qs_multilevel_values(const qs_sketch *sk, uint64_t bucket, uint64_t *value);

#endif
