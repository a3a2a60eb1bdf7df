/*
 * sets_memberships.c
 *		Compares collections made on the device from rows (set id, element) with the CPU's.
 *
 *	sets_memberships [first case [number of cases]]
 *	sets_memberships time [rows [sets [distinct elements]]]
 *
 * Rows are selected from two columns on the device, with NULLs and a condition, or added in
 * batches.  "time" prints how long the device takes to make a collection from rows in its
 * memory, and to count the pairs of the collection.
 *
 * test/gpu/sets_memberships.c
 */
#include "support.h"

#include "column_cuda.h"
#include "gpu_extra.h"
#include "sets/builder.h"
#include "sets_cuda.h"

#define ROWS      (1 << 19)
#define TILES_MAX (ROWS / 16)

/* ---- rows ---- */

/* How values are drawn: base + (number << shift), with "distinct" different signed numbers. */
typedef struct values
{
	uint64_t distinct;
	uint32_t shift;
	uint64_t base;
} values;

static values
draw_values(uint64_t *state, uint64_t most)
{
	values v = { .distinct = draw_below(state, 4) == 0 ? 1 + draw_below(state, 3)
													   : 1 + draw_below(state, most) };

	v.shift = (uint32_t) draw_below(state, 40);
	v.base = draw_below(state, 3) == 0 ? draw_below(state, UINT64_MAX) : 0;
	return v;
}

static int64_t
draw_value(uint64_t *state, const values *v)
{
	static const int64_t limit[] = { INT64_MIN, INT64_MAX, 0, -1 };

	if (draw_below(state, 10000) == 0)
		return limit[draw_below(state, 4)];
	return (int64_t) (v->base + ((draw_below(state, v->distinct) - v->distinct / 2) << v->shift));
}

static void
draw_rows(uint64_t *state, int64_t *id, int64_t *element, uint64_t rows)
{
	values ids = draw_values(state, draw_below(state, 2) ? 2000 : ROWS);
	values elements = draw_values(state, draw_below(state, 2) ? 300 : ROWS);

	for (uint64_t i = 0; i < rows; i++)
	{
		id[i] = draw_value(state, &ids);
		element[i] = draw_value(state, &elements);
	}
}

/* ---- the collection ---- */

static void
build_here(const int64_t *id, const int64_t *element, uint64_t rows, qset_collection *made)
{
	qset_builder builder;
	qb_keys keys = { 0 };

	qset_builder_init(&builder, false, &keys, &test_memory);
	CHECK(qset_builder_add(&builder, id, (const uint64_t *) element, NULL, rows) == QB_OK);
	CHECK(qset_builder_finish(&builder, made) == QB_OK);
	qset_builder_free(&builder);
}

/* True if an array of the device equals the CPU's array. */
static bool
same_array(const qset_cuda_memberships *m, qset_cuda_array array, const void *here, uint64_t count,
		   size_t bytes)
{
	uint8_t *there = malloc(count * bytes + 1);
	bool same;

	CHECK(there != NULL);
	CHECK(qset_cuda_rows.get(m, array, 0, count, there) == QB_OK);
	same = memcmp(there, here, count * bytes) == 0;
	free(there);
	return same;
}

/* Returns the number of pairs of sets with at least two common elements. */
static uint64_t
count_pairs(qs_cuda *gpu, qset_cuda_sets *sets)
{
	qset_cuda_request request = { .rows = sets, .method = QSET_AUTO };
	qset_cuda_pairs *pairs;
	uint64_t count;

	CHECK(qset_filter_init(&request.filter, 2, 0, 0) == QB_OK);
	CHECK(qset_cuda_pairs_open(gpu, &request, &pairs) == QB_OK);
	CHECK(qset_cuda_pairs_count(pairs, &count) == QB_OK);
	qset_cuda_pairs_close(pairs);
	return count;
}

/* True if the device finds equally many pairs in its collection and in the CPU's collection. */
static bool
same_pairs(qs_cuda *gpu, const qset_cuda_memberships *m, const qset_collection *here)
{
	qset_cuda_sets *made, *put;
	bool same;

	CHECK(qset_cuda_rows.make(m, &made) == QB_OK);
	CHECK(qset_cuda_sets_create(gpu, here->sets, here->elements, here->universe, &put) == QB_OK);
	CHECK(qset_cuda_sets_put_offsets(put, 0, here->offset, here->sets + 1) == QB_OK);
	CHECK(qset_cuda_sets_put_elements(put, 0, here->rank, here->elements) == QB_OK);
	same = count_pairs(gpu, made) == count_pairs(gpu, put);
	qset_cuda_sets_destroy(made);
	qset_cuda_sets_destroy(put);
	return same;
}

