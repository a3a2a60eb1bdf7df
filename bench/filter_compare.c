/*
 * filter_compare.c
 *		Measures filters on the paper's four distributions, and compares filters with sketches.
 *
 * bench/filter_compare.c
 */
#include <math.h>
#include <stdlib.h>

#include "filter_workload.h"

/* ---- the paper's distributions ---- */

typedef struct distribution
{
	const char *name;
	uint32_t keys;
	double mean;
	double (*draw)(uint64_t *state, double mean);
} distribution;

static double
constant(uint64_t *state, double mean)
{
	(void) state;
	return mean;
}

static double
uniform(uint64_t *state, double mean)
{
	return 1 + floor(bench_unit(state) * (2 * mean - 1));
}

/* Return a normal number, by Box and Muller.  The standard deviation is a fifth of the mean. */
static double
gaussian(uint64_t *state, double mean)
{
	double radius = sqrt(-2 * log(1 - bench_unit(state)));
	double x = radius * cos(2 * acos(-1) * bench_unit(state));

	return fmax(1, rint(mean + x * mean / 5));
}

static double
poisson(uint64_t *state, double mean)
{
	return fmax(1, (double) bench_poisson(state, mean));
}

static const distribution distributions[] = {
	{ "uniform", 2000, 1000, constant }, /* all keys have the same frequency */
	{ "random", 2000, 500, uniform },
	{ "gaussian", 2000, 500, gaussian },
	{ "poisson", 2000, 50, poisson },
};

#define DISTRIBUTIONS (sizeof(distributions) / sizeof(distributions[0]))

/* Return the fingerprint (FNV-1a) of a random string of 10 to 50 letters, like the paper's keys. */
static uint64_t
string_key(uint64_t *state)
{
	uint64_t hash = UINT64_C(0xCBF29CE484222325);
	int letters = 10 + (int) (bench_unit(state) * 41);

	for (; letters > 0; letters--)
	{
		hash ^= 'a' + (uint64_t) (bench_unit(state) * 26);
		hash *= UINT64_C(0x100000001B3);
	}
	return hash;
}

typedef struct outcome
{
	uint64_t *key;
	double *count;
	double *estimate;
	double *error; /* relative error of each key */
	double *sd;    /* standard deviation of each error, by theory */
} outcome;

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

/*
 * Return the greatest distance between the distribution of errors and a normal distribution.
 * Errors have discrete values, because numbers of positions are integers.  So half of the equal
 * errors count as smaller.
 */
static double
distance_from_theory(const outcome *o, uint32_t count)
{
	double *scaled = bench_alloc(count, sizeof(double));
	double most = 0;
	uint32_t i, end;

	for (i = 0; i < count; i++)
		scaled[i] = o->error[i] / o->sd[i];
	qsort(scaled, count, sizeof(double), by_value);
	for (i = 0; i < count; i = end)
	{
		for (end = i + 1; end < count && scaled[end] <= scaled[i] + 1e-9; end++)
			;
		most = fmax(most, fabs((i + end) / 2.0 / count - erfc(-scaled[i] / sqrt(2)) / 2));
	}
	free(scaled);
	return most;
}

static void
measure(const distribution *d, outcome *o)
{
	uint64_t state = qb_mix64(d->keys + (uint64_t) d->mean);
	double rows = 0;
	qf_scale scale;
	feeder feed;
	qf_filter f;
	uint32_t i;

	for (i = 0; i < d->keys; i++)
	{
		o->key[i] = string_key(&state);
		o->count[i] = d->draw(&state, d->mean);
		rows += o->count[i];
	}
	filter_start(&f, QF_BALANCED, rows, d->mean, 0.1, 0);
	feeder_start(&feed, &f, 3);
	for (i = 0; i < d->keys; i++)
		feed_rows(&feed, o->key[i], (uint64_t) o->count[i]);
	feeder_end(&feed);
	qf_scale_make(&scale, &f);
	for (i = 0; i < d->keys; i++)
	{
		o->estimate[i] = qf_estimate(&scale, filter_set_of(&f, o->key[i]));
		o->error[i] = o->estimate[i] / o->count[i] - 1;
		o->sd[i] = qf_relative_sd(&scale, o->count[i]);
	}
	qf_free(&f);
}

