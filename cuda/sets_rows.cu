/*
 * sets_rows.cu
 *		Counts the pairs of one row at a time from the inverted index, and writes the pairs that
 *		pass the filter.
 *
 * A thread block processes a unit: a row and a block of columns.  If the method has lists, the
 * block counts the entries of the lists of the row's elements, with a counter for each column in
 * shared memory.  The paper's sf-gssjoin (section 3) adds to a triangle of counters in global
 * memory instead.  Then the block adds the strip's counts, and writes the pairs that pass.
 *
 * Floor: one atomic addition to shared memory for each event (a pair of equal elements).  Each of
 * the 32 banks makes one addition per clock.  The columns of events are random, so the fullest bank
 * makes 3.5 of a warp's 32 additions on average.
 *
 * SQL: qsets_pairs() and qsets_nearest(), by any method.
 *
 * cuda/sets_rows.cu
 */
#include "sets_lists.cuh"

/*
 * Least number of resident blocks of 1024 threads per multiprocessor, for which the compiler limits
 * the registers.  It is 2 only if multiprocessors run 2048 threads.
 */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ % 100 == 0 && __CUDA_ARCH__ <= 1000)
#define BLOCKS_LEAST 2
#else
#define BLOCKS_LEAST 1
#endif
/* Bytes of a block's shared memory that are reserved for the kernel's variables and for CUDA. */
#define RESERVED_SHARED 12288

/*
 * ---- choosing and writing the pairs of a row ----
 *
 * The best "top" pairs of a row are selected by a 64-bit number, one digit after another.  The
 * number orders pairs by the Jaccard index, as qset_pair_better() does for QSET_BY_JACCARD.
 */

#define DIGIT 256

__device__ __forceinline__ uint32_t
size_of(const task &t, uint32_t column)
{
	return (uint32_t) (t.column_offset[column + 1] - t.column_offset[column]);
}

/*
 * True if the pair is wanted: it passes qset_filter_pass(), and is not a set paired with itself.
 * Does not test "top".
 */
__device__ __forceinline__ bool
is_wanted(const task &t, const unit &u, uint32_t column, uint32_t common)
{
	uint64_t either;

	if (common < u.least || (t.same && column == u.row))
		return false;
	if (t.filter.numerator == 0)
		return true;
	either = (uint64_t) u.size + size_of(t, column) - common;
	return qset_filter_pass(&t.filter, common, either);
}

/*
 * Return the first 64 bits of the Jaccard index, which order pairs as the index does.  Two
 * different fractions of numbers below 2^32 differ by more than 2^-64, so their first 64 bits
 * differ, too.
 */
__device__ uint64_t
jaccard_bits(const task &t, const unit &u, uint32_t column, uint32_t common)
{
	uint64_t either = (uint64_t) u.size + size_of(t, column) - common;
	uint64_t high, low;

	if (either == 0)
		return 0;
	if (common == either)
		return UINT64_MAX;
	high = ((uint64_t) common << 32) / either;
	low = (((uint64_t) common << 32) % either << 32) / either;
	return high << 32 | low;
}

/*
 * The pairs of a unit that are written: all wanted pairs, or the wanted pairs above a number and
 * some wanted pairs with exactly this number.
 */
struct cut
{
	bool all;
	uint64_t number;
	uint32_t equal; /* how many pairs with exactly this number are written */
};

/*
 * Find the cut between the best "top" pairs of the unit and all other pairs.  Each round counts the
 * pairs by one digit of 8 bits, and so finds this digit of the cut's number.  The highest digit is
 * the first.  The rounds end early if all pairs with the digits found so far are among the best.
 */
__device__ cut
find_cut(const task &t, const unit &u, const uint32_t *counter)
{
	__shared__ uint32_t digits[DIGIT];
	__shared__ uint32_t chosen, left, ends;
	uint64_t prefix = 0;
	uint32_t want = t.filter.top < UINT32_MAX ? (uint32_t) t.filter.top : UINT32_MAX;

	for (int shift = 56; shift >= 0; shift -= 8)
	{
		for (uint32_t i = threadIdx.x; i < DIGIT; i += blockDim.x)
			digits[i] = 0;
		__syncthreads();
		for (uint32_t b = u.from + threadIdx.x; b < u.to; b += blockDim.x)
		{
			uint32_t common = get_count(counter, u, b);
			uint64_t number;

			if (!is_wanted(t, u, b, common))
				continue;
			number = jaccard_bits(t, u, b, common);
			if (shift == 56 || number >> (shift + 8) == prefix)
				atomicAdd(&digits[number >> shift & (DIGIT - 1)], 1);
		}
		__syncthreads();
		if (threadIdx.x == 0)
		{
			uint32_t free_slots = want;
			int d = DIGIT - 1;

			while (d > 0 && digits[d] < free_slots)
				free_slots -= digits[d--];
			chosen = d;
			left = free_slots;
			ends = digits[d] <= free_slots; /* all pairs with this digit are taken */
		}
		__syncthreads();
		prefix = prefix << 8 | chosen;
		want = left;
		if (ends)
			return { false, prefix << shift, UINT32_MAX };
		__syncthreads(); /* all threads have read "chosen" and "left" before the next round */
	}
	return { false, prefix, want };
}

