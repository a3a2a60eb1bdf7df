/*
 * sets_product.cu
 *		A strip of counts as the product of two bit matrices.
 *
 * A set is a row of bits, one for each chosen element.  The count of a pair is the number of bits
 * that are set in both rows.  One instruction of the tensor cores (mma.b1.and.popc) multiplies 16
 * rows and 8 columns of 256 bits each.  A second kernel counts with the popc instruction, on
 * devices whose tensor cores do not multiply bits.  Tests compare both kernels.
 *
 * Floor of the time: a multiprocessor multiplies about 2^13 bits per clock by tensor cores, and 2^9
 * bits (16 words) by popc.  Each block loads bits into shared memory, and computes a tile of
 * counts, with a side of QSET_TILE or, by popc, HALF.  If there are too few tiles to fill the
 * device, several blocks share a tile, each with a slice of the bits.
 *
 * If all elements are chosen, the product is the paper's BI (section 3, naive: all bitmaps
 * resident).  If the frequent elements are chosen, the product is a part of method hybrid.
 *
 * SQL: qsets_pairs() and qsets_nearest() by the methods hybrid and bitmap.
 *
 * cuda/sets_product.cu
 */
#include <cuda_pipeline.h>

#include "sets.cuh"

#define THREADS 256
#define PITCH   (QSET_BIT_WORDS + 4) /* words of a row in shared memory, without bank conflicts */

/* ---- choosing the elements ---- */

__global__ void
__launch_bounds__(QS_BLOCK) choose_heavy(const uint32_t *start, uint64_t universe, uint64_t degree,
										 uint32_t *column, uint32_t *end, qs_u64 *columns)
{
	qs_for_each(universe, [&](uint64_t e) {
		bool heavy = start[e + 1] - start[e] >= degree;

		column[e] = heavy ? (uint32_t) atomicAdd(columns, 1) : UINT32_MAX;
		end[e] = heavy ? 0 : start[e + 1];
	});
}

qb_status
qset_bits_choose(qs_cuda *gpu, const qset_cuda_sets *columns, uint64_t degree,
				 const qset_bits *bits)
{
	uint64_t universe = columns->universe;
	qs_u64 *next = (qs_u64 *) gpu->result;

	QS_CUDA_TRY(gpu, cudaMemsetAsync(next, 0, sizeof(*next), gpu->stream));
	return qs_launch(gpu, choose_heavy, universe, columns->index.start, universe, degree,
					 bits->column, bits->end, next);
}

/* ---- bits ---- */

/* Set the bits of all sets, a warp per set. */
__global__ void
__launch_bounds__(QS_BLOCK)
	fill_bits(const uint64_t *offset, const uint32_t *element, uint64_t sets,
			  const uint32_t *column, uint32_t *matrix, uint64_t words)
{
	qs_for_each_of_warps(sets, [&](uint64_t s) {
		for (uint64_t i = offset[s] + qs_lane(); i < offset[s + 1]; i += 32)
		{
			uint32_t c = column[element[i]];

			if (c != UINT32_MAX)
				atomicOr(&matrix[s * words + c / 32], 1u << (c % 32));
		}
	});
}

qb_status
qset_bits_fill(qs_cuda *gpu, const qset_cuda_sets *s, const qset_bits *bits, uint32_t *matrix)
{
	return qs_launch(gpu, fill_bits, s->sets * 32, s->offset, s->element, s->sets, bits->column,
					 matrix, bits->words);
}

/* ---- products ---- */

/* Arguments of a kernel.  "row" begins at the strip's first row. */
struct factors
{
	const uint32_t *row, *column;
	uint64_t words;
	uint64_t slice; /* words that one block of a tile multiplies */
	uint64_t first; /* the strip's first row */
	bool tail;
	bool add; /* add to the counts, because several blocks share a tile */
	uint32_t *count;
	uint64_t width;
};

__device__ __forceinline__ void
put_count(const factors &f, uint64_t row, uint64_t column, uint32_t count)
{
	uint32_t *to = &f.count[row * f.width + column];

	if (!f.add)
		*to = count;
	else if (count != 0)
		atomicAdd(to, count);
}

