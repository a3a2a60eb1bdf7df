/*
 * filter_blocked.cu
 *		Blocked Bloom filters on the device: insertion of rows, and lookups.
 *
 * Insertion.  A small batch is inserted into the filter in device memory directly (warp_insert).
 * For a large batch, if the filter fits into a block's shared memory, each block fills a filter in
 * shared memory, and at the end ORs it into the filter in device memory.  A large batch for a
 * larger filter is partitioned first (sort_keys, fill_tiles).
 *
 * Lookups.  A warp copies the lines of 32 keys to shared memory, four lanes per line.  Then each
 * lane tests the bits of its key.  L1 serves one line per clock, and a thread that loaded its line
 * by four loads would need four clocks.  For many keys, a filter that fits into shared memory is
 * copied to each block.  No test stops early, because an absent key also costs one line.
 *
 * The positions of a key are in one line of 64 bytes, which is two sectors of memory.  Reading this
 * line is the cost of a key.  So lookups test a copy of the line in shared memory, and insertions
 * first set the bits in shared memory, where each word costs the same.
 *
 * Floor per key in device memory: one random line (two sectors) read, and an
 * atomic on each sector that changes.
 *
 * SQL: qfilter_agg() of a blocked Bloom filter, where only keys of cached columns are partitioned;
 * qfilter_contains() of arrays.
 *
 * cuda/filter_blocked.cu
 */
#include "filter.cuh"

#include <cub/block/block_scan.cuh>
#include <cuda_pipeline.h>

#define LINE_WORDS (QF_BLOCK_BITS / 32)  /* 4-byte words of a line */
#define LINE_LONGS (QF_BLOCK_BITS / 64)  /* 8-byte words of a line */
#define LINE_QUADS (QF_BLOCK_BITS / 128) /* 16-byte words of a line */

/* Number of steps of warp_insert() whose words are read before any of these words is changed. */
#define AHEAD 2

__device__ __forceinline__ uint32_t
line_of(const qf_view &v, uint64_t h)
{
	return qs_reduce_short(h, v.lines);
}

/* Call each(bit of the line) for the first "count" positions of a draw. */
template <typename Each>
__device__ __forceinline__ void
draw_bits(uint64_t draw, uint32_t count, Each each)
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
line_bits(const qf_view &v, uint64_t h, Each each)
{
	if constexpr (ONE_DRAW)
		draw_bits(qf_block_draw(h, 0), QF_BLOCK_DRAWS, each);
	else
	{
		uint32_t group = 0, left = v.k;

		for (; left > QF_BLOCK_DRAWS; left -= QF_BLOCK_DRAWS)
			draw_bits(qf_block_draw(h, group++), QF_BLOCK_DRAWS, each);
		draw_bits(qf_block_draw(h, group), left, each);
	}
}

/*
 * Set the bits of h in a line in shared memory, by atomics, because other threads change the line,
 * too.
 */
template <bool ONE_DRAW>
__device__ __forceinline__ void
line_set(uint32_t *line, const qf_view &v, uint64_t h)
{
	line_bits<ONE_DRAW>(v, h, [&](uint32_t bit) { atomicOr(&line[bit / 32], 1u << bit % 32); });
}

/*
 * OR the key of each lane into the filter.  All lanes must call this.  "rows" is shared memory of
 * the warp, with a line for each lane.  Each lane first sets the bits of its key in its line of
 * "rows".  Then eight lanes process the words of one line, four lines at a time, so that one
 * instruction requests all words of a line.  Words that would not change are not written, because
 * reading costs less than an atomic.  If such words were written, all multiprocessors would wait
 * for the line of a frequent key.
 */
