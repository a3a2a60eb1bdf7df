/*
 * gpu_bench.c
 *		Speed of the sketches on a GPU, beside the ceilings of the device.
 *
 * Writes one line for each measurement to standard output, tab-separated:
 *
 *	section	structure	table bytes	keys	what	value	unit
 *
 * from which gpu_report.sh makes docs/gpu-performance.md and its figures.
 * Times are medians of RUNS runs between two events, after one run to warm
 * up; keys are in device memory unless the section says otherwise.  Before a
 * configuration is timed, it runs once on an empty sketch and the estimates of
 * all its keys are compared with those of the reference (gpu_kernels.h); a
 * difference is counted, printed and makes the program fail.
 *
 *	gpu_bench [section ...]		all sections if none is given
 *
 * src/bench/gpu_bench.c
 */
#include <time.h>

#include "gpu_kernels.h"
#include "test/gpu/support.h"

#define RUNS     5
#define KEYS     (UINT64_C(1) << 28)
#define MB       (UINT64_C(1) << 20)
#define GB       (UINT64_C(1) << 30)
#define DEPTH    3
#define REF_MOST (40 * GB) /* device memory for the reference */

/* Everything that sections work with. */
static struct
{
	qs_cuda *gpu;
	void *stream;
	uint64_t *key; /* KEYS of them on the device ... */
	int64_t *estimate;
	uint64_t *wrong;
	key_kind kind; /* ... of this distribution */
	cudaEvent_t begin, end;
	uint64_t mistakes;
} g;

static const int structures[] = { QS_THREAD, QS_WARP, QS_HALF_WARP, QS_SUB_WARP, QS_MULTILEVEL };

#define STRUCTURES (sizeof(structures) / sizeof(structures[0]))

static void
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

typedef void (*timed)(void *argument);

/* Median milliseconds of a run. */
static double
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

/* The same by the host's clock, for what ends with the call. */
static double
measure_host(timed run, void *argument)
{
	double ms[RUNS];

	run(argument);
	for (int i = 0; i < RUNS; i++)
	{
		double began = seconds();

		run(argument);
		CHECK(qs_cuda_sync(g.gpu) == QS_OK);
		ms[i] = (seconds() - began) * 1e3;
	}
	qsort(ms, RUNS, sizeof(ms[0]), compare_doubles);
	return ms[RUNS / 2];
}

static double
gkeys(uint64_t keys, double ms)
{
	return (double) keys / ms * 1e-6;
}

static void
use_keys(key_kind kind)
{
	CHECK_CUDA(gk_keys(g.stream, kind, 12345, g.key, KEYS));
	CHECK_CUDA(cudaStreamSynchronize(g.stream));
	g.kind = kind;
}

static qs_params
params_of(int structure, uint64_t bytes, int depth)
{
	qs_params p = { .structure = (uint8_t) structure, .depth = (uint8_t) depth };

	p.log2_masks = structure == QS_THREAD ? 0 : 10;
	p.n = bytes / qs_unit_bytes(&p);
	if (structure == QS_SF)
		p.z = 8;
	return p;
}

/* One sketch and batch to be timed. */
typedef struct job
{
	qs_cuda_sketch *sk;
	uint64_t keys;
	gk_ceiling ceiling;
	void *table;
	uint64_t bytes;
} job;

static void
run_insert(void *argument)
{
	job *j = argument;

	CHECK(qs_cuda_insert_device(j->sk, g.key, NULL, j->keys) == QS_OK);
}

static void
run_query(void *argument)
{
	job *j = argument;

	CHECK(qs_cuda_query_device(j->sk, g.key, j->keys, g.estimate) == QS_OK);
}

static void
run_ceiling(void *argument)
{
	job *j = argument;

	CHECK_CUDA(
		gk_run_ceiling(g.stream, j->ceiling, g.key, j->keys, j->table, j->bytes, g.estimate));
}

/* Buckets that the reference has memory for. */
static uint64_t
reference_limit(const qs_params *p)
{
	uint64_t limit = p->n;

	while (p->structure != QS_THREAD && gk_reference_counters(p, limit) * 4 > REF_MOST)
		limit /= 2;
	return limit;
}

