/*
 * sets_techniques.cu
 *		A strip of counts, one pair of sets after another: the paper's methods.
 *
 * The methods are those of the paper's section 3.  They exist for comparison
 * with the inverted index and the product of bits, and run only when asked for
 * by name.
 *
 *	merge			IP		along a pair's merge path
 *	search			OBS		each element of the smaller set searched in the larger
 *	merge_search	IP-OBS	the path cut into pieces, and the search within a piece
 *	merge_hash		IP-HI	a hash table of the piece's slice of one set
 *	hash, bitmap	HI, BI	a table of each row (all bitmaps resident: sets_product.cu)
 *
 * A piece has a fixed number of elements of both sets together.  A cut treats
 * equal elements as src/sets/techniques.c does.  Floor of the first four
 * methods: the elements of both sets read once for each pair.  A single pair
 * of large sets has many pieces, so several blocks share it.
 *
 * cuda/sets_techniques.cu
 */
#include "sets_techniques.cuh"

#include <cuda_pipeline.h>

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

/*
 * ---- iP, intersect path (paper, section 3): pairs along their merge paths ----
 *
 * A pair's path is cut into shards of the same number of steps.  Each warp
 * takes a shard by itself: warps that do not wait for one another load and
 * merge at the same time, while a block would do one after the other.  A warp
 * has a ring in shared memory for each side, into which the next elements come
 * 16 bytes at a time.  It takes one piece of the path after another: its lanes
 * find where their slices of the piece begin, then each lane goes along its
 * slice, one element a step.
 *
 * A step takes the lesser head.  If both heads are equal, it takes a's and
 * counts a common element; so nothing is counted twice where slices, pieces or
 * shards meet.  NOTHING stands behind a set's last element.
 *
 * Floor: the elements read once, 4 bytes each.  A step takes 9 instructions
 * and one read of shared memory, where the fullest bank has 3.5 of a warp's 32
 * reads on average.  Filling the rings, and finding where shards and slices
 * begin, takes more instructions than the steps.  A warp waits for memory two
 * fifths of its time.
 */

#define PATH_WARPS 4  /* warps of a block; six such blocks fit a multiprocessor of 228 kB */
#define STEPS      31 /* steps of a lane in a piece */
#define PATH_PIECE (32 * STEPS) /* steps of a piece; rings hold at least one element more */
#define RING       1024
#define AGAIN      32 /* a ring's first elements are repeated behind its last ones */
#define QUAD       4  /* elements in 16 bytes */

/* One side of a warp's shard. */
struct side
{
	uint32_t *ring;
	const uint32_t *from; /* the 16-byte boundary before the shard's first element */
	uint32_t next;        /* counted from there: the first element that was not taken */
	uint32_t loaded;      /* elements loaded so far, in whole quads */
	uint32_t end;         /* end of the set, or of what the shard can need of it */
};

__device__ __forceinline__ void
begin_side(side *s, uint32_t *ring, const uint32_t *element, uint64_t count, uint64_t steps)
{
	uint32_t skip = (uint32_t) ((uintptr_t) element / sizeof(*element) % QUAD);

	s->ring = ring;
	s->from = element - skip;
	s->next = skip;
	s->loaded = 0;
	s->end = skip + (uint32_t) (count < steps + 1 ? count : steps + 1);
}

/* Copy a quad to shared memory: "bytes" of it are read, the others become 0. */
__device__ __forceinline__ void
bring_quad(uint32_t to, const uint32_t *from, uint32_t bytes)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
				 : "memory");
}

/* Fill the free room of the ring; nothing behind the end is read. */
__device__ __forceinline__ void
fill_ring(side *s)
{
	uint32_t first = s->next / QUAD * QUAD;
	uint32_t upto = s->end - first < RING ? s->end : first + RING;
	uint32_t ring = (uint32_t) __cvta_generic_to_shared(s->ring);

	for (uint32_t i = s->loaded + qs_lane() * QUAD; i < upto; i += 32 * QUAD)
	{
		uint32_t to = ring + i % RING * sizeof(uint32_t);
		uint32_t bytes = min(upto - i, QUAD) * sizeof(uint32_t);

		bring_quad(to, s->from + i, bytes);
		if (i % RING < AGAIN)
			bring_quad(to + RING * sizeof(uint32_t), s->from + i, bytes);
	}
	s->loaded = (upto + QUAD - 1) / QUAD * QUAD;
}

/* Write NOTHING behind the end, once a piece may come there. */
__device__ __forceinline__ void
end_ring(const side &s)
{
	uint32_t at = s.end % RING + qs_lane() * RING;

	if (qs_lane() < 2 && at < RING + AGAIN && s.end - s.next <= PATH_PIECE)
		s.ring[at] = NOTHING;
}

/* How many of a's next elements are among the first "diagonal" elements of both sides merged. */
__device__ __forceinline__ uint32_t
cut_piece(const side &a, const side &b, uint32_t diagonal)
{
	uint32_t n = a.end - a.next, m = b.end - b.next;
	uint32_t low = diagonal > m ? diagonal - m : 0;
	uint32_t high = diagonal < n ? diagonal : n;

	while (low < high)
	{
		uint32_t middle = (low + high) / 2;
		bool before =
			a.ring[(a.next + middle) % RING] <= b.ring[(b.next + diagonal - middle - 1) % RING];

		low = before ? middle + 1 : low;
		high = before ? high : middle;
	}
	return low;
}