__device__ __forceinline__ void
warp_insert(const qf_view &v, uint4 *rows, uint64_t h, bool have)
{
	uint32_t lane = qs_lane();
	uint32_t *mine = (uint32_t *) (rows + lane * LINE_QUADS);
	const qs_u64 *all = (const qs_u64 *) rows;
	qs_u64 *table = (qs_u64 *) v.word + lane % LINE_LONGS;
	uint32_t line = line_of(v, h);

#pragma unroll
	for (int i = 0; i < LINE_QUADS; i++)
		rows[i * 32 + lane] = make_uint4(0, 0, 0, 0);
	__syncwarp();
	if (have)
		line_bits(v, h, [&](uint32_t bit) { mine[bit / 32] |= 1u << bit % 32; });
	__syncwarp();
#pragma unroll
	for (int round = 0; round < LINE_LONGS; round += AHEAD)
	{
		qs_u64 bits[AHEAD];
		qs_u64 *word[AHEAD];

#pragma unroll
		for (int i = 0; i < AHEAD; i++)
		{
			uint32_t from = (round + i) * (32 / LINE_LONGS) + lane / LINE_LONGS;

			bits[i] = all[(round + i) * 32 + lane];
			word[i] = table + (uint64_t) __shfl_sync(QS_ALL_LANES, line, from) * LINE_LONGS;
			if (bits[i])
				bits[i] &= ~__ldcg(word[i]);
		}
#pragma unroll
		for (int i = 0; i < AHEAD; i++)
			if (bits[i])
				atomicOr(word[i], bits[i]);
	}
	__syncwarp();
}

/* True if row i exists and has at least one copy. */
__device__ __forceinline__ bool
counts(const qf_rows &r, uint64_t i)
{
	return i < r.count && (!r.copies || r.copies[i] > 0);
}

/*
 * Call each(i) for all keys.  All lanes of a warp make each call together; i is at least "count" in
 * lanes without a key.
 */
template <typename Each>
__device__ __forceinline__ void
for_warps(uint64_t count, Each each)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t at = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x - qs_lane(); at < count;
		 at += stride)
		each(at + qs_lane());
}

__global__ void
__launch_bounds__(QS_BLOCK) insert_lines(const qf_view v, const qf_rows r)
{
	__shared__ uint4 rows[QS_BLOCK * LINE_QUADS];
	uint4 *warp_rows = rows + threadIdx.x / 32 * 32 * LINE_QUADS;

	for_warps(r.count, [&](uint64_t i) {
		uint64_t key = i < r.count ? __ldcs(&r.fingerprint[i]) : 0;

		warp_insert(v, warp_rows, qf_hash(key, v.seed_key), counts(r, i));
	});
}

template <bool ONE_DRAW>
__global__ void
__launch_bounds__(QF_LARGE_BLOCK) insert_lines_shared(const qf_view v, const qf_rows r)
{
	extern __shared__ uint32_t filter[];
	for (uint32_t i = threadIdx.x; i < v.words; i += QF_LARGE_BLOCK)
		filter[i] = 0;
	__syncthreads();
	qs_for_each(r.count, [&](uint64_t i) {
		uint64_t h = qf_hash(__ldcs(&r.fingerprint[i]), v.seed_key);

		if (counts(r, i))
			line_set<ONE_DRAW>(filter + line_of(v, h) * LINE_WORDS, v, h);
	});
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < v.words; i += QF_LARGE_BLOCK)
		if (filter[i] & ~__ldcg(&v.word[i]))
			atomicOr(&v.word[i], filter[i]);
}

/* True if all bits of h are set in a line in shared memory. */
__device__ __forceinline__ bool
has_all(const uint32_t *line, const qf_view &v, uint64_t h)
{
	uint32_t missing = 0;

	line_bits(v, h, [&](uint32_t bit) { missing |= ~line[bit / 32] >> bit % 32; });
	return !(missing & 1);
}

/* Queue the copies of the lines of the warp's 32 keys into "rows". */
__device__ __forceinline__ void
bring_lines(const qf_view &v, uint4 *rows, uint32_t line)
{
	const uint4 *table = (const uint4 *) v.word + qs_lane() % LINE_QUADS;

#pragma unroll
	for (int round = 0; round < LINE_QUADS; round++)
	{
		uint32_t from = round * (32 / LINE_QUADS) + qs_lane() / LINE_QUADS;
		uint64_t first = (uint64_t) __shfl_sync(QS_ALL_LANES, line, from) * LINE_QUADS;

		__pipeline_memcpy_async(&rows[round * 32 + qs_lane()], table + first, sizeof(uint4));
	}
	__pipeline_commit();
}

__global__ void
__launch_bounds__(QS_BLOCK)
	find_lines(const qf_view v, const uint64_t *key, uint64_t count, bool *found)
{
	__shared__ uint4 rows[QS_BLOCK * LINE_QUADS];
	uint4 *warp_rows = rows + threadIdx.x / 32 * 32 * LINE_QUADS;
	const uint32_t *mine = (const uint32_t *) (warp_rows + qs_lane() * LINE_QUADS);

	for_warps(count, [&](uint64_t i) {
		uint64_t h = qf_hash(i < count ? __ldcs(&key[i]) : 0, v.seed_key);

		bring_lines(v, warp_rows, line_of(v, h));
		__pipeline_wait_prior(0);
		__syncwarp();
		if (i < count)
			found[i] = has_all(mine, v, h);
		__syncwarp();
	});
}

