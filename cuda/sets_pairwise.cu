/*
 * sets_pairwise.cu
 *		A strip of counts, one pair of sets after another: the paper's methods.
 *
 * Section 3 of the paper; what it measured, and what the inverted index and the
 * product of bits are compared with.  Nothing chooses them by itself.
 *
 *	merge			IP		a pair's merge path cut into pieces, each merged in
 *							shared memory by all threads of a block
 *	search			OBS		each element of the smaller set searched in the larger
 *	merge_search	IP-OBS	the search within a piece
 *	merge_hash		IP-HI	a hash table of the piece's part of one set
 *	hash			HI		the row's hash table, probed by all its columns
 *	bitmap			BI		the row's bitmap likewise (dynamic: one at a time; all
 *							of them resident are sets_product.cu's)
 *
 * A piece is PIECE elements of both sets; the rule for equal elements at a cut
 * is that of src/sets/path.c.  Floor of the first four: the elements of both
 * sets read once for each pair.  A single pair of large sets has many pieces, so
 * that blocks share it.
 *
 * cuda/sets_pairwise.cu
 */
#include "kernels.cuh"
#include "sets.cuh"

#define THREADS 256
#define EACH    8
#define PIECE   (THREADS * EACH)
#define SLOTS   (2 * PIECE) /* of a piece's hash table: at most half are taken */

#define NOTHING UINT32_MAX /* no element has this number */

struct pairs
{
	const uint64_t *row_offset, *column_offset;
	const uint32_t *row_element, *column_element;
	uint64_t first, rows, columns;
	bool tail;
	qi_filter filter;
	uint32_t *count;
	uint64_t width;
	uint32_t *table; /* hash, bitmap: of each block */
	uint64_t table_words;
};

struct set
{
	const uint32_t *element;
	uint64_t count;
};

__device__ __forceinline__ set
set_of(const uint64_t *offset, const uint32_t *element, uint64_t s)
{
	return { element + offset[s], offset[s + 1] - offset[s] };
}

/* Are both sets large enough?  What is not counted stays 0. */
__device__ __forceinline__ bool
is_possible(const pairs &p, const set &a, const set &b, uint64_t least)
{
	return a.count > 0 && b.count > 0 && a.count >= least && b.count >= least;
}

/* As qi_path_cut(). */
__device__ void
cut_path(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m, uint64_t diagonal,
		 uint64_t *x, uint64_t *y)
{
	uint64_t low = diagonal > m ? diagonal - m : 0;
	uint64_t high = diagonal < n ? diagonal : n;

	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (a[middle] <= b[diagonal - middle - 1])
			low = middle + 1;
		else
			high = middle;
	}
	*x = low;
	*y = diagonal - low;
	if (*x > 0 && *y < m && a[*x - 1] == b[*y])
		(*y)++;
}

__device__ bool
has_element(const uint32_t *b, uint64_t m, uint32_t element)
{
	uint64_t low = 0, high = m;

	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (b[middle] < element)
			low = middle + 1;
		else
			high = middle;
	}
	return low < m && b[low] == element;
}

__device__ __forceinline__ uint32_t
slot_of(uint32_t element, uint32_t mask)
{
	return (element * 0x9E3779B1u >> 7) & mask;
}

__device__ __forceinline__ void
put_slot(uint32_t *table, uint32_t mask, uint32_t element)
{
	uint32_t i = slot_of(element, mask);

	while (atomicCAS(&table[i], NOTHING, element) != NOTHING)
		i = (i + 1) & mask;
}

__device__ __forceinline__ bool
find_slot(const uint32_t *table, uint32_t mask, uint32_t element)
{
	uint32_t i = slot_of(element, mask);

	while (table[i] != NOTHING && table[i] != element)
		i = (i + 1) & mask;
	return table[i] == element;
}

/* ---- a piece of a pair ---- */

/* Both parts of a piece, in shared memory: a's, then b's; a match at a cut makes one more. */
struct piece
{
	uint32_t element[PIECE + 1];
	uint64_t x[2], y[2];
};

__device__ void
load_piece(piece *s, const set &a, const set &b, uint64_t number, uint32_t *n, uint32_t *m)
{
	uint64_t total = a.count + b.count;

	if (threadIdx.x < 2)
	{
		uint64_t diagonal = (number + threadIdx.x) * PIECE;

		cut_path(a.element, a.count, b.element, b.count, diagonal < total ? diagonal : total,
				 &s->x[threadIdx.x], &s->y[threadIdx.x]);
	}
	__syncthreads();
	*n = (uint32_t) (s->x[1] - s->x[0]);
	*m = (uint32_t) (s->y[1] - s->y[0]);
	for (uint32_t i = threadIdx.x; i < *n; i += THREADS)
		s->element[i] = a.element[s->x[0] + i];
	for (uint32_t i = threadIdx.x; i < *m; i += THREADS)
		s->element[*n + i] = b.element[s->y[0] + i];
	__syncthreads();
}

