/*
 * sets_techniques.cu
 *		A strip of counts, one pair of sets after another: the paper's methods.
 *
 * The methods are those of the paper's section 3.  They exist for comparison with the inverted
 * index and the product of bits, and run only if a query names them.
 *
 *	merge			IP		along a pair's merge path
 *	search			OBS		each element of the smaller set is searched in the larger set
 *	merge_search	IP-OBS	the path is cut into pieces, and the search is within a piece
 *	merge_hash		IP-HI	a hash table of the piece's slice of one set
 *	hash, bitmap	HI, BI	a table of each row (all bitmaps resident: sets_product.cu)
 *
 * A piece has at most PIECE + 1 elements of both sets together.  Equal elements at a cut are
 * treated as in src/sets/techniques.c.  Floor of merge, merge_search and merge_hash: each pair
 * reads all elements of both sets once.  A single pair of large sets has many pieces, so several
 * blocks share the pair.
 *
 * SQL: qsets_pairs(method => 'merge'), or any other of these methods.
 *
 * cuda/sets_techniques.cu
 */
#include "sets.cuh"
#include "sets_path.cuh"

#include "base/slot.h"

#define THREADS 256
#define WARPS   (THREADS / 32)
#define SLOTS   8192 /* slots of a piece's hash table, which is at most half full */
#define PIECE   3328
#define CUTS    (2 * WARPS) /* cuts that are found at a time */

struct pairs
{
	const uint64_t *row_offset, *column_offset;
	const uint32_t *row_element, *column_element;
	uint64_t first, rows, columns;
	bool tail;
	qset_filter filter;
	uint32_t *count;
	uint64_t width;
	uint32_t *table; /* hash, bitmap: a table for each block of threads */
	uint64_t table_words;
	qb_secret secret;
};

__device__ __forceinline__ set
set_of(const uint64_t *offset, const uint32_t *element, uint64_t s)
{
	return { element + offset[s], offset[s + 1] - offset[s] };
}

/* True if both sets are large enough for the pair to pass.  If not, the pair's count stays 0. */
__device__ __forceinline__ bool
is_possible(const pairs &p, const set &a, const set &b, uint64_t least)
{
	return a.count > 0 && b.count > 0 && a.count >= least && b.count >= least;
}

__device__ __forceinline__ uint32_t
slot_of(const qb_secret &secret, uint32_t element, uint32_t mask)
{
	return (uint32_t) qb_slot_hash_by(&secret, element) & mask;
}

__device__ __forceinline__ void
put_slot(uint32_t *table, uint32_t mask, const qb_secret &secret, uint32_t element)
{
	uint32_t i = slot_of(secret, element, mask);

	while (atomicCAS(&table[i], NOTHING, element) != NOTHING)
		i = (i + 1) & mask;
}

__device__ __forceinline__ bool
find_slot(const uint32_t *table, uint32_t mask, const qb_secret &secret, uint32_t element)
{
	uint32_t i = slot_of(secret, element, mask);

	while (table[i] != NOTHING && table[i] != element)
		i = (i + 1) & mask;
	return table[i] == element;
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

/* Where consecutive pieces begin. */
struct cuts
{
	uint64_t x[CUTS], y[CUTS];
};

/*
 * A piece in shared memory: a's slice, followed by b's slice.  The additional element is for a
 * common element at a cut.
 */
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

/*
 * Find the starts of "count" pieces, beginning with piece "first".  Each warp finds some of the
 * cuts.
 */
__device__ void
find_cuts(cuts *c, const set &a, const set &b, const slice &p, uint32_t first, uint32_t count)
{
	for (uint32_t i = threadIdx.x / 32; i < count; i += WARPS)
	{
		uint64_t x, y;

		cut_by_warp(a, b, p.from + (p.to - p.from) * (first + i) / p.pieces, &x, &y);
		if (qs_lane() == 0)
		{
			/* as in qset_path_cut(), keep a common element in one piece */
			y += x > 0 && y < b.count && a.element[x - 1] == b.element[y];
			c->x[i] = x;
			c->y[i] = y;
		}
	}
	__syncthreads();
}

/* Return this thread's number of common elements of two slices, by a hash table of slice a. */
__device__ uint32_t
hash_piece(uint32_t *table, const qb_secret &secret, const set &a, const set &b)
{
	uint32_t common = 0;

	for (uint32_t i = threadIdx.x; i < SLOTS; i += THREADS)
		table[i] = NOTHING;
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < a.count; i += THREADS)
		put_slot(table, SLOTS - 1, secret, a.element[i]);
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < b.count; i += THREADS)
		common += find_slot(table, SLOTS - 1, secret, b.element[i]);
	return common;
}

