/*
 * multilevel.h
 *		The multilevel sketch: one-byte counters that overflow into high buckets.
 *
 * src/sketch/multilevel.h
 */
#ifndef QS_MULTILEVEL_H
#define QS_MULTILEVEL_H

#include "sketch/cells.h"

extern const qs_ops qs_multilevel_ops;

/* ---- the low and high buckets of a multilevel sketch; multilevel.c has the layout ---- */

#define QS_LOW_COUNTERS   28   /* one-byte counters of a low bucket */
#define QS_LOW_BYTES      32   /* the counters and the 4-byte high index */
#define QS_HIGH_COUNTERS  32   /* the first 28 are used */
#define QS_HIGH_INDEX_MIN 1024 /* smaller indexes are reserved; 0: no high bucket */

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
 * Returns the high bucket of a low bucket, or NULL.  Damaged bytes may have an index without a high
 * bucket, for which the result is NULL, too.
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
 * Returns the high bucket of a low bucket, and assigns one if the low bucket has none.  reserve()
 * has allocated enough high buckets.  High buckets can run out only in copies of damaged bytes, in
 * which some high buckets have no low bucket.  Then the last high bucket is used again.
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

/*
 * Adds v to counter c of a low bucket.  The carry is added to the high bucket, which reserve() has
 * allocated.
 */
QB_INLINE void
qs_low_add_to(qs_sketch *sk, uint8_t *low, uint32_t c, uint64_t v)
{
	uint64_t sum = low[c] + v;

	low[c] = (uint8_t) sum;
	if (sum > 255)
	{
		uint8_t *high = qs_high_for_update(sk, low);

		qb_counter_set(high, c, sk->wide, qb_counter_get(high, c, sk->wide) + (sum >> 8));
	}
}

/* Returns the value of counter i.  "high" may be NULL. */
QB_INLINE uint64_t
qs_multilevel_get(const uint8_t *low, const uint8_t *high, bool wide, uint32_t i)
{
	return low[i] + (high ? qb_counter_get(high, i, wide) << 8 : 0);
}

/*
 * Copies a low bucket, with zeros instead of its high index.  So loops can process whole vectors of
 * 32 lanes.  The last four lanes add nothing, because the last four counters of a high bucket are
 * zero, too.
 */
QB_INLINE void
qs_low_read(uint8_t *counters, const uint8_t *low)
{
	uint32_t c;

	for (c = 0; c < QS_LOW_BYTES; c++)
		counters[c] = c < QS_LOW_COUNTERS ? low[c] : 0;
}

/* True if the counters and the high index of a low bucket are zero. */
QB_INLINE bool
qs_low_is_empty(const uint8_t *low)
{
	return (qb_load64(low) | qb_load64(low + 8) | qb_load64(low + 16) | qb_load64(low + 24)) == 0;
}

/* Writes the 28 counter values of a bucket to "value". */
QB_INLINE void
qs_multilevel_values(const qs_sketch *sk, uint64_t bucket, uint64_t *value)
{
	const uint8_t *low = qs_low_bucket(sk, bucket);
	const uint8_t *high = qs_high_of(sk, low);
	uint32_t c;

	for (c = 0; c < QS_LOW_COUNTERS; c++)
		value[c] = qs_multilevel_get(low, high, sk->wide, c);
}

/*
 * ---- adding and subtracting tables ----
 *
 * A counter is low + 256 * high, so two tables are added like numbers of two digits.  The first
 * step adds the low counters byte by byte, modulo 256.  The second step adds the carries, and the
 * high counters of "from", to the high counters.  Only buckets with carries, or with a high bucket
 * in "from", need the second step, and the first step lists these buckets.  Both steps process one
 * block of buckets after another, so that a block is still in the cache in the second step.
 * Subtracting uses borrows instead of carries.
 *
 * After many merges into a sketch, nearly all of its buckets have high buckets, and each merge
 * carries into nearly all high buckets.  In this case, carries are counted in a separate table
 * (qs_sketch.carries), with a byte for each counter.  This table is added to the high counters
 * before a byte could overflow, and after the last merge.
 *
 * Each instruction set compiles these loops (kernels.h) with a function that adds low buckets.
 * multilevel.c has the plain function.
 *
 * A merge has at least the following memory traffic.  Both low tables are read, and one low table
 * is written.  Each high bucket of "from" is read.  Each high bucket of "into" that changes is read
 * and written.  A high bucket has four times the bytes of a low bucket, or eight times if it is
 * wide.  A deferred merge accesses low tables and carries, and high buckets only where "from" has
 * one.
 */

