/*
 * measure.h
 *		Measures the noise of a sketch, and computes errors, unbiased estimates and forecasts.
 *
 * A bin is a range of distances of noise from the least noise.  Each distance below 512 has a
 * separate bin.  Above 512, each doubling of the distance has 2^8 bins, so a bin's width is at most
 * 1/256 of its distances.  There are 14,592 bins for all distances below 2^64.
 *
 * src/sketch/measure.h
 */
#ifndef QS_MEASURE_H
#define QS_MEASURE_H

#include "sketch/pieces.h"

#define QS_BINS_LOG2 8
#define QS_BINS_FINE (UINT32_C(1) << QS_BINS_LOG2)

QB_INLINE uint32_t
qs_bin_of(uint64_t distance)
{
	uint32_t shift;

	if (distance < 2 * QS_BINS_FINE)
		return (uint32_t) distance;
	shift = 63 - (uint32_t) __builtin_clzll(distance) - QS_BINS_LOG2;
	return (shift << QS_BINS_LOG2) + (uint32_t) (distance >> shift);
}

/* Returns the number of distances in the bin. */
QB_INLINE uint64_t
qs_bin_width(uint32_t bin)
{
	return bin < 2 * QS_BINS_FINE ? 1 : UINT64_C(1) << ((bin >> QS_BINS_LOG2) - 1);
}

/* Returns the least distance in the bin. */
QB_INLINE uint64_t
qs_bin_start(uint32_t bin)
{
	return bin < 2 * QS_BINS_FINE ? bin : (QS_BINS_FINE + bin % QS_BINS_FINE) * qs_bin_width(bin);
}

/*
 * ---- the errors of a sketch, measured from the sketch itself ----
 *
 * An estimate is the key's weight plus noise.  The noise is the weight of all other keys in the
 * least of the key's counters.  A key that was never added has no weight, so its estimate is only
 * noise.  The hash chooses the counters of such a key with equal chance: any bucket and any d of
 * the m counters (thread: any counter of each row).  So the distribution of this noise can be
 * computed exactly from the table.
 *
 * For a key that was added, the noise has the distribution of the table without this key.  The
 * chance that this noise exceeds a limit is at most the chance for the whole table.
 *
 * A confidence applies to one key that was chosen without knowledge of the sketch.  Among n probed
 * keys, the keys with the largest estimates tend to have the most noise.  So an error for probed
 * keys must hold for all n keys.  It holds if the noise of each key exceeds the error with a chance
 * of at most (1 - confidence) / n.  The keys need not be independent.
 *
 * Masks come from a table (params.h).  So a key has the mask of a heavy key somewhat more often
 * than if masks were drawn from all C(m, d) masks.  The effect matters for rare, large noise.  So
 * the error for several probes includes this effect.
 *
 * qs_noise contains the distribution.  qs_noise_init() measures a sketch once, and then qs_noise
 * gives the error for any confidence.  Measuring takes two passes over the table and up to 120 kB
 * of memory.  For thread, it takes up to 120 kB more for each row, and for a device part of sf up
 * to 240 kB more.  For one probe, at most 2^22 counters are read.  Of larger tables, only evenly
 * spaced buckets are read.  For several probes, all counters are read.  Later changes of the sketch
 * do not change the distribution.
 *
 * Limits.  Each noise below base + 512 has a separate bin.  Above base + 512, a bin's width is up
 * to 1/256 of the distance from the base.  For one probe, the error is interpolated within its bin.
 * For several probes, it is the bin's last value.  If the noise has few values, the error is the
 * least value with at least the requested confidence, and holds more often than requested.
 *
 * Estimates of full sf sketches and of device parts come from slim counters.  In slim counters, the
 * estimate of a heavy key has less noise than the estimate of an absent key.  So the error holds
 * more often than requested for heavy keys.  For one probe, masks are treated as drawn from all
 * C(m, d) masks.  This treatment is nearly right if the table has at least C(m, d) / m masks.
 *
 * Derivations and measured calibration: docs/engineering/accuracy.md.
 */

