/*
 * column.cu
 *		Arrays of keys in device memory: columns of tables that are kept there.
 *
 * cuda/column.cu
 */
#include "column_counts.cuh"
#include "column_cuda.h"
#include "column_rows.cuh"
#include "device.cuh"
#include "kernels.cuh"

qb_status
qs_cuda_keys_create(qs_cuda *gpu, uint64_t room, uint64_t **key)
{
	void *made = NULL;

	*key = NULL;
	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(qs_device_alloc(gpu, room * sizeof(uint64_t), &made));
	*key = (uint64_t *) made;
	return QB_OK;
}

void
qs_cuda_keys_destroy(qs_cuda *gpu, uint64_t *key, uint64_t room)
{
	cudaSetDevice(gpu->device); /* qs_cuda_enter() would forget why a call failed */
	qs_device_free(gpu, key, room * sizeof(uint64_t));
}

static qb_status
copy_keys(qs_cuda *gpu, uint64_t *to, const uint64_t *from, uint64_t count, cudaMemcpyKind kind)
{
	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(to, from, count * sizeof(uint64_t), kind, gpu->stream));
	return QB_OK;
}

qb_status
qs_cuda_keys_copy(qs_cuda *gpu, uint64_t *to, const uint64_t *from, uint64_t count)
{
	return copy_keys(gpu, to, from, count, cudaMemcpyDeviceToDevice);
}

qb_status
qs_cuda_keys_put(qs_cuda *gpu, uint64_t *to, const uint64_t *from, uint64_t count)
{
	QS_TRY(copy_keys(gpu, to, from, count, cudaMemcpyHostToDevice));
	QS_TRY(qs_wait(gpu, gpu->stream));
	gpu->stats.bytes_in += count * sizeof(uint64_t);
	return QB_OK;
}

qb_status
qs_cuda_keys_get(qs_cuda *gpu, uint64_t *to, const uint64_t *from, uint64_t count)
{
	QS_TRY(copy_keys(gpu, to, from, count, cudaMemcpyDeviceToHost));
	QS_TRY(qs_wait(gpu, gpu->stream));
	gpu->stats.bytes_out += count * sizeof(uint64_t);
	return QB_OK;
}

/* A block copies the keys of a run; blocks take runs in strides. */
static __global__ void
gather_kernel(uint64_t *to, const uint64_t *from, const qs_cuda_run *run, uint32_t runs)
{
	for (uint32_t r = blockIdx.x; r < runs; r += gridDim.x)
		for (uint64_t i = threadIdx.x; i < run[r].count; i += blockDim.x)
			to[run[r].to + i] = from[run[r].first + i];
}

qb_status
qs_cuda_keys_gather(qs_cuda *gpu, uint64_t *to, const uint64_t *from, const qs_cuda_run *run,
					uint32_t runs, void *buffer)
{
	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(buffer, run, runs * sizeof(*run), cudaMemcpyHostToDevice,
									 gpu->stream));
	return qs_launch(gpu, gather_kernel, (uint64_t) runs * QS_BLOCK, to, from,
					 (const qs_cuda_run *) buffer, runs);
}

/*
 * ---- the keys of rows that pass tests of other columns ----
 *
 * Each block tests the rows of a tile (column_rows.cuh), and reads the keys of those that
 * pass.  It adds their number to a counter in device memory, which is where its keys go.
 * So their order differs from run to run.  The keys of a warp are written side by side.
 *
 * Floor: 8 bytes read for each row and tested column, and 8 read and 8 written for each
 * key.
 */

#define WARPS (QS_BLOCK / 32)

/* Where the keys of this warp go, of which there are so many. */
__device__ __forceinline__ uint64_t
place_of_warp(uint32_t count, unsigned long long *written)
{
	__shared__ uint32_t counts[WARPS];
	__shared__ unsigned long long base;
	uint32_t warp = threadIdx.x / 32;
	uint64_t place;

	if (threadIdx.x % 32 == 0)
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
	place = base;
	for (uint32_t w = 0; w < warp; w++)
		place += counts[w];
	__syncthreads();
	return place;
}

