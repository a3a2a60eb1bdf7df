/*
 * advise.h
 *		Which error a sketch of some size will have, before it is built.
 *
 * What happens in a bucket does not depend on how many other buckets there are.  So
 * the error that a number of distinct keys with equal counts makes in a sketch is
 * measured (measure.h) in a model of the sketch.  The model has as many keys in a
 * bucket, but fewer buckets; it is filled at random, always in the same way.  That
 * holds for every structure and depth; docs/engineering/accuracy.md compares such measurements
 * with the formulas.
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
 *
 * src/sketch/advise.h
 */
#ifndef QS_ADVISE_H
#define QS_ADVISE_H

#include "sketch/sketch.h"

typedef struct qs_forecast
{
	double error;       /* as qs_noise_error() for one probe */
	double table_bytes; /* of its tables, or entries: what it takes at most */
} qs_forecast;

/* Largest weight of a key that a model takes. */
#define QS_FORECAST_WEIGHT (INT64_C(1) << 43)

/* What a sketch will hold. */
typedef struct qs_load
{
	double total;          /* sum of all weights: rows, if each has weight 1 */
	double keys;           /* distinct keys, 1 .. */
	const int64_t *weight; /* of some keys, 0 .. QS_FORECAST_WEIGHT; NULL: all have total / keys */
	uint64_t weights;      /* length of weight; its mean is total / keys */
} qs_load;

/*
 * Forecast the error and size of a sketch with these parameters after this load, for
 * a confidence from 0 to less than 1.  QB_NO_MEMORY is the only error.
 */
extern qb_status qs_forecast_make(qs_forecast *forecast, const qs_params *params,
								  const qs_load *load, double confidence, const qb_memory *memory);

#endif