static void
compare(qs_cuda *gpu, uint64_t number, qset_cuda_memberships *m, const qset_collection *here)
{
	qset_cuda_sizes sizes;

	CHECK(qset_cuda_rows.sort(m, &sizes) == QB_OK);
	if (sizes.sets != here->sets || sizes.elements != here->elements ||
		sizes.universe != here->universe)
	{
		expect_case(number, false, "sizes");
		return;
	}
	expect_case(number, same_array(m, QSET_CUDA_IDS, here->id, sizes.sets, 8), "ids");
	expect_case(number, same_array(m, QSET_CUDA_OFFSETS, here->offset, sizes.sets + 1, 8),
				"offsets");
	expect_case(number, same_array(m, QSET_CUDA_RANKS, here->rank, sizes.elements, 4), "ranks");
	expect_case(number, same_array(m, QSET_CUDA_VALUES, here->low, sizes.universe, 8), "values");
	if (sizes.sets > 0 && sizes.sets <= 5000)
		expect_case(number, same_pairs(gpu, m, here), "numbers of pairs");
}

static qs_cuda *second;

/* Add the rows in batches, at random from host memory or from the memory of a device. */
static void
add_batches(qs_cuda *gpu, uint64_t *state, qset_cuda_memberships *m, const int64_t *id,
			const int64_t *element, uint64_t rows)
{
	uint64_t *ids = keys_to_device(gpu, id, rows);
	uint64_t *elements = keys_to_device(gpu, element, rows);
	uint64_t some;

	for (uint64_t at = 0; at < rows; at += some)
	{
		some = 1 + draw_below(state, 100000);
		some = some < rows - at ? some : rows - at;
		CHECK((draw_below(state, 2) == 0
				   ? qset_cuda_rows.add(m, id + at, (const uint64_t *) element + at, some)
				   : qset_cuda_rows.add_device(m, gpu, (const int64_t *) ids + at, elements + at,
											   some)) == QB_OK);
	}
	CHECK(qset_cuda_rows.rows(m) == rows);
	CHECK(qs_cuda_sync(gpu) == QB_OK);
	cudaFree(ids);
	cudaFree(elements);
}

static void
run_batches(qs_cuda *gpu, uint64_t number)
{
	static int64_t id[ROWS], element[ROWS];
	uint64_t state = number + 77;
	uint64_t rows = number % 10 == 0 ? draw_below(&state, 3) : 1 + draw_below(&state, ROWS);
	qset_cuda_memberships *m;
	qset_collection here;

	draw_rows(&state, id, element, rows);
	build_here(id, element, rows, &here);
	CHECK(qset_cuda_rows.create(gpu, &m) == QB_OK);
	add_batches(draw_below(&state, 2) ? gpu : second, &state, m, id, element, rows);
	expect_case(number, same_array(m, QSET_CUDA_ROW_IDS, id, rows, 8), "ids of rows");
	expect_case(number, same_array(m, QSET_CUDA_ROW_ELEMENTS, element, rows, 8),
				"elements of rows");
	compare(gpu, number, m, &here);
	qset_cuda_rows.destroy(m);
	qset_collection_free(&here);
}

/* ---- rows of two columns ---- */

static uint64_t null_of[3][ROWS / 64 + 1];

static bool
is_null(int column, uint64_t row)
{
	return null_of[column][row / 64] >> row % 64 & 1;
}

