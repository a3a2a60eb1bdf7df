/*
 * parity.c
 *		Compares random sequences of operations on CPU and GPU byte by byte.
 *
 * A case draws parameters, and then operations: insert, merge, and reload.  Keys are inserted from
 * ordinary, pinned or device memory, with or without weights, in every way of inserting.  Sketches
 * are merged as a whole or in slices; a merge with a sketch of another size must be refused.
 * After each operation, the serialized bytes of both sketches and the estimates of some keys must
 * be the same.  A case depends only on its number: "parity NUMBER 1" repeats case NUMBER.
 *
 *	parity [first case [number of cases]]
 *
 * test/gpu/parity.c
 */
#include "support.h"

#include "gpu_extra.h"

#define KEYS_MAX   (1 << 16)
#define QUERIES    512
#define OPS_MAX    6
#define PIECES     40
#define BIG_WEIGHT (INT64_C(1) << 31)

static uint64_t comparisons;
static uint64_t failures;

/* One case: a sketch on the CPU and one on the device, and memory for keys. */
typedef struct test_case
{
	uint64_t number;
	uint64_t state; /* state of the random numbers */
	qs_params params;
	qs_cuda *gpu, *second;
	qs_sketch cpu;
	qs_cuda_sketch *device;
	qs_sketch full; /* sf: the host's side of "device" */
	uint64_t *key;  /* KEYS_MAX keys in ordinary memory */
	int64_t *weight;
	void *device_key;
	uint64_t *pinned_key;
} test_case;

static uint64_t
draw(test_case *t, uint64_t below)
{
	return qb_reduce(qb_mix64(t->state += QB_ROW_STEP), below);
}

static bool
is_sf(const test_case *t)
{
	return t->params.structure == QS_SF;
}

static void
fail(const test_case *t, const char *what)
{
	failures++;
	printf("case %llu: %s differs (%s, n %llu, d %u, z %u, masks 2^%u, total %lld)\n",
		   (unsigned long long) t->number, what, qs_structure_name(t->params.structure),
		   (unsigned long long) t->cpu.params.n, t->params.depth, t->params.z, t->params.log2_masks,
		   (long long) t->cpu.total);
}

static void
expect(const test_case *t, bool same, const char *what)
{
	comparisons++;
	if (!same)
		fail(t, what);
}

/* Draw parameters: any structure, and a size from a few bytes to about 4 MB. */
static void
draw_params(test_case *t)
{
	qs_params *p = &t->params;
	uint64_t bytes;

	memset(p, 0, sizeof(*p));
	p->structure = (uint8_t) (QS_THREAD + draw(t, 6));
	p->depth = (uint8_t) (1 + draw(t, 5));
	p->seed = draw(t, 4) == 0 ? 0 : qb_mix64(t->state);
	if (is_sf(t))
		p->z = (uint8_t) (2 + draw(t, 7));
	if (p->structure != QS_THREAD)
		p->log2_masks = (uint8_t) (draw(t, 3) == 0 ? draw(t, 14) : 10);
	bytes = UINT64_C(1024) << draw(t, 11);
	p->n = bytes / qs_block_bytes(p);
	if (p->n < 2 || draw(t, 3) == 0)
		p->n = 1 + draw(t, 3000);
	p->n *= UINT64_C(1) << draw(t, 3);
}

/* Draw keys and, if "weighted", weights; returns the number of keys. */
static size_t
draw_keys(test_case *t, bool weighted)
{
	size_t count = (size_t) (draw(t, 4) == 0 ? draw(t, 40) : draw(t, KEYS_MAX));
	key_kind kind = (key_kind) draw(t, KEYS_KINDS);
	int64_t most = draw(t, 4) == 0 ? BIG_WEIGHT : draw(t, 2) == 0 ? 1000 : 3;

	make_keys(t->key, kind, draw(t, UINT64_MAX), 0, count);
	if (weighted && most == BIG_WEIGHT && count > 100)
		count = 100;
	for (size_t i = 0; weighted && i < count; i++)
		t->weight[i] = (int64_t) draw(t, (uint64_t) most);
	return count;
}

