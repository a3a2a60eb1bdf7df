/*
 * multilevel_merge.c
 *		Adding and subtracting tables of multilevel sketches, the plain way.
 *
 * src/sketch/multilevel_merge.c
 */
#include "sketch/multilevel_merge.h"

/* Add one low bucket; returns the mask of the counters that carried. */
QS_INLINE uint32_t
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

static size_t
low_add(uint8_t *into, const uint8_t *from, uint64_t more, size_t count, bool negative,
		qs_carry *list)
{
	size_t listed = 0;
	size_t i;

	for (i = 0; i < count; i++, into += QS_LOW_BYTES, from += more * QS_LOW_BYTES)
	{
		uint32_t mask = add_bucket(into, from, negative);

		if ((mask | qs_load32(from + QS_LOW_COUNTERS)) != 0)
			list[listed++] = (qs_carry){ (uint32_t) i, mask };
	}
	return listed;
}

qs_status
qs_multilevel_accumulate_plain(qs_sketch *into, const qs_sketch *from, bool negative)
{
	return qs_multilevel_accumulate_by(into, from, negative, low_add);
}

qs_accumulate qs_multilevel_accumulate = qs_multilevel_accumulate_plain;

/* Counter values of the buckets of "from" that fold into one bucket. */
static void
folded_values(const qs_sketch *from, uint64_t bucket, uint64_t more, uint64_t *value)
{
	uint64_t one[QS_LOW_COUNTERS];
	uint64_t k;
	uint32_t c;

	qs_multilevel_values(from, bucket * more, value);
	for (k = 1; k < more; k++)
	{
		qs_multilevel_values(from, bucket * more + k, one);
		for (c = 0; c < QS_LOW_COUNTERS; c++)
			value[c] += one[c];
	}
}

bool
qs_multilevel_bucket_covers(const qs_sketch *into, const qs_sketch *from, uint64_t bucket,
							uint64_t more)
{
	uint64_t old[QS_LOW_COUNTERS];
	uint64_t value[QS_LOW_COUNTERS];
	qs_tally rest = { 0, 0 };
	uint32_t c;

	qs_multilevel_values(into, bucket, old);
	folded_values(from, bucket, more, value);
	for (c = 0; c < QS_LOW_COUNTERS; c++)
	{
		if (old[c] < value[c])
			return false;
		qs_tally_add(&rest, old[c] - value[c]);
	}
	return qs_tally_fits(&rest, into->params.depth);
}
