/*
 * filter_blocked.cuh
 *		What kernels for blocked Bloom filters share: a key's line, and its
 *		bits there.
 *
 * A key's positions are in one line of 64 bytes, two sectors of memory.  The
 * line is what a key costs.  So kernels load the whole line at once and gather
 * its bits in shared memory, where an access to any word costs the same.
 *
 * cuda/filter_blocked.cuh
 */
#ifndef QF_FILTER_BLOCKED_CUH
#define QF_FILTER_BLOCKED_CUH

#include "filter.cuh"
#include "device.cuh"

#define QF_LINE_WORDS (QF_BLOCK_BITS / 32)  /* of 4 bytes */
#define QF_LINE_LONGS (QF_BLOCK_BITS / 64)  /* of 8 bytes */
#define QF_LINE_QUADS (QF_BLOCK_BITS / 128) /* of 16 bytes */

/* Steps of qf_warp_insert() whose words are read before the first word is changed. */
#define QF_AHEAD 2

__device__ __forceinline__ uint32_t
qf_line_of(const qf_view &v, uint64_t h)
{
	return qs_reduce_short(h, v.lines);
}

/* Call each(bit of the line) for the first "count" positions of a draw. */
template <typename Each>
__device__ __forceinline__ void
qf_draw_bits(uint64_t draw, uint32_t count, Each each)
{
	if (count >= QF_BLOCK_DRAWS)
	{
#pragma unroll
		for (int t = 0; t < QF_BLOCK_DRAWS; t++)
			each((uint32_t) (draw >> t * QF_BLOCK_LOG) % QF_BLOCK_BITS);
		return;
	}
	for (; count > 0; count--, draw >>= QF_BLOCK_LOG)
		each((uint32_t) draw % QF_BLOCK_BITS);
}

/* Call each(bit of the line) for all positions of h; ONE_DRAW: one draw gives all positions. */
template <bool ONE_DRAW = false, typename Each>
__device__ __forceinline__ void
qf_line_bits(const qf_view &v, uint64_t h, Each each)
{
	if constexpr (ONE_DRAW)
		qf_draw_bits(qf_block_draw(h, 0), QF_BLOCK_DRAWS, each);
	else
	{
		uint32_t group = 0, left = v.k;

		for (; left > QF_BLOCK_DRAWS; left -= QF_BLOCK_DRAWS)
			qf_draw_bits(qf_block_draw(h, group++), QF_BLOCK_DRAWS, each);
		qf_draw_bits(qf_block_draw(h, group), left, each);
	}
}

/* Set the bits of h in a line in shared memory that other threads change, too. */
template <bool ONE_DRAW>
__device__ __forceinline__ void
qf_line_set(uint32_t *line, const qf_view &v, uint64_t h)
{
	qf_line_bits<ONE_DRAW>(v, h, [&](uint32_t bit) { atomicOr(&line[bit / 32], 1u << bit % 32); });
}

/*
 * OR the key of each lane into the filter.  All lanes take part; "rows" is
 * shared memory of the warp, a line for each lane.  Each lane makes its key's
 * line there.  Then eight lanes own the words of one line, four lines at a
 * time, so one instruction asks for everything that is needed from a line.
 * Words that would not change are left alone: reading costs less than an
 * atomic, and all multiprocessors would otherwise wait for the line of a
 * frequent key.
 */
__device__ __forceinline__ void
qf_warp_insert(const qf_view &v, uint4 *rows, uint64_t h, bool have)
{
	uint32_t lane = qs_lane();
	uint32_t *mine = (uint32_t *) (rows + lane * QF_LINE_QUADS);
	const qs_u64 *all = (const qs_u64 *) rows;
	qs_u64 *table = (qs_u64 *) v.word + lane % QF_LINE_LONGS;
	uint32_t line = qf_line_of(v, h);

#pragma unroll
	for (int i = 0; i < QF_LINE_QUADS; i++)
		rows[i * 32 + lane] = make_uint4(0, 0, 0, 0);
	__syncwarp();
	if (have)
		qf_line_bits(v, h, [&](uint32_t bit) { mine[bit / 32] |= 1u << bit % 32; });
	__syncwarp();
#pragma unroll
	for (int turn = 0; turn < QF_LINE_LONGS; turn += QF_AHEAD)
	{
		qs_u64 bits[QF_AHEAD];
		qs_u64 *word[QF_AHEAD];

#pragma unroll
		for (int i = 0; i < QF_AHEAD; i++)
		{
			uint32_t from = (turn + i) * (32 / QF_LINE_LONGS) + lane / QF_LINE_LONGS;

			bits[i] = all[(turn + i) * 32 + lane];
			word[i] = table + (uint64_t) __shfl_sync(QS_ALL_LANES, line, from) * QF_LINE_LONGS;
			if (bits[i])
				bits[i] &= ~__ldcg(word[i]);
		}
#pragma unroll
		for (int i = 0; i < QF_AHEAD; i++)
			if (bits[i])
				atomicOr(word[i], bits[i]);
	}
	__syncwarp();
}

#endif
