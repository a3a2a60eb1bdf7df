/*
 * gpu_sets_parts.cu
 *		Speed of single pairs of sets and of the product of bits on the GPU.
 *
 * bench/gpu_sets_parts.cu
 */
#include "gpu_sets.h"

/* ---- one pair ---- */

/*
 * Make a collection of one set: the distinct numbers among "draws" random numbers of 0 .. universe
 * - 1.
 */
static void
one_set(qset_collection *c, distribution d, uint64_t universe, uint64_t draws, uint64_t seed)
{
	uint64_t count;
	uint32_t *set = data_set(d, universe, draws, seed, &count);

	memset(c, 0, sizeof(*c));
	c->sets = 1;
	c->elements = count;
	c->universe = universe;
	if (qset_collection_alloc(c, &data_memory) != QB_OK)
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

/*
 * Return the ms of one count, measured over 20 consecutive counts, because the launch of one count
 * takes nearly half as long as the count.
 */
static float
time_single(qs_cuda *gpu, const qset_cuda_request *r)
{
	const int counts = 20;
	qset_pairwise pair = { r->rows, r->columns, false, r->filter, r->method, NULL };
	qset_strip strip = { (uint32_t *) gpu->result, 0, 1, 1 };
	cudaEvent_t at[2];
	float ms, best = 1e9;

	cudaEventCreate(&at[0]);
	cudaEventCreate(&at[1]);
	for (int i = 0; i < RUNS; i++)
	{
		cudaEventRecord(at[0], gpu->stream);
		for (int j = 0; j < counts; j++)
			must(qset_pairwise_count(gpu, &pair, &strip), gpu, "count");
		cudaEventRecord(at[1], gpu->stream);
		must(qs_cuda_sync(gpu), gpu, "count");
		cudaEventElapsedTime(&ms, at[0], at[1]);
		best = ms < best ? ms : best;
	}
	return best / counts;
}

void
bench_single(qs_cuda *gpu)
{
	static const int method[] = { QSET_MERGE, QSET_SEARCH, QSET_MERGE_SEARCH, QSET_MERGE_HASH };
	qset_collection a, b;
	qset_cuda_request r = {};
	uint64_t want;
	double start, copy = copy_bandwidth(gpu, UINT64_C(1) << 30);

	one_set(&a, UNIFORM, 100000000, 10000000, 1);
	one_set(&b, UNIFORM, 100000000, 10000000, 2);
	start = seconds();
	want = qset_count32(qset_kernels_now(), (int32_t *) a.rank, a.elements, (int32_t *) b.rank,
						b.elements);
	line("single", "elements of both", (double) (a.elements + b.elements), "");
	line("single", "CPU, one core", (seconds() - start) * 1e3, "ms");
	line("single", "copy bandwidth, read and written", copy, "GB/s");
	must(qset_cuda_sets_load(gpu, &a, &r.rows), gpu, "load");
	must(qset_cuda_sets_load(gpu, &b, &r.columns), gpu, "load");
	qset_filter_init(&r.filter, 0, 0, 0);
	for (int i = 0; i < 4; i++)
	{
		char what[100];
		qset_cuda_pairs *pairs;
		qset_pair pair = {};
		uint64_t count;
		bool over;
		measured m;

		r.method = method[i];
		m = count_gpu(gpu, &r);
		must(qset_cuda_pairs_open(gpu, &r, &pairs), gpu, "open");
		must(qset_cuda_pairs_next(pairs, &pair, 1, &count, &over), gpu, "next");
		qset_cuda_pairs_close(pairs);
		check("single", qset_method_name(r.method), pair.common, want);
		line("single", qset_method_name(r.method), m.product, "ms");
		m.product = time_single(gpu, &r);
		snprintf(what, sizeof(what), "%s, one of many", qset_method_name(r.method));
		line("single", what, m.product, "ms");
		snprintf(what, sizeof(what), "%s, bytes read against copying", qset_method_name(r.method));
		line("single", what, (double) (a.elements + b.elements) * 4 / m.product / 1e6 / copy, "");
	}
	qset_cuda_sets_destroy(r.rows);
	qset_cuda_sets_destroy(r.columns);
	qset_collection_free(&a);
	qset_collection_free(&b);
}

/* ---- the paper's Fig. 6 ---- */

/* Return the ms of a count on one core, the smaller of two times. */
static double
time_cpu(const qset_collection *a, const qset_collection *b, int method, uint64_t want)
{
	double best = 1e9;

	for (int i = 0; i < 2; i++)
	{
		double start = seconds();
		uint64_t common;

		require(qset_single_count(qset_kernels_now(), method, a->rank, a->elements, b->rank,
								  b->elements, &data_memory, &common) == QB_OK,
				"out of memory");
		check("figure6", qset_method_name(method), common, want);
		best = seconds() - start < best ? seconds() - start : best;
	}
	return best * 1e3;
}

/* Return the ms of a count on the GPU.  With hash and bitmap, one block counts the whole pair. */
static double
time_gpu(qs_cuda *gpu, qset_cuda_request *r, int method, uint64_t want)
{
	qset_cuda_pairs *pairs;
	qset_pair pair = {};
	uint64_t count;
	bool over;

	r->method = method;
	must(qset_cuda_pairs_open(gpu, r, &pairs), gpu, "open");
	must(qset_cuda_pairs_next(pairs, &pair, 1, &count, &over), gpu, "next");
	qset_cuda_pairs_close(pairs);
	check("figure6", qset_method_name(method), pair.common, want);
	return method == QSET_HASH || method == QSET_BITMAP ? count_gpu(gpu, r).product
														: time_single(gpu, r);
}

static void
print_pair(qs_cuda *gpu, const char *name, const qset_collection *a, const qset_collection *b)
{
	static const int method[] = { QSET_MERGE, QSET_SEARCH,     QSET_MERGE_SEARCH,
								  QSET_HASH,  QSET_MERGE_HASH, QSET_BITMAP };
	uint64_t want = qset_count32(qset_kernels_now(), (int32_t *) a->rank, a->elements,
								 (int32_t *) b->rank, b->elements);
	qset_cuda_request r = {};

	must(qset_cuda_sets_load(gpu, a, &r.rows), gpu, "load");
	must(qset_cuda_sets_load(gpu, b, &r.columns), gpu, "load");
	qset_filter_init(&r.filter, 0, 0, 0);
	printf("figure6\t| %s | %lu | %lu |", name, (unsigned long) (a->elements + b->elements),
		   (unsigned long) want);
	for (int i = 0; i < 6; i++)
	{
		double cpu = time_cpu(a, b, method[i], want);

		printf(" %.2f / %.3f |", cpu, time_gpu(gpu, &r, method[i], want));
	}
	printf("\n");
	fflush(stdout);
	qset_cuda_sets_destroy(r.rows);
	qset_cuda_sets_destroy(r.columns);
	qs_cuda_trim(gpu);
}

void
bench_figure6(qs_cuda *gpu)
{
	static const char *const names[] = { "uniform", "normal", "Zipf" };

	for (int d = UNIFORM; d <= ZIPF; d++)
		for (int i = 0; i < 4; i++)
		{
			qset_collection a, b;
			char name[80];
			uint64_t universe = i / 2 == 0 ? 100000000 : 1000000000;
			uint64_t draws = i % 2 == 0 ? 1000000 : 10000000;

			snprintf(name, sizeof(name), "%s 1e%d 1e%d", names[d], 8 + i / 2, 6 + i % 2);
			one_set(&a, (distribution) d, universe, draws, 1);
			one_set(&b, (distribution) d, universe, draws, 2);
			print_pair(gpu, name, &a, &b);
			qset_collection_free(&a);
			qset_collection_free(&b);
		}
}

/* ---- product ---- */

__global__ void
random_bits(uint32_t *bits, uint64_t words)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < words; i += stride)
		bits[i] = (uint32_t) (qb_mix64(i) & qb_mix64(i + words));
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
time_product(qs_cuda *gpu, const qset_bits *bits, qset_product how, const qset_strip *strip)
{
	cudaEvent_t at[2];
	float ms, best = 1e9;

	cudaEventCreate(&at[0]);
	cudaEventCreate(&at[1]);
	for (int i = 0; i < RUNS; i++)
	{
		cudaMemsetAsync(strip->count, 0, strip->rows * strip->width * 4, gpu->stream);
		cudaEventRecord(at[0], gpu->stream);
		must(qset_bits_multiply(gpu, bits, true, how, strip), gpu, "product");
		cudaEventRecord(at[1], gpu->stream);
		must(qs_cuda_sync(gpu), gpu, "product");
		cudaEventElapsedTime(&ms, at[0], at[1]);
		best = ms < best ? ms : best;
	}
	return best;
}

