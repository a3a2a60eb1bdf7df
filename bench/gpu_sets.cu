/*
 * gpu_sets.cu
 *		Speed of the sets family on the GPU, compared with all cores of its host.
 *
 *	gpu_sets [section ...]		enron orkut twitter large zipf zipf5 single figure6 product
 *
 * Prints lines with tabs: section, what, figure, unit.  Each count is compared with the CPU's
 * count, or with another method's count if the CPU would take too long.  A difference makes
 * the program end with status 1.
 *
 * bench/gpu_sets.cu
 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "gpu_sets.h"

static int wrong;

double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

void
line(const char *section, const char *what, double figure, const char *unit)
{
	printf("%s\t%s\t%.4g\t%s\n", section, what, figure, unit);
	fflush(stdout);
}

void
must(qb_status status, qs_cuda *gpu, const char *what)
{
	if (status == QB_OK)
		return;
	fprintf(stderr, "%s: status %d, %s in %s\n", what, status, qs_cuda_last_error(gpu)->name,
			qs_cuda_last_error(gpu)->call);
	exit(2);
}

/* ---- all cores of the host ---- */

static int
cores(void)
{
	return (int) sysconf(_SC_NPROCESSORS_ONLN);
}

typedef struct worker
{
	const void *block;
	uint64_t first, step, pairs;
	pthread_t thread;
} worker;

static void *
work(void *context)
{
	worker *w = (worker *) context;
	static const uint64_t room = 4096;
	qset_pair *out = (qset_pair *) malloc(room * sizeof(*out));
	uint64_t count;
	qset_job job;

	if (!out || qset_job_open(&job, w->block, qset_kernels_now(), &data_memory, NULL) != QB_OK)
		exit(2);
	qset_job_shard(&job, w->first, qset_job_rows(&job), w->step);
	do
	{
		if (qset_job_next(&job, out, room, &count) != QB_OK)
			exit(2);
		w->pairs += count;
	}
	while (count > 0);
	qset_job_close(&job);
	free(out);
	return NULL;
}

/*
 * Count pairs by the method that "auto" chooses, on "threads" threads.  Also returns the seconds of
 * preparing and of counting, and the plan.
 */
static uint64_t
count_cpu(const qset_collection *c, const qset_filter *filter, int threads, double *prepare,
		  double *count, qset_plan *plan)
{
	qset_request r = {};
	qset_preparation p;
	worker *w = (worker *) calloc(threads, sizeof(*w));
	double start = seconds();
	uint64_t pairs = 0;
	void *block;

	r.rows = c;
	r.filter = *filter;
	r.memory = &data_memory;
	if (!w || qset_prepare(&p, &r) != QB_OK)
		exit(2);
	*plan = p.plan;
	block = data_memory.alloc(data_memory.context, p.plan.bytes);
	if (!block || qset_fill(&p, block) != QB_OK)
		exit(2);
	qset_prepared_free(&p);
	*prepare = seconds() - start;
	start = seconds();
	for (int t = 0; t < threads; t++)
	{
		w[t].block = block;
		w[t].first = t;
		w[t].step = threads;
		if (pthread_create(&w[t].thread, NULL, work, &w[t]) != 0)
			exit(2);
	}
	for (int t = 0; t < threads; t++)
	{
		pthread_join(w[t].thread, NULL);
		pairs += w[t].pairs;
	}
	*count = seconds() - start;
	qset_release(&data_memory, block);
	free(w);
	return pairs;
}

/* ---- the GPU ---- */

measured
count_gpu(qs_cuda *gpu, const qset_cuda_request *r)
{
	measured best = { 1e9, 1e9, 0, {} };

	for (int i = 0; i < RUNS; i++)
	{
		qset_cuda_pairs *pairs;
		qset_cuda_report report;
		uint64_t count;

		must(qset_cuda_pairs_open(gpu, r, &pairs), gpu, qset_method_name(r->method));
		must(qset_cuda_pairs_count(pairs, &count), gpu, qset_method_name(r->method));
		qset_cuda_pairs_report(pairs, &report);
		qset_cuda_pairs_close(pairs);
		if (i > 0 && report.product_ms + report.rows_ms >= best.product + best.rows)
			continue;
		best = { report.product_ms, report.rows_ms, count, report };
	}
	return best;
}

void
check(const char *section, const char *what, uint64_t got, uint64_t want)
{
	if (got == want)
		return;
	wrong = 1;
	printf("%s\t%s\tWRONG: %lu pairs, should be %lu\n", section, what, (unsigned long) got,
		   (unsigned long) want);
}

static double
events_of(const qset_cuda_sets *s)
{
	double events = 0;

	for (uint64_t d = 2; d <= s->sets; d++)
		events += (double) s->index.bin[d] * (double) d * (double) (d - 1) / 2;
	return events;
}

/*
 * Upload and index a collection, and print the least times of RUNS runs.  Returns the last run's
 * collection.
 */
