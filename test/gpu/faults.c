/*
 * faults.c
 *		Makes every CUDA call of operations on a sketch fail once, and checks what remains.
 *
 * The library of this test is built with QS_CUDA_FAULTS: QS_CUDA_TRY calls qs_cuda_fault(), which
 * says whether the CUDA call must fail.  The test repeats an operation until no call fails: in
 * run 1 the first call fails, in run 2 the second, and so on.  Each failure must have a name.  If
 * an operation promises to leave the sketch unchanged, the test checks this promise.  After each
 * failure the test closes the device, and all its memory must become free.  The test compares the
 * free memory of the whole device, so no other program may use the device.
 *
 * The test also inserts into a sketch when little device memory is free.
 *
 * test/gpu/faults.c
 */
#include "support.h"

#include <threads.h>

#include "gpu_extra.h"

#define KEYS 20000

/* Bytes by which the free memory of fail_without_memory() grows. */
#define SPARE_STEP ((size_t) 8 << 20)

static long calls_left; /* calls that succeed before one fails; negative: no call fails */
static int failures;

bool
qs_cuda_fault(void)
{
	return calls_left >= 0 && calls_left-- == 0;
}

/* The objects that an operation works on. */
typedef struct fixture
{
	qs_cuda *gpu, *second;
	qs_cuda_bulk bulk;
	qs_cuda_sketch *sk, *other;
	qs_cuda_sketch *away; /* on the second device */
	qs_sketch full;
	uint64_t *device_key;
	uint64_t key[KEYS];
	int64_t weight[KEYS], estimate[KEYS];
} fixture;

static fixture f;

typedef struct operation
{
	const char *name;
	qb_status (*run)(void);
	bool unchanged; /* a failure with QB_NO_MEMORY leaves the sketch as it was */
} operation;

static qb_status
op_insert(void)
{
	return qs_cuda_insert(f.sk, f.key, NULL, KEYS);
}

static qb_status
op_insert_weighted(void)
{
	return qs_cuda_insert(f.sk, f.key, f.weight, KEYS);
}

static qb_status
op_insert_device(void)
{
	return qs_cuda_insert_device(f.sk, f.device_key, KEYS);
}

/*
 * Insert into two sketches by one launch.  With QS_BULK_ALWAYS such a launch is refused: do
 * nothing.
 */
static qb_status
op_insert_groups(void)
{
	qs_cuda_sketch *sketch[] = { f.sk, f.other };
	uint64_t count[] = { KEYS / 3, KEYS / 2 };

	return f.bulk == QS_BULK_ALWAYS ? QB_OK : qs_cuda_insert_groups(sketch, count, 2, f.device_key);
}

static qb_status
op_query(void)
{
	return qs_cuda_query(f.sk, f.key, KEYS, f.estimate);
}

static qb_status
op_merge(void)
{
	const qs_params *p = qs_cuda_params(f.other);
	qs_slice all = { 0, qs_slice_units(p) };
	qb_status status = qs_cuda_merge_begin(f.sk, p, qs_cuda_total(f.other));

	return status == QB_OK ? qs_cuda_merge_slice(f.sk, all, f.other, all) : status;
}

/* Merge a slice of a sketch of the second device.  A failure may damage only this slice of "sk". */
static qb_status
op_merge_slice(void)
{
	qs_slice units = { 1, qs_slice_units(qs_cuda_params(f.sk)) / 2 };

	return qs_cuda_merge_slice(f.sk, units, f.away, units);
}

static qb_status
op_widen(void)
{
	return qs_cuda_widen(f.sk);
}

static qb_status
op_fetch(void)
{
	qs_sketch to;
	qb_status status = qs_cuda_fetch(f.sk, &to, &test_memory);

	if (status == QB_OK)
		qs_free(&to);
	return status;
}

static qb_status
op_load(void)
{
	qs_cuda_sketch *sk;
	qb_status status = qs_cuda_load(f.gpu, &f.full, &sk);

	qs_cuda_destroy(sk);
	return status;
}

static qb_status
op_create(void)
{
	qs_cuda_sketch *sk;
	qb_status status = qs_cuda_create(f.gpu, qs_cuda_params(f.sk), &sk);

	qs_cuda_destroy(sk);
	return status;
}

static const operation operations[] = {
	{ "insert", op_insert, false },
	{ "insert of weights", op_insert_weighted, false },
	{ "insert from the device", op_insert_device, false },
	{ "insert into groups", op_insert_groups, false },
	{ "query", op_query, true },
	{ "merge", op_merge, false },
	{ "slice of another device", op_merge_slice, false },
	{ "widen", op_widen, true },
	{ "fetch", op_fetch, false },
	{ "load", op_load, true },
	{ "create", op_create, true },
};

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static void
expect(bool good, const char *name, long call, const char *what)
{
	if (good)
		return;
	failures++;
	printf("%s, call %ld: %s\n", name, call, what);
}

