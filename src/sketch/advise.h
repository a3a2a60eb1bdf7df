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
 * the few that meet it, and leaves less weight for the others.
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

/*
 * What a sketch with these parameters is expected to have after "rows" of weight
 * 1 of so many distinct keys (1 .. rows), with a confidence of 0 to less than 1.
 * QS_NO_MEMORY is the only error.
 */
extern qs_status qs_forecast_make(qs_forecast *forecast, const qs_params *params, double rows,
								  double keys, double confidence, const qs_memory *memory);

#endif
