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
#ifndef QI_SETS_LISTS_CUH
#define QI_SETS_LISTS_CUH

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

#endif
