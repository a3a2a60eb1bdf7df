/*
 * sets_faults.c
 *		Makes every CUDA call of a search for pairs of sets fail once, and checks what remains.
 *
 * The library is built with QS_CUDA_FAULTS, as for faults.c.  The test repeats a search until no
 * CUDA call fails: in run 1 the first call fails, in run 2 the second, and so on.  Nothing may
 * leak, each error must have a name, and the next search must find all pairs.
 *
 * test/gpu/sets_faults.c
 */
#include "support.h"

#include "sets/builder.h"
#include "gpu_extra.h"
#include "sets_cuda.h"

#define SETS  300
#define ROWS  20000
#define PIECE 5000

static long calls_left = -1; /* calls that succeed before one fails; negative: no call fails */
static int failures;

bool
qs_cuda_fault(void)
{
	return calls_left >= 0 && calls_left-- == 0;
}

static void
expect(bool condition, int method, long call, const char *what)
{
	if (condition)
		return;
	failures++;
	fprintf(stderr, "%s, call %ld: %s\n", qset_method_name(method), call, what);
}

static void
make_collection(qset_collection *c)
{
	qset_builder b;

	qset_builder_init(&b, false, &(qb_keys){ .family = 1 }, &test_memory);
	for (uint64_t i = 0; i < ROWS; i++)
	{
		uint64_t random = qb_mix64(i);
		int64_t id = (int64_t) (random % SETS);
		uint64_t element = (random >> 20) % (1 + (random >> 40) % 3000);

		CHECK(qset_builder_add(&b, &id, &element, NULL, 1) == QB_OK);
	}
	CHECK(qset_builder_finish(&b, c) == QB_OK);
	qset_builder_free(&b);
}

/* Make a collection on the device from the rows of the CPU's collection. */
static qb_status
make_of_rows(qs_cuda *gpu, const qset_collection *c, qset_cuda_sets **made)
{
	static int64_t id[ROWS];
	static uint64_t element[ROWS];
	qset_cuda_memberships *m = NULL;
	qset_cuda_sizes sizes;
	qb_status status = qset_cuda_rows.create(gpu, &m);

	*made = NULL;
	for (uint64_t set = 0; set < c->sets; set++)
		for (uint64_t i = c->offset[set]; i < c->offset[set + 1]; i++)
		{
			id[i] = c->id[set];
			element[i] = c->low[c->rank[i]];
		}
	if (status == QB_OK)
		status = qset_cuda_rows.add(m, id, element, c->elements);
	if (status == QB_OK)
		status = qset_cuda_rows.sort(m, &sizes);
	if (status == QB_OK)
		status = qset_cuda_rows.make(m, made);
	qset_cuda_rows.destroy(m);
	return status;
}

/*
 * Load or make a collection, copy it, and search.  The pieces of pairs are so small that rows have
 * to be computed again.
 */
static qb_status
find_pairs(qs_cuda *gpu, const qset_collection *c, int method, bool both, uint64_t *pairs)
{
	static qset_pair out[PIECE];
	qset_cuda_request r = { .method = method, .strip_rows = 128, .pair_room = PIECE };
	qset_cuda_pairs *search = NULL;
	qset_cuda_sets *original;
	qb_status status;
	bool over = false;

	*pairs = 0;
	CHECK(qset_filter_init(&r.filter, 1, 0, both ? 5 : 0) == QB_OK);
	status = both ? qset_cuda_sets_load(gpu, c, &original) : make_of_rows(gpu, c, &original);
	if (status == QB_OK)
		status = qset_cuda_sets_index(original);
	if (status == QB_OK)
		status = qset_cuda_sets_copy(gpu, original, &r.rows);
	if (status == QB_OK && both)
		status = qset_cuda_sets_load(gpu, c, &r.columns);
	if (status == QB_OK)
		status = qset_cuda_pairs_open(gpu, &r, &search);
	while (status == QB_OK && !over)
	{
		uint64_t count;

		status = qset_cuda_pairs_next(search, out, PIECE, &count, &over);
		*pairs += count;
	}
	qset_cuda_pairs_close(search);
	qset_cuda_sets_destroy(original);
	qset_cuda_sets_destroy(r.rows);
	qset_cuda_sets_destroy(r.columns);
	return status;
}

/* True if the device reports the simulated error by its name. */
static bool
is_named(const qs_cuda *gpu)
{
	const char *name = qs_cuda_last_error(gpu)->name;

	return name && strcmp(name, "cudaErrorMemoryAllocation") == 0;
}

/* Repeat the search once for each CUDA call that fails.  Returns the number of CUDA calls. */
static long
fail_each(const qset_collection *c, int method, bool both)
{
	qs_cuda_options options = { .staging_bytes = 1 << 20 };
	qs_cuda_error error;
	qs_cuda_stats stats;
	qs_cuda *gpu;
	uint64_t base, wanted, pairs;

	CHECK(qs_cuda_open(0, &options, &gpu, &error) == QB_OK);
	qs_cuda_get_stats(gpu, &stats);
	base = stats.device_bytes;
	CHECK(find_pairs(gpu, c, method, both, &wanted) == QB_OK);
	CHECK(wanted > 0);
	for (long call = 0;; call++)
	{
		qb_status status;
		bool done;

		calls_left = call;
		status = find_pairs(gpu, c, method, both, &pairs);
		done = status == QB_OK && calls_left >= 0;
		calls_left = -1;
		expect(status != QB_OK || pairs == wanted, method, call, "wrong pairs");
		expect(status == QB_OK || is_named(gpu), method, call, "no name of the error");
		qs_cuda_trim(gpu);
		qs_cuda_get_stats(gpu, &stats);
		expect(stats.device_bytes == base, method, call, "device memory lost");
		expect(find_pairs(gpu, c, method, both, &pairs) == QB_OK && pairs == wanted, method, call,
			   "the next search fails");
		if (!done)
			continue;
		qs_cuda_close(gpu);
		return call;
	}
}

int
main(void)
{
	qset_collection c;
	qs_cuda_error error;
	long calls = 0;

	if (qs_cuda_device_count(&error) == 0)
	{
		printf("no usable device: %s\n", error.name);
		return 2;
	}
	make_collection(&c);
	for (int method = QSET_MERGE; method < QSET_METHODS; method++)
	{
		calls += fail_each(&c, method, false);
		calls += fail_each(&c, method, true);
	}
	qset_collection_free(&c);
	printf("faults of sets: %ld calls failed one by one, %d failures\n", calls, failures);
	return failures != 0;
}
