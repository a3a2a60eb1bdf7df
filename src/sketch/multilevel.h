/*
 * multilevel.h
 *		The multilevel sketch: one-byte counters that overflow into high buckets.
 *
 * src/sketch/multilevel.h
 */
#ifndef QS_MULTILEVEL_H
#define QS_MULTILEVEL_H

#include "sketch/structure.h"

extern const qs_ops qs_multilevel_ops;

/* ---- the low and high buckets of a multilevel sketch; multilevel.c has the layout ---- */

#define QS_LOW_COUNTERS   28   /* one-byte counters of a low bucket */
#define QS_LOW_BYTES      32   /* the counters and the 4-byte high index */
#define QS_HIGH_COUNTERS  32   /* the first 28 are used */
#define QS_HIGH_INDEX_MIN 1024 /* smaller indexes are reserved; 0 = none */

QB_INLINE uint8_t *
qs_low_bucket(const qs_sketch *sk, uint64_t bucket)
{
	return sk->table + bucket * QS_LOW_BYTES;
}

QB_INLINE uint8_t *
qs_high_bucket(const qs_sketch *sk, uint64_t number)
{
	return sk->extra + number * (QS_HIGH_COUNTERS * (sk->wide ? 8 : 4));
}

/*
 * The high bucket of a low bucket, or NULL.  An index that names no high bucket, as
 * only damaged bytes have it, counts as NULL.
 */
QB_INLINE uint8_t *
qs_high_of(const qs_sketch *sk, const uint8_t *low)
{
	uint32_t index = qb_load32(low + QS_LOW_COUNTERS);

	if (index < QS_HIGH_INDEX_MIN || index - QS_HIGH_INDEX_MIN >= sk->extra_used)
		return NULL;
	return qs_high_bucket(sk, index - QS_HIGH_INDEX_MIN);
}

/*
 * The high bucket of a low bucket, which gets one if it has none; reserve() has made
 * room for it.  Only copies of damaged bytes, in which some high buckets have no low
 * bucket, can run out of high buckets; they get the last one.
 */
QB_INLINE uint8_t *
qs_high_for_update(qs_sketch *sk, uint8_t *low)
{
	uint8_t *high = qs_high_of(sk, low);

	if (high)
		return high;
	if (sk->extra_used < sk->extra_room)
		sk->extra_used++;
	qb_store32(low + QS_LOW_COUNTERS, (uint32_t) (QS_HIGH_INDEX_MIN + sk->extra_used - 1));
	return qs_high_bucket(sk, sk->extra_used - 1);
}

/* Counter i of a low bucket; "high" may be NULL. */
QB_INLINE uint64_t
qs_multilevel_get(const uint8_t *low, const uint8_t *high, bool wide, uint32_t i)
{
	return low[i] + (high ? qb_counter_get(high, i, wide) << 8 : 0);
}

/*
 * Read the counters of a low bucket, with zeros in place of its high index.  Loops
 * can then take whole vectors: the last four lanes add nothing, because those of a
 * high bucket are zero, too.
 */
QB_INLINE void
qs_low_read(uint8_t *counters, const uint8_t *low)
{
	uint32_t c;

	for (c = 0; c < QS_LOW_BYTES; c++)
		counters[c] = c < QS_LOW_COUNTERS ? low[c] : 0;
}

/* In a sketch of few keys most buckets are all zero, high index included. */
QB_INLINE bool
qs_low_is_empty(const uint8_t *low)
{
	return (qb_load64(low) | qb_load64(low + 8) | qb_load64(low + 16) | qb_load64(low + 24)) == 0;
}

/* The 28 counter values of a low bucket. */
QB_INLINE void
qs_multilevel_values(const qs_sketch *sk, uint64_t bucket, uint64_t *value)
{
	const uint8_t *low = qs_low_bucket(sk, bucket);
	const uint8_t *high = qs_high_of(sk, low);
	uint32_t c;

	for (c = 0; c < QS_LOW_COUNTERS; c++)
		value[c] = qs_multilevel_get(low, high, sk->wide, c);
}

#endif
