/*
 * column.c
 *		Compares copying, gathering, selecting and counting of keys on the device with the CPU.
 *
 *	column [first case [number of cases]]
 *
 * test/gpu/column.c
 */
#include "support.h"

#include "column_cuda.h"
#include "gpu_extra.h"

#define KEYS     (1 << 20)
#define RUNS_MAX 4096

static const qs_column_ops *const ops = &qs_cuda_columns;

/* Draw runs in the order of keys, with gaps.  Some runs have more keys than a page. */
static uint32_t
draw_runs(uint64_t *state, qs_cuda_run *run, uint64_t keys, uint64_t *gathered)
{
	uint64_t gap = 1 + draw_below(state, 4000);
	uint64_t length = 1 + draw_below(state, 2000);
	uint64_t at = draw_below(state, gap);
	uint32_t runs = 0;

	*gathered = 0;
	while (runs < RUNS_MAX && at < keys)
	{
		uint64_t count = 1 + draw_below(state, length);

		count = count < keys - at ? count : keys - at;
		run[runs++] = (qs_cuda_run){ .first = at, .count = count, .to = *gathered };
		*gathered += count;
		at += count + 1 + draw_below(state, gap);
	}
	return runs;
}

/* True if a sketch made on the device from keys in device memory equals the CPU's sketch. */
static bool
same_counts(qs_cuda *gpu, const uint64_t *device, const uint64_t *host, uint64_t count)
{
	qs_params params = { .structure = QS_MULTILEVEL, .depth = 3, .seed = 7, .log2_masks = 10 };
	qs_cuda_sketch *sk;
	qs_sketch cpu, fetched;
	bool same;

	params.n = (1 << 20) / qs_block_bytes(&params);
	dense_init(&cpu, &params);
	CHECK(qs_engine_cpu.insert(&cpu, host, NULL, count) == QB_OK);
	CHECK(qs_cuda_create(gpu, &params, &sk) == QB_OK);
	CHECK(qs_cuda_insert_device(sk, device, count) == QB_OK);
	CHECK(qs_cuda_fetch(sk, &fetched, &test_memory) == QB_OK);
	same = same_bytes(&cpu, &fetched);
	qs_cuda_destroy(sk);
	qs_free(&cpu);
	qs_free(&fetched);
	return same;
}

static int
compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return x < y ? -1 : x > y;
}