__global__ void
__launch_bounds__(QF_LARGE_BLOCK)
	find_lines_shared(const qf_view v, const uint64_t *key, uint64_t count, bool *found)
{
	extern __shared__ uint4 copy[];

	for (uint32_t i = threadIdx.x; i < v.lines * LINE_QUADS; i += QF_LARGE_BLOCK)
		copy[i] = ((const uint4 *) v.word)[i];
	__syncthreads();
	qs_for_each(count, [&](uint64_t i) {
		uint64_t h = qf_hash(__ldcs(&key[i]), v.seed_key);

		found[i] = has_all((const uint32_t *) (copy + line_of(v, h) * LINE_QUADS), v, h);
	});
}

/*
 * ---- large batches: keys are partitioned by tile of the filter ----
 *
 * Inserting a key into a large filter directly costs two random accesses to device memory and two
 * atomics in L2.  A large batch avoids them, as with sketches (sketch_bulk.cu).  Its keys are
 * sorted by tiles, which are partitions of the filter that fit into shared memory:
 *
 *	sort	A block reads 16384 keys, hashes them, and sorts them by tile in shared
 *			memory.  It writes them as one stretch, with the offset of each tile's run.
 *	fill	A block loads a tile into shared memory, sets the bits of the keys in the
 *			tile's run of each stretch, and writes the tile back.
 *
 * One sorting pass is enough: even with the 4096 tiles of the largest filter, a run has four keys,
 * which fill a sector.  A sorted key is its hash of 8 bytes, from which its line and its bits
 * follow.
 *
 * Floor: each key is read, written and read again, 8 bytes each time.  Each batch reads and writes
 * the filter once.
 *
 * Skew.  A run that is much longer than the average run has frequent keys, and would keep one block
 * busy while other blocks wait.  So insert_left() inserts the keys of such a run into the filter
 * directly.  These insertions are fast, because frequent keys change few bits.
 */

#define SORT_BLOCK 1024
#define SORT_EACH  16 /* keys of one thread */
#define SORT_KEYS  (SORT_BLOCK * SORT_EACH)
#define FILL_BLOCK 1024

/* log2 of the largest number of lines of a tile (128 kB). */
#define TILE_LOG  11
#define TILES_MAX (1 << (32 - QF_BLOCK_LOG - TILE_LOG)) /* tiles of the largest filter */
#define TILE_EACH ((TILES_MAX + SORT_BLOCK - 1) / SORT_BLOCK)

/*
 * Bits of a rank below SORT_KEYS.  rank_keys() stores a rank in the low bits of a word, and the
 * number of the tile in the high bits.
 */
#define RANK_BITS 14

static_assert(SORT_KEYS == 1 << RANK_BITS, "a rank has as many bits as it needs");
static_assert(QF_BITS_MAX / QF_BLOCK_BITS <= (uint64_t) TILES_MAX << TILE_LOG, "tiles suffice");

/*
 * Partitioning pays for batches of at least this many keys, if there is at least one key per line
 * and the filter does not fit into shared memory.
 */
#define PAYS_KEYS (UINT64_C(1) << 21)

/* Largest number of keys that are partitioned at a time. */
#define BULK_KEYS (UINT64_C(1) << 28)

/* How a batch is partitioned. */
struct plan
{
	uint32_t log2_lines; /* log2 of the lines of a tile */
	uint32_t tiles;
	uint32_t stretches;
	uint32_t most;  /* largest number of keys of a run; the keys of longer runs are left over */
	uint32_t lanes; /* lanes that read a run together */
};

/* The output of sort_keys. */
struct sorted_keys
{
	uint64_t *item;  /* hashes; each stretch has SORT_KEYS hashes */
	uint16_t *start; /* per stretch: starts of the tiles' runs, start of the keys left over, end */
};

/* Choose the largest size of tiles that gives each multiprocessor at least one tile. */
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

