/*
 * support.c
 *		Functions that GPU tests and benchmarks share: memory, keys, and comparisons.
 *
 * test/gpu/support.c
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

/* Large tables use huge pages, as in the extension. */
#define HUGE_PAGE (2u << 20)

/* Number of distinct keys of a Zipf distribution. */
#define ZIPF_UNIVERSE 268435456.0

const char *const key_kind_names[KEYS_KINDS] = {
	[KEYS_UNIFORM] = "uniform",  [KEYS_ZIPF_11] = "Zipf 1.1", [KEYS_ZIPF_12] = "Zipf 1.2",
	[KEYS_ZIPF_15] = "Zipf 1.5", [KEYS_EQUAL] = "all equal",  [KEYS_SORTED] = "sorted",
	[KEYS_TWO] = "two keys",     [KEYS_FEW] = "hundred keys",
};

/*
 * Draw a rank by inverting the continuous distribution.  The probability of a rank is about
 * proportional to rank^-s.
 */
static uint64_t
zipf(double s, uint64_t random)
{
	double u = (double) (random >> 11) * (1.0 / 9007199254740992.0);

	return (uint64_t) pow(1.0 - u * (1.0 - pow(ZIPF_UNIVERSE, 1.0 - s)), 1.0 / (1.0 - s));
}

uint64_t
key_at(key_kind kind, uint64_t seed, uint64_t i)
{
	uint64_t random = qb_mix64(i * QB_ROW_STEP + seed);

	switch (kind)
	{
		case KEYS_ZIPF_11:
			return qb_mix64(zipf(1.1, random) + 77);
		case KEYS_ZIPF_12:
			return qb_mix64(zipf(1.2, random) + 77);
		case KEYS_ZIPF_15:
			return qb_mix64(zipf(1.5, random) + 77);
		case KEYS_EQUAL:
			return UINT64_C(0x123456789);
		case KEYS_SORTED:
			return i;
		case KEYS_TWO:
			return random >> 63;
		case KEYS_FEW:
			return qb_reduce(random, 100);
		default:
			return random;
	}
}

typedef struct key_range
{
	uint64_t *key;
	key_kind kind;
	uint64_t seed, first, count;
} key_range;

static void *
fill_range(void *argument)
{
	const key_range *r = argument;

	for (uint64_t i = 0; i < r->count; i++)
		r->key[i] = key_at(r->kind, r->seed, r->first + i);
	return NULL;
}

void
make_keys(uint64_t *key, key_kind kind, uint64_t seed, uint64_t first, uint64_t count)
{
	enum
	{
		MOST = 64
	};
	pthread_t thread[MOST];
	key_range range[MOST];
	int threads = count < 100000 ? 1 : cores() < MOST ? cores() : MOST;

	for (int t = 0; t < threads; t++)
	{
		uint64_t begin = count * (uint64_t) t / (uint64_t) threads;
		uint64_t end = count * (uint64_t) (t + 1) / (uint64_t) threads;

		range[t] = (key_range){ key + begin, kind, seed, first + begin, end - begin };
		if (threads == 1)
			fill_range(&range[t]);
		else
			CHECK(pthread_create(&thread[t], NULL, fill_range, &range[t]) == 0);
	}
	for (int t = 0; threads > 1 && t < threads; t++)
		pthread_join(thread[t], NULL);
}

static void *
test_alloc(void *context, size_t bytes)
{
	void *memory = NULL;

	(void) context;
	if (posix_memalign(&memory, bytes < HUGE_PAGE ? 64 : HUGE_PAGE, bytes > 0 ? bytes : 1) != 0)
		return NULL;
	if (bytes >= HUGE_PAGE)
		madvise(memory, bytes, MADV_HUGEPAGE);
	return memset(memory, 0, bytes);
}

static void
test_release(void *context, void *pointer)
{
	(void) context;
	free(pointer);
}

const qb_memory test_memory = { .alloc = test_alloc, .release = test_release };

/*
 * A copy from ordinary memory can return before the data have arrived.  Streams that do not
 * synchronize with the default stream would not wait for the data, so the function waits.
 */
