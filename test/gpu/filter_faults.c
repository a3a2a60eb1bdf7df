/*
 * filter_faults.c
 *		Makes every CUDA call of operations on a filter fail once, and checks what remains.
 *
 * The library is built with QS_CUDA_FAULTS, as for faults.c.  The test makes, fills, merges,
 * queries and fetches a filter, again and again until no CUDA call fails: in run 1 the first
 * call fails, in run 2 the second, and so on.  Nothing may leak, each error must have a name, and
 * the next filter must be right.
 *
 * test/gpu/filter_faults.c
 */
#include "support.h"

#include "filter/format.h"
#include "gpu_extra.h"

#define ROWS 20000
#define KEYS 3000

static long calls_left = -1; /* calls that succeed before one fails; negative: no call fails */
static int failures;

bool
qs_cuda_fault(void)
{
	return calls_left >= 0 && calls_left-- == 0;
}

static void
expect(bool condition, const char *name, long call, const char *what)
{
	if (condition)
		return;
	failures++;
	fprintf(stderr, "%s, call %ld: %s\n", name, call, what);
}

/* The inserted rows, and the answers of lookups of the first KEYS keys. */
static uint64_t key[ROWS], row[ROWS];
static int64_t copies[ROWS], answer[KEYS];
static bool found[KEYS];

typedef struct life
{
	const char *name;
	qf_params params;
	bool ids, copies;
	qs_cuda_bulk bulk;
} life;

static const life lives[] = {
	{ "rows", { .m = 100000, .k = 267, .q = -(UINT64_C(1) << 54) }, false, false, QS_BULK_NEVER },
	{ "ids", { .m = 100000, .k = 267, .q = -(UINT64_C(1) << 54) }, true, false, QS_BULK_ALWAYS },
	{ "copies", { .m = 99999, .k = 200, .q = -(UINT64_C(1) << 53) }, false, true, QS_BULK_ALWAYS },
	{ "Bloom", { .m = 100000, .k = 7 }, false, false, QS_BULK_ALWAYS },
	{ "blocks", { .m = 102400, .k = 7, .layout = QF_BLOCKED }, false, false, QS_BULK_NEVER },
	{ "few blocks", { .m = 4096, .k = 8, .layout = QF_BLOCKED }, false, false, QS_BULK_AUTO },
	{ "sorted", { .m = 102400, .k = 7, .layout = QF_BLOCKED }, false, false, QS_BULK_ALWAYS },
};

static qf_batch
batch_of(const life *l)
{
	return (qf_batch){ .fingerprint = key,
					   .count = ROWS,
					   .nonce = 3,
					   .row = l->ids ? row : NULL,
					   .copies = l->copies ? copies : NULL };
}

/* Run all operations on "f", and fetch it into "made". */
static qb_status
use(const life *l, qf_cuda_filter *f, qf_cuda_filter *other, qf_filter *made)
{
	qf_batch b = batch_of(l);
	qb_status status = qf_cuda_insert(f, &b);
	uint8_t piece[64];
	uint64_t ones;

	if (status == QB_OK)
		status = qf_cuda_merge(f, other);
	if (status == QB_OK)
		status = qf_cuda_query(f, key, KEYS, answer);
	if (status == QB_OK)
		status = qf_cuda_contains(f, key, KEYS, found);
	if (status == QB_OK)
		status = qf_cuda_get(f, &(qs_cuda_piece){ 8, sizeof(piece), piece }, 1);
	if (status == QB_OK)
		status = qf_cuda_put(f, 8, piece, sizeof(piece));
	if (status == QB_OK)
		status = qf_cuda_ones(f, &ones);
	return status == QB_OK ? qf_cuda_fetch(f, made, &test_memory) : status;
}

/* Make an empty filter, load a second filter, and run all operations. */
static qb_status
live(qs_cuda *gpu, const life *l, qf_filter *made)
{
	static const uint32_t position[] = { 5, 77, 1000 };
	qf_cuda_filter *f = NULL, *other = NULL;
	qf_filter loaded;
	qb_status status;

	qf_init(&loaded, &l->params, &test_memory);
	CHECK(qf_set(&loaded, position, 3) == QB_OK);
	loaded.rows = 3;
	qs_cuda_set_bulk(gpu, l->bulk);
	status = qf_cuda_create(gpu, &l->params, &f);
	if (status == QB_OK)
		status = qf_cuda_load(gpu, &loaded, &other);
	if (status == QB_OK)
		status = use(l, f, other, made);
	qf_cuda_destroy(f);
	qf_cuda_destroy(other);
	qs_cuda_trim(gpu);
	qf_free(&loaded);
	return status;
}

/* True if "made" equals the filter that the CPU makes.  Frees "made". */
static bool
is_right(const life *l, qf_filter *made)
{
	static const uint32_t position[] = { 5, 77, 1000 };
	qf_batch b = batch_of(l);
	qf_filter cpu;
	bool right;

	qf_init(&cpu, &l->params, &test_memory);
	CHECK(qf_make_dense(&cpu) == QB_OK);
	CHECK(qf_engine_cpu.insert(&cpu, &b) == QB_OK);
	CHECK(qf_set(&cpu, position, 3) == QB_OK);
	right = cpu.ones == made->ones && memcmp(cpu.bits, made->bits, qf_words(&l->params) * 8) == 0;
	qf_free(&cpu);
	qf_free(made);
	return right;
}

/* Run live() once for each CUDA call that fails.  Returns the number of CUDA calls. */
static long
fail_each(const life *l)
{
	qs_cuda_options options = { .staging_bytes = 1 << 16 };
	qs_cuda_error error;
	qs_cuda_stats stats;
	qs_cuda *gpu;
	qf_filter made;
	uint64_t base;

	CHECK(qs_cuda_open(0, &options, &gpu, &error) == QB_OK);
	qs_cuda_get_stats(gpu, &stats);
	base = stats.device_bytes;
	for (long call = 0;; call++)
	{
		qb_status status;
		bool done;

		calls_left = call;
		status = live(gpu, l, &made);
		done = status == QB_OK && calls_left >= 0;
		calls_left = -1;
		expect(status != QB_OK || is_right(l, &made), l->name, call, "wrong bits");
		expect(status == QB_OK ||
				   strcmp(qs_cuda_last_error(gpu)->name, "cudaErrorMemoryAllocation") == 0,
			   l->name, call, "no name of the error");
		qs_cuda_get_stats(gpu, &stats);
		expect(stats.device_bytes == base, l->name, call, "device memory lost");
		expect(live(gpu, l, &made) == QB_OK && is_right(l, &made), l->name, call,
			   "the next filter is wrong");
		if (!done)
			continue;
		qs_cuda_close(gpu);
		return call;
	}
}

int
main(void)
{
	qs_cuda_error error;
	long calls = 0;

	if (qs_cuda_device_count(&error) == 0)
	{
		printf("no usable device: %s\n", error.name);
		return 2;
	}
	make_keys(key, KEYS_ZIPF_11, 5, 0, ROWS);
	make_keys(row, KEYS_UNIFORM, 6, 0, ROWS);
	for (int i = 0; i < ROWS; i++)
		copies[i] = i % 5;
	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++)
		calls += fail_each(&lives[i]);
	printf("faults of filters: %ld calls failed one by one, %d failures\n", calls, failures);
	return failures != 0;
}