/*
 * Return 0 if the pair is not written, and 1 if it is written.  Return 2 if the pair has exactly
 * the cut's number, and is written only if a slot is free.
 */
__device__ __forceinline__ int
judge(const task &t, const unit &u, const cut &c, uint32_t column, uint32_t common)
{
	uint64_t number;

	if (!is_wanted(t, u, column, common))
		return 0;
	if (c.all)
		return 1;
	number = jaccard_bits(t, u, column, common);
	return number > c.number ? 1 : number == c.number ? 2 : 0;
}

/* ---- writing the pairs ---- */

/* Return the columns of a warp, which are contiguous, so that pairs are written in order. */
__device__ __forceinline__ void
columns_of_warp(const unit &u, uint32_t *from, uint32_t *to)
{
	uint32_t each = (u.to - u.from + blockDim.x - 1) / blockDim.x * 32;
	uint32_t w = threadIdx.x / 32;

	*from = u.to - u.from > w * each ? u.from + w * each : u.to;
	*to = u.to - *from > each ? *from + each : u.to;
}

/* Count the wanted pairs of a warp's columns: n.x above the cut, and n.y on the cut. */
__device__ uint2
count_wanted(const task &t, const unit &u, const cut &c, const uint32_t *counter)
{
	uint32_t from, to;
	uint2 n = { 0, 0 };

	columns_of_warp(u, &from, &to);
	for (uint32_t base = from; base < to; base += 32)
	{
		uint32_t b = base + qs_lane();
		int j = b < to ? judge(t, u, c, b, get_count(counter, u, b)) : 0;

		n.x += __popc(__ballot_sync(QS_ALL_LANES, j == 1));
		n.y += __popc(__ballot_sync(QS_ALL_LANES, j == 2));
	}
	return n;
}

/*
 * Write the wanted pairs of a warp's columns from index "at" on.  Earlier warps have "equal" pairs
 * on the cut.
 */
__device__ void
write_wanted(const task &t, const unit &u, const cut &c, const uint32_t *counter, uint64_t at,
			 uint32_t equal)
{
	uint32_t before = (1u << qs_lane()) - 1;
	uint32_t from, to;

	columns_of_warp(u, &from, &to);
	for (uint32_t base = from; base < to; base += 32)
	{
		uint32_t b = base + qs_lane();
		uint32_t common = b < to ? get_count(counter, u, b) : 0;
		int j = b < to ? judge(t, u, c, b, common) : 0;
		uint32_t on = __ballot_sync(QS_ALL_LANES, j == 2);
		bool take = j == 1 || (j == 2 && equal + __popc(on & before) < c.equal);
		uint32_t taken = __ballot_sync(QS_ALL_LANES, take);

		if (take)
			t.out.pair[at + __popc(taken & before)] = { u.row, b, common,
														u.size + size_of(t, b) - common };
		at += __popc(taken);
		equal += __popc(on);
	}
}

/*
 * Set *at to the index of a unit's first pair: the given start, or the next free index.  False:
 * there are no pairs, or they do not fit.
 */
__device__ bool
reserve(const task &t, uint64_t unit_number, uint32_t total, uint64_t *at)
{
	if (t.out.start_given)
	{
		*at = t.out.start[unit_number] - t.out.base;
		return true;
	}
	t.out.found[unit_number] = total;
	if (total == 0)
		return false;
	*at = atomicAdd((qs_u64 *) t.out.cursor, total);
	t.out.start[unit_number] = *at;
	return *at + total <= t.out.room;
}

