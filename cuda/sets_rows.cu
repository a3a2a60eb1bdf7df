/*
 * sets_rows.cu
 *		One row of counters at a time: the lists of the inverted index, and what
 *		passes the filter.
 *
 * A block takes a unit, which is a row and a block of columns, with a counter
 * for each of these in shared memory.  It walks the lists of the row's elements
 * (paper, section 3: sf-gssjoin, which adds to a triangle of counters in global
 * memory instead), adds what the strip has, and writes the pairs that pass.
 * Floor: one atomic addition to shared memory for each event, a pair of equal
 * elements, which is one a clock for each of 32 banks; columns of an event are
 * random, so that a warp's 32 meet in some bank 3.5 times on average.
 *
 * The events of lists of 32 and more are shared out evenly over the block's
 * warps; those of short ones, which most are, over the lanes of one.  Within one
 * collection only the later columns of a list are wanted, which begin at the
 * row's own place in it.
 *
 * Counters have 4 bytes: adding one to such is an instruction of its own, three
 * times as fast as adding what counts in half a word.
 *
 * The best "top" of a row are found by the radix of a 64-bit number that orders
 * pairs as qi_pair_better() does.
 *
 * cuda/sets_rows.cu
 */
#include "kernels.cuh"
#include "sets.cuh"

#define THREADS_MAX 1024
#define WARPS_MAX   (THREADS_MAX / 32)
#define SHORT_LIST  32

/* Two blocks of 1024 threads, or four of 512, must have their registers, where so many can run. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ % 100 == 0 && __CUDA_ARCH__ <= 1030)
#define BLOCKS_LEAST 2
#else
#define BLOCKS_LEAST 1
#endif
#define DIGIT 256

/* Shared memory that the kernel's own variables and each block of threads cost. */
#define OWN_SHARED 12288

/* What the kernel is given. */
struct task
{
	const uint64_t *row_offset, *column_offset;
	const uint32_t *row_element;
	const uint32_t *start, *end, *place;
	const void *list;
	uint32_t *strip;
	uint64_t strip_first, strip_width;
	uint32_t columns, block_columns, blocks;
	bool tail, same, lists, into_strip;
	qi_filter filter;
	qi_output out;
	uint32_t *next;
};

/* The unit that a block works on. */
struct unit
{
	uint32_t row;
	uint32_t from, to; /* columns */
	uint32_t first;    /* column of the first counter */
	uint32_t size;     /* of the row */
	uint32_t least;    /* counts below it are not wanted */
	bool counted;      /* there are counters */
	uint32_t *strip;   /* the row's counts there, or NULL */
};

/* ---- counters ---- */

__device__ __forceinline__ uint32_t
get_count(const uint32_t *counter, const unit &u, uint32_t column)
{
	uint32_t c = u.counted ? counter[column - u.first] : 0;

	return u.strip ? c + u.strip[column] : c;
}

/* ---- lists ---- */

/* The first entry in list[at .. end) that is not below "column". */
template <typename Set>
__device__ uint32_t
skip_to(const Set *list, uint32_t at, uint32_t end, uint32_t column)
{
	while (at < end)
	{
		uint32_t middle = at + (end - at) / 2;

		if (list[middle] < column)
			at = middle + 1;
		else
			end = middle;
	}
	return at;
}

/* The part of an element's list that the unit wants. */
template <typename Set>
__device__ __forceinline__ void
find_part(const task &t, const unit &u, uint64_t i, uint32_t *at, uint32_t *length)
{
	const Set *list = (const Set *) t.list;
	uint32_t e = t.row_element[i];
	uint32_t end;

	end = t.end ? t.end[e] : t.start[e + 1];
	*at = t.tail ? t.place[i] + 1 : t.start[e];
	if (t.blocks > 1)
	{
		*at = skip_to(list, *at, end, u.from);
		end = skip_to(list, *at, end, u.to);
	}
	*length = end > *at ? end - *at : 0;
}

/* A part of a list, by a warp: four steps at once keep four loads on their way. */
template <typename Set>
__device__ __forceinline__ void
walk_list(const Set *list, uint32_t length, uint32_t *counter)
{
	uint32_t i = qs_lane();

	for (; i + 96 < length; i += 128)
	{
		uint32_t x0 = list[i], x1 = list[i + 32], x2 = list[i + 64], x3 = list[i + 96];

		atomicAdd(&counter[x0], 1);
		atomicAdd(&counter[x1], 1);
		atomicAdd(&counter[x2], 1);
		atomicAdd(&counter[x3], 1);
	}
	for (; i < length; i += 32)
		atomicAdd(&counter[list[i]], 1);
}

/* The sum of a warp's values up to each lane's own. */
__device__ __forceinline__ uint32_t
sum_lanes(uint32_t value)
{
	for (int d = 1; d < 32; d <<= 1)
	{
		uint32_t before = __shfl_up_sync(QS_ALL_LANES, value, d);

		if (qs_lane() >= d)
			value += before;
	}
	return value;
}

