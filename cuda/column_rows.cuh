/*
 * column_rows.cuh
 *		Which rows of a tile pass tests of columns, and their keys.
 *
 * A block takes a tile of rows, which lie side by side in all columns.  A thread tests
 * QS_ROWS_EACH rows of it, with a bit for each that passes so far.  It loads all values
 * of a test before it looks at the first, so that many loads are under way.  Neighbouring
 * threads have neighbouring rows, so loads are coalesced.
 *
 * cuda/column_rows.cuh
 */
#ifndef QS_COLUMN_ROWS_CUH
#define QS_COLUMN_ROWS_CUH

#include "column_cuda.h"

#include "device.cuh"

/* Rows of a thread: the i-th is row threadIdx.x + i * QS_BLOCK of the tile. */
#define QS_ROWS_EACH (QB_TILE_ROWS / QS_BLOCK)

static_assert(sizeof(qs_cuda_rows) <= 4000, "parameters of a kernel");

__device__ __forceinline__ bool
qs_row_is_null(const qs_cuda_column &column, uint32_t row)
{
	return column.null && (__ldg(&column.null[row / 64]) >> row % 64 & 1);
}

/* Which of the thread's rows that have passed so far pass this test, too? */
__device__ __forceinline__ uint32_t
qs_test_rows(const qb_test *test, const qs_cuda_rows &rows, const qb_tile &tile, uint32_t passed)
{
	const qs_cuda_column &column = rows.tested[test->column];
	uint32_t first = tile.first[1 + test->column] + threadIdx.x;
	int64_t number[QS_ROWS_EACH];

#pragma unroll
	for (int j = 0; j < QS_ROWS_EACH; j++)
		number[j] = passed >> j & 1 ? (int64_t) __ldcs(&column.value[first + j * QS_BLOCK]) : 0;
#pragma unroll
	for (int j = 0; j < QS_ROWS_EACH; j++)
		if (passed >> j & 1 &&
			!qb_test_passes(test, rows.tests.number, qs_row_is_null(column, first + j * QS_BLOCK),
							number[j]))
			passed &= ~(1u << j);
	return passed;
}

/* Which of the thread's rows are there, not NULL, and pass all tests? */
__device__ __forceinline__ uint32_t
qs_wanted_rows(const qs_cuda_rows &rows, const qb_tile &tile)
{
	uint32_t passed = 0;

#pragma unroll
	for (int j = 0; j < QS_ROWS_EACH; j++)
	{
		uint32_t i = threadIdx.x + j * QS_BLOCK;

		if (i < tile.rows && (rows.no_keys || !qs_row_is_null(rows.key, tile.first[0] + i)))
			passed |= 1u << j;
	}
	for (uint32_t t = 0; t < rows.tests.tests; t++)
		passed = qs_test_rows(&rows.tests.test[t], rows, tile, passed);
	return passed;
}

/* The key of a row. */
__device__ __forceinline__ uint64_t
qs_row_key(const qs_cuda_rows &rows, const qb_tile &tile, uint32_t i)
{
	return rows.no_keys ? 0 : __ldcs(&rows.key.value[tile.first[0] + i]);
}

#endif
