/*
 * filter_bench.c
 *		"make filter-bench": speed of filters, without PostgreSQL.
 *
 * Measures processor time, not elapsed time.  The compared variants run alternately, and the
 * least of ROUNDS times is reported, so that ratios also hold on a busy machine.  Prints the
 * results, and writes the data of a figure to build/bench.
 *
 * The baseline is the fastest form of the paper's insertion: one random number for each position,
 * and a position is computed only if its number is less than p.  pg_filters.c measures Bloom
 * filters inside PostgreSQL, together with PostgreSQL's Bloom filter.
 *
 * bench/filter_bench.c
 */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/isa.h"
#include "filter_workload.h"

#define ROUNDS 5

static const char *const sets[] = { "scalar", "avx2", "avx512" };

#define SETS (sizeof(sets) / sizeof(sets[0]))

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static void
keep_best(double *best, double seconds)
{
	if (*best <= 0 || seconds < *best)
		*best = seconds;
}

static void
empty(qf_filter *f)
{
	memset(f->bits, 0, qf_words(&f->params) * 8);
	f->ones = 0;
	f->rows = 0;
}

static double
time_insert(qf_filter *f, const uint64_t *key, size_t count)
{
	double start;
	size_t i;

	empty(f);
	start = now();
	for (i = 0; i < count; i += QF_BATCH)
	{
		qf_batch b = { .fingerprint = key + i,
					   .count = count - i < QF_BATCH ? count - i : QF_BATCH,
					   .nonce = 1,
					   .first_row = i };

		bench_check(qf_engine_cpu.insert(f, &b));
	}
	return now() - start;
}

/* ---- insertion against the number of positions ---- */

#define ROWS 500000

static double
time_coins(qf_filter *f, const uint64_t *key, size_t count)
{
	uint64_t p = -f->params.q;
	uint64_t nonce_key = qf_nonce_key(1);
	double start;
	size_t i;

	empty(f);
	start = now();
	for (i = 0; i < count; i++)
	{
		uint64_t h = qf_hash(key[i], f->seed_key);
		uint64_t base = qf_draw_base(nonce_key, i);
		uint32_t j;

		for (j = 0; j < f->params.k; j++)
			if (qf_draw(base, j) < p)
				f->ones += qf_set_bit(f->bits, qf_position(h, j, f->params.m));
	}
	return now() - start;
}

static void
insert_by_hashes(double frequency, const uint64_t *key, FILE *data)
{
	static const int hashes[] = { 25, 50, 100, 200, 400, 800 };
	size_t i, s;
	int round;

	for (i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++)
	{
		double coins = 0, ours[SETS] = { 0 };
		qf_filter f;

		filter_start(&f, QF_BALANCED, 1e6, frequency, 0.1, hashes[i]);
		bench_check(qf_make_dense(&f));
		for (round = 0; round < ROUNDS; round++)
		{
			keep_best(&coins, time_coins(&f, key, ROWS / 10) * 10);
			for (s = 0; s < SETS; s++)
				if (qb_isa_use(sets[s]))
					keep_best(&ours[s], time_insert(&f, key, ROWS));
		}
		fprintf(data, "%d %.2f", hashes[i], coins / ROWS * 1e9);
		for (s = 0; s < SETS; s++)
			fprintf(data, " %.2f", ours[s] / ROWS * 1e9);
		fprintf(data, "\n");
		printf("f %.0f, k %d: coins %.1f ns a row, ours %.1f, ratio %.1f\n", frequency, hashes[i],
			   coins / ROWS * 1e9, ours[SETS - 1] / ROWS * 1e9, coins / ours[SETS - 1]);
		qf_free(&f);
	}
	fprintf(data, "\n\n");
}

static void
insertion(const uint64_t *key)
{
	FILE *data = report_open("filter-insert.dat");

	insert_by_hashes(50, key, data);
	insert_by_hashes(1000, key, data);
	fclose(data);
}

/* ---- lookups of frequencies ---- */

#define LOOKUPS 20000

static void
lookups(const uint64_t *key)
{
	static const double rows[] = { 1e5, 1e6, 1e7 };
	uint32_t *set = bench_alloc(LOOKUPS, sizeof(uint32_t));
	size_t i, s;
	int round;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
	{
		double best[SETS] = { 0 };
		qf_filter f;

		filter_start(&f, QF_BALANCED, rows[i], 1000, 0.1, 0);
		bench_check(qf_make_dense(&f));
		time_insert(&f, key, ROWS);
		for (round = 0; round < ROUNDS; round++)
			for (s = 0; s < SETS; s++)
				if (qb_isa_use(sets[s]))
				{
					double start = now();

					qf_engine_cpu.query(&f, key, LOOKUPS, set);
					keep_best(&best[s], now() - start);
				}
		printf("lookups in %.0f kB: scalar %.0f ns a key, AVX2 %.0f, AVX-512 %.0f\n",
			   (double) f.params.m / 8192, best[0] / LOOKUPS * 1e9, best[1] / LOOKUPS * 1e9,
			   best[2] / LOOKUPS * 1e9);
		qf_free(&f);
	}
	free(set);
}

int
main(void)
{
	uint64_t *key = bench_alloc(ROWS, sizeof(uint64_t));
	uint64_t state = 1;
	size_t i;

	for (i = 0; i < ROWS; i++)
		key[i] = bench_random(&state);
	insertion(key);
	lookups(key);
	free(key);
	return 0;
}
