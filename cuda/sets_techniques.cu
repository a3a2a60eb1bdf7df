/*
 * sets_techniques.cu
 *		A strip of counts, one pair of sets after another: the paper's methods.
 *
 * The methods are those of the paper's section 3.  They exist for comparison
 * with the inverted index and the product of bits, and run only when asked for
 * by name.
 *
 *	merge			IP		along a pair's merge path (sets_techniques_path.cu)
 *	search			OBS		each element of the smaller set searched in the larger
 *	merge_search	IP-OBS	the path cut into pieces, and the search within a piece
 *	merge_hash		IP-HI	a hash table of the piece's slice of one set
 *	hash, bitmap	HI, BI	in sets_techniques_table.cu (all bitmaps resident: sets_product.cu)
 *
 * A piece has a fixed number of elements of both sets together.  A cut treats
 * equal elements as src/sets/techniques.c does.  Floor of the first four
 * methods: the elements of both sets read once for each pair.  A single pair
 * of large sets has many pieces, so several blocks share it.
 *
 * cuda/sets_techniques.cu
 */
#include "sets_techniques.cuh"

#define WARPS (THREADS / 32)
#define SLOTS 8192 /* of a piece's hash table; at most half of them are taken */
#define PIECE 3328
#define CUTS  (2 * WARPS) /* cuts that are found at a time */

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

/* Where consecutive pieces begin. */
struct cuts
{
	uint64_t x[CUTS], y[CUTS];
};

/* Both slices of a piece, in shared memory: a's, then b's.  A match at the cut adds one element. */
struct piece
{
	uint32_t element[PIECE + 1];
	cuts cut;
};

/* A slice of a pair's path, between two diagonals, in pieces of the same size. */
struct slice
{
	uint64_t from, to;
	uint32_t pieces;
};

/* Find where the pieces first .. first + count - 1 begin; each warp finds some. */
__device__ void
find_cuts(cuts *c, const set &a, const set &b, const slice &p, uint32_t first, uint32_t count)
{
	for (uint32_t i = threadIdx.x / 32; i < count; i += WARPS)
	{
		uint64_t x, y;

		cut_by_warp(a, b, p.from + (p.to - p.from) * (first + i) / p.pieces, &x, &y);
		if (qs_lane() == 0)
		{
			/* as in qset_path_cut(): a common element stays in one piece */
			y += x > 0 && y < b.count && a.element[x - 1] == b.element[y];
			c->x[i] = x;
			c->y[i] = y;
		}
	}
	__syncthreads();
}

__device__ void
load_piece(piece *s, const set &a, const set &b, uint32_t cut, uint32_t *n, uint32_t *m)
{
	*n = (uint32_t) (s->cut.x[cut + 1] - s->cut.x[cut]);
	*m = (uint32_t) (s->cut.y[cut + 1] - s->cut.y[cut]);
	for (uint32_t i = threadIdx.x; i < *n; i += THREADS)
		s->element[i] = a.element[s->cut.x[cut] + i];
	for (uint32_t i = threadIdx.x; i < *m; i += THREADS)
		s->element[*n + i] = b.element[s->cut.y[cut] + i];
	__syncthreads();
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
hash_piece(uint32_t *table, const qb_secret &secret, const uint32_t *a, uint32_t n,
		   const uint32_t *b, uint32_t m)
{
	uint32_t common = 0;

	for (uint32_t i = threadIdx.x; i < SLOTS; i += THREADS)
		table[i] = NOTHING;
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < n; i += THREADS)
		put_slot(table, SLOTS - 1, secret, a[i]);
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < m; i += THREADS)
		common += find_slot(table, SLOTS - 1, secret, b[i]);
	return common;
}

/* Search the elements from .. to - 1 of the smaller set in the whole larger set. */
__device__ uint32_t
search_slice(const set &small, const set &large, uint64_t from, uint64_t to)
{
	uint32_t common = 0;

	for (uint64_t i = from + threadIdx.x; i < to; i += THREADS)
		common += has_element(large.element, large.count, small.element[i]);
	return common;
}

/* ---- pairs ---- */

template <int Method>
__device__ uint32_t
count_piece(piece *s, uint32_t *table, const qb_secret &secret, const set &a, const set &b,
			uint32_t cut)
{
	uint32_t n, m;

	load_piece(s, a, b, cut, &n, &m);
	if (Method == QSET_MERGE_SEARCH)
		return search_piece(s->element, n, s->element + n, m);
	return hash_piece(table, secret, s->element, n, s->element + n, m);
}

