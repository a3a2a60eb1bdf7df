/*
 * gpu_filter.cu
 *		Speed of filters on the GPU, compared with ceilings, the paper's kernels and the host.
 *
 *	gpu_filter [section ...]		sizes bloom host
 *
 * Prints lines with tabs: section, bytes of the filter, what, figure, unit.  Frequency filters have
 * k = 267 and p for f = 1000 (balanced, 10 %).  In section "sizes", the rows are the design load of
 * the filter, but at most 2^28 rows.  Each run inserts into an empty filter, because a fuller filter
 * has fewer bits to set.  Times are medians of RUNS runs between two events.  In section "host",
 * rows and keys are in host memory, the host's clock measures times, and all runs insert into one
 * filter.
 *
 * The ceilings are random 4-byte reads a second and random atomicOr a second, past L1, on a table
 * of the filter's size.  A row draws k p + 1 random numbers and sets k p bits, on average.  The
 * target is a ceiling divided by k p + 1.  A key's k positions are anywhere in the filter, so a
 * lookup takes at least k reads, unless the filter is in shared memory.
 *
 * Sections "sizes" and "bloom" compare the bits of filters, and up to KEYS answers, with the CPU's.
 * The paper's insertion draws other random numbers, so only the number of its set bits is compared,
 * within 1 %.  A difference makes the program end with status 1.
 *
 * bench/gpu_filter.cu
 */
#include <math.h>

#include "gpu_filter.cuh"

qs_cuda *gpu;
cudaStream_t stream;
uint64_t *device_key, *host_key;
static int64_t *answer; /* KEYS answers on the device */
static int wrong;

void
line(const char *section, uint64_t bytes, const char *what, double figure, const char *unit)
{
	printf("%s\t%llu\t%s\t%.4g\t%s\n", section, (unsigned long long) bytes, what, figure, unit);
	fflush(stdout);
}

void
rate(const char *section, uint64_t bytes, const char *what, uint64_t count, double took)
{
	line(section, bytes, what, (double) count / took * 1e-9, "G/s");
}

void
must_agree(const char *section, uint64_t bytes, const char *what, bool agrees)
{
	if (agrees)
		return;
	line(section, bytes, what, 0, "WRONG");
	wrong++;
}

void
ceilings(const char *section, uint64_t bytes, double *reads, double *atomics)
{
	uint64_t words = bytes / 4;
	uint32_t *word;

	CHECK_CUDA(cudaMalloc((void **) &word, bytes));
	CHECK_CUDA(cudaMemsetAsync(word, 0, bytes, stream));
	*reads = ROWS / measure(nothing, [&] { gf_read_random(stream, word, words, ROWS); });
	*atomics = ROWS / measure(nothing, [&] { gf_or_random(stream, word, words, ROWS); });
	CHECK_CUDA(cudaGetLastError());
	cudaFree(word);
	line(section, bytes, "ceiling: random reads", *reads * 1e-9, "G/s");
	line(section, bytes, "ceiling: random atomics", *atomics * 1e-9, "G/s");
}

/* ---- comparing ---- */

bool
same_bits(qf_cuda_filter *f, const qf_filter *cpu)
{
	qf_filter fetched;
	bool same;

	CHECK(cpu->encoding == QF_DENSE);
	CHECK(qf_cuda_fetch(f, &fetched, &test_memory) == QB_OK);
	same = fetched.ones == cpu->ones && fetched.rows == cpu->rows &&
		   memcmp(fetched.bits, cpu->bits, qf_words(&cpu->params) * 8) == 0;
	qf_free(&fetched);
	return same;
}

/* True if the answers on the device equal the CPU's answers. */
template <typename Answer>
static bool
same_answers(const Answer *cpu, uint64_t keys)
{
	int64_t *got = (int64_t *) malloc(keys * sizeof(*got));
	bool same = true;

	CHECK(got);
	CHECK_CUDA(cudaMemcpy(got, answer, keys * sizeof(*got), cudaMemcpyDeviceToHost));
	for (uint64_t i = 0; i < keys; i++)
		same &= got[i] == (int64_t) cpu[i];
	free(got);
	return same;
}

/* ---- frequency filters by size ---- */

qf_batch
rows_of(const uint64_t *key, uint64_t rows)
{
	qf_batch b = {};

	b.fingerprint = key;
	b.count = rows;
	b.nonce = NONCE;
	return b;
}

/*
 * Return the parameters of a filter of "bytes" bytes with k and p of the balanced preset for f =
 * 1000.  Sets *rows to the design load, at most ROWS.
 */
