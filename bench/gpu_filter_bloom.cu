/*
 * gpu_filter_bloom.cu
 *		Speed of Bloom filters on a GPU: insertion and lookups by size and layout.
 *
 * Filters are made for 1 % false positives and a number of distinct keys.  Batches have this number
 * of keys.  A launch for few keys ends before it reaches full speed, so smaller filters also get
 * the keys repeatedly, in a batch of BATCH rows.  Insertion is timed in the mode that the engine
 * chooses, and with each key inserted directly into the filter.  Lookups are of present keys, of
 * absent keys, and of both alternately.
 *
 * bench/gpu_filter_bloom.cu
 */
#include "gpu_filter.cuh"

#define BATCH UINT64_C(100000000)

/* keys to look up, on the device */
static uint64_t *asked_key;
static bool *found; /* answers on the device */
static bool host_found[KEYS];

static const char *
named(int layout, const char *what)
{
	static char name[80];

	snprintf(name, sizeof(name), "%s, %s", qf_layout_name(layout), what);
	return name;
}

/* Count the positive answers, and compare the first answers with the CPU's. */
static uint64_t
count_found(uint64_t count, const qf_filter *cpu, bool *agree)
{
	uint64_t some = count < KEYS ? count : KEYS, yes = 0;
	bool *got = (bool *) malloc(count), *want = (bool *) malloc(some);
	uint64_t *key = (uint64_t *) malloc(some * sizeof(*key));

	CHECK(got && want && key);
	CHECK_CUDA(cudaMemcpy(got, found, count, cudaMemcpyDeviceToHost));
	CHECK_CUDA(cudaMemcpy(key, asked_key, some * sizeof(*key), cudaMemcpyDeviceToHost));
	qf_engine_cpu.contains(cpu, key, some, want);
	*agree = memcmp(got, want, some) == 0;
	for (uint64_t i = 0; i < count; i++)
		yes += got[i];
	free(got);
	free(want);
	free(key);
	return yes;
}

static void
look_up(qf_cuda_filter *f, const qf_filter *cpu, const char *what, uint64_t count, uint64_t *yes)
{
	const char *name = named((int) cpu->params.layout, what);
	bool agree;
	double took =
		measure([&] { CHECK_CUDA(cudaMemsetAsync(found, 7, count, stream)); },
				[&] { CHECK(qf_cuda_contains_device(f, asked_key, count, found) == QB_OK); });

	rate("bloom", cpu->params.m / 8, name, count, took);
	*yes = count_found(count, cpu, &agree);
	must_agree("bloom", cpu->params.m / 8, name, agree);
}

/* Measure lookups of "count" keys, after "keys" distinct keys were inserted. */
static void
look_up_all(qf_cuda_filter *f, const qf_filter *cpu, uint64_t count, uint64_t keys)
{
	uint64_t bytes = cpu->params.m / 8, yes;

	CHECK_CUDA((cudaError_t) gf_keys(stream, asked_key, count, 0, keys));
	look_up(f, cpu, "contains, all there", count, &yes);
	must_agree("bloom", bytes, "keys that are there", yes == count);
	CHECK_CUDA((cudaError_t) gf_keys(stream, asked_key, count, ROWS, count));
	look_up(f, cpu, "contains, none there", count, &yes);
	line("bloom", bytes, named((int) cpu->params.layout, "false positives"),
		 (double) yes / (double) count, "");
	CHECK_CUDA((cudaError_t) gf_keys_half(stream, asked_key, count, ROWS, keys));
	look_up(f, cpu, "contains, half there", count, &yes);
}

static void
insert(qf_cuda_filter *f, const qf_filter *cpu, const uint64_t *key, uint64_t count,
	   qs_cuda_bulk way, const char *what)
{
	const char *name = named((int) cpu->params.layout, what);

	qs_cuda_set_bulk(gpu, way);
	rate("bloom", cpu->params.m / 8, name, count, time_insert(f, key, count));
	qs_cuda_set_bulk(gpu, QS_BULK_AUTO);
	must_agree("bloom", cpu->params.m / 8, name, same_bits(f, cpu));
}

static void
one_bloom(uint64_t keys, int layout)
{
	double reads, atomics;
	qf_cuda_filter *f;
	qf_filter cpu;
	qf_params p;

	CHECK(qf_params_make_bloom(&p, (int64_t) keys, 0.01, 0, layout) == QB_OK);
	ceilings("bloom", p.m / 8, &reads, &atomics);
	rate("bloom", p.m / 8, named(layout, "insert, CPU"), keys,
		 host_insert(&p, host_key, keys, &cpu));
	rate("bloom", p.m / 8, named(layout, "contains, CPU"), KEYS,
		 host_query(&cpu, host_key, KEYS, NULL, host_found));
	CHECK(qf_cuda_create(gpu, &p, &f) == QB_OK);
	insert(f, &cpu, device_key, keys, QS_BULK_NEVER, "insert, straight");
	insert(f, &cpu, device_key, keys, QS_BULK_AUTO, "insert");
	look_up_all(f, &cpu, keys, keys);
	if (keys < BATCH)
	{
		line("bloom", p.m / 8, "keys of a batch", (double) BATCH, "");
		CHECK_CUDA((cudaError_t) gf_keys(stream, asked_key, BATCH, 0, keys));
		insert(f, &cpu, asked_key, BATCH, QS_BULK_NEVER, "insert, straight");
		insert(f, &cpu, asked_key, BATCH, QS_BULK_AUTO, "insert");
		look_up_all(f, &cpu, BATCH, keys);
	}
	qf_cuda_destroy(f);
	qf_free(&cpu);
}

void
section_bloom(void)
{
	static const uint64_t counts[] = { 100000, 10000000, 200000000 };

	CHECK_CUDA(cudaMalloc((void **) &asked_key, ROWS * sizeof(*asked_key)));
	CHECK_CUDA(cudaMalloc((void **) &found, ROWS));
	for (uint64_t keys : counts)
		for (int layout = QF_BLOCKED; layout >= QF_STANDARD; layout--)
			one_bloom(keys, layout);
	cudaFree(asked_key);
	cudaFree(found);
}
