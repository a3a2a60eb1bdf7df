/*
 * sets_path.cuh
 *		Counts common elements along the merge path of a pair: IP, intersect path (paper, section
 *		3).
 *
 * The merge path of a pair is cut into shards of the same number of steps.  Each warp merges a
 * shard without waiting for other warps, so some warps load while other warps merge.  A warp has
 * two rings in shared memory, one for each set, and fills them 16 bytes at a time.  It merges one
 * piece of the path after another.  The lanes find where their slices of the piece begin.  Then
 * each lane merges its slice, one element per step.
 *
 * The head of a set is its first element that was not consumed.  A step consumes the lesser head.
 * If both heads are equal, it consumes a's head and counts a common element.  So no element is
 * counted twice where slices, pieces or shards meet.  NOTHING follows the last element of a set.
 *
 * Floor: each element is read once, 4 bytes.  A step takes 9 instructions, one of which reads
 * shared memory.  Of the 32 reads of a warp, the fullest bank serves 3.5 on average.  Filling the
 * rings, and finding where shards and slices begin, takes more instructions than the steps.  A warp
 * waits for memory two fifths of its time.
 *
 * cuda/sets_path.cuh
 */
#ifndef QSET_SETS_PATH_CUH
#define QSET_SETS_PATH_CUH

#include "device.cuh"

#include <cuda_pipeline.h>

#define NOTHING UINT32_MAX /* no element has this number */

struct set
{
	const uint32_t *element;
	uint64_t count;
};

/*
 * Find the point (*x, *y) where a diagonal meets the merge path of a pair.  The merge
 * passes the element of a before an equal element of b.  In each round a warp tests 32 points, one
 * per lane.
 */
__device__ __forceinline__ void
cut_by_warp(const set &a, const set &b, uint64_t diagonal, uint64_t *x, uint64_t *y)
{
	uint64_t low = diagonal > b.count ? diagonal - b.count : 0;
	uint64_t high = diagonal < a.count ? diagonal : a.count;

	while (low < high)
	{
		uint64_t step = (high - low + 31) / 32;
		uint64_t at = low + qs_lane() * step;
		bool before = at < high && a.element[at] <= b.element[diagonal - at - 1];
		uint32_t lanes = __popc(__ballot_sync(QS_ALL_LANES, before));

		/*
		 * all indexes below "low" are known to be "before", and all indexes from "high" on are
		 * known not to be "before"
		 */
		high = lanes < 32 && low + lanes * step < high ? low + lanes * step : high;
		low = lanes > 0 ? low + (lanes - 1) * step + 1 : low;
	}
	*x = low;
	*y = diagonal - low;
}

#define PATH_WARPS 4  /* warps of a block; six such blocks fit a multiprocessor of 228 kB */
#define STEPS      31 /* steps of a lane in a piece */
#define PATH_PIECE (32 * STEPS) /* steps of a piece; rings hold at least one element more */
#define RING       1024
#define AGAIN      32 /* number of a ring's first elements that are repeated behind its end */
#define QUAD       4  /* elements in 16 bytes */

/* One set of a warp's shard, and its ring. */
struct side
{
	uint32_t *ring;
	const uint32_t *from; /* the 16-byte boundary before the shard's first element */
	uint32_t next;   /* index, counted from "from", of the first element that was not consumed */
	uint32_t loaded; /* elements loaded so far, in whole quads */
	uint32_t end;    /* end of the set, or of the elements that the shard can need */
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

/*
 * Queue the copy of a quad to shared memory.  Only "bytes" bytes are read; all other bytes become
 * 0.
 */
__device__ __forceinline__ void
bring_quad(uint32_t to, const uint32_t *from, uint32_t bytes)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
				 : "memory");
}

/* Queue copies to all free slots of the ring.  Elements behind the end are not read. */
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

/* Write NOTHING behind the last element if the next piece may reach the end. */
__device__ __forceinline__ void
end_ring(const side &s)
{
	uint32_t at = s.end % RING + qs_lane() * RING;

	if (qs_lane() < 2 && at < RING + AGAIN && s.end - s.next <= PATH_PIECE)
		s.ring[at] = NOTHING;
}

/* Return how many of the first "diagonal" elements of the merged sides are elements of a. */
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

/* A lane's position: the heads of both sides, and the heads' addresses in shared memory. */
struct heads
{
	uint32_t a, b, at_a, at_b;
};

/*
 * Consume the lesser head, or a's head if both are equal.  This function is in assembly, because
 * the compiler generates twice as many instructions.
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
 * Merge a piece of the path, and advance both sides to the end of the piece.  Returns the number of
 * common elements in this lane's slice.
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

/*
 * Return the step at which shard "number" of a pair's path begins.  The path has "slices" shards.
 */
__device__ __forceinline__ uint64_t
cut_path(const set &a, const set &b, uint32_t number, uint32_t slices)
{
	uint64_t steps = a.count + b.count;

	return slices > 1 ? steps * number / slices : number * steps;
}

/*
 * Merge a warp's shard of a pair: "steps" steps from (x, y) on.  Returns this lane's number of
 * common elements.
 */
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

#endif
