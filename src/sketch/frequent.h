/*
 * frequent.h
 *		Exact counts of the keys that a sketch takes for frequent: which keys are counted, and in
 *		which table.
 *
 * A sketch does not know its keys, but a caller that has the keys can read them a second time.
 * This second pass counts only keys whose estimates are at least a threshold.  These are few, so a
 * small table has room for them, and their counts are exact.  Any other key has a smaller estimate,
 * and so a smaller count.
 *
 * The threshold comes from the estimates of a sample of rows.  A key with estimate e has about e
 * rows.  So if r sampled rows have this estimate, and each stands for s rows, they belong to about
 * r * s / e keys.  Where keys share their counters with others, their estimates are larger than
 * their counts, and there are more keys than that, perhaps hundreds of times as many.  The table
 * has room for these.  If it is full nevertheless, it drops keys, and notes the largest estimate of
 * a dropped key.  The counts of all keys with larger estimates are complete.
 *
 * At the end the keys with the largest counts are collected, at least as many as are wanted.
 *
 * Estimates are looked at by steps, 32 between two powers of two.
 *
 * src/sketch/frequent.h
 */
#ifndef QS_FREQUENT_H
#define QS_FREQUENT_H

#include "base/port.h"

/*
 * The logarithm of the number of steps between two powers of two; the number of steps for all
 * estimates below 2^63.
 */
#define QS_STEP_BITS      5
#define QS_ESTIMATE_STEPS ((63 - QS_STEP_BITS + 1) << QS_STEP_BITS)

/* The most keys that can be wanted. */
#define QS_FREQUENT_WANTED (UINT64_C(1) << 20)

/*
 * The least and the most slots of a table, and about the most slots of all tables that are filled
 * together.  The slots of a table are a power of two.
 */
#define QS_FREQUENT_LEAST (UINT64_C(1) << 12)
#define QS_FREQUENT_MOST  (UINT64_C(1) << 22)
#define QS_FREQUENT_ALL   (UINT64_C(1) << 25)

/*
 * If keys were dropped, at least this many times the wanted keys are collected, because some of
 * them turn out to have incomplete counts.
 */
#define QS_FREQUENT_SPARE 4

/* With fewer sampled rows than this the threshold is at least qs_frequent_floor(). */
#define QS_FREQUENT_FEW 1024

/* Rows that are sampled of each batch. */
#define QS_FREQUENT_SAMPLE 65536

/* The most slots that are looked at for one key. */
#define QS_FREQUENT_PROBES 64

typedef struct qs_frequent_key
{
	uint64_t key;
	uint64_t times; /* 0: the slot is free */
} qs_frequent_key;

/* What is known of the keys that were not collected, and the number of collected keys. */
typedef struct qs_frequent
{
	int64_t least;    /* keys with smaller estimates were not counted */
	int64_t dropped;  /* the largest estimate of a key that found no room; 0: all keys found room */
	int64_t left_out; /* the largest count of a key that was counted but not collected */
	uint64_t count;
} qs_frequent;

/* The slots of a table for "wanted" keys, if "tables" tables are filled together. */
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
 * Bytes of a table.  A key of 0 marks a free slot, so key 0 has a slot of its own behind the
 * others.
 */
QB_INLINE uint64_t
qs_frequent_bytes(uint64_t slots)
{
	return (slots + 1) * sizeof(qs_frequent_key);
}

/* The step of an estimate, which is at least 0. */
QB_INLINE uint32_t
qs_step_of(int64_t estimate)
{
	uint64_t e = (uint64_t) estimate;
	uint32_t shift = 0;

	while (e >> shift >= UINT64_C(2) << QS_STEP_BITS)
		shift++;
	return (shift << QS_STEP_BITS) + (uint32_t) (e >> shift);
}

/* The least estimate of a step. */
QB_INLINE int64_t
qs_step_least(uint32_t step)
{
	uint32_t shift = step >> QS_STEP_BITS;

	if (shift < 2)
		return step;
	return (int64_t) ((uint64_t) (step - ((shift - 1) << QS_STEP_BITS)) << (shift - 1));
}

/*
 * The threshold for about "wanted" keys.  "rows" has the number of sampled rows of each step, and
 * each sampled row stands for "scale" rows.
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
 * A threshold that needs no sample.  At most an eighth as many keys as the table has slots can have this
 * many rows each.
 */
QB_INLINE int64_t
qs_frequent_floor(int64_t total, uint64_t slots)
{
	int64_t least = total / (int64_t) (slots / 8);

	return least > 1 ? least : 1;
}

/*
 * Choose which keys to collect, from the number of keys with a count of each step: those with
 * counts above head->left_out, or all keys.  head->count becomes their number.
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