/* True if, with "tail", no column of the tile is behind a row of the tile. */
__device__ __forceinline__ bool
is_idle(const factors &f, uint64_t row, uint64_t column, uint32_t size)
{
	return f.tail && column + size <= f.first + row + 1;
}

/* Multiply 16 rows and 8 columns of 256 bits, and add the products to 16 x 8 counts. */
__device__ __forceinline__ void
multiply_bits(int *sum, const uint32_t *a, const uint32_t *b)
{
	asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
				 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
				 : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
				 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* The words of one step of a tile, from both matrices. */
struct step
{
	uint32_t row[QSET_TILE][PITCH], column[QSET_TILE][PITCH];
};

/* Queue the copy of QSET_BIT_WORDS words of each set of a tile into shared memory. */
__device__ __forceinline__ void
load_bits(uint32_t (*to)[PITCH], const uint32_t *from, uint64_t words)
{
	const int quads = QSET_BIT_WORDS / 4;

#pragma unroll
	for (int k = 0; k < QSET_TILE * quads / THREADS; k++)
	{
		int i = threadIdx.x + k * THREADS;

		__pipeline_memcpy_async(&to[i / quads][i % quads * 4],
								&from[(uint64_t) (i / quads) * words + i % quads * 4], 16);
	}
}

__device__ __forceinline__ void
load_step(step *to, const uint32_t *row, const uint32_t *column, uint64_t words)
{
	load_bits(to->row, row, words);
	load_bits(to->column, column, words);
	__pipeline_commit();
}

/*
 * Each of eight warps computes 64 x 32 counts of the tile, in 4 x 4 fragments.  The instruction
 * prescribes the layout of a fragment: a lane has rows lane / 4 and lane / 4 + 8, and words lane %
 * 4 and lane % 4 + 4.
 */
__global__ void
__launch_bounds__(THREADS) multiply_tensor(const factors f)
{
	__shared__ __align__(16) step steps[2];
	const uint64_t row = (uint64_t) blockIdx.x * QSET_TILE,
				   column = (uint64_t) blockIdx.y * QSET_TILE;
	const uint64_t from = blockIdx.z * f.slice;
	const uint64_t to = f.words - from < f.slice ? f.words : from + f.slice;
	const uint32_t *next_row = f.row + row * f.words + from;
	const uint32_t *next_column = f.column + column * f.words + from;
	const int warp = threadIdx.x / 32, group = qs_lane() / 4, word = qs_lane() % 4;
	const int top = warp % 2 * 64, left = warp / 2 * 32;
	int sum[4][4][4] = {};
	int now = 0;

	if (is_idle(f, row, column, QSET_TILE))
		return;
	load_step(&steps[0], next_row, next_column, f.words);
	for (uint64_t at = from; at < to; at += QSET_BIT_WORDS, now ^= 1)
	{
		const step *here = &steps[now];

		/* the next step's words are loaded while this step is multiplied */
		next_row += QSET_BIT_WORDS;
		next_column += QSET_BIT_WORDS;
		if (at + QSET_BIT_WORDS < to)
			load_step(&steps[now ^ 1], next_row, next_column, f.words);
		__pipeline_wait_prior(at + QSET_BIT_WORDS < to ? 1 : 0);
		__syncthreads();
#pragma unroll
		for (int s = 0; s < QSET_BIT_WORDS; s += 8)
		{
			uint32_t x[4][4], y[4][2];

			for (int i = 0; i < 4; i++)
				for (int slice = 0; slice < 4; slice++)
					x[i][slice] =
						here->row[top + i * 16 + group + slice % 2 * 8][s + word + slice / 2 * 4];
			for (int j = 0; j < 4; j++)
				for (int slice = 0; slice < 2; slice++)
					y[j][slice] = here->column[left + j * 8 + group][s + word + slice * 4];
			for (int i = 0; i < 4; i++)
				for (int j = 0; j < 4; j++)
					multiply_bits(sum[i][j], x[i], y[j]);
		}
		__syncthreads();
	}
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			for (int k = 0; k < 4; k++)
			{
				uint64_t r = row + top + i * 16 + group + k / 2 * 8;
				uint64_t c = column + left + j * 8 + word * 2 + k % 2;

				put_count(f, r, c, (uint32_t) sum[i][j][k]);
			}
}

/* Side of the tiles of multiply_popc.  Each thread computes 4 x 4 counts. */
#define HALF (QSET_TILE / 2)

__global__ void
__launch_bounds__(THREADS) multiply_popc(const factors f)
{
	__shared__ uint32_t a[HALF][QSET_BIT_WORDS + 1], b[HALF][QSET_BIT_WORDS + 1];
	const uint64_t row = (uint64_t) blockIdx.x * HALF, column = (uint64_t) blockIdx.y * HALF;
	const uint64_t from = blockIdx.z * f.slice;
	const uint64_t to = f.words - from < f.slice ? f.words : from + f.slice;
	const int x = threadIdx.x % 16, y = threadIdx.x / 16;
	uint32_t sum[4][4] = {};

	if (is_idle(f, row, column, HALF))
		return;
	for (uint64_t at = from; at < to; at += QSET_BIT_WORDS)
	{
		for (int i = threadIdx.x; i < HALF * QSET_BIT_WORDS; i += THREADS)
		{
			int r = i / QSET_BIT_WORDS, w = i % QSET_BIT_WORDS;

			a[r][w] = f.row[(row + r) * f.words + at + w];
			b[r][w] = f.column[(column + r) * f.words + at + w];
		}
		__syncthreads();
		for (int w = 0; w < QSET_BIT_WORDS; w++)
			for (int i = 0; i < 4; i++)
				for (int j = 0; j < 4; j++)
					sum[i][j] += __popc(a[y * 4 + i][w] & b[x + 16 * j][w]);
		__syncthreads();
	}
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			put_count(f, row + y * 4 + i, column + x + 16 * j, sum[i][j]);
}

/* ---- host ---- */

/*
 * Set *has to whether tensor cores multiply bits, as in compute capability 8.x and 9.x.  Only 9.0
 * was tested.
 */
static qb_status
has_bits(qs_cuda *gpu, bool *has)
{
	int major;

	QS_CUDA_TRY(gpu,
				cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu->device));
	*has = major >= 8 && major < 10;
	return QB_OK;
}

