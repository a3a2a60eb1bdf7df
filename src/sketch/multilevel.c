/*
 * multilevel.c
 *		The multilevel sketch: one-byte counters that overflow into high buckets.
 *
 * Paper: Algorithms 4 and 5 (MSWS).  A low bucket is one sector of 32 bytes in "table":
 *
 *	byte 0 .. 27	counters, modulo 256
 *	byte 28 .. 31	high index: 0, or 1024 + number of its high bucket
 *
 * A high bucket, in "extra", has 32 counters of 4 bytes, or of 8 bytes if wide.  28 counters are
 * used.  Counter i of a bucket is low[i] + 256 * high[i].  The paper computes an estimate from two
 * minima, while this code computes the exact value of each counter.  So the sketch does not depend
 * on the order of keys.  Sketches can be merged, and keys can be removed.  The estimates are equal
 * to the estimates of a bucketed sketch with m = 28.  If few counters exceed 255, multilevel takes
 * less than a third of the memory of the bucketed sketch.
 *
 * A low bucket is assigned a high bucket when one of its counters first exceeds 255.  Serialized
 * bytes have the high buckets in the order of their low buckets, without high buckets that are all
 * zero.
 *
 * The invariants are the invariants of a bucketed sketch with m = 28.
 *
 * src/sketch/multilevel.c
 */
#include "sketch/multilevel.h"

#define FIRST_ROOM 16 /* minimum high buckets of the first allocation, unless n is smaller */

static void
set(qs_sketch *sk, uint8_t *low, uint32_t i, uint64_t value)
{
	low[i] = (uint8_t) value;
	if (value > 255 || qs_high_of(sk, low))
		qb_counter_set(qs_high_for_update(sk, low), i, sk->wide, value >> 8);
}

/*
 * Allocates the high buckets that adding "count" keys may need, at most one per key.  The table of
 * high buckets grows at least by half, so that few calls copy the table.
 */
static qb_status
reserve(qs_sketch *sk, size_t count)
{
	uint64_t most = sk->params.n;
	uint64_t want = sk->extra_used + count;
	uint64_t bytes = qs_extra_bytes(&sk->params, sk->wide);
	uint8_t *bigger;

	if (want > most)
		want = most;
	if (want <= sk->extra_room)
		return QB_OK;
	if (want < FIRST_ROOM)
		want = FIRST_ROOM;
	if (want < sk->extra_room + sk->extra_room / 2)
		want = sk->extra_room + sk->extra_room / 2;
	if (want > most)
		want = most;
	bigger = sk->memory->alloc(sk->memory->context, want * bytes);
	if (!bigger)
		return QB_NO_MEMORY;
	if (sk->extra)
	{
		memcpy(bigger, sk->extra, sk->extra_used * bytes);
		sk->memory->release(sk->memory->context, sk->extra);
	}
	sk->extra = bigger;
	sk->extra_room = want;
	return QB_OK;
}

static void
multilevel_add(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
	{
		uint64_t w = weight ? (uint64_t) weight[i] : 1;
		uint8_t *low = qs_low_bucket(sk, qb_reduce(hv[i], sk->params.n));
		uint32_t mask;

		if (i + QS_PREFETCH_AHEAD < count)
			__builtin_prefetch(
				qs_low_bucket(sk, qb_reduce(hv[i + QS_PREFETCH_AHEAD], sk->params.n)), 1);
		for (mask = qs_mask_in(sk, QS_LOW_COUNTERS, hv[i]); mask != 0; mask &= mask - 1)
			qs_low_add_to(sk, low, (uint32_t) __builtin_ctz(mask), w);
	}
}

static uint64_t
estimate_one(const qs_sketch *sk, uint64_t hv)
{
	const uint8_t *low = qs_low_bucket(sk, qb_reduce(hv, sk->params.n));
	const uint8_t *high = qs_high_of(sk, low);
	uint64_t least = UINT64_MAX;
	uint32_t mask;

	for (mask = qs_mask_in(sk, QS_LOW_COUNTERS, hv); mask != 0; mask &= mask - 1)
	{
		uint64_t v = qs_multilevel_get(low, high, sk->wide, (uint32_t) __builtin_ctz(mask));

		if (v < least)
			least = v;
	}
	return least;
}

