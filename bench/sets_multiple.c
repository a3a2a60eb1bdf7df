/*
 * sets_multiple.c
 *		The paper's methods for all pairs (the paper's Figs. 7 and 8).
 *
 * Methods that count pair after pair would take hours for all pairs.  So these methods count rows
 * at equal distances, and their time is scaled up to all pairs.
 *
 * bench/sets_multiple.c
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include <pthread.h>

#include "sets_bench.h"
#include "sets_prefix.h"

const recipe recipe_enron = { "ENRON-like", 10000, 1100000, 0.8, 300, 3200, 0.97, 0 };
static const recipe recipe_orkut = { "ORKUT-like", 10000, 8700000, 0.6, 550, 40000, 2.2, 0 };
static const recipe recipe_twitter = { "TWITTER-like", 10000, 37000, 0.8, 100, 2000, 3, 0 };
static const recipe recipe_zipf = { "Zipf 1e8, 1e5 draws", 1000, 100000000, 0.9, 0, 0, 0, 100000 };

typedef struct worker
{
	const void *block;
	uint64_t first;
	uint64_t step;
	bool summing;
	uint64_t pairs;
	uint64_t sum;
	double seconds;
} worker;

#define ROOM 4096

static void *
work(void *argument)
{
	worker *w = argument;
	static _Thread_local qset_pair out[ROOM];
	double start = now();
	qset_job job;
	uint64_t count;

	require(qset_job_open(&job, w->block, qset_kernels_now(), &data_memory, NULL) == QB_OK,
			"out of memory");
	qset_job_shard(&job, w->first, qset_job_rows(&job), w->step);
	do
	{
		require(qset_job_next(&job, out, ROOM, &count) == QB_OK, "stopped");
		w->pairs += count;
		if (w->summing)
			w->sum += sum_of_pairs(out, count);
	}
	while (count > 0);
	qset_job_close(&job);
	w->seconds = now() - start;
	return NULL;
}

/*
 * Return the fraction of all pairs (a row and a later column) whose row is step / 2, step / 2 +
 * step, and so on.
 */
static double
fraction_of_pairs(uint64_t rows, uint64_t step)
{
	double pairs = 0;
	uint64_t i;

	for (i = step / 2; i < rows; i += step)
		pairs += (double) (rows - 1 - i);
	return pairs > 0 ? pairs / ((double) rows * (double) (rows - 1) / 2) : 1;
}

static outcome
run_pairs(const qset_request *r, uint64_t step, int threads, bool summing)
{
	outcome o = { 0 };
	qset_preparation p;
	void *block;
	worker w[2];
	pthread_t thread;
	double start = now();
	uint64_t rows;

	require(qset_prepare(&p, r) == QB_OK, "could not prepare");
	block = data_memory.alloc(NULL, p.plan.bytes);
	require(block && qset_fill(&p, block) == QB_OK, "out of memory");
	o.prepare = now() - start;
	o.bytes = p.plan.bytes;
	o.method = p.plan.method;
	o.prefix = p.plan.prefix;
	rows = p.plan.rows;
	qset_prepared_free(&p);
	w[0] = (worker){ block, step > 1 ? step / 2 : 0, step * (uint64_t) threads, summing, 0, 0, 0 };
	w[1] = (worker){ block, w[0].first + step, step * 2, summing, 0, 0, 0 };
	if (threads > 1)
		require(pthread_create(&thread, NULL, work, &w[1]) == 0, "no thread");
	work(&w[0]);
	if (threads > 1)
		pthread_join(thread, NULL);
	o.count =
		w[w[1].seconds > w[0].seconds].seconds / (step > 1 ? fraction_of_pairs(rows, step) : 1);
	o.pairs = w[0].pairs + w[1].pairs;
	o.sum = w[0].sum + w[1].sum;
	free(block);
	return o;
}

qset_request
request_of(const qset_collection *c, int64_t min_count, double min_jaccard, int method, int variant)
{
	qset_request r = { .rows = c, .method = method, .variant = variant, .memory = &data_memory };

	require(qset_filter_init(&r.filter, min_count, min_jaccard, 0) == QB_OK, "bad filter");
	return r;
}

outcome
best_pairs(const qset_request *r, uint64_t step, int threads, int runs)
{
	outcome best = run_pairs(r, step, threads, false);

	for (; runs > 1; runs--)
	{
		outcome o = run_pairs(r, step, threads, false);

		best.count = o.count < best.count ? o.count : best.count;
		best.prepare = o.prepare < best.prepare ? o.prepare : best.prepare;
	}
	return best;
}

outcome
summed_pairs(const qset_request *r)
{
	return run_pairs(r, 1, 1, true);
}