static void
open_fixture(int structure, qs_cuda_bulk bulk)
{
	qs_params p = { .structure = (uint8_t) structure, .depth = 3, .n = 1024 };
	qs_cuda_options options = { .staging_bytes = 1 << 16, .bulk = bulk };
	qs_cuda_error error;

	p.log2_masks = structure == QS_THREAD ? 0 : 10;
	f.bulk = bulk;
	CHECK(qs_cuda_open(0, &options, &f.gpu, &error) == QB_OK);
	CHECK(qs_cuda_create(f.gpu, &p, &f.sk) == QB_OK);
	CHECK(qs_cuda_create(f.gpu, &p, &f.other) == QB_OK);
	CHECK(qs_cuda_insert(f.sk, f.key, NULL, KEYS) == QB_OK);
	CHECK(qs_cuda_insert(f.other, f.key, f.weight, KEYS) == QB_OK);
	dense_init(&f.full, &p);
	CHECK(qs_engine_cpu.insert(&f.full, f.key, NULL, KEYS) == QB_OK);
	f.second = open_second(f.gpu);
	CHECK(qs_cuda_load(f.second, &f.full, &f.away) == QB_OK);
}

static void
close_fixture(void)
{
	calls_left = -1;
	qs_cuda_destroy(f.sk);
	qs_cuda_destroy(f.other);
	qs_cuda_destroy(f.away);
	qs_cuda_close(f.second);
	qs_cuda_close(f.gpu);
	qs_free(&f.full);
}

static size_t
free_memory(void)
{
	size_t free_bytes, total;

	CHECK_CUDA(cudaDeviceSynchronize());
	CHECK_CUDA(cudaMemGetInfo(&free_bytes, &total));
	return free_bytes;
}

/*
 * True if "before" bytes of device memory are free.  On hosts with several devices the driver may
 * return memory late, so the function waits for up to three seconds.
 */
static bool
is_free_again(size_t before)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	for (int i = 0; i < 300 && free_memory() < before; i++)
		thrd_sleep(&pause, NULL);
	return free_memory() >= before;
}

/* Check that a failure left the fixture's sketch unchanged, if the operation promises this. */
static void
check_unchanged(const operation *op, long call)
{
	qs_sketch now;

	calls_left = -1;
	if (!op->unchanged)
		return;
	CHECK(qs_cuda_fetch(f.sk, &now, &test_memory) == QB_OK);
	expect(same_bytes(&now, &f.full), op->name, call, "sketch has changed");
	qs_free(&now);
}

/* Run an operation once for each CUDA call that fails.  Returns the number of its CUDA calls. */
static long
fail_each(const operation *op, int structure, qs_cuda_bulk bulk)
{
	/* the first run loads the kernels, which stay in device memory */
	open_fixture(structure, bulk);
	CHECK(op->run() == QB_OK);
	close_fixture();
	for (long call = 0;; call++)
	{
		size_t before = free_memory();
		const qs_cuda_error *error;
		bool done, succeeded;

		open_fixture(structure, bulk);
		calls_left = call;
		succeeded = op->run() == QB_OK;
		error = qs_cuda_last_error(f.gpu);
		/* an operation may succeed without memory for its workspace */
		expect(succeeded || (error->name && strcmp(error->name, "cudaErrorMemoryAllocation") == 0),
			   op->name, call, "no name of the error");
		done = succeeded && calls_left >= 0;
		if (!succeeded)
			check_unchanged(op, call);
		close_fixture();
		expect(is_free_again(before), op->name, call, "device memory lost");
		if (done)
			return call;
	}
}

/* Open and close the device, so that the context allocates the memory that it never frees. */
static void
open_once(void)
{
	qs_cuda_error error;
	qs_cuda *gpu;

	CHECK(qs_cuda_open(0, NULL, &gpu, &error) == QB_OK);
	qs_cuda_close(gpu);
}

/* Open a device once for each CUDA call that fails.  Returns the number of CUDA calls. */
static long
fail_open(void)
{
	open_once();
	for (long call = 0;; call++)
	{
		size_t before = free_memory();
		qs_cuda_error error;
		qs_cuda *gpu;
		bool done;

		calls_left = call;
		done = qs_cuda_open(0, NULL, &gpu, &error) == QB_OK;
		calls_left = -1;
		expect(done || (!gpu && error.name), "open", call, "no name of the error");
		qs_cuda_close(gpu);
		expect(is_free_again(before), "open", call, "device memory lost");
		if (done)
			return call;
	}
}