/*
 * True if partitioning is allowed, and sort_keys and fill_tiles have enough shared memory.  Static
 * variables of these kernels take less than 1 kB per block.
 */
static bool
is_possible(const qf_cuda_filter *f)
{
	plan p = plan_batch(f, SORT_KEYS);
	size_t sort = sort_bytes(p), fill = fill_bytes(p);

	return f->view.lines > 0 && f->gpu->bulk != QS_BULK_NEVER &&
		   (sort > fill ? sort : fill) + 1024 <= f->gpu->shared_max;
}

/* True if partitioning this many keys is possible, and pays or is forced (QS_BULK_ALWAYS). */
static bool
bulk_pays(const qf_cuda_filter *f, uint64_t count)
{
	bool pays =
		count >= PAYS_KEYS && count >= f->view.lines && qf_bits_bytes(f) >= f->gpu->shared_max;

	return (pays || f->gpu->bulk == QS_BULK_ALWAYS) && is_possible(f);
}

/*
 * Hash a thread's keys.  ranked[] receives the tile of each key, and the key's rank within the
 * tile.  The stretch has only "here" keys.
 */
__device__ __forceinline__ void
rank_keys(const qf_view &v, const plan &p, uint32_t here, uint32_t *count, uint64_t h[SORT_EACH],
		  uint32_t ranked[SORT_EACH])
{
#pragma unroll
	for (int k = 0; k < SORT_EACH; k++)
	{
		uint32_t tile;

		h[k] = qf_hash(h[k], v.seed_key);
		tile = line_of(v, h[k]) >> p.log2_lines;
		if (k * SORT_BLOCK + threadIdx.x < here)
			ranked[k] = tile << RANK_BITS | atomicAdd(&count[tile], 1);
	}
}

/*
 * Replace the count of each tile by the start of its run.  Runs that are too long become empty.
 * Returns the end of the last run.
 */
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

/* Return the next index to each lane whose "wanted" is true. */
__device__ __forceinline__ uint32_t
next_index(uint32_t *next, bool wanted)
{
	uint32_t lanes = __ballot_sync(QS_ALL_LANES, wanted);
	uint32_t first = 0;

	if (lanes && qs_lane() == 0)
		first = atomicAdd(next, __popc(lanes));
	return __shfl_sync(QS_ALL_LANES, first, 0) + __popc(lanes & ((1u << qs_lane()) - 1));
}

/* Write each key into the run of its tile, or behind all runs if this run is too long. */
__device__ __forceinline__ void
scatter_keys(const uint32_t *start, uint32_t *left, uint32_t here, const uint64_t h[SORT_EACH],
			 const uint32_t ranked[SORT_EACH], uint64_t *stage)
{
#pragma unroll
	for (int k = 0; k < SORT_EACH; k++)
	{
		bool any = k * SORT_BLOCK + threadIdx.x < here;
		uint32_t tile = any ? ranked[k] >> RANK_BITS : 0;
		bool kept = any && start[tile + 1] > start[tile];
		uint32_t index = next_index(left, any && !kept);

		if (kept)
			index = start[tile] + (ranked[k] & (SORT_KEYS - 1));
		if (any)
			stage[index] = h[k];
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
#pragma unroll
	for (int k = 0; k < SORT_EACH; k++)
	{
		uint32_t i = k * SORT_BLOCK + threadIdx.x;

		h[k] = i < here ? __ldcs(&key[first + i]) : 0;
	}
	rank_keys(v, p, here, count, h, ranked);
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
	scatter_keys(count, &left, here, h, ranked, stage);
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < here; i += SORT_BLOCK)
		to.item[first + i] = stage[i];
}

/*
 * Return the start and the end of a tile's run in a stretch.  Behind the last stretch the run is
 * empty.
 */
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
		line_set<ONE_DRAW>(line + (line_of(v, h) - first) * LINE_WORDS, v, h);
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
		uint32_t quads = min(1u << p.log2_lines, v.lines - first) * LINE_QUADS;
		uint4 *table = (uint4 *) v.word + (uint64_t) first * LINE_QUADS;

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

