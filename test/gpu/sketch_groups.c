/*
 * sketch_groups.c
 *		Adds keys in device memory to many sketches by one launch, and compares with the CPU.
 *
 * A launch must be refused if the sketches differ in parameters or need counters of 8 bytes.  A
 * refused launch must change no sketch.
 *
 *	sketch_groups [first case [number of cases]]
 *	sketch_groups time [keys [groups]]
 *
 * "time" prints how long it takes to add "keys" keys to "groups" sketches of 1 MB each, by one
 * launch and by a launch for each sketch.
 *
 * test/gpu/sketch_groups.c
 */
#include "support.h"

#include "column_cuda.h"
#include "gpu_extra.h"

#define KEYS (1 << 20)

/* The sketches of groups, on the device and on the CPU. */
typedef struct groups
{
	qs_cuda *gpu;
	qs_params params;
	uint32_t count;
	qs_cuda_sketch *there[QS_CUDA_GROUPS_MAX];
	qs_sketch here[QS_CUDA_GROUPS_MAX];
	uint64_t keys[QS_CUDA_GROUPS_MAX]; /* number of keys of each group in a batch */
	uint64_t key[KEYS];
	uint64_t *device_key;
} groups;

static void
draw_params(uint64_t *state, qs_params *p)
{
	*p = (qs_params){ .structure = (uint8_t) (QS_THREAD + draw_below(state, 5)),
					  .depth = (uint8_t) (1 + draw_below(state, 5)),
					  .seed = qb_mix64(*state) };
	if (p->structure != QS_THREAD)
		p->log2_masks = (uint8_t) (draw_below(state, 3) == 0 ? draw_below(state, 14) : 10);
	p->n = (UINT64_C(1024) << draw_below(state, 11)) / qs_block_bytes(p);
	if (p->n < 2 || draw_below(state, 4) == 0)
		p->n = 1 + draw_below(state, 3000);
}

/* Make empty sketches on the device and on the CPU. */
static void
make_groups(groups *g, uint64_t *state)
{
	draw_params(state, &g->params);
	g->count =
		1 + (uint32_t) draw_below(state, draw_below(state, 6) == 0 ? QS_CUDA_GROUPS_MAX : 40);
	for (uint32_t i = 0; i < g->count; i++)
	{
		CHECK(qs_cuda_create(g->gpu, &g->params, &g->there[i]) == QB_OK);
		dense_init(&g->here[i], &g->params);
	}
	g->device_key = keys_to_device(g->gpu, g->key, KEYS);
}

static void
free_groups(groups *g)
{
	for (uint32_t i = 0; i < g->count; i++)
	{
		qs_cuda_destroy(g->there[i]);
		qs_free(&g->here[i]);
	}
	cudaFree(g->device_key);
}

/*
 * Draw keys for each group, and copy all keys to the device.  Some groups get no keys.  Returns the
 * total number of keys.
 */
static uint64_t
draw_keys(groups *g, uint64_t *state)
{
	uint64_t most = draw_below(state, 3) == 0 ? 100 : KEYS / g->count;
	uint64_t all = 0;

	for (uint32_t i = 0; i < g->count; i++)
	{
		g->keys[i] = draw_below(state, 5) == 0 ? 0 : draw_below(state, most + 1);
		make_keys(g->key + all, (key_kind) draw_below(state, KEYS_KINDS),
				  draw_below(state, UINT64_MAX), 0, g->keys[i]);
		all += g->keys[i];
	}
	keys_put(g->gpu, g->device_key, g->key, all);
	return all;
}

/* Add the keys to the sketches of the CPU. */
static void
insert_here(groups *g)
{
	const uint64_t *key = g->key;

	for (uint32_t i = 0; i < g->count; i++)
	{
		CHECK(qs_engine_cpu.insert(&g->here[i], key, NULL, g->keys[i]) == QB_OK);
		key += g->keys[i];
	}
}

/* Add the keys to the sketches of the device, one sketch after another. */
static void
insert_one_by_one(groups *g)
{
	const uint64_t *key = g->device_key;

	for (uint32_t i = 0; i < g->count; i++)
	{
		CHECK(qs_cuda_insert_device(g->there[i], key, g->keys[i]) == QB_OK);
		key += g->keys[i];
	}
}

static qb_status
insert_together(groups *g)
{
	return qs_cuda_insert_groups(g->there, g->keys, g->count, g->device_key);
}

/* True if each sketch on the device equals the CPU's sketch of the group. */
static bool
same_groups(groups *g)
{
	bool same = true;

	for (uint32_t i = 0; i < g->count && same; i++)
	{
		qs_sketch fetched;

		CHECK(qs_cuda_fetch(g->there[i], &fetched, &test_memory) == QB_OK);
		same = same_bytes(&fetched, &g->here[i]);
		qs_free(&fetched);
	}
	return same;
}