static qset_cuda_sets *
load(qs_cuda *gpu, const char *section, const qset_collection *c)
{
	double upload = 1e9, index = 1e9;
	qset_cuda_sets *s = NULL;

	for (int i = 0; i < RUNS; i++)
	{
		double start = seconds(), middle;

		qset_cuda_sets_destroy(s);
		start = seconds();
		must(qset_cuda_sets_load(gpu, c, &s), gpu, "load");
		middle = seconds();
		must(qset_index_make(s), gpu, "index");
		upload = middle - start < upload ? middle - start : upload;
		index = seconds() - middle < index ? seconds() - middle : index;
	}
	line(section, "elements", (double) c->elements, "");
	line(section, "events", events_of(s), "");
	line(section, "upload, memory not pinned, allocation included", upload * 1e3, "ms");
	line(section, "index, allocation included", index * 1e3, "ms");
	return s;
}

/* Return the least min_count with which at most "most" pairs pass. */
static uint64_t
threshold_for(qs_cuda *gpu, qset_cuda_request *r, uint64_t most)
{
	uint64_t low = 1, high = 1 << 20;

	while (low < high)
	{
		uint64_t middle = (low + high) / 2;
		qset_cuda_pairs *pairs;
		uint64_t count;

		r->filter.min_count = middle;
		must(qset_cuda_pairs_open(gpu, r, &pairs), gpu, "threshold");
		must(qset_cuda_pairs_count(pairs, &count), gpu, "threshold");
		qset_cuda_pairs_close(pairs);
		if (count > most)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Return a sum of hashes of all pairs and their counts.  Leaves the last batch of pairs in "out",
 * and sets *last to the number of pairs in this batch.
 */
static uint64_t
sum_pairs(qs_cuda *gpu, const qset_cuda_request *r, qset_pair *out, uint64_t room, uint64_t *last)
{
	qset_cuda_pairs *pairs;
	uint64_t count, sum = 0;
	bool over;

	must(qset_cuda_pairs_open(gpu, r, &pairs), gpu, "open");
	do
	{
		must(qset_cuda_pairs_next(pairs, out, room, &count, &over), gpu, "next");
		*last = count > 0 ? count : *last;
		for (uint64_t i = 0; i < count; i++)
			sum += qb_mix64(((uint64_t) out[i].a << 32 | out[i].b) ^ qb_mix64(out[i].common));
	}
	while (!over);
	qset_cuda_pairs_close(pairs);
	return sum;
}

/* Check up to 100 pairs by merging their sets on the CPU, because all pairs would take too long. */
static void
check_some(const char *section, const qset_collection *c, const qset_pair *pair, uint64_t count)
{
	for (uint64_t i = 0; i < 100 && count > 0; i++)
	{
		const qset_pair *p = &pair[qb_mix64(i) % count];

		check(section, "a pair's count", p->common,
			  qset_count32(qset_kernels_now(), (const int32_t *) qset_set_ranks(c, p->a),
						   qset_set_size(c, p->a), (const int32_t *) qset_set_ranks(c, p->b),
						   qset_set_size(c, p->b)));
	}
}

/*
 * Compare all pairs that method index finds with all pairs that method hybrid finds.  hybrid counts
 * frequent elements by products of bits.  Check some pairs on the CPU.
 */
static void
check_methods(qs_cuda *gpu, const char *section, const qset_collection *c, qset_cuda_request r,
			  qset_pair *out, uint64_t room)
{
	uint64_t sum, last = 0;

	r.method = QSET_INDEX;
	sum = sum_pairs(gpu, &r, out, room, &last);
	r.method = QSET_HYBRID;
	check(section, "hybrid's pairs", sum_pairs(gpu, &r, out, room, &last), sum);
	check_some(section, c, out, last);
}

/*
 * Measure the time from the collection in host memory to the pairs in host memory.  Returns the
 * number of pairs.
 */
static uint64_t
end_to_end(qs_cuda *gpu, const qset_collection *c, qset_cuda_request r, qset_pair *out,
		   uint64_t room, double *least)
{
	uint64_t total = 0;

	*least = 1e9;
	for (int i = 0; i < RUNS; i++)
	{
		double start = seconds();
		qset_cuda_pairs *pairs;
		uint64_t count;
		bool over;

		total = 0;
		must(qset_cuda_sets_load(gpu, c, &r.rows), gpu, "load");
		must(qset_cuda_pairs_open(gpu, &r, &pairs), gpu, "open");
		do
		{
			must(qset_cuda_pairs_next(pairs, out, room, &count, &over), gpu, "next");
			total += count;
		}
		while (!over);
		qset_cuda_pairs_close(pairs);
		qset_cuda_sets_destroy(r.rows);
		if (seconds() - start < *least)
			*least = seconds() - start;
	}
	return total;
}

static void
methods(qs_cuda *gpu, const char *section, qset_cuda_request *r, uint64_t want, bool all)
{
	static const int method[] = { QSET_INDEX, QSET_HYBRID,     QSET_BITMAP,
								  QSET_MERGE, QSET_SEARCH,     QSET_MERGE_SEARCH,
								  QSET_HASH,  QSET_MERGE_HASH, QSET_BITMAP };

	for (int i = 0; i < (all ? 9 : 2); i++)
	{
		char what[100];
		measured m;

		r->method = method[i];
		r->variant = i == 2 ? QSET_VARIANT_ON : QSET_VARIANT_OFF;
		m = count_gpu(gpu, r);
		snprintf(what, sizeof(what), "%s%s, counting only", qset_method_name(r->method),
				 i == 2   ? ", all resident"
				 : i == 8 ? ", one at a time"
						  : "");
		line(section, what, m.product + m.rows, "ms");
		if (i == 0)
			line(section, "index, events", events_of(r->rows) / (m.product + m.rows) / 1e6, "G/s");
		if (i == 1)
		{
			line(section, "hybrid, least degree of a column of bits", m.report.heavy_degree, "");
			line(section, "hybrid, columns of bits", m.report.heavy, "");
			line(section, "hybrid, bits and product", m.product, "ms");
			line(section, "hybrid, lists and filter", m.rows, "ms");
		}
		check(section, what, m.pairs, want);
	}
}

static void
collection(qs_cuda *gpu, const char *section, const recipe *recipe, uint64_t seed, bool all,
		   bool cpu)
{
	static const uint64_t room = UINT64_C(1) << 20;
	qset_pair *out = (qset_pair *) malloc(room * sizeof(*out));
	qset_cuda_request r = {};
	qset_collection c;
	qset_plan plan = {};
	double prepare = 0, count = 0, least, start;
	measured m;

	start = seconds();
	data_drawn(&c, recipe, seed, cores());
	line(section, "making the collection, all cores", seconds() - start, "s");
	r.rows = load(gpu, section, &c);
	qset_filter_init(&r.filter, 1, 0, 0);
	r.filter.min_count = threshold_for(gpu, &r, 1000000);
	line(section, "least count", (double) r.filter.min_count, "");
	m = count_gpu(gpu, &r);
	line(section, "pairs that pass", (double) m.pairs, "");
	if (cpu)
	{
		check(section, "auto", m.pairs, count_cpu(&c, &r.filter, cores(), &prepare, &count, &plan));
		line(section, "CPU, preparing on one core", prepare * 1e3, "ms");
		line(section, "CPU, counting on all cores", count * 1e3, "ms");
		line(section, qset_method_name(plan.method), cores(), "threads");
	}
	methods(gpu, section, &r, m.pairs, all);
	if (!cpu)
		check_methods(gpu, section, &c, r, out, room);
	qset_cuda_sets_destroy(r.rows);
	r.method = QSET_AUTO;
	r.variant = QSET_VARIANT_AUTO;
	check(section, "end to end", end_to_end(gpu, &c, r, out, room, &least), m.pairs);
	line(section, "end to end", least * 1e3, "ms");
	if (cpu)
		line(section, "CPU / GPU, end to end", (prepare + count) / least, "");
	qset_collection_free(&c);
	free(out);
	qs_cuda_trim(gpu);
}

/* ---- sections ---- */

static bool
asked(int argc, char **argv, const char *section)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], section) == 0)
			return true;
	return argc == 1;
}

