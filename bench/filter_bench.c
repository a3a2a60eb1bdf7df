/*
 * filter_bench.c
 *		"make filter-bench": how fast filters are, without PostgreSQL.
 *
 * Measures processor time, not elapsed time.  The variants of a table take
 * turns, and the best of ROUNDS counts, so ratios hold on a busy machine.
 * Writes its tables into docs/engineering/filter-measurements.md and the data of the figure to
 * build/bench.
 *
 * Baselines: the paper's insertion in its fastest form, with one coin for each
 * position (a position is computed only if its coin says yes); and a usual
 * Bloom filter, such as PostgreSQL's lib/bloomfilter.c: two halves of a 64-bit
 * hash, positions by enhanced double hashing, one key a call.  The usual Bloom
 * filter uses our hash here, which costs less than PostgreSQL's.
 *
 * bench/filter_bench.c
 */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/isa.h"
#include "filter_workload.h"

#define DOCUMENT "docs/engineering/filter-measurements.md"
#define ROUNDS   5

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
insert_by_hashes(double frequency, const uint64_t *key, FILE *table, FILE *data)
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
		fprintf(table, "| %.0f | %d | %.0f | %.2f | %.1f |", frequency, hashes[i],
				(double) f.params.m / 8192, f.params.k / frequency, coins / ROWS * 1e9);
		fprintf(data, "%d %.2f", hashes[i], coins / ROWS * 1e9);
		for (s = 0; s < SETS; s++)
		{
			fprintf(table, " %.1f |", ours[s] / ROWS * 1e9);
			fprintf(data, " %.2f", ours[s] / ROWS * 1e9);
		}
		fprintf(table, " %.1f |\n", coins / ours[SETS - 1]);
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
	FILE *table = report_open("filter-insert");
	FILE *data = report_open("filter-insert.dat");

	fprintf(table,
			"| f | k | kB | k p | coins, ns a row | scalar | AVX2 | AVX-512 | coins / AVX-512 |\n"
			"|---|---|---|---|---|---|---|---|---|\n");
	insert_by_hashes(50, key, table, data);
	insert_by_hashes(1000, key, table, data);
	fclose(table);
	fclose(data);
}

/* ---- lookups of frequencies ---- */

#define LOOKUPS 20000

static void
lookups(const uint64_t *key)
{
	static const double rows[] = { 1e5, 1e6, 1e7 };
	FILE *table = report_open("filter-query");
	uint32_t *set = bench_alloc(LOOKUPS, sizeof(uint32_t));
	size_t i, s;
	int round;

	fprintf(
		table,
		"| kB | scalar, ns a key | AVX2 | AVX-512 | scalar / AVX-512 |\n|---|---|---|---|---|\n");
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
		fprintf(table, "| %.0f | %.0f | %.0f | %.0f | %.1f |\n", (double) f.params.m / 8192,
				best[0] / LOOKUPS * 1e9, best[1] / LOOKUPS * 1e9, best[2] / LOOKUPS * 1e9,
				best[0] / best[2]);
		qf_free(&f);
	}
	free(set);
	fclose(table);
}

/* ---- Bloom filters ---- */

#define BLOOM_KEYS   10000000
#define BLOOM_BITS   (UINT64_C(1) << 27) /* 16 MB */
#define BLOOM_HASHES 9                   /* the best number for BLOOM_KEYS keys */
#define BLOOM_ROUNDS 3

typedef struct usual_bloom
{
	uint64_t m; /* a power of two */
	int k;
	uint8_t *bits;
} usual_bloom;

/* Not inlined, because functions of a library are not. */
static __attribute__((noinline)) void
usual_hashes(const usual_bloom *b, uint64_t key, uint32_t *hash)
{
	uint64_t h = qb_mix64(key + QB_ROW_STEP);
	uint32_t mask = (uint32_t) (b->m - 1);
	uint32_t x = (uint32_t) h & mask;
	uint32_t y = (uint32_t) (h >> 32) & mask;
	int i;

	hash[0] = x;
	for (i = 1; i < b->k; i++)
	{
		x = (x + y) & mask;
		y = (y + (uint32_t) i) & mask;
		hash[i] = x;
	}
}

static __attribute__((noinline)) void
usual_add(usual_bloom *b, uint64_t key)
{
	uint32_t hash[BLOOM_HASHES];
	int i;

	usual_hashes(b, key, hash);
	for (i = 0; i < b->k; i++)
		b->bits[hash[i] / 8] |= (uint8_t) (1 << hash[i] % 8);
}

static __attribute__((noinline)) bool
usual_contains(const usual_bloom *b, uint64_t key)
{
	uint32_t hash[BLOOM_HASHES];
	int i;

	usual_hashes(b, key, hash);
	for (i = 0; i < b->k; i++)
		if (!qf_bit(b->bits, hash[i]))
			return false;
	return true;
}