__global__ void
__launch_bounds__(QS_BLOCK) select_keys(uint64_t *to, const __grid_constant__ qs_cuda_rows rows,
										const qb_tile *tiles, unsigned long long *written)
{
	uint32_t below = (1u << threadIdx.x % 32) - 1;

	for (uint32_t t = blockIdx.x; t < rows.tiles; t += gridDim.x)
	{
		const qb_tile &tile = tiles[t];
		uint32_t passed = qs_wanted_rows(rows, tile);
		uint64_t place = place_of_warp(__reduce_add_sync(QS_ALL_LANES, __popc(passed)), written);

#pragma unroll
		for (int j = 0; j < QS_ROWS_EACH; j++)
		{
			uint32_t mine = passed >> j & 1;
			uint32_t all = __ballot_sync(QS_ALL_LANES, mine);

			if (mine)
				to[place + __popc(all & below)] =
					qs_row_key(rows, tile, threadIdx.x + j * QS_BLOCK);
			place += __popc(all);
		}
	}
}

qb_status
qs_cuda_keys_select(qs_cuda *gpu, uint64_t *to, const qs_cuda_rows *rows, const qb_tile *tile,
					void *buffer, uint64_t *count)
{
	int grid;

	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result, 0, sizeof(uint64_t), gpu->stream));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(buffer, tile, rows->tiles * sizeof(*tile),
									 cudaMemcpyHostToDevice, gpu->stream));
	QS_TRY(qs_grid(gpu, select_keys, QS_BLOCK, 0, rows->tiles, &grid));
	select_keys<<<grid, QS_BLOCK, 0, gpu->stream>>>(to, *rows, (const qb_tile *) buffer,
													(unsigned long long *) gpu->result);
	QS_CUDA_LAUNCHED(gpu);
	QS_TRY(qs_read_result(gpu, 1));
	*count = gpu->host_result[0];
	return QB_OK;
}

/*
 * ---- the keys of rows that pass tests, side by side by the group of another column ----
 *
 * Two passes over the tiles of rows.  The first counts the rows of each group, in shared
 * memory for each block.  From these counts the host knows where the keys of each group
 * begin.  In the second pass a block counts a tile's rows by group, takes room for them
 * behind the keys of each group that are there already, and writes the keys.  Their order
 * within a group differs from run to run.
 *
 * Floor: 8 bytes read twice for each row and tested column, the grouping column among
 * them, and 8 bytes read and written for each key.
 */

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
	QS_TRY(qs_wait(gpu, gpu->stream));
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

/*
 * ---- the numbers of two columns in rows that pass tests ----
 *
 * Each block tests the rows of a tile (column_rows.cuh).  A warp adds the number of its
 * rows that pass to a counter in device memory, which is where its numbers go, side by
 * side.  So their order differs from run to run.
 *
 * Floor: 8 bytes read for each row and tested column, and 16 read and 16 written for each
 * row that passes.
 */

/* Where the numbers of this warp go, of which there are so many. */
__device__ __forceinline__ uint64_t
warp_place(uint32_t count, qs_u64 *written)
{
	qs_u64 place = 0;

	if (qs_lane() == 0)
		place = atomicAdd(written, (qs_u64) count);
	return __shfl_sync(QS_ALL_LANES, place, 0);
}

