/*
 * filter_blocked_bulk.cu
 *		Many keys into a blocked Bloom filter: partitioned by stretches of it first.
 *
 * A key that goes to a large filter directly costs two random accesses to
 * device memory and two atomics in L2.  A large batch can do better, as with
 * sketches (sketch_bulk.cu).  Its keys are sorted by tiles: partitions of the
 * filter that fit into shared memory:
 *
 *	sort	a block takes 16384 keys, hashes them, sorts them by tile in shared
 *			memory and writes them as one stretch, with the offset of each tile.
 *	fill	a block has a tile in shared memory, takes its run of each stretch,
 *			sets the keys' bits and writes the tile back.
 *
 * One pass is enough: with 4096 tiles, which the largest filter has, a run is
 * four keys, or one sector.  A key travels as its hash of 8 bytes, which gives
 * its line and its bits.
 *
 * Floor per key: 8 bytes read, written and read again, so 24.  The filter is
 * read and written once per batch.
 *
 * Skew.  A run that is much longer than its share has keys that come often.
 * They would keep one block busy while other blocks wait.  So such a run is
 * left over: its keys go to the filter directly, where they change little.
 *
 * cuda/filter_blocked_bulk.cu
 */
#include <cub/block/block_scan.cuh>

#include "filter_blocked.cuh"

#define SORT_BLOCK 1024
#define SORT_EACH  16 /* keys of one thread */
#define SORT_KEYS  (SORT_BLOCK * SORT_EACH)
#define FILL_BLOCK 1024

/* Lines of a tile, at most: 128 kB of them. */
#define TILE_LOG  11
#define TILES_MAX (1 << (32 - QF_BLOCK_LOG - TILE_LOG)) /* of the largest filter */
#define TILE_EACH ((TILES_MAX + SORT_BLOCK - 1) / SORT_BLOCK)

/* Bits of a rank among SORT_KEYS; they stand below the number of a tile. */
#define RANK_BITS 14

static_assert(SORT_KEYS == 1 << RANK_BITS, "a rank has as many bits as it needs");
static_assert(QF_BITS_MAX / QF_BLOCK_BITS <= (uint64_t) TILES_MAX << TILE_LOG, "tiles suffice");

/* A batch is worth partitioning from this many keys on, and from one key for each line. */
#define PAYS_KEYS (UINT64_C(1) << 21)

/* How a batch is cut. */
struct plan
{
	uint32_t log2_lines; /* lines of a tile */
	uint32_t tiles;
	uint32_t stretches;
	uint32_t most;  /* keys of a run, at most; longer runs are left over */
	uint32_t lanes; /* lanes that read a run together */
};

/* The data between both passes. */
struct sorted_keys
{
	uint64_t *item;  /* hashes, SORT_KEYS to a stretch */
	uint16_t *start; /* in each stretch: starts of tiles, start of the keys left over, end */
};

/* Make tiles as large as possible while each multiprocessor still has one. */
static plan
plan_batch(const qf_cuda_filter *f, uint64_t count)
{
	uint32_t lines = f->view.lines, mean;
	plan p = {};

	while (p.log2_lines < TILE_LOG &&
		   lines >> (p.log2_lines + 1) >= (uint32_t) f->gpu->multiprocessors)
		p.log2_lines++;
	p.tiles = (uint32_t) qs_ceil_div(lines, UINT64_C(1) << p.log2_lines);
	p.stretches = (uint32_t) qs_ceil_div(count, SORT_KEYS);
	mean = SORT_KEYS / p.tiles;
	p.most = 2 * mean + 32;
	p.lanes = mean <= 16 ? 4 : mean <= 64 ? 8 : 16;
	return p;
}

static size_t
sort_bytes(const plan &p)
{
	return SORT_KEYS * sizeof(uint64_t) + (p.tiles + 1) * sizeof(uint32_t);
}

