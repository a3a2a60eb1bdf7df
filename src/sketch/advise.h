/*
 * advise.h
 *		Which error a sketch of some size will have, before it is built.
 *
 * A bucket of a large sketch does not know how many others there are.  So the
 * error that so many distinct keys of equal count make in a sketch is measured
 * (noise.h) in a model of it: one with as many keys in a bucket, but with fewer
 * buckets, filled at random, always in the same way.  That holds for every
 * structure and depth; docs/accuracy.md compares such measurements with the
 * formulas.  Where a bucket has more keys than it pays to draw, the model
 * has fewer, and their noise is scaled as that of sums of many: its mean as their
 * number, its distance from that as the root.
 *
 * Keys of unequal counts make smaller errors in most sketches: a heavy key hurts
 * the few that meet it, and leaves less weight for the others.  Where they differ by
 * orders of magnitude, as sums of bytes do, that says too little: then the model's
 * keys get weights drawn from those of some keys of the data.
 *
 * Not for the parts of sf.  src/sketch/advise.h
 */
#ifndef QS_ADVISE_H
#define QS_ADVISE_H

#include "sketch/sketch.h"

typedef struct qs_forecast
{
	double error;        /* as qs_noise_error() for one probe */
	double stored_bytes; /* of the serialized sketch */
} qs_forecast;

/* Largest weight of a key that a model takes. */
#define QS_FORECAST_WEIGHT (INT64_C(1) << 43)

/* What a sketch will hold. */
typedef struct qs_load
{
	double total;          /* sum of all weights: rows, if each has weight 1 */
	double keys;           /* distinct ones, 1 .. */
	const int64_t *weight; /* of some keys, 0 .. QS_FORECAST_WEIGHT; NULL: all have total / keys */
	uint64_t weights;      /* how many; their mean is total / keys */
} qs_load;

/*
 * What a sketch with these parameters is expected to have after such a load, with
 * a confidence of 0 to less than 1.  QB_NO_MEMORY is the only error.
 */
extern qb_status qs_forecast_make(qs_forecast *forecast, const qs_params *params,
								  const qs_load *load, double confidence, const qb_memory *memory);

#endif
