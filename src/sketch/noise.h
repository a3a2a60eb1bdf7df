/*
 * noise.h
 *		How wrong a sketch is, measured from the sketch itself.
 *
 * An estimate is the key's own weight plus noise: the weight of other keys
 * that met it in all of its d counters.  A key that was never added owns
 * nothing, so what it would be told is noise alone, and which counters it
 * would get is up to the hash: any bucket and any d of its m counters (thread:
 * any counter of each row) with equal chance.  The distribution of the noise
 * is therefore in the table, and can be taken off it exactly.  The others'
 * weight in a present key's counters has the same distribution, up to the
 * key's own share of the table: one part in n.
 *
 * qs_noise holds that distribution: measured once per sketch, then asked for
 * any confidence.  It costs two passes over the table (over 2^22 counters at
 * most; of larger tables evenly spaced buckets stand for all) and up to 120 kB,
 * for thread that much per row while it works.  It describes the sketch as it
 * was, and does not follow later changes.
 *
 * Limits: a noise below base + 512 is a bin of its own; above, bins are 1/256
 * of the distance from the base wide and are interpolated.  Counts are
 * integers, so that a confidence between two of them cannot be had: the error
 * is then the larger one, and holds more often than asked for.  What a full or
 * device part of sf tells comes from slim counters, which heavy keys share
 * with less noise than absent ones: for them, too, it holds more often.
 *
 * Derivations and measured calibration: docs/accuracy.md.  src/sketch/noise.h
 */
#ifndef QS_NOISE_H
#define QS_NOISE_H

#include "sketch/sketch.h"

/* Counters that are looked at at most. */
#define QS_NOISE_COUNTERS (UINT64_C(1) << 22)

typedef struct qs_noise
{
	const qs_memory *memory;
	double *above;      /* by bin: chance of noise beyond the bin's last value */
	uint32_t bins;      /* 0: no noise, as in explicit sketches */
	uint64_t base;      /* least noise; bins count from here */
	uint64_t most;      /* largest noise */
	double mean;        /* expected noise */
	double mean_weight; /* of the mean in unbiased estimates (unbiased.h) */
	double *told;       /* device parts: what growing counts are told (slim.h) */
	uint32_t counts;    /* how many of them */
} qs_noise;

/* What is certain and what is likely about a key's count. */
typedef struct qs_bounds
{
	int64_t lower;    /* holds with the confidence asked for; not below 0 */
	int64_t estimate; /* what qsketch_estimate says */
	int64_t upper;    /* always holds while weights removed were added before */
} qs_bounds;

/* Bin of a noise of at least the base, and how many values it has. */
extern uint32_t qs_noise_bin(const qs_noise *noise, uint64_t value);
extern uint64_t qs_noise_bin_width(uint32_t bin);

/* Measure a sketch, owned or view.  QS_NO_MEMORY is the only error. */
extern qs_status qs_noise_init(qs_noise *noise, const qs_sketch *sk, const qs_memory *memory);

extern void qs_noise_free(qs_noise *noise);

/*
 * The least error that the noise stays within with at least this confidence,
 * 0 to 1.
 */
extern int64_t qs_noise_error(const qs_noise *noise, double confidence);

/* Bounds of one key's count from a measured sketch. */
extern qs_bounds
qs_bounds_of(const qs_sketch *sk, const qs_noise *noise, uint64_t fingerprint, double confidence);

#endif