static qf_params
design(uint64_t bytes, uint64_t *rows)
{
	qf_request r = {};
	qf_params p;

	r.rows = 10000000;
	r.frequency = 1000;
	r.error = 0.1;
	r.preset = QF_BALANCED;
	CHECK(qf_params_make(&p, &r) == QB_OK);
	p.m = bytes * 8;
	*rows = (uint64_t) (0.3 * (double) p.m / (p.k * qf_probability(&p)));
	*rows = *rows < ROWS ? *rows : ROWS;
	return p;
}

double
time_insert(qf_cuda_filter *f, const uint64_t *key, uint64_t rows)
{
	qf_batch b = rows_of(key, rows);

	return measure([&] { CHECK(qf_cuda_reset(f) == QB_OK); },
				   [&] { CHECK(qf_cuda_insert_device(f, &b) == QB_OK); });
}

static void
insert_ours(uint64_t bytes, qf_cuda_filter *f, const qf_filter *cpu, uint64_t rows, double reads,
			double atomics)
{
	static const qs_cuda_bulk ways[] = { QS_BULK_NEVER, QS_BULK_ALWAYS, QS_BULK_AUTO };
	static const char *const names[] = { "insert, not in shared memory",
										 "insert, in shared memory if it fits", "insert" };
	double draws = cpu->params.k * qf_probability(&cpu->params) + 1;
	double took = 0;

	rate("sizes", bytes, "insert, a batch of 2^28 rows", ROWS, time_insert(f, device_key, ROWS));
	for (int w = 0; w < 3; w++)
	{
		qs_cuda_set_bulk(gpu, ways[w]);
		took = time_insert(f, device_key, rows);
		rate("sizes", bytes, names[w], rows, took);
		must_agree("sizes", bytes, names[w], same_bits(f, cpu));
	}
	line("sizes", bytes, "insert / (reads / (k p + 1))", rows / took / (reads / draws), "");
	line("sizes", bytes, "insert / (atomics / (k p + 1))", rows / took / (atomics / draws), "");
}

/* Copy the bits of a filter to the device, for the paper's kernels. */
static uint32_t *
bits_of(const qf_filter *f)
{
	size_t bytes = qf_words(&f->params) * 8;
	uint32_t *word;

	CHECK_CUDA(cudaMalloc((void **) &word, bytes));
	copy_to_device(word, f->bits, bytes);
	return word;
}

static void
insert_paper(uint64_t bytes, const qf_filter *cpu, uint64_t rows)
{
	static const char what[] = "insert, thread per (key, hash)";
	uint32_t *word = bits_of(cpu);
	uint8_t *bits = (uint8_t *) test_memory.alloc(NULL, bytes);
	double took = measure([&] { CHECK_CUDA(cudaMemsetAsync(word, 0, bytes, stream)); },
						  [&] { gf_insert_paper(stream, cpu, NONCE + 1, device_key, rows, word); });

	CHECK_CUDA(cudaGetLastError());
	rate("sizes", bytes, what, rows, took);
	CHECK_CUDA(cudaMemcpy(bits, word, bytes, cudaMemcpyDeviceToHost));
	must_agree("sizes", bytes, what,
			   fabs((double) qf_ones(bits, bytes / 8) / (double) cpu->ones - 1) < 0.01);
	free(bits);
	cudaFree(word);
}

static void
query_ours(uint64_t bytes, qf_cuda_filter *f, const qf_filter *cpu, const uint32_t *set,
		   double reads)
{
	double took = measure(
		nothing, [&] { CHECK(qf_cuda_query_device(f, device_key, KEYS, answer) == QB_OK); });

	rate("sizes", bytes, "query", KEYS, took);
	line("sizes", bytes, "query / (reads / k)", KEYS / took / (reads / cpu->params.k), "");
	must_agree("sizes", bytes, "query", same_answers(set, KEYS));
}

static void
query_paper(uint64_t bytes, const qf_filter *cpu, const uint32_t *set)
{
	static const char what[] = "query, thread per (key, hash)";
	uint32_t *word = bits_of(cpu);
	double took =
		measure([&] { CHECK_CUDA(cudaMemsetAsync(answer, 0, KEYS * sizeof(*answer), stream)); },
				[&] { gf_query_paper(stream, cpu, device_key, KEYS, word, answer); });

	CHECK_CUDA(cudaGetLastError());
	rate("sizes", bytes, what, KEYS, took);
	must_agree("sizes", bytes, what, same_answers(set, KEYS));
	cudaFree(word);
}