static size_t
fill_bytes(const plan &p)
{
	return ((size_t) QF_BLOCK_BITS / 8) << p.log2_lines;
}

/* Is there enough shared memory?  A block's other variables take less than a kilobyte. */
static bool
is_possible(const qf_cuda_filter *f)
{
	plan p = plan_batch(f, SORT_KEYS);
	size_t sort = sort_bytes(p), fill = fill_bytes(p);

	return f->view.lines > 0 && f->gpu->bulk != QS_BULK_NEVER &&
		   (sort > fill ? sort : fill) + 1024 <= f->gpu->shared_max;
}

bool
qf_bulk_pays(const qf_cuda_filter *f, uint64_t count)
{
	bool pays =
		count >= PAYS_KEYS && count >= f->view.lines && qf_bits_bytes(f) >= f->gpu->shared_max;

	return (pays || f->gpu->bulk == QS_BULK_ALWAYS) && is_possible(f);
}

/*
 * Hash a thread's keys, and give each key its rank among the keys of its tile.
 * Keys beyond "here" have no rank.
 */
__device__ __forceinline__ void
rank_keys(const qf_view &v, const plan &p, const uint64_t *key, uint32_t here, uint32_t *count,
		  uint64_t h[SORT_EACH], uint32_t ranked[SORT_EACH])
{
#pragma unroll
	for (int k = 0; k < SORT_EACH; k++)
	{
		uint32_t i = k * SORT_BLOCK + threadIdx.x;

		h[k] = i < here ? __ldcs(&key[i]) : 0;
	}
#pragma unroll
	for (int k = 0; k < SORT_EACH; k++)
	{
		uint32_t tile;

		h[k] = qf_hash(h[k], v.seed_key);
		tile = qf_line_of(v, h[k]) >> p.log2_lines;
		if (k * SORT_BLOCK + threadIdx.x < here)
			ranked[k] = tile << RANK_BITS | atomicAdd(&count[tile], 1);
	}
}

/* Turn the counts of tiles into starts; tiles with too many keys become empty.  Returns the end. */
__device__ __forceinline__ uint32_t
counts_to_starts(const plan &p, uint32_t *count)
{
	typedef cub::BlockScan<uint32_t, SORT_BLOCK, cub::BLOCK_SCAN_WARP_SCANS> scan;
	__shared__ typename scan::TempStorage temp;
	uint32_t mine[TILE_EACH], end;

#pragma unroll
	for (int k = 0; k < TILE_EACH; k++)
	{
		uint32_t i = threadIdx.x * TILE_EACH + k;

		mine[k] = i < p.tiles && count[i] <= p.most ? count[i] : 0;
	}
	scan(temp).ExclusiveSum(mine, mine, end);
#pragma unroll
	for (int k = 0; k < TILE_EACH; k++)
	{
		uint32_t i = threadIdx.x * TILE_EACH + k;

		if (i < p.tiles)
			count[i] = mine[k];
	}
	if (threadIdx.x == 0)
		count[p.tiles] = end;
	__syncthreads();
	return end;
}

/* The next index, for each lane that wants one. */
__device__ __forceinline__ uint32_t
next_place(uint32_t *next, bool wanted)
{
	uint32_t lanes = __ballot_sync(QS_ALL_LANES, wanted);
	uint32_t first = 0;

	if (lanes && qs_lane() == 0)
		first = atomicAdd(next, __popc(lanes));
	return __shfl_sync(QS_ALL_LANES, first, 0) + __popc(lanes & ((1u << qs_lane()) - 1));
}