/* Subtracts w from the counters that a mask selects.  With -w, adds w again. */
static void
take(qs_sketch *sk, uint8_t *low, uint32_t mask, uint64_t w)
{
	for (; mask != 0; mask &= mask - 1)
	{
		uint32_t c = (uint32_t) __builtin_ctz(mask);

		set(sk, low, c, qs_multilevel_get(low, qs_high_of(sk, low), sk->wide, c) - w);
	}
}

/* True if the counters of a bucket obey the rule of qs_tally. */
static bool
bucket_fits(const qs_sketch *sk, const uint8_t *low)
{
	const uint8_t *high = qs_high_of(sk, low);
	qs_tally tally = { 0, 0 };
	uint32_t c;

	for (c = 0; c < QS_LOW_COUNTERS; c++)
		qs_tally_add(&tally, qs_multilevel_get(low, high, sk->wide, c));
	return qs_tally_fits(&tally, sk->params.depth);
}

static size_t
multilevel_remove(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
	{
		uint64_t w = weight ? (uint64_t) weight[i] : 1;
		uint8_t *low = qs_low_bucket(sk, qb_reduce(hv[i], sk->params.n));
		uint32_t mask = qs_mask_in(sk, QS_LOW_COUNTERS, hv[i]);

		if (estimate_one(sk, hv[i]) < w)
			break;
		take(sk, low, mask, w);
		if (!bucket_fits(sk, low))
		{
			take(sk, low, mask, -w);
			break;
		}
	}
	return i;
}

static void
multilevel_query(const qs_sketch *sk, const uint64_t *hv, size_t count, int64_t *estimate)
{
	size_t i;

	for (i = 0; i < count; i++)
	{
		if (i + QS_PREFETCH_AHEAD < count)
			__builtin_prefetch(
				qs_low_bucket(sk, qb_reduce(hv[i + QS_PREFETCH_AHEAD], sk->params.n)));
		estimate[i] = (int64_t) estimate_one(sk, hv[i]);
	}
}

/* Reads qs_multilevel_accumulate at each call, because the engine may change it. */
static qb_status
accumulate(qs_sketch *into, const qs_sketch *from, bool negative)
{
	return qs_multilevel_accumulate(into, from, negative);
}

static void
convert_high(uint8_t *to, bool to_wide, const uint8_t *from, bool from_wide)
{
	uint32_t i;

	for (i = 0; i < QS_HIGH_COUNTERS; i++)
		qb_counter_set(to, i, to_wide, qb_counter_get(from, i, from_wide));
}

static void
widen(qs_sketch *to, const qs_sketch *from)
{
	uint64_t i;

	memcpy(to->table, from->table, qs_table_bytes(&to->params, true));
	for (i = 0; i < from->extra_used; i++)
		convert_high(qs_high_bucket(to, i), true, qs_high_bucket(from, i), from->wide);
}

/* True if "high" is not NULL and has a counter that is not zero. */
static bool
is_live(const qs_sketch *sk, const uint8_t *high)
{
	uint32_t i;

	if (high)
		for (i = 0; i < QS_LOW_COUNTERS; i++)
			if (qb_counter_get(high, i, sk->wide) != 0)
				return true;
	return false;
}

/*
 * Counts the high buckets that write() writes.  In damaged bytes, several low buckets may name the
 * same high bucket, and some high buckets may have no low bucket.
 */
static uint64_t
live_extra(const qs_sketch *sk)
{
	uint64_t live = 0;
	uint64_t b;

	if (sk->extra_used > 0)
		for (b = 0; b < sk->params.n; b++)
			live += is_live(sk, qs_high_of(sk, qs_low_bucket(sk, b)));
	return live;
}

static void
write(const qs_sketch *sk, bool wide, uint8_t *out)
{
	uint8_t *next = out + qs_table_bytes(&sk->params, wide);
	uint32_t index = QS_HIGH_INDEX_MIN;
	uint64_t b;

	memcpy(out, sk->table, qs_table_bytes(&sk->params, wide));
	for (b = 0; b < sk->params.n; b++)
	{
		const uint8_t *high = qs_high_of(sk, qs_low_bucket(sk, b));
		bool live = is_live(sk, high);

		qb_store32(out + b * QS_LOW_BYTES + QS_LOW_COUNTERS, live ? index++ : 0);
		if (live)
		{
			convert_high(next, wide, high, sk->wide);
			next += qs_extra_bytes(&sk->params, wide);
		}
	}
}

