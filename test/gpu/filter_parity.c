/*
 * filter_parity.c
 *		Compares filters on the GPU with filters on the CPU: random parameters, rows and batches.
 *
 *	filter_parity [first case [cases [large]]]
 *
 * A case depends only on its number.  GPU and CPU insert the same rows in batches of
 * different sizes, and must produce the same bytes and answers.  "large" adds filters
 * of up to half a gigabyte and batches of millions of rows.
 *
 * test/gpu/filter_parity.c
 */
#include "support.h"

#include "filter/format.h"
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

static uint64_t number, comparisons, differences;

static void
expect(bool same, const char *what, const qf_params *p)
{
	comparisons++;
	if (same)
		return;
	differences++;
	fprintf(stderr, "case %lu, %s differ: m %lu, k %u, q %#lx, layout %u\n", (unsigned long) number,
			what, (unsigned long) p->m, p->k, (unsigned long) p->q, p->layout);
}

/* ---- parameters ---- */

static uint64_t
draw_q(void)
{
	static const double probability[] = { 0.999999, 0.9, 0.5, 0.1, 0.01, 0.001, 1e-4, 1e-6, 1e-12 };
	double p;

	switch (draw(8))
	{
		case 0:
			return draw(UINT64_MAX - 1) + 1;
		case 1:
			return ONE_OF(1, 2, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63);
		default:
			p = probability[draw(sizeof(probability) / sizeof(probability[0]))];
			return UINT64_MAX - (uint64_t) (p * 18446744073709549568.0);
	}
}

static qf_params
draw_params(void)
{
	qf_params p = { .seed = draw(3) == 0 ? 0 : draw(UINT64_MAX) };

	p.m = ONE_OF(64, 65, 127, 1000, 4096, 58466, 131072, 726078, 1500000, 1750000, 8388608);
	if (draw(3) == 0)
		p.m = 64 + draw(3000000);
	switch (draw(4))
	{
		case 0: /* a Bloom filter */
			p.k = (uint32_t) ONE_OF(1, 2, 7, 10, 30, 33);
			break;
		case 1: /* a blocked Bloom filter */
			p.k = (uint32_t) ONE_OF(1, 6, 7, 8, 14, 15, 30, 64, 600);
			p.layout = QF_BLOCKED;
			p.m = (p.m + QF_BLOCK_BITS - 1) / QF_BLOCK_BITS * QF_BLOCK_BITS;
			break;
		default:
			p.k = (uint32_t) ONE_OF(1, 31, 32, 64, 176, 267, 618, 1023, 1024, 1025, 2048, 5000);
			p.q = draw_q();
	}
	if (p.k > p.m)
		p.k = (uint32_t) p.m;
	CHECK(qf_params_check(&p) == QB_OK);
	return p;
}

/* ---- rows ---- */

typedef struct rows
{
	uint64_t *fingerprint;
	uint64_t *row;   /* NULL: no ids */
	int64_t *copies; /* NULL: one copy each */
	uint64_t nonce, first;
	size_t count;
} rows;

static void
draw_rows(rows *r, const qf_params *p, size_t most)
{
	int kind = (int) draw(4);
	double bits = p->k * (kind == 2 ? 1 : qf_probability(p)) + 1;
	int keys = (int) draw(KEYS_KINDS);

	*r = (rows){ .nonce = draw(2) == 0 ? 0 : draw(UINT64_MAX),
				 .first = ONE_OF(0, 1, 4096, UINT64_C(1) << 40, UINT64_MAX - 100) };
	r->count = ONE_OF(0, 1, 31, 32, 33, 500, 4096, 20000, 65537);
	while (r->count > most || (double) r->count * bits > 4e6)
		r->count /= 2;
	r->fingerprint = malloc((r->count + 1) * 8);
	CHECK(r->fingerprint);
	make_keys(r->fingerprint, keys, draw(1000), 0, r->count);
	if (kind == 1)
	{
		r->row = malloc((r->count + 1) * 8);
		CHECK(r->row);
		for (size_t i = 0; i < r->count; i++)
			r->row[i] = draw(3) == 0 ? draw(100) : draw(UINT64_MAX);
	}
	if (kind == 2)
	{
		uint64_t top = ONE_OF(1, 2, 5, 1000, UINT64_C(1) << 40);

		r->copies = malloc((r->count + 1) * 8);
		CHECK(r->copies);
		for (size_t i = 0; i < r->count; i++)
			r->copies[i] = (int64_t) draw(top + 1);
		if (r->count > 1 && draw(20) == 0) /* the sum exceeds an int64 */
			r->copies[0] = r->copies[1] = INT64_MAX;
	}
}