/*
 * Search the elements "from" to "to" - 1 of "small" in the whole set "large".  Returns this
 * thread's number of common elements.
 */
__device__ uint32_t
search_slice(const set &small, const set &large, uint64_t from, uint64_t to)
{
	uint32_t common = 0;

	for (uint64_t i = from + threadIdx.x; i < to; i += THREADS)
		common += has_element(large.element, large.count, small.element[i]);
	return common;
}

/* ---- pairs ---- */

/* Load the piece behind a cut into shared memory, and count its common elements. */
template <int Method>
__device__ uint32_t
count_piece(piece *s, uint32_t *table, const qb_secret &secret, const set &a, const set &b,
			uint32_t cut)
{
	uint64_t x = s->cut.x[cut], y = s->cut.y[cut];
	set mine = { s->element, (uint32_t) (s->cut.x[cut + 1] - x) };
	set other = { s->element + mine.count, (uint32_t) (s->cut.y[cut + 1] - y) };

	for (uint32_t i = threadIdx.x; i < mine.count; i += THREADS)
		s->element[i] = a.element[x + i];
	for (uint32_t i = threadIdx.x; i < other.count; i += THREADS)
		s->element[mine.count + i] = b.element[y + i];
	__syncthreads();
	if (Method == QSET_MERGE_SEARCH)
		return search_slice(mine, other, 0, mine.count);
	return hash_piece(table, secret, mine, other);
}

/*
 * Count the common elements of a pair in this block's slice of the path.  Each block that shares
 * the pair has one slice.
 */
template <int Method>
__device__ uint32_t
count_slice(piece *s, uint32_t *table, const pairs &all, const set &a, const set &b)
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

/*
 * Count the common elements of a pair: search this block's slice of the smaller set in the larger
 * set.
 */
__device__ uint32_t
search_pair(const set &a, const set &b)
{
	const set &small = a.count < b.count ? a : b, &large = a.count < b.count ? b : a;

	return search_slice(small, large, small.count * blockIdx.y / gridDim.y,
						small.count * (blockIdx.y + 1) / gridDim.y);
}

/*
 * Blocks with different blockIdx.x process different pairs.  Blocks with different blockIdx.y share
 * a pair.
 */
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
		common =
			Method == QSET_SEARCH ? search_pair(a, b) : count_slice<Method>(&s, table, p, a, b);
		common = __reduce_add_sync(QS_ALL_LANES, common);
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
	return qs_launched(gpu);
}

/* ---- pairs along their merge paths (sets_path.cuh) ---- */

/*
 * "slices" warps share a pair, one shard per warp.  Warps that remain, fewer than "slices", do
 * nothing.
 */
__global__ void __launch_bounds__(32 * PATH_WARPS) merge_pairs(const pairs p, uint32_t slices)
{
	__shared__ __align__(16) uint32_t ring[PATH_WARPS][2 * (RING + AGAIN)];
	uint32_t warp = blockIdx.x * PATH_WARPS + threadIdx.x / 32, number = warp % slices;
	uint32_t at_a_time = gridDim.x * PATH_WARPS / slices;
	uint64_t r = 0, column = warp / slices;

	if (column >= at_a_time)
		return;
	for (;; column += at_a_time)
	{
		uint64_t row, from, x, y;
		uint32_t common;
		set a, b;

		if (column >= p.columns)
		{
			r += column / p.columns;
			column %= p.columns;
		}
		if (r >= p.rows)
			return;
		row = p.first + r;
		if (p.tail && column <= row)
			continue;
		a = set_of(p.row_offset, p.row_element, row);
		b = set_of(p.column_offset, p.column_element, column);
		if (!is_possible(p, a, b, qset_filter_least(&p.filter, a.count)))
			continue;
		from = cut_path(a, b, number, slices);
		cut_by_warp(a, b, from, &x, &y);
		common = merge_shard(ring[threadIdx.x / 32], a, x, b, y,
							 cut_path(a, b, number + 1, slices) - from);
		common = __reduce_add_sync(QS_ALL_LANES, common);
		if (qs_lane() == 0 && common > 0)
			atomicAdd(&p.count[r * p.width + column], common);
	}
}