/* Insert the keys that were left over.  A block processes every gridDim.x-th stretch. */
__global__ void
__launch_bounds__(QS_BLOCK) insert_left(const qf_view v, const plan p, const sorted_keys from)
{
	__shared__ uint4 rows[QS_BLOCK * LINE_QUADS];
	uint4 *warp_rows = rows + threadIdx.x / 32 * 32 * LINE_QUADS;

	for (uint32_t stretch = blockIdx.x; stretch < p.stretches; stretch += gridDim.x)
	{
		const uint64_t *item = from.item + (uint64_t) stretch * SORT_KEYS;
		uint2 run = run_of(p, from, p.tiles, stretch);

		for (uint32_t at = run.x + threadIdx.x - qs_lane(); at < run.y; at += QS_BLOCK)
		{
			bool have = at + qs_lane() < run.y;

			warp_insert(v, warp_rows, have ? item[at + qs_lane()] : 0, have);
		}
	}
}

/*
 * Insert keys by partitioning.  QB_NO_MEMORY: the workspace does not fit, and no key was inserted.
 */
static qb_status
bulk_insert(const qf_cuda_filter *f, const uint64_t *key, uint64_t count)
{
	qs_cuda *gpu = f->gpu;
	plan p = plan_batch(f, count);
	auto fill = f->view.k == QF_BLOCK_DRAWS ? fill_tiles<true> : fill_tiles<false>;
	size_t items = (size_t) p.stretches * SORT_KEYS * sizeof(uint64_t);
	size_t starts = (size_t) p.stretches * (p.tiles + 2) * sizeof(uint16_t);
	sorted_keys keys;
	uint8_t *work;

	QS_TRY(qs_allow_shared(gpu, sort_keys, sort_bytes(p)));
	QS_TRY(qs_workspace(gpu, items + starts, &work));
	keys = { (uint64_t *) work, (uint16_t *) (work + items) };
	sort_keys<<<p.stretches, SORT_BLOCK, sort_bytes(p), gpu->stream>>>(f->view, p, key, count,
																	   keys);
	QS_TRY(qs_launched(gpu));
	QS_TRY(qs_launch_blocks(gpu, fill, { p.tiles, FILL_BLOCK, fill_bytes(p) }, f->view, p, keys));
	QS_TRY(qs_launch_blocks(gpu, insert_left, { p.stretches, QS_BLOCK, 0 }, f->view, p, keys));
	gpu->stats.bulk_keys += count;
	return QB_OK;
}

/* ---- host ---- */

/* Insert keys without partitioning: directly, or by a filter in each block's shared memory. */
static qb_status
insert_straight(const qf_cuda_filter *f, const qf_rows *r)
{
	qs_cuda *gpu = f->gpu;
	auto kernel =
		f->view.k == QF_BLOCK_DRAWS ? insert_lines_shared<true> : insert_lines_shared<false>;
	bool shared;

	QS_TRY(qf_wants_shared(f, kernel, r->count, &shared));
	if (shared)
		return qs_launch_blocks(gpu, kernel, qf_shape(f, r->count), f->view, *r);
	return qs_launch(gpu, insert_lines, r->count, f->view, *r);
}

/* If there is too little memory to partition keys, insert them without partitioning. */
qb_status
qf_insert_blocked(const qf_cuda_filter *f, const qf_rows *r)
{
	qf_rows rest = *r;

	while (!r->copies && rest.count > 0 && bulk_pays(f, rest.count))
	{
		uint64_t some = rest.count < BULK_KEYS ? rest.count : BULK_KEYS;
		qb_status status = bulk_insert(f, rest.fingerprint, some);

		if (status == QB_NO_MEMORY)
			break;
		if (status != QB_OK)
			return status;
		rest.fingerprint += some;
		rest.count -= some;
	}
	return rest.count > 0 ? insert_straight(f, &rest) : QB_OK;
}

/*
 * If the filter is in device memory, each thread tests one key.  Blocks with one key per thread are
 * 7 % faster than blocks that process keys in grid strides, because one key per thread distributes
 * the reads better.
 */
qb_status
qf_contains_blocked(const qf_cuda_filter *f, const uint64_t *key, uint64_t count, bool *found)
{
	qs_cuda *gpu = f->gpu;
	bool shared;

	QS_TRY(qf_wants_shared(f, find_lines_shared, count, &shared));
	if (shared)
		return qs_launch_blocks(gpu, find_lines_shared, qf_shape(f, count), f->view, key, count,
								found);
	find_lines<<<(uint32_t) qs_ceil_div(count, QS_BLOCK), QS_BLOCK, 0, gpu->stream>>>(f->view, key,
																					  count, found);
	return qs_launched(gpu);
}