/* Put the keys where they belong: into their tiles, or behind all tiles. */
__device__ __forceinline__ void
place_keys(const uint32_t *start, uint32_t *left, uint32_t here, const uint64_t h[SORT_EACH],
		   const uint32_t ranked[SORT_EACH], uint64_t *stage)
{
#pragma unroll
	for (int k = 0; k < SORT_EACH; k++)
	{
		bool any = k * SORT_BLOCK + threadIdx.x < here;
		uint32_t tile = any ? ranked[k] >> RANK_BITS : 0;
		bool kept = any && start[tile + 1] > start[tile];
		uint32_t place = next_place(left, any && !kept);

		if (kept)
			place = start[tile] + (ranked[k] & (SORT_KEYS - 1));
		if (any)
			stage[place] = h[k];
	}
}

__global__ void
__launch_bounds__(SORT_BLOCK)
	sort_keys(const qf_view v, const plan p, const uint64_t *key, uint64_t keys, sorted_keys to)
{
	extern __shared__ uint64_t stage[];
	__shared__ uint32_t left;
	uint32_t *count = (uint32_t *) (stage + SORT_KEYS);
	uint64_t first = (uint64_t) blockIdx.x * SORT_KEYS;
	uint32_t here = (uint32_t) min((uint64_t) SORT_KEYS, keys - first);
	uint16_t *start = to.start + (uint64_t) blockIdx.x * (p.tiles + 2);
	uint64_t h[SORT_EACH];
	uint32_t ranked[SORT_EACH], end;

	for (uint32_t i = threadIdx.x; i < p.tiles; i += SORT_BLOCK)
		count[i] = 0;
	__syncthreads();
	rank_keys(v, p, key + first, here, count, h, ranked);
	__syncthreads();
	end = counts_to_starts(p, count);
	if (threadIdx.x == 0)
	{
		left = end;
		start[p.tiles + 1] = (uint16_t) here;
	}
	for (uint32_t i = threadIdx.x; i <= p.tiles; i += SORT_BLOCK)
		start[i] = (uint16_t) count[i];
	__syncthreads();
	place_keys(count, &left, here, h, ranked, stage);
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < here; i += SORT_BLOCK)
		to.item[first + i] = stage[i];
}

/* The start and the end of a tile's run in a stretch. */
__device__ __forceinline__ uint2
run_of(const plan &p, const sorted_keys &from, uint32_t tile, uint32_t stretch)
{
	const uint16_t *start = from.start + (uint64_t) stretch * (p.tiles + 2) + tile;

	return stretch < p.stretches ? make_uint2(start[0], start[1]) : make_uint2(0, 0);
}

/* Set the bits of all keys of a tile; the block has the tile's lines in shared memory. */
template <bool ONE_DRAW>
__device__ __forceinline__ void
fill_tile(const qf_view &v, const plan &p, const sorted_keys &from, uint32_t tile, uint32_t *line)
{
	uint32_t first = tile << p.log2_lines;
	uint32_t stretch = threadIdx.x / p.lanes;
	uint2 run = run_of(p, from, tile, stretch);

	auto set = [&](uint64_t h) {
		qf_line_set<ONE_DRAW>(line + (qf_line_of(v, h) - first) * QF_LINE_WORDS, v, h);
	};

	while (stretch < p.stretches)
	{
		const uint64_t *item = from.item + (uint64_t) stretch * SORT_KEYS;
		uint2 next = run_of(p, from, tile, stretch + FILL_BLOCK / p.lanes);

		for (uint32_t i = run.x + threadIdx.x % p.lanes; i < run.y; i += 2 * p.lanes)
		{
			bool two = i + p.lanes < run.y;
			uint64_t one = __ldcs(&item[i]);
			uint64_t other = two ? __ldcs(&item[i + p.lanes]) : 0;

			set(one);
			if (two)
				set(other);
		}
		stretch += FILL_BLOCK / p.lanes;
		run = next;
	}
}