static void
one_size(uint64_t bytes)
{
	uint32_t *set = (uint32_t *) malloc(KEYS * sizeof(*set));
	uint64_t rows;
	qf_params p = design(bytes, &rows);
	double reads, atomics;
	qf_cuda_filter *f;
	qf_filter cpu;

	CHECK(set);
	line("sizes", bytes, "rows", (double) rows, "");
	ceilings("sizes", bytes, &reads, &atomics);
	rate("sizes", bytes, "insert, CPU", rows, host_insert(&p, host_key, rows, &cpu));
	CHECK(qf_cuda_create(gpu, &p, &f) == QB_OK);
	insert_ours(bytes, f, &cpu, rows, reads, atomics);
	insert_paper(bytes, &cpu, rows);
	rate("sizes", bytes, "query, CPU", KEYS, host_query(&cpu, host_key, KEYS, set, NULL));
	query_ours(bytes, f, &cpu, set, reads);
	query_paper(bytes, &cpu, set);
	qf_cuda_destroy(f);
	qf_free(&cpu);
	free(set);
}

static void
section_sizes(void)
{
	static const uint64_t sizes[] = { 16 << 10, 128 << 10, 1 << 20, 4 << 20, 16 << 20, 32 << 20 };

	for (uint64_t bytes : sizes)
		one_size(bytes);
}

/* ---- rows in pinned host memory ---- */

/* Return the median seconds of run() by the host's clock, after one run to warm up. */
template <typename Run>
static double
measure_host(Run run)
{
	double took[RUNS];

	for (int i = -1; i < RUNS; i++)
	{
		double start = seconds();

		run();
		CHECK(qs_cuda_sync(gpu) == QB_OK);
		took[i < 0 ? 0 : i] = seconds() - start;
	}
	qsort(took, RUNS, sizeof(*took), gf_compare);
	return took[RUNS / 2];
}

static void
host_bloom(uint64_t *pinned, uint64_t count)
{
	qf_cuda_filter *f;
	bool *found;
	qf_params p;

	CHECK(qf_params_make_bloom(&p, 10000000, 0.01, 0, QF_BLOCKED) == QB_OK);
	CHECK(qs_cuda_host_alloc(gpu, count, (void **) &found) == QB_OK);
	CHECK(qf_cuda_create(gpu, &p, &f) == QB_OK);
	rate("host", p.m / 8, "contains, pinned", count,
		 measure_host([&] { CHECK(qf_cuda_contains(f, pinned, count, found) == QB_OK); }));
	qf_cuda_destroy(f);
	qs_cuda_host_free(gpu, found);
}

static void
section_host(void)
{
	const uint64_t bytes = 1 << 20, count = UINT64_C(1) << 26;
	uint64_t rows;
	qf_params p = design(bytes, &rows);
	uint64_t *pinned;
	qf_cuda_filter *f;
	qf_batch b;

	CHECK(qs_cuda_host_alloc(gpu, count * 8, (void **) &pinned) == QB_OK);
	memcpy(pinned, host_key, count * 8);
	b = rows_of(pinned, count);
	CHECK(qf_cuda_create(gpu, &p, &f) == QB_OK);
	rate("host", bytes, "insert, pinned", count,
		 measure_host([&] { CHECK(qf_cuda_insert(f, &b) == QB_OK); }));
	qf_cuda_destroy(f);
	host_bloom(pinned, count);
	qs_cuda_host_free(gpu, pinned);
}

static const struct
{
	const char *name;
	void (*run)(void);
} sections[] = { { "sizes", section_sizes }, { "bloom", section_bloom }, { "host", section_host } };

static bool
wanted(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc == 1;
}

int
main(int argc, char **argv)
{
	qs_cuda_error error;
	qs_cuda_device d;

	if (qs_cuda_device_get(0, &d, &error) != QB_OK || qs_cuda_open(0, NULL, &gpu, &error) != QB_OK)
	{
		fprintf(stderr, "no usable device: %s\n", error.name);
		return 2;
	}
	printf("device\t0\t%s\t%d\tthreads of its host\n", d.name, host_threads());
	stream = (cudaStream_t) qs_cuda_stream(gpu);
	host_key = (uint64_t *) malloc(ROWS * 8);
	CHECK(host_key);
	CHECK_CUDA(cudaMalloc((void **) &device_key, ROWS * 8));
	CHECK_CUDA(cudaMalloc((void **) &answer, KEYS * sizeof(*answer)));
	CHECK_CUDA((cudaError_t) gf_keys(stream, device_key, ROWS, 0, ROWS));
	CHECK_CUDA(cudaStreamSynchronize(stream));
	CHECK_CUDA(cudaMemcpy(host_key, device_key, ROWS * 8, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (wanted(argc, argv, sections[i].name))
			sections[i].run();
	line("checks", 0, "wrong results", wrong, "");
	cudaFree(device_key);
	cudaFree(answer);
	free(host_key);
	qs_cuda_close(gpu);
	return wrong != 0;
}