/* Insert once into an empty sketch: are the estimates those of the reference? */
static void
check(const char *section, const job *j)
{
	const qs_params *p = qs_cuda_params(j->sk);
	uint64_t limit = reference_limit(p);
	uint64_t bytes = gk_reference_counters(p, limit) * 4;
	uint64_t wrong;
	uint32_t *counter;

	CHECK(qs_cuda_reset(j->sk) == QS_OK);
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

/* Create, check and time inserts in one mode, and queries if wanted. */
static void
time_sketch(const char *section, int structure, uint64_t bytes, int depth, uint64_t keys,
			qs_cuda_bulk bulk, const char *insert_name, const char *query_name)
{
	qs_params p = params_of(structure, bytes, depth);
	const char *name = qs_structure_name(structure);
	job j = { .keys = keys };

	qs_cuda_set_bulk(g.gpu, bulk);
	CHECK(qs_cuda_create(g.gpu, &p, &j.sk) == QS_OK);
	check(section, &j);
	if (insert_name)
		print(section, name, bytes, keys, insert_name, gkeys(keys, measure(run_insert, &j)),
			  "Gkeys/s");
	if (query_name)
		print(section, name, bytes, keys, query_name, gkeys(keys, measure(run_query, &j)),
			  "Gkeys/s");
	qs_cuda_destroy(j.sk);
}

static void
time_ceiling(const char *section, gk_ceiling ceiling, uint64_t bytes, uint64_t keys,
			 const char *name)
{
	job j = { .keys = keys, .ceiling = ceiling, .bytes = bytes };

	CHECK_CUDA(cudaMalloc(&j.table, bytes));
	CHECK_CUDA(cudaMemset(j.table, 0, bytes));
	print(section, "ceiling", bytes, keys, name, gkeys(keys, measure(run_ceiling, &j)), "Gkeys/s");
	CHECK_CUDA(cudaFree(j.table));
}

/* ---- sections ---- */

typedef struct copy_job
{
	void *to, *from;
	size_t bytes;
} copy_job;

static void
run_copy(void *argument)
{
	copy_job *c = argument;

	CHECK_CUDA(cudaMemcpyAsync(c->to, c->from, c->bytes, cudaMemcpyDefault, g.stream));
}

/* What the device is, and how fast it copies. */
static void
section_device(void)
{
	copy_job c = { .bytes = GB };
	qs_cuda_device d;
	qs_cuda_error error;
	char date[32];
	time_t now = time(NULL);
	void *pageable = malloc(GB);

	CHECK(qs_cuda_device_get(0, &d, &error) == QS_OK);
	strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&now));
	printf("device\t%s\t%llu\t0\tdriver %d.%d, runtime %d.%d, %s\t%d\tmultiprocessors\n", d.name,
		   (unsigned long long) d.memory_bytes, d.driver / 1000, d.driver % 100 / 10,
		   d.runtime / 1000, d.runtime % 100 / 10, date, d.multiprocessors);
	print("device", "copy", 0, 0, "L2", (double) d.l2_bytes / 1e6, "MB");
	c.to = g.estimate;
	c.from = g.key;
	print("device", "copy", 0, 0, "device to device, read and written",
		  2.0 * (double) GB / measure(run_copy, &c) * 1e-9, "TB/s");
	CHECK(qs_cuda_host_alloc(g.gpu, GB, &c.from) == QS_OK);
	memset(c.from, 1, GB);
	print("device", "copy", 0, 0, "pinned host to device",
		  (double) GB / measure(run_copy, &c) * 1e-6, "GB/s");
	qs_cuda_host_free(g.gpu, c.from);
	memset(pageable, 1, GB);
	c.from = pageable;
	print("device", "copy", 0, 0, "pageable host to device",
		  (double) GB / measure(run_copy, &c) * 1e-6, "GB/s");
	free(pageable);
}