/* Short lists of a warp's lanes, shared out: each event goes to one lane. */
template <typename Set>
__device__ __forceinline__ void
walk_short(const Set *list, uint32_t at, uint32_t length, uint32_t *counter)
{
	uint32_t sum = sum_lanes(length);
	uint32_t total = __shfl_sync(QS_ALL_LANES, sum, 31);
	uint32_t begin = sum - length;

	for (uint32_t base = 0; base < total; base += 32)
	{
		uint32_t x = base + qs_lane();
		int l = 0; /* the last lane whose events begin at or before x */

		for (int d = 16; d; d >>= 1)
			if (__shfl_sync(QS_ALL_LANES, begin, l + d) <= x)
				l += d;
		uint32_t from = __shfl_sync(QS_ALL_LANES, at, l) - __shfl_sync(QS_ALL_LANES, begin, l);

		if (x < total)
			atomicAdd(&counter[list[from + x]], 1);
	}
}

/* Long lists of a block's threads: where each begins, and the events up to its end. */
struct batch
{
	uint32_t at[THREADS_MAX];
	uint32_t end[THREADS_MAX];
	uint32_t warp[WARPS_MAX];
};

/* Each thread brings a list, of no length if it has none; returns all events. */
__device__ uint32_t
share_lists(batch *s, uint32_t at, uint32_t length)
{
	uint32_t sum = sum_lanes(length);
	uint32_t warp = threadIdx.x / 32;

	s->at[threadIdx.x] = at;
	if (qs_lane() == 31)
		s->warp[warp] = sum;
	__syncthreads();
	if (warp == 0)
	{
		uint32_t before = qs_lane() < blockDim.x / 32 ? s->warp[qs_lane()] : 0;

		s->warp[qs_lane()] = sum_lanes(before);
	}
	__syncthreads();
	s->end[threadIdx.x] = sum + (warp > 0 ? s->warp[warp - 1] : 0);
	__syncthreads();
	return s->end[blockDim.x - 1];
}

/*
 * An equal share of the events for each warp, so that the list of an element
 * that nearly all sets have keeps no warp longer than the others.
 */
template <typename Set>
__device__ void
walk_long(const batch *s, uint32_t events, const Set *list, uint32_t *counter)
{
	uint32_t warps = blockDim.x / 32, warp = threadIdx.x / 32;
	uint32_t from = (uint32_t) ((uint64_t) events * warp / warps);
	uint32_t to = (uint32_t) ((uint64_t) events * (warp + 1) / warps);
	uint32_t l = 0; /* the list that event "from" is of */

	for (uint32_t step = blockDim.x / 2; step > 0; step /= 2)
		if (s->end[l + step - 1] <= from)
			l += step;
	while (from < to)
	{
		uint32_t begin = l > 0 ? s->end[l - 1] : 0;
		uint32_t end = s->end[l] < to ? s->end[l] : to;

		if (end > from)
			walk_list(list + s->at[l] + (from - begin), end - from, counter);
		from = end > from ? end : from;
		l++;
	}
}

/* "counter" is that of column 0, which may be before those that there are. */
template <typename Set>
__device__ void
add_lists(const task &t, const unit &u, batch *s, uint32_t *counter)
{
	const Set *list = (const Set *) t.list;
	uint64_t end = t.row_offset[u.row + 1];

	/* all threads of the block stay to its last elements */
	for (uint64_t i = t.row_offset[u.row]; i < end; i += blockDim.x)
	{
		uint32_t at = 0, length = 0, events;

		if (i + threadIdx.x < end)
			find_part<Set>(t, u, i + threadIdx.x, &at, &length);
		walk_short<Set>(list, at, length < SHORT_LIST ? length : 0, counter);
		if (!__syncthreads_or(length >= SHORT_LIST))
			continue;
		events = share_lists(s, at, length < SHORT_LIST ? 0 : length);
		walk_long<Set>(s, events, list, counter);
	}
}

/* ---- the filter ---- */

__device__ __forceinline__ uint32_t
size_of(const task &t, uint32_t column)
{
	return (uint32_t) (t.column_offset[column + 1] - t.column_offset[column]);
}

/* qi_filter_pass() and more: is this pair wanted, but for "top"? */
__device__ __forceinline__ bool
is_wanted(const task &t, const unit &u, uint32_t column, uint32_t common)
{
	uint64_t either;

	if (common < u.least || (t.same && column == u.row))
		return false;
	if (t.filter.numerator == 0)
		return true;
	either = (uint64_t) u.size + size_of(t, column) - common;
	return qi_filter_pass(&t.filter, common, either);
}

/*
 * A number that orders pairs as their Jaccard index does: 64 bits of the
 * fraction.  Fractions of numbers below 2^32 that differ, differ by more than
 * 2^-64, and so do their numbers.
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

/* What a row gives: all that is wanted, or only from a number on and so many of that number. */
struct cut
{
	bool all;
	uint64_t number;
	uint32_t equal; /* how many of exactly this number, the first columns */
};

