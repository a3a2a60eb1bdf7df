/*
 * column_select.cu
 *		The keys of rows that pass tests of other columns.
 *
 * A block takes a tile of rows, which lie side by side in all columns.  A thread tests
 * QB_TILE_ROWS / QS_BLOCK rows of it, with a bit for each that passes so far.  It loads
 * all values of a test before it looks at the first, so that many loads are under way.
 * Neighbouring threads have neighbouring rows: loads and stores are coalesced.  Keys are
 * read for rows that passed alone.
 *
 * Each block adds the number of its keys to a counter in device memory, which is where its
 * keys go.  So their order differs from run to run.
 *
 * Floor: 8 bytes read for each row and tested column, and 8 read and 8 written for each
 * key.
 *
 * cuda/column_select.cu
 */
#include "column_cuda.h"

#include "device.cuh"
#include "kernels.cuh"

/* Rows of a thread. */
#define ITEMS (QB_TILE_ROWS / QS_BLOCK)

#define WARPS (QS_BLOCK / 32)

static_assert(sizeof(qs_cuda_rows) <= 4000, "parameters of a kernel");

__device__ __forceinline__ bool
is_null(const qs_cuda_column &column, uint32_t row)
{
	return column.null && (__ldg(&column.null[row / 64]) >> row % 64 & 1);
}

/* Which of the thread's rows that have passed so far pass this test, too? */
__device__ __forceinline__ uint32_t
test_rows(const qb_test *test, const qs_cuda_rows &rows, const qb_tile &tile, uint32_t passed)
{
	const qs_cuda_column &column = rows.tested[test->column];
	uint32_t first = tile.first[1 + test->column] + threadIdx.x;
	int64_t number[ITEMS];

#pragma unroll
	for (int j = 0; j < ITEMS; j++)
		number[j] = passed >> j & 1 ? (int64_t) __ldcs(&column.value[first + j * QS_BLOCK]) : 0;
#pragma unroll
	for (int j = 0; j < ITEMS; j++)
		if (passed >> j & 1 && !qb_test_passes(test, rows.tests.number,
											   is_null(column, first + j * QS_BLOCK), number[j]))
			passed &= ~(1u << j);
	return passed;
}

/* Which of the thread's rows are there, not NULL, and pass all tests? */
__device__ __forceinline__ uint32_t
wanted_rows(const qs_cuda_rows &rows, const qb_tile &tile)
{
	uint32_t passed = 0;

#pragma unroll
	for (int j = 0; j < ITEMS; j++)
	{
		uint32_t i = threadIdx.x + j * QS_BLOCK;

		if (i < tile.rows && (rows.form == QB_NUMBER_NONE || !is_null(rows.key, tile.first[0] + i)))
			passed |= 1u << j;
	}
	for (uint32_t t = 0; t < rows.tests.tests; t++)
		passed = test_rows(&rows.tests.test[t], rows, tile, passed);
	return passed;
}

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
		uint32_t passed = wanted_rows(rows, tile);
		uint64_t place = place_of_warp(__reduce_add_sync(QS_ALL_LANES, __popc(passed)), written);

#pragma unroll
		for (int j = 0; j < ITEMS; j++)
		{
			uint32_t mine = passed >> j & 1;
			uint32_t all = __ballot_sync(QS_ALL_LANES, mine);

			if (mine)
				to[place + __popc(all & below)] = qb_number_fingerprint(
					(int64_t) __ldcs(&rows.key.value[tile.first[0] + threadIdx.x + j * QS_BLOCK]),
					rows.form);
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
