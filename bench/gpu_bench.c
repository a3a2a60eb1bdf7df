/*
 * gpu_bench.c
 *		Speed of the sketches on a GPU, compared with the ceilings of the device.
 *
 * Writes one line for each measurement to standard output, tab-separated:
 *
 *	section	structure	table bytes	keys	what	value	unit
 *
 * gpu_report.sh makes tables of docs/engineering/gpu-performance.md from these lines.  Times are
 * medians of RUNS runs, after one run to warm up.  They are measured by events, or by the host's
 * clock if the keys are in host memory (sections "host" and "sf").  Before a configuration with
 * keys in device memory is timed, all its keys are inserted into an empty sketch, and the estimates
 * are compared with the reference (gpu_kernels.h).  Estimates of sf are compared with the host's.
 * A difference makes the program fail.
 *
 *	gpu_bench [section ...]		no argument: all sections but "profile"
 *
 * bench/gpu_bench.c
 */
#include "gpu_bench.h"

struct bench g;

void
print(const char *section, const char *structure, uint64_t bytes, uint64_t keys, const char *what,
	  double value, const char *unit)
{
	printf("%s\t%s\t%llu\t%llu\t%s\t%.4g\t%s\n", section, structure, (unsigned long long) bytes,
		   (unsigned long long) keys, what, value, unit);
	fflush(stdout);
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

double
measure(timed run, void *argument)
{
	double ms[RUNS];

	run(argument);
	CHECK_CUDA(cudaStreamSynchronize(g.stream));
	for (int i = 0; i < RUNS; i++)
	{
		float took;

		CHECK_CUDA(cudaEventRecord(g.begin, g.stream));
		run(argument);
		CHECK_CUDA(cudaEventRecord(g.end, g.stream));
		CHECK_CUDA(cudaEventSynchronize(g.end));
		CHECK_CUDA(cudaEventElapsedTime(&took, g.begin, g.end));
		ms[i] = took;
	}
	qsort(ms, RUNS, sizeof(ms[0]), compare_doubles);
	return ms[RUNS / 2];
}

double
measure_host(timed run, void *argument)
{
	double ms[RUNS];

	run(argument);
	for (int i = 0; i < RUNS; i++)
	{
		double began = seconds();

		run(argument);
		CHECK(qs_cuda_sync(g.gpu) == QB_OK);
		ms[i] = (seconds() - began) * 1e3;
	}
	qsort(ms, RUNS, sizeof(ms[0]), compare_doubles);
	return ms[RUNS / 2];
}

double
gkeys(uint64_t keys, double ms)
{
	return (double) keys / ms * 1e-6;
}

void
use_keys(key_kind kind)
{
	CHECK_CUDA(gk_keys(g.stream, kind, 12345, g.key, KEYS));
	CHECK_CUDA(cudaStreamSynchronize(g.stream));
	g.kind = kind;
}

qs_params
params_of(int structure, uint64_t bytes, int depth)
{
	qs_params p = { .structure = (uint8_t) structure, .depth = (uint8_t) depth };

	p.log2_masks = structure == QS_THREAD ? 0 : 10;
	p.n = bytes / qs_block_bytes(&p);
	if (structure == QS_SF)
		p.z = 8;
	return p;
}

void
run_insert(void *argument)
{
	job *j = argument;

	CHECK(qs_cuda_insert_device(j->sk, g.key, j->keys) == QB_OK);
}

void
run_query(void *argument)
{
	job *j = argument;

	CHECK(qs_cuda_query_device(j->sk, g.key, j->keys, g.estimate) == QB_OK);
}

static void
run_ceiling(void *argument)
{
	job *j = argument;

	CHECK_CUDA(
		gk_run_ceiling(g.stream, j->ceiling, g.key, j->keys, j->table, j->bytes, g.estimate));
}

/* Return the number of buckets whose counters fit into the memory of the reference. */
static uint64_t
reference_limit(const qs_params *p)
{
	uint64_t limit = p->n;

	while (p->structure != QS_THREAD && gk_reference_counters(p, limit) * 4 > REF_MOST)
		limit /= 2;
	return limit;
}

/* Insert once into an empty sketch, and compare its estimates with the reference. */
static void
check(const char *section, const job *j)
{
	const qs_params *p = qs_cuda_params(j->sk);
	uint64_t limit = reference_limit(p);
	uint64_t bytes = gk_reference_counters(p, limit) * 4;
	uint64_t wrong;
	uint32_t *counter;

	CHECK(qs_cuda_reset(j->sk) == QB_OK);
	run_insert((void *) j);
	run_query((void *) j);
	CHECK_CUDA(cudaMalloc((void **) &counter, bytes));
	CHECK_CUDA(cudaMemsetAsync(counter, 0, bytes, g.stream));
	CHECK_CUDA(cudaMemsetAsync(g.wrong, 0, sizeof(wrong), g.stream));
	CHECK_CUDA(gk_reference_insert(g.stream, p, limit, g.key, j->keys, counter));
	CHECK_CUDA(
		gk_reference_compare(g.stream, p, limit, g.key, j->keys, counter, g.estimate, g.wrong));
	CHECK_CUDA(cudaMemcpyAsync(&wrong, g.wrong, sizeof(wrong), cudaMemcpyDeviceToHost, g.stream));
	CHECK_CUDA(cudaStreamSynchronize(g.stream));
	CHECK_CUDA(cudaFree(counter));
	if (wrong > 0)
		print(section, qs_structure_name(p->structure), 0, j->keys, "WRONG ESTIMATES",
			  (double) wrong, "keys");
	g.mistakes += wrong > 0;
}

/*
 * Create a sketch, check inserts in one mode, and time inserts and queries whose name is not NULL.
 */
void
time_sketch(const char *section, int structure, uint64_t bytes, int depth, uint64_t keys,
			qs_cuda_bulk bulk, const char *insert_name, const char *query_name)
{
	qs_params p = params_of(structure, bytes, depth);
	const char *name = qs_structure_name(structure);
	job j = { .keys = keys };

	qs_cuda_set_bulk(g.gpu, bulk);
	CHECK(qs_cuda_create(g.gpu, &p, &j.sk) == QB_OK);
	check(section, &j);
	if (insert_name)
		print(section, name, bytes, keys, insert_name, gkeys(keys, measure(run_insert, &j)),
			  "Gkeys/s");
	if (query_name)
		print(section, name, bytes, keys, query_name, gkeys(keys, measure(run_query, &j)),
			  "Gkeys/s");
	qs_cuda_destroy(j.sk);
}

void
time_ceiling(const char *section, gk_ceiling ceiling, uint64_t bytes, uint64_t keys,
			 const char *name)
{
	job j = { .keys = keys, .ceiling = ceiling, .bytes = bytes };

	CHECK_CUDA(cudaMalloc(&j.table, bytes));
	CHECK_CUDA(cudaMemset(j.table, 0, bytes));
	CHECK_CUDA(cudaDeviceSynchronize());
	print(section, "ceiling", bytes, keys, name, gkeys(keys, measure(run_ceiling, &j)), "Gkeys/s");
	CHECK_CUDA(cudaFree(j.table));
}

static const struct
{
	const char *name;
	void (*run)(void);
	bool asked; /* true: runs only if an argument names it */
} sections[] = {
	{ "device", section_device, false },  { "sizes", section_sizes, false },
	{ "bulk", section_bulk, false },      { "batches", section_batches, false },
	{ "skew", section_skew, false },      { "depth", section_depth, false },
	{ "host", section_host, false },      { "sf", section_sf, false },
	{ "profile", section_profile, true },
};

static bool
wanted(int argc, char **argv, const char *name, bool asked)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc == 1 && !asked;
}