/* Direct insert and query of all structures by table size, uniform keys. */
static void
section_sizes(void)
{
	static const uint64_t sizes[] = { 16 * MB, 64 * MB, 256 * MB, GB, 4 * GB, 16 * GB, 32 * GB };

	use_keys(KEYS_UNIFORM);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		time_ceiling("sizes", GK_READ_SECTOR, sizes[i], KEYS, "query");
		time_ceiling("sizes", GK_READ_SECTOR_OF4, sizes[i], KEYS, "query, 4-byte answer");
		time_ceiling("sizes", GK_ADD_RANDOM, sizes[i], KEYS, "insert");
		for (size_t s = 0; s < STRUCTURES; s++)
			time_sketch("sizes", structures[s], sizes[i], DEPTH, KEYS, QS_BULK_NEVER, "insert",
						"query");
	}
}

/* Bulk insert against direct insert. */
static void
section_bulk(void)
{
	static const uint64_t sizes[] = { 16 * MB, 32 * MB, 64 * MB, 256 * MB,
									  GB,      4 * GB,  16 * GB, 32 * GB };

	use_keys(KEYS_UNIFORM);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t s = 0; s < STRUCTURES; s++)
		{
			time_sketch("bulk", structures[s], sizes[i], DEPTH, KEYS, QS_BULK_ALWAYS, "bulk", NULL);
			time_sketch("bulk", structures[s], sizes[i], DEPTH, KEYS, QS_BULK_AUTO, "auto", NULL);
		}
}

/* Where does bulk begin to pay?  Batches of all sizes into one table. */
static void
section_batches(void)
{
	use_keys(KEYS_UNIFORM);
	for (uint64_t keys = UINT64_C(1) << 20; keys <= KEYS; keys *= 2)
		for (size_t s = 0; s < STRUCTURES; s++)
			if (structures[s] != QS_WARP && structures[s] != QS_HALF_WARP)
			{
				time_sketch("batches", structures[s], 4 * GB, DEPTH, keys, QS_BULK_NEVER, "direct",
							NULL);
				time_sketch("batches", structures[s], 4 * GB, DEPTH, keys, QS_BULK_ALWAYS, "bulk",
							NULL);
				time_sketch("batches", structures[s], 4 * GB, DEPTH, keys, QS_BULK_AUTO, "auto",
							NULL);
			}
}

/* Skewed keys. */
static void
section_skew(void)
{
	static const key_kind kinds[] = { KEYS_UNIFORM, KEYS_ZIPF_11, KEYS_ZIPF_15, KEYS_EQUAL };
	static const uint64_t sizes[] = { 16 * MB, GB, 4 * GB };
	char name[64];

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
	{
		use_keys(kinds[k]);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (size_t s = 0; s < STRUCTURES; s++)
			{
				snprintf(name, sizeof(name), "%s, direct", key_kind_names[kinds[k]]);
				time_sketch("skew", structures[s], sizes[i], DEPTH, KEYS, QS_BULK_NEVER, name,
							NULL);
				snprintf(name, sizeof(name), "%s, auto", key_kind_names[kinds[k]]);
				time_sketch("skew", structures[s], sizes[i], DEPTH, KEYS, QS_BULK_AUTO, name,
							key_kind_names[kinds[k]]);
			}
	}
}

/* The paper's Figures 5 and 6: number of keys at constant load. */
static void
section_figures(void)
{
	static const char *const load_names[] = { "load 0.5", "load 1" };
	char insert[64], query[64];

	use_keys(KEYS_UNIFORM);
	for (int load = 0; load < 2; load++)
		for (int log2_keys = 15; log2_keys <= 28; log2_keys++)
		{
			uint64_t keys = UINT64_C(1) << log2_keys;
			uint64_t bytes = keys * 4 * DEPTH * (load == 0 ? 2 : 1);

			snprintf(insert, sizeof(insert), "%s, insert", load_names[load]);
			snprintf(query, sizeof(query), "%s, query", load_names[load]);
			time_ceiling("figures", GK_ADD_RANDOM, bytes, keys, insert);
			time_ceiling("figures", GK_READ_SECTOR, bytes, keys, query);
			for (size_t s = 0; s < STRUCTURES; s++)
				time_sketch("figures", structures[s], bytes, DEPTH, keys, QS_BULK_NEVER, insert,
							query);
			snprintf(insert, sizeof(insert), "%s, bulk", load_names[load]);
			time_sketch("figures", QS_SUB_WARP, bytes, DEPTH, keys, QS_BULK_AUTO, insert, NULL);
		}
}