void
copy_to_device(void *to, const void *from, size_t bytes)
{
	CHECK_CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
	CHECK_CUDA(cudaDeviceSynchronize());
}

/* qs_cuda_sync() makes the device the thread's current device, on which cudaMalloc() allocates. */
uint64_t *
keys_to_device(qs_cuda *gpu, const void *key, size_t count)
{
	void *there;

	CHECK(qs_cuda_sync(gpu) == QB_OK);
	CHECK_CUDA(cudaMalloc(&there, count * sizeof(uint64_t)));
	copy_to_device(there, key, count * sizeof(uint64_t));
	return there;
}

void
keys_put(qs_cuda *gpu, uint64_t *to, const uint64_t *from, size_t count)
{
	CHECK(qs_cuda_sync(gpu) == QB_OK);
	copy_to_device(to, from, count * sizeof(*to));
}

void
keys_get(qs_cuda *gpu, uint64_t *to, const uint64_t *from, size_t count)
{
	CHECK(qs_cuda_sync(gpu) == QB_OK);
	CHECK_CUDA(cudaMemcpy(to, from, count * sizeof(*to), cudaMemcpyDeviceToHost));
}

double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

int
cores(void)
{
	return (int) sysconf(_SC_NPROCESSORS_ONLN);
}

qs_cuda *
open_second(qs_cuda *first)
{
	qs_cuda_error error;
	qs_cuda *second;

	CHECK(qs_cuda_open(qs_cuda_device_count(&error) > 1, NULL, &second, &error) == QB_OK);
	(void) qs_cuda_join(first, second);
	(void) qs_cuda_join(second, first);
	return second;
}

void
dense_init(qs_sketch *sk, const qs_params *p)
{
	qs_init(sk, p, &test_memory);
	CHECK(qs_make_dense(sk) == QB_OK);
}

bool
same_bytes(const qs_sketch *a, const qs_sketch *b)
{
	uint64_t bytes = qs_flat_size(a);
	uint8_t *left, *right;
	bool same;

	if (bytes != qs_flat_size(b))
		return false;
	left = malloc(bytes);
	right = malloc(bytes);
	CHECK(left && right);
	qs_write(a, left);
	qs_write(b, right);
	same = memcmp(left, right, bytes) == 0;
	free(left);
	free(right);
	return same;
}

bool
same_tables(const qs_sketch *a, const qs_sketch *b)
{
	return a->total == b->total && a->wide == b->wide &&
		   memcmp(a->table, b->table, qs_table_bytes(&a->params, a->wide)) == 0;
}

/* ---- programs that test random cases ---- */

static uint64_t differences;

uint64_t
draw_below(uint64_t *state, uint64_t below)
{
	return qb_reduce(qb_mix64(*state += QB_ROW_STEP), below);
}

void
expect_case(uint64_t number, bool good, const char *what)
{
	if (good)
		return;
	differences++;
	printf("case %llu: %s\n", (unsigned long long) number, what);
}

uint64_t
case_argument(const case_run *run, int i, uint64_t otherwise)
{
	return run->argc > i ? strtoull(run->argv[i], NULL, 10) : otherwise;
}

case_run
begin_cases(int argc, char **argv, uint64_t cases)
{
	case_run run = { .argc = argc, .argv = argv };
	qs_cuda_error error;

	if (qs_cuda_open(0, NULL, &run.gpu, &error) != QB_OK)
	{
		printf("no usable device: %s\n", error.name);
		exit(2);
	}
	run.timed = argc > 1 && strcmp(argv[1], "time") == 0;
	if (run.timed)
		return run;
	run.first = case_argument(&run, 1, 0);
	run.end = run.first + case_argument(&run, 2, cases);
	return run;
}

int
end_cases(const case_run *run, const char *program)
{
	qs_cuda_close(run->gpu);
	if (!run->timed)
		printf("%s: %llu cases, %llu differences\n", program,
			   (unsigned long long) (run->end - run->first), (unsigned long long) differences);
	return differences != 0;
}
