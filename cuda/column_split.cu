/*
 * column_split.cu
 *		The keys of rows that pass tests, side by side by the group of another column.
 *
 * Two passes over the tiles of rows.  The first counts the rows of each group, in shared
 * memory for each block.  From these counts the host knows where the keys of each group
 * begin.  In the second pass a block counts a tile's rows by group, takes room for them
 * behind the keys of each group that are there already, and writes the keys.  Their order
 * within a group differs from run to run.
 *
 * Floor: 8 bytes read twice for each row and tested column, the grouping column among
 * them, and 8 bytes read and written for each key.
 *
 * cuda/column_split.cu
 */
#include "column_rows.cuh"

#include "device.cuh"

/* Device memory of a request, before the tiles. */
struct split_table
{
	qb_groups groups;
	unsigned long long count[QB_GROUPS_MAX];
	unsigned long long next[QB_GROUPS_MAX]; /* where the next key of a group goes */
};

static_assert(sizeof(split_table) <= QS_CUDA_SPLIT_WORDS * sizeof(uint64_t), "size of a table");

/* The groups as a block has them. */
struct block_groups
{
	int64_t number[QB_GROUPS_MAX];
	uint32_t rows[QB_GROUPS_MAX]; /* of a tile, or of all tiles of the block */
	unsigned long long base[QB_GROUPS_MAX];
};

__device__ __forceinline__ void
clear_rows(block_groups *own, uint32_t count)
{
	for (uint32_t g = threadIdx.x; g < count; g += QS_BLOCK)
		own->rows[g] = 0;
	__syncthreads();
}

__device__ __forceinline__ void
load_groups(block_groups *own, const qb_groups *groups)
{
	for (uint32_t g = threadIdx.x; g < groups->count; g += QS_BLOCK)
		own->number[g] = groups->number[g];
	clear_rows(own, groups->count);
}

/* The group of a row; the number of groups if it has none. */
__device__ __forceinline__ uint32_t
group_of(const block_groups *own, const split_table *table, const qs_cuda_rows &rows,
		 const qb_tile &tile, uint32_t i)
{
	const qs_cuda_column &column = rows.tested[table->groups.column];
	uint32_t row = tile.first[1 + table->groups.column] + i;
	bool null = qs_row_is_null(column, row);

	return qb_group_of(own->number, table->groups.count, table->groups.null, null,
					   null ? 0 : (int64_t) __ldcs(&column.value[row]));
}

__global__ void
__launch_bounds__(QS_BLOCK) count_groups(const __grid_constant__ qs_cuda_rows rows,
										 const qb_tile *tiles, split_table *table)
{
	__shared__ block_groups own;
	uint32_t groups = table->groups.count;

	load_groups(&own, &table->groups);
	for (uint32_t t = blockIdx.x; t < rows.tiles; t += gridDim.x)
	{
		uint32_t passed = qs_wanted_rows(rows, tiles[t]);

#pragma unroll
		for (int j = 0; j < QS_ROWS_EACH; j++)
			if (passed >> j & 1)
			{
				uint32_t g = group_of(&own, table, rows, tiles[t], threadIdx.x + j * QS_BLOCK);

				if (g < groups)
					atomicAdd(&own.rows[g], 1);
			}
	}
	__syncthreads();
	for (uint32_t g = threadIdx.x; g < groups; g += QS_BLOCK)
		if (own.rows[g] > 0)
			atomicAdd(&table->count[g], own.rows[g]);
}

/* Take room for the tile's rows of each group. */
__device__ __forceinline__ void
take_room(block_groups *own, split_table *table)
{
	__syncthreads();
	for (uint32_t g = threadIdx.x; g < table->groups.count; g += QS_BLOCK)
		if (own->rows[g] > 0)
			own->base[g] = atomicAdd(&table->next[g], own->rows[g]);
	__syncthreads();
}

__global__ void
__launch_bounds__(QS_BLOCK) split_keys(uint64_t *to, const __grid_constant__ qs_cuda_rows rows,
									   const qb_tile *tiles, split_table *table)
{
	__shared__ block_groups own;
	uint32_t groups = table->groups.count;

	load_groups(&own, &table->groups);
	for (uint32_t t = blockIdx.x; t < rows.tiles; t += gridDim.x)
	{
		uint32_t passed = qs_wanted_rows(rows, tiles[t]);
		uint32_t group[QS_ROWS_EACH], place[QS_ROWS_EACH];

#pragma unroll
		for (int j = 0; j < QS_ROWS_EACH; j++)
		{
			group[j] = passed >> j & 1
						   ? group_of(&own, table, rows, tiles[t], threadIdx.x + j * QS_BLOCK)
						   : groups;
			place[j] = group[j] < groups ? atomicAdd(&own.rows[group[j]], 1) : 0;
		}
		take_room(&own, table);
#pragma unroll
		for (int j = 0; j < QS_ROWS_EACH; j++)
			if (group[j] < groups)
				to[own.base[group[j]] + place[j]] =
					qs_row_key(rows, tiles[t], threadIdx.x + j * QS_BLOCK);
		__syncthreads();
		clear_rows(&own, groups);
	}
}

static qb_status
copy_in(qs_cuda *gpu, void *to, const void *from, size_t bytes)
{
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, gpu->stream));
	return QB_OK;
}

/* Count the keys of each group, and wait for the counts. */
static qb_status
count_all(qs_cuda *gpu, const qs_cuda_rows *rows, const qb_tile *tiles, split_table *table,
		  uint32_t groups, uint64_t *count)
{
	int grid;

	QS_CUDA_TRY(gpu, cudaMemsetAsync(table->count, 0, sizeof(table->count), gpu->stream));
	QS_TRY(qs_grid(gpu, count_groups, QS_BLOCK, 0, rows->tiles, &grid));
	count_groups<<<grid, QS_BLOCK, 0, gpu->stream>>>(*rows, tiles, table);
	QS_CUDA_LAUNCHED(gpu);
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(count, table->count, groups * sizeof(uint64_t),
									 cudaMemcpyDeviceToHost, gpu->stream));
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	return QB_OK;
}

qb_status
qs_cuda_keys_split(qs_cuda *gpu, uint64_t *to, const qs_cuda_rows *rows, const qb_tile *tile,
				   const qb_groups *groups, void *buffer, uint64_t *count)
{
	split_table *table = (split_table *) buffer;
	qb_tile *tiles = (qb_tile *) ((uint64_t *) buffer + QS_CUDA_SPLIT_WORDS);
	uint64_t next[QB_GROUPS_MAX];
	uint64_t all = 0;
	int grid;

	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(copy_in(gpu, &table->groups, groups, sizeof(*groups)));
	QS_TRY(copy_in(gpu, tiles, tile, rows->tiles * sizeof(*tile)));
	QS_TRY(count_all(gpu, rows, tiles, table, groups->count, count));
	for (uint32_t g = 0; g < groups->count; g++)
	{
		next[g] = all;
		all += count[g];
	}
	QS_TRY(copy_in(gpu, table->next, next, groups->count * sizeof(*next)));
	QS_TRY(qs_grid(gpu, split_keys, QS_BLOCK, 0, rows->tiles, &grid));
	split_keys<<<grid, QS_BLOCK, 0, gpu->stream>>>(to, *rows, tiles, table);
	QS_CUDA_LAUNCHED(gpu);
	return QB_OK;
}