double
std_pairs(const qset_collection *c, uint64_t step)
{
	uint64_t most = 0;
	uint64_t common = 0;
	uint64_t i;
	uint64_t j;
	uint32_t *out;
	double start;
	double took;

	for (i = 0; i < c->sets; i++)
		most = qset_set_size(c, i) > most ? qset_set_size(c, i) : most;
	out = malloc(most * sizeof(*out));
	require(out != NULL, "out of memory");
	start = now();
	for (i = step / 2; i < c->sets; i += step)
		for (j = i + 1; j < c->sets; j++)
			common += std_set_intersection(qset_set_ranks(c, i), qset_set_size(c, i),
										   qset_set_ranks(c, j), qset_set_size(c, j), out);
	took = (now() - start) / (step > 1 ? fraction_of_pairs(c->sets, step) : 1);
	require(common != 1, "hardly"); /* never false, but the compiler must keep the loop */
	free(out);
	return took;
}

uint64_t
step_for(uint64_t sets, uint64_t rows)
{
	return sets / rows > 1 ? sets / rows : 1;
}

const variant_name bench_methods[METHOD_COUNT] = {
	{ QSET_MERGE, 0, true, "`merge`" },
	{ QSET_SEARCH, 0, true, "`search`" },
	{ QSET_MERGE_SEARCH, 0, true, "`merge_search`" },
	{ QSET_HASH, 0, true, "`hash`" },
	{ QSET_MERGE_HASH, 0, true, "`merge_hash`" },
	{ QSET_BITMAP, QSET_VARIANT_OFF, true, "`bitmap`, dynamic" },
	{ QSET_BITMAP, QSET_VARIANT_ON, true, "`bitmap`, naive" },
	{ QSET_INDEX, QSET_VARIANT_OFF, false, "`index`" },
	{ QSET_HYBRID, 0, false, "`hybrid`" },
};

/* Largest number of bytes of all sets' bitmaps together. */
#define MOST_BITMAPS (UINT64_C(3) << 30)

static void
print_seconds(double s)
{
	printf(s < 0.1 ? " %.4f |" : s < 10 ? " %.3f |" : " %.0f |", s);
	fflush(stdout);
}

static void
multiple_of(const char *name, const qset_collection *c, int64_t min_count)
{
	uint64_t rows = 20000000 / (c->elements + 1) + 2;
	uint64_t step = step_for(c->sets, rows);
	size_t i;
	qset_request r = request_of(c, min_count, 0, QSET_AUTO, 0);
	qset_preparation p;

	require(qset_prepare(&p, &r) == QB_OK, "could not prepare");
	printf("| %s | %llu | %llu | %.3g |", name, (unsigned long long) c->sets,
		   (unsigned long long) c->elements, (double) p.plan.events);
	qset_prepared_free(&p);
	print_seconds(std_pairs(c, step));
	for (i = 0; i < METHOD_COUNT; i++)
	{
		qset_request one =
			request_of(c, min_count, 0, bench_methods[i].method, bench_methods[i].variant);
		uint64_t bitmaps = c->sets * qset_bitmap_words(c->universe) * 8;
		outcome o;

		if (bench_methods[i].variant == QSET_VARIANT_ON && bitmaps > MOST_BITMAPS)
		{
			printf(" - |");
			continue;
		}
		o = best_pairs(&one, bench_methods[i].pairwise ? step : 1, 1,
					   bench_methods[i].pairwise ? 1 : 3);
		print_seconds(o.prepare + o.count);
	}
	printf("\n");
}

/* Print the line of a generated collection. */
static void
multiple_generated(const recipe *r, uint64_t seed)
{
	qset_collection c;

	data_collection(&c, r, seed);
	multiple_of(r->name, &c, 10);
	qset_collection_free(&c);
}

void
bench_multiple(void)
{
	qset_collection c;
	size_t i;

	printf(
		"\n## All pairs (the paper's Figs. 7 and 8), seconds\n\nPairs have at least 10 elements in "
		"common. Times are of one processor, with the preparation\n(index, bitmaps). The \"-like\" "
		"collections are generated: only the number of sets, their sizes\nand the skew follow the "
		"paper's data. *Events* are pairs of equal elements.\n\n| data | sets | elements | events "
		"| std::set_intersection |");
	for (i = 0; i < METHOD_COUNT; i++)
		printf(" %s |", bench_methods[i].name);
	printf("\n|---|---:|---:|---:|---:|");
	for (i = 0; i < METHOD_COUNT; i++)
		printf("---:|");
	printf("\n");
	multiple_generated(&recipe_enron, 1);
	multiple_generated(&recipe_orkut, 2);
	multiple_generated(&recipe_twitter, 3);
	if (data_kosarak(&c, 1000000))
		multiple_of("kosarak (real)", &c, 10);
	qset_collection_free(&c);
	if (data_enron(&c))
		multiple_of("email-Enron (real)", &c, 10);
	qset_collection_free(&c);
	multiple_generated(&recipe_zipf, 5);
}