template <bool ONE_DRAW>
__global__ void
__launch_bounds__(FILL_BLOCK) fill_tiles(const qf_view v, const plan p, const sorted_keys from)
{
	extern __shared__ uint4 lines[];

	for (uint32_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x)
	{
		uint32_t first = tile << p.log2_lines;
		uint32_t quads = min(1u << p.log2_lines, v.lines - first) * QF_LINE_QUADS;
		uint4 *table = (uint4 *) v.word + (uint64_t) first * QF_LINE_QUADS;

		for (uint32_t i = threadIdx.x; i < quads; i += FILL_BLOCK)
			lines[i] = table[i];
		__syncthreads();
		fill_tile<ONE_DRAW>(v, p, from, tile, (uint32_t *) lines);
		__syncthreads();
		for (uint32_t i = threadIdx.x; i < quads; i += FILL_BLOCK)
			table[i] = lines[i];
		__syncthreads();
	}
}

/* Insert the keys left over, stretch after stretch. */
__global__ void
__launch_bounds__(QS_BLOCK) insert_left(const qf_view v, const plan p, const sorted_keys from)
{
	__shared__ uint4 rows[QS_BLOCK * QF_LINE_QUADS];
	uint4 *own = rows + threadIdx.x / 32 * 32 * QF_LINE_QUADS;

	for (uint32_t stretch = blockIdx.x; stretch < p.stretches; stretch += gridDim.x)
	{
		const uint64_t *item = from.item + (uint64_t) stretch * SORT_KEYS;
		uint2 run = run_of(p, from, p.tiles, stretch);

		for (uint32_t at = run.x + threadIdx.x - qs_lane(); at < run.y; at += QS_BLOCK)
		{
			bool have = at + qs_lane() < run.y;

			qf_warp_insert(v, own, have ? item[at + qs_lane()] : 0, have);
		}
	}
}

typedef void (*fill_kernel)(qf_view v, plan p, sorted_keys from);

/* Get the workspace, and allow both kernels their shared memory. */
static qb_status
prepare(const qf_cuda_filter *f, const plan &p, fill_kernel fill, sorted_keys *keys)
{
	qs_cuda *gpu = f->gpu;
	size_t items = (size_t) p.stretches * SORT_KEYS * sizeof(uint64_t);
	size_t starts = (size_t) p.stretches * (p.tiles + 2) * sizeof(uint16_t);
	uint8_t *work;

	QS_CUDA_TRY(gpu, cudaFuncSetAttribute(sort_keys, cudaFuncAttributeMaxDynamicSharedMemorySize,
										  (int) sort_bytes(p)));
	QS_CUDA_TRY(gpu, cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize,
										  (int) fill_bytes(p)));
	QS_TRY(qs_workspace(gpu, items + starts, &work));
	keys->item = (uint64_t *) work;
	keys->start = (uint16_t *) (work + items);
	return QB_OK;
}

qb_status
qf_bulk_insert(const qf_cuda_filter *f, const uint64_t *key, uint64_t count)
{
	qs_cuda *gpu = f->gpu;
	plan p = plan_batch(f, count);
	fill_kernel fill = f->view.k == QF_BLOCK_DRAWS ? fill_tiles<true> : fill_tiles<false>;
	sorted_keys keys;
	int grid;

	QS_TRY(prepare(f, p, fill, &keys));
	sort_keys<<<p.stretches, SORT_BLOCK, sort_bytes(p), gpu->stream>>>(f->view, p, key, count,
																	   keys);
	QS_TRY(qs_launched(gpu));
	QS_TRY(qs_grid(gpu, fill, FILL_BLOCK, fill_bytes(p), p.tiles, &grid));
	fill<<<grid, FILL_BLOCK, fill_bytes(p), gpu->stream>>>(f->view, p, keys);
	QS_TRY(qs_launched(gpu));
	QS_TRY(qs_grid(gpu, insert_left, QS_BLOCK, 0, p.stretches, &grid));
	insert_left<<<grid, QS_BLOCK, 0, gpu->stream>>>(f->view, p, keys);
	QS_TRY(qs_launched(gpu));
	gpu->stats.bulk_keys += count;
	return QB_OK;
}
