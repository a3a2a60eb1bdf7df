/*
 * multilevel_merge.c
 *		Adding and subtracting tables of multilevel sketches, the plain way.
 *
 * src/sketch/multilevel_merge.c
 */
#include "sketch/multilevel_merge.h"

/*
 * Deferring pays once many buckets have high ones.  Then most merges carry into
 * nearly all high buckets, which have four or eight times the bytes of the carries.
 */
qb_status
qs_multilevel_defer(qs_sketch *sk)
{
	if (sk->extra_used < sk->params.n / 4)
		return QB_OK;
	sk->carries = sk->memory->alloc(sk->memory->context, sk->params.n * QS_LOW_BYTES);
	return sk->carries ? QB_OK : QB_NO_MEMORY;
}

/* Add a bucket's carries to its high bucket. */
static qb_status
materialize_bucket(qs_sketch *sk, uint8_t *low, uint8_t *carries)
{
	uint8_t *high = qs_high_of(sk, low);
	uint32_t c;

	if (!high)
	{
		if (sk->ops->reserve(sk, 1) != QB_OK)
			return QB_NO_MEMORY;
		high = qs_high_for_update(sk, low);
	}
	if (sk->wide)
		for (c = 0; c < QS_LOW_COUNTERS; c++)
			qb_counter_set(high, c, true, qb_counter_get(high, c, true) + carries[c]);
	else
		for (c = 0; c < QS_LOW_COUNTERS; c++)
			qb_counter_set(high, c, false, qb_counter_get(high, c, false) + carries[c]);
	memset(carries, 0, QS_LOW_BYTES);
	return QB_OK;
}

QB_INLINE bool
is_zero(const uint8_t *carries)
{
	return (qb_load64(carries) | qb_load64(carries + 8) | qb_load64(carries + 16) |
			qb_load64(carries + 24)) == 0;
}

qb_status
qs_multilevel_materialize(qs_sketch *sk)
{
	uint64_t b;

	for (b = 0; b < sk->params.n; b++)
	{
		uint8_t *carries = sk->carries + b * QS_LOW_BYTES;

		if (!is_zero(carries) && materialize_bucket(sk, qs_low_bucket(sk, b), carries) != QB_OK)
			return QB_NO_MEMORY;
	}
	sk->carried = 0;
	return QB_OK;
}

/* Add one low bucket; returns the mask of the counters that carried. */
QB_INLINE uint32_t
add_bucket(uint8_t *into, const uint8_t *from, bool negative)
{
	uint32_t mask = 0;
	uint32_t c;

	for (c = 0; c < QS_LOW_COUNTERS; c++)
	{
		uint32_t sum = negative ? (uint32_t) into[c] - from[c] : (uint32_t) into[c] + from[c];

		into[c] = (uint8_t) sum;
		mask |= (sum >> 8 & 1) << c;
	}
	return mask;
}

/* Add one low bucket, and count the carries of its counters. */
QB_INLINE void
add_and_carry(uint8_t *restrict into, const uint8_t *restrict from, uint8_t *restrict carries)
{
	uint32_t c;

	for (c = 0; c < QS_LOW_COUNTERS; c++)
	{
		uint32_t sum = (uint32_t) into[c] + from[c];

		into[c] = (uint8_t) sum;
		carries[c] = (uint8_t) (carries[c] + (sum >> 8));
	}
}

static size_t
low_add(uint8_t *into, const uint8_t *from, size_t count, bool negative, uint8_t *carries,
		qs_carry *list)
{
	size_t listed = 0;
	size_t i;

	for (i = 0; i < count; i++, into += QS_LOW_BYTES, from += QS_LOW_BYTES)
	{
		uint32_t mask = 0;

		if (carries)
			add_and_carry(into, from, carries + i * QS_LOW_BYTES);
		else
			mask = add_bucket(into, from, negative);
		if ((mask | qb_load32(from + QS_LOW_COUNTERS)) != 0)
			list[listed++] = (qs_carry){ (uint32_t) i, mask };
	}
	return listed;
}

qb_status
qs_multilevel_accumulate_plain(qs_sketch *into, const qs_sketch *from, bool negative)
{
	return qs_multilevel_accumulate_by(into, from, negative, low_add);
}

qs_accumulate qs_multilevel_accumulate = qs_multilevel_accumulate_plain;

bool
qs_multilevel_bucket_covers(const qs_sketch *into, const qs_sketch *from, uint64_t bucket)
{
	uint64_t old[QS_LOW_COUNTERS];
	uint64_t value[QS_LOW_COUNTERS];
	qs_tally rest = { 0, 0 };
	uint32_t c;

	qs_multilevel_values(into, bucket, old);
	qs_multilevel_values(from, bucket, value);
	for (c = 0; c < QS_LOW_COUNTERS; c++)
	{
		if (old[c] < value[c])
			return false;
		qs_tally_add(&rest, old[c] - value[c]);
	}
	return qs_tally_fits(&rest, into->params.depth);
}