/* Make a column on the device in which none, a quarter or three quarters of the rows are NULL. */
static qs_cuda_copy *
draw_column(qs_cuda *gpu, uint64_t *state, int column, const int64_t *value, uint64_t rows)
{
	uint64_t words = rows / 64 + 1;
	uint64_t kind = draw_below(state, 3);
	qs_cuda_copy *copy;

	for (uint64_t i = 0; i < words; i++)
	{
		uint64_t first = draw_below(state, UINT64_MAX);
		uint64_t second = draw_below(state, UINT64_MAX);

		null_of[column][i] = kind == 0 ? 0 : kind == 1 ? first & second : first | second;
	}
	CHECK(qs_cuda_columns.create(gpu, &copy) == QB_OK);
	CHECK(qs_cuda_columns.resize(copy, rows, 0) == QB_OK);
	CHECK(qs_cuda_columns.put(copy, 0, (const uint64_t *) value, rows) == QB_OK);
	if (kind != 0)
		CHECK(qs_cuda_columns.put_nulls(copy, null_of[column], words) == QB_OK);
	return copy;
}

/* Draw tiles.  A tile begins at a random row in each column. */
static uint32_t
draw_tiles(uint64_t *state, qb_tile *tile, uint64_t rows)
{
	uint64_t length = 1 + draw_below(state, QB_TILE_ROWS);
	uint64_t at = 0;
	uint32_t tiles = 0;

	while (tiles < TILES_MAX && at + length <= rows)
	{
		tile[tiles].rows = 1 + (uint32_t) draw_below(state, length);
		for (int c = 0; c < 3; c++)
			tile[tiles].first[c] = (uint32_t) draw_below(state, rows - tile[tiles].rows + 1);
		at += tile[tiles++].rows + draw_below(state, 100);
	}
	return tiles;
}

/* Select the rows that pass, on the CPU. */
static uint64_t
select_here(const qs_cuda_copy_rows *wanted, int64_t *const column[3], int64_t *id,
			int64_t *element)
{
	const qb_test *range = &wanted->tests->test[1];
	const qb_tile *tile = wanted->tile;
	uint64_t count = 0;

	for (uint32_t t = 0; t < wanted->tiles; t++)
		for (uint32_t i = 0; i < tile[t].rows; i++)
		{
			uint64_t row[3];

			for (int c = 0; c < 3; c++)
				row[c] = tile[t].first[c] + i;
			if (is_null(0, row[0]) || is_null(1, row[1]) || is_null(2, row[2]) ||
				column[2][row[2]] < range->low || column[2][row[2]] > range->high)
				continue;
			element[count] = column[0][row[0]];
			id[count++] = column[1][row[1]];
		}
	return count;
}

/* Columns on the device and on the CPU: elements, ids, and values that a condition tests. */
typedef struct columns
{
	int64_t *value[3];
	qs_cuda_copy *there[3];
	uint64_t rows;
	qb_selection tests;
	qs_cuda_copy_rows wanted;
	qb_tile tile[TILES_MAX];
} columns;

static void
make_columns(qs_cuda *gpu, uint64_t *state, columns *c)
{
	static int64_t value[3][ROWS];

	c->rows = QB_TILE_ROWS + draw_below(state, ROWS - QB_TILE_ROWS);
	for (int i = 0; i < 3; i++)
		c->value[i] = value[i];
	draw_rows(state, value[1], value[0], c->rows);
	draw_rows(state, value[2], value[2], c->rows);
	c->wanted = (qs_cuda_copy_rows){ .tests = &c->tests, .tile = c->tile };
	for (int i = 0; i < 3; i++)
		c->there[i] = draw_column(gpu, state, i, value[i], c->rows);
	c->wanted.keys = c->there[0];
	c->wanted.tested[0] = c->there[1];
	c->wanted.tested[1] = c->there[2];
	c->wanted.tiles = draw_tiles(state, c->tile, c->rows);
	for (uint32_t t = 0; t < c->wanted.tiles; t++)
		c->wanted.rows += c->tile[t].rows;
	c->tests = (qb_selection){ .columns = 2, .tests = 2 };
	c->tests.test[0] = (qb_test){ .column = 0, .kind = QB_TEST_NULL, .negated = 1 };
	c->tests.test[1] = (qb_test){ .column = 1,
								  .kind = QB_TEST_RANGE,
								  .low = draw_below(state, 2) ? INT64_MIN : -10,
								  .high = draw_below(state, 2) ? INT64_MAX : 100 };
}

static void
free_columns(const columns *c)
{
	for (int i = 0; i < 3; i++)
		qs_cuda_columns.destroy(c->there[i]);
}