static void
free_rows(rows *r)
{
	free(r->fingerprint);
	free(r->row);
	free(r->copies);
}

/* A batch of "count" rows, from row "at" on. */
static qf_batch
batch_of(const rows *r, size_t at, size_t count)
{
	return (qf_batch){ .fingerprint = r->fingerprint + at,
					   .count = count,
					   .nonce = r->nonce,
					   .first_row = r->first + at,
					   .row = r->row ? r->row + at : NULL,
					   .copies = r->copies ? r->copies + at : NULL };
}

/* ---- comparing ---- */

static uint8_t *
bytes_of(const qf_filter *f, uint64_t *bytes)
{
	qf_flat flat = qf_flat_of(f);
	uint8_t *out = malloc(*bytes = flat.bytes);

	CHECK(out);
	qf_write(f, &flat, out);
	return out;
}

static bool
same_filters(const qf_filter *a, const qf_filter *b)
{
	uint64_t a_bytes, b_bytes;
	uint8_t *left = bytes_of(a, &a_bytes), *right = bytes_of(b, &b_bytes);
	bool same = a_bytes == b_bytes && memcmp(left, right, a_bytes) == 0;

	free(left);
	free(right);
	return same;
}

static void
compare(const char *what, qf_cuda_filter *gpu, const qf_filter *cpu)
{
	qf_filter got;
	uint64_t ones;

	CHECK(qf_cuda_fetch(gpu, &got, &test_memory) == QB_OK);
	expect(same_filters(&got, cpu), what, &cpu->params);
	CHECK(qf_cuda_ones(gpu, &ones) == QB_OK);
	expect(ones == cpu->ones, "numbers of set bits", &cpu->params);
	qf_free(&got);
}

/* Compare lookups of inserted keys and of other keys. */
static void
compare_lookups(qf_cuda_filter *gpu, const qf_filter *cpu, const rows *r)
{
	enum
	{
		MOST = 9000
	};
	static uint64_t key[MOST];
	static int64_t set[MOST];
	static bool found[MOST];
	size_t count = ONE_OF(0, 1, 31, 32, 33, 1000, MOST);
	bool same_set = true, same_found = true;

	while (count > 0 && (double) count * cpu->params.k > 1e6)
		count /= 2;
	for (size_t i = 0; i < count; i++)
		key[i] = i % 2 == 0 && r->count > 0 ? r->fingerprint[draw(r->count)] : draw(UINT64_MAX);
	CHECK(qf_cuda_query(gpu, key, count, set) == QB_OK);
	CHECK(qf_cuda_contains(gpu, key, count, found) == QB_OK);
	for (size_t i = 0; i < count; i++)
	{
		same_set &= set[i] == (int64_t) qf_count(cpu, key[i]);
		same_found &= found[i] == qf_has(cpu, key[i]);
	}
	expect(same_set, "numbers of set positions", &cpu->params);
	expect(same_found, "answers of contains", &cpu->params);
	CHECK(qf_cuda_contains(gpu, key, count, (bool *) key) == QB_OK);
	expect(memcmp(key, found, count) == 0, "answers in the place of keys", &cpu->params);
}

/* ---- inserting ---- */

/*
 * Insert all rows into both filters, on the GPU in one or several batches.  If the CPU reports an
 * overflow, the GPU must report it, too.
 */
static void
insert_both(qf_cuda_filter *gpu, qf_filter *cpu, const rows *r)
{
	qf_batch all = batch_of(r, 0, r->count);
	qb_status want = qf_engine_cpu.insert(cpu, &all);
	size_t piece = draw(2) == 0 ? r->count : 1 + draw(r->count + 1);

	if (want == QB_TOTAL_OVERFLOW)
	{
		expect(qf_cuda_insert(gpu, &all) == want, "statuses", &cpu->params);
		return;
	}
	CHECK(want == QB_OK);
	if (piece < r->count / 50)
		piece = r->count / 50;
	for (size_t at = 0; at < r->count; at += piece)
	{
		qf_batch b = batch_of(r, at, r->count - at < piece ? r->count - at : piece);

		CHECK(qf_cuda_insert(gpu, &b) == QB_OK);
	}
}

/*
 * Insert the rows from device memory into a new filter, and compare it with the CPU's filter.  Does
 * nothing if there are no rows, or if the rows have copies.
 */