/* See qs_ops.accumulate. */
typedef qb_status (*qs_accumulate)(qs_sketch *into, const qs_sketch *from, bool negative);

extern qb_status
qs_multilevel_accumulate_plain(qs_sketch *into, const qs_sketch *from, bool negative);

/*
 * The merge function in use.  It is the plain function, unless the engine has set a function for
 * the processor at load.
 */
extern qs_accumulate qs_multilevel_accumulate;

/* See qs_ops. */
extern qb_status qs_multilevel_defer(qs_sketch *sk);
extern qb_status qs_multilevel_materialize(qs_sketch *sk);

/* Number of low buckets in a block of 4 kB. */
#define QS_MERGE_BLOCK 128

/* A bucket whose high counters will change. */
typedef struct qs_carry
{
	uint32_t bucket; /* number of the bucket in the block */
	uint32_t mask;   /* mask of the counters that carried or borrowed */
} qs_carry;

/*
 * Adds the counters of "count" low buckets of "from" to the counters of "into".  If "negative",
 * subtracts the counters.  Lists the buckets that carry or borrow, or that have a high index in
 * "from".  Returns the number of listed buckets.  High indexes of "into" do not change.  If
 * "carries" is not NULL, counts the carries of an addition in "carries", and lists only buckets
 * with a high index in "from".
 */
typedef size_t (*qs_low_add)(uint8_t *into, const uint8_t *from, size_t count, bool negative,
							 uint8_t *carries, qs_carry *list);

/* Element c is 1 << c.  Loops over counters that read this table vectorize. */
static const uint32_t qs_counter_bit[QS_LOW_COUNTERS] = {
	1 << 0,  1 << 1,  1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,  1 << 8,  1 << 9,
	1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18, 1 << 19,
	1 << 20, 1 << 21, 1 << 22, 1 << 23, 1 << 24, 1 << 25, 1 << 26, 1 << 27,
};

/* The widths are constants at each call, so the loop vectorizes. */
QB_INLINE void
qs_high_add_each(uint8_t *__restrict into, bool into_wide, const uint8_t *__restrict from,
				 bool from_wide, uint32_t mask, bool negative)
{
	uint32_t c;

	for (c = 0; c < QS_LOW_COUNTERS; c++)
	{
		uint64_t v =
			((mask & qs_counter_bit[c]) != 0) + (from ? qb_counter_get(from, c, from_wide) : 0);
		uint64_t old = qb_counter_get(into, c, into_wide);

		qb_counter_set(into, c, into_wide, negative ? old - v : old + v);
	}
}

/*
 * Adds carries to a high bucket, and also the high counters "from" unless "from" is NULL.  If
 * "negative", subtracts carries and counters.
 */
QB_INLINE void
qs_high_add(uint8_t *into, bool into_wide, const uint8_t *from, bool from_wide, uint32_t mask,
			bool negative)
{
	if (!from && into_wide)
		qs_high_add_each(into, true, NULL, false, mask, negative);
	else if (!from)
		qs_high_add_each(into, false, NULL, false, mask, negative);
	else if (into_wide && from_wide)
		qs_high_add_each(into, true, from, true, mask, negative);
	else if (into_wide)
		qs_high_add_each(into, true, from, false, mask, negative);
	else if (from_wide)
		qs_high_add_each(into, false, from, true, mask, negative);
	else
		qs_high_add_each(into, false, from, false, mask, negative);
}

/*
 * Adds carries and high counters to the listed buckets of the block that starts at bucket b.  If
 * "negative", subtracts carries and high counters.
 */
QB_INLINE qb_status
qs_list_add(qs_sketch *into, const qs_sketch *from, uint64_t b, bool negative, const qs_carry *list,
			size_t listed)
{
	size_t i;

	for (i = 0; i < listed; i++)
	{
		uint8_t *to = qs_low_bucket(into, b + list[i].bucket);
		const uint8_t *add = qs_high_of(from, qs_low_bucket(from, b + list[i].bucket));
		uint8_t *high = qs_high_of(into, to);

		if (!high)
		{
			if (into->ops->reserve(into, 1) != QB_OK)
				return QB_NO_MEMORY;
			high = qs_high_for_update(into, to);
		}
		qs_high_add(high, into->wide, add, from->wide, list[i].mask, negative);
	}
	return QB_OK;
}

