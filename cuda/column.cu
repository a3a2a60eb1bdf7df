/*
 * column.cu
 *		Writes cached columns to device memory, and gathers their keys.
 *
 * Keys are gathered into one buffer per device, which is freed with the device's last chunk.
 * Kernels that read the buffer and kernels that refill it run in stream order.
 *
 * SQL: queries on cached columns.  gather_kernel runs if pages have changed, so that only some rows
 * of a chunk are read.  select_keys serves WHERE, FILTER, NULLs, sketches that gain from large
 * batches, and (as pairs) qsets_agg().  count_groups and split_keys serve GROUP BY.
 *
 * cuda/column.cu
 */
#include "column_cuda.h"
#include "device.cuh"

#include <new>

struct qs_cuda_copy
{
	qs_cuda *gpu;
	qs_buffer key;
	qs_buffer null; /* bitmap of NULLs; empty: no value is NULL */
};

/* ---- chunks ---- */

static qb_status
put_words(qs_cuda *gpu, uint64_t *to, const uint64_t *from, uint64_t count)
{
	QS_TRY(qs_cuda_enter(gpu));
	return qs_copy_now(gpu, to, from, count * sizeof(uint64_t), cudaMemcpyHostToDevice);
}

static void
free_buffers(qs_cuda *gpu)
{
	qs_free_room(gpu, &gpu->gathered);
	qs_free_room(gpu, &gpu->tiles);
	qs_free_room(gpu, &gpu->table);
}

static qb_status
create(qs_cuda *gpu, qs_cuda_copy **copy)
{
	*copy = new (std::nothrow) qs_cuda_copy();
	if (!*copy)
		return QB_NO_MEMORY;
	(*copy)->gpu = gpu;
	gpu->cached_chunks++;
	return QB_OK;
}

static void
destroy(qs_cuda_copy *c)
{
	cudaSetDevice(c->gpu->device); /* qs_cuda_enter() would clear the error of an earlier call */
	qs_free_room(c->gpu, &c->key);
	qs_free_room(c->gpu, &c->null);
	if (--c->gpu->cached_chunks == 0)
		free_buffers(c->gpu);
	delete c;
}

static qb_status
resize(qs_cuda_copy *c, uint64_t room, uint64_t kept)
{
	qs_cuda *gpu = c->gpu;
	qs_buffer key = {};
	qb_status status;

	QS_TRY(qs_cuda_enter(gpu));
	status = qs_have_room(gpu, &key, room);
	if (status == QB_NO_MEMORY)
	{
		free_buffers(gpu); /* no running query uses the buffers */
		status = qs_have_room(gpu, &key, room);
	}
	if (status == QB_OK)
		status =
			qs_copy(gpu, key.word, c->key.word, kept * sizeof(uint64_t), cudaMemcpyDeviceToDevice);
	qs_free_room(gpu, status == QB_OK ? &c->key : &key);
	if (status == QB_OK)
		c->key = key;
	return status;
}

static qb_status
put(qs_cuda_copy *c, uint64_t first, const uint64_t *key, size_t count)
{
	return put_words(c->gpu, c->key.word + first, key, count);
}

static qb_status
put_nulls(qs_cuda_copy *c, const uint64_t *nulls, uint64_t words)
{
	QS_TRY(qs_cuda_enter(c->gpu));
	QS_TRY(qs_have_room(c->gpu, &c->null, words));
	return put_words(c->gpu, c->null.word, nulls, words);
}

static uint64_t
bytes(const qs_cuda_copy *c)
{
	return (c->key.room + c->null.room) * sizeof(uint64_t);
}

/* ---- gathering runs ---- */

/* Copy the values of runs.  Each block copies every gridDim.x-th run. */
static __global__ void
gather_kernel(uint64_t *to, const uint64_t *from, const qs_cuda_run *run, uint32_t runs)
{
	for (uint32_t r = blockIdx.x; r < runs; r += gridDim.x)
		for (uint64_t i = threadIdx.x; i < run[r].count; i += blockDim.x)
			to[run[r].to + i] = from[run[r].first + i];
}