/*
 * Where the best "top" of the unit end: one digit of 8 bits a round, the
 * greatest first, as long as the digit's pairs are more than are still free.
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
			uint32_t free_places = want;
			int d = DIGIT - 1;

			while (d > 0 && digits[d] < free_places)
				free_places -= digits[d--];
			chosen = d;
			left = free_places;
			ends = digits[d] <= free_places; /* all of this digit are taken */
		}
		__syncthreads();
		prefix = prefix << 8 | chosen;
		want = left;
		if (ends)
			return { false, prefix << shift, UINT32_MAX };
		__syncthreads(); /* before the digits are cleared */
	}
	return { false, prefix, want };
}

/* 0: not wanted, 1: wanted, 2: of the cut's own number. */
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

/* ---- handing out ---- */

/* The columns of a warp: a piece of the unit's, so that pairs come in order. */
__device__ __forceinline__ void
columns_of_warp(const unit &u, uint32_t *from, uint32_t *to)
{
	uint32_t each = (u.to - u.from + blockDim.x - 1) / blockDim.x * 32;
	uint32_t w = threadIdx.x / 32;

	*from = u.to - u.from > w * each ? u.from + w * each : u.to;
	*to = u.to - *from > each ? *from + each : u.to;
}

/* Wanted pairs of a warp's columns, those above the cut and those on it. */
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

/* Write them from "at" on; "equal" on the cut came before. */
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
 * Where a unit's pairs go: to its place, or to the next free one.  False: there
 * is no room for them.
 */
__device__ bool
reserve(const task &t, uint64_t unit_number, uint32_t total, uint64_t *at)
{
	if (t.out.placed)
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
	__shared__ uint2 of_warp[WARPS_MAX]; /* first counts, then what came before */
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
			uint32_t free_places = c.equal > equal ? c.equal - equal : 0;

			of_warp[w] = { total, equal };
			total += here.x + (here.y < free_places ? here.y : free_places);
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
	least = qi_filter_least(&t.filter, u.size);
	if (least == 0 && !qi_filter_passes_nothing(&t.filter))
		least = 1;
	if (least > u.size)
		u.from = u.to; /* no pair of the row can pass */
	u.least = (uint32_t) least;
	u.counted = t.lists;
	u.strip = t.strip ? t.strip + (row - t.strip_first) * t.strip_width : NULL;
	return u;
}

/* The counters of a unit, from its lists; all of its threads meet at the end. */
template <typename Set>
__device__ void
count_lists(const task &t, const unit &u, batch *s, uint32_t *counter)
{
	for (uint32_t i = threadIdx.x; i < t.block_columns; i += blockDim.x)
		counter[i] = 0;
	__syncthreads();
	add_lists<Set>(t, u, s, counter - u.first);
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
			if (threadIdx.x == 0 && !t.out.placed && !t.into_strip)
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

/* A block for each unit: its pairs to where they belong. */
__global__ void
__launch_bounds__(QS_BLOCK)
	order_pairs(const qi_output out, const uint64_t *place, uint64_t units, qi_pair *to)
{
	for (uint64_t n = blockIdx.x; n < units; n += gridDim.x)
		for (uint32_t i = threadIdx.x; i < out.found[n]; i += blockDim.x)
			to[place[n] + i] = out.pair[out.start[n] + i];
}

/* ---- host ---- */

/*
 * All columns at a time and small blocks while all threads of a multiprocessor
 * are at work; then large blocks; then some of the columns at a time.
 */
void
qi_rows_plan(qs_cuda *gpu, qi_rows *r)
{
	uint64_t columns = r->columns->sets > 0 ? r->columns->sets : 1;
	uint64_t most = (gpu->shared_max - 2 * OWN_SHARED) / sizeof(uint32_t);

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
static qs_status
launch(qs_cuda *gpu, const qi_rows *r, const task *t)
{
	auto kernel =
		t->filter.top > 0 && !t->into_strip ? work_rows<Set, true> : work_rows<Set, false>;
	int grid;

	QS_CUDA_TRY(gpu, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
										  (int) r->shared));
	QS_TRY(qs_grid(gpu, kernel, r->threads, r->shared, t->out.units, &grid));
	kernel<<<grid, r->threads, r->shared, gpu->stream>>>(*t);
	QS_CUDA_LAUNCHED(gpu);
	return QS_OK;
}

qs_status
qi_rows_run(qs_cuda *gpu, const qi_rows *r, const qi_strip *strip, const qi_output *out)
{
	const qi_cuda_sets *c = r->columns;
	task t = {};

	t.row_offset = r->rows->offset;
	t.row_element = r->rows->element;
	t.column_offset = c->offset;
	t.start = c->index.start;
	t.place = c->index.place;
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
	return qi_short_list(c) ? launch<uint16_t>(gpu, r, &t) : launch<uint32_t>(gpu, r, &t);
}

qs_status
qi_rows_order(qs_cuda *gpu, const qi_output *out, const uint64_t *place, uint64_t units,
			  qi_pair *to)
{
	int grid;

	QS_TRY(qs_grid(gpu, order_pairs, QS_BLOCK, 0, units, &grid));
	order_pairs<<<grid, QS_BLOCK, 0, gpu->stream>>>(*out, place, units, to);
	QS_CUDA_LAUNCHED(gpu);
	return QS_OK;
}