/*
 * True if the sum of the bucket is at most *rest and is d times a weight that no counter exceeds,
 * and all unused high counters are zero.  Subtracts the sum from *rest, which becomes the sum of
 * all later buckets.
 */
static bool
check_bucket(const qs_sketch *sk, const uint8_t *low, const uint8_t *high, unsigned __int128 *rest)
{
	qs_tally tally = { 0, 0 };
	uint32_t c;

	for (c = 0; c < QS_LOW_COUNTERS; c++)
	{
		if (high && qb_counter_get(high, c, sk->wide) > (uint64_t) sk->total >> 8)
			return false;
		qs_tally_add(&tally, qs_multilevel_get(low, high, sk->wide, c));
	}
	for (c = QS_LOW_COUNTERS; high && c < QS_HIGH_COUNTERS; c++)
		if (qb_counter_get(high, c, sk->wide) != 0)
			return false;
	if (tally.sum > *rest || tally.sum % sk->params.depth != 0 ||
		!qs_tally_fits(&tally, sk->params.depth))
		return false;
	*rest -= tally.sum;
	return true;
}

/* Does the work of check_bucket() for a bucket without a high bucket.  The loop vectorizes. */
static bool
check_low(const uint8_t *low, uint32_t depth, unsigned __int128 *rest)
{
	uint8_t counters[QS_LOW_BYTES];
	uint8_t most = 0;
	uint32_t sum = 0;
	uint32_t c;

	qs_low_read(counters, low);
	for (c = 0; c < QS_LOW_BYTES; c++)
	{
		most = counters[c] > most ? counters[c] : most;
		sum += counters[c];
	}
	if (sum > *rest || sum % depth != 0 || most * depth > sum)
		return false;
	*rest -= sum;
	return true;
}

static bool
check(const qs_sketch *sk)
{
	unsigned __int128 rest = (unsigned __int128) (uint64_t) sk->total * sk->params.depth;
	uint64_t seen = 0;
	uint64_t b;

	for (b = 0; b < sk->params.n; b++)
	{
		const uint8_t *low = qs_low_bucket(sk, b);
		uint32_t index = qb_load32(low + QS_LOW_COUNTERS);
		const uint8_t *high;

		if (qs_low_is_empty(low))
			continue;
		high = qs_high_of(sk, low);
		if (index != 0 && (index != QS_HIGH_INDEX_MIN + seen++ || !is_live(sk, high)))
			return false;
		if (!(high ? check_bucket(sk, low, high, &rest) : check_low(low, sk->params.depth, &rest)))
			return false;
	}
	return rest == 0 && seen == sk->extra_used;
}

const qs_ops qs_multilevel_ops = {
	.reserve = reserve,
	.add = multilevel_add,
	.remove = multilevel_remove,
	.query = multilevel_query,
	.accumulate = accumulate,
	.defer = qs_multilevel_defer,
	.materialize = qs_multilevel_materialize,
	.widen = widen,
	.live_extra = live_extra,
	.write = write,
	.check = check,
};

/* ---- adding and subtracting tables of multilevel sketches, the plain way ---- */

/*
 * Deferring saves work only if many buckets have high buckets.  Without deferring, a merge carries
 * into nearly all of these high buckets, which have four or eight times the bytes of the carries.
 */
qb_status
qs_multilevel_defer(qs_sketch *sk)
{
	if (sk->extra_used < sk->params.n / 4)
		return QB_OK;
	sk->carries = sk->memory->alloc(sk->memory->context, sk->params.n * QS_LOW_BYTES);
	return sk->carries ? QB_OK : QB_NO_MEMORY;
}

/* Adds a bucket's carries to its high bucket, and clears the carries. */
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

/* Adds or subtracts one low bucket.  Returns the mask of the counters that carried or borrowed. */
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

/* Adds one low bucket, and counts the carries of its counters. */
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
