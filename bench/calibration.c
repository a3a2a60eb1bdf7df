/*
 * calibration.c
 *		Checks how often error bounds hold, over many seeds.
 *
 * The program makes sketches of 200 seeds for each structure.  It compares the errors of present
 * keys, and of an equal number of absent keys, with qs_noise_error() at three confidences.  Counts
 * are integers, so an error e is right for a confidence c if at least the fraction c of the keys is
 * within e, and at most the fraction c is within e - 1.  A percentage point of deviation is
 * allowed.
 *
 * bench/calibration.c
 */
#include <math.h>
#include <stdlib.h>

#include "accuracy.h"
#include "workload.h"

#define KEYS   20000
#define ROWS   (20.0 * KEYS)
#define SEEDS  200
#define POINT  0.01 /* a percentage point */
#define LEVELS 3

static const double levels[LEVELS] = { 0.5, 0.9, 0.99 };
static const double thetas[] = { 0, 1.0 };
static const double loads[] = { 100, 1000 };

static const struct
{
	subject subject;
	bool host;
} rows[] = {
	{ { "thread", QS_THREAD, 0, 1024 }, false },
	{ { "warp", QS_WARP, 0, 1024 }, false },
	{ { "half_warp", QS_HALF_WARP, 0, 1024 }, false },
	{ { "sub_warp", QS_SUB_WARP, 0, 1024 }, false },
	{ { "multilevel", QS_MULTILEVEL, 0, 1024 }, false },
	{ { "sf z=8", QS_SF, 8, 1024 }, false },
	{ { "sf z=8, host", QS_SF, 8, 1024 }, true },
};

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

/* Fractions of the keys: within the error e, and within e - 1. */
typedef struct fractions
{
	double within[LEVELS];
	double below[LEVELS];
} fractions;

typedef struct result
{
	fractions absent;
	fractions present;
} result;

static void
add_errors(fractions *s, const qs_noise *noise, const int64_t *estimate, const int64_t *count)
{
	int level;

	for (level = 0; level < LEVELS; level++)
	{
		int64_t error = qs_noise_error(noise, levels[level], 1);
		uint32_t within = 0;
		uint32_t below = 0;
		uint32_t i;

		for (i = 0; i < KEYS; i++)
		{
			int64_t off = estimate[i] - (count ? count[i] : 0);

			within += off <= error;
			below += off < error;
		}
		s->within[level] += (double) within / KEYS / SEEDS;
		s->below[level] += (double) below / KEYS / SEEDS;
	}
}

static void
add_sketch(result *r, const qs_sketch *sk, const workload *w)
{
	int64_t *estimate = bench_alloc(KEYS, sizeof(int64_t));
	uint64_t *strange = bench_alloc(KEYS, sizeof(uint64_t));
	uint64_t state = qb_mix64(w->fingerprint[0]);
	qs_noise noise;
	uint32_t i;

	for (i = 0; i < KEYS; i++)
		strange[i] = bench_random(&state);
	bench_check(qs_noise_init(&noise, sk, 1, &bench_memory));
	qs_query(sk, w->fingerprint, KEYS, estimate);
	add_errors(&r->present, &noise, estimate, w->count);
	qs_query(sk, strange, KEYS, estimate);
	add_errors(&r->absent, &noise, estimate, NULL);
	qs_noise_free(&noise);
	free(estimate);
	free(strange);
}

static result
measure(size_t row, double theta, double load)
{
	result r = { 0 };
	uint64_t seed;

	for (seed = 1; seed <= SEEDS; seed++)
	{
		workload w;
		qs_sketch sk;

		workload_init(&w, KEYS, ROWS, theta, seed);
		subject_init(&sk, &rows[row].subject, w.rows, load, seed);
		bench_check(qs_engine_cpu.insert(&sk, w.fingerprint, w.count, w.keys));
		if (rows[row].host)
		{
			qs_sketch host = bench_host(&sk);

			add_sketch(&r, &host, &w);
		}
		else
			add_sketch(&r, &sk, &w);
		qs_free(&sk);
		workload_free(&w);
	}
	return r;
}

/*
 * True if the error for a level of confidence is right.  Slim counters overestimate present keys
 * less than absent keys, so more present keys may be within the error; see measure.h.
 */
static bool
is_right(size_t row, const result *r, int level)
{
	double c = levels[level];
	bool slim = rows[row].subject.structure == QS_SF && !rows[row].host;

	return r->absent.within[level] >= c - POINT && r->absent.below[level] <= c + POINT &&
		   r->present.within[level] >= c - POINT && (slim || r->present.below[level] <= c + POINT);
}

static void
report(size_t row, double theta, double load)
{
	result r = measure(row, theta, load);
	bool right = true;
	int level;

	for (level = 0; level < LEVELS; level++)
		right &= is_right(row, &r, level);
	report_check(right,
				 "%s, theta %.1f, load %.0f: absent %.4f %.4f %.4f, present %.4f %.4f %.4f of "
				 "0.5 0.9 0.99",
				 rows[row].subject.name, theta, load, r.absent.within[0], r.absent.within[1],
				 r.absent.within[2], r.present.within[0], r.present.within[1], r.present.within[2]);
}

void
accuracy_calibration(void)
{
	size_t theta, load, row;

	for (theta = 0; theta < COUNT_OF(thetas); theta++)
		for (load = 0; load < COUNT_OF(loads); load++)
			for (row = 0; row < COUNT_OF(rows); row++)
				report(row, thetas[theta], loads[load]);
}