/* The authors' open comparisons: depth, and random against sequential access. */
static void
section_depth(void)
{
	char insert[64], query[64];

	use_keys(KEYS_UNIFORM);
	for (int depth = 1; depth <= 5; depth++)
		for (size_t s = 0; s < STRUCTURES; s++)
		{
			snprintf(insert, sizeof(insert), "d=%d insert", depth);
			snprintf(query, sizeof(query), "d=%d query", depth);
			time_sketch("depth", structures[s], 4 * GB, depth, KEYS, QS_BULK_NEVER, insert, query);
		}
	time_ceiling("access", GK_READ_SECTOR, 4 * GB, KEYS, "random read of a sector");
	time_ceiling("access", GK_READ_SEQUENTIAL, 4 * GB, KEYS, "sequential read of a sector");
	time_ceiling("access", GK_ADD_RANDOM, 4 * GB, KEYS, "random atomic");
	time_ceiling("access", GK_ADD_SEQUENTIAL, 4 * GB, KEYS, "sequential atomic");
}

typedef struct host_job
{
	qs_cuda_sketch *sk;
	qs_sketch *full;
	const uint64_t *key;
	int64_t *estimate;
	uint64_t keys;
	int threads;
} host_job;

static void
run_host_insert(void *argument)
{
	host_job *h = argument;

	CHECK(qs_cuda_insert(h->sk, h->key, NULL, h->keys) == QS_OK);
}

static void
run_host_query(void *argument)
{
	host_job *h = argument;

	CHECK(qs_cuda_query(h->sk, h->key, h->keys, h->estimate) == QS_OK);
}

/* Keys in host memory, pinned and not. */
static void
section_host(void)
{
	enum
	{
		HOST_KEYS = 1 << 27
	};
	qs_params p = params_of(QS_SUB_WARP, GB, DEPTH);
	host_job h = { .keys = HOST_KEYS };
	uint64_t *pinned;

	CHECK(qs_cuda_host_alloc(g.gpu, HOST_KEYS * 8, (void **) &pinned) == QS_OK);
	CHECK(qs_cuda_host_alloc(g.gpu, HOST_KEYS * 8, (void **) &h.estimate) == QS_OK);
	make_keys(pinned, KEYS_UNIFORM, 1, 0, HOST_KEYS);
	qs_cuda_set_bulk(g.gpu, QS_BULK_AUTO);
	CHECK(qs_cuda_create(g.gpu, &p, &h.sk) == QS_OK);
	h.key = pinned;
	print("host", "sub_warp", GB, HOST_KEYS, "insert, pinned",
		  gkeys(HOST_KEYS, measure_host(run_host_insert, &h)), "Gkeys/s");
	print("host", "sub_warp", GB, HOST_KEYS, "query, pinned",
		  gkeys(HOST_KEYS, measure_host(run_host_query, &h)), "Gkeys/s");
	h.key = malloc(HOST_KEYS * sizeof(uint64_t));
	CHECK(h.key);
	memcpy((void *) (uintptr_t) h.key, pinned, HOST_KEYS * 8);
	print("host", "sub_warp", GB, HOST_KEYS, "insert, pageable",
		  gkeys(HOST_KEYS, measure_host(run_host_insert, &h)), "Gkeys/s");
	/* as many inserts as were made, and as many keys: the total says so */
	g.mistakes += qs_cuda_total(h.sk) != (int64_t) HOST_KEYS * 2 * (RUNS + 1);
	qs_cuda_destroy(h.sk);
	qs_cuda_host_free(g.gpu, pinned);
	qs_cuda_host_free(g.gpu, h.estimate);
	free((void *) (uintptr_t) h.key);
}