int
main(int argc, char **argv)
{
	static const recipe enron = { "ENRON-like", 10000, 1100000, 0.8, 300, 3200, 0.97, 0 };
	static const recipe orkut = { "ORKUT-like", 10000, 8700000, 0.6, 550, 40000, 2.2, 0 };
	static const recipe twitter = { "TWITTER-like", 10000, 37000, 0.8, 100, 2000, 3, 0 };
	static const recipe large = { "ENRON-like", 50000, 1100000, 0.8, 300, 3200, 0.97, 0 };
	static const recipe zipf = { "Zipf 1e8", 1000, 100000000, 0.9, 0, 0, 0, 1000000 };
	static const recipe zipf5 = { "Zipf 1e8, 1e5 draws", 1000, 100000000, 0.9, 0, 0, 0, 100000 };
	qs_cuda_error error;
	qs_cuda *gpu;

	if (qs_cuda_open(0, NULL, &gpu, &error) != QB_OK)
	{
		fprintf(stderr, "no usable GPU: %s\n", error.name);
		return 2;
	}
	if (asked(argc, argv, "product"))
		bench_product(gpu);
	if (asked(argc, argv, "single"))
		bench_single(gpu);
	if (asked(argc, argv, "figure6"))
		bench_figure6(gpu);
	if (asked(argc, argv, "enron"))
		collection(gpu, "enron", &enron, 1, true, true);
	if (asked(argc, argv, "orkut"))
		collection(gpu, "orkut", &orkut, 2, true, true);
	if (asked(argc, argv, "twitter"))
		collection(gpu, "twitter", &twitter, 3, true, true);
	if (asked(argc, argv, "large"))
		collection(gpu, "large", &large, 4, false, true);
	if (asked(argc, argv, "zipf"))
		collection(gpu, "zipf", &zipf, 5, false, false);
	if (asked(argc, argv, "zipf5"))
		collection(gpu, "zipf5", &zipf5, 6, true, true);
	qs_cuda_close(gpu);
	return wrong;
}