/* Returns how often the key occurs in the sorted array. */
static int64_t
times_of(const uint64_t *sorted, uint64_t count, uint64_t key)
{
	uint64_t low = 0, high = count, first;

	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (sorted[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	first = low;
	while (low < count && sorted[low] == key)
		low++;
	return (int64_t) (low - first);
}

/*
 * Draw keys with at most "values" distinct values.  True if the device and the CPU count the
 * distinct keys equally.
 */
static bool
same_distinct(qs_cuda *gpu, uint64_t *device, uint64_t number, uint64_t keys, uint64_t values)
{
	static uint64_t key[KEYS], distinct[QS_CUDA_COUNTS_MAX];
	static int64_t times[QS_CUDA_COUNTS_MAX];
	uint32_t most = 1 + (uint32_t) (number * 977 % QS_CUDA_COUNTS_MAX);
	uint64_t state = number, here = 0;
	qs_cuda_counts counts = { .most = most, .distinct = distinct, .times = times };
	uint32_t found;
	bool same = true;

	for (uint64_t i = 0; i < keys; i++)
		key[i] = draw_below(&state, values) - 1; /* can be ~0, the largest key */
	keys_put(gpu, device, key, keys);
	CHECK(ops->counts(gpu, device, keys, &counts) == QB_OK);
	found = counts.found;
	qsort(key, keys, sizeof(*key), compare_keys);
	for (uint64_t i = 0; i < keys; i++)
		here += i == 0 || key[i] != key[i - 1];
	if (found > most)
		same = here > most;
	else
		for (uint32_t i = 0; i < found && same; i++)
			same = times[i] == times_of(key, keys, distinct[i]);
	if (found <= most)
	{
		qsort(distinct, found, sizeof(*distinct), compare_keys);
		same = same && here == found;
		for (uint32_t i = 1; i < found && same; i++)
			same = distinct[i] != distinct[i - 1];
	}
	return same;
}

/* True if the device and the CPU agree on which groups have many distinct keys. */
static bool
same_many(qs_cuda *gpu, uint64_t *device, uint64_t number, uint64_t keys)
{
	static uint64_t key[KEYS], count[QB_GROUPS_MAX];
	static bool many[QB_GROUPS_MAX];
	uint64_t state = number + 5, at = 0;
	uint32_t most =
		(uint32_t) draw_below(&state, draw_below(&state, 2) ? 30 : QS_CUDA_COUNTS_MAX + 1);
	uint32_t groups = 1 + (uint32_t) draw_below(&state, number % 4 ? 40 : QB_GROUPS_MAX);
	bool same = true;

	for (uint32_t g = 0; g < groups; g++)
	{
		uint64_t values = 1 + draw_below(&state, draw_below(&state, 2) ? 3 : 2 * most + 2);

		count[g] = draw_below(&state, 4) ? draw_below(&state, keys / groups + 1) : 0;
		for (uint64_t i = at; i < at + count[g]; i++)
			key[i] = draw_below(&state, values) - 1; /* can be ~0, the largest key */
		at += count[g];
	}
	keys_put(gpu, device, key, at);
	CHECK(ops->many(gpu, device, count, groups, most, many) == QB_OK);
	at = 0;
	for (uint32_t g = 0; g < groups && same; g++)
	{
		uint64_t distinct = 0;

		qsort(key + at, count[g], sizeof(*key), compare_keys);
		for (uint64_t i = at; i < at + count[g]; i++)
			distinct += i == at || key[i] != key[i - 1];
		same = many[g] == (distinct > most);
		at += count[g];
	}
	return same;
}

/* A column with few distinct values and some NULLs, on the device and on the CPU. */
typedef struct Column
{
	uint64_t *value;
	uint64_t *null; /* bitmap of NULLs, or NULL if there are none */
	uint64_t words;
	qs_cuda_copy *there;
} Column;

/* Copy an array of values to the device, as a chunk. */
static qs_cuda_copy *
copy_of(qs_cuda *gpu, const uint64_t *value, uint64_t count)
{
	qs_cuda_copy *copy;

	CHECK(ops->create(gpu, &copy) == QB_OK);
	CHECK(ops->resize(copy, count, 0) == QB_OK);
	CHECK(ops->put(copy, 0, value, count) == QB_OK);
	return copy;
}

static void
make_column(qs_cuda *gpu, Column *column, uint64_t *state, uint64_t rows)
{
	static const int64_t limit[] = { INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX };
	*column = (Column){ .value = malloc(rows * sizeof(uint64_t)), .words = (rows + 63) / 64 };
	CHECK(column->value != NULL);
	for (uint64_t i = 0; i < rows; i++)
		column->value[i] = draw_below(state, 20) ? draw_below(state, 40) - 20
												 : (uint64_t) limit[draw_below(state, 4)];
	column->there = copy_of(gpu, column->value, rows);
	if (draw_below(state, 2))
		return;
	column->null = malloc(column->words * sizeof(uint64_t));
	CHECK(column->null != NULL);
	for (uint64_t i = 0; i < column->words; i++)
	{
		uint64_t half = draw_below(state, UINT64_MAX);

		column->null[i] = half & draw_below(state, UINT64_MAX);
	}
	CHECK(ops->put_nulls(column->there, column->null, column->words) == QB_OK);
}

static void
free_column(Column *column)
{
	ops->destroy(column->there);
	free(column->value);
	free(column->null);
}

static bool
is_null(const Column *column, uint64_t row)
{
	return column->null && column->null[row / 64] >> row % 64 & 1;
}

static void
draw_tests(uint64_t *state, qb_selection *tests, uint32_t columns)
{
	tests->columns = columns;
	tests->tests = columns > 0 ? (uint32_t) draw_below(state, QB_SELECTION_TESTS / 4) : 0;
	for (int i = 0; i < QB_SELECTION_NUMBERS; i++)
		tests->number[i] = 3 * i - 21; /* ascending */
	for (uint32_t i = 0; i < tests->tests; i++)
		tests->test[i] = (qb_test){ .column = (uint16_t) draw_below(state, columns),
									.kind = (uint8_t) draw_below(state, QB_TEST_NULL + 1),
									.negated = (uint8_t) draw_below(state, 2),
									.first = (uint16_t) draw_below(state, 20),
									.count = (uint16_t) draw_below(state, 12),
									.low = (int64_t) draw_below(state, 30) - 25,
									.high = (int64_t) draw_below(state, 30) + 5 };
}

/* Draw tiles.  A tile begins at a random row in each column. */
static uint32_t
draw_tiles(uint64_t *state, qb_tile *tile, uint32_t columns, uint64_t rows)
{
	uint64_t gap = 1 + draw_below(state, 1000), length = 1 + draw_below(state, QB_TILE_ROWS);
	uint64_t at = 0;
	uint32_t tiles = 0;

	while (tiles < RUNS_MAX && at + length <= rows)
	{
		tile[tiles].rows = 1 + (uint32_t) draw_below(state, length);
		for (uint32_t c = 0; c <= columns; c++)
			tile[tiles].first[c] = (uint32_t) draw_below(state, rows - tile[tiles].rows + 1);
		at += tile[tiles++].rows + draw_below(state, gap);
	}
	return tiles;
}

/* Rows of up to 7 tested columns, on the device and on the CPU. */
typedef struct Rows
{
	Column column[1 + QB_SELECTION_COLUMNS];
	uint32_t columns; /* columns that are tested */
	uint64_t rows;    /* rows of a column */
	qb_selection tests;
	qb_tile tile[RUNS_MAX];
	qs_cuda_copy_rows there;
} Rows;

/* Draw a range of rows.  The device gets no list of tiles, and the CPU gets the range's tiles. */
static void
draw_alike(uint64_t *state, Rows *rows)
{
	qs_cuda_copy_rows *there = &rows->there;

	there->tile = NULL;
	there->first = (uint32_t) draw_below(state, rows->rows);
	there->rows = 1 + draw_below(state, rows->rows - there->first);
	if (there->rows > (uint64_t) RUNS_MAX * QB_TILE_ROWS)
		there->rows = (uint64_t) RUNS_MAX * QB_TILE_ROWS;
	there->tiles = (uint32_t) ((there->rows + QB_TILE_ROWS - 1) / QB_TILE_ROWS);
	for (uint32_t t = 0; t < there->tiles; t++)
		rows->tile[t] = qs_cuda_tile(there, t);
}

/* Make a chunk of at most "most" rows.  The caller has drawn rows->tests. */
static void
make_rows(qs_cuda *gpu, Rows *rows, uint64_t *state, uint32_t columns, uint64_t most)
{
	rows->rows = QB_TILE_ROWS + draw_below(state, most - QB_TILE_ROWS);
	rows->columns = columns;
	if (draw_below(state, 2))
		draw_alike(state, rows);
	else
	{
		rows->there.tile = rows->tile;
		rows->there.tiles = draw_tiles(state, rows->tile, columns, rows->rows);
	}
	for (uint32_t t = 0; rows->there.tile && t < rows->there.tiles; t++)
		rows->there.rows += rows->tile[t].rows;
	for (uint32_t c = 0; c <= columns; c++)
		make_column(gpu, &rows->column[c], state, rows->rows);
	rows->there.keys = rows->column[0].there;
	for (uint32_t c = 0; c < columns; c++)
		rows->there.tested[c] = rows->column[1 + c].there;
}

/* Rows of one or several chunks, with the same tests. */
typedef struct Chunks
{
	Rows chunk[QS_CUDA_CHUNKS_MAX];
	qs_cuda_copy_rows there[QS_CUDA_CHUNKS_MAX];
	uint32_t count;
} Chunks;

static void
make_chunks(qs_cuda *gpu, Chunks *chunks, uint64_t *state, uint32_t columns)
{
	bool no_keys = draw_below(state, 2) == 1;
	qb_selection tests;

	chunks->count = 1 + (uint32_t) (draw_below(state, 2) * draw_below(state, QS_CUDA_CHUNKS_MAX));
	draw_tests(state, &tests, columns);
	for (uint32_t i = 0; i < chunks->count; i++)
	{
		Rows *rows = &chunks->chunk[i];

		rows->tests = tests;
		rows->there = (qs_cuda_copy_rows){ .no_keys = no_keys, .tests = &rows->tests };
		make_rows(gpu, rows, state, columns, KEYS / chunks->count);
		chunks->there[i] = rows->there;
	}
}

static void
free_chunks(Chunks *chunks)
{
	for (uint32_t i = 0; i < chunks->count; i++)
		for (uint32_t c = 0; c <= chunks->chunk[i].columns; c++)
			free_column(&chunks->chunk[i].column[c]);
}

/* True if the i-th row of a tile passes the tests.  A key that is needed must not be NULL. */
static bool
passes(const Rows *rows, const qb_tile *tile, uint32_t i)
{
	const qb_selection *tests = &rows->tests;
	bool pass = rows->there.no_keys || !is_null(&rows->column[0], tile->first[0] + i);

	for (uint32_t n = 0; n < tests->tests && pass; n++)
	{
		const qb_test *test = &tests->test[n];
		const Column *c = &rows->column[1 + test->column];
		uint64_t row = tile->first[1 + test->column] + i;

		pass = qb_test_passes(test, tests->number, is_null(c, row), (int64_t) c->value[row]);
	}
	return pass;
}

/* True if the i-th row of a tile belongs to the group, or if "groups" is NULL. */
static bool
is_of_group(const Rows *rows, const qb_groups *groups, uint32_t group, const qb_tile *tile,
			uint32_t i)
{
	const Column *c;
	uint64_t row;

	if (groups == NULL)
		return true;
	c = &rows->column[1 + groups->column];
	row = tile->first[1 + groups->column] + i;
	return qb_group_of(groups->number, groups->count, groups->null, is_null(c, row),
					   (int64_t) c->value[row]) == group;
}

/*
 * Select, on the CPU, the keys of passing rows that belong to the group.  If "groups" is NULL,
 * select the keys of all passing rows.
 */
static uint64_t
select_here(const Chunks *chunks, const qb_groups *groups, uint32_t group, uint64_t *key)
{
	uint64_t count = 0;

	for (uint32_t c = 0; c < chunks->count; c++)
	{
		const Rows *rows = &chunks->chunk[c];

		for (uint32_t t = 0; t < rows->there.tiles; t++)
			for (uint32_t i = 0; i < rows->tile[t].rows; i++)
			{
				const qb_tile *tile = &rows->tile[t];

				if (is_of_group(rows, groups, group, tile, i) && passes(rows, tile, i))
					key[count++] =
						rows->there.no_keys ? 0 : rows->column[0].value[tile->first[0] + i];
			}
	}
	return count;
}

static bool
same_keys(uint64_t *got, uint64_t there, uint64_t *wanted, uint64_t here)
{
	qsort(got, there, sizeof(*got), compare_keys);
	qsort(wanted, here, sizeof(*wanted), compare_keys);
	return here == there && memcmp(got, wanted, here * sizeof(*got)) == 0;
}

/* True if the device and the CPU select the same keys. */
static bool
same_selected(qs_cuda *gpu, uint64_t number)
{
	static uint64_t got[KEYS], wanted[KEYS];
	static Chunks chunks;
	uint64_t state = ~number, there;
	const uint64_t *key;
	bool same;

	make_chunks(gpu, &chunks, &state, (uint32_t) draw_below(&state, QB_SELECTION_COLUMNS + 1));
	CHECK(ops->select(chunks.there, chunks.count, &key, &there) == QB_OK);
	keys_get(gpu, got, key, there);
	same = same_keys(got, there, wanted, select_here(&chunks, NULL, 0, wanted));
	free_chunks(&chunks);
	return same;
}

/* True if the device and the CPU select the same keys of each group. */
static bool
same_split(qs_cuda *gpu, uint64_t number)
{
	static uint64_t got[KEYS], wanted[KEYS], count[QB_GROUPS_MAX];
	static Chunks chunks;
	uint64_t state = ~number * 3, from = 0;
	const uint64_t *key;
	qb_groups groups;
	bool same = true;

	make_chunks(gpu, &chunks, &state, 1 + (uint32_t) draw_below(&state, QB_SELECTION_COLUMNS));
	groups = (qb_groups){ .column = (uint32_t) draw_below(&state, chunks.chunk[0].columns),
						  .null = (uint32_t) draw_below(&state, 2) };
	groups.count = groups.null + (uint32_t) draw_below(&state, number % 10 ? 45 : QB_GROUPS_MAX);
	for (uint32_t g = 0; g < groups.count; g++)
		groups.number[g] = (int64_t) g - 22;
	CHECK(ops->split(chunks.there, chunks.count, &groups, &key, count) == QB_OK);
	for (uint32_t g = 0; g < groups.count && same; g++)
	{
		keys_get(gpu, got, key + from, count[g]);
		same = same_keys(got, count[g], wanted, select_here(&chunks, &groups, g, wanted));
		from += count[g];
	}
	free_chunks(&chunks);
	return same;
}

static void
run_case(qs_cuda *gpu, uint64_t number)
{
	static uint64_t key[KEYS], got[KEYS], wanted[KEYS];
	static qs_cuda_run run[RUNS_MAX];
	uint64_t state = number;
	uint64_t keys = 1 + draw_below(&state, KEYS);
	uint64_t half = draw_below(&state, keys);
	uint64_t gathered;
	const uint64_t *side;
	uint64_t *all;
	qs_cuda_copy *copy;
	uint32_t runs = draw_runs(&state, run, keys, &gathered);

	make_keys(key, number % KEYS_KINDS, number, 0, keys);
	all = keys_to_device(gpu, key, keys);
	copy = copy_of(gpu, key, half);
	CHECK(ops->resize(copy, keys, half) == QB_OK);
	CHECK(ops->put(copy, half, key + half, keys - half) == QB_OK);
	CHECK(ops->gather(copy, &(qs_cuda_run){ .count = keys }, 1, &side) == QB_OK);
	keys_get(gpu, got, side, keys);
	expect_case(number, memcmp(got, key, keys * sizeof(*key)) == 0, "keys differ");
	for (uint32_t i = 0; i < runs; i++)
		memcpy(wanted + run[i].to, key + run[i].first, run[i].count * sizeof(*key));
	CHECK(ops->gather(copy, run, runs, &side) == QB_OK);
	expect_case(number, same_counts(gpu, side, wanted, gathered), "counts of gathered keys differ");
	keys_get(gpu, got, side, gathered);
	expect_case(number, memcmp(got, wanted, gathered * sizeof(*key)) == 0, "gathered keys differ");
	expect_case(number, same_counts(gpu, all, key, keys), "counts of all keys differ");
	expect_case(number, same_distinct(gpu, all, number, keys, 1 + draw_below(&state, 40)),
				"few distinct keys");
	expect_case(
		number,
		same_distinct(gpu, all, number, keys, 1 + draw_below(&state, 2 * QS_CUDA_COUNTS_MAX)),
		"distinct keys");
	expect_case(number, same_many(gpu, all, number, keys), "groups with many keys");
	expect_case(number, same_selected(gpu, number), "selected keys");
	if (number % 4 == 0)
		expect_case(number, same_split(gpu, number), "keys by group");
	ops->destroy(copy);
	cudaFree(all);
}

int
main(int argc, char **argv)
{
	case_run run = begin_cases(argc, argv, 100);

	for (uint64_t i = run.first; i < run.end; i++)
		run_case(run.gpu, i);
	return end_cases(&run, "column");
}