static void
run_sf_insert(void *argument)
{
	host_job *h = argument;

	CHECK(qs_cuda_sf_insert(h->sk, h->full, h->key, NULL, h->keys, h->threads) == QS_OK);
}

/* After timing: do device and host agree, and with the CPU engine? */
static void
check_sf(host_job *h)
{
	enum
	{
		QUERIES = 1 << 20
	};
	int64_t *device = malloc(QUERIES * sizeof(int64_t));
	int64_t *cpu = malloc(QUERIES * sizeof(int64_t));

	CHECK(device && cpu);
	CHECK(qs_cuda_query(h->sk, h->key, QUERIES, device) == QS_OK);
	qs_engine_cpu.query(h->full, h->key, QUERIES, cpu);
	g.mistakes += memcmp(device, cpu, QUERIES * sizeof(int64_t)) != 0;
	free(device);
	free(cpu);
}

/* sf: inserts on the host, queries on the device. */
static void
section_sf(void)
{
	enum
	{
		SF_KEYS = 1 << 25
	};
	static const uint64_t sizes[] = { 16 * MB, 256 * MB, GB };
	static const int threads[] = { 1, 4, 8, 16 };
	uint64_t *key = malloc(SF_KEYS * sizeof(uint64_t));
	char name[64];

	CHECK(key);
	use_keys(KEYS_UNIFORM);
	make_keys(key, KEYS_UNIFORM, 12345, 0, SF_KEYS);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		qs_params p = params_of(QS_SF, sizes[i], DEPTH);
		host_job h = { .key = key, .keys = SF_KEYS };
		job j = { .keys = KEYS };
		qs_sketch full;

		dense_init(&full, &p);
		h.full = &full;
		CHECK(qs_cuda_load(g.gpu, &full, &h.sk) == QS_OK);
		for (size_t t = i == 1 ? 0 : 3; t < 4; t++)
		{
			h.threads = threads[t];
			snprintf(name, sizeof(name), "insert, %d threads", threads[t]);
			print("sf", "sf", sizes[i], SF_KEYS, name,
				  gkeys(SF_KEYS, measure_host(run_sf_insert, &h)) * 1e3, "Mkeys/s");
		}
		check_sf(&h);
		j.sk = h.sk;
		print("sf", "sf", sizes[i], KEYS, "query", gkeys(KEYS, measure(run_query, &j)), "Gkeys/s");
		qs_cuda_destroy(h.sk);
		qs_free(&full);
	}
	free(key);
}

/* Inserts and a query of all keys, for the profiler. */
static void
section_profile(void)
{
	static const int profiled[] = { QS_SUB_WARP, QS_MULTILEVEL };

	use_keys(KEYS_UNIFORM);
	for (int i = 0; i < 2; i++)
	{
		qs_params p = params_of(profiled[i], 4 * GB, DEPTH);
		job j = { .keys = KEYS };

		CHECK(qs_cuda_create(g.gpu, &p, &j.sk) == QS_OK);
		qs_cuda_set_bulk(g.gpu, QS_BULK_NEVER);
		run_insert(&j);
		run_query(&j);
		qs_cuda_set_bulk(g.gpu, QS_BULK_ALWAYS);
		run_insert(&j);
		CHECK(qs_cuda_sync(g.gpu) == QS_OK);
		qs_cuda_destroy(j.sk);
	}
}

static const struct
{
	const char *name;
	void (*run)(void);
	bool asked; /* only when named */
} sections[] = {
	{ "device", section_device, false }, { "sizes", section_sizes, false },
	{ "bulk", section_bulk, false },     { "batches", section_batches, false },
	{ "skew", section_skew, false },     { "figures", section_figures, false },
	{ "depth", section_depth, false },   { "host", section_host, false },
	{ "sf", section_sf, false },         { "profile", section_profile, true },
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

	if (qs_cuda_open(0, NULL, &g.gpu, &error) != QS_OK)
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
