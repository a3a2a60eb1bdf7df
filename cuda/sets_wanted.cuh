/*
 * sets_wanted.cuh
 *		Which of a row's pairs pass the filter, and writing them: for sets_rows.cu.
 *
 * The best "top" pairs of a row are found by the digits of a 64-bit number
 * that orders pairs as qset_pair_better() does by the Jaccard index.
 *
 * cuda/sets_wanted.cuh
 */
#ifndef QSET_SETS_WANTED_CUH
#define QSET_SETS_WANTED_CUH

#include "sets_lists.cuh"

#define DIGIT 256

__device__ __forceinline__ uint32_t
size_of(const task &t, uint32_t column)
{
	return (uint32_t) (t.column_offset[column + 1] - t.column_offset[column]);
}

/*
 * Is this pair wanted, apart from "top"?  It must pass qset_filter_pass(), and
 * not be the row itself.
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
 * A number that orders pairs as their Jaccard index does: 64 bits of the
 * fraction.  Two different fractions of numbers below 2^32 differ by more than
 * 2^-64, so their 64-bit numbers differ, too.
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
 * Which wanted pairs a row gives: all, or those above a number and some with
 * exactly this number.
 */
struct cut
{
	bool all;
	uint64_t number;
	uint32_t equal; /* how many pairs with exactly this number: those of the first columns */
};

/*
 * Find the number at which the best "top" pairs of the unit end.  Each round
 * looks at one digit of 8 bits, beginning with the highest; rounds go on while
 * the digit has more pairs than free places.
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
			ends = digits[d] <= free_places; /* all pairs with this digit are taken */
		}
		__syncthreads();
		prefix = prefix << 8 | chosen;
		want = left;
		if (ends)
			return { false, prefix << shift, UINT32_MAX };
		__syncthreads(); /* the digits are read before they are cleared */
	}
	return { false, prefix, want };
}

/* 0: not wanted, 1: wanted, 2: wanted, with the cut's own number. */
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

/* The columns of a warp: a contiguous piece of the unit's columns, so pairs come in order. */
__device__ __forceinline__ void
columns_of_warp(const unit &u, uint32_t *from, uint32_t *to)
{
	uint32_t each = (u.to - u.from + blockDim.x - 1) / blockDim.x * 32;
	uint32_t w = threadIdx.x / 32;

	*from = u.to - u.from > w * each ? u.from + w * each : u.to;
	*to = u.to - *from > each ? *from + each : u.to;
}

/* Count the wanted pairs of a warp's columns: above the cut, and on the cut. */
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

/* Write the wanted pairs from "at" on; "equal" pairs on the cut came before. */
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
 * Find where a unit's pairs go: to the unit's offset, or to the next free one.
 * False: there is no room for them.
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
	__shared__ uint2 of_warp[WARPS_MAX]; /* first counts, then sums of the counts before */
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

#endif