__device__ void
hand_out(const task &t, const unit &u, uint64_t unit_number, const cut &c, const uint32_t *counter)
{
	__shared__ uint2 of_warp[WARPS_MAX]; /* counts of each warp, then sums over earlier warps */
	__shared__ uint64_t start;
	__shared__ bool room;
	uint2 n = count_wanted(t, u, c, counter);

	if (qs_lane() == 0)
		of_warp[threadIdx.x / 32] = n;
	__syncthreads();
	if (threadIdx.x == 0)
	{
		uint32_t total = 0, equal = 0;

		for (uint32_t w = 0; w < blockDim.x / 32; w++)
		{
			uint2 here = of_warp[w];
			uint32_t free_slots = c.equal > equal ? c.equal - equal : 0;

			of_warp[w] = { total, equal };
			total += here.x + (here.y < free_slots ? here.y : free_slots);
			equal += here.y;
		}
		room = reserve(t, unit_number, total, &start);
	}
	__syncthreads();
	if (room && n.x + n.y > 0)
		write_wanted(t, u, c, counter, start + of_warp[threadIdx.x / 32].x,
					 of_warp[threadIdx.x / 32].y);
}

/* ---- the kernel ---- */

__device__ __forceinline__ unit
unit_of(const task &t, uint64_t number)
{
	unit u;
	uint64_t row = t.strip_first + number / t.blocks;
	uint64_t least;

	u.row = (uint32_t) row;
	u.first = (uint32_t) (number % t.blocks) * t.block_columns;
	u.to = t.columns - u.first > t.block_columns ? u.first + t.block_columns : t.columns;
	u.from = t.tail && u.first <= u.row ? u.row + 1 : u.first;
	if (u.from > u.to)
		u.from = u.to;
	u.size = (uint32_t) (t.row_offset[row + 1] - t.row_offset[row]);
	least = qset_filter_least(&t.filter, u.size);
	if (least == 0 && !qset_filter_passes_nothing(&t.filter))
		least = 1;
	if (least > u.size)
		u.from = u.to; /* no pair of the row can pass */
	u.least = (uint32_t) least;
	u.counted = t.lists;
	u.strip = t.strip ? t.strip + (row - t.strip_first) * t.strip_width : NULL;
	return u;
}

/* Compute a unit's counters from its lists.  Ends with a barrier of the block. */
template <typename Set>
__device__ void
count_lists(const task &t, const unit &u, batch *s, uint32_t *counter)
{
	portion first = find_portion<Set>(t, u, t.row_offset[u.row], t.row_offset[u.row + 1]);

	for (uint32_t i = threadIdx.x; i < t.block_columns; i += blockDim.x)
		counter[i] = 0;
	__syncthreads();
	add_lists<Set>(t, u, first, s, counter - u.first);
	__syncthreads();
}

__device__ void
store_counts(const unit &u, const uint32_t *counter)
{
	for (uint32_t b = u.from + threadIdx.x; b < u.to; b += blockDim.x)
		u.strip[b] = get_count(counter, u, b);
}

template <typename Set, bool Top>
__global__ void
__launch_bounds__(THREADS_MAX, BLOCKS_LEAST) work_rows(const task t)
{
	extern __shared__ uint32_t counter[];
	__shared__ uint32_t taken;
	__shared__ batch lists;

	for (;;)
	{
		__syncthreads();
		if (threadIdx.x == 0)
			taken = atomicAdd(t.next, 1);
		__syncthreads();
		if (taken >= t.out.units)
			return;

		uint64_t number = t.out.first_unit + taken;
		unit u = unit_of(t, number);
		cut c = { true, 0, UINT32_MAX };

		if (u.from == u.to)
		{
			if (threadIdx.x == 0 && !t.out.start_given && !t.into_strip)
				t.out.found[number] = 0;
			continue;
		}
		if (t.lists)
			count_lists<Set>(t, u, &lists, counter);
		if (t.into_strip)
		{
			store_counts(u, counter);
			continue;
		}
		if (Top)
			c = find_cut(t, u, counter);
		hand_out(t, u, number, c, counter);
	}
}

/*
 * Compute the prefix sums of "found", by one block.  offset[n] is the sum before unit n, and
 * offset[units] is the sum of all units.
 */
