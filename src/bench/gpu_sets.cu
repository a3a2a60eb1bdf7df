/*
 * gpu_sets.cu
 *		Speed of the sets family on the GPU, beside all cores of its host.
 *
 *	gpu_sets [section ...]		enron orkut twitter large zipf single product
 *
 * Lines of tabs: section, what, figure, unit.  Every count is held against the
 * CPU's, or, where that would take too long, against another method's; a
 * difference ends the program with status 1.
 *
 * src/bench/gpu_sets.cu
 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "kernels.cuh"
#include "sets.cuh"

extern "C"
{
#include "engine/sets_kernels.h"
#include "sets_data.h"
}

#define RUNS 5

static int wrong;

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static void
line(const char *section, const char *what, double figure, const char *unit)
{
	printf("%s\t%s\t%.4g\t%s\n", section, what, figure, unit);
	fflush(stdout);
}

static void
must(qs_status status, qs_cuda *gpu, const char *what)
{
	if (status == QS_OK)
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
	qi_pair *out = (qi_pair *) malloc(room * sizeof(*out));
	uint64_t count;
	qi_job job;

	if (!out || qi_job_open(&job, w->block, qi_kernels_now(), &data_memory, NULL) != QS_OK)
		exit(2);
	qi_job_share(&job, w->first, qi_job_rows(&job), w->step);
	do
	{
		if (qi_job_next(&job, out, room, &count) != QS_OK)
			exit(2);
		w->pairs += count;
	}
	while (count > 0);
	qi_job_close(&job);
	free(out);
	return NULL;
}

/* Pairs by the CPU's best method on all cores; seconds to prepare, on one core, and to count. */
static uint64_t
count_cpu(const qi_collection *c, const qi_filter *filter, int threads, double *prepare,
		  double *count, qi_plan *plan)
{
	qi_request r = {};
	qi_preparation p;
	worker *w = (worker *) calloc(threads, sizeof(*w));
	double start = seconds();
	uint64_t pairs = 0;
	void *block;

	r.rows = c;
	r.filter = *filter;
	r.memory = &data_memory;
	if (!w || qi_prepare(&p, &r) != QS_OK)
		exit(2);
	*plan = p.plan;
	block = data_memory.alloc(data_memory.context, p.plan.bytes);
	if (!block || qi_fill(&p, block) != QS_OK)
		exit(2);
	qi_prepared_free(&p);
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
	qi_release(&data_memory, block);
	free(w);
	return pairs;
}

/* ---- the GPU ---- */

typedef struct measured
{
	double product, rows; /* ms on the device, least of all runs */
	uint64_t pairs;
	qi_cuda_report report;
} measured;

static measured
count_gpu(qs_cuda *gpu, const qi_cuda_request *r)
{
	measured best = { 1e9, 1e9, 0, {} };

	for (int i = 0; i < RUNS; i++)
	{
		qi_cuda_pairs *pairs;
		qi_cuda_report report;
		uint64_t count;

		must(qi_cuda_pairs_open(gpu, r, &pairs), gpu, qi_method_name(r->method));
		must(qi_cuda_pairs_count(pairs, &count), gpu, qi_method_name(r->method));
		qi_cuda_pairs_report(pairs, &report);
		qi_cuda_pairs_close(pairs);
		if (i > 0 && report.product_ms + report.rows_ms >= best.product + best.rows)
			continue;
		best = { report.product_ms, report.rows_ms, count, report };
	}
	return best;
}

static void
check(const char *section, const char *what, uint64_t got, uint64_t want)
{
	if (got == want)
		return;
	wrong = 1;
	printf("%s\t%s\tWRONG: %lu pairs, should be %lu\n", section, what, (unsigned long) got,
		   (unsigned long) want);
}

static double
events_of(const qi_cuda_sets *s)
{
	double events = 0;

	for (uint64_t d = 2; d <= s->sets; d++)
		events += (double) s->bin[d] * (double) d * (double) (d - 1) / 2;
	return events;
}

