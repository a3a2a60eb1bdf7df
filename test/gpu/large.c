/*
 * large.c
 *		Compares sketches with large tables and batches with the CPU.
 *
 * Each case has a thread, in which the CPU builds the reference.  Meanwhile the device builds
 * one case after another from keys in device memory, in every way of inserting.  Plain tables
 * are compared directly, multilevel sketches in serialized form.
 *
 * test/gpu/large.c
 */
#include <pthread.h>

#include "support.h"

#include "gpu_extra.h"

#define KEYS (UINT64_C(1) << 28)
#define MB   (UINT64_C(1) << 20)

typedef struct large_case
{
	qs_structure structure;
	uint64_t bytes; /* size of the table */
	key_kind kind;
	uint64_t keys;
	/* set by start_case() and build_reference() */
	qs_params params;
	qs_sketch cpu;
	const uint64_t *key;
	pthread_t thread;
} large_case;

static large_case cases[] = {
	{ .structure = QS_SUB_WARP, .bytes = 4096 * MB, .kind = KEYS_UNIFORM, .keys = KEYS },
	{ .structure = QS_SUB_WARP, .bytes = 1024 * MB, .kind = KEYS_ZIPF_12, .keys = KEYS },
	{ .structure = QS_SUB_WARP, .bytes = 16 * MB, .kind = KEYS_UNIFORM, .keys = KEYS / 2 },
	{ .structure = QS_SUB_WARP, .bytes = 96 * MB, .kind = KEYS_TWO, .keys = KEYS / 2 },
	{ .structure = QS_SUB_WARP, .bytes = 100 * MB, .kind = KEYS_FEW, .keys = KEYS / 2 },
	{ .structure = QS_HALF_WARP, .bytes = 1024 * MB, .kind = KEYS_SORTED, .keys = KEYS / 2 },
	{ .structure = QS_WARP, .bytes = 512 * MB, .kind = KEYS_ZIPF_12, .keys = KEYS / 2 },
	{ .structure = QS_MULTILEVEL, .bytes = 1024 * MB, .kind = KEYS_UNIFORM, .keys = KEYS },
	{ .structure = QS_MULTILEVEL, .bytes = 512 * MB, .kind = KEYS_ZIPF_12, .keys = KEYS / 2 },
	{ .structure = QS_MULTILEVEL, .bytes = 64 * MB, .kind = KEYS_EQUAL, .keys = KEYS },
	{ .structure = QS_MULTILEVEL, .bytes = 4 * MB, .kind = KEYS_UNIFORM, .keys = KEYS / 4 },
	{ .structure = QS_THREAD, .bytes = 1024 * MB, .kind = KEYS_UNIFORM, .keys = KEYS / 2 },
	{ .structure = QS_THREAD, .bytes = 300 * MB, .kind = KEYS_ZIPF_12, .keys = KEYS / 4 },
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static void *
build_reference(void *argument)
{
	large_case *c = argument;

	dense_init(&c->cpu, &c->params);
	CHECK(qs_engine_cpu.insert(&c->cpu, c->key, NULL, c->keys) == QB_OK);
	return NULL;
}

/* Returns KEYS keys of a distribution.  All cases of the distribution share the array. */
static const uint64_t *
keys_of(key_kind kind)
{
	static uint64_t *made[KEYS_KINDS];

	if (!made[kind])
	{
		made[kind] = malloc(KEYS * sizeof(uint64_t));
		CHECK(made[kind]);
		make_keys(made[kind], kind, 12345, 0, KEYS);
	}
	return made[kind];
}

static void
start_case(large_case *c)
{
	c->params = (qs_params){ .structure = (uint8_t) c->structure, .depth = 3, .seed = 7 };
	c->params.log2_masks = c->structure == QS_THREAD ? 0 : 10;
	c->params.n = c->bytes / qs_block_bytes(&c->params);
	c->key = keys_of(c->kind);
	CHECK(pthread_create(&c->thread, NULL, build_reference, c) == 0);
}

/* Build a sketch on the device and fetch it.  Returns the seconds of the insertion. */
static double
build_device(qs_cuda *gpu, const large_case *c, const uint64_t *key, qs_cuda_bulk bulk,
			 qs_sketch *fetched)
{
	qs_cuda_sketch *sk;
	double began, took;

	qs_cuda_set_bulk(gpu, bulk);
	CHECK(qs_cuda_create(gpu, &c->params, &sk) == QB_OK);
	CHECK(qs_cuda_sync(gpu) == QB_OK);
	began = seconds();
	CHECK(qs_cuda_insert_device(sk, key, c->keys) == QB_OK);
	CHECK(qs_cuda_sync(gpu) == QB_OK);
	took = seconds() - began;
	CHECK(qs_cuda_fetch(sk, fetched, &test_memory) == QB_OK);
	qs_cuda_destroy(sk);
	return took;
}

static int
run_case(qs_cuda *gpu, large_case *c, uint64_t *device_key)
{
	static const char *const ways[] = { "auto", "direct", "bulk" };
	bool joined = false;
	int wrong = 0;

	copy_to_device(device_key, c->key, c->keys * 8);
	for (int way = QS_BULK_AUTO; way <= QS_BULK_ALWAYS; way++)
	{
		qs_sketch fetched;
		double took = build_device(gpu, c, device_key, (qs_cuda_bulk) way, &fetched);
		bool same;

		if (!joined)
			pthread_join(c->thread, NULL);
		joined = true;
		same = c->structure == QS_MULTILEVEL ? same_bytes(&c->cpu, &fetched)
											 : same_tables(&c->cpu, &fetched);
		printf("%-10s %5llu MB  %-9s %9llu keys %-6s %6.1f Gkeys/s  %s\n",
			   qs_structure_name(c->structure), (unsigned long long) (c->bytes / MB),
			   key_kind_names[c->kind], (unsigned long long) c->keys, ways[way],
			   (double) c->keys / took * 1e-9, same ? "same" : "DIFFERENT");
		fflush(stdout);
		wrong += !same;
		qs_free(&fetched);
	}
	qs_free(&c->cpu);
	return wrong;
}

int
main(void)
{
	qs_cuda_error error;
	uint64_t *device_key;
	qs_cuda *gpu;
	int wrong = 0;

	if (qs_cuda_open(0, NULL, &gpu, &error) != QB_OK)
	{
		printf("no usable device: %s\n", error.name);
		return 2;
	}
	for (size_t i = 0; i < CASES; i++)
		start_case(&cases[i]);
	CHECK_CUDA(cudaMalloc((void **) &device_key, KEYS * 8));
	for (size_t i = 0; i < CASES; i++)
		wrong += run_case(gpu, &cases[i], device_key);
	cudaFree(device_key);
	qs_cuda_close(gpu);
	printf("large: %zu cases three ways each, %d differences\n", CASES, wrong);
	return wrong != 0;
}