static qb_status
gather(qs_cuda_copy *c, qs_cuda_run *run, uint32_t runs, const uint64_t **key)
{
	qs_cuda *gpu = c->gpu;
	uint64_t count = 0;

	*key = c->key.word + run[0].first;
	if (runs == 1)
		return QB_OK;
	for (uint32_t i = 0; i < runs; i++)
	{
		run[i].to = count;
		count += run[i].count;
	}
	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(qs_have_room(gpu, &gpu->gathered, count));
	QS_TRY(qs_have_room(gpu, &gpu->tiles, runs * sizeof(*run) / sizeof(uint64_t)));
	QS_TRY(qs_copy(gpu, gpu->tiles.word, run, runs * sizeof(*run), cudaMemcpyHostToDevice));
	*key = gpu->gathered.word;
	return qs_launch_blocks(gpu, gather_kernel, { runs, QS_BLOCK, 0 }, gpu->gathered.word,
							c->key.word, (const qs_cuda_run *) gpu->tiles.word, runs);
}

/*
 * ---- testing the rows of a tile ----
 *
 * A launch tests rows of one chunk or of several chunks.  A block tests one tile at a time; the
 * rows of a tile are neighbours in every column.  Without a list of tiles, a row has the same index
 * in all columns.  A thread tests ROWS_EACH rows of a tile, with a bit for each row that has passed
 * all tests so far.  It loads all values of a test before it tests the first value, so that many
 * loads are in flight.  Neighbouring threads test neighbouring rows, so loads are coalesced.
 */

/* Number of rows of a thread.  Row i of a thread is row threadIdx.x + i * QS_BLOCK of the tile. */
#define ROWS_EACH (QB_TILE_ROWS / QS_BLOCK)

/* The values of a column. */
struct column_values
{
	const uint64_t *value;
	const uint64_t *null; /* a bit for each row; NULL: no row is NULL */
};

/* The rows of a chunk, for kernels. */
struct chunk_rows
{
	uint32_t end;   /* number of tiles of this chunk and of all chunks before it */
	uint32_t first; /* the first row in all columns, if there is no list of tiles */
	uint32_t all;
	const qb_tile *tile; /* list of tiles, or NULL */
	column_values key;
	column_values tested[QB_SELECTION_COLUMNS];
};

/* The rows that a launch tests. */
struct wanted_rows
{
	qb_selection tests;
	bool no_keys; /* only count rows: every key is 0, even if it is NULL */
	uint32_t tiles;
	chunk_rows chunk[QS_CUDA_CHUNKS_MAX];
};

static_assert(sizeof(wanted_rows) <= 4000, "parameters of a kernel");

/* A tile, by its number within its chunk. */
struct tile_of_chunk
{
	const chunk_rows *chunk;
	uint32_t number;
};

/* Find a tile by its number among the tiles of all chunks. */
__device__ __forceinline__ tile_of_chunk
find_tile(const wanted_rows &rows, uint32_t number)
{
	const chunk_rows *chunk = rows.chunk;
	uint32_t before = 0;

	while (number >= chunk->end)
		before = (chunk++)->end;
	return { chunk, number - before };
}

__device__ __forceinline__ bool
is_null(const column_values &column, uint32_t row)
{
	return column.null && (__ldg(&column.null[row / 64]) >> row % 64 & 1);
}

/*
 * Return the first row of a tile in a column: column 0 has the keys, column 1 + i is tested column
 * i.
 */
__device__ __forceinline__ uint32_t
first_row(const tile_of_chunk &tile, uint32_t column)
{
	const chunk_rows &c = *tile.chunk;

	return c.tile ? c.tile[tile.number].first[column] : c.first + tile.number * QB_TILE_ROWS;
}

__device__ __forceinline__ uint32_t
rows_in(const tile_of_chunk &tile)
{
	const chunk_rows &c = *tile.chunk;

	return c.tile ? c.tile[tile.number].rows
				  : min((uint32_t) QB_TILE_ROWS, c.all - tile.number * QB_TILE_ROWS);
}