int
main(int argc, char **argv)
{
	qs_cuda_error error;

	if (qs_cuda_open(0, NULL, &g.gpu, &error) != QB_OK)
	{
		printf("no usable device: %s\n", error.name);
		return 2;
	}
	g.stream = qs_cuda_stream(g.gpu);
	CHECK_CUDA(cudaMalloc((void **) &g.key, KEYS * sizeof(*g.key)));
	CHECK_CUDA(cudaMalloc((void **) &g.estimate, KEYS * sizeof(*g.estimate)));
	CHECK_CUDA(cudaMalloc((void **) &g.wrong, sizeof(*g.wrong)));
	CHECK_CUDA(cudaEventCreate(&g.begin));
	CHECK_CUDA(cudaEventCreate(&g.end));
	use_keys(KEYS_UNIFORM);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (wanted(argc, argv, sections[i].name, sections[i].asked))
		{
			double began = seconds();

			sections[i].run();
			fprintf(stderr, "section %s took %.1f s\n", sections[i].name, seconds() - began);
		}
	print("checks", "all", 0, 0, "configurations with wrong results", (double) g.mistakes, "");
	cudaFree(g.key);
	cudaFree(g.estimate);
	cudaFree(g.wrong);
	qs_cuda_close(g.gpu);
	return g.mistakes != 0;
}