/*
 * Check that a launch is refused if one sketch has other parameters, or has or needs counters of 8
 * bytes.
 */
static void
refuse(groups *g, uint64_t number, uint64_t *state)
{
	uint32_t one = (uint32_t) draw_below(state, g->count);
	uint64_t key = number;
	int64_t much = QS_WIDE_TOTAL - 1 - g->here[one].total;
	qs_cuda_sketch *right = g->there[one];
	qs_params other = g->params;

	draw_keys(g, state);
	other.seed++;
	CHECK(qs_cuda_create(g->gpu, &other, &g->there[one]) == QB_OK);
	if (g->count > 1)
		expect_case(number, insert_together(g) == QB_NO_MEMORY, "another seed is accepted");
	qs_cuda_destroy(g->there[one]);
	g->there[one] = right;
	CHECK(qs_cuda_insert(right, &key, &much, 1) == QB_OK);
	CHECK(qs_engine_cpu.insert(&g->here[one], &key, &much, 1) == QB_OK);
	if (g->keys[one] > 0)
		expect_case(number, insert_together(g) == QB_NO_MEMORY,
					"a sketch that has to grow is accepted");
	expect_case(number, same_groups(g), "sketches were changed");
	insert_one_by_one(g);
	insert_here(g);
	if (g->keys[one] > 0)
		expect_case(number, insert_together(g) == QB_NO_MEMORY,
					"a sketch that has grown is accepted");
	expect_case(number, same_groups(g), "sketches with large counters differ");
}

static void
run_case(groups *g, uint64_t number)
{
	uint64_t state = qb_mix64(number + 77);
	uint32_t batches = 1 + (uint32_t) draw_below(&state, 5);

	make_groups(g, &state);
	for (uint32_t i = 0; i < batches; i++)
	{
		draw_keys(g, &state);
		if (draw_below(&state, 6) == 0)
			insert_one_by_one(g);
		else
			expect_case(number, insert_together(g) == QB_OK, "keys are refused");
		insert_here(g);
		if (draw_below(&state, 2) == 0)
			expect_case(number, same_groups(g), "sketches differ");
	}
	expect_case(number, same_groups(g), "sketches differ");
	if (number % 5 == 0)
		refuse(g, number, &state);
	free_groups(g);
}

/* Print the shortest time of ten runs, each from its first launch to the end of its last launch. */
static void
time_one(groups *g, const char *name, void (*insert)(groups *g))
{
	double least = 1e9;

	for (int round = 0; round < 10; round++)
	{
		double begin = seconds();

		insert(g);
		CHECK(qs_cuda_sync(g->gpu) == QB_OK);
		begin = seconds() - begin;
		least = begin < least ? begin : least;
	}
	printf("%s: %.3f ms\n", name, least * 1e3);
}

static void
insert_all(groups *g)
{
	CHECK(insert_together(g) == QB_OK);
}

static void
time_all(groups *g, uint64_t keys, uint32_t count)
{
	uint64_t *key = malloc(keys * sizeof(*key));

	CHECK(key && count >= 1 && count <= QS_CUDA_GROUPS_MAX);
	make_keys(key, KEYS_UNIFORM, 1, 0, keys);
	g->device_key = keys_to_device(g->gpu, key, keys);
	g->count = count;
	for (int structure = QS_THREAD; structure <= QS_MULTILEVEL; structure++)
	{
		g->params = (qs_params){ .structure = (uint8_t) structure, .depth = 3 };
		g->params.log2_masks = structure == QS_THREAD ? 0 : 10;
		g->params.n = (1 << 20) / qs_block_bytes(&g->params);
		for (uint32_t i = 0; i < count; i++)
		{
			g->keys[i] = keys / count;
			CHECK(qs_cuda_create(g->gpu, &g->params, &g->there[i]) == QB_OK);
		}
		printf("structure %d, %llu keys, %u groups, ", structure, (unsigned long long) keys, count);
		time_one(g, "one by one", insert_one_by_one);
		printf("structure %d, %llu keys, %u groups, ", structure, (unsigned long long) keys, count);
		time_one(g, "together", insert_all);
		for (uint32_t i = 0; i < count; i++)
			qs_cuda_destroy(g->there[i]);
	}
	cudaFree(g->device_key);
	free(key);
}

int
main(int argc, char **argv)
{
	static groups g;
	case_run run = begin_cases(argc, argv, 100);

	g.gpu = run.gpu;
	if (run.timed)
		time_all(&g, case_argument(&run, 2, 3169184), (uint32_t) case_argument(&run, 3, 30));
	for (uint64_t i = run.first; i < run.end; i++)
		run_case(&g, i);
	return end_cases(&run, "sketch_groups");
}