typedef struct qs_noise
{
	const qb_memory *memory;
	double *above;            /* by bin: chance that the noise exceeds the bin's last value */
	uint32_t bins;            /* number of bins; 0: no noise, as in explicit sketches */
	uint64_t base;            /* least noise, at which the bins begin */
	uint64_t most;            /* largest counter that was read */
	uint64_t buckets;         /* number of buckets read */
	double repeats;           /* chance of equal masks, relative to masks drawn from all C(m, d) */
	double mean;              /* expected noise */
	double mean_weight;       /* weight of the unbiased estimate by mean, 0 to 1 */
	double *average_estimate; /* device part: average estimate, by ascending counts */
	uint32_t counts;          /* number of counts in "average_estimate" */
} qs_noise;

/* Bounds of a key's count. */
typedef struct qs_bounds
{
	int64_t lower;    /* lower bound, with the confidence of the error; at least 0 */
	int64_t estimate; /* result of qsketch_estimate */
	int64_t upper;    /* upper bound, certain if only added keys were removed */
} qs_bounds;

/* Returns the bin of a noise that is at least noise->base. */
QB_INLINE uint32_t
qs_noise_bin(const qs_noise *noise, uint64_t value)
{
	uint32_t bin = qs_bin_of(value - noise->base);

	return bin < noise->bins ? bin : noise->bins - 1;
}

extern void qs_noise_free(qs_noise *noise);

/* Returns the expected noise. */
extern double qs_noise_mean(const qs_noise *noise);

/*
 * Returns the least error that the noise does not exceed, with at least this confidence (0 to 1).
 * If probes is 1, the confidence applies to one key.  If probes is larger, the confidence applies
 * to "probes" distinct keys together.
 */
extern int64_t qs_noise_error(const qs_noise *noise, double confidence, uint64_t probes);

/*
 * Returns bounds of a key's count from its estimate and the sketch's error.  The error is at least
 * 0.
 */
extern qs_bounds qs_bounds_of(int64_t estimate, int64_t error);

/*
 * ---- chances of a random choice in a bucket ----
 *
 * Measuring and unbiased estimates share these functions.  Both sort a bucket's counters, and
 * compute the chance that a counter is the minimum of a random choice.
 */

/* Sorts values in ascending order. */
extern void qs_values_sort(uint64_t *value, uint32_t count);

/*
 * Sets chance[i], for i = 0 .. count - k, to the chance that value i of "count" ascending values is
 * the least of k random values.  Larger values are never the least.  1 <= k <= count.
 */
extern void qs_subset_chances(uint32_t count, uint32_t k, double *chance);

/* Returns the mean minimum of k values that are chosen at random from "count" ascending values. */
extern double qs_subset_minimum(const uint64_t *value, uint32_t count, uint32_t k);

/*
 * Computes the distribution of the minimum in a fat bucket, if k of 8 sub-buckets and one cell in
 * each are chosen at random.  Sub-bucket j has size[j] >= 1 ascending cells, in "cell" from index j
 * * stride on.  Writes the possible values of the minimum and their chances.  Returns the number of
 * values, at most the number of cells plus 1.
 */
extern uint32_t qs_fat_chances(const uint64_t *cell, uint32_t stride, const uint32_t *size,
							   uint32_t k, uint64_t *value, double *chance);

/* ---- the measurement ---- */

/* The maximum number of counters that are read for one probe. */
#define QS_NOISE_COUNTERS (UINT64_C(1) << 22)

/* Returns the number of buckets that are read for this many probes, or 0 in explicit encoding. */
extern uint64_t qs_noise_buckets(const qs_sketch *sk, uint64_t probes);

/*
 * Measures an owned sketch or a view that is not compact.  If "probes" is 1, qs_noise_error() may
 * then be called only for one probe.  QB_NO_MEMORY is the only error.  Unbiased estimates need
 * qs_noise_init() instead.
 */
extern qb_status
qs_noise_measure(qs_noise *noise, const qs_sketch *sk, uint64_t probes, const qb_memory *memory);

/*
 * ---- estimates without the minimum's bias, from the same bucket ----
 *
 * The minimum of a key's counters is never below its count.  So the minimum is too large on
 * average, and far too large in an overloaded sketch.  But the key's bucket shows the noise.  The
 * bucket has m - d counters that the key does not own, which contain only other keys.  Masks are
 * random, so these counters have the same distribution as the noise in the key's counters.
 *
 * The minimum of d of these counters, averaged over all choices of d, is an unbiased estimate of
 * the noise in the key's minimum.  The mean of these counters is an unbiased estimate of the noise
 * in the mean of the key's counters.  Subtracting the noise gives two unbiased estimates, by
 * minimum and by mean.  These two estimates are mixed by a weight that is measured for each sketch
 * (qs_noise).  If many light keys make the noise, the estimate by mean has nearly all weight.  If
 * few heavy keys make the noise, the estimate by minimum has all weight.
 *
 * Unbiased estimates may be negative.  Estimates of rare keys are negative about as often as
 * positive, so sums and averages of estimates have no bias.  For a single key, the estimate is more
 * accurate after clipping to 0 .. minimum.
 *
 * If the minimum is exact for most keys of a sketch, the minimum is more accurate than the unbiased
 * estimate.
 *
 * Derivations and measurements: docs/engineering/accuracy.md.
 */

