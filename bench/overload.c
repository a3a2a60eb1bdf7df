/*
 * overload.c
 *		Compares the minimum and the unbiased estimate in overloaded sketches.
 *
 * There are 200,000 keys and 4 million rows, uniform and Zipf.  The figure and the table show mean
 * absolute errors of three estimates: the minimum, the unbiased estimate, and the unbiased estimate
 * clipped to the range from 0 to the minimum.
 *
 * bench/overload.c
 */
#include <math.h>

#include "accuracy.h"
#include "workload.h"

#define KEYS 200000
#define ROWS 4e6
#define TOP  100

#define MANY_SEEDS 16 /* number of seeds of the checks */
#define FEW_SEEDS  3

static const double thetas[] = { 0, 0.8, 1.0, 1.2 };
static const double loads[] = { 10, 100, 1000, 10000 };

#define THETAS (sizeof(thetas) / sizeof(thetas[0]))
#define LOADS  (sizeof(loads) / sizeof(loads[0]))

static const subject structures[] = {
	{ "thread", QS_THREAD, 0, 1024 },         { "warp", QS_WARP, 0, 1024 },
	{ "half_warp", QS_HALF_WARP, 0, 1024 },   { "sub_warp", QS_SUB_WARP, 0, 1024 },
	{ "multilevel", QS_MULTILEVEL, 0, 1024 }, { "sf z=8", QS_SF, 8, 1024 },
};

#define STRUCTURES (sizeof(structures) / sizeof(structures[0]))

/* The types of estimates. */
enum
{
	MINIMUM,  /* the estimate of qsketch_estimate */
	UNBIASED, /* the estimate of qs_estimate_unbiased() */
	CLIPPED,  /* the unbiased estimate, clipped to 0 .. minimum */
	WAYS
};

/* Means of errors over keys and seeds. */
typedef struct tally
{
	double distance[WAYS]; /* absolute error */
	double rare[WAYS];     /* absolute error of the rarer half of the keys */
	double top[WAYS];      /* relative error of the TOP most frequent keys */
	double bias[WAYS];     /* signed error */
} tally;

static void
estimate(const qs_sketch *sk, const qs_noise *noise, uint64_t key, double *way)
{
	int64_t minimum;

	qs_query(sk, &key, 1, &minimum);
	way[MINIMUM] = (double) minimum;
	way[UNBIASED] = qs_estimate_unbiased(sk, noise, key);
	way[CLIPPED] = fmin(fmax(way[UNBIASED], 0), way[MINIMUM]);
}

/* Add the mean errors of all keys of one seed, divided by the number of seeds. */
static void
add_seed(tally *t, const qs_sketch *sk, const qs_noise *noise, const workload *w, uint32_t seeds)
{
	double way[WAYS];
	uint32_t i;
	int k;

	for (i = 0; i < w->keys; i++)
	{
		estimate(sk, noise, w->fingerprint[i], way);
		for (k = 0; k < WAYS; k++)
		{
			double off = way[k] - (double) w->count[i];

			t->distance[k] += fabs(off) / KEYS / seeds;
			t->bias[k] += off / KEYS / seeds;
			if (i >= KEYS / 2)
				t->rare[k] += fabs(off) / (KEYS - KEYS / 2) / seeds;
			if (i < TOP && w->count[i] > 0)
				t->top[k] += fabs(off) / (double) w->count[i] / TOP / seeds;
		}
	}
}

static tally
measure(const subject *s, double theta, double load, uint32_t seeds)
{
	tally t = { 0 };
	uint64_t seed;

	for (seed = 1; seed <= seeds; seed++)
	{
		workload w;
		qs_sketch sk;
		qs_noise noise;

		workload_init(&w, KEYS, ROWS, theta, seed);
		subject_init(&sk, s, w.rows, load, seed);
		bench_check(qs_engine_cpu.insert(&sk, w.fingerprint, w.count, w.keys));
		bench_check(qs_noise_init(&noise, &sk, 1, &bench_memory));
		add_seed(&t, &sk, &noise, &w, seeds);
		qs_noise_free(&noise);
		qs_free(&sk);
		workload_free(&w);
	}
	return t;
}

/* ---- checks of sub_warp ---- */

static void
check_ratio(const char *what, const double *sum, int way, double most)
{
	report_check(sum[way] <= most * sum[MINIMUM], "%s: %.3f of the minimum's error (at most %.2f)",
				 what, sum[way] / sum[MINIMUM], most);
}

static void
check(double theta, double load, const tally *t)
{
	char what[100];

	snprintf(what, sizeof(what), "sub_warp, theta %.1f, load %.0f", theta, load);
	if (theta == 0 && load == 100)
		check_ratio(what, t->distance, UNBIASED, 0.45);
	if (theta == 0 && load >= 1000)
		check_ratio(what, t->distance, UNBIASED, 0.12);
	if (theta == 1.0 && load == 100)
		check_ratio(what, t->rare, CLIPPED, 0.6);
	if (load >= 100 && theta <= 1.0)
	{
		report_check(t->top[UNBIASED] <= t->top[MINIMUM],
					 "%s: relative error of the top %d %.4f (minimum %.4f)", what, TOP,
					 t->top[UNBIASED], t->top[MINIMUM]);
		report_check(fabs(t->bias[UNBIASED]) <= 0.03 * t->bias[MINIMUM],
					 "%s: bias %+.2f %% of the minimum's (at most 3 %%)", what,
					 t->bias[UNBIASED] / t->bias[MINIMUM] * 100);
	}
}

/* ---- tables ---- */

static void
write_name(FILE *out, double theta)
{
	if (theta == 0)
		fprintf(out, "uniform");
	else
		fprintf(out, "Zipf %.1f", theta);
}

/* Check sub_warp with all data and loads, and write the data of the figure. */
static void
check_sub_warp(void)
{
	FILE *data = report_open("overload.dat");
	size_t i, k;

	for (i = 0; i < THETAS; i++)
		for (k = 0; k < LOADS; k++)
		{
			tally t = measure(&structures[3], thetas[i], loads[k], MANY_SEEDS);

			check(thetas[i], loads[k], &t);
			fputc('"', data);
			write_name(data, thetas[i]);
			fprintf(data, ", %.0f\" %g %g %g\n", loads[k], t.distance[MINIMUM],
					t.distance[UNBIASED], t.distance[CLIPPED]);
		}
	fclose(data);
}

/* Write the table of all structures, for uniform and Zipf keys at two loads. */
static void
all_structures(void)
{
	FILE *out = report_open("overload-all");
	size_t i, k, s;

	fprintf(out, "| structure |");
	for (i = 0; i < 3; i += 2)
		for (k = 1; k < 3; k++)
		{
			fputc(' ', out);
			write_name(out, thetas[i]);
			fprintf(out, ", load %.0f |", loads[k]);
		}
	fprintf(out, "\n|---|---|---|---|---|\n");
	for (s = 0; s < STRUCTURES; s++)
	{
		fprintf(out, "| %s |", structures[s].name);
		for (i = 0; i < 3; i += 2)
			for (k = 1; k < 3; k++)
			{
				tally t = measure(&structures[s], thetas[i], loads[k], FEW_SEEDS);

				fprintf(out, " %.1f → %.1f (%.1f) |", t.distance[MINIMUM], t.distance[UNBIASED],
						t.distance[CLIPPED]);
			}
		fputc('\n', out);
	}
	fclose(out);
}

void
accuracy_overload(void)
{
	check_sub_warp();
	all_structures();
}