static void
report_distribution(const distribution *d, const outcome *o)
{
	double distance = distance_from_theory(o, d->keys);
	double squares = 0;
	uint32_t i;

	for (i = 0; i < d->keys; i++)
		squares += pow(o->error[i] / o->sd[i], 2) / d->keys;
	/* 99 of 100 samples of 2,000 normal errors are within this distance */
	report_check(distance < 1.63 / sqrt(d->keys) && fabs(sqrt(squares) - 1) < 0.05,
				 "%s: errors %.3f from theory's distribution, sd %.3f of theory's", d->name,
				 distance, sqrt(squares));
}

void
accuracy_distributions(void)
{
	size_t n;

	for (n = 0; n < DISTRIBUTIONS; n++)
	{
		const distribution *d = &distributions[n];
		outcome o = { bench_alloc(d->keys, 8), bench_alloc(d->keys, 8), bench_alloc(d->keys, 8),
					  bench_alloc(d->keys, 8), bench_alloc(d->keys, 8) };

		measure(d, &o);
		report_distribution(d, &o);
		free(o.key);
		free(o.count);
		free(o.estimate);
		free(o.error);
		free(o.sd);
	}
}

/* ---- a filter and a sketch of equal memory ---- */

#define FREQUENCY 1000.0
#define REPLAYED  5 /* every REPLAYED-th row is inserted twice, unless it fills a batch */

typedef struct stream
{
	const char *name;
	uint32_t keys;
	double rows;
	double theta;
	bool replayed;
} stream;

/* Errors of three classes of keys, relative to the count, or for rare keys to FREQUENCY. */
typedef struct errors
{
	moments top, near, rare;
} errors;

/* Add an error to its class, if it has one.  The estimate is clipped at 0. */
static void
add_error(errors *e, const workload *w, uint32_t i, double estimate)
{
	double truth = (double) w->count[i];
	double off = fabs(fmax(estimate, 0) - truth);

	if (i < 100 && truth > 2 * FREQUENCY)
		moments_add(&e->top, off / truth);
	else if (truth >= FREQUENCY / 2 && truth <= 2 * FREQUENCY)
		moments_add(&e->near, off / truth);
	else if (truth < FREQUENCY / 10)
		moments_add(&e->rare, off / FREQUENCY);
}

static void
filter_errors(errors *e, const stream *s, const workload *w, uint64_t *bytes)
{
	uint64_t key[QF_BATCH], id[QF_BATCH];
	uint64_t row = 0;
	size_t count = 0;
	qf_scale scale;
	qf_filter f;
	uint32_t i;
	int64_t c;

	filter_start(&f, QF_BALANCED, s->rows, FREQUENCY, 0.1, 0);
	for (i = 0; i < w->keys; i++)
		for (c = 0; c < w->count[i]; c++)
		{
			/* rows have ids, so a repeated row sets the same bits */
			key[count] = w->fingerprint[i];
			id[count++] = row++;
			if (s->replayed && row % REPLAYED == 0 && count < QF_BATCH)
			{
				key[count] = key[count - 1];
				id[count] = id[count - 1];
				count++;
			}
			if (count == QF_BATCH || row == (uint64_t) w->rows)
			{
				qf_batch b = { .fingerprint = key, .row = id, .count = count };

				bench_check(qf_engine_cpu.insert(&f, &b));
				count = 0;
			}
		}
	qf_scale_make(&scale, &f);
	for (i = 0; i < w->keys; i++)
		add_error(e, w, i, qf_estimate(&scale, filter_set_of(&f, w->fingerprint[i])));
	*bytes = f.params.m / 8;
	qf_free(&f);
}