/* Each thread merges its share of the piece's path. */
__device__ uint32_t
merge_piece(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
	uint32_t total = n + m, begin = threadIdx.x * EACH;
	uint64_t x, y, end_x, end_y;
	uint32_t common = 0;

	if (begin >= total)
		return 0;
	/* the one element more, if there is one, is the last thread's */
	uint32_t end = threadIdx.x == THREADS - 1 || begin + EACH > total ? total : begin + EACH;
	cut_path(a, n, b, m, begin, &x, &y);
	cut_path(a, n, b, m, end, &end_x, &end_y);
	while (x < end_x && y < end_y)
	{
		uint32_t left = a[x], right = b[y];

		common += left == right;
		x += left <= right;
		y += right <= left;
	}
	return common;
}

__device__ uint32_t
search_piece(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
	uint32_t common = 0;

	for (uint32_t i = threadIdx.x; i < n; i += THREADS)
		common += has_element(b, m, a[i]);
	return common;
}

__device__ uint32_t
hash_piece(uint32_t *table, const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
	uint32_t common = 0;

	for (uint32_t i = threadIdx.x; i < SLOTS; i += THREADS)
		table[i] = NOTHING;
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < n; i += THREADS)
		put_slot(table, SLOTS - 1, a[i]);
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < m; i += THREADS)
		common += find_slot(table, SLOTS - 1, b[i]);
	return common;
}

/* A part of the smaller set, searched in all of the larger one. */
__device__ uint32_t
search_part(const set &small, const set &large, uint64_t number)
{
	uint64_t from = number * PIECE;
	uint64_t to = small.count - from < PIECE ? small.count : from + PIECE;
	uint32_t common = 0;

	for (uint64_t i = from + threadIdx.x; i < to; i += THREADS)
		common += has_element(large.element, large.count, small.element[i]);
	return common;
}

/* ---- pairs ---- */

template <int Method>
__device__ uint32_t
count_piece(piece *s, uint32_t *table, const set &a, const set &b, uint64_t number)
{
	uint32_t n, m;

	if (Method == QI_SEARCH)
		return a.count < b.count ? search_part(a, b, number) : search_part(b, a, number);
	load_piece(s, a, b, number, &n, &m);
	if (Method == QI_MERGE)
		return merge_piece(s->element, n, s->element + n, m);
	if (Method == QI_MERGE_SEARCH)
		return search_piece(s->element, n, s->element + n, m);
	return hash_piece(table, s->element, n, s->element + n, m);
}

template <int Method>
__device__ __forceinline__ uint64_t
pieces_of(const set &a, const set &b)
{
	uint64_t elements = a.count + b.count;

	if (Method == QI_SEARCH)
		elements = a.count < b.count ? a.count : b.count;
	return (elements + PIECE - 1) / PIECE;
}

/* Blocks in x share the pairs, blocks in y the pieces of each. */
template <int Method>
__global__ void
__launch_bounds__(THREADS) count_pairs(const pairs p)
{
	__shared__ piece s;
	__shared__ uint32_t table[Method == QI_MERGE_HASH ? SLOTS : 1];

	for (uint64_t i = blockIdx.x; i < p.rows * p.columns; i += gridDim.x)
	{
		uint64_t row = p.first + i / p.columns, column = i % p.columns;
		set a, b;
		uint64_t pieces;
		uint32_t common = 0;

		if (p.tail && column <= row)
			continue;
		a = set_of(p.row_offset, p.row_element, row);
		b = set_of(p.column_offset, p.column_element, column);
		if (!is_possible(p, a, b, qi_filter_least(&p.filter, a.count)))
			continue;
		pieces = pieces_of<Method>(a, b);
		for (uint64_t number = blockIdx.y; number < pieces; number += gridDim.y)
		{
			common += count_piece<Method>(&s, table, a, b, number);
			__syncthreads();
		}
		for (int d = 16; d; d >>= 1)
			common += __shfl_down_sync(QS_ALL_LANES, common, d);
		if (qs_lane() == 0 && common > 0)
			atomicAdd(&p.count[(row - p.first) * p.width + column], common);
	}
}

/* ---- a row's table, probed by all columns ---- */

/* A table that takes "count" elements at most half. */
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
fill_table(uint32_t *table, const set &a, uint32_t mask)
{
	for (uint64_t i = threadIdx.x; !Bitmap && i <= mask; i += THREADS)
		table[i] = NOTHING;
	__syncthreads();
	for (uint64_t i = threadIdx.x; i < a.count; i += THREADS)
		if (Bitmap)
			atomicOr(&table[a.element[i] / 32], 1u << (a.element[i] % 32));
		else
			put_slot(table, mask, a.element[i]);
	__syncthreads();
}

