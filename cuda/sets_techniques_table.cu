/*
 * sets_techniques_table.cu
 *		A strip of counts by a table of each row, which all its columns probe.
 *
 * HI and BI of the paper (section 3): a hash table of the row, or its bitmap
 * over the whole universe, lies in global memory.  Floor: for each row, every
 * element of every column is read and looked up.
 *
 * cuda/sets_techniques_table.cu
 */
#include "sets_techniques.cuh"

/* Mask of a table that is at most half full with "count" elements. */
__device__ __forceinline__ uint32_t
mask_for(uint64_t count)
{
	uint32_t slots = 64;

	while (slots < 2 * count)
		slots *= 2;
	return slots - 1;
}

template <bool Bitmap>
__device__ void
fill_table(uint32_t *table, const set &a, uint32_t mask, const qb_secret &secret)
{
	for (uint64_t i = threadIdx.x; !Bitmap && i <= mask; i += THREADS)
		table[i] = NOTHING;
	__syncthreads();
	for (uint64_t i = threadIdx.x; i < a.count; i += THREADS)
		if (Bitmap)
			atomicOr(&table[a.element[i] / 32], 1u << (a.element[i] % 32));
		else
			put_slot(table, mask, secret, a.element[i]);
	__syncthreads();
}

/* Clear the table.  A bitmap may be far larger than a row, so only the row's bits are cleared. */
template <bool Bitmap>
__device__ void
clear_table(uint32_t *table, const set &a)
{
	__syncthreads();
	for (uint64_t i = threadIdx.x; Bitmap && i < a.count; i += THREADS)
		table[a.element[i] / 32] = 0;
	__syncthreads();
}

/* A block takes a row, and each of its warps takes columns. */
template <bool Bitmap>
__global__ void
__launch_bounds__(THREADS) probe_rows(const __grid_constant__ pairs p)
{
	uint32_t *table = p.table + blockIdx.x * p.table_words;

	for (uint64_t r = blockIdx.x; r < p.rows; r += gridDim.x)
	{
		uint64_t row = p.first + r;
		set a = set_of(p.row_offset, p.row_element, row);
		uint64_t least = qset_filter_least(&p.filter, a.count);
		uint32_t mask = mask_for(a.count);

		fill_table<Bitmap>(table, a, mask, p.secret);
		for (uint64_t c = (p.tail ? row + 1 : 0) + threadIdx.x / 32; c < p.columns;
			 c += THREADS / 32)
		{
			set b = set_of(p.column_offset, p.column_element, c);
			uint32_t common = 0;

			if (!is_possible(p, a, b, least))
				continue;
			for (uint64_t i = qs_lane(); i < b.count; i += 32)
				common += Bitmap ? table[b.element[i] / 32] >> b.element[i] % 32 & 1
								 : find_slot(table, mask, p.secret, b.element[i]);
			for (int d = 16; d; d >>= 1)
				common += __shfl_down_sync(QS_ALL_LANES, common, d);
			if (qs_lane() == 0)
				p.count[r * p.width + c] = common;
		}
		clear_table<Bitmap>(table, a);
	}
}

/* Words of a table that has room for the largest row. */
static uint64_t
table_words(const qset_pairwise *p)
{
	uint64_t slots = 64;

	if (p->method == QSET_BITMAP)
		return qs_ceil_div(p->columns->universe, 32) + 1;
	while (slots < 2 * p->rows->largest)
		slots *= 2;
	return slots;
}

static auto
kernel_of(const qset_pairwise *p)
{
	return p->method == QSET_BITMAP ? probe_rows<true> : probe_rows<false>;
}

qb_status
qset_probe_bytes(qs_cuda *gpu, const qset_pairwise *p, uint64_t rows, uint64_t *bytes)
{
	int grid = 0;

	if (p->method == QSET_HASH || p->method == QSET_BITMAP)
		QS_TRY(qs_grid(gpu, kernel_of(p), THREADS, 0, rows, &grid));
	*bytes = grid * table_words(p) * sizeof(uint32_t);
	return QB_OK;
}

qb_status
qset_probe_rows(qs_cuda *gpu, const qset_pairwise *p, pairs *t)
{
	int grid;

	t->table = p->table;
	t->table_words = table_words(p);
	QS_TRY(qs_grid(gpu, kernel_of(p), THREADS, 0, t->rows, &grid));
	if (p->method == QSET_BITMAP)
		QS_CUDA_TRY(gpu, cudaMemsetAsync(t->table, 0, grid * t->table_words * sizeof(*t->table),
										 gpu->stream));
	kernel_of(p)<<<grid, THREADS, 0, gpu->stream>>>(*t);
	QS_CUDA_LAUNCHED(gpu);
	return QB_OK;
}