static void
compare_device_rows(qs_cuda *gpu, const qf_params *p, const rows *r)
{
	qf_batch b = batch_of(r, 0, r->count);
	uint64_t *fingerprint = NULL, *row = NULL;
	qf_cuda_filter *there;
	qf_filter here;

	if (r->copies || r->count == 0)
		return;
	qf_init(&here, p, &test_memory);
	CHECK(qf_engine_cpu.insert(&here, &b) == QB_OK);
	CHECK_CUDA(cudaMalloc((void **) &fingerprint, r->count * 8));
	CHECK_CUDA(cudaMalloc((void **) &row, r->count * 8));
	copy_to_device(fingerprint, r->fingerprint, r->count * 8);
	if (r->row)
		copy_to_device(row, r->row, r->count * 8);
	b.fingerprint = fingerprint;
	b.row = r->row ? row : NULL;
	CHECK(qf_cuda_create(gpu, p, &there) == QB_OK);
	CHECK(qf_cuda_insert_device(there, &b) == QB_OK);
	compare("filters of rows in device memory", there, &here);
	qf_cuda_destroy(there);
	qf_free(&here);
	cudaFree(fingerprint);
	cudaFree(row);
}

static qs_cuda *second;

/* Merge a filter of one of two devices into "into", and copy "into" in pieces. */
static void
compare_merge(qs_cuda *gpu, qf_cuda_filter *into, qf_filter *cpu, const rows *more)
{
	qf_cuda_filter *other, *copy;
	qf_filter from;
	uint64_t bytes = qf_words(&cpu->params) * 8;
	bool pinned = draw(2);
	uint8_t *all = pinned ? NULL : malloc(bytes);

	CHECK(!pinned || qs_cuda_host_alloc(gpu, bytes, (void **) &all) == QB_OK);
	CHECK(all);
	qf_init(&from, &cpu->params, &test_memory);
	CHECK(qf_cuda_create(draw(2) ? gpu : second, &cpu->params, &other) == QB_OK);
	insert_both(other, &from, more);
	CHECK(qf_cuda_merge(into, other) == QB_OK);
	CHECK(qf_engine_cpu.merge(cpu, &from) == QB_OK);
	compare("merged filters", into, cpu);

	CHECK(qf_cuda_create(gpu, &cpu->params, &copy) == QB_OK);
	for (uint64_t at = 0; at < bytes; at += 70000)
	{
		uint64_t both = bytes - at < 70000 ? bytes - at : 70000, first = both / 3;
		qs_cuda_piece piece[] = { { at + first, both - first, all + at + first },
								  { at, first, all + at } };

		CHECK(qf_cuda_get(into, piece, 2) == QB_OK);
	}
	for (uint64_t at = 0; at < bytes; at += 50008)
		CHECK(qf_cuda_put(copy, at, all + at, bytes - at < 50008 ? bytes - at : 50008) == QB_OK);
	CHECK(qf_cuda_get(copy, &(qs_cuda_piece){ 0, bytes, all }, 1) == QB_OK);
	if (cpu->encoding == QF_DENSE)
		expect(memcmp(all, cpu->bits, bytes) == 0, "bits brought there and back", &cpu->params);
	if (pinned)
		qs_cuda_host_free(gpu, all);
	else
		free(all);
	qf_free(&from);
	qf_cuda_destroy(other);
	qf_cuda_destroy(copy);
}

/* Make a filter on the device: empty, or loaded from the CPU's filter after rows were added. */
static qf_cuda_filter *
start(qs_cuda *gpu, qf_filter *cpu)
{
	qf_cuda_filter *there;
	uint64_t bytes;
	uint8_t *flat;
	qf_filter view, copy;
	qf_batch batch;
	rows before;

	if (draw(2) == 0)
	{
		CHECK(qf_cuda_create(gpu, &cpu->params, &there) == QB_OK);
		return there;
	}
	draw_rows(&before, &cpu->params, 1000);
	batch = batch_of(&before, 0, before.count);
	batch.copies = NULL;
	CHECK(qf_engine_cpu.insert(cpu, &batch) == QB_OK);
	free_rows(&before);
	cpu->keys.family = cpu->rows == 0 ? 0 : 20;
	flat = bytes_of(cpu, &bytes);
	CHECK(qf_open(&view, flat, bytes) == QB_OK);
	CHECK(qf_copy(&copy, &view, &test_memory) == QB_OK);
	CHECK(qf_cuda_load(gpu, draw(2) == 0 ? cpu : &copy, &there) == QB_OK);
	qf_free(&copy);
	free(flat);
	return there;
}

