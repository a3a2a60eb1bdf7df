/*
 * filter_large.c
 *		Compares blocked filters of eight sizes, and batches of millions of keys, with the CPU.
 *
 * filter_large
 *
 * The keys are in device memory.  The engine chooses how it inserts them: in shared memory,
 * partitioned, or directly.  filter_parity tests small filters, and also forces or forbids
 * partitioning.
 *
 * test/gpu/filter_large.c
 */
#include "support.h"

#include "gpu_extra.h"

static uint64_t number, differences;

static void
expect(bool same, const char *what, const qf_params *p, key_kind kind)
{
	if (same)
		return;
	differences++;
	fprintf(stderr, "batch %lu, %s keys, %s differ: m %lu, k %u\n", (unsigned long) number,
			key_kind_names[kind], what, (unsigned long) p->m, p->k);
}

/*
 * Replace half of the inserted keys in key[] by other keys.  Look up all keys in device memory, and
 * compare the answers with the CPU's.
 */
static void
compare_lookups(qs_cuda *gpu, qf_cuda_filter *filter, const qf_filter *cpu, uint64_t *key,
				size_t count, key_kind kind)
{
	bool *want = malloc(count), *got = malloc(count), *found;
	uint64_t *there;

	CHECK(want && got);
	for (size_t i = 1; i < count; i += 2)
		key[i] = qb_mix64(~(number << 32) - i);
	there = keys_to_device(gpu, key, count);
	CHECK_CUDA(cudaMalloc((void **) &found, count));
	CHECK_CUDA(cudaMemset(found, 7, count));
	CHECK_CUDA(cudaDeviceSynchronize());
	CHECK(qf_cuda_contains_device(filter, there, count, found) == QB_OK);
	CHECK_CUDA(cudaDeviceSynchronize());
	CHECK_CUDA(cudaMemcpy(got, found, count, cudaMemcpyDeviceToHost));
	qf_engine_cpu.contains(cpu, key, count, want);
	expect(memcmp(got, want, count) == 0, "answers", &cpu->params, kind);
	cudaFree(there);
	cudaFree(found);
	free(want);
	free(got);
}

static void
compare_filters(qf_cuda_filter *gpu, const qf_filter *cpu, key_kind kind)
{
	qf_filter got;

	CHECK(qf_cuda_fetch(gpu, &got, &test_memory) == QB_OK);
	expect(got.ones == cpu->ones && got.rows == cpu->rows &&
			   memcmp(got.bits, cpu->bits, qf_words(&cpu->params) * 8) == 0,
		   "filters", &cpu->params, kind);
	qf_free(&got);
}

/*
 * Insert "count" keys as one batch in device memory, and compare the filter with the CPU's filter.
 */
static void
try_batch(qs_cuda *gpu, const qf_params *p, size_t count, key_kind kind)
{
	qf_batch b = { .count = count };
	uint64_t *key = malloc(count * 8), *there;
	qf_cuda_filter *filter;
	qf_filter cpu;

	CHECK(key && qf_params_check(p) == QB_OK);
	number++;
	make_keys(key, kind, number, 0, count);
	there = keys_to_device(gpu, key, count);
	qf_init(&cpu, p, &test_memory);
	CHECK(qf_make_dense(&cpu) == QB_OK);
	CHECK(qf_cuda_create(gpu, p, &filter) == QB_OK);
	b.fingerprint = key;
	CHECK(qf_engine_cpu.insert(&cpu, &b) == QB_OK);
	b.fingerprint = there;
	CHECK(qf_cuda_insert_device(filter, &b) == QB_OK);
	compare_filters(filter, &cpu, kind);
	compare_lookups(gpu, filter, &cpu, key, count, kind);
	qf_cuda_destroy(filter);
	qf_free(&cpu);
	cudaFree(there);
	free(key);
}

int
main(void)
{
	static const uint64_t lines[] = { 1,    131,    1940,    3000,
									  4096, 194048, 3878912, QF_BITS_MAX / QF_BLOCK_BITS };

	qs_cuda_error error;
	qs_cuda_stats stats;
	qs_cuda *gpu;

	if (qs_cuda_device_count(&error) == 0)
	{
		fprintf(stderr, "no usable GPU: %s\n", error.name);
		return 2;
	}
	CHECK(qs_cuda_open(0, NULL, &gpu, &error) == QB_OK);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
	{
		qf_params p = { .m = lines[i] * QF_BLOCK_BITS, .k = i % 2 ? 7 : 10, .layout = QF_BLOCKED };

		try_batch(gpu, &p, 5000003, KEYS_UNIFORM);
		try_batch(gpu, &p, 2100000, KEYS_ZIPF_11);
		try_batch(gpu, &p, 9000001, i % 2 ? KEYS_TWO : KEYS_EQUAL);
	}
	qs_cuda_get_stats(gpu, &stats);
	printf("large batches into filters: %lu, %lu million keys partitioned, %lu differences\n",
		   (unsigned long) number, (unsigned long) (stats.bulk_keys / 1000000),
		   (unsigned long) differences);
	qs_cuda_close(gpu);
	return differences == 0 && stats.bulk_keys > 0 ? 0 : 1;
}