/* Upload and index, least of all runs; the last stays. */
static qi_cuda_sets *
load(qs_cuda *gpu, const char *section, const qi_collection *c)
{
	double upload = 1e9, index = 1e9;
	qi_cuda_sets *s = NULL;

	for (int i = 0; i < RUNS; i++)
	{
		double start = seconds(), middle;

		qi_cuda_sets_destroy(s);
		start = seconds();
		must(qi_cuda_sets_load(gpu, c, &s), gpu, "load");
		middle = seconds();
		must(qi_index_make(s), gpu, "index");
		upload = middle - start < upload ? middle - start : upload;
		index = seconds() - middle < index ? seconds() - middle : index;
	}
	line(section, "elements", (double) c->elements, "");
	line(section, "events", events_of(s), "");
	line(section, "upload, memory not pinned, allocation included", upload * 1e3, "ms");
	line(section, "index, allocation included", index * 1e3, "ms");
	return s;
}

/* The least count that leaves at most so many pairs. */
static uint64_t
threshold_for(qs_cuda *gpu, qi_cuda_request *r, uint64_t most)
{
	uint64_t low = 1, high = 1 << 20;

	while (low < high)
	{
		uint64_t middle = (low + high) / 2;
		qi_cuda_pairs *pairs;
		uint64_t count;

		r->filter.min_count = middle;
		must(qi_cuda_pairs_open(gpu, r, &pairs), gpu, "threshold");
		must(qi_cuda_pairs_count(pairs, &count), gpu, "threshold");
		qi_cuda_pairs_close(pairs);
		if (count > most)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Everything from the collection in host memory to the pairs in host memory. */
static uint64_t
end_to_end(qs_cuda *gpu, const qi_collection *c, qi_cuda_request r, qi_pair *out, uint64_t room,
		   double *least)
{
	uint64_t total = 0;

	*least = 1e9;
	for (int i = 0; i < RUNS; i++)
	{
		double start = seconds();
		qi_cuda_pairs *pairs;
		uint64_t count;
		bool over;

		total = 0;
		must(qi_cuda_sets_load(gpu, c, &r.rows), gpu, "load");
		must(qi_cuda_pairs_open(gpu, &r, &pairs), gpu, "open");
		do
		{
			must(qi_cuda_pairs_next(pairs, out, room, &count, &over), gpu, "next");
			total += count;
		}
		while (!over);
		qi_cuda_pairs_close(pairs);
		qi_cuda_sets_destroy(r.rows);
		if (seconds() - start < *least)
			*least = seconds() - start;
	}
	return total;
}

static void
methods(qs_cuda *gpu, const char *section, qi_cuda_request *r, uint64_t want, bool all)
{
	static const int method[] = { QI_INDEX,        QI_HYBRID, QI_BITMAP,     QI_MERGE, QI_SEARCH,
								  QI_MERGE_SEARCH, QI_HASH,   QI_MERGE_HASH, QI_BITMAP };

	for (int i = 0; i < (all ? 9 : 2); i++)
	{
		char what[100];
		measured m;

		r->method = method[i];
		r->variant = i == 2 ? QI_VARIANT_ON : QI_VARIANT_OFF;
		m = count_gpu(gpu, r);
		snprintf(what, sizeof(what), "%s%s, counting only", qi_method_name(r->method),
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
	qi_pair *out = (qi_pair *) malloc(room * sizeof(*out));
	qi_cuda_request r = {};
	qi_collection c;
	qi_plan plan = {};
	double prepare = 0, count = 0, least;
	measured m;

	data_drawn(&c, recipe, seed, cores());
	r.rows = load(gpu, section, &c);
	qi_filter_init(&r.filter, 1, 0, 0);
	r.filter.min_count = threshold_for(gpu, &r, 1000000);
	line(section, "least count", (double) r.filter.min_count, "");
	m = count_gpu(gpu, &r);
	line(section, "pairs that pass", (double) m.pairs, "");
	if (cpu)
	{
		check(section, "auto", m.pairs, count_cpu(&c, &r.filter, cores(), &prepare, &count, &plan));
		line(section, "CPU, preparing on one core", prepare * 1e3, "ms");
		line(section, "CPU, counting on all cores", count * 1e3, "ms");
		line(section, qi_method_name(plan.method), cores(), "threads");
	}
	methods(gpu, section, &r, m.pairs, all);
	qi_cuda_sets_destroy(r.rows);
	r.method = QI_AUTO;
	r.variant = QI_VARIANT_AUTO;
	check(section, "end to end", end_to_end(gpu, &c, r, out, room, &least), m.pairs);
	line(section, "end to end", least * 1e3, "ms");
	if (cpu)
		line(section, "CPU / GPU, end to end", (prepare + count) / least, "");
	qi_collection_free(&c);
	free(out);
	qs_cuda_trim(gpu);
}

/* ---- one pair ---- */

/* A collection of one set, of the even or odd multiples among 0 .. universe - 1, at random. */
static void
one_set(qi_collection *c, uint64_t universe, uint64_t draws, uint64_t seed)
{
	uint64_t count;
	uint32_t *set = data_set(UNIFORM, universe, draws, seed, &count);

	memset(c, 0, sizeof(*c));
	c->sets = 1;
	c->elements = count;
	c->universe = universe;
	if (qi_collection_alloc(c, &data_memory) != QS_OK)
		exit(2);
	memcpy(c->rank, set, count * sizeof(*set));
	c->offset[1] = count;
	free(set);
}

static double
copy_bandwidth(qs_cuda *gpu, size_t bytes)
{
	void *a, *b;
	cudaEvent_t at[2];
	float ms, best = 1e9;

	if (cudaMalloc(&a, bytes) || cudaMalloc(&b, bytes) || cudaEventCreate(&at[0]) ||
		cudaEventCreate(&at[1]))
		exit(2);
	for (int i = 0; i < RUNS; i++)
	{
		cudaEventRecord(at[0], gpu->stream);
		cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, gpu->stream);
		cudaEventRecord(at[1], gpu->stream);
		cudaEventSynchronize(at[1]);
		cudaEventElapsedTime(&ms, at[0], at[1]);
		best = ms < best ? ms : best;
	}
	cudaFree(a);
	cudaFree(b);
	return 2.0 * (double) bytes / best / 1e6;
}

static void
single(qs_cuda *gpu)
{
	static const int method[] = { QI_MERGE, QI_SEARCH, QI_MERGE_SEARCH, QI_MERGE_HASH };
	qi_collection a, b;
	qi_cuda_request r = {};
	uint64_t want;
	double start, copy = copy_bandwidth(gpu, UINT64_C(1) << 30);

	one_set(&a, 100000000, 10000000, 1);
	one_set(&b, 100000000, 10000000, 2);
	start = seconds();
	want = qi_count32(qi_kernels_now(), (int32_t *) a.rank, a.elements, (int32_t *) b.rank,
					  b.elements);
	line("single", "elements of both", (double) (a.elements + b.elements), "");
	line("single", "CPU, one core", (seconds() - start) * 1e3, "ms");
	line("single", "copy bandwidth, read and written", copy, "GB/s");
	must(qi_cuda_sets_load(gpu, &a, &r.rows), gpu, "load");
	must(qi_cuda_sets_load(gpu, &b, &r.columns), gpu, "load");
	qi_filter_init(&r.filter, 0, 0, 0);
	for (int i = 0; i < 4; i++)
	{
		char what[100];
		qi_cuda_pairs *pairs;
		qi_pair pair = {};
		uint64_t count;
		bool over;
		measured m;

		r.method = method[i];
		m = count_gpu(gpu, &r);
		must(qi_cuda_pairs_open(gpu, &r, &pairs), gpu, "open");
		must(qi_cuda_pairs_next(pairs, &pair, 1, &count, &over), gpu, "next");
		qi_cuda_pairs_close(pairs);
		check("single", qi_method_name(r.method), pair.common, want);
		line("single", qi_method_name(r.method), m.product, "ms");
		snprintf(what, sizeof(what), "%s, bytes read against copying", qi_method_name(r.method));
		line("single", what, (double) (a.elements + b.elements) * 4 / m.product / 1e6 / copy, "");
	}
	qi_cuda_sets_destroy(r.rows);
	qi_cuda_sets_destroy(r.columns);
	qi_collection_free(&a);
	qi_collection_free(&b);
}

/* ---- product ---- */

__global__ void
random_bits(uint32_t *bits, uint64_t words)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < words; i += stride)
		bits[i] = (uint32_t) (qs_mix64(i) & qs_mix64(i + words));
}

__global__ void
compare_counts(const uint32_t *a, const uint32_t *b, uint64_t sets, unsigned long long *different)
{
	for (uint64_t i = blockIdx.x; i < sets; i += gridDim.x)
		for (uint64_t j = i + 1 + threadIdx.x; j < sets; j += blockDim.x)
			if (a[i * sets + j] != b[i * sets + j])
				atomicAdd(different, 1);
}

static float
time_product(qs_cuda *gpu, const qi_bits *bits, qi_product how, const qi_strip *strip)
{
	cudaEvent_t at[2];
	float ms, best = 1e9;

	cudaEventCreate(&at[0]);
	cudaEventCreate(&at[1]);
	for (int i = 0; i < RUNS; i++)
	{
		cudaMemsetAsync(strip->count, 0, strip->rows * strip->width * 4, gpu->stream);
		cudaEventRecord(at[0], gpu->stream);
		must(qi_bits_multiply(gpu, bits, true, how, strip), gpu, "product");
		cudaEventRecord(at[1], gpu->stream);
		must(qs_cuda_sync(gpu), gpu, "product");
		cudaEventElapsedTime(&ms, at[0], at[1]);
		best = ms < best ? ms : best;
	}
	return best;
}

static void
product(qs_cuda *gpu)
{
	const uint64_t sets = 8192, words = 8192;
	double operations = (double) sets * (sets + QI_TILE) / 2 * words * 32;
	qi_bits bits = {};
	qi_strip tensor = { NULL, 0, sets, sets }, popc = tensor;
	uint64_t held = 0;

	bits.words = words;
	bits.columns = words * 32;
	must(qi_device_alloc(gpu, &held, sets * words * 4, (void **) &bits.row), gpu, "bits");
	must(qi_device_alloc(gpu, &held, sets * sets * 4, (void **) &tensor.count), gpu, "counts");
	must(qi_device_alloc(gpu, &held, sets * sets * 4, (void **) &popc.count), gpu, "counts");
	bits.other = bits.row;
	random_bits<<<1024, 256, 0, gpu->stream>>>(bits.row, sets * words);
	line("product", "tensor cores, k = 8192",
		 operations / time_product(gpu, &bits, QI_PRODUCT_TENSOR, &tensor) / 1e12,
		 "Pbit-operations/s");
	line("product", "popc, k = 8192",
		 operations / time_product(gpu, &bits, QI_PRODUCT_POPC, &popc) / 1e12, "Pbit-operations/s");
	cudaMemsetAsync(gpu->result, 0, 8, gpu->stream);
	compare_counts<<<1024, 256, 0, gpu->stream>>>(tensor.count, popc.count, sets,
												  (unsigned long long *) gpu->result);
	must(qs_read_result(gpu, 1), gpu, "compare");
	check("product", "counts that differ", gpu->host_result[0], 0);
	qi_device_free(gpu, &held, bits.row, sets * words * 4);
	qi_device_free(gpu, &held, tensor.count, sets * sets * 4);
	qi_device_free(gpu, &held, popc.count, sets * sets * 4);
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
	qs_cuda_error error;
	qs_cuda *gpu;

	if (qs_cuda_open(0, NULL, &gpu, &error) != QS_OK)
	{
		fprintf(stderr, "no usable GPU: %s\n", error.name);
		return 2;
	}
	if (asked(argc, argv, "product"))
		product(gpu);
	if (asked(argc, argv, "single"))
		single(gpu);
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
	qs_cuda_close(gpu);
	return wrong;
}
