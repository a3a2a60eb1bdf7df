/*
 * column_pairs.cu
 *		The numbers of two columns in rows that pass tests.
 *
 * Each block tests the rows of a tile (column_rows.cuh).  A warp adds the number of its
 * rows that pass to a counter in device memory, which is where its numbers go, side by
 * side.  So their order differs from run to run.
 *
 * Floor: 8 bytes read for each row and tested column, and 16 read and 16 written for each
 * row that passes.
 *
 * cuda/column_pairs.cu
 */
#include "column_rows.cuh"

#include "kernels.cuh"

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
