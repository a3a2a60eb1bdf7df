/*
 * sets_lists.cuh
 *		A unit of work of sets_rows.cu, and how its counters are made from the lists of the inverted
 *		index.
 *
 * The events of lists of 32 and more columns are shared out evenly over the
 * block's warps.  Most lists are shorter; their events are shared out over the
 * lanes of one warp.  Within one collection only later columns are wanted.  In each list they begin
 * behind the row's own entry.
 *
 * Counters have 4 bytes, because one instruction adds 1 to such a counter.
 * Columns whose counters do not fit together are counted block by block.
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
	uint32_t least;    /* smaller counts are not wanted */
	bool counted;      /* true if the unit has counters */
	uint32_t *strip;   /* the row's counts in the strip, or NULL */
};

/* The count of a column so far. */
__device__ __forceinline__ uint32_t
get_count(const uint32_t *counter, const unit &u, uint32_t column)
{
	uint32_t c = u.counted ? counter[column - u.first] : 0;

	return u.strip ? c + u.strip[column] : c;
}

#define SHORT_LIST 32

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

/* The slice of an element's list that the unit wants. */
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

/* Walk a slice of a list, by a warp.  Four steps at once keep four loads in flight. */
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

/* For each lane: the sum of the values of the warp's lanes up to and including this lane. */
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

/* Find the set bit of "bits" that has "below" set bits below it.  Such a bit must exist. */
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
 * Share out the events of the short lists of a warp's lanes among the lanes.
 * First the lists that are not empty move to the first lanes.  Then an event's list follows from
 * the number of lists that begin up to the event.  A word marks which of 32 events begin a list.
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
	uint32_t before = UINT32_MAX; /* number of lists that began, minus one */

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
 * Long lists of a block's threads: where each list begins, and the number of
 * events up to its end.
 */
struct batch
{
	uint32_t at[THREADS_MAX];
	uint32_t end[THREADS_MAX];
	uint32_t warp[WARPS_MAX];
};

/* Each thread brings one list, which may be empty.  Returns the number of all events. */
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
 * Give each warp an equal number of the events.  So no warp works longer than the others, even if
 * nearly all sets have an element.
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

/* Find the thread's portion of the lists of the row's elements from "first" on. */
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
 * Add the lists, beginning with the thread's portion of the first batch.
 * "counter" would be the counter of column 0, and may point before the
 * counters that exist.
 */
template <typename Set>
__device__ void
add_lists(const task &t, const unit &u, portion now, batch *s, uint32_t *counter)
{
	const Set *list = (const Set *) t.list;
	uint64_t end = t.row_offset[u.row + 1];

	/* no thread leaves the loop before the block's last elements */
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