/* A lane's position: both heads, and where they stand in shared memory. */
struct heads
{
	uint32_t a, b, at_a, at_b;
};

/*
 * Take the lesser head; of two equal heads a's.  The compiler's own code for
 * this has twice as many instructions.
 */
__device__ __forceinline__ void
take_head(heads &h, uint32_t &common)
{
	asm volatile("{ .reg .pred take_a, same;\n"
				 "  .reg .u32 next;\n"
				 "  setp.le.u32 take_a, %0, %1;\n"
				 "  setp.eq.u32 same, %0, %1;\n"
				 "  @take_a add.u32 %2, %2, 4;\n"
				 "  @!take_a add.u32 %3, %3, 4;\n"
				 "  selp.u32 next, %2, %3, take_a;\n"
				 "  ld.shared.u32 next, [next];\n"
				 "  @same add.u32 %4, %4, 1;\n"
				 "  selp.u32 %0, next, %0, take_a;\n"
				 "  selp.u32 %1, %1, next, take_a; }"
				 : "+r"(h.a), "+r"(h.b), "+r"(h.at_a), "+r"(h.at_b), "+r"(common)
				 :
				 : "memory");
}

/*
 * Merge a piece of the path, and advance both sides behind it; returns this
 * lane's common elements.
 */
__device__ __forceinline__ uint32_t
merge_piece(side *a, side *b, uint32_t steps)
{
	uint32_t shard = steps == PATH_PIECE ? STEPS : (steps + 31) / 32;
	uint32_t from = min(qs_lane() * shard, steps), to = min(from + shard, steps);
	uint32_t cut = cut_piece(*a, *b, from), common = 0;
	const uint32_t *x = a->ring + (a->next + cut) % RING;
	const uint32_t *y = b->ring + (b->next + from - cut) % RING;
	heads h = { *x, *y, (uint32_t) __cvta_generic_to_shared(x),
				(uint32_t) __cvta_generic_to_shared(y) };
	uint32_t before = h.at_a;

	if (steps == PATH_PIECE)
	{
#pragma unroll
		for (int i = 0; i < STEPS; i++)
			take_head(h, common);
	}
	else
		for (uint32_t i = from; i < to; i++)
			take_head(h, common);
	cut += (h.at_a - before) / sizeof(uint32_t);
	cut = __shfl_sync(QS_ALL_LANES, cut, 31);
	a->next += cut;
	b->next += steps - cut;
	return common;
}

/* Find where a slice of a pair's path begins. */
__device__ __forceinline__ uint64_t
cut_path(const set &a, const set &b, uint32_t number, uint32_t slices)
{
	uint64_t steps = a.count + b.count;

	return slices > 1 ? steps * number / slices : number * steps;
}

/* Merge a warp's shard of a pair: "steps" steps from x and y on. */
__device__ uint32_t
merge_shard(uint32_t *ring, const set &a, uint64_t x, const set &b, uint64_t y, uint64_t steps)
{
	uint32_t common = 0;
	side s, t;

	begin_side(&s, ring, a.element + x, a.count - x, steps);
	begin_side(&t, ring + RING + AGAIN, b.element + y, b.count - y, steps);
	while (steps > 0)
	{
		uint32_t piece = (uint32_t) (steps < PATH_PIECE ? steps : PATH_PIECE);

		fill_ring(&s);
		fill_ring(&t);
		__pipeline_commit();
		__pipeline_wait_prior(0);
		__syncwarp();
		end_ring(s);
		end_ring(t);
		__syncwarp();
		common += merge_piece(&s, &t, piece);
		steps -= piece;
		__syncwarp();
	}
	return common;
}

/*
 * Each warp takes one of "slices" shards of each of its pairs.  Warps that are
 * too few for a whole pair take none.
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

qb_status
qset_merge_pairs(qs_cuda *gpu, const pairs *t, uint64_t largest)
{
	uint64_t all = t->rows * t->columns, most = largest / (2 * PATH_PIECE), slices;
	int grid;

	QS_TRY(qs_grid(gpu, merge_pairs, 32 * PATH_WARPS, 0, UINT64_MAX, &grid));
	slices = (uint64_t) grid * PATH_WARPS / all;
	slices = slices < most ? slices : most;
	/* a shard is counted in 32 bits */
	slices = slices > largest >> 31 ? slices : (largest >> 31) + 1;
	merge_pairs<<<grid, 32 * PATH_WARPS, 0, gpu->stream>>>(*t, (uint32_t) slices);
	return qs_launched(gpu);
}

/*
 * ---- a strip of counts by a table of each row, which all its columns probe ----
 *
 * HI and BI of the paper (section 3): a hash table of the row, or its bitmap
 * over the whole universe, lies in global memory.  Floor: for each row, every
 * element of every column is read and looked up.
 */

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
	return qs_launched(gpu);
}