__global__ void
__launch_bounds__(THREADS_MAX) offset_units(const uint32_t *found, uint64_t units, uint64_t *offset)
{
	__shared__ uint64_t before[THREADS_MAX + 1];
	uint64_t each = (units + THREADS_MAX - 1) / THREADS_MAX;
	uint64_t first = threadIdx.x * each;
	uint64_t end = units < first + each ? units : first + each;
	uint64_t sum = 0;

	for (uint64_t n = first; n < end; n++)
		sum += found[n];
	before[threadIdx.x + 1] = sum;
	if (threadIdx.x == 0)
		before[0] = 0;
	__syncthreads();
	for (int d = 1; d <= THREADS_MAX; d *= 2)
	{
		uint64_t more = threadIdx.x + 1 >= d ? before[threadIdx.x + 1 - d] : 0;

		__syncthreads();
		before[threadIdx.x + 1] += more;
		__syncthreads();
	}
	sum = before[threadIdx.x];
	for (uint64_t n = first; n < end; n++)
	{
		offset[n] = sum;
		sum += found[n];
	}
	if (threadIdx.x == 0)
		offset[units] = before[THREADS_MAX];
}

/*
 * Copy each unit's pairs to their final index, a block per unit.  Does nothing if some pairs did
 * not fit.
 */
__global__ void
__launch_bounds__(QS_BLOCK)
	order_pairs(const qset_output out, const uint64_t *offset, uint64_t units, qset_pair *to)
{
	if (offset[units] > out.room)
		return;
	for (uint64_t n = blockIdx.x; n < units; n += gridDim.x)
		for (uint32_t i = threadIdx.x; i < out.found[n]; i += blockDim.x)
			to[offset[n] + i] = out.pair[out.start[n] + i];
}

/* ---- host ---- */

/*
 * Small blocks with counters of all columns are best, if enough of them fit into a multiprocessor.
 * With more columns large blocks are best.  If large blocks cannot have counters of all columns, a
 * unit has only some of the columns.
 */
void
qset_rows_plan(qs_cuda *gpu, qset_rows *r)
{
	uint64_t columns = r->columns->sets > 0 ? r->columns->sets : 1;
	uint64_t most = (gpu->shared_max - 2 * RESERVED_SHARED) / sizeof(uint32_t);

	r->threads = THREADS_MAX / 2;
	r->block_columns = (uint32_t) columns;
	if (r->lists && columns > most / 4)
		r->threads = THREADS_MAX;
	if (r->lists && columns > most / 2)
		r->block_columns = (uint32_t) qs_ceil_div(columns, qs_ceil_div(columns, most / 2));
	r->blocks = (uint32_t) qs_ceil_div(columns, r->block_columns);
	r->shared = r->lists ? r->block_columns * sizeof(uint32_t) : 0;
}

template <typename Set>
static qb_status
launch(qs_cuda *gpu, const qset_rows *r, const task *t)
{
	auto kernel =
		t->filter.top > 0 && !t->into_strip ? work_rows<Set, true> : work_rows<Set, false>;

	return qs_launch_blocks(gpu, kernel, { t->out.units, r->threads, r->shared }, *t);
}

qb_status
qset_rows_run(qs_cuda *gpu, const qset_rows *r, const qset_strip *strip, const qset_output *out)
{
	const qset_cuda_sets *c = r->columns;
	task t = {};

	t.row_offset = r->rows->offset;
	t.row_element = r->rows->element;
	t.column_offset = c->offset;
	t.start = c->index.start;
	t.rest = c->index.rest;
	t.list = c->index.list;
	t.end = r->end;
	t.strip = strip->count;
	t.strip_first = strip->first;
	t.strip_width = strip->width;
	t.columns = (uint32_t) c->sets;
	t.block_columns = r->block_columns;
	t.blocks = r->blocks;
	t.tail = r->tail;
	t.same = r->same;
	t.lists = r->lists;
	t.into_strip = r->into_strip;
	t.filter = r->filter;
	t.out = *out;
	t.next = (uint32_t *) gpu->scratch;
	QS_CUDA_TRY(gpu, cudaMemsetAsync(t.next, 0, sizeof(*t.next), gpu->stream));
	return qset_short_list(c) ? launch<uint16_t>(gpu, r, &t) : launch<uint32_t>(gpu, r, &t);
}

qb_status
qset_rows_order(qs_cuda *gpu, const qset_output *out, uint64_t *offset, uint64_t units,
				qset_pair *to)
{
	QS_TRY(qs_launch_blocks(gpu, offset_units, { 1, THREADS_MAX, 0 }, out->found, units, offset));
	return qs_launch_blocks(gpu, order_pairs, { units, QS_BLOCK, 0 }, *out, offset, units, to);
}