/* Insert the keys by one launch as several arrays, or as one array if the launch is refused. */
static qb_status
insert_parts(test_case *t, const int64_t *weight, size_t count)
{
	qs_cuda_keys part[QS_CUDA_TOGETHER];
	int parts = 1 + (int) draw(t, QS_CUDA_TOGETHER);
	size_t at = 0;
	qb_status status;

	memcpy(t->pinned_key, t->key, count * sizeof(*t->key));
	for (int i = 0; i < parts; i++)
	{
		size_t some = i == parts - 1 ? count - at : (size_t) draw(t, count - at + 1);

		part[i].key = (draw(t, 2) ? t->key : t->pinned_key) + at;
		part[i].weight = weight ? weight + at : NULL;
		part[i].count = some;
		at += some;
	}
	status = qs_cuda_insert_all(t->device, part, parts);
	if (status == QB_NO_MEMORY)
		status = qs_cuda_insert(t->device, t->key, weight, count);
	return status;
}

/* Insert the keys by insert_parts(), or as one array from pinned, ordinary or device memory. */
static qb_status
insert_device(test_case *t, const int64_t *weight, size_t count)
{
	switch (draw(t, weight ? 3 : 4))
	{
		case 0:
			return insert_parts(t, weight, count);
		case 3:
			copy_to_device(t->device_key, t->key, count * 8);
			return qs_cuda_insert_device(t->device, t->device_key, count);
		case 1:
			memcpy(t->pinned_key, t->key, count * sizeof(*t->key));
			return qs_cuda_insert(t->device, t->pinned_key, weight, count);
		default:
			return qs_cuda_insert(t->device, t->key, weight, count);
	}
}

static void
insert(test_case *t)
{
	bool weighted = draw(t, 3) == 0;
	size_t count = draw_keys(t, weighted);
	const int64_t *weight = weighted ? t->weight : NULL;
	qb_status cpu, device;

	qs_cuda_set_bulk(t->gpu, (qs_cuda_bulk) draw(t, 3));
	cpu = qs_engine_cpu.insert(&t->cpu, t->key, weight, count);
	if (is_sf(t))
		device =
			qs_cuda_sf_insert(t->device, &t->full, t->key, weight, count, (int) (1 + draw(t, 4)));
	else
		device = insert_device(t, weight, count);
	CHECK(qs_cuda_pace(t->gpu) == QB_OK);
	expect(t, cpu == device, "status of insert");
}

/*
 * Copy the sketch to the second device.  Returns NULL for sf, or if the sketch cannot be fetched.
 */
static qs_cuda_sketch *
copy_away(test_case *t, qs_cuda_sketch *from)
{
	qs_cuda_sketch *away = NULL;
	qs_sketch here;

	if (is_sf(t) || qs_cuda_fetch(from, &here, &test_memory) != QB_OK)
		return NULL;
	CHECK(qs_cuda_load(t->second, &here, &away) == QB_OK);
	qs_free(&here);
	return away;
}

/* Merge as a whole or slice by slice, with "from" or with its copy on the second device. */
static qb_status
merge_on_device(test_case *t, qs_cuda_sketch *from)
{
	const qs_params *p = qs_cuda_params(from);
	qs_cuda_sketch *away;
	uint64_t units, at, count;
	bool whole = draw(t, 2);
	qb_status status = qs_cuda_merge_begin(t->device, p, qs_cuda_total(from));

	if (status != QB_OK)
		return status;
	away = draw(t, 2) ? copy_away(t, from) : NULL;
	units = qs_slice_units(p);
	for (at = 0; at < units; at += count)
	{
		qs_slice slice = { at, count = whole ? units : 1 + draw(t, units - at) };

		CHECK(qs_cuda_merge_slice(t->device, slice, away ? away : from, slice) == QB_OK);
	}
	qs_cuda_destroy(away);
	return QB_OK;
}

/*
 * Merge with a sketch of the same parameters.  At random the sketch has twice the size, and must be
 * refused.  Does nothing for sf.
 */
static void
merge(test_case *t)
{
	qs_params p = t->device ? *qs_cuda_params(t->device) : t->params;
	qs_cuda_sketch *device;
	qs_sketch cpu;
	qb_status expected;
	size_t count;

	if (draw(t, 8) == 0)
		p.n *= 2;
	if (is_sf(t))
		return;
	dense_init(&cpu, &p);
	count = draw_keys(t, true);
	CHECK(qs_engine_cpu.insert(&cpu, t->key, t->weight, count) == QB_OK);
	CHECK(qs_cuda_load(t->gpu, &cpu, &device) == QB_OK);
	expected = qs_merge(&t->cpu, &cpu);
	expect(t, merge_on_device(t, device) == expected, "status of merge");
	qs_cuda_destroy(device);
	qs_free(&cpu);
}