void
bench_product(qs_cuda *gpu)
{
	const uint64_t sets = 8192, words = 8192;
	double operations = (double) sets * (sets + QSET_TILE) / 2 * words * 32;
	qset_bits bits = {};
	qset_strip tensor = { NULL, 0, sets, sets }, popc = tensor;
	qset_memory memory = {};

	memory.gpu = gpu;
	bits.words = words;
	bits.columns = words * 32;
	must(qset_alloc(&memory, sets * words, &bits.row), gpu, "bits");
	must(qset_alloc(&memory, sets * sets, &tensor.count), gpu, "counts");
	must(qset_alloc(&memory, sets * sets, &popc.count), gpu, "counts");
	bits.other = bits.row;
	random_bits<<<1024, 256, 0, gpu->stream>>>(bits.row, sets * words);
	line("product", "tensor cores, k = 8192",
		 operations / time_product(gpu, &bits, QSET_PRODUCT_TENSOR, &tensor) / 1e12,
		 "Pbit-operations/s");
	line("product", "popc, k = 8192",
		 operations / time_product(gpu, &bits, QSET_PRODUCT_POPC, &popc) / 1e12,
		 "Pbit-operations/s");
	cudaMemsetAsync(gpu->result, 0, 8, gpu->stream);
	compare_counts<<<1024, 256, 0, gpu->stream>>>(tensor.count, popc.count, sets,
												  (unsigned long long *) gpu->result);
	must(qs_read_result(gpu, 1), gpu, "compare");
	check("product", "counts that differ", gpu->host_result[0], 0);
	qset_free(&memory);
}
