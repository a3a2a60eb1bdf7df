/*
 * sets_bench.h
 *		Common definitions of the sections of sets_bench.
 *
 * Times are processor times of the slowest thread.  In the sections single, model and joins,
 * the compared subjects run alternately, and the least time of each subject counts.
 *
 * bench/sets_bench.h
 */
#ifndef SETS_BENCH_H
#define SETS_BENCH_H

#include <time.h>

#include "base/isa.h"
#include "engine/sets_kernels.h"
#include "sets/pairs.h"
#include "sets_data.h"

/* sets_std.cpp */
extern size_t
std_set_intersection(const uint32_t *a, size_t n, const uint32_t *b, size_t m, uint32_t *out);

/* Return the processor time of this thread in seconds, without other work on the processor. */
static inline double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

/* ---- one pair: sets_single.c ---- */

typedef struct two_sets
{
	uint32_t *a;
	uint32_t *b;
	uint32_t *out;
	uint64_t n;
	uint64_t m;
	uint64_t common;
} two_sets;

/* The subjects: the methods of pairs.h, and then the subjects of this list. */
enum
{
	STD = QSET_METHODS,
	BRANCHLESS,
	AVX2_ONLY,
	MATERIALIZED,
	SUBJECTS
};

/* Set "best" to the least time of each subject over "runs" runs; the subjects run alternately. */
extern void time_subjects(two_sets *s, int runs, double *best);
extern two_sets make_two(distribution d, uint64_t universe, uint64_t draws);
extern void free_two(two_sets *s);

/* ---- all pairs: sets_multiple.c ---- */

/* The result of one run of a request: seconds of preparing and counting, and the pairs. */
typedef struct outcome
{
	double prepare;
	double count; /* seconds of counting, scaled to all pairs */
	uint64_t pairs;
	uint64_t bytes;
	uint64_t sum; /* sum_of_pairs() of all pairs; set by summed_pairs() */
	int method;
	bool prefix; /* method index: true if it is an index of prefixes */
} outcome;

/* A method, and its name in the tables. */
typedef struct variant_name
{
	int method;
	int variant;
	bool pairwise;
	const char *name;
} variant_name;

#define METHOD_COUNT 9

extern const variant_name bench_methods[METHOD_COUNT];
extern const recipe recipe_enron;

extern qset_request request_of(const qset_collection *c, int64_t min_count, double min_jaccard,
							   int method, int variant);

/*
 * Return the least times of "runs" runs.  Only each "step"th row is counted, and the time is scaled
 * up to all pairs.
 */
extern outcome best_pairs(const qset_request *r, uint64_t step, int threads, int runs);

/* Run once on one thread, and also compute the sum of the pairs, which takes time. */
extern outcome summed_pairs(const qset_request *r);

/* Return the seconds of std::set_intersection for all pairs, scaled up from each "step"th row. */
extern double std_pairs(const qset_collection *c, uint64_t step);

/* Return the step with which about "rows" of "sets" rows are counted. */
extern uint64_t step_for(uint64_t sets, uint64_t rows);

/* ---- sections ---- */

extern void bench_single(void);
extern void bench_multiple(void);
extern void bench_targets(void);
extern void bench_model(void);
extern void bench_joins(void);

#endif