qb_status
qset_bits_multiply(qs_cuda *gpu, const qset_bits *bits, bool tail, qset_product how,
				   const qset_strip *strip)
{
	bool tensor = how == QSET_PRODUCT_TENSOR;
	uint32_t side;
	uint64_t tiles, slices;
	dim3 grid;
	factors f = { bits->row + strip->first * bits->words,
				  bits->other,
				  bits->words,
				  0,
				  strip->first,
				  tail,
				  false,
				  strip->count,
				  strip->width };

	if (how == QSET_PRODUCT_AUTO)
		QS_TRY(has_bits(gpu, &tensor));
	side = tensor ? QSET_TILE : HALF;
	grid.x = (unsigned) qs_ceil_div(strip->rows, side);
	grid.y = (unsigned) (strip->width / side);
	tiles = (uint64_t) grid.x * grid.y;
	/* make eight blocks for each multiprocessor, but give each block at least 256 words */
	slices = qs_ceil_div((uint64_t) gpu->multiprocessors * 8, tiles);
	if (slices > bits->words / 256)
		slices = bits->words / 256 > 0 ? bits->words / 256 : 1;
	f.slice = qs_ceil_div(qs_ceil_div(bits->words, slices), QSET_BIT_WORDS) * QSET_BIT_WORDS;
	grid.z = (unsigned) qs_ceil_div(bits->words, f.slice);
	f.add = grid.z > 1;
	if (f.add)
		QS_CUDA_TRY(gpu, cudaMemsetAsync(strip->count, 0,
										 grid.x * side * strip->width * sizeof(*strip->count),
										 gpu->stream));
	if (tensor)
		multiply_tensor<<<grid, THREADS, 0, gpu->stream>>>(f);
	else
		multiply_popc<<<grid, THREADS, 0, gpu->stream>>>(f);
	return qs_launched(gpu);
}
