/*
 * sets_lists.cuh
 *		A unit of work of sets_rows.cu, and how its counters are computed from the lists of the
 *		inverted index.
 *
 * An event is a list entry that adds 1 to a counter.  The events of lists of 32 and more entries
 * are distributed evenly over the block's warps.  Most lists are shorter, and their events are
 * distributed over the lanes of one warp.  With "tail", only columns behind the row are counted.
 * Their entries follow the row's entry in each list.
 *
 * Counters have 4 bytes, because atomicAdd() does not support smaller integers.  If the counters of
 * all columns need more than about half of the shared memory of a block, a unit has only some of
 * the columns.
 *
 * cuda/sets_lists.cuh
 */
#ifndef QSET_SETS_LISTS_CUH
#define QSET_SETS_LISTS_CUH

#include "sets.cuh"

#define THREADS_MAX 1024
#define WARPS_MAX   (THREADS_MAX / 32)

/* Arguments of the kernel. */
struct task
{
	const uint64_t *row_offset, *column_offset;
	const uint32_t *row_element;
	const uint32_t *start, *end;
	const uint2 *rest;
	const void *list;
	uint32_t *strip;
	uint64_t strip_first, strip_width;
	uint32_t columns, block_columns, blocks;
	bool tail, same, lists, into_strip;
	qset_filter filter;
	qset_output out;
	uint32_t *next;
};

/* The unit that a block works on. */
struct unit
{
	uint32_t row;
	uint32_t from, to; /* the unit's columns */
	uint32_t first;    /* the column of the first counter */
	uint32_t size;     /* number of elements of the row */
	uint32_t least;    /* pairs with smaller counts do not pass */
	bool counted;      /* true if the unit has counters in shared memory */
	uint32_t *strip;   /* the row's counts in the strip, or NULL */
};

/* Return the count of a column: its counter, plus its count in the strip. */
__device__ __forceinline__ uint32_t
get_count(const uint32_t *counter, const unit &u, uint32_t column)
{
	uint32_t c = u.counted ? counter[column - u.first] : 0;

	return u.strip ? c + u.strip[column] : c;
}

#define SHORT_LIST 32

/* Return the index of the first entry from "at" to end - 1 that is at least "column". */
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

/* Find the slice with the unit's columns in the list of element row_element[i]. */
template <typename Set>
__device__ __forceinline__ void
find_slice(const task &t, const unit &u, uint64_t i, uint32_t *at, uint32_t *length)
{
	const Set *list = (const Set *) t.list;
	uint32_t end;

	if (t.tail)
	{
		uint2 rest = t.rest[i];

		*at = rest.x;
		end = t.end ? t.end[t.row_element[i]] : rest.y;
	}
	else
	{
		uint32_t e = t.row_element[i];

		*at = t.start[e];
		end = t.end ? t.end[e] : t.start[e + 1];
	}
	if (t.blocks > 1)
	{
		*at = skip_to(list, *at, end, u.from);
		end = skip_to(list, *at, end, u.to);
	}
	*length = end > *at ? end - *at : 0;
}

/* A warp counts the events of a slice of a list.  Each lane has four loads in flight. */
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

/* Return the sum of "value" over the lanes of the warp up to this lane, inclusive. */
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

/*
 * Return the index of the set bit of "bits" that has exactly "below" set bits below it.  This bit
 * must exist.
 */
__device__ __forceinline__ uint32_t
find_bit(uint32_t bits, uint32_t below)
{
	uint32_t at = 0;

	for (uint32_t width = 16; width; width >>= 1)
	{
		uint32_t first = __popc(bits >> at & ((1u << width) - 1));

		at += below >= first ? width : 0;
		below -= below >= first ? first : 0;
	}
	return at;
}

/*
 * Count the events of the short lists of a warp, one list per lane, and distribute the events
 * evenly over the lanes.  First the lists that are not empty are moved to the first lanes.  The
 * list of an event follows from the number of lists that begin at or before this event.  The words
 * "begins" and "begins2" have a bit for each of 32 events, which is set if the event begins a list.
 */