/* Count the slice of a pair's path that this block has among those that share the pair. */
template <int Method>
__device__ uint32_t
count_part(piece *s, uint32_t *table, const pairs &all, const set &a, const set &b)
{
	uint32_t number = blockIdx.y, slices = gridDim.y;
	uint64_t steps = a.count + b.count;
	slice p = { steps * number / slices, steps * (number + 1) / slices, 0 };
	uint32_t common = 0;

	p.pieces = (uint32_t) ((p.to - p.from + PIECE - 1) / PIECE);
	for (uint32_t first = 0; first < p.pieces; first += CUTS - 1)
	{
		uint32_t count = p.pieces - first < CUTS - 1 ? p.pieces - first : CUTS - 1;

		find_cuts(&s->cut, a, b, p, first, count + 1);
		for (uint32_t cut = 0; cut < count; cut++)
		{
			common += count_piece<Method>(s, table, all.secret, a, b, cut);
			__syncthreads();
		}
	}
	return common;
}

/* Count one of "slices" equal slices of a pair by searching the smaller set's elements. */
__device__ uint32_t
search_pair(const set &a, const set &b, uint32_t number, uint32_t slices)
{
	const set &small = a.count < b.count ? a : b, &large = a.count < b.count ? b : a;

	return search_slice(small, large, small.count * number / slices,
					   small.count * (number + 1) / slices);
}

/* Blocks with different x take different pairs; blocks with different y share each pair. */
template <int Method>
__global__ void
__launch_bounds__(THREADS) count_pairs(const __grid_constant__ pairs p)
{
	__shared__ piece s;
	__shared__ uint32_t table[Method == QSET_MERGE_HASH ? SLOTS : 1];

	for (uint64_t i = blockIdx.x; i < p.rows * p.columns; i += gridDim.x)
	{
		uint64_t row = p.first + i / p.columns, column = i % p.columns;
		set a, b;
		uint32_t common;

		if (p.tail && column <= row)
			continue;
		a = set_of(p.row_offset, p.row_element, row);
		b = set_of(p.column_offset, p.column_element, column);
		if (!is_possible(p, a, b, qset_filter_least(&p.filter, a.count)))
			continue;
		common = Method == QSET_SEARCH ? search_pair(a, b, blockIdx.y, gridDim.y)
									   : count_part<Method>(&s, table, p, a, b);
		for (int d = 16; d; d >>= 1)
			common += __shfl_down_sync(QS_ALL_LANES, common, d);
		if (qs_lane() == 0 && common > 0)
			atomicAdd(&p.count[(row - p.first) * p.width + column], common);
	}
}

/* ---- host ---- */

template <int Method>
static qb_status
launch_pairs(qs_cuda *gpu, const pairs *t, uint64_t largest)
{
	uint64_t all = t->rows * t->columns;
	uint64_t pieces = qs_ceil_div(largest, PIECE);
	int blocks;
	dim3 grid;

	QS_TRY(qs_grid(gpu, count_pairs<Method>, THREADS, 0, UINT64_MAX, &blocks));
	grid.x = (unsigned) (all < (uint64_t) blocks ? all : blocks);
	grid.y = (unsigned) (blocks / grid.x > 1 ? blocks / grid.x : 1);
	if (grid.y > pieces)
		grid.y = (unsigned) (pieces > 0 ? pieces : 1);
	count_pairs<Method><<<grid, THREADS, 0, gpu->stream>>>(*t);
	QS_CUDA_LAUNCHED(gpu);
	return QB_OK;
}

qb_status
qset_pairwise_count(qs_cuda *gpu, const qset_pairwise *p, const qset_strip *strip)
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
				0,
				qb_own_secret };

	if (t.rows == 0 || t.columns == 0)
		return QB_OK;
	switch (p->method)
	{
		case QSET_MERGE:
			return qset_merge_pairs(gpu, &t, largest);
		case QSET_SEARCH:
			return launch_pairs<QSET_SEARCH>(gpu, &t, largest);
		case QSET_MERGE_SEARCH:
			return launch_pairs<QSET_MERGE_SEARCH>(gpu, &t, largest);
		case QSET_MERGE_HASH:
			return launch_pairs<QSET_MERGE_HASH>(gpu, &t, largest);
		default:
			return qset_probe_rows(gpu, p, &t);
	}
}
