/*
 * sketch_groups.cuh
 *		One launch that adds keys to many sketches, side by side by sketch.
 *
 * A warp takes a chunk of keys in a row, looks up whose the first one is, and goes on to
 * the next sketch where the chunk does.  Its share of each sketch's keys is a batch, which
 * is added as by a launch of its own.  So many small batches fill the device, and each
 * block loads the masks once.
 *
 * Floor: as for adding the keys of one sketch.
 *
 * cuda/sketch_groups.cuh
 */
#ifndef QS_SKETCH_GROUPS_CUH
#define QS_SKETCH_GROUPS_CUH

#include "sketch_kernels.cuh"

/* What differs between sketches of the same parameters. */
struct qs_group
{
	uint8_t *table;
	uint8_t *extra;
	uint32_t *high_used;
	uint64_t end; /* of its keys, which begin where those of the group before it end */
};

/* Keys without weights, side by side by group. */
struct qs_grouped
{
	const uint64_t *key;
	uint64_t count;        /* at least 1 */
	const qs_group *group; /* in device memory; the last one ends with the keys */
	uint32_t groups;
	uint64_t chunk; /* keys of a warp */
};

/* The keys of a warp if so many warps share them: whole steps of a walk. */
static inline uint64_t
qs_chunk(uint64_t count, uint64_t warps)
{
	return qs_ceil_div(count, warps * 32) * 32;
}

template <typename Adder>
__global__ void
__launch_bounds__(QS_BLOCK) insert_groups(const qs_view common, const qs_grouped all)
{
	__shared__ uint32_t room[QS_SHARED_MASKS];
	Adder adder(common, room);
	uint64_t warp = ((uint64_t) blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint64_t at = warp * all.chunk;
	uint64_t end = min(at + all.chunk, all.count);
	uint32_t g = at < end ? qs_group_at(all.group, all.groups, at) : 0;

	for (; at < end; g++)
	{
		qs_group own = all.group[g];
		qs_batch batch = { all.key + at, NULL, min(own.end, end) - at };
		qs_view v = common;

		v.table = own.table;
		v.extra = own.extra;
		v.high_used = own.high_used;
		qs_walk<false> walk(v, batch, 0, 32);
		adder.add(v, walk);
		at += batch.count;
	}
}

template <typename Adder>
static qb_status
qs_add_groups(qs_cuda *gpu, const qs_view *v, qs_grouped *all)
{
	int grid;

	QS_TRY(
		qs_grid(gpu, insert_groups<Adder>, QS_BLOCK, 0, qs_ceil_div(all->count, QS_BLOCK), &grid));
	all->chunk = qs_chunk(all->count, (uint64_t) grid * (QS_BLOCK / 32));
	insert_groups<Adder><<<grid, QS_BLOCK, 0, gpu->stream>>>(*v, *all);
	return qs_launched(gpu);
}

#endif
