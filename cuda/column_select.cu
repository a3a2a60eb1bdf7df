/*
 * column_select.cu
 *		The keys of rows that pass tests of other columns.
 *
 * Each block tests the rows of a tile (column_rows.cuh), and reads the keys of those that
 * pass.  It adds their number to a counter in device memory, which is where its keys go.
 * So their order differs from run to run.  The keys of a warp are written side by side.
 *
 * Floor: 8 bytes read for each row and tested column, and 8 read and 8 written for each
 * key.
 *
 * cuda/column_select.cu
 */
#include "column_rows.cuh"

#include "kernels.cuh"

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
