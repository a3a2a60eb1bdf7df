/*
 * frequent.h
 *		Exact counts of the keys that a sketch takes for frequent: threshold, table and
 *		collection.
 *
 * A sketch does not store its keys, but a caller that has the keys can read the keys again.  This
 * second pass counts only keys whose estimates are at least a threshold.  Few keys reach the
 * threshold, so a small table can count these keys exactly.  Any other key has an estimate below
 * the threshold, and its count is not larger than its estimate.
 *
 * The threshold is computed from the estimates of a sample of rows.  A key with estimate e has
 * about e rows.  If r sampled rows have estimate e, and each sampled row stands for s rows, the
 * rows belong to about r * s / e keys.  If keys share counters, their estimates are larger than
 * their counts.  The estimate of the number of keys is then too low, perhaps by a factor of
 * hundreds.  So a table has about 1024 slots for each requested key, within limits.  A key is
 * dropped if no probed slot is free for it.  The table records the largest estimate of a dropped
 * key.  The counts of all keys with larger estimates are complete.
 *
 * At the end, the keys with the largest counts are collected.  Their number is at least the
 * requested number, if enough keys were counted.
 *
 * Estimates are rounded down to steps.  Each estimate below 64 is a step.  From 64 on, there are 32
 * steps from each power of two to the next.
 *
 * src/sketch/frequent.h
 */
#ifndef QS_FREQUENT_H
#define QS_FREQUENT_H

#include "base/port.h"

/*
 * 2^QS_STEP_BITS is the number of steps from a power of two to the next.  QS_ESTIMATE_STEPS is the
 * number of steps for all estimates below 2^63.
 */
#define QS_STEP_BITS      5
#define QS_ESTIMATE_STEPS ((63 - QS_STEP_BITS + 1) << QS_STEP_BITS)

/* The maximum number of requested keys. */
#define QS_FREQUENT_WANTED (UINT64_C(1) << 20)

/*
 * The minimum and the maximum number of slots of a table, and the approximate maximum for all
 * tables that are filled together.  The number of slots of a table is a power of two.
 */
#define QS_FREQUENT_LEAST (UINT64_C(1) << 12)
#define QS_FREQUENT_MOST  (UINT64_C(1) << 22)
#define QS_FREQUENT_ALL   (UINT64_C(1) << 25)

/*
 * If keys were dropped, at least QS_FREQUENT_SPARE times as many keys as requested are collected,
 * because some collected keys have incomplete counts.
 */
#define QS_FREQUENT_SPARE 4

/* If fewer rows than this were sampled, the threshold is at least qs_frequent_floor(). */
#define QS_FREQUENT_FEW 1024

/* The maximum number of rows that are sampled from each batch. */
#define QS_FREQUENT_SAMPLE 65536

/* The maximum number of slots that are probed for one key. */
#define QS_FREQUENT_PROBES 64

typedef struct qs_frequent_key
{
	uint64_t key;
	uint64_t times; /* count of the key; 0: the slot of a table has no key */
} qs_frequent_key;

/* Limits for the keys that were not collected, and the number of collected keys. */
typedef struct qs_frequent
{
	int64_t least;    /* keys with smaller estimates were not counted */
	int64_t dropped;  /* the largest estimate of a dropped key; 0: no key was dropped */
	int64_t left_out; /* a key that was counted but not collected has at most this count */
	uint64_t count;
} qs_frequent;

/*
 * Returns the number of slots of a table for "wanted" keys, if "tables" tables are filled together.
 */
QB_INLINE uint64_t
qs_frequent_slots(uint64_t wanted, uint64_t tables)
{
	uint64_t slots = QS_FREQUENT_LEAST;

	while (slots < 1024 * wanted && slots < QS_FREQUENT_MOST &&
		   2 * slots * tables <= QS_FREQUENT_ALL)
		slots *= 2;
	return slots;
}

/* True if a table for "wanted" keys may have this many slots. */
QB_INLINE bool
qs_frequent_is_valid(uint64_t wanted, uint64_t slots)
{
	return wanted >= 1 && wanted <= QS_FREQUENT_WANTED && slots >= QS_FREQUENT_LEAST &&
		   slots <= QS_FREQUENT_MOST && (slots & (slots - 1)) == 0;
}

/*
 * Returns the bytes of a table.  A key of 0 marks a free slot, so key 0 has a separate slot after
 * all other slots.
 */
QB_INLINE uint64_t
qs_frequent_bytes(uint64_t slots)
{
	return (slots + 1) * sizeof(qs_frequent_key);
}

/* Returns the step of an estimate.  The estimate is at least 0. */
QB_INLINE uint32_t
qs_step_of(int64_t estimate)
{
	uint64_t e = (uint64_t) estimate;
	uint32_t shift = 0;

	while (e >> shift >= UINT64_C(2) << QS_STEP_BITS)
		shift++;
	return (shift << QS_STEP_BITS) + (uint32_t) (e >> shift);
}

/* Returns the least estimate of a step. */
QB_INLINE int64_t
qs_step_least(uint32_t step)
{
	uint32_t shift = step >> QS_STEP_BITS;

	if (shift < 2)
		return step;
	return (int64_t) ((uint64_t) (step - ((shift - 1) << QS_STEP_BITS)) << (shift - 1));
}

/*
 * Returns the threshold that about "wanted" keys reach.  rows[i] is the number of sampled rows of
 * step i.  Each sampled row stands for "scale" rows.
 */
static inline int64_t
qs_frequent_threshold(const uint32_t *rows, double scale, uint64_t wanted)
{
	double keys = 0;
	uint32_t step = QS_ESTIMATE_STEPS - 1;

	for (; step > 0; step--)
	{
		keys += rows[step] * scale / (double) qs_step_least(step);
		if (keys >= (double) wanted)
			return qs_step_least(step);
	}
	return 1;
}

/*
 * Returns a threshold that needs no sample.  Fewer than slots / 4 keys can have this many rows
 * each.
 */
QB_INLINE int64_t
qs_frequent_floor(int64_t total, uint64_t slots)
{
	int64_t least = total / (int64_t) (slots / 8);

	return least > 1 ? least : 1;
}

/*
 * Returns the threshold for "wanted" keys of a sketch with this total.  rows[i] is the number of
 * sampled rows of step i, and "sampled" is the number of all sampled rows.  If few rows were
 * sampled, the threshold is at least qs_frequent_floor().
 */
static inline int64_t
qs_frequent_least(const uint32_t *rows, uint64_t sampled, int64_t total, uint64_t wanted,
				  uint64_t slots)
{
	int64_t least = 1;

	if (sampled > 0)
		least = qs_frequent_threshold(rows, (double) total / (double) sampled, wanted);
	if (sampled < QS_FREQUENT_FEW && least < qs_frequent_floor(total, slots))
		least = qs_frequent_floor(total, slots);
	return least;
}

/*
 * Chooses which keys to collect: all keys, or only keys with counts above head->left_out.  keys[i]
 * is the number of keys with a count of step i.  Sets head->left_out and head->count, the number of
 * keys to collect.
 */
static inline void
qs_frequent_cut(const uint32_t *keys, uint64_t wanted, bool all, qs_frequent *head)
{
	uint64_t most = head->dropped > 0 ? QS_FREQUENT_SPARE * wanted : wanted;
	uint32_t step = QS_ESTIMATE_STEPS - 1;

	head->count = 0;
	head->left_out = 0;
	for (; step > 0 && (all || head->count < most); step--)
	{
		head->count += keys[step];
		if (!all && head->count >= most)
			head->left_out = qs_step_least(step) - 1;
	}
}

#endif
