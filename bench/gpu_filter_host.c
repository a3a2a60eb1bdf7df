/*
 * gpu_filter_host.c
 *		Filters on up to 16 cores of the host, for the benchmark of filters on a GPU.
 *
 * bench/gpu_filter_host.c
 */
#include <pthread.h>

#include "gpu_filter.h"

#define MOST_THREADS 16
#define RUNS         3

int
host_threads(void)
{
	return cores() < MOST_THREADS ? cores() : MOST_THREADS;
}

/* The slice of one thread. */
typedef struct worker
{
	qf_filter f; /* for inserting: the thread's own filter; for querying: the whole filter */
	const uint64_t *key;
	uint64_t first, count;
	uint32_t *set;
	bool *found;
	pthread_t thread;
} worker;

static void *
insert_slice(void *context)
{
	worker *w = context;
	qf_batch b = {
		.fingerprint = w->key + w->first, .count = w->count, .nonce = NONCE, .first_row = w->first
	};

	CHECK(qf_engine_cpu.insert(&w->f, &b) == QB_OK);
	return NULL;
}

static void *
query_slice(void *context)
{
	worker *w = context;

	if (w->set)
		qf_engine_cpu.query(&w->f, w->key + w->first, w->count, w->set + w->first);
	else
		qf_engine_cpu.contains(&w->f, w->key + w->first, w->count, w->found + w->first);
	return NULL;
}

static void
run_threads(worker *w, const uint64_t *key, uint64_t count, void *(*work)(void *) )
{
	int n = host_threads();

	for (int t = 0; t < n; t++)
	{
		w[t].key = key;
		w[t].first = count * (uint64_t) t / (uint64_t) n;
		w[t].count = count * (uint64_t) (t + 1) / (uint64_t) n - w[t].first;
		CHECK(pthread_create(&w[t].thread, NULL, work, &w[t]) == 0);
	}
	for (int t = 0; t < n; t++)
		pthread_join(w[t].thread, NULL);
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

double
host_insert(const qf_params *p, const uint64_t *key, uint64_t rows, qf_filter *made)
{
	double took[RUNS];

	for (int run = 0; run < RUNS; run++)
	{
		worker w[MOST_THREADS] = { 0 };
		double start = seconds();

		for (int t = 0; t < host_threads(); t++)
			qf_init(&w[t].f, p, &test_memory);
		run_threads(w, key, rows, insert_slice);
		for (int t = 1; t < host_threads(); t++)
		{
			CHECK(qf_engine_cpu.merge(&w[0].f, &w[t].f) == QB_OK);
			qf_free(&w[t].f);
		}
		took[run] = seconds() - start;
		if (run > 0)
			qf_free(made);
		*made = w[0].f;
	}
	qsort(took, RUNS, sizeof(*took), compare);
	return took[RUNS / 2];
}

double
host_query(const qf_filter *f, const uint64_t *key, uint64_t keys, uint32_t *set, bool *found)
{
	double took[RUNS];

	for (int run = 0; run < RUNS; run++)
	{
		worker w[MOST_THREADS] = { 0 };
		double start = seconds();

		for (int t = 0; t < host_threads(); t++)
		{
			w[t].f = *f;
			w[t].set = set;
			w[t].found = found;
		}
		run_threads(w, key, keys, query_slice);
		took[run] = seconds() - start;
	}
	qsort(took, RUNS, sizeof(*took), compare);
	return took[RUNS / 2];
}