template <typename Set>
__device__ __forceinline__ void
walk_short(const Set *list, uint32_t at, uint32_t length, uint32_t *counter)
{
	uint32_t sum = sum_lanes(length);
	uint32_t total = __shfl_sync(QS_ALL_LANES, sum, 31);
	uint32_t some = __ballot_sync(QS_ALL_LANES, length > 0);
	uint32_t up_to_me = UINT32_MAX >> (31 - qs_lane());
	uint32_t lane = qs_lane() < __popc(some) ? find_bit(some, qs_lane()) : 0;
	uint32_t begin = __shfl_sync(QS_ALL_LANES, sum - length, lane);
	uint32_t from = __shfl_sync(QS_ALL_LANES, at - (sum - length), lane);
	uint32_t before = UINT32_MAX; /* number of lists that began so far, minus one */

	if (qs_lane() >= __popc(some))
		begin = UINT32_MAX;
	for (uint32_t base = 0; base < total; base += 64)
	{
		uint32_t x = base + qs_lane();
		uint32_t bit = begin - base < 32 ? 1u << (begin - base) : 0;
		uint32_t bit2 = begin - base - 32 < 32 ? 1u << (begin - base - 32) : 0;
		uint32_t begins = __reduce_or_sync(QS_ALL_LANES, bit);
		uint32_t begins2 = __reduce_or_sync(QS_ALL_LANES, bit2);
		uint32_t of = __shfl_sync(QS_ALL_LANES, from, before + __popc(begins & up_to_me));
		uint32_t set, set2;

		before += __popc(begins);
		set = x < total ? list[of + x] : 0;
		of = __shfl_sync(QS_ALL_LANES, from, before + __popc(begins2 & up_to_me));
		before += __popc(begins2);
		set2 = x + 32 < total ? list[of + x + 32] : 0;
		if (x < total)
			atomicAdd(&counter[set], 1);
		if (x + 32 < total)
			atomicAdd(&counter[set2], 1);
	}
}

/*
 * The long lists of a block, one per thread.  at[] has the start of each list.  end[] has the
 * number of events of this list and of all lists before it.
 */
struct batch
{
	uint32_t at[THREADS_MAX];
	uint32_t end[THREADS_MAX];
	uint32_t warp[WARPS_MAX];
};

/* Store the list of each thread, which may be empty.  Returns the number of events of all lists. */
__device__ uint32_t
gather_lists(batch *s, uint32_t at, uint32_t length)
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
 * Count the events of the long lists.  Each warp counts an equal number of events, even if one list
 * is much longer than all others.
 */
template <typename Set>
__device__ void
walk_long(const batch *s, uint32_t events, const Set *list, uint32_t *counter)
{
	uint32_t warps = blockDim.x / 32, warp = threadIdx.x / 32;
	uint32_t from = (uint32_t) ((uint64_t) events * warp / warps);
	uint32_t to = (uint32_t) ((uint64_t) events * (warp + 1) / warps);
	uint32_t l = 0; /* the list that event "from" belongs to */

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

/* A thread's slice of one list of a batch; it is empty behind the last list. */
struct portion
{
	uint32_t at, length;
};

/*
 * Return the slice of the list of element first + threadIdx.x, or an empty slice if this element is
 * not before "end".
 */
template <typename Set>
__device__ __forceinline__ portion
find_portion(const task &t, const unit &u, uint64_t first, uint64_t end)
{
	portion p = { 0, 0 };

	if (first + threadIdx.x < end)
		find_slice<Set>(t, u, first + threadIdx.x, &p.at, &p.length);
	return p;
}

/*
 * Add all lists of the row to the counters.  "now" is the thread's portion of the first batch.
 * "counter" is the address that the counter of column 0 would have, and may be outside of the
 * counters.
 */
template <typename Set>
__device__ void
add_lists(const task &t, const unit &u, portion now, batch *s, uint32_t *counter)
{
	const Set *list = (const Set *) t.list;
	uint64_t end = t.row_offset[u.row + 1];

	/* all threads make the same number of iterations, because the loop has barriers */
	for (uint64_t i = t.row_offset[u.row]; i < end; i += blockDim.x)
	{
		bool is_short = now.length < SHORT_LIST;

		walk_short<Set>(list, now.at, is_short ? now.length : 0, counter);
		if (__syncthreads_or(!is_short))
		{
			uint32_t events = gather_lists(s, now.at, is_short ? 0 : now.length);

			walk_long<Set>(s, events, list, counter);
		}
		now = find_portion<Set>(t, u, i + blockDim.x, end);
	}
}

#endif
