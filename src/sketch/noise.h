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
 * weight in a present key's counters has the distribution of the table without
 * that key, which nowhere exceeds this one.
 *
 * A confidence is that of one key, chosen without a look at the sketch.  Who
 * probes many keys and picks the largest estimates picks those with the most
 * noise; for them an error must hold for all n keys that were probed, and does
 * so where each exceeds it with a chance of at most (1 - confidence) / n.  No
 * independence is needed for that.  Far out in the tail it shows that masks
 * come from a table (masks.h): a heavy key's very mask, the worst that can
 * happen, is somewhat likelier than one of all C(m, d), which the error for
 * several probes allows for.
 *
 * qs_noise holds the distribution: measured once per sketch (measure.h), then
 * asked for any confidence.  Measuring costs two passes over the table and up
 * to 120 kB, for thread that much per row while it works.  For one probe 2^22
 * counters are looked at at most, and of larger tables evenly spaced buckets
 * stand for all; for several, all are.  The distribution describes the sketch as
 * it was, and does not follow later changes.
 *
 * Limits: a noise below base + 512 is a bin of its own; above, bins are 1/256
 * of the distance from the base wide and are interpolated (for several probes:
 * taken in whole).  Counts are integers, so that a confidence between two of
 * them cannot be had: the error is then the larger one, and holds more often
 * than asked for.  What a full or device part of sf tells comes from slim
 * counters, which heavy keys share with less noise than absent ones: for them,
 * too, it holds more often.  For one probe masks count as drawn from all
 * C(m, d), which takes a table of at least C(m, d) / m masks to be nearly so.
 *
 * Derivations and measured calibration: docs/accuracy.md.
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
	uint32_t bins;      /* 0: no noise, as in explicit sketches */
	uint64_t base;      /* least noise; bins count from here */
	uint64_t most;      /* largest noise */
	uint64_t buckets;   /* how many were looked at */
	double repeats;     /* how much oftener than by chance keys share masks */
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
	int64_t upper;    /* always holds while weights removed were added before */
} qs_bounds;

/* Bin of a noise of at least the base. */
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
 * The least error that the noise of one key (1), or of all of so many distinct
 * keys at once, stays within with at least this confidence, 0 to 1.
 */
extern int64_t qs_noise_error(const qs_noise *noise, double confidence, uint64_t probes);

/* Bounds of the count of a key that is told this, with an error of the sketch, which is not below 0. */
extern qs_bounds qs_bounds_of(int64_t told, int64_t error);

#endif
