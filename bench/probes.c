/*
 * probes.c
 *		Checks how often an error bound holds for all of many keys together, over many seeds.
 *
 * The program makes sketches of 200 seeds for each structure, and probes each sketch with all of
 * its keys.  A seed holds if no key's estimate exceeds its count by more than the error for as many
 * probes as keys.  The fraction of seeds that hold must be at least the confidence, except for
 * chance.  One stream has Zipf's frequencies.  The second stream has a few heavy keys.  If a key
 * shares all of its counters with a heavy key, its estimate is at least the heavy key's count.
 *
 * The table shows sketches of a million keys, with the error for 1, for 1000 and for 1,000,000
 * probes.  The lower bounds of the keys with the largest estimates differ much between these
 * errors.
 *
 * bench/probes.c
 */
#include <math.h>
#include <stdlib.h>

#include "accuracy.h"
#include "workload.h"

#define KEYS   20000
#define ROWS   (20.0 * KEYS)
#define SEEDS  200
#define HEAVY  10   /* number of heavy keys of the second stream */
#define SHARE  0.02 /* rows of each heavy key, as a fraction of ROWS */
#define CHANCE 1e-4 /* limit of the chance that fewer than fewest() seeds hold */

#define MANY_KEYS 1000000
#define MANY_ROWS 20e6
#define PICKED    1000 /* number of keys in the group with the largest estimates */

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

static const double levels[] = { 0.5, 0.95 };

#define LEVELS COUNT_OF(levels)

static const struct
{
	const char *name;
	double theta;
	int heavy;
} streams[] = {
	{ "Zipf 1.0", 1.0, 0 },
	{ "uniform, 10 heavy", 0, HEAVY },
};

static const double loads[] = { 100, 1000 };

typedef struct probed
{
	subject subject;
	qs_part part;
} probed;

static const probed rows[] = {
	{ { "thread", QS_THREAD, 0, 1024 }, QS_PART_FULL },
	{ { "warp", QS_WARP, 0, 1024 }, QS_PART_FULL },
	{ { "half_warp", QS_HALF_WARP, 0, 1024 }, QS_PART_FULL },
	{ { "sub_warp", QS_SUB_WARP, 0, 1024 }, QS_PART_FULL },
	{ { "multilevel", QS_MULTILEVEL, 0, 1024 }, QS_PART_FULL },
	{ { "sf z=8", QS_SF, 8, 1024 }, QS_PART_FULL },
	{ { "sf z=8, device", QS_SF, 8, 1024 }, QS_PART_DEVICE },
	{ { "sf z=8, host", QS_SF, 8, 1024 }, QS_PART_HOST },
};

/* Sizes of the sketches of a million keys. */
static const struct
{
	size_t row;
	int megabytes;
} sizes[] = { { 3, 1 }, { 4, 1 }, { 4, 16 } };

/* ---- one sketch ---- */

/* Make a sketch of the stream; free it by qs_free(). */
static qs_sketch
build(const probed *row, const workload *w, double load, uint64_t seed)
{
	qs_sketch sk, part;

	subject_init(&sk, &row->subject, w->rows, load, seed);
	bench_check(qs_engine_cpu.insert(&sk, w->fingerprint, w->count, w->keys));
	if (row->part == QS_PART_FULL)
		return sk;
	bench_check(qs_sf_part(&part, &sk, row->part, &bench_memory));
	qs_free(&sk);
	return part;
}

/* True if no key's estimate exceeds its count by more than the error. */
static bool
holds(const workload *w, const int64_t *estimate, int64_t error)
{
	uint32_t i;

	for (i = 0; i < w->keys; i++)
		if (estimate[i] - w->count[i] > error)
			return false;
	return true;
}

/* ---- many seeds ---- */

typedef struct result
{
	int held[LEVELS]; /* number of seeds that hold */
} result;

static void
add_sketch(result *r, const qs_sketch *sk, const workload *w)
{
	int64_t *estimate = bench_alloc(w->keys, sizeof(int64_t));
	qs_noise noise;
	size_t level;

	bench_check(qs_noise_init(&noise, sk, w->keys, &bench_memory));
	qs_query(sk, w->fingerprint, w->keys, estimate);
	for (level = 0; level < LEVELS; level++)
		r->held[level] += holds(w, estimate, qs_noise_error(&noise, levels[level], w->keys));
	qs_noise_free(&noise);
	free(estimate);
}

static result
measure(const probed *row, size_t stream, double load)
{
	result r = { 0 };
	uint64_t seed;

	for (seed = 1; seed <= SEEDS; seed++)
	{
		workload w;
		qs_sketch sk;
		int i;

		workload_init(&w, KEYS, ROWS, streams[stream].theta, seed);
		for (i = 0; i < streams[stream].heavy; i++)
			w.count[i] += (int64_t) (ROWS * SHARE);
		w.rows += ROWS * SHARE * streams[stream].heavy;
		sk = build(row, &w, load, seed);
		add_sketch(&r, &sk, &w);
		qs_free(&sk);
		workload_free(&w);
	}
	return r;
}