static void
sketch_errors(errors *e, const stream *s, const workload *w, uint64_t bytes)
{
	qs_noise noise;
	qs_params p;
	qs_sketch sk;
	uint32_t i;

	bench_check(qs_params_make(
		&p, &(qs_choice){
				.structure = QS_MULTILEVEL, .size = bytes, .depth = 3, .z = 8, .masks = 1024 }));
	qs_init(&sk, &p, &bench_memory);
	for (i = 0; i < w->keys; i++)
	{
		int64_t weight = w->count[i] + (s->replayed ? w->count[i] / REPLAYED : 0);

		bench_check(qs_engine_cpu.insert(&sk, &w->fingerprint[i], &weight, 1));
	}
	bench_check(qs_noise_init(&noise, &sk, 1, &bench_memory));
	for (i = 0; i < w->keys; i++)
		add_error(e, w, i, qs_estimate_unbiased(&sk, &noise, w->fingerprint[i]));
	qs_noise_free(&noise);
	qs_free(&sk);
}

/*
 * Double the size of a sketch until its mean error for keys near FREQUENCY is at most "error".
 * Return the size; 0: no size below QS_SIZE_MAX is enough.
 */
static uint64_t
sketch_as_good(const stream *s, const workload *w, double error)
{
	uint64_t bytes;

	for (bytes = QS_SIZE_MIN; bytes < QS_SIZE_MAX; bytes *= 2)
	{
		errors e = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } };

		sketch_errors(&e, s, w, bytes);
		if (moments_mean(&e.near) <= error)
			return bytes;
	}
	return 0;
}

static void
print_share(FILE *table, const moments *m)
{
	if (m->count > 0)
		fprintf(table, " %.2f %% |", 100 * moments_mean(m));
	else
		fprintf(table, " - |");
}

void
accuracy_against_sketches(void)
{
	static const stream streams[] = {
		{ "10,000 keys, equally frequent", 10000, 1e7, 0, false },
		{ "1,000,000 keys, Zipf 1.0", 1000000, 1e7, 1.0, false },
		{ "3,000,000 keys, Zipf 0.8", 3000000, 1e7, 0.8, false },
		{ "3,000,000 keys, Zipf 0.8, a fifth of the rows twice", 3000000, 1e7, 0.8, true },
	};
	FILE *table = report_open("filter-sketches");
	size_t n;

	fprintf(table,
			"| stream | bytes | most frequent 100: filter | sketch | near f: filter | sketch | "
			"rare, of f: filter | sketch | bytes of a sketch as good near f |\n"
			"|---|---|---|---|---|---|---|---|---|\n");
	for (n = 0; n < sizeof(streams) / sizeof(streams[0]); n++)
	{
		errors filter = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } };
		errors sketch = filter;
		uint64_t bytes;
		workload w;

		workload_init(&w, streams[n].keys, streams[n].rows, streams[n].theta, 1);
		filter_errors(&filter, &streams[n], &w, &bytes);
		sketch_errors(&sketch, &streams[n], &w, bytes);
		fprintf(table, "| %s | %llu |", streams[n].name, (unsigned long long) bytes);
		print_share(table, &filter.top);
		print_share(table, &sketch.top);
		print_share(table, &filter.near);
		print_share(table, &sketch.near);
		print_share(table, &filter.rare);
		print_share(table, &sketch.rare);
		bytes =
			streams[n].replayed ? 0 : sketch_as_good(&streams[n], &w, moments_mean(&filter.near));
		fprintf(table, bytes ? " %llu |\n" : " - |\n", (unsigned long long) bytes);
		report_check(filter.near.count > 0 && moments_mean(&filter.near) < 0.12,
					 "%s: filter near f off by %.3f on average, sketch by %.3f", streams[n].name,
					 moments_mean(&filter.near), moments_mean(&sketch.near));
		workload_free(&w);
	}
	fclose(table);
}