/* Select rows from the device's columns as rows of a collection.  Returns the number of rows. */
static uint64_t
select_there(qs_cuda *gpu, const columns *c, qset_cuda_memberships *m)
{
	const uint64_t *element, *id;
	uint64_t count;

	CHECK(qs_cuda_columns.pairs(&c->wanted, 0, &element, &id, &count) == QB_OK);
	CHECK(qset_cuda_rows.add_device(m, gpu, (const int64_t *) id, element, count) == QB_OK);
	CHECK(qs_cuda_sync(gpu) == QB_OK);
	return count;
}

static void
run_columns(qs_cuda *gpu, uint64_t number)
{
	static int64_t id[ROWS], element[ROWS];
	static columns c;
	uint64_t state = ~number;
	qset_cuda_memberships *m;
	qset_collection here;
	uint64_t count;

	make_columns(gpu, &state, &c);
	CHECK(qset_cuda_rows.create(gpu, &m) == QB_OK);
	count = select_here(&c.wanted, c.value, id, element);
	expect_case(number, select_there(gpu, &c, m) == count, "numbers of rows of columns");
	build_here(id, element, count, &here);
	compare(gpu, number, m, &here);
	qset_cuda_rows.destroy(m);
	qset_collection_free(&here);
	free_columns(&c);
}

/* ---- time ---- */

static void
time_one(qs_cuda *gpu, const int64_t *id, const uint64_t *element, uint64_t rows)
{
	double begin = seconds(), added, sorted, made, found;
	qset_cuda_memberships *m;
	qset_cuda_sizes sizes;
	qset_cuda_sets *sets;
	uint64_t pairs;

	CHECK(qset_cuda_rows.create(gpu, &m) == QB_OK);
	CHECK(qset_cuda_rows.add_device(m, gpu, id, element, rows) == QB_OK);
	CHECK(qs_cuda_sync(gpu) == QB_OK);
	added = seconds();
	CHECK(qset_cuda_rows.sort(m, &sizes) == QB_OK);
	CHECK(qs_cuda_sync(gpu) == QB_OK);
	sorted = seconds();
	CHECK(qset_cuda_rows.make(m, &sets) == QB_OK);
	CHECK(qset_cuda_sets_index(sets) == QB_OK);
	CHECK(qs_cuda_sync(gpu) == QB_OK);
	made = seconds();
	pairs = count_pairs(gpu, sets);
	found = seconds();
	printf("%llu rows, %llu sets, %llu elements, %llu pairs: added %.2f ms, sorted %.2f ms, "
		   "indexed %.2f ms, pairs counted %.2f ms\n",
		   (unsigned long long) rows, (unsigned long long) sizes.sets,
		   (unsigned long long) sizes.elements, (unsigned long long) pairs, (added - begin) * 1e3,
		   (sorted - added) * 1e3, (made - sorted) * 1e3, (found - made) * 1e3);
	qset_cuda_sets_destroy(sets);
	qset_cuda_rows.destroy(m);
}

static void
time_all(qs_cuda *gpu, uint64_t rows, uint64_t sets, uint64_t distinct)
{
	int64_t *id = malloc(rows * sizeof(*id));
	int64_t *element = malloc(rows * sizeof(*element));
	uint64_t state = 1;
	uint64_t *ids, *elements;

	CHECK(id && element);
	for (uint64_t i = 0; i < rows; i++)
	{
		double u = (double) draw_below(&state, UINT64_C(1) << 53) / 9007199254740992.0;

		id[i] = (int64_t) draw_below(&state, sets);
		element[i] = (int64_t) (u * u * u * (double) distinct);
	}
	ids = keys_to_device(gpu, id, rows);
	elements = keys_to_device(gpu, element, rows);
	for (int round = 0; round < 5; round++)
		time_one(gpu, (const int64_t *) ids, elements, rows);
	cudaFree(ids);
	cudaFree(elements);
	free(id);
	free(element);
}

int
main(int argc, char **argv)
{
	case_run run = begin_cases(argc, argv, 100);

	second = open_second(run.gpu);
	if (run.timed)
		time_all(run.gpu, case_argument(&run, 2, 8500000), case_argument(&run, 3, 10000),
				 case_argument(&run, 4, 100000));
	for (uint64_t i = run.first; i < run.end; i++)
	{
		run_batches(run.gpu, i);
		run_columns(run.gpu, i);
	}
	qs_cuda_close(second);
	return end_cases(&run, "sets_memberships");
}
