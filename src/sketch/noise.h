/*
 * noise.h
 *		How wrong a sketch is, measured from the sketch itself.
 *
 * An estimate is the key's own weight plus noise: the weight of other keys that met
 * it in all of its d counters.  A key that was never added has no weight of its own,
 * so its estimate is noise alone.  The hash decides which counters it gets: any
 * bucket and any d of its m counters (thread: any counter of each row) with equal
 * chance.  So the table holds the distribution of the noise, and it can be read off
 * exactly.  For a key that is present, the noise has the distribution of the table
 * without that key, which nowhere exceeds the distribution of the whole table.
 *
 * A confidence is that of one key, chosen without a look at the sketch.  Whoever
 * probes many keys and picks the largest estimates picks the keys with the most
 * noise.  Then an error must hold for all n keys that were probed.  It does so if
 * each key exceeds it with a chance of at most (1 - confidence) / n; independence is
 * not needed for that.  Far out in the tail it matters that masks come from a table
 * (masks.h).  The worst case, the very mask of a heavy key, is somewhat likelier
 * than it would be among all C(m, d) masks.  The error for several probes allows for
 * that.
 *
 * qs_noise holds the distribution: measured once per sketch (measure.h), then asked
 * for any confidence.  Measuring costs two passes over the table and up to 120 kB;
 * for thread, that much for each row while it works.  For one probe at most 2^22
 * counters are looked at, and in larger tables evenly spaced buckets stand for all;
 * for several probes all are looked at.  The distribution describes the sketch as it
 * was, and does not follow later changes.
 *
 * Limits.  A noise below base + 512 is a bin of its own.  Above, bins have a width
 * of 1/256 of the distance from the base, and are interpolated (for several probes:
 * taken in whole).  Counts are integers, so an error for a confidence between two
 * counts is the larger one, and holds more often than asked for.  Estimates of a
 * full or device part of sf come from slim counters, which heavy keys share with
 * less noise than absent keys: the error for heavy keys holds more often, too.  For
 * one probe, masks are treated as drawn from all C(m, d), which is nearly true for a
 * table of at least C(m, d) / m masks.
 *
 * Derivations and measured calibration: docs/engineering/accuracy.md.
 *
 * src/sketch/noise.h
 */
#ifndef QS_NOISE_H
#define QS_NOISE_H

#include "sketch/bins.h"
#include "sketch/sketch.h"

typedef struct qs_noise
{
	const qb_memory *memory;
	double *above;      /* by bin: chance of noise beyond the bin's last value */
	uint32_t bins;      /* 0: no noise, as for explicit sketches */
	uint64_t base;      /* least noise; bins count from here */
	uint64_t most;      /* largest noise */
	uint64_t buckets;   /* how many were looked at */
	double repeats;     /* how much more often than by chance keys share masks */
	double mean;        /* expected noise */
	double mean_weight; /* of the mean in unbiased estimates (unbiased.h) */
	double *told;       /* device parts: what growing counts are told (slim.h) */
	uint32_t counts;    /* how many of them */
} qs_noise;

/* What is certain and what is likely about a key's count. */
typedef struct qs_bounds
{
	int64_t lower;    /* holds as often as the error does; not below 0 */
	int64_t estimate; /* what qsketch_estimate says */
	int64_t upper;    /* always holds if all that was removed had been added before */
} qs_bounds;

/* The bin of a noise, which is at least the base. */
QB_INLINE uint32_t
qs_noise_bin(const qs_noise *noise, uint64_t value)
{
	uint32_t bin = qs_bin_of(value - noise->base);

	return bin < noise->bins ? bin : noise->bins - 1;
}

extern void qs_noise_free(qs_noise *noise);

/* The expected noise. */
extern double qs_noise_mean(const qs_noise *noise);

/*
 * The least error that the noise stays within, with at least this confidence, 0 to
 * 1: the noise of one key (probes 1), or of all of this many distinct keys together.
 */
extern int64_t qs_noise_error(const qs_noise *noise, double confidence, uint64_t probes);

/* Bounds of the count of a key from its estimate and the sketch's error, which is not below 0. */
extern qs_bounds qs_bounds_of(int64_t told, int64_t error);

#endif