/* Return the bits of "passed" whose rows also pass this test. */
__device__ __forceinline__ uint32_t
test_rows(const qb_test *test, const wanted_rows &rows, const tile_of_chunk &tile, uint32_t passed)
{
	const column_values &column = tile.chunk->tested[test->column];
	uint32_t first = first_row(tile, 1 + test->column) + threadIdx.x;
	int64_t number[ROWS_EACH];

#pragma unroll
	for (int j = 0; j < ROWS_EACH; j++)
		number[j] = passed >> j & 1 ? (int64_t) __ldcs(&column.value[first + j * QS_BLOCK]) : 0;
#pragma unroll
	for (int j = 0; j < ROWS_EACH; j++)
		if (passed >> j & 1 && !qb_test_passes(test, rows.tests.number,
											   is_null(column, first + j * QS_BLOCK), number[j]))
			passed &= ~(1u << j);
	return passed;
}

/*
 * Return a bit for each of the thread's rows: set if the row exists, its key is not NULL (or
 * "no_keys" is set), and the row passes all tests.
 */
__device__ __forceinline__ uint32_t
rows_that_pass(const wanted_rows &rows, const tile_of_chunk &tile)
{
	uint32_t first = first_row(tile, 0), count = rows_in(tile);
	uint32_t passed = 0;

#pragma unroll
	for (int j = 0; j < ROWS_EACH; j++)
	{
		uint32_t i = threadIdx.x + j * QS_BLOCK;

		if (i < count && (rows.no_keys || !is_null(tile.chunk->key, first + i)))
			passed |= 1u << j;
	}
	for (uint32_t t = 0; t < rows.tests.tests; t++)
		passed = test_rows(&rows.tests.test[t], rows, tile, passed);
	return passed;
}

__device__ __forceinline__ uint64_t
key_of(const wanted_rows &rows, const tile_of_chunk &tile, uint32_t i)
{
	return rows.no_keys ? 0 : __ldcs(&tile.chunk->key.value[first_row(tile, 0) + i]);
}

/* Describe the rows of a chunk for kernels, and copy its list of tiles, if any, to the device. */
static qb_status
bring_chunk(qs_cuda *gpu, const qs_cuda_copy_rows *rows, qb_tile *there, chunk_rows *to)
{
	*to = {};
	to->first = rows->first;
	to->all = (uint32_t) rows->rows;
	to->key = { rows->keys->key.word, rows->keys->null.word };
	for (uint32_t i = 0; i < rows->tests->columns; i++)
		to->tested[i] = { rows->tested[i]->key.word, rows->tested[i]->null.word };
	if (!rows->tile)
		return QB_OK;
	to->tile = there;
	return qs_copy(gpu, there, rows->tile, rows->tiles * sizeof(qb_tile), cudaMemcpyHostToDevice);
}

/* Return the length of the list of tiles; 0: there is no list. */
static uint64_t
listed_tiles(const qs_cuda_copy_rows *rows)
{
	return rows->tile ? rows->tiles : 0;
}

/*
 * Allocate the buffer of "keys" keys, and describe the rows in *to.  The lists of tiles are copied
 * into gpu->tiles, behind its first "words" words.
 */
static qb_status
bring_rows(const qs_cuda_copy_rows *rows, uint32_t chunks, uint64_t keys, uint64_t words,
		   wanted_rows *to)
{
	qs_cuda *gpu = rows->keys->gpu;
	uint64_t listed = 0;
	qb_tile *there;

	if (chunks < 1 || chunks > QS_CUDA_CHUNKS_MAX)
		return QB_NO_MEMORY;
	for (uint32_t i = 0; i < chunks; i++)
		listed += listed_tiles(&rows[i]);
	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(qs_have_room(gpu, &gpu->gathered, keys));
	QS_TRY(qs_have_room(gpu, &gpu->tiles,
						words + qs_ceil_div(listed * sizeof(qb_tile), sizeof(uint64_t))));
	there = (qb_tile *) (gpu->tiles.word + words);
	to->tests = *rows->tests;
	to->no_keys = rows->no_keys;
	to->tiles = 0;
	for (uint32_t i = 0; i < chunks; i++)
	{
		QS_TRY(bring_chunk(gpu, &rows[i], there, &to->chunk[i]));
		there += listed_tiles(&rows[i]);
		to->chunk[i].end = to->tiles += rows[i].tiles;
	}
	return QB_OK;
}

