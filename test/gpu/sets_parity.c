/*
 * sets_parity.c
 *		Compares all pairs on the GPU with all pairs on the CPU: every method, random requests.
 *
 *	sets_parity [first case] [cases]
 *
 * A case depends only on its number.  The CPU finds the pairs by its index, which the
 * unit tests compare with a double loop.
 *
 * test/gpu/sets_parity.c
 */
#include "support.h"

#include "engine/sets_kernels.h"
#include "sets/builder.h"
#include "gpu_extra.h"

static uint64_t state;

static uint64_t
draw(uint64_t below)
{
	return qb_mul_high(qb_mix64(state += UINT64_C(0x9E3779B97F4A7C15)), below);
}

static uint64_t
one_of(const uint64_t *choice, size_t count)
{
	return choice[draw(count)];
}

#define ONE_OF(...)                           \
	one_of((const uint64_t[]){ __VA_ARGS__ }, \
		   sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* ---- collections ---- */

/* Draw an element as a product of 1 + skew uniform numbers, so that small numbers are frequent. */
static uint64_t
draw_element(uint64_t universe, int skew)
{
	uint64_t u = draw(UINT64_C(1) << 32);

	for (int i = 0; i < skew; i++)
		u = u * draw(UINT64_C(1) << 32) >> 32;
	return u * universe >> 32;
}

typedef struct shape
{
	uint64_t sets;
	uint64_t size; /* average size of a set */
	uint64_t universe;
	int skew;
	bool huge; /* one set is a hundred times as large */
} shape;

static shape
draw_shape(void)
{
	shape s;

	s.sets = ONE_OF(1, 2, 5, 40, 130, 300, 700, 2000);
	s.size = ONE_OF(1, 3, 20, 100);
	s.universe = ONE_OF(1, 10, 300, 5000, 100000);
	s.skew = (int) draw(4);
	s.huge = draw(4) == 0;
	return s;
}

static void
make_collection(qset_collection *c, const shape *s)
{
	qset_builder b;

	qset_builder_init(&b, false, &(qb_keys){ .family = 1 }, &test_memory);
	for (uint64_t i = 0; i < s->sets; i++)
	{
		uint64_t size = 1 + draw(2 * s->size) * (s->huge && i == s->sets / 2 ? 100 : 1);

		for (uint64_t e = 0; e < size; e++)
		{
			int64_t id = (int64_t) (i * 3);
			uint64_t element = draw_element(s->universe, s->skew);

			CHECK(qset_builder_add(&b, &id, &element, NULL, 1) == QB_OK);
		}
	}
	CHECK(qset_builder_finish(&b, c) == QB_OK);
	qset_builder_free(&b);
}

/* ---- answers ---- */

typedef struct answer
{
	qset_pair *pair;
	uint64_t count, room;
} answer;

static qset_pair *
more_room(answer *a, uint64_t room)
{
	if (a->count + room > a->room)
	{
		a->room = 2 * (a->count + room);
		a->pair = realloc(a->pair, a->room * sizeof(*a->pair));
		CHECK(a->pair);
	}
	return a->pair + a->count;
}

static void
ask_cpu(const qset_request *r, uint64_t first, uint64_t rows, answer *a)
{
	qset_preparation p;
	qset_job job;
	void *block;
	uint64_t count;

	CHECK(qset_prepare(&p, r) == QB_OK);
	block = qset_alloc(&test_memory, p.plan.bytes, 1);
	CHECK(block && qset_fill(&p, block) == QB_OK);
	qset_prepared_free(&p);
	CHECK(qset_job_open(&job, block, qset_kernels_now(), &test_memory, NULL) == QB_OK);
	qset_job_shard(&job, 0, qset_job_rows(&job), 1);
	a->count = 0;
	do
	{
		qset_pair *to = more_room(a, 1000);

		CHECK(qset_job_next(&job, to, 1000, &count) == QB_OK);
		for (uint64_t i = 0; i < count; i++)
			if (to[i].a >= first && to[i].a - first < rows)
				a->pair[a->count++] = to[i];
	}
	while (count > 0);
	qset_job_close(&job);
	qset_release(&test_memory, block);
}

static void
ask_gpu(qs_cuda *gpu, const qset_cuda_request *r, uint64_t room, answer *a)
{
	qset_cuda_pairs *pairs;
	uint64_t count;
	bool over = false;
	qb_status status = qset_cuda_pairs_open(gpu, r, &pairs);

	for (a->count = 0; status == QB_OK && !over; a->count += count)
		status = qset_cuda_pairs_next(pairs, more_room(a, room), room, &count, &over);
	if (status != QB_OK)
		fprintf(stderr, "status %d: %s in %s\n", status, qs_cuda_last_error(gpu)->name,
				qs_cuda_last_error(gpu)->call);
	CHECK(status == QB_OK);
	qset_cuda_pairs_close(pairs);
}

/* Returns false at each hundredth call, so that the search stops waiting. */
static bool
some_patience(void)
{
	static unsigned polls;

	return ++polls % 100 != 0;
}

/*
 * Fetch the pairs of rows first .. end - 1 of an open search.  If "begun", the caller has
 * begun the search of these rows.
 */
static void
take_rows(qset_cuda_pairs *pairs, uint64_t first, uint64_t end, bool begun, answer *a)
{
	uint64_t count;
	bool over = false;

	if (!begun)
		CHECK(qset_cuda_pairs_begin(pairs, first, end) == QB_OK);
	while (!over)
	{
		CHECK(qset_cuda_pairs_wait(pairs, some_patience, more_room(a, 5000), 5000, &count, &over) ==
			  QB_OK);
		a->count += count;
	}
}

/*
 * Search with two devices.  The second device works on a copy of the collections.  The devices
 * search alternate shards of the rows.  Before the pairs of a shard are fetched, the search of the
 * next shard begins.
 */
static void
ask_both(qs_cuda *gpu, qs_cuda *second, const qset_cuda_request *r, uint64_t shares, answer *a)
{
	qset_cuda_request copy = *r;
	qset_cuda_pairs *pairs[2];
	uint64_t sets = qset_cuda_sets_count(r->rows);
	bool begun = false;

	CHECK(qset_cuda_sets_copy(second, r->rows, &copy.rows) == QB_OK);
	if (r->columns)
		CHECK(qset_cuda_sets_copy(second, r->columns, &copy.columns) == QB_OK);
	CHECK(qset_cuda_pairs_open(gpu, r, &pairs[0]) == QB_OK);
	CHECK(qset_cuda_pairs_open(second, &copy, &pairs[1]) == QB_OK);
	a->count = 0;
	for (uint64_t i = 0; i < shares; i++)
	{
		uint64_t cut[3] = { sets * i / shares, sets * (i + 1) / shares, sets * (i + 2) / shares };

		if (i + 1 < shares)
			CHECK(qset_cuda_pairs_begin(pairs[(i + 1) % 2], cut[1], cut[2]) == QB_OK);
		take_rows(pairs[i % 2], cut[0], cut[1], begun, a);
		begun = true;
	}
	qset_cuda_pairs_close(pairs[0]);
	qset_cuda_pairs_close(pairs[1]);
	qset_cuda_sets_destroy(copy.rows);
	qset_cuda_sets_destroy(copy.columns);
}

static uint64_t limited, refused;

/* Search within a limit of memory: either the search cannot be opened, or it finds all pairs. */
static bool
ask_within(qs_cuda *gpu, const qset_cuda_request *r, uint64_t bytes, answer *a)
{
	qset_cuda_pairs *pairs;
	qs_cuda_stats stats;
	qb_status status;
	uint64_t count;
	bool over = false;

	qs_cuda_limit(gpu, qs_cuda_used(gpu) + bytes);
	qs_cuda_get_stats(gpu, &stats);
	bytes += stats.device_bytes - stats.workspace_bytes;
	status = qset_cuda_pairs_open(gpu, r, &pairs);
	CHECK(status == QB_OK || status == QB_NO_MEMORY);
	qs_cuda_get_stats(gpu, &stats);
	CHECK(stats.device_bytes <= bytes);
	limited++;
	refused += status == QB_NO_MEMORY;
	for (a->count = 0; status == QB_OK && !over; a->count += count)
		CHECK(qset_cuda_pairs_next(pairs, more_room(a, 5000), 5000, &count, &over) == QB_OK);
	qset_cuda_pairs_close(pairs);
	qs_cuda_limit(gpu, UINT64_MAX);
	return status == QB_OK;
}

/* ---- a case ---- */

static uint64_t comparisons, differences;

static void
compare(uint64_t number, const char *what, int method, const answer *want, const answer *got)
{
	comparisons++;
	if (want->count == got->count &&
		(want->count == 0 || memcmp(want->pair, got->pair, want->count * sizeof(qset_pair)) == 0))
		return;
	differences++;
	fprintf(stderr, "case %lu, %s, %s: %lu pairs, should be %lu\n", (unsigned long) number, what,
			qset_method_name(method), (unsigned long) got->count, (unsigned long) want->count);
	for (uint64_t i = 0; i < want->count && i < got->count; i++)
		if (memcmp(&want->pair[i], &got->pair[i], sizeof(qset_pair)) != 0)
		{
			fprintf(stderr, "  pair %lu: (%u %u %u %u), should be (%u %u %u %u)\n",
					(unsigned long) i, got->pair[i].a, got->pair[i].b, got->pair[i].common,
					got->pair[i].either, want->pair[i].a, want->pair[i].b, want->pair[i].common,
					want->pair[i].either);
			return;
		}
}

/* Draw a request as structures for the CPU and for the GPU. */
static void
draw_request(qset_request *cpu, qset_cuda_request *gpu)
{
	double jaccard = draw(3) == 0 ? (double) draw(20) / 20 : 0;
	uint64_t top = draw(4) == 0 ? ONE_OF(1, 2, 10, 1000) : 0;
	int64_t least = (int64_t) ONE_OF(0, 1, 1, 2, 5, 40);

	CHECK(qset_filter_init(&cpu->filter, least, jaccard, top) == QB_OK);
	gpu->filter = cpu->filter;
	gpu->directed = cpu->directed = draw(4) == 0;
	gpu->strip_rows = ONE_OF(0, 0, 1, 300);
	gpu->pair_room = ONE_OF(0, 0, 1, 5000);
	gpu->heavy = ONE_OF(0, 2, 5, 50, 100000);
	gpu->product = (qset_product) draw(3);
	gpu->variant = (int) draw(3);
	if (draw(4) == 0)
	{
		gpu->first_row = draw(50);
		gpu->row_count = draw(3);
	}
}

/* Load a collection; number[] maps the ranks of its elements to the numbers on the device. */
static qset_cuda_sets *
load_numbered(qs_cuda *gpu, const qset_collection *c, const uint32_t *number, uint64_t universe)
{
	uint32_t *element = qset_alloc(&test_memory, c->elements, sizeof(*element));
	qset_cuda_sets *sets;

	CHECK(element);
	for (uint64_t i = 0; i < c->elements; i++)
		element[i] = number[c->rank[i]];
	CHECK(qset_cuda_sets_create(gpu, c->sets, c->elements, universe, &sets) == QB_OK);
	CHECK(qset_cuda_sets_put_offsets(sets, 0, c->offset, c->sets + 1) == QB_OK);
	CHECK(qset_cuda_sets_put_elements(sets, 0, element, c->elements) == QB_OK);
	qset_release(&test_memory, element);
	return sets;
}

static void
load_both(qs_cuda *gpu, const qset_collection *rows, const qset_collection *columns,
		  qset_cuda_request *request)
{
	uint32_t *of_rows = qset_alloc(&test_memory, rows->universe, sizeof(*of_rows));
	uint32_t *of_columns = qset_alloc(&test_memory, columns->universe, sizeof(*of_columns));
	uint64_t universe;

	CHECK(of_rows && of_columns);
	CHECK(qset_collection_join(rows, columns, of_rows, of_columns, &universe) == QB_OK);
	request->rows = load_numbered(gpu, rows, of_rows, universe);
	request->columns = load_numbered(gpu, columns, of_columns, universe);
	qset_release(&test_memory, of_rows);
	qset_release(&test_memory, of_columns);
}

static void
try_methods(qs_cuda *gpu, qs_cuda *second, uint64_t number, const qset_request *cpu,
			qset_cuda_request *device)
{
	static answer want, got;
	const char *what = cpu->columns ? "two collections" : "one collection";
	uint64_t rows = device->row_count > 0 ? device->row_count : UINT64_MAX;

	ask_cpu(cpu, device->first_row, rows, &want);
	for (device->method = QSET_AUTO; device->method < QSET_METHODS; device->method++)
	{
		ask_gpu(gpu, device, want.count < 1000 ? ONE_OF(1, 7, 5000) : 100000, &got);
		compare(number, what, device->method, &want, &got);
		if (device->row_count == 0 && device->first_row == 0 && draw(2) == 0)
		{
			ask_both(gpu, second, device, 1 + draw(7), &got);
			compare(number, "on two devices", device->method, &want, &got);
		}
		if (ask_within(gpu, device, draw(UINT64_C(1) << (10 + draw(17))), &got))
			compare(number, "within a limit", device->method, &want, &got);
	}
}

static void
try_case(qs_cuda *gpu, qs_cuda *second, uint64_t number)
{
	shape s;
	qset_collection one, two;
	qset_request cpu = { .method = QSET_INDEX,
						 .variant = QSET_VARIANT_OFF,
						 .memory = &test_memory };
	qset_cuda_request device = { 0 };
	bool both;

	state = qb_mix64(number);
	s = draw_shape();
	make_collection(&one, &s);
	both = draw(3) == 0;
	if (both)
	{
		s.sets = 1 + draw(300);
		make_collection(&two, &s);
	}
	cpu.rows = &one;
	draw_request(&cpu, &device);
	if (both)
	{
		cpu.columns = &two;
		load_both(gpu, &one, &two, &device);
	}
	else
		CHECK(qset_cuda_sets_load(gpu, &one, &device.rows) == QB_OK);
	try_methods(gpu, second, number, &cpu, &device);
	qset_cuda_sets_destroy(device.rows);
	qset_collection_free(&one);
	if (!both)
		return;
	qset_cuda_sets_destroy(device.columns);
	qset_collection_free(&two);
}

int
main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t cases = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
	qs_cuda_options options = { .staging_bytes = 1 << 20 };
	qs_cuda_error error;
	qs_cuda_stats stats;
	qs_cuda *gpu, *second;
	uint64_t before;
	int devices = qs_cuda_device_count(&error);

	if (devices == 0)
	{
		fprintf(stderr, "no usable GPU: %s\n", error.name);
		return 2;
	}
	CHECK(qs_cuda_open(0, &options, &gpu, &error) == QB_OK);
	CHECK(qs_cuda_open(devices > 1, &options, &second, &error) == QB_OK);
	qs_cuda_get_stats(gpu, &stats);
	before = stats.device_bytes;
	for (uint64_t i = first; i < first + cases; i++)
		try_case(gpu, second, i);
	qs_cuda_trim(gpu);
	qs_cuda_get_stats(gpu, &stats);
	printf("sets: %lu cases, %lu comparisons, %lu differences, %lu of %lu refused by a limit, "
		   "%ld bytes left; %d devices\n",
		   (unsigned long) cases, (unsigned long) comparisons, (unsigned long) differences,
		   (unsigned long) refused, (unsigned long) limited, (long) (stats.device_bytes - before),
		   devices);
	qs_cuda_close(second);
	qs_cuda_close(gpu);
	return differences == 0 && stats.device_bytes == before ? 0 : 1;
}