/* True if qs_estimate_unbiased() needs the noise of this sketch. */
extern bool qs_unbiased_needs_noise(const qs_sketch *sk);

/* Does the work of qs_noise_measure(), and also measures what unbiased estimates need. */
extern qb_status
qs_noise_init(qs_noise *noise, const qs_sketch *sk, uint64_t probes, const qb_memory *memory);

/*
 * Returns an unbiased estimate, which is exact for explicit sketches.  The sketch is not compact.
 * "noise" may be NULL if qs_unbiased_needs_noise() is false.
 */
extern double
qs_estimate_unbiased(const qs_sketch *sk, const qs_noise *noise, uint64_t fingerprint);

/*
 * ---- unbiased estimates from the device part of an sf sketch ----
 *
 * A slim counter is the maximum of z cells, so the cell of a heavy key hides the other cells of its
 * sub-bucket.  The noise of a key falls as its count grows, from the noise of an absent key to the
 * noise of its own cells.  A device part has no fat table, so the distribution of cells is derived
 * from the distribution of the slim counters.  Each slim counter is the maximum of z independent
 * cells.  The distribution of cells determines g(f), the average estimate of a key of count f.  The
 * unbiased estimate is the inverse of g.
 *
 * Unlike all other unbiased estimates, this estimate is approximate.  It treats cells as
 * independent, and as equally distributed in all buckets.  So it does not notice a heavy key in the
 * same bucket.  The slim counters have almost no information about counts that are smaller than the
 * noise.  Up to a third of the minimum's bias remains.  Derivation and measurements:
 * docs/engineering/accuracy.md.
 */

/*
 * ---- forecasting the error of a sketch of some size, before it is built ----
 *
 * The contents of a bucket do not depend on the number of other buckets.  So the error of a sketch
 * is measured in a model, which has the sketch's number of keys per bucket but at most 4096
 * buckets.  The model's keys have equal counts.  The keys are pseudorandom, but a repeated forecast
 * has the same keys.  A model works for every structure and depth.  docs/engineering/accuracy.md
 * compares these measurements with formulas.
 *
 * If a bucket has too many keys, the model has fewer keys per bucket, and the error is
 * extrapolated.  The mean of the noise grows in proportion to the number of keys.  The distance of
 * the error from this mean grows with the square root of the number.
 *
 * In most sketches, keys of unequal counts cause smaller errors than keys of equal counts.  A heavy
 * key adds noise only to the few keys that share its counters, and leaves less weight for all other
 * keys.  If counts differ by orders of magnitude, as sums of bytes do, equal counts are a bad
 * model.  For such data, the weights of the model's keys are drawn from a sample of the data's
 * weights.
 *
 * Forecasts are not made for device and host parts of sf.
 */

typedef struct qs_forecast
{
	double error;       /* the error that qs_noise_error() gives for one probe */
	double table_bytes; /* bytes of all tables, or of all entries */
} qs_forecast;

/* The largest weight of a key in a model. */
#define QS_FORECAST_WEIGHT (INT64_C(1) << 43)

/* The expected contents of a sketch. */
typedef struct qs_load
{
	double total;          /* sum of all weights; the number of rows, if each has weight 1 */
	double keys;           /* distinct keys, at least 1 */
	const int64_t *weight; /* sampled weights, 0 .. QS_FORECAST_WEIGHT; NULL: total / keys each */
	uint64_t weights;      /* length of "weight", whose mean is total / keys */
} qs_load;

/*
 * Forecasts the error and the size of a sketch with these parameters and this load.  The confidence
 * is at least 0 and less than 1.  QB_NO_MEMORY is the only error.
 */
extern qb_status qs_forecast_make(qs_forecast *forecast, const qs_params *params,
								  const qs_load *load, double confidence, const qb_memory *memory);

#endif
