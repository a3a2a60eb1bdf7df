/*
 * measure.h
 *		Measuring how wrong a sketch is from the sketch itself.
 *
 * What is measured, what it costs and its limits: noise.h.  This stands on top
 * of it and of the two kinds of unbiased estimates (unbiased.h, slim.h), which
 * need something measured each and include no more than noise.h.
 *
 * src/sketch/measure.h
 */
#ifndef QS_MEASURE_H
#define QS_MEASURE_H

#include "sketch/noise.h"

/* Counters that are looked at at most for one probe. */
#define QS_NOISE_COUNTERS (UINT64_C(1) << 22)

/* Buckets that are looked at for this many probes; none in explicit form. */
extern uint64_t qs_noise_buckets(const qs_sketch *sk, uint64_t probes);

/*
 * Measure a sketch, owned or view, to be asked for errors of one probe (1) or
 * of any number of them (more).  QB_NO_MEMORY is the only error.
 */
extern qb_status
qs_noise_init(qs_noise *noise, const qs_sketch *sk, uint64_t probes, const qb_memory *memory);

#endif