/* Returns the number of low buckets in the block that starts at bucket b. */
QB_INLINE size_t
qs_buckets_size(const qs_sketch *into, uint64_t b)
{
	uint64_t left = into->params.n - b;

	return left < QS_MERGE_BLOCK ? left : QS_MERGE_BLOCK;
}

/* Adds the block that starts at bucket b.  If "negative", subtracts the block. */
QB_INLINE qb_status
qs_buckets_add(qs_sketch *into, const qs_sketch *from, uint64_t b, bool negative, bool defer,
			   qs_low_add low_add)
{
	qs_carry list[QS_MERGE_BLOCK];
	size_t count = qs_buckets_size(into, b);
	uint8_t *low = qs_low_bucket(into, b);
	const uint8_t *add = qs_low_bucket(from, b);
	size_t listed = defer ? low_add(low, add, count, false, into->carries + b * QS_LOW_BYTES, list)
						  : low_add(low, add, count, negative, NULL, list);

	return qs_list_add(into, from, b, negative, list, listed);
}

/* Adds all blocks before bucket "end". */
QB_INLINE qb_status
qs_blocks_add(qs_sketch *into, const qs_sketch *from, uint64_t end, bool defer, qs_low_add low_add)
{
	uint64_t steps = 0;
	uint64_t b;

	for (b = 0; b < end; b += QS_MERGE_BLOCK)
	{
		if (qs_buckets_add(into, from, b, false, defer, low_add) != QB_OK)
			return QB_NO_MEMORY;
		qb_pause_after(into->memory, &steps, QS_MERGE_BLOCK * QS_LOW_BYTES);
	}
	return QB_OK;
}

/* ---- testing whether a subtraction is possible ---- */

/*
 * True if subtracting a low bucket leaves no negative counter, and the result passes
 * qs_tally_fits().  Both buckets have no high bucket.
 */
QB_INLINE bool
qs_low_covers(const uint8_t *into_low, const uint8_t *from_low, uint32_t depth)
{
	uint8_t into[QS_LOW_BYTES];
	uint8_t from[QS_LOW_BYTES];
	uint8_t wrong = 0;
	uint8_t most = 0;
	uint32_t sum = 0;
	uint32_t c;

	qs_low_read(into, into_low);
	qs_low_read(from, from_low);
	for (c = 0; c < QS_LOW_BYTES; c++)
	{
		uint8_t rest = (uint8_t) (into[c] - from[c]);

		wrong |= (uint8_t) (into[c] < from[c]);
		most = rest > most ? rest : most;
		sum += rest;
	}
	return wrong == 0 && most * depth <= sum;
}

/* Zeros that are read if a low bucket has no high bucket. */
static const uint8_t qs_no_high[QS_HIGH_COUNTERS * 4] = { 0 };

/*
 * Does the work of qs_low_covers() for buckets with high counters of 4 bytes.  *larger is set if a
 * value needs more than 4 bytes.  If *larger is set, the result is meaningless.
 */
QB_INLINE bool
qs_narrow_covers(const uint8_t *into_low, const uint8_t *into_high, const uint8_t *from_low,
				 const uint8_t *from_high, uint32_t depth, bool *larger)
{
	uint8_t into[QS_LOW_BYTES];
	uint8_t from[QS_LOW_BYTES];
	uint32_t high = 0;
	uint32_t wrong = 0;
	uint32_t most = 0;
	uint32_t upper = 0; /* sum of the upper 16 bits of each "rest" */
	uint32_t lower = 0; /* sum of the lower 16 bits of each "rest" */
	uint32_t c;

	qs_low_read(into, into_low);
	qs_low_read(from, from_low);
	for (c = 0; c < QS_HIGH_COUNTERS; c++)
	{
		uint32_t old_high = qb_load32(into_high + c * 4);
		uint32_t less_high = qb_load32(from_high + c * 4);
		uint32_t old = into[c] + (old_high << 8);
		uint32_t less = from[c] + (less_high << 8);
		uint32_t rest = old - less;

		high |= old_high | less_high;
		wrong |= old < less;
		most = rest > most ? rest : most;
		upper += rest >> 16;
		lower += rest & 0xFFFF;
	}
	*larger = high >> 24 != 0;
	return wrong == 0 && (uint64_t) most * depth <= ((uint64_t) upper << 16) + lower;
}

