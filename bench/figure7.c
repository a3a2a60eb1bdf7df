/*
 * figure7.c
 *		Errors of all structures by load, compared with theory and with the paper.
 *
 * As in the paper's Fig. 7, keys are uniform random 32-bit numbers, nearly all distinct.
 * Sketches have equal device memory (thread rows, buckets, low buckets, slim table).  The
 * mean relative error is |e - a| / a over the present keys.
 *
 * bench/figure7.c
 */
#include <math.h>
#include <stdlib.h>

#include "accuracy.h"
#include "theory.h"
#include "workload.h"

#define KEYS  (UINT32_C(1) << 22)
#define SEEDS 3

static const double loads[] = { 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4 };

#define LOADS (sizeof(loads) / sizeof(loads[0]))

/*
 * The measured sketches.  "ratio" is a ratio of the paper: the error of thread divided by the error
 * of the sketch, at loads 0.5 and 1; 0: no ratio.  "within" is the largest allowed deviation from
 * theory.
 */
static const struct
{
	subject subject;
	bool fat;
	double ratio[2];
	double within;
} rows[] = {
	{ { "thread", QS_THREAD, 0, 1024 }, false, { 0 }, .03 },
	{ { "warp", QS_WARP, 0, 1024 }, false, { 0 }, .03 },
	{ { "warp, H = 65536", QS_WARP, 0, 65536 }, false, { 0 }, .015 },
	{ { "half_warp", QS_HALF_WARP, 0, 1024 }, false, { 0 }, .03 },
	{ { "sub_warp", QS_SUB_WARP, 0, 1024 }, false, { 0 }, .03 },
	{ { "multilevel", QS_MULTILEVEL, 0, 1024 }, false, { 9.48, 10.5 }, .03 },
	{ { "sf z=3", QS_SF, 3, 1024 }, false, { 3.6, 3.6 }, .03 },
	{ { "sf z=3, host", QS_SF, 3, 1024 }, true, { 0 }, .03 },
	{ { "sf z=8", QS_SF, 8, 1024 }, false, { 12.5, 13.4 }, .1 },
	{ { "sf z=8, host", QS_SF, 8, 1024 }, true, { 0 }, .1 },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static double measured[ROWS][LOADS];
static uint64_t high_buckets[LOADS]; /* number of high buckets of multilevel */

/* ---- keys: a stream, and its distinct keys with their counts ---- */

typedef struct stream
{
	uint64_t *key;
	uint64_t *distinct;
	uint32_t *count;
	uint32_t used;
} stream;

static int
compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a;
	uint64_t y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

static void
stream_init(stream *s, uint64_t seed)
{
	uint64_t state = qb_mix64(seed);
	uint32_t i;

	s->key = bench_alloc(KEYS, sizeof(uint64_t));
	s->distinct = bench_alloc(KEYS, sizeof(uint64_t));
	s->count = bench_alloc(KEYS, sizeof(uint32_t));
	s->used = 0;
	for (i = 0; i < KEYS; i++)
		s->key[i] = (uint32_t) bench_random(&state);
	memcpy(s->distinct, s->key, KEYS * sizeof(uint64_t));
	qsort(s->distinct, KEYS, sizeof(uint64_t), compare_keys);
	for (i = 0; i < KEYS; i++)
	{
		if (i == 0 || s->distinct[i] != s->distinct[s->used - 1])
			s->distinct[s->used++] = s->distinct[i];
		s->count[s->used - 1]++;
	}
}

static void
stream_free(stream *s)
{
	free(s->key);
	free(s->distinct);
	free(s->count);
}

/* ---- measuring ---- */

static double
mean_relative_error(const qs_sketch *sk, const stream *s)
{
	int64_t estimate[QS_BATCH];
	double sum = 0;
	uint32_t i, k;

	for (i = 0; i < s->used; i += QS_BATCH)
	{
		uint32_t n = s->used - i < QS_BATCH ? s->used - i : QS_BATCH;

		qs_query(sk, s->distinct + i, n, estimate);
		for (k = 0; k < n; k++)
			sum += (double) (estimate[k] - s->count[i + k]) / s->count[i + k];
	}
	return sum / s->used;
}

/* Measure the sketch of a row.  If the next row is "fat", measure the host part for that row. */
static void
measure(size_t row, size_t load, const stream *s, uint64_t seed)
{
	qs_sketch sk;

	subject_init(&sk, &rows[row].subject, KEYS, loads[load], seed);
	bench_check(qs_engine_cpu.insert(&sk, s->key, NULL, KEYS));
	measured[row][load] += mean_relative_error(&sk, s) / SEEDS;
	if (rows[row].subject.structure == QS_MULTILEVEL)
		high_buckets[load] += sk.extra_used;
	if (row + 1 < ROWS && rows[row + 1].fat)
	{
		qs_sketch host = bench_host(&sk);

		measured[row + 1][load] += mean_relative_error(&host, s) / SEEDS;
	}
	qs_free(&sk);
}

static void
measure_all(void)
{
	uint64_t seed;
	size_t row, load;

	for (seed = 1; seed <= SEEDS; seed++)
	{
		stream s;

		stream_init(&s, seed);
		for (load = 0; load < LOADS; load++)
			for (row = 0; row < ROWS; row++)
				if (!rows[row].fat)
					measure(row, load, &s, seed * 100 + load);
		stream_free(&s);
	}
}

/* ---- reporting ---- */

static double
expected(size_t row, size_t load)
{
	return theory_error(rows[row].subject.structure, rows[row].subject.z, rows[row].fat,
						loads[load]);
}

static void
check_load(size_t load, int paper)
{
	size_t row;

	for (row = 0; row < ROWS; row++)
	{
		double off = measured[row][load] / expected(row, load) - 1;
		double ratio = measured[0][load] / measured[row][load];

		report_check(fabs(off) <= rows[row].within,
					 "load %.1f: %s error %.5f, %+.2f %% from theory (at most %.1f %%)",
					 loads[load], rows[row].subject.name, measured[row][load], off * 100,
					 rows[row].within * 100);
		if (rows[row].ratio[paper] > 0)
			report_check(ratio >= rows[row].ratio[paper],
						 "load %.1f: %s %.2f times as accurate as thread (paper: %.2f)",
						 loads[load], rows[row].subject.name, ratio, rows[row].ratio[paper]);
	}
}

static void
write_load_table(void)
{
	FILE *out = report_open("loads");
	size_t row, load;

	fprintf(out, "| structure |");
	for (load = 0; load < LOADS; load++)
		fprintf(out, " %.4g |", loads[load]);
	fprintf(out, "\n|---|");
	for (load = 0; load < LOADS; load++)
		fprintf(out, "---|");
	for (row = 0; row < ROWS; row++)
	{
		fprintf(out, "\n| %s |", rows[row].subject.name);
		for (load = 0; load < LOADS; load++)
			fprintf(out, " %.5f (%+.1f %%) |", measured[row][load],
					(measured[row][load] / expected(row, load) - 1) * 100);
	}
	fprintf(out, "\n");
	fclose(out);
}

/* Write the load, and then the measured and the theoretical error of each row. */
static void
write_data(void)
{
	FILE *out = report_open("accuracy.dat");
	size_t row, load;

	for (load = 0; load < LOADS; load++)
	{
		fprintf(out, "%g", loads[load]);
		for (row = 0; row < ROWS; row++)
			fprintf(out, " %g %g", measured[row][load], expected(row, load));
		fprintf(out, "\n");
	}
	fclose(out);
}

void
accuracy_figure7(void)
{
	uint64_t high = 0;
	size_t load;

	measure_all();
	check_load(1, 0);
	check_load(3, 1);
	for (load = 0; load < LOADS; load++)
		high += high_buckets[load];
	report_check(high == 0, "multilevel took %lu high buckets: all memory is the low table",
				 (unsigned long) high);
	write_load_table();
	write_data();
}