/*
 * ---- copying the keys of the rows that pass, or pairs of keys and values ----
 *
 * A block tests the rows of a tile, and adds the number of rows that pass to a counter in device
 * memory.  The old value of the counter is the offset of the block's keys.  Blocks run in any
 * order, so the order of keys varies between executions.  A warp writes its keys to consecutive
 * addresses.  The second number of a pair is the value of a tested column in the same row.  For
 * pairs, each warp, not each block, adds to the counter.
 *
 * Floor: each row reads 8 bytes per tested column.  Each key reads 8 bytes and writes 8 bytes.
 * Each pair reads 16 bytes and writes 16 bytes.
 */

#define WARPS (QS_BLOCK / 32)

/*
 * Return the offset of this warp's "count" keys.  The block makes one addition to *written;
 * offset_of_warp() makes one addition per warp.
 */
__device__ __forceinline__ uint64_t
offset_in_block(uint32_t count, qs_u64 *written)
{
	__shared__ uint32_t counts[WARPS];
	__shared__ qs_u64 base;
	uint32_t warp = threadIdx.x / 32;
	uint64_t offset;

	if (qs_lane() == 0)
		counts[warp] = count;
	__syncthreads();
	if (threadIdx.x == 0)
	{
		uint32_t all = 0;

		for (int w = 0; w < WARPS; w++)
			all += counts[w];
		base = atomicAdd(written, all);
	}
	__syncthreads();
	offset = base;
	for (uint32_t w = 0; w < warp; w++)
		offset += counts[w];
	__syncthreads();
	return offset;
}

__device__ __forceinline__ uint64_t
offset_of_warp(uint32_t count, qs_u64 *written)
{
	qs_u64 offset = 0;

	if (qs_lane() == 0)
		offset = atomicAdd(written, (qs_u64) count);
	return __shfl_sync(QS_ALL_LANES, offset, 0);
}

template <bool PAIRS>
__global__ void
__launch_bounds__(QS_BLOCK) select_keys(const __grid_constant__ wanted_rows rows, uint64_t *to,
										uint64_t *pair, uint32_t tested, qs_u64 *written)
{
	uint32_t below = (1u << qs_lane()) - 1;

	for (uint32_t t = blockIdx.x; t < rows.tiles; t += gridDim.x)
	{
		tile_of_chunk tile = find_tile(rows, t);
		uint32_t passed = rows_that_pass(rows, tile);
		uint32_t count = __reduce_add_sync(QS_ALL_LANES, __popc(passed));
		uint64_t offset = PAIRS ? offset_of_warp(count, written) : offset_in_block(count, written);

#pragma unroll
		for (int j = 0; j < ROWS_EACH; j++)
		{
			uint32_t i = threadIdx.x + j * QS_BLOCK;
			uint32_t mine = passed >> j & 1;
			uint32_t all = __ballot_sync(QS_ALL_LANES, mine);

			if (mine)
			{
				uint64_t at = offset + __popc(all & below);

				to[at] = key_of(rows, tile, i);
				if (PAIRS)
					pair[at] =
						__ldcs(&tile.chunk->tested[tested].value[first_row(tile, 1 + tested) + i]);
			}
			offset += __popc(all);
		}
	}
}

template <bool PAIRS>
static qb_status
launch_select(qs_cuda *gpu, const wanted_rows &rows, uint64_t *pair, uint32_t tested,
			  uint64_t *count)
{
	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result, 0, sizeof(uint64_t), gpu->stream));
	QS_TRY(qs_launch_blocks(gpu, select_keys<PAIRS>, { rows.tiles, QS_BLOCK, 0 }, rows,
							gpu->gathered.word, pair, tested, (qs_u64 *) gpu->result));
	QS_TRY(qs_read_result(gpu, 1));
	*count = gpu->host_result[0];
	return QB_OK;
}