__global__ void
__launch_bounds__(QS_BLOCK)
	select_pairs(uint64_t *to, uint64_t *pair, const __grid_constant__ qs_cuda_rows rows,
				 uint32_t tested, const qb_tile *tiles, qs_u64 *written)
{
	const uint64_t *other = rows.tested[tested].value;
	uint32_t below = (1u << qs_lane()) - 1;

	for (uint32_t t = blockIdx.x; t < rows.tiles; t += gridDim.x)
	{
		const qb_tile &tile = tiles[t];
		uint32_t passed = qs_wanted_rows(rows, tile);
		uint64_t place = warp_place(__reduce_add_sync(QS_ALL_LANES, __popc(passed)), written);

#pragma unroll
		for (int j = 0; j < QS_ROWS_EACH; j++)
		{
			uint32_t i = threadIdx.x + j * QS_BLOCK;
			uint32_t mine = passed >> j & 1;
			uint32_t all = __ballot_sync(QS_ALL_LANES, mine);

			if (mine)
			{
				uint64_t at = place + __popc(all & below);

				to[at] = __ldcs(&rows.key.value[tile.first[0] + i]);
				pair[at] = __ldcs(&other[tile.first[1 + tested] + i]);
			}
			place += __popc(all);
		}
	}
}

qb_status
qs_cuda_keys_pairs(qs_cuda *gpu, uint64_t *to, uint64_t *pair, const qs_cuda_rows *rows,
				   uint32_t tested, const qb_tile *tile, void *buffer, uint64_t *count)
{
	int grid;

	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result, 0, sizeof(uint64_t), gpu->stream));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(buffer, tile, rows->tiles * sizeof(*tile),
									 cudaMemcpyHostToDevice, gpu->stream));
	QS_TRY(qs_grid(gpu, select_pairs, QS_BLOCK, 0, rows->tiles, &grid));
	select_pairs<<<grid, QS_BLOCK, 0, gpu->stream>>>(
		to, pair, *rows, tested, (const qb_tile *) buffer, (qs_u64 *) gpu->result);
	QS_CUDA_LAUNCHED(gpu);
	QS_TRY(qs_read_result(gpu, 1));
	*count = gpu->host_result[0];
	return QB_OK;
}

/*
 * ---- which groups of keys, side by side, have more than so many distinct ones? ----
 *
 * A block takes a chunk of keys in a row, and counts those of one group after another in a
 * table of its own (column_counts.cuh), which it adds to the group's table.  A group whose
 * answer is known takes no more time.
 *
 * Floor: 8 bytes read for each key, of groups that have few distinct keys.
 */

/* A group, in device memory.  Its table follows those of the groups before it. */
struct many_group
{
	unsigned long long end;   /* of its keys, which begin where those of the group before it end */
	unsigned long long stop;  /* there are too many */
	unsigned long long apart; /* QS_NO_KEY is one of its keys */
	unsigned long long distinct; /* keys in the table */
};

#define GROUP_WORDS (sizeof(many_group) / sizeof(uint64_t))

/* What a launch works on. */
struct many_keys
{
	const uint64_t *key;
	uint64_t count;
	uint64_t chunk; /* keys of a block */
	many_group *group;
	unsigned long long *table;
	uint32_t groups;
	uint32_t slots; /* of a group's table; 2^k */
	uint32_t most;
	qb_secret secret;
};

/* At most half of a group's table is needed. */
static uint32_t
slots_for(uint32_t most)
{
	uint32_t slots = 64;

	while (slots < 2 * most)
		slots *= 2;
	return slots;
}

uint64_t
qs_cuda_many_words(uint32_t groups, uint32_t most)
{
	return (uint64_t) groups * (GROUP_WORDS + slots_for(most));
}

/* Add a block's table to that of a group, unless there are too many keys. */
__device__ __forceinline__ void
add_table(const many_keys &all, uint32_t g, const qs_own_counts &own)
{
	many_group *group = &all.group[g];
	unsigned long long *table = all.table + (uint64_t) g * all.slots;

	if (threadIdx.x == 0 && *own.apart > 0)
		group->apart = 1;
	for (uint32_t i = threadIdx.x; i < QS_COUNT_SLOTS && !qs_now(group->stop); i += QS_COUNT_BLOCK)
	{
		bool added;

		if (own.key[i] == QS_NO_KEY)
			continue;
		if (qs_slot_of(table, all.slots, all.secret, own.key[i], group->stop, &added) ==
				all.slots ||
			(added && atomicAdd(&group->distinct, 1) >= all.most))
			group->stop = 1;
	}
}

