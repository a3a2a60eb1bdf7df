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
#define WARPS   (THREADS / 32)
#define EACH    13 /* odd, so that neighbouring threads begin in other banks */
#define PIECE   (THREADS * EACH)
#define SLOTS   8192        /* of a piece's hash table: at most half are taken */
#define CUTS    (2 * WARPS) /* found at a time */

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

/* As qi_path_cut(), in a piece. */
__device__ __forceinline__ void
cut_path(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m, uint32_t diagonal,
		 uint32_t *x, uint32_t *y)
{
	uint32_t low = diagonal > m ? diagonal - m : 0;
	uint32_t high = diagonal < n ? diagonal : n;

	while (low < high)
	{
		uint32_t middle = (low + high) / 2;

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
	uint32_t x[THREADS + 1], y[THREADS + 1]; /* cuts within it */
	uint64_t cut_x[CUTS], cut_y[CUTS];       /* where some pieces begin */
};

/* cut_path() by a warp: 32 places looked at in each round, not one after another. */
__device__ void
cut_by_warp(const set &a, const set &b, uint64_t diagonal, uint64_t *x, uint64_t *y)
{
	uint64_t low = diagonal > b.count ? diagonal - b.count : 0;
	uint64_t high = diagonal < a.count ? diagonal : a.count;

	while (low < high)
	{
		uint64_t step = (high - low + 31) / 32;
		uint64_t at = low + qs_lane() * step;
		bool before = at < high && a.element[at] <= b.element[diagonal - at - 1];
		uint32_t lanes = __popc(__ballot_sync(QS_ALL_LANES, before));

		/* the last place that is before, and the first that is not */
		high = lanes < 32 && low + lanes * step < high ? low + lanes * step : high;
		low = lanes > 0 ? low + (lanes - 1) * step + 1 : low;
	}
	*x = low;
	*y = diagonal - low;
	if (*x > 0 && *y < b.count && a.element[*x - 1] == b.element[*y])
		(*y)++;
}

/* Where pieces first .. first + count - 1 begin; each warp finds some. */
__device__ void
find_cuts(piece *s, const set &a, const set &b, uint64_t first, uint32_t count)
{
	uint64_t total = a.count + b.count;

	for (uint32_t i = threadIdx.x / 32; i < count; i += WARPS)
	{
		uint64_t diagonal = (first + i) * PIECE;
		uint64_t x, y;

		cut_by_warp(a, b, diagonal < total ? diagonal : total, &x, &y);
		if (qs_lane() == 0)
		{
			s->cut_x[i] = x;
			s->cut_y[i] = y;
		}
	}
	__syncthreads();
}

__device__ void
load_piece(piece *s, const set &a, const set &b, uint32_t cut, uint32_t *n, uint32_t *m)
{
	*n = (uint32_t) (s->cut_x[cut + 1] - s->cut_x[cut]);
	*m = (uint32_t) (s->cut_y[cut + 1] - s->cut_y[cut]);
	for (uint32_t i = threadIdx.x; i < *n; i += THREADS)
		s->element[i] = a.element[s->cut_x[cut] + i];
	for (uint32_t i = threadIdx.x; i < *m; i += THREADS)
		s->element[*n + i] = b.element[s->cut_y[cut] + i];
	__syncthreads();
}

/* Each thread merges its share of the piece's path; all threads come here. */
__device__ uint32_t
merge_piece(piece *s, uint32_t n, uint32_t m)
{
	const uint32_t *a = s->element, *b = s->element + n;
	uint32_t total = n + m, begin = threadIdx.x * EACH;
	uint32_t common = 0;

	cut_path(a, n, b, m, begin < total ? begin : total, &s->x[threadIdx.x], &s->y[threadIdx.x]);
	if (threadIdx.x == 0)
	{
		/* the one element more, if there is one, is the last thread's */
		s->x[THREADS] = n;
		s->y[THREADS] = m;
	}
	__syncthreads();
	uint32_t i = s->x[threadIdx.x], end_i = s->x[threadIdx.x + 1];
	uint32_t j = s->y[threadIdx.x], end_j = s->y[threadIdx.x + 1];

	if (i == end_i || j == end_j)
		return 0;
	uint32_t left = a[i], right = b[j];

	for (;;)
	{
		bool next_i = left <= right, next_j = right <= left;

		common += left == right;
		i += next_i;
		j += next_j;
		if (i == end_i || j == end_j)
			return common;
		if (next_i)
			left = a[i];
		if (next_j)
			right = b[j];
	}
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
count_piece(piece *s, uint32_t *table, const set &a, const set &b, uint32_t cut)
{
	uint32_t n, m;

	load_piece(s, a, b, cut, &n, &m);
	if (Method == QI_MERGE)
		return merge_piece(s, n, m);
	if (Method == QI_MERGE_SEARCH)
		return search_piece(s->element, n, s->element + n, m);
	return hash_piece(table, s->element, n, s->element + n, m);
}

/* Pieces from .. to - 1 of a pair. */
template <int Method>
__device__ uint32_t
count_pieces(piece *s, uint32_t *table, const set &a, const set &b, uint64_t from, uint64_t to)
{
	uint32_t common = 0;

	for (; Method == QI_SEARCH && from < to; from++)
		common += a.count < b.count ? search_part(a, b, from) : search_part(b, a, from);
	while (from < to)
	{
		uint32_t count = to - from < CUTS - 1 ? (uint32_t) (to - from) : CUTS - 1;

		find_cuts(s, a, b, from, count + 1);
		for (uint32_t cut = 0; cut < count; cut++)
		{
			common += count_piece<Method>(s, table, a, b, cut);
			__syncthreads();
		}
		from += count;
	}
	return common;
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
		uint32_t common;

		if (p.tail && column <= row)
			continue;
		a = set_of(p.row_offset, p.row_element, row);
		b = set_of(p.column_offset, p.column_element, column);
		if (!is_possible(p, a, b, qi_filter_least(&p.filter, a.count)))
			continue;
		pieces = pieces_of<Method>(a, b);
		common = count_pieces<Method>(&s, table, a, b, pieces * blockIdx.y / gridDim.y,
									  pieces * (blockIdx.y + 1) / gridDim.y);
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
		QS_CUDA_TRY(
			gpu, cudaMemsetAsync(work, 0, grid * t->table_words * sizeof(*t->table), gpu->stream));
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