/* Serialize the device's sketch, and load it from the bytes. */
static void
reload(test_case *t)
{
	qs_sketch fetched, view, tables;
	uint64_t bytes;
	uint8_t *flat;

	if (is_sf(t))
		return;
	CHECK(qs_cuda_fetch(t->device, &fetched, &test_memory) == QB_OK);
	bytes = qs_flat_size(&fetched);
	flat = malloc(bytes + 1);
	fetched.keys.family = t->cpu.keys.family = 1;
	qs_write(&fetched, flat + 1);
	expect(t, qs_validate(flat + 1, bytes) == QB_OK, "validity");
	CHECK(qs_open(&view, flat + 1, bytes) == QB_OK);
	CHECK(qs_copy(&tables, &view, &test_memory) == QB_OK);
	qs_cuda_destroy(t->device);
	CHECK(qs_cuda_load(t->gpu, view.encoding == QS_DENSE ? &view : &tables, &t->device) == QB_OK);
	qs_free(&tables);
	qs_free(&fetched);
	free(flat);
}

static void
compare_estimates(test_case *t)
{
	static int64_t cpu[QUERIES], device[QUERIES];
	qs_sketch *sk = &t->cpu;

	for (int i = QUERIES / 2; i < QUERIES; i++)
		t->key[i] = qb_mix64(t->state + (uint64_t) i);
	qs_query(sk, t->key, QUERIES, cpu);
	expect(t, qs_cuda_query(t->device, t->key, QUERIES, device) == QB_OK, "status of query");
	expect(t, memcmp(cpu, device, sizeof(cpu)) == 0, "estimates");
}

/* Read tables of "bytes" bytes in pieces, of any size or of multiples of 16 bytes. */
static void
read_pieces(test_case *t, uint8_t *to, uint64_t bytes)
{
	const qs_cuda_piece outside[] = { { 0, 8, to }, { UINT64_MAX - 7, 8, to } };
	qs_cuda_piece piece[PIECES];
	bool quads = draw(t, 2);
	uint64_t at = 0;
	int count = 0;

	for (; count < PIECES && at < bytes; count++)
	{
		uint64_t most = bytes - at, size = 1 + draw(t, most < 9000 ? most : 9000);

		if (count == PIECES - 1)
			size = most;
		else if (quads)
			size += -size % 16 < most - size ? -size % 16 : most - size;
		piece[count] = (qs_cuda_piece){ at, size, to + at };
		at += size;
	}
	CHECK(qs_cuda_read(t->device, piece, count) == QB_OK);
	expect(t, qs_cuda_read(t->device, outside, 2) == QB_NO_MEMORY, "status of a piece outside");
}

/* Check that tables read in pieces, as backends read them, equal tables fetched as a whole. */
static void
compare_pieces(test_case *t)
{
	bool pinned = draw(t, 4) != 0;
	uint64_t table, bytes;
	qs_sketch head, whole;
	uint8_t *to;

	CHECK(qs_cuda_prepare_read(t->device) == QB_OK);
	while (draw(t, 4) != 0 && !qs_cuda_read_is_ready(t->device))
		;
	CHECK(qs_cuda_freeze(t->device, &head) == QB_OK);
	CHECK(qs_cuda_fetch(t->device, &whole, &test_memory) == QB_OK);
	table = qs_table_bytes(&head.params, head.wide);
	bytes = table + head.extra_used * qs_extra_bytes(&head.params, head.wide);
	if (pinned)
		CHECK(qs_cuda_host_alloc(t->gpu, bytes, (void **) &to) == QB_OK);
	else
		CHECK((to = malloc(bytes)) != NULL);
	read_pieces(t, to, bytes);
	expect(t,
		   memcmp(to, whole.table, table) == 0 &&
			   (bytes == table || memcmp(to + table, whole.extra, bytes - table) == 0),
		   "pieces of the tables");
	qs_free(&whole);
	if (pinned)
		qs_cuda_host_free(t->gpu, to);
	else
		free(to);
}