/*
 * Check real errors: a table that no device can hold, and device 1000.  After the first error a
 * small table must work.
 */
static void
fail_for_real(void)
{
	qs_params p = { .structure = QS_WARP, .depth = 3, .log2_masks = 10, .n = UINT32_MAX };
	qs_cuda_sketch *sk;
	qs_cuda_error error;
	qs_cuda *gpu;
	size_t before;

	open_once();
	before = free_memory();
	CHECK(qs_cuda_open(0, NULL, &gpu, &error) == QB_OK);
	expect(qs_cuda_create(gpu, &p, &sk) == QB_NO_MEMORY && !sk, "create", 0, "no error");
	expect(strcmp(qs_cuda_last_error(gpu)->name, "cudaErrorMemoryAllocation") == 0, "create", 0,
		   "wrong name of the error");
	p.n = 1024;
	CHECK(qs_cuda_create(gpu, &p, &sk) == QB_OK);
	expect(qs_cuda_insert(sk, f.key, NULL, KEYS) == QB_OK, "insert", 0, "fails afterwards");
	qs_cuda_destroy(sk);
	qs_cuda_close(gpu);
	expect(is_free_again(before), "create", 0, "device memory lost");
	expect(qs_cuda_open(1000, NULL, &gpu, &error) == QB_DEVICE_ERROR &&
			   strcmp(error.name, "cudaErrorInvalidDevice") == 0,
		   "open", 0, "device 1000 can be opened");
}

/* Allocate device memory so that about "spare" bytes stay free. */
static void *
fill_memory(size_t spare)
{
	size_t bytes = free_memory();
	void *filled = NULL;

	for (bytes -= bytes < spare ? bytes : spare; bytes > SPARE_STEP; bytes -= SPARE_STEP)
	{
		if (cudaMalloc(&filled, bytes) == cudaSuccess)
			return filled;
		cudaGetLastError();
	}
	return NULL;
}

/*
 * Insert into an empty sketch, with more and more free memory until the insert succeeds.  An insert
 * that is refused must not have added any key, so a second insert makes the whole sketch.  Returns
 * the number of refused inserts.
 */
static long
fail_without_memory(qs_cuda_bulk bulk)
{
	long refused = 0;
	bool done = false;

	for (size_t spare = 0; !done; spare += SPARE_STEP)
	{
		qs_cuda_sketch *sk;
		qs_sketch now;
		void *filled;

		open_fixture(QS_MULTILEVEL, bulk);
		CHECK(qs_cuda_create(f.gpu, qs_cuda_params(f.sk), &sk) == QB_OK);
		filled = fill_memory(spare);
		done = qs_cuda_insert_device(sk, f.device_key, KEYS) == QB_OK;
		CHECK_CUDA(cudaFree(filled));
		refused += !done;
		CHECK(done || qs_cuda_insert_device(sk, f.device_key, KEYS) == QB_OK);
		CHECK(qs_cuda_fetch(sk, &now, &test_memory) == QB_OK);
		expect(same_bytes(&now, &f.full), "insert without memory", refused, "sketch differs");
		qs_free(&now);
		qs_cuda_destroy(sk);
		close_fixture();
	}
	return refused;
}

int
main(void)
{
	static const int structures[] = { QS_SUB_WARP, QS_MULTILEVEL, QS_THREAD };
	qs_cuda_error error;
	long calls = 0, refused;

	calls_left = -1;
	if (qs_cuda_device_count(&error) == 0)
	{
		printf("no usable device: %s\n", error.name);
		return 2;
	}
	make_keys(f.key, KEYS_ZIPF_12, 1, 0, KEYS);
	for (int i = 0; i < KEYS; i++)
		f.weight[i] = i % 1000;
	CHECK_CUDA(cudaMalloc((void **) &f.device_key, KEYS * sizeof(uint64_t)));
	copy_to_device(f.device_key, f.key, sizeof(f.key));
	CHECK_CUDA(cudaDeviceSynchronize());
	calls += fail_open();
	for (size_t s = 0; s < sizeof(structures) / sizeof(structures[0]); s++)
		for (size_t i = 0; i < OPERATIONS; i++)
		{
			calls += fail_each(&operations[i], structures[s], QS_BULK_AUTO);
			calls += fail_each(&operations[i], structures[s], QS_BULK_ALWAYS);
		}
	refused = fail_without_memory(QS_BULK_NEVER) + fail_without_memory(QS_BULK_ALWAYS);
	expect(refused > 0, "insert without memory", 0, "never refused");
	fail_for_real();
	cudaFree(f.device_key);
	printf("faults: %ld calls failed one by one, %ld inserts had too little memory, %d failures\n",
		   calls, refused, failures);
	return failures != 0;
}
