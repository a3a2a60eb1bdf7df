/*
 * filter_workload.h
 *		Filters and streams of rows for the programs that measure filters.
 *
 * bench/filter_workload.h
 */
#ifndef QF_BENCH_WORKLOAD_H
#define QF_BENCH_WORKLOAD_H

#include "engine/filter_engine.h"
#include "filter/estimate.h"
#include "workload.h"

/* Collects rows and inserts them into a filter in batches. */
typedef struct feeder
{
	qf_filter *f;
	uint64_t nonce;
	uint64_t row; /* number of the next row */
	size_t count;
	uint64_t key[QF_BATCH];
} feeder;

/* Make an empty filter with a user's parameters.  k = 0: the k that the error needs. */
extern void
filter_start(qf_filter *f, qf_preset preset, double rows, double frequency, double error, int k);

extern void feeder_start(feeder *feed, qf_filter *f, uint64_t nonce);
extern void feed_rows(feeder *feed, uint64_t key, uint64_t times);
extern void feeder_end(feeder *feed);

/* Insert "count" different keys as noise, one row each. */
extern void feed_noise(feeder *feed, uint64_t count);

extern uint32_t filter_set_of(const qf_filter *f, uint64_t key);

/*
 * Return key number i of a group.  All keys are distinct.  The keys of the noise are group 1000.
 */
extern uint64_t filter_key(uint32_t group, uint64_t i);

/* ---- sums of estimates of one frequency ---- */

typedef struct moments
{
	double count, sum, squares;
} moments;

extern void moments_add(moments *m, double x);
extern double moments_mean(const moments *m);
extern double moments_sd(const moments *m);

/* The programs of filter_accuracy. */
extern void accuracy_theory(void);
extern void accuracy_overloaded(void);
extern void accuracy_bloom(void);
extern void accuracy_distributions(void);
extern void accuracy_against_sketches(void);

#endif
