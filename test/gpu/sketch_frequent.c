/*
 * sketch_frequent.c
 *		Compares exact counts of frequent keys on the device with counts on the CPU.
 *
 *	sketch_frequent [first case [number of cases]]
 *	sketch_frequent time [keys]
 *
 * "time" prints how long the device takes to make a sketch of "keys" keys that are in its memory,
 * and to count the frequent keys.
 *
 * test/gpu/sketch_frequent.c
 */
#include "support.h"

#define KEYS (1 << 20)

static int
compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* The counts that were read from the device. */
typedef struct collected
{
	qs_frequent head;
	qs_frequent_key *key;
} collected;

static int
compare_collected(const void *a, const void *b)
{
	return compare_keys(&((const qs_frequent_key *) a)->key, &((const qs_frequent_key *) b)->key);
}

/* Returns the device's count of a key, or 0 if the key was not collected. */
static uint64_t
times_of(const collected *c, uint64_t key)
{
	qs_frequent_key wanted = { key, 0 };
	const qs_frequent_key *found =
		bsearch(&wanted, c->key, c->head.count, sizeof(wanted), compare_collected);

	return found ? found->times : 0;
}

/*
 * Compare the collected counts with the counts of all distinct keys.  If a key's estimate reaches
 * head.least and exceeds head.dropped, the key must be collected with its exact count, unless the
 * count is at most head.left_out.  If the estimate is below head.least, the key must not be
 * collected.
 */
static void
compare(uint64_t number, const qs_sketch *here, uint64_t *key, uint64_t keys, collected *c,
		uint64_t wanted, bool all)
{
	uint64_t frequent = 0, first = 0;

	qsort(key, keys, sizeof(*key), compare_keys);
	qsort(c->key, c->head.count, sizeof(*c->key), compare_collected);
	for (uint64_t i = 1; i <= keys; i++)
	{
		uint64_t times;
		int64_t estimate;

		if (i < keys && key[i] == key[first])
			continue;
		estimate = qs_estimate(here, key[first]);
		times = times_of(c, key[first]);
		if (estimate >= c->head.least && estimate > c->head.dropped)
		{
			bool few = i - first <= (uint64_t) c->head.left_out;

			frequent++;
			expect_case(number, times == (few ? 0 : i - first), "counts");
		}
		else if (estimate < c->head.least)
			expect_case(number, times == 0, "keys below the threshold");
		first = i;
	}
	expect_case(number, !all || c->head.left_out == 0, "keys left out of all");
	expect_case(number,
				c->head.left_out == 0 ||
					c->head.count >= (c->head.dropped > 0 ? QS_FREQUENT_SPARE : 1) * wanted,
				"keys that are too few");
	expect_case(number, c->head.dropped > 0 || c->head.left_out > 0 || c->head.count == frequent,
				"numbers of keys");
}

static void
draw_params(uint64_t *state, qs_params *p)
{
	*p = (qs_params){ .structure = (uint8_t) (QS_THREAD + draw_below(state, 5)),
					  .depth = (uint8_t) (1 + draw_below(state, 5)),
					  .seed = qb_mix64(*state) };
	if (p->structure != QS_THREAD)
		p->log2_masks = 10;
	p->n = 1 + (UINT64_C(1024) << draw_below(state, 11)) / qs_block_bytes(p);
}

/* Collect frequent keys on the device, and read them in pieces. */
static collected
collect(qs_cuda_sketch *there, bool all, uint64_t *state)
{
	collected c;
	uint64_t bytes, some;

	CHECK(qs_cuda_frequent_collect(there, all, &c.head) == QB_OK);
	bytes = c.head.count * sizeof(qs_frequent_key);
	c.key = malloc(bytes + 1);
	for (uint64_t at = 0; at < bytes; at += some)
	{
		some = 1 + draw_below(state, bytes);
		some = some < bytes - at ? some : bytes - at;
		CHECK(qs_cuda_frequent_read(there, at, some, (uint8_t *) c.key + at) == QB_OK);
	}
	CHECK(qs_cuda_frequent_read(there, bytes, 1, c.key) == QB_NO_MEMORY);
	CHECK(bytes == 0 || qs_cuda_frequent_read(there, 0, 1, c.key) == QB_NO_MEMORY); /* freed */
	return c;
}

