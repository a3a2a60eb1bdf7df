/*
 * measure.h
 *		Measuring a sketch: its buckets as numbers, their distribution, and the errors that follow.
 *
 * Bins.  Each small distance has a bin of its own.  Above them each doubling has 2^8 bins,
 * so a bin's width is at most 1/256 of its distance.  There are 14,592 bins for all
 * distances below 2^64.
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

/* The number of distances in the bin. */
QB_INLINE uint64_t
qs_bin_width(uint32_t bin)
{
	return bin < 2 * QS_BINS_FINE ? 1 : UINT64_C(1) << ((bin >> QS_BINS_LOG2) - 1);
}

/* The least distance in the bin. */
QB_INLINE uint64_t
qs_bin_start(uint32_t bin)
{
	return bin < 2 * QS_BINS_FINE ? bin : (QS_BINS_FINE + bin % QS_BINS_FINE) * qs_bin_width(bin);
}

/*
 * ---- the errors of a sketch, measured from the sketch itself ----
 *
 * An estimate is the key's own weight plus noise: the weight of other keys that met
 * it in all of its d counters.  A key that was never added has no weight of its own,
 * so its estimate is noise alone.  The hash decides which counters it gets: any
 * bucket and any d of its m counters (thread: any counter of each row) with equal
 * chance.  So the table holds the distribution of the noise, which can be read off exactly.  For a
 * key that is present, the noise has the distribution of the table without that key, which nowhere
 * exceeds the distribution of the whole table.
 *
 * A confidence applies to one key that was chosen without a look at the sketch.  To probe many keys
 * and pick the largest estimates means to pick the keys with the most noise.  Then an error must
 * hold for all n probed keys.  It does so if each key exceeds it with a chance of at most (1 -
 * confidence) / n.  This needs no independence.  Far out in the tail it matters that masks come
 * from a table (params.h).  The worst case, the very mask of a heavy key, is somewhat likelier than
 * it would be among all C(m, d) masks.  The error for several probes allows for that.
 *
 * qs_noise holds the distribution.  It is measured once per sketch (qs_noise_init), and then gives
 * the error for any confidence.  Measuring costs two passes over the table and up to 120 kB; for
 * thread, that much for each row while it works.  For one probe at most 2^22 counters are read, so
 * of larger tables only evenly spaced buckets.  For several probes all counters are read.  The
 * distribution describes the sketch as it was, and does not follow later changes.
 *
 * Limits.  A noise below base + 512 is a bin of its own.  Above, bins have a width
 * of 1/256 of the distance from the base, and are interpolated (for several probes:
 * taken in whole).  Counts are integers, so if a confidence lies between two counts, its error is
 * the larger count, and holds more often than requested.  Estimates of a full or device part of sf
 * come from slim counters, which heavy keys share with less noise than absent keys: the error for
 * heavy keys holds more often, too.  For one probe, masks are treated as drawn from all C(m, d),
 * which is nearly true for a table of at least C(m, d) / m masks.
 *
 * Derivations and measured calibration: docs/engineering/accuracy.md.
 */

typedef struct qs_noise
{
	const qb_memory *memory;
	double *above;            /* by bin: the chance of noise beyond the bin's last value */
	uint32_t bins;            /* 0: no noise, as for explicit sketches */
	uint64_t base;            /* least noise; the bins begin here */
	uint64_t most;            /* largest noise */
	uint64_t buckets;         /* number of buckets read */
	double repeats;           /* factor by which keys share masks more often than by chance */
	double mean;              /* expected noise */
	double mean_weight;       /* weight of the mean in unbiased estimates */
	double *average_estimate; /* device parts: the average estimate of growing counts */
	uint32_t counts;          /* number of counts in "average_estimate" */
} qs_noise;

/* What is certain and what is likely about a key's count. */
typedef struct qs_bounds
{
	int64_t lower;    /* holds as often as the error holds; not below 0 */
	int64_t estimate; /* what qsketch_estimate says */
	int64_t upper;    /* always holds, unless keys were removed that had not been added */
} qs_bounds;

/* The bin of a noise.  The noise is at least the base. */
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
 * The least error that the noise does not exceed, with at least this confidence (0 to 1).  It
 * applies to one key (probes 1), or to all of "probes" distinct keys together.
 */
extern int64_t qs_noise_error(const qs_noise *noise, double confidence, uint64_t probes);

/* Bounds of the count of a key from its estimate and the sketch's error, which is not below 0. */
extern qs_bounds qs_bounds_of(int64_t estimate, int64_t error);

/*
 * ---- chances of a random choice in a bucket ----
 *
 * Two computations share these functions: measuring, and unbiased estimates.  Both sort a bucket's
 * counters, and need the chance that a counter is the minimum of a random choice.
 */

/* Sort values in ascending order. */
extern void qs_values_sort(uint64_t *value, uint32_t count);

/*
 * chance[i], for i = 0 .. count - k, is the chance that value i of "count" ascending values is the
 * least of k values chosen at random, 1 <= k <= count.  Larger values have no chance.
 */
extern void qs_subset_chances(uint32_t count, uint32_t k, double *chance);

/* Mean of the minimum of k of "count" ascending values, over all choices of k values. */
extern double qs_subset_minimum(const uint64_t *value, uint32_t count, uint32_t k);

/*
 * Values and chances of the minimum in a fat bucket, if k of 8 sub-buckets and a cell in each are
 * chosen.  Sub-bucket j has size[j] >= 1 cells, ascending, in "cell" from index j * stride on.
 * Writes the values that the minimum can take (at most one for each cell, and zero) and their
 * chances.  Returns the number of values.
 */