/* Times of insertion, present keys, absent keys. */
typedef struct bloom_times
{
	double insert, present, absent;
} bloom_times;

static void
time_usual(bloom_times *t, usual_bloom *b, const uint64_t *key)
{
	volatile uint64_t found = 0;
	double start;
	size_t i;

	memset(b->bits, 0, b->m / 8);
	start = now();
	for (i = 0; i < BLOOM_KEYS; i++)
		usual_add(b, key[i]);
	keep_best(&t->insert, now() - start);
	start = now();
	for (i = 0; i < BLOOM_KEYS; i++)
		found += usual_contains(b, key[i]);
	keep_best(&t->present, now() - start);
	start = now();
	for (i = 0; i < BLOOM_KEYS; i++)
		found += usual_contains(b, ~key[i]);
	keep_best(&t->absent, now() - start);
}

static void
time_ours(bloom_times *t, qf_filter *f, const uint64_t *key, const uint64_t *other, bool *found)
{
	double start;

	keep_best(&t->insert, time_insert(f, key, BLOOM_KEYS));
	start = now();
	qf_engine_cpu.contains(f, key, BLOOM_KEYS, found);
	keep_best(&t->present, now() - start);
	start = now();
	qf_engine_cpu.contains(f, other, BLOOM_KEYS, found);
	keep_best(&t->absent, now() - start);
}

static void
report_bloom(FILE *table, const char *name, const bloom_times *t, const bloom_times *usual)
{
	double ns = 1e9 / BLOOM_KEYS;

	fprintf(table, "| %s | %.1f | %.1f | %.1f | %.2f | %.2f | %.2f |\n", name, t->insert * ns,
			t->present * ns, t->absent * ns, usual->insert / t->insert, usual->present / t->present,
			usual->absent / t->absent);
	printf("bloom, %s: %.1f, %.1f, %.1f ns a key, ratios %.2f, %.2f, %.2f\n", name, t->insert * ns,
		   t->present * ns, t->absent * ns, usual->insert / t->insert, usual->present / t->present,
		   usual->absent / t->absent);
}

static void
bloom(const uint64_t *key)
{
	static const char *const names[SETS] = { "standard, scalar", "standard, AVX2",
											 "standard, AVX-512" };
	FILE *table = report_open("filter-bloom-speed");
	usual_bloom b = { BLOOM_BITS, BLOOM_HASHES, bench_memory.alloc(NULL, BLOOM_BITS / 8) };
	qf_params p = { .m = BLOOM_BITS, .k = BLOOM_HASHES };
	qf_params blocked = { .m = BLOOM_BITS, .k = BLOOM_HASHES, .layout = QF_BLOCKED };
	bloom_times usual = { 0, 0, 0 }, ours[SETS] = { { 0, 0, 0 } }, ours_blocked = { 0, 0, 0 };
	uint64_t *other = bench_alloc(BLOOM_KEYS, sizeof(uint64_t));
	bool *found = bench_alloc(BLOOM_KEYS, sizeof(bool));
	qf_filter f, g;
	size_t i, s;
	int round;

	for (i = 0; i < BLOOM_KEYS; i++)
		other[i] = ~key[i];
	qf_init(&f, &p, &bench_memory);
	bench_check(qf_make_dense(&f));
	qf_init(&g, &blocked, &bench_memory);
	bench_check(qf_make_dense(&g));
	for (round = 0; round < BLOOM_ROUNDS; round++)
	{
		time_usual(&usual, &b, key);
		for (s = 0; s < SETS; s++)
			if (qb_isa_use(sets[s]))
				time_ours(&ours[s], &f, key, other, found);
		time_ours(&ours_blocked, &g, key, other, found);
	}
	fprintf(table,
			"| | insertion, ns a key | present keys | absent keys | ratio: insertion | present | "
			"absent |\n|---|---|---|---|---|---|---|\n");
	report_bloom(table, "double hashing, a key at a time", &usual, &usual);
	for (s = 0; s < SETS; s++)
		if (ours[s].insert > 0)
			report_bloom(table, names[s], &ours[s], &usual);
	report_bloom(table, "blocked, any instructions", &ours_blocked, &usual);
	bench_memory.release(NULL, b.bits);
	qf_free(&f);
	qf_free(&g);
	free(other);
	free(found);
	fclose(table);
}

int
main(void)
{
	static const char *const tables[] = { "filter-insert", "filter-query", "filter-bloom-speed" };
	uint64_t *key = bench_alloc(BLOOM_KEYS, sizeof(uint64_t));
	uint64_t state = 1;
	size_t i;

	for (i = 0; i < BLOOM_KEYS; i++)
		key[i] = bench_random(&state);
	insertion(key);
	lookups(key);
	bloom(key);
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		report_publish(tables[i], DOCUMENT);
	free(key);
	return 0;
}