static void
try_case(qs_cuda *gpu)
{
	static const qs_cuda_bulk ways[] = { QS_BULK_AUTO, QS_BULK_NEVER, QS_BULK_ALWAYS };
	qf_params p;
	qf_filter cpu;
	qf_cuda_filter *there;
	rows first, second;

	state = qb_mix64(number);
	p = draw_params();
	qs_cuda_set_bulk(gpu, ways[draw(3)]);
	qf_init(&cpu, &p, &test_memory);
	there = start(gpu, &cpu);
	draw_rows(&first, &p, SIZE_MAX);
	draw_rows(&second, &p, SIZE_MAX);
	insert_both(there, &cpu, &first);
	compare("filters", there, &cpu);
	insert_both(there, &cpu, &second);
	compare("filters after more rows", there, &cpu);
	compare_lookups(there, &cpu, &second);
	compare_device_rows(gpu, &p, &first);
	if (cpu.rows < INT64_MAX / 4)
		compare_merge(gpu, there, &cpu, &first);
	CHECK(qf_cuda_reset(there) == QB_OK);
	qf_free(&cpu);
	qf_init(&cpu, &p, &test_memory);
	compare("emptied filters", there, &cpu);
	qf_cuda_destroy(there);
	qf_free(&cpu);
	free_rows(&first);
	free_rows(&second);
}

static void
try_large(qs_cuda *gpu, const qf_params *p, size_t count, int ids)
{
	rows r = { .nonce = 7, .first = 1, .count = count };
	qf_filter cpu;
	qf_cuda_filter *there;

	CHECK(qf_params_check(p) == QB_OK);
	number++;
	state = number;
	r.fingerprint = malloc(count * 8);
	r.row = ids ? malloc(count * 8) : NULL;
	CHECK(r.fingerprint && (!ids || r.row));
	make_keys(r.fingerprint, KEYS_ZIPF_11, number, 0, count);
	for (size_t i = 0; ids && i < count; i++)
		r.row[i] = i * 3;
	qf_init(&cpu, p, &test_memory);
	CHECK(qf_cuda_create(gpu, p, &there) == QB_OK);
	insert_both(there, &cpu, &r);
	compare("large filters", there, &cpu);
	compare_lookups(there, &cpu, &r);
	qf_cuda_destroy(there);
	qf_free(&cpu);
	free_rows(&r);
}

static void
large_cases(qs_cuda *gpu)
{
	static const qf_request asked[] = {
		{ .rows = 10000000, .frequency = 1000, .error = 0.1, .preset = QF_BALANCED },
		{ .rows = 1000000000, .frequency = 1000, .error = 0.1, .preset = QF_COMPACT },
		{ .rows = 20000000, .frequency = 50, .error = 0.2, .preset = QF_FAST },
	};
	qf_params p;

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
	{
		CHECK(qf_params_make(&p, &asked[i]) == QB_OK);
		try_large(gpu, &p, 20000000, i == 0);
	}
	for (int layout = QF_STANDARD; layout < QF_LAYOUTS; layout++)
	{
		CHECK(qf_params_make_bloom(&p, 10000000, 0.001, 3, layout) == QB_OK);
		try_large(gpu, &p, 12000000, 0);
	}
	p = (qf_params){ .m = QF_BITS_MAX, .k = 9 };
	try_large(gpu, &p, 20000000, 0);
	p = (qf_params){ .m = 1 << 20, .k = QF_HASHES_MAX, .q = -(UINT64_C(1) << 52) };
	try_large(gpu, &p, 200000, 1);
}

int
main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t cases = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
	qs_cuda_options options = { .staging_bytes = 1 << 16 };
	qs_cuda_error error;
	qs_cuda_stats stats;
	qs_cuda *gpu;
	uint64_t before;

	if (qs_cuda_device_count(&error) == 0)
	{
		fprintf(stderr, "no usable GPU: %s\n", error.name);
		return 2;
	}
	CHECK(qs_cuda_open(0, &options, &gpu, &error) == QB_OK);
	second = open_second(gpu);
	qs_cuda_get_stats(gpu, &stats);
	before = stats.device_bytes;
	for (number = first; number < first + cases; number++)
		try_case(gpu);
	qs_cuda_set_bulk(gpu, QS_BULK_AUTO);
	if (argc > 3)
		large_cases(gpu);
	qs_cuda_trim(gpu);
	qs_cuda_get_stats(gpu, &stats);
	printf("filters: %lu cases, %lu comparisons, %lu differences, %ld bytes left\n",
		   (unsigned long) cases, (unsigned long) comparisons, (unsigned long) differences,
		   (long) (stats.device_bytes - before));
	qs_cuda_close(second);
	qs_cuda_close(gpu);
	return differences == 0 && stats.device_bytes == before ? 0 : 1;
}