static qb_status
select(const qs_cuda_copy_rows *rows, uint32_t chunks, const uint64_t **key, uint64_t *count)
{
	qs_cuda *gpu = rows->keys->gpu;
	wanted_rows wanted;

	QS_TRY(bring_rows(rows, chunks, qs_cuda_rows_of(rows, chunks), 0, &wanted));
	*key = gpu->gathered.word;
	return launch_select<false>(gpu, wanted, NULL, 0, count);
}

static qb_status
select_pairs(const qs_cuda_copy_rows *rows, uint32_t tested, const uint64_t **key,
			 const uint64_t **pair, uint64_t *count)
{
	qs_cuda *gpu = rows->keys->gpu;
	wanted_rows wanted;

	QS_TRY(bring_rows(rows, 1, 2 * rows->rows, 0, &wanted));
	*key = gpu->gathered.word;
	*pair = *key + rows->rows;
	return launch_select<true>(gpu, wanted, (uint64_t *) *pair, tested, count);
}

/*
 * ---- copying the keys of the rows that pass, ordered by group ----
 *
 * Two passes read the tiles.  The first pass counts the rows of each group, per block in shared
 * memory.  From these counts, the host computes where the keys of each group begin.  In the second
 * pass, a block counts the rows of a tile by group.  For each group, an atomic addition reserves
 * the output for these rows.  The order of keys within a group varies between executions.
 *
 * Floor: in each pass, a row reads 8 bytes per tested column; the grouping column is a tested
 * column.  Each key reads 8 bytes and writes 8 bytes.
 */

/* Data of a request in device memory, in front of the tiles. */
struct split_table
{
	qb_groups groups;
	qs_u64 count[QB_GROUPS_MAX];
	qs_u64 next[QB_GROUPS_MAX]; /* index of the next key of a group */
};

#define SPLIT_WORDS qs_ceil_div(sizeof(split_table), sizeof(uint64_t))

/* A block's data of the groups, in shared memory. */
struct block_groups
{
	int64_t number[QB_GROUPS_MAX];
	uint32_t rows[QB_GROUPS_MAX]; /* rows of a tile (split_keys) or of all tiles (count_groups) */
	qs_u64 base[QB_GROUPS_MAX];
};

__device__ __forceinline__ void
clear_rows(block_groups *local, uint32_t count)
{
	for (uint32_t g = threadIdx.x; g < count; g += QS_BLOCK)
		local->rows[g] = 0;
	__syncthreads();
}

__device__ __forceinline__ void
load_groups(block_groups *local, const qb_groups *groups)
{
	for (uint32_t g = threadIdx.x; g < groups->count; g += QS_BLOCK)
		local->number[g] = groups->number[g];
	clear_rows(local, groups->count);
}

/* Return the group of row i of the tile, or the number of groups if the row has no group. */
__device__ __forceinline__ uint32_t
group_of(const block_groups *local, const split_table *table, const tile_of_chunk &tile, uint32_t i)
{
	const column_values &column = tile.chunk->tested[table->groups.column];
	uint32_t row = first_row(tile, 1 + table->groups.column) + i;
	bool null = is_null(column, row);

	return qb_group_of(local->number, table->groups.count, table->groups.null, null,
					   null ? 0 : (int64_t) __ldcs(&column.value[row]));
}

__global__ void
__launch_bounds__(QS_BLOCK)
	count_groups(const __grid_constant__ wanted_rows rows, split_table *table)
{
	__shared__ block_groups local;
	uint32_t groups = table->groups.count;

	load_groups(&local, &table->groups);
	for (uint32_t t = blockIdx.x; t < rows.tiles; t += gridDim.x)
	{
		tile_of_chunk tile = find_tile(rows, t);
		uint32_t passed = rows_that_pass(rows, tile);

#pragma unroll
		for (int j = 0; j < ROWS_EACH; j++)
			if (passed >> j & 1)
			{
				uint32_t g = group_of(&local, table, tile, threadIdx.x + j * QS_BLOCK);

				if (g < groups)
					atomicAdd(&local.rows[g], 1);
			}
	}
	__syncthreads();
	for (uint32_t g = threadIdx.x; g < groups; g += QS_BLOCK)
		if (local.rows[g] > 0)
			atomicAdd(&table->count[g], local.rows[g]);
}

