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
 *	hash, bitmap	HI, BI	in sets_probe.cu (all bitmaps resident: sets_product.cu)
 *
 * A piece is PIECE elements of both sets; the rule for equal elements at a cut
 * is that of src/sets/path.c.  Floor of the first four: the elements of both
 * sets read once for each pair.  A single pair of large sets has many pieces, so
 * that blocks share it.
 *
 * cuda/sets_pairwise.cu
 */
#include "sets_pairwise.cuh"

#define WARPS (THREADS / 32)
#define EACH  13 /* odd, so that neighbouring threads begin in other banks */
#define PIECE (THREADS * EACH)
#define SLOTS 8192        /* of a piece's hash table: at most half are taken */
#define CUTS  (2 * WARPS) /* found at a time */

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
			return qi_probe_rows(gpu, p, &t);
	}
}