/* Return the least number of seeds that must hold; a smaller number has a chance below CHANCE. */
static int
fewest(double confidence)
{
	double chance = pow(1 - confidence, SEEDS);
	double sum = chance;
	int held = 0;

	while (sum < CHANCE)
	{
		chance *= confidence / (1 - confidence) * (SEEDS - held) / (held + 1);
		sum += chance;
		held++;
	}
	return held;
}

static void
report(const probed *row, size_t stream, double load)
{
	result r = measure(row, stream, load);
	size_t level;

	for (level = 0; level < LEVELS; level++)
		report_check(r.held[level] >= fewest(levels[level]),
					 "%s, %s, load %.0f: held for all keys in %d of %d seeds of %.2f",
					 row->subject.name, streams[stream].name, load, r.held[level], SEEDS,
					 levels[level]);
}

/* ---- a million keys ---- */

/* Sort the largest estimates first. */
static int
compare_estimates(const void *a, const void *b)
{
	int64_t x = ((const int64_t *) a)[0];
	int64_t y = ((const int64_t *) b)[0];

	return (x < y) - (x > y);
}

/*
 * Write the error, and how many lower bounds are above the true count, among all keys and among the
 * PICKED keys with the largest estimates.  Also write the wrong bound whose estimate is largest,
 * and how many of the PICKED keys have a lower bound above 0.
 */
static void
report_bounds(FILE *out, const workload *w, const int64_t (*estimate)[2], int64_t error)
{
	uint32_t beyond = 0;
	uint32_t picked = 0;
	uint32_t positive = 0;
	uint32_t worst = w->keys;
	uint32_t i;

	for (i = 0; i < w->keys; i++)
	{
		bool wrong = estimate[i][0] - estimate[i][1] > error;

		worst = wrong && beyond == 0 ? i : worst;
		beyond += wrong;
		picked += wrong && i < PICKED;
		positive += estimate[i][0] > error && i < PICKED;
	}
	fprintf(out, " %lld | %u | %u |", (long long) error, beyond, picked);
	if (beyond > 0)
		fprintf(out, " %lld / %lld |", (long long) estimate[worst][1],
				(long long) (estimate[worst][0] - error));
	else
		fprintf(out, " |");
	fprintf(out, " %u |\n", positive);
}

static void
report_many(FILE *out, const probed *row, int megabytes)
{
	static const uint64_t probes[] = { 1, 1000, MANY_KEYS };
	int64_t(*estimate)[2] = bench_alloc(MANY_KEYS, sizeof(*estimate));
	qs_noise noise;
	workload w;
	qs_sketch sk;
	uint32_t i;

	workload_init(&w, MANY_KEYS, MANY_ROWS, 1.0, 1);
	sk = build(row, &w, w.rows * 3 * 4 / (megabytes * 1048576.0), 1);
	bench_check(qs_noise_init(&noise, &sk, MANY_KEYS, &bench_memory));
	for (i = 0; i < w.keys; i++)
	{
		estimate[i][0] = qs_estimate(&sk, w.fingerprint[i]);
		estimate[i][1] = w.count[i];
	}
	qsort(estimate, w.keys, sizeof(*estimate), compare_estimates);
	for (i = 0; i < COUNT_OF(probes); i++)
	{
		fprintf(out, "| %s, %d MB | %llu |", row->subject.name, megabytes,
				(unsigned long long) probes[i]);
		report_bounds(out, &w, (const int64_t(*)[2]) estimate,
					  qs_noise_error(&noise, 0.95, probes[i]));
	}
	qs_noise_free(&noise);
	qs_free(&sk);
	workload_free(&w);
	free(estimate);
}

void
accuracy_probes(void)
{
	FILE *out = report_open("probes-many");
	size_t stream, load, row;

	for (stream = 0; stream < COUNT_OF(streams); stream++)
		for (load = 0; load < COUNT_OF(loads); load++)
			for (row = 0; row < COUNT_OF(rows); row++)
				report(&rows[row], stream, loads[load]);
	fprintf(out,
			"| structure | keys => | error | wrong lower bounds: of all | of the 1000 largest "
			"estimates | the first: count / lower bound | lower bounds above 0: of the 1000 |\n"
			"|---|---|---|---|---|---|---|\n");
	for (row = 0; row < COUNT_OF(sizes); row++)
		report_many(out, &rows[sizes[row].row], sizes[row].megabytes);
	fclose(out);
}
