/*
 * measure.h
 *		Measuring how wrong a sketch is from the sketch itself.
 *
 * noise.h says what is measured, what it costs and its limits.  This file uses
 * noise.h and the two kinds of unbiased estimates (unbiased.h, slim.h).  Each kind
 * needs something measured, and includes nothing but noise.h for it.
 *
 * src/sketch/measure.h
 */
#ifndef QS_MEASURE_H
#define QS_MEASURE_H

#include "sketch/noise.h"

/* The most counters that are looked at for one probe. */
#define QS_NOISE_COUNTERS (UINT64_C(1) << 22)

/* How many buckets are looked at for this many probes; none in explicit encoding. */
extern uint64_t qs_noise_buckets(const qs_sketch *sk, uint64_t probes);

/*
 * Measure a sketch, owned or view.  The noise can then be asked for errors of one
 * probe if "probes" is 1, else of any number of probes.  QB_NO_MEMORY is the only
 * error.
 */
extern qb_status
qs_noise_init(qs_noise *noise, const qs_sketch *sk, uint64_t probes, const qb_memory *memory);

#endif