/* Reserve the output for the tile's rows of each group. */
__device__ __forceinline__ void
take_room(block_groups *local, split_table *table)
{
	__syncthreads();
	for (uint32_t g = threadIdx.x; g < table->groups.count; g += QS_BLOCK)
		if (local->rows[g] > 0)
			local->base[g] = atomicAdd(&table->next[g], local->rows[g]);
	__syncthreads();
}

__global__ void
__launch_bounds__(QS_BLOCK)
	split_keys(uint64_t *to, const __grid_constant__ wanted_rows rows, split_table *table)
{
	__shared__ block_groups local;
	uint32_t groups = table->groups.count;

	load_groups(&local, &table->groups);
	for (uint32_t t = blockIdx.x; t < rows.tiles; t += gridDim.x)
	{
		tile_of_chunk tile = find_tile(rows, t);
		uint32_t passed = rows_that_pass(rows, tile);
		uint32_t group[ROWS_EACH], offset[ROWS_EACH];

#pragma unroll
		for (int j = 0; j < ROWS_EACH; j++)
		{
			group[j] = passed >> j & 1 ? group_of(&local, table, tile, threadIdx.x + j * QS_BLOCK)
									   : groups;
			offset[j] = group[j] < groups ? atomicAdd(&local.rows[group[j]], 1) : 0;
		}
		take_room(&local, table);
#pragma unroll
		for (int j = 0; j < ROWS_EACH; j++)
			if (group[j] < groups)
				to[local.base[group[j]] + offset[j]] =
					key_of(rows, tile, threadIdx.x + j * QS_BLOCK);
		__syncthreads();
		clear_rows(&local, groups);
	}
}

static_assert(QB_GROUPS_MAX <= QS_RESULT_WORDS, "all counts are read at once");

/* Count the keys of each group, and wait for the counts. */
static qb_status
count_all(qs_cuda *gpu, const wanted_rows &rows, const qb_groups *groups, split_table *table,
		  uint64_t *count)
{
	QS_TRY(qs_copy(gpu, &table->groups, groups, sizeof(*groups), cudaMemcpyHostToDevice));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(table->count, 0, sizeof(table->count), gpu->stream));
	QS_TRY(qs_launch_blocks(gpu, count_groups, { rows.tiles, QS_BLOCK, 0 }, rows, table));
	QS_TRY(qs_read_bytes(gpu, table->count, groups->count * sizeof(uint64_t)));
	memcpy(count, gpu->host_result, groups->count * sizeof(uint64_t));
	return QB_OK;
}

static qb_status
split(const qs_cuda_copy_rows *rows, uint32_t chunks, const qb_groups *groups, const uint64_t **key,
	  uint64_t *count)
{
	qs_cuda *gpu = rows->keys->gpu;
	uint64_t next[QB_GROUPS_MAX];
	uint64_t all = 0;
	split_table *table;
	wanted_rows wanted;

	QS_TRY(bring_rows(rows, chunks, qs_cuda_rows_of(rows, chunks), SPLIT_WORDS, &wanted));
	table = (split_table *) gpu->tiles.word;
	*key = gpu->gathered.word;
	QS_TRY(count_all(gpu, wanted, groups, table, count));
	for (uint32_t g = 0; g < groups->count; g++)
	{
		next[g] = all;
		all += count[g];
	}
	QS_TRY(qs_copy(gpu, table->next, next, groups->count * sizeof(*next), cudaMemcpyHostToDevice));
	return qs_launch_blocks(gpu, split_keys, { wanted.tiles, QS_BLOCK, 0 }, gpu->gathered.word,
							wanted, table);
}

const qs_column_ops qs_cuda_columns = {
	.create = create,
	.destroy = destroy,
	.resize = resize,
	.put = put,
	.put_nulls = put_nulls,
	.gather = gather,
	.select = select,
	.pairs = select_pairs,
	.split = split,
	.counts = qs_cuda_keys_count,
	.many = qs_cuda_keys_many,
	.bytes = bytes,
};