extern uint32_t qs_fat_chances(const uint64_t *cell, uint32_t stride, const uint32_t *size,
							   uint32_t k, uint64_t *value, double *chance);

/* ---- the measurement ---- */

/* The most counters that are read for one probe. */
#define QS_NOISE_COUNTERS (UINT64_C(1) << 22)

/* The number of buckets that are read for this many probes; 0 in explicit encoding. */
extern uint64_t qs_noise_buckets(const qs_sketch *sk, uint64_t probes);

/*
 * Measure a sketch, owned or view.  With "probes" 1 the noise gives errors of one probe, else of
 * any number of probes.  QB_NO_MEMORY is the only error.  Only qs_noise_init() also measures what
 * unbiased estimates need.
 */
extern qb_status
qs_noise_measure(qs_noise *noise, const qs_sketch *sk, uint64_t probes, const qb_memory *memory);

/*
 * ---- estimates without the minimum's bias, from the same bucket ----
 *
 * The minimum is never too small.  So on average it is too large, and in an overloaded sketch far
 * too large.  But the noise can be seen next to the key.  The m - d counters of its bucket that the
 * key does not own hold what other keys put there.  Masks are random, so these counters are
 * exchangeable with the noise in the key's own counters.
 *
 * The minimum of d such counters, averaged over all choices of d, is the average estimate of an
 * absent key.  It is an unbiased estimate of the error of the key's minimum.  In the same way, the
 * mean of all such counters is an unbiased estimate of the error of the mean of the key's counters.
 * The two corrected estimates are mixed by a weight that each sketch chooses for itself (qs_noise):
 * the means get nearly all weight where many light keys make the noise, and the minimum gets all
 * weight where few heavy keys make it.
 *
 * Estimates are signed: rare keys come out above zero about as often as below, which
 * makes sums and averages of estimates right.  For a single key, clipping to 0 ..
 * minimum is the better guess.
 *
 * A sketch with exact estimates for most keys gains nothing from this.  There the minimum is the
 * better estimate.
 *
 * Derivations and measurements: docs/engineering/accuracy.md.
 */

/* True if qs_estimate_unbiased() needs this sketch measured first. */
extern bool qs_unbiased_needs_noise(const qs_sketch *sk);

/* qs_noise_measure(), and in addition the measures that unbiased estimates need. */
extern qb_status
qs_noise_init(qs_noise *noise, const qs_sketch *sk, uint64_t probes, const qb_memory *memory);

/*
 * An estimate without bias.  It is exact for explicit sketches.  "noise" may be NULL if
 * qs_unbiased_needs_noise() is false.
 */
extern double
qs_estimate_unbiased(const qs_sketch *sk, const qs_noise *noise, uint64_t fingerprint);

/*
 * ---- unbiased estimates from the device part of an sf sketch ----
 *
 * A slim counter is the maximum of z cells, so a heavy key hides what other keys put
 * into its sub-bucket.  The overestimate of a key falls with its count, from the
 * noise of an absent key to the noise of its own cells.  Without the fat table, the
 * cells' distribution is derived from that of the slim counters, each the maximum of
 * z independent cells.  From this follows g(f), the average of the minimum for a key of count f.
 * The unbiased estimate is the inverse of g.
 *
 * Unlike all other unbiased estimates this one is approximate.  Cells are taken as
 * independent and the same in all buckets, so a heavy neighbour is not noticed.
 * Where the noise hides small counts, the slim counters have almost no information about these.  Up
 * to a third of the minimum's bias is left.  Derivation and measurements:
 * docs/engineering/accuracy.md.
 */

/*
 * ---- forecasting the error of a sketch of some size, before it is built ----
 *
 * What happens in a bucket does not depend on how many other buckets there are.  So the error of a
 * sketch with a number of distinct keys of equal counts is measured in a model of the sketch.  The
 * model has the sketch's number of keys in a bucket, but fewer buckets.  It is filled at random,
 * but always in the same way.  That holds for every structure and depth;
 * docs/engineering/accuracy.md compares such measurements with the formulas.
 *
 * Where a bucket has too many keys to draw them all, the model has fewer, and their
 * noise is scaled as the noise of sums of many keys: its mean grows as their number,
 * its distance from the mean as the square root of their number.
 *
 * Keys of unequal counts make smaller errors in most sketches: a heavy key hurts
 * only the few keys that meet it, and leaves less weight for the rest.  Where counts
 * differ by orders of magnitude, as sums of bytes do, equal counts are a bad model.
 * The model's keys then get weights drawn from the weights of some keys of the data.
 *
 * Not for the parts of sf.
 */

typedef struct qs_forecast
{
	double error;       /* the error, as from qs_noise_error() for one probe */
	double table_bytes; /* the most bytes of its tables, or of its entries */
} qs_forecast;

/* Largest weight of a key that a model takes. */
#define QS_FORECAST_WEIGHT (INT64_C(1) << 43)

/* The expected contents of a sketch. */
typedef struct qs_load
{
	double total;          /* sum of all weights; the number of rows, if each has weight 1 */
	double keys;           /* distinct keys, at least 1 */
	const int64_t *weight; /* of some keys, 0 .. QS_FORECAST_WEIGHT; NULL: all total / keys */
	uint64_t weights;      /* length of "weight", whose mean is total / keys */
} qs_load;

/*
 * Forecast the error and size of a sketch with these parameters after this load, for
 * a confidence from 0 to less than 1.  QB_NO_MEMORY is the only error.
 */
extern qb_status qs_forecast_make(qs_forecast *forecast, const qs_params *params,
								  const qs_load *load, double confidence, const qb_memory *memory);

#endif