/* Does the work of qs_low_covers() for any two buckets. */
extern bool
qs_multilevel_bucket_covers(const qs_sketch *into, const qs_sketch *from, uint64_t bucket);

QB_INLINE bool
qs_bucket_covers(const qs_sketch *into, const qs_sketch *from, uint64_t bucket)
{
	const uint8_t *old = qs_low_bucket(into, bucket);
	const uint8_t *low = qs_low_bucket(from, bucket);
	const uint8_t *old_high = qs_high_of(into, old);
	const uint8_t *high = qs_high_of(from, low);
	bool larger = into->wide || from->wide;
	bool covered;

	if (!old_high && !high)
		return qs_low_covers(old, low, into->params.depth);
	if (!larger)
	{
		covered = qs_narrow_covers(old, old_high ? old_high : qs_no_high, low,
								   high ? high : qs_no_high, into->params.depth, &larger);
		if (!larger)
			return covered;
	}
	return qs_multilevel_bucket_covers(into, from, bucket);
}

/* True if all buckets of the block that starts at bucket "first" can be subtracted. */
QB_INLINE bool
qs_buckets_covers(const qs_sketch *into, const qs_sketch *from, uint64_t first)
{
	uint64_t end = first + qs_buckets_size(into, first);
	uint64_t b;

	for (b = first; b < end; b++)
		if (!qs_bucket_covers(into, from, b))
			return false;
	return true;
}

/*
 * Checks and then subtracts each block, while it is in the cache.  If a block cannot be subtracted,
 * the blocks before it are added again.  Adding restores all counters exactly, because sums are
 * modulo the counters' width.  Adding allocates no memory, because the subtraction has allocated
 * all high buckets.
 */
QB_INLINE qb_status
qs_blocks_subtract(qs_sketch *into, const qs_sketch *from, qs_low_add low_add)
{
	uint64_t steps = 0;
	uint64_t b;

	for (b = 0; b < into->params.n; b += QS_MERGE_BLOCK)
	{
		if (!qs_buckets_covers(into, from, b))
			return qs_blocks_add(into, from, b, false, low_add) == QB_OK ? QB_UNDERFLOW
																		 : QB_NO_MEMORY;
		if (qs_buckets_add(into, from, b, true, false, low_add) != QB_OK)
			return QB_NO_MEMORY;
		qb_pause_after(into->memory, &steps, QS_MERGE_BLOCK * QS_LOW_BYTES);
	}
	return QB_OK;
}

/*
 * True if "into" has a table of carries, and deferring saves work.  If "from" has many high
 * buckets, deferring saves no work, because the high buckets of "into" change in any case.
 */
QB_INLINE bool
qs_defers(const qs_sketch *into, const qs_sketch *from)
{
	return into->carries && from->extra_used < from->params.n / 4;
}

/* Returns the number of buckets of a slice that have a high bucket. */
QB_INLINE uint64_t
qs_highs_of(const qs_sketch *sk)
{
	uint64_t highs = 0;
	uint64_t b;

	for (b = 0; b < sk->params.n; b++)
		highs += qs_high_of(sk, qs_low_bucket(sk, b)) != NULL;
	return highs;
}

/* Implements qs_ops.accumulate by low_add, which is a constant at each call. */
QB_INLINE qb_status
qs_multilevel_accumulate_by(qs_sketch *into, const qs_sketch *from, bool negative,
							qs_low_add low_add)
{
	bool defer = qs_defers(into, from);
	uint64_t least;

	if (negative)
		return qs_blocks_subtract(into, from, low_add);
	least = from->slice ? qs_highs_of(from) : from->extra_used;
	if (defer && into->carried == UINT8_MAX && qs_multilevel_materialize(into) != QB_OK)
		return QB_NO_MEMORY;
	into->carried += defer;
	if (least > into->extra_used &&
		into->ops->reserve(into, (size_t) (least - into->extra_used)) != QB_OK)
		return QB_NO_MEMORY;
	return qs_blocks_add(into, from, into->params.n, defer, low_add);
}

#endif
