/*
 * distinct.c
 *		Distinct keys: sketches compared with HyperLogLog in the same memory.
 *
 * HyperLogLog is the plain version (Flajolet, Fusy, Gandouet, Meunier 2007).  It has 2^b registers,
 * each with the largest rank of a hash.  The estimate is the harmonic mean or, if this mean is at
 * most 2.5 times the number of registers and a register is 0, linear counting.  Registers have 5
 * bits in 1.25 kB, and 8 bits in 16 kB.  Errors are root mean squares over 100 seeds, relative to
 * the number of keys.  A sketch that is too full has no estimate.  A sketch's errors must equal its
 * standard errors, within a fourth.  HyperLogLog's errors must be at most twice 1.04 /
 * sqrt(registers), because plain HyperLogLog is biased where it changes from linear counting to the
 * mean.
 *
 * bench/distinct.c
 */
#include <math.h>
#include <stdlib.h>

#include "accuracy.h"
#include "sketch/moments.h"
#include "workload.h"

#define SEEDS 100

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

typedef struct memory_size
{
	const char *name;
	uint64_t bytes;  /* bytes of counters */
	uint32_t log2_m; /* log2 of the number of registers; 0: without HyperLogLog */
} memory_size;

static const memory_size sizes[] = {
	{ "1.25 kB", 1280, 11 },
	{ "16 kB", 16 * 1024, 14 },
	{ "1 MB", 1024 * 1024, 0 },
};

static const struct
{
	const char *name;
	int structure;
	int depth;
} sketches[] = {
	{ "multilevel", QS_MULTILEVEL, 3 },
	{ "multilevel, depth 1", QS_MULTILEVEL, 1 },
	{ "thread", QS_THREAD, 3 },
};

static const uint64_t numbers[] = { 1000, 10000, 100000, 1000000 };

#define NUMBERS COUNT_OF(numbers)

static uint64_t
key_of(uint64_t seed, uint64_t i)
{
	return qb_mix64(seed * UINT64_C(0x9E3779B97F4A7C15) + i);
}

/* ---- HyperLogLog ---- */

static double
hll_estimate(const uint8_t *rank, uint32_t m)
{
	double sum = 0;
	uint32_t zeros = 0;
	double estimate;
	uint32_t i;

	for (i = 0; i < m; i++)
	{
		sum += ldexp(1, -rank[i]);
		zeros += rank[i] == 0;
	}
	estimate = 0.7213 / (1 + 1.079 / m) * m * m / sum;
	return estimate <= 2.5 * m && zeros > 0 ? m * log((double) m / zeros) : estimate;
}

/* Add the squares of one seed's relative errors, divided by SEEDS, for all numbers of keys. */
static void
hll_errors(uint32_t log2_m, uint64_t seed, double *squares)
{
	uint32_t m = UINT32_C(1) << log2_m;
	uint8_t *rank = bench_alloc(m, 1);
	uint64_t i = 0;
	size_t k;

	for (k = 0; k < NUMBERS; k++)
	{
		double error;

		for (; i < numbers[k]; i++)
		{
			uint64_t hash = qb_mix64(key_of(seed, i));
			uint32_t at = (uint32_t) (hash >> (64 - log2_m));
			uint8_t now = (uint8_t) (__builtin_clzll(hash << log2_m | 1) + 1);

			rank[at] = rank[at] > now ? rank[at] : now;
		}
		error = hll_estimate(rank, m) / (double) numbers[k] - 1;
		squares[k] += error * error / SEEDS;
	}
	free(rank);
}

static void
report_hll(FILE *out, const memory_size *size)
{
	double squares[NUMBERS] = { 0 };
	double most = 1.04 / sqrt(ldexp(1, (int) size->log2_m));
	uint64_t seed;
	size_t k;

	for (seed = 1; seed <= SEEDS; seed++)
		hll_errors(size->log2_m, seed, squares);
	fprintf(out, "| %s | HyperLogLog |", size->name);
	for (k = 0; k < NUMBERS; k++)
	{
		double error = sqrt(squares[k]);

		fprintf(out, " %.2f %% |", 100 * error);
		report_check(error < 2 * most,
					 "HyperLogLog of %s, %llu keys: error %.2f %%, at most %.2f %%", size->name,
					 (unsigned long long) numbers[k], 100 * error, 200 * most);
	}
	fprintf(out, "\n");
}

/* ---- sketches ---- */

/* Sums of squared errors and of squared standard errors, and the number of known estimates. */
typedef struct outcome
{
	double error;
	double reported;
	int known;
} outcome;

static void
add_keys(qs_sketch *sk, uint64_t seed, uint64_t from, uint64_t to)
{
	uint64_t key[QS_BATCH];

	while (from < to)
	{
		size_t n = 0;

		while (n < QS_BATCH && from < to)
			key[n++] = key_of(seed, from++);
		bench_check(qs_engine_cpu.insert(sk, key, NULL, n));
	}
}

static void
sketch_errors(const qs_params *params, uint64_t seed, outcome *outcomes)
{
	qs_params p = *params;
	qs_sketch sk;
	size_t k;

	p.seed = seed;
	qs_init(&sk, &p, &bench_memory);
	for (k = 0; k < NUMBERS; k++)
	{
		qs_distinct found;
		double error;

		add_keys(&sk, seed, k > 0 ? numbers[k - 1] : 0, numbers[k]);
		found = qs_distinct_keys(&sk, &bench_memory);
		if (!found.known)
			break;
		error = found.estimate / (double) numbers[k] - 1;
		outcomes[k].error += error * error;
		outcomes[k].reported += pow(found.standard_error / (double) numbers[k], 2);
		outcomes[k].known++;
	}
	qs_free(&sk);
}

static void
report_sketch(FILE *out, const memory_size *size, size_t which)
{
	outcome outcomes[NUMBERS] = { 0 };
	qs_params p;
	uint64_t seed;
	size_t k;

	bench_check(qs_params_make(&p, &(qs_choice){ .structure = sketches[which].structure,
												 .size = size->bytes,
												 .depth = sketches[which].depth,
												 .z = 8,
												 .masks = 1024 }));
	for (seed = 1; seed <= SEEDS; seed++)
		sketch_errors(&p, seed, outcomes);
	fprintf(out, "| %s | %s |", size->name, sketches[which].name);
	for (k = 0; k < NUMBERS; k++)
	{
		double error = sqrt(outcomes[k].error / outcomes[k].known);
		double reported = sqrt(outcomes[k].reported / outcomes[k].known);

		if (outcomes[k].known < SEEDS)
		{
			fprintf(out, " NULL |");
			continue;
		}
		fprintf(out, reported == 0 ? " exact |" : " %.2f %% |", 100 * error);
		report_check(reported == 0 ? error == 0
								   : error > 0.75 * reported && error < 1.25 * reported,
					 "%s of %s, %llu keys: error %.3f %%, told %.3f %%", sketches[which].name,
					 size->name, (unsigned long long) numbers[k], 100 * error, 100 * reported);
	}
	fprintf(out, "\n");
}

void
accuracy_distinct(void)
{
	FILE *out = report_open("distinct");
	size_t i, k;

	fprintf(out, "| memory | what | 1,000 keys | 10,000 | 100,000 | 1,000,000 |\n"
				 "|---|---|---:|---:|---:|---:|\n");
	for (i = 0; i < COUNT_OF(sizes); i++)
	{
		if (sizes[i].log2_m > 0)
			report_hll(out, &sizes[i]);
		for (k = 0; k < COUNT_OF(sketches); k++)
			report_sketch(out, &sizes[i], k);
	}
	fclose(out);
}