static void
compare(test_case *t)
{
	qs_sketch fetched;

	CHECK(qs_cuda_fetch(t->device, &fetched, &test_memory) == QB_OK);
	fetched.keys.family = t->cpu.keys.family;
	if (is_sf(t))
	{
		qs_sketch part;

		t->full.keys.family = t->cpu.keys.family;
		expect(t, same_bytes(&t->cpu, &t->full), "fat and slim table");
		CHECK(qs_sf_part(&part, &t->cpu, QS_PART_DEVICE, &test_memory) == QB_OK);
		expect(t, same_bytes(&part, &fetched), "slim table");
		qs_free(&part);
	}
	else
	{
		expect(t, same_bytes(&t->cpu, &fetched), "bytes");
		compare_pieces(t);
	}
	qs_free(&fetched);
	compare_estimates(t);
}

/* Merge device parts of sf, and check that they refuse keys. */
static void
compare_sf_parts(test_case *t)
{
	qs_cuda_sketch *device;
	qs_sketch part, other, fetched;

	CHECK(qs_sf_part(&part, &t->cpu, QS_PART_DEVICE, &test_memory) == QB_OK);
	CHECK(qs_sf_part(&other, &t->cpu, QS_PART_DEVICE, &test_memory) == QB_OK);
	CHECK(qs_cuda_load(t->gpu, &other, &device) == QB_OK);
	CHECK(qs_merge(&part, &other) == QB_OK);
	CHECK(merge_on_device(t, device) == QB_OK);
	CHECK(qs_cuda_fetch(t->device, &fetched, &test_memory) == QB_OK);
	expect(t, same_bytes(&part, &fetched), "merged slim table");
	expect(t, qs_cuda_insert(t->device, t->key, NULL, 1) == QB_READ_ONLY, "refusal to insert");
	qs_cuda_destroy(device);
	qs_free(&part);
	qs_free(&other);
	qs_free(&fetched);
}

static void
start(test_case *t)
{
	draw_params(t);
	dense_init(&t->cpu, &t->params);
	if (is_sf(t))
	{
		dense_init(&t->full, &t->params);
		CHECK(qs_cuda_load(t->gpu, &t->full, &t->device) == QB_OK);
	}
	else
		CHECK(qs_cuda_create(t->gpu, &t->params, &t->device) == QB_OK);
}

static void
run_case(test_case *t, uint64_t number)
{
	static void (*const ops[])(
		test_case *) = { insert, insert, insert, insert, merge, merge, reload };
	int count;

	t->number = number;
	t->state = qb_mix64(number + 1);
	start(t);
	count = 1 + (int) draw(t, OPS_MAX);
	for (int i = 0; i < count; i++)
	{
		ops[i == 0 ? 0 : draw(t, sizeof(ops) / sizeof(ops[0]))](t);
		compare(t);
	}
	if (is_sf(t))
	{
		compare_sf_parts(t);
		qs_free(&t->full);
	}
	qs_free(&t->cpu);
	qs_cuda_destroy(t->device);
}

int
main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t cases = argc > 2 ? strtoull(argv[2], NULL, 10) : 4000;
	qs_cuda_options options = { .staging_bytes = 1 << 18 }; /* smaller than a large batch */
	qs_cuda_error error;
	test_case t = { 0 };
	double began = seconds();

	if (qs_cuda_open(0, &options, &t.gpu, &error) != QB_OK)
	{
		printf("no usable device: %s\n", error.name);
		return 2;
	}
	t.second = open_second(t.gpu);
	t.key = malloc(KEYS_MAX * sizeof(*t.key));
	t.weight = malloc(KEYS_MAX * sizeof(*t.weight));
	CHECK(t.key && t.weight);
	CHECK(qs_cuda_host_alloc(t.gpu, KEYS_MAX * 8, (void **) &t.pinned_key) == QB_OK);
	CHECK_CUDA(cudaMalloc(&t.device_key, KEYS_MAX * 8));
	for (uint64_t i = first; i < first + cases; i++)
		run_case(&t, i);
	printf("parity: %llu cases, %llu comparisons, %llu differences, %.0f s\n",
		   (unsigned long long) cases, (unsigned long long) comparisons,
		   (unsigned long long) failures, seconds() - began);
	cudaFree(t.device_key);
	qs_cuda_host_free(t.gpu, t.pinned_key);
	qs_cuda_close(t.second);
	qs_cuda_close(t.gpu);
	free(t.key);
	free(t.weight);
	return failures != 0;
}