/*
 * All threads of a block reach the same waits.  Only looks at "stop" can differ between them, and
 * no wait depends on these.
 */
__global__ void
__launch_bounds__(QS_COUNT_BLOCK) count_many(const __grid_constant__ many_keys all)
{
	extern __shared__ unsigned long long shared[];
	__shared__ uint32_t distinct, apart;
	qs_own_counts own = { shared, NULL, &distinct, &apart, all.secret };
	uint64_t at = blockIdx.x * all.chunk;
	uint64_t end = min(at + all.chunk, all.count);
	uint32_t g = at < end ? qs_group_at(all.group, all.groups, at) : 0;

	for (; at < end; g++)
	{
		uint64_t stop = min((uint64_t) all.group[g].end, end);

		if (stop > at)
		{
			qs_clear_counts(own);
			qs_count_keys(own, all.key, at + threadIdx.x, stop, QS_COUNT_BLOCK, all.most,
						  all.group[g].stop);
			__syncthreads();
			add_table(all, g, own);
			__syncthreads();
			at = stop;
		}
	}
}

static qb_status
launch(qs_cuda *gpu, many_keys *all)
{
	size_t shared = QS_COUNT_SLOTS * sizeof(uint64_t);
	int grid;

	QS_CUDA_TRY(gpu, cudaFuncSetAttribute(count_many, cudaFuncAttributeMaxDynamicSharedMemorySize,
										  (int) shared));
	QS_TRY(qs_grid(gpu, count_many, QS_COUNT_BLOCK, shared, qs_ceil_div(all->count, QS_COUNT_BLOCK),
				   &grid));
	all->chunk = qs_ceil_div(all->count, grid);
	count_many<<<grid, QS_COUNT_BLOCK, shared, gpu->stream>>>(*all);
	QS_CUDA_LAUNCHED(gpu);
	return QB_OK;
}

/* Count in empty tables, and read what came of it. */
static qb_status
run(qs_cuda *gpu, many_keys *all, many_group *group)
{
	size_t bytes = all->groups * sizeof(*group);

	QS_CUDA_TRY(gpu,
				cudaMemcpyAsync(all->group, group, bytes, cudaMemcpyHostToDevice, gpu->stream));
	QS_CUDA_TRY(gpu,
				cudaMemsetAsync(all->table, 0xff,
								(size_t) all->groups * all->slots * sizeof(uint64_t), gpu->stream));
	QS_TRY(launch(gpu, all));
	QS_CUDA_TRY(gpu,
				cudaMemcpyAsync(group, all->group, bytes, cudaMemcpyDeviceToHost, gpu->stream));
	QS_TRY(qs_wait(gpu, gpu->stream));
	gpu->stats.bytes_out += bytes;
	return QB_OK;
}

qb_status
qs_cuda_keys_many(qs_cuda *gpu, const uint64_t *key, const uint64_t *count, uint32_t groups,
				  uint32_t most, void *memory, bool *many)
{
	many_group group[QB_GROUPS_MAX] = {};
	many_keys all = {
		key, 0, 0, (many_group *) memory, NULL, groups, slots_for(most), most, qb_own_secret
	};

	QS_TRY(qs_cuda_enter(gpu));
	for (uint32_t i = 0; i < groups; i++)
		group[i].end = all.count += count[i];
	all.table = (unsigned long long *) (all.group + groups);
	if (all.count > 0)
		QS_TRY(run(gpu, &all, group));
	for (uint32_t i = 0; i < groups; i++)
		many[i] = group[i].stop || group[i].distinct + group[i].apart > most;
	return QB_OK;
}