static void
run_case(qs_cuda *gpu, uint64_t number)
{
	static uint64_t key[KEYS];
	uint64_t state = number + 77;
	uint64_t keys = 1 + draw_below(&state, KEYS), wanted = 1 + draw_below(&state, 1000);
	uint64_t slots = qs_frequent_slots(wanted, 1 + draw_below(&state, 20000));
	uint64_t *device, some;
	bool all;
	qs_params params;
	qs_cuda_sketch *there;
	qs_sketch here;
	collected c;

	draw_params(&state, &params);
	make_keys(key, (key_kind) draw_below(&state, KEYS_KINDS), number, 0, keys);
	for (uint64_t i = 0; number % 3 == 0 && i < keys; i += 1 + draw_below(&state, 9))
		key[i] = draw_below(&state, 50);
	device = keys_to_device(gpu, key, keys);
	CHECK(qs_cuda_create(gpu, &params, &there) == QB_OK);
	dense_init(&here, &params);
	CHECK(qs_engine_cpu.insert(&here, key, NULL, keys) == QB_OK);
	CHECK(qs_cuda_insert_device(there, device, keys) == QB_OK);
	CHECK(qs_cuda_frequent_sample(there, device, keys) == QB_NO_MEMORY);
	CHECK(qs_cuda_frequent_begin(there, 0, slots) == QB_NO_MEMORY);
	CHECK(qs_cuda_frequent_begin(there, wanted, slots + 1) == QB_NO_MEMORY);
	CHECK(qs_cuda_frequent_begin(there, wanted, slots) == QB_OK);
	if (number % 7 != 0)
		CHECK(qs_cuda_frequent_sample(there, device, 1 + draw_below(&state, keys)) == QB_OK);
	for (uint64_t at = 0; at < keys; at += some)
	{
		some = 1 + draw_below(&state, keys);
		some = some < keys - at ? some : keys - at;
		CHECK(qs_cuda_frequent_count(there, device + at, some) == QB_OK);
	}
	all = number % 5 == 0;
	c = collect(there, all, &state);
	CHECK(qs_cuda_frequent_count(there, device, 1) == QB_NO_MEMORY);
	compare(number, &here, key, keys, &c, wanted, all);
	free(c.key);
	qs_cuda_destroy(there);
	qs_free(&here);
	cudaFree(device);
}

/*
 * Print the shortest times of several runs: for making a sketch, and for counting its frequent
 * keys.  The keys are in chunks, like the keys of a cached column.
 */
static void
time_one(qs_cuda *gpu, const uint64_t *device, uint64_t keys, const qs_params *params)
{
	uint64_t chunk = 3169184, some;
	double made = 1e9, counted = 1e9;

	for (int run = 0; run < 4; run++)
	{
		qs_cuda_sketch *there;
		double begin, end;

		CHECK(qs_cuda_create(gpu, params, &there) == QB_OK);
		CHECK(qs_cuda_frequent_begin(there, 400, qs_frequent_slots(400, 1)) == QB_OK);
		CHECK(qs_cuda_sync(gpu) == QB_OK);
		begin = seconds();
		for (uint64_t at = 0; at < keys; at += some)
		{
			some = keys - at < chunk ? keys - at : chunk;
			CHECK(qs_cuda_insert_device(there, device + at, some) == QB_OK);
		}
		CHECK(qs_cuda_sync(gpu) == QB_OK);
		end = seconds();
		made = end - begin < made ? end - begin : made;
		begin = end;
		CHECK(qs_cuda_frequent_sample(there, device, keys < chunk ? keys : chunk) == QB_OK);
		for (uint64_t at = 0; at < keys; at += some)
		{
			some = keys - at < chunk ? keys - at : chunk;
			CHECK(qs_cuda_frequent_count(there, device + at, some) == QB_OK);
		}
		CHECK(qs_cuda_sync(gpu) == QB_OK);
		end = seconds();
		counted = end - begin < counted ? end - begin : counted;
		qs_cuda_destroy(there);
	}
	printf("structure %d, %llu keys: sketch %.2f ms, counts of frequent keys %.2f ms\n",
		   params->structure, (unsigned long long) keys, made * 1e3, counted * 1e3);
}

static void
time_all(qs_cuda *gpu, uint64_t keys)
{
	uint64_t *key = malloc(keys * sizeof(*key)), *device;

	CHECK(key);
	for (key_kind kind = KEYS_UNIFORM; kind <= KEYS_ZIPF_15; kind++)
	{
		make_keys(key, kind, 1, 0, keys);
		device = keys_to_device(gpu, key, keys);
		printf("%s keys\n", key_kind_names[kind]);
		for (int structure = QS_THREAD; structure <= QS_MULTILEVEL; structure++)
		{
			qs_params params = { .structure = (uint8_t) structure, .depth = 3 };

			params.log2_masks = structure == QS_THREAD ? 0 : 10;
			params.n = (1 << 20) / qs_block_bytes(&params);
			time_one(gpu, device, keys, &params);
		}
		cudaFree(device);
	}
	free(key);
}

int
main(int argc, char **argv)
{
	case_run run = begin_cases(argc, argv, 60);

	if (run.timed)
		time_all(run.gpu, case_argument(&run, 2, 100000000));
	for (uint64_t i = run.first; i < run.end; i++)
		run_case(run.gpu, i);
	return end_cases(&run, "sketch_frequent");
}
