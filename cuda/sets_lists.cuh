/*
 * sets_lists.cuh
 *		A row's counters from the lists of the inverted index: for sets_rows.cu.
 *
 * The events of lists of 32 and more are shared out evenly over the block's
 * warps; those of short ones, which most are, over the lanes of one.  Within one
 * collection only the later columns of a list are wanted, which begin at the
 * row's own place in it.
 *
 * Counters have 4 bytes, so that counting is adding one, for which there is an
 * instruction; columns that do not fit are counted in blocks.
 *
 * cuda/sets_lists.cuh
 */
#ifndef QSET_SETS_LISTS_CUH
#define QSET_SETS_LISTS_CUH

#include "sets_row.cuh"

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

/* The part of an element's list that the unit wants. */
template <typename Set>
__device__ __forceinline__ void
find_part(const task &t, const unit &u, uint64_t i, uint32_t *at, uint32_t *length)
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

/* Which bit of "bits" is the one with so many set ones below it; there is such a one. */
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
 * Short lists of a warp's lanes, shared out: each event goes to one lane.  The lists
 * that are not empty come to the first lanes, so that an event's lane is known from how
 * many lists begin up to it: those of 32 events are marked in a word.
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
	uint32_t before = UINT32_MAX; /* lists that began, less one */

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

/* What a thread has of a batch of lists: a part of one, of no length behind the last. */
struct portion
{
	uint32_t at, length;
};

/* The thread's portion of the lists of the row's elements from "first" on. */
template <typename Set>
__device__ __forceinline__ portion
find_portion(const task &t, const unit &u, uint64_t first, uint64_t end)
{
	portion p = { 0, 0 };

	if (first + threadIdx.x < end)
		find_part<Set>(t, u, first + threadIdx.x, &p.at, &p.length);
	return p;
}

/*
 * From the thread's portion of the first batch on.  "counter" is that of column 0, which
 * may be before those that there are.
 */
template <typename Set>
__device__ void
add_lists(const task &t, const unit &u, portion now, batch *s, uint32_t *counter)
{
	const Set *list = (const Set *) t.list;
	uint64_t end = t.row_offset[u.row + 1];

	/* all threads of the block stay to its last elements */
	for (uint64_t i = t.row_offset[u.row]; i < end; i += blockDim.x)
	{
		bool is_short = now.length < SHORT_LIST;

		walk_short<Set>(list, now.at, is_short ? now.length : 0, counter);
		if (__syncthreads_or(!is_short))
		{
			uint32_t events = share_lists(s, now.at, is_short ? 0 : now.length);

			walk_long<Set>(s, events, list, counter);
		}
		now = find_portion<Set>(t, u, i + blockDim.x, end);
	}
}

#endif