/*
 * Launch merge_pairs.  "largest" is an upper limit of the elements of both sets of a pair together.
 */
static qb_status
launch_merge(qs_cuda *gpu, const pairs *t, uint64_t largest)
{
	uint64_t all = t->rows * t->columns, most = largest / (2 * PATH_PIECE), slices;
	int grid;

	QS_TRY(qs_grid(gpu, merge_pairs, 32 * PATH_WARPS, 0, UINT64_MAX, &grid));
	slices = (uint64_t) grid * PATH_WARPS / all;
	slices = slices < most ? slices : most;
	/* enough slices that a shard's number of steps fits in 32 bits */
	slices = slices > largest >> 31 ? slices : (largest >> 31) + 1;
	merge_pairs<<<grid, 32 * PATH_WARPS, 0, gpu->stream>>>(*t, (uint32_t) slices);
	return qs_launched(gpu);
}

/*
 * ---- counting by a table of each row, in which the elements of all columns are looked up ----
 *
 * The paper's HI and BI (section 3) have a hash table of the row, or its bitmap over the whole
 * universe, in global memory.  Floor: for each row, every element of every column is read and
 * looked up.
 */

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

/*
 * Clear a bitmap, which may be far larger than a row.  So only words with bits of the row are
 * cleared.  fill_table() clears a hash table.
 */
template <bool Bitmap>
__device__ void
clear_table(uint32_t *table, const set &a)
{
	__syncthreads();
	for (uint64_t i = threadIdx.x; Bitmap && i < a.count; i += THREADS)
		table[a.element[i] / 32] = 0;
	__syncthreads();
}

/* A block processes a row, and each of its warps processes some of the columns. */
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
		uint32_t mask = (uint32_t) qs_slots_for(a.count) - 1;

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
			common = __reduce_add_sync(QS_ALL_LANES, common);
			if (qs_lane() == 0)
				p.count[r * p.width + c] = common;
		}
		clear_table<Bitmap>(table, a);
	}
}

/* Return the number of words of a table that is large enough for every row. */
static uint64_t
table_words(const qset_pairwise *p)
{
	if (p->method == QSET_BITMAP)
		return qs_ceil_div(p->columns->universe, 32) + 1;
	return qs_slots_for(p->rows->largest);
}

static auto
kernel_of(const qset_pairwise *p)
{
	return p->method == QSET_BITMAP ? probe_rows<true> : probe_rows<false>;
}

qb_status
qset_probe_words(qs_cuda *gpu, const qset_pairwise *p, uint64_t rows, uint64_t *words)
{
	int grid = 0;

	if (p->method == QSET_HASH || p->method == QSET_BITMAP)
		QS_TRY(qs_grid(gpu, kernel_of(p), THREADS, 0, rows, &grid));
	*words = grid * table_words(p);
	return QB_OK;
}

static qb_status
launch_probe(qs_cuda *gpu, const qset_pairwise *p, pairs *t)
{
	int grid;

	t->table = p->table;
	t->table_words = table_words(p);
	QS_TRY(qs_grid(gpu, kernel_of(p), THREADS, 0, t->rows, &grid));
	if (p->method == QSET_BITMAP)
		QS_CUDA_TRY(gpu, cudaMemsetAsync(t->table, 0, grid * t->table_words * sizeof(*t->table),
										 gpu->stream));
	kernel_of(p)<<<grid, THREADS, 0, gpu->stream>>>(*t);
	return qs_launched(gpu);
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
				qb_process_secret };

	if (t.rows == 0 || t.columns == 0)
		return QB_OK;
	switch (p->method)
	{
		case QSET_MERGE:
			return launch_merge(gpu, &t, largest);
		case QSET_SEARCH:
			return launch_pairs<QSET_SEARCH>(gpu, &t, largest);
		case QSET_MERGE_SEARCH:
			return launch_pairs<QSET_MERGE_SEARCH>(gpu, &t, largest);
		case QSET_MERGE_HASH:
			return launch_pairs<QSET_MERGE_HASH>(gpu, &t, largest);
		default:
			return launch_probe(gpu, p, &t);
	}
}