/* A bitmap is zero between rows, since it may be far larger than a row. */
template <bool Bitmap>
__device__ void
clear_table(uint32_t *table, const set &a)
{
	__syncthreads();
	for (uint64_t i = threadIdx.x; Bitmap && i < a.count; i += THREADS)
		table[a.element[i] / 32] = 0;
	__syncthreads();
}

/* A block for each row; a warp for each of its columns. */
template <bool Bitmap>
__global__ void
__launch_bounds__(THREADS) probe_rows(const pairs p)
{
	uint32_t *table = p.table + blockIdx.x * p.table_words;

	for (uint64_t r = blockIdx.x; r < p.rows; r += gridDim.x)
	{
		uint64_t row = p.first + r;
		set a = set_of(p.row_offset, p.row_element, row);
		uint64_t least = qi_filter_least(&p.filter, a.count);
		uint32_t mask = mask_for(a.count);

		fill_table<Bitmap>(table, a, mask);
		for (uint64_t c = (p.tail ? row + 1 : 0) + threadIdx.x / 32; c < p.columns;
			 c += THREADS / 32)
		{
			set b = set_of(p.column_offset, p.column_element, c);
			uint32_t common = 0;

			if (!is_possible(p, a, b, least))
				continue;
			for (uint64_t i = qs_lane(); i < b.count; i += 32)
				common += Bitmap ? table[b.element[i] / 32] >> b.element[i] % 32 & 1
								 : find_slot(table, mask, b.element[i]);
			for (int d = 16; d; d >>= 1)
				common += __shfl_down_sync(QS_ALL_LANES, common, d);
			if (qs_lane() == 0)
				p.count[r * p.width + c] = common;
		}
		clear_table<Bitmap>(table, a);
	}
}

/* ---- host ---- */

static qs_status
launch_pairs(qs_cuda *gpu, void (*kernel)(const pairs), const pairs *t, uint64_t largest)
{
	uint64_t all = t->rows * t->columns;
	uint64_t pieces = qs_ceil_div(largest, PIECE);
	int blocks;
	dim3 grid;

	QS_TRY(qs_grid(gpu, kernel, THREADS, 0, UINT64_MAX, &blocks));
	grid.x = (unsigned) (all < (uint64_t) blocks ? all : blocks);
	grid.y = (unsigned) (blocks / grid.x > 1 ? blocks / grid.x : 1);
	if (grid.y > pieces)
		grid.y = (unsigned) (pieces > 0 ? pieces : 1);
	kernel<<<grid, THREADS, 0, gpu->stream>>>(*t);
	QS_CUDA_LAUNCHED(gpu);
	return QS_OK;
}

/* Words of a table for the largest row. */
static uint64_t
table_words(const qi_pairwise *p)
{
	uint64_t slots = 64;

	if (p->method == QI_BITMAP)
		return qs_ceil_div(p->columns->universe, 32) + 1;
	while (slots < 2 * p->rows->largest)
		slots *= 2;
	return slots;
}

static qs_status
launch_rows(qs_cuda *gpu, const qi_pairwise *p, pairs *t)
{
	bool bitmap = p->method == QI_BITMAP;
	auto kernel = bitmap ? probe_rows<true> : probe_rows<false>;
	uint8_t *work;
	int grid;

	t->table_words = table_words(p);
	QS_TRY(qs_grid(gpu, kernel, THREADS, 0, t->rows, &grid));
	QS_TRY(qs_workspace(gpu, grid * t->table_words * sizeof(*t->table), &work));
	t->table = (uint32_t *) work;
	if (bitmap)
		QS_CUDA_TRY(gpu, cudaMemsetAsync(work, 0, grid * t->table_words * sizeof(*t->table),
										 gpu->stream));
	kernel<<<grid, THREADS, 0, gpu->stream>>>(*t);
	QS_CUDA_LAUNCHED(gpu);
	return QS_OK;
}

qs_status
qi_pairwise_count(qs_cuda *gpu, const qi_pairwise *p, const qi_strip *strip)
{
	uint64_t largest = p->rows->largest + p->columns->largest;
	pairs t = { p->rows->offset,
				p->columns->offset,
				p->rows->element,
				p->columns->element,
				strip->first,
				strip->rows,
				p->columns->sets,
				p->tail,
				p->filter,
				strip->count,
				strip->width,
				NULL,
				0 };

	if (t.rows == 0 || t.columns == 0)
		return QS_OK;
	switch (p->method)
	{
		case QI_MERGE:
			return launch_pairs(gpu, count_pairs<QI_MERGE>, &t, largest);
		case QI_SEARCH:
			return launch_pairs(gpu, count_pairs<QI_SEARCH>, &t, largest);
		case QI_MERGE_SEARCH:
			return launch_pairs(gpu, count_pairs<QI_MERGE_SEARCH>, &t, largest);
		case QI_MERGE_HASH:
			return launch_pairs(gpu, count_pairs<QI_MERGE_HASH>, &t, largest);
		default:
			return launch_rows(gpu, p, &t);
	}
}
