/*
 * sketch_bulk.cuh
 *		Adds partitioned keys tile by tile in shared memory.
 *
 * Adding a key directly costs a random access to device memory.  For a large batch, sketch_bulk.cu
 * orders the keys by the tiles of the table.  A tile is a range of buckets whose counts fit into
 * shared memory.  A block counts the keys of a tile in shared memory, with counters of 16 bits, and
 * adds the counts to the table.  So keys and tables are read and written in long runs.
 *
 * Floor: 24 bytes per key (thread: per key and row).  The key has 8 bytes, and each of the two
 * partitioning passes writes an item of 4 bytes, which is read later.  In addition, each batch
 * reads and writes each bucket of the table once.
 *
 * A counter of 16 bits cannot overflow, because no more than 65535 keys are
 * counted before the counts are added to the table.
 *
 * SQL: as in sketch_bulk.cu.
 *
 * cuda/sketch_bulk.cuh
 */
#ifndef QS_BULK_CUH
#define QS_BULK_CUH

#include "sketch_kernels.cuh"

extern "C"
{
#include "sketch/cells.h"
}

#define QS_TILE_COUNTERS 32768 /* 64 kB: three tiles fit an SM of compute capability 9.0 */
#define QS_TILE_BLOCK    512
#define QS_TILE_KEYS     65535
#define QS_RUN_LANES     16 /* lanes that read a run of keys together */
#define QS_RUN_AHEAD     4  /* keys that a lane reads before it adds any key */
#define QS_FLUSH_AHEAD   4  /* groups of counters that a thread reads before it writes any group */
#define QS_PREFETCH      32768 /* prefetched bytes of a tile; L2 must hold them for all blocks */
#define QS_GROUPS_MAX    512   /* largest number of runs of a tile, one for each thread */

/*
 * Keys as items of 4 bytes.  From the lowest bit on, an item has the index of its mask, the
 * rotation of the mask, and its bucket within the coarse partition.  A coarse partition has "fine"
 * tiles, and a tile has "groups" runs of items.
 */
struct qs_partitioned
{
	const uint32_t *item;
	const uint32_t *start; /* [group][coarse][fine + 1]: starts of runs, and end of the last run */
	uint64_t first; /* table index of the first bucket; for thread, of the row's first counter */
	uint64_t n;     /* number of buckets */
	uint32_t groups;
	uint32_t coarse, fine; /* number of coarse partitions, and of tiles of a coarse partition */
	uint32_t log2_masks;
	uint32_t tag_bits;     /* bits of an item below its bucket */
	uint32_t log2_buckets; /* log2 of the buckets of a tile */
};

/* A block's shared memory. */
struct qs_tile_memory
{
	uint16_t count[QS_TILE_COUNTERS];
	uint32_t mask[QS_SHARED_MASKS];
	uint32_t begin[QS_GROUPS_MAX]; /* index of each run's first item */
	uint32_t end[QS_GROUPS_MAX];
	uint32_t total; /* keys of the tile */
};

/* COUNT counters that are read and written together. */
template <typename Number, int COUNT> struct __align__(sizeof(Number) * COUNT) qs_counters
{
	Number number[COUNT];

	__device__ __forceinline__ bool any() const
	{
		Number bits = 0;

#pragma unroll
		for (int k = 0; k < COUNT; k++)
			bits |= number[k];
		return bits != 0;
	}
};

/*
 * Add the counts of a tile to a table of plain counters, with M counters per bucket.  A row of
 * thread may start at any counter, so its counters are read and written one by one.
 */
template <int M, typename Counter> struct qs_plain_tile
{
	static constexpr int m = M;
	static constexpr uint32_t bucket_bytes = M * sizeof(Counter);

	__device__ __forceinline__ void
	flush(const qs_view &v, uint64_t first, uint32_t buckets, const uint16_t *count)
	{
		constexpr int EACH = M == 1 ? 1 : 4;
		auto table = (qs_counters<Counter, EACH> *) ((Counter *) v.table + first * M);
		auto gain = (const qs_counters<uint16_t, EACH> *) count;
		uint32_t end = buckets * (M / EACH);

		for (uint32_t at = threadIdx.x; at < end; at += QS_TILE_BLOCK * QS_FLUSH_AHEAD)
		{
			qs_counters<Counter, EACH> old[QS_FLUSH_AHEAD];

#pragma unroll
			for (uint32_t k = 0; k < QS_FLUSH_AHEAD; k++)
				if (at + k * QS_TILE_BLOCK < end && gain[at + k * QS_TILE_BLOCK].any())
					old[k] = table[at + k * QS_TILE_BLOCK];
#pragma unroll
			for (uint32_t k = 0; k < QS_FLUSH_AHEAD; k++)
				if (at + k * QS_TILE_BLOCK < end && gain[at + k * QS_TILE_BLOCK].any())
				{
#pragma unroll
					for (int j = 0; j < EACH; j++)
						old[k].number[j] += gain[at + k * QS_TILE_BLOCK].number[j];
					table[at + k * QS_TILE_BLOCK] = old[k];
				}
		}
	}
};

/*
 * Return the start and the end of the thread's run of a tile.  Threads without a run return an
 * empty run.
 */
__device__ __forceinline__ uint2
qs_tile_run(const qs_partitioned &p, uint32_t number)
{
	uint64_t row = (uint64_t) threadIdx.x * p.coarse + number / p.fine;
	const uint32_t *start = &p.start[row * (p.fine + 1) + number % p.fine];

	return threadIdx.x < p.groups ? make_uint2(start[0], start[1]) : make_uint2(0, 0);
}

/* Store the thread's run in shared memory, and add its length to s.total. */
__device__ __forceinline__ void
qs_tile_share_run(qs_tile_memory &s, uint2 run)
{
	uint32_t sum = __reduce_add_sync(QS_ALL_LANES, run.y - run.x);

	s.begin[threadIdx.x] = run.x;
	s.end[threadIdx.x] = run.y;
	if (qs_lane() == 0)
		atomicAdd(&s.total, sum);
}

/* Prefetch the first QS_PREFETCH bytes of a tile's table into the L2 cache. */
__device__ __forceinline__ void
qs_tile_prefetch(const uint8_t *table, uint32_t bytes)
{
	if (threadIdx.x * 128 < min(bytes, QS_PREFETCH))
		asm volatile("prefetch.global.L2 [%0];" ::"l"(table + threadIdx.x * 128));
}

__device__ __forceinline__ void
qs_tile_clear(qs_tile_memory &s)
{
	for (uint32_t i = threadIdx.x; i < QS_TILE_COUNTERS / 8; i += QS_TILE_BLOCK)
		((uint4 *) s.count)[i] = make_uint4(0, 0, 0, 0);
}

/* Count one item. */
template <int M>
__device__ __forceinline__ void
qs_tile_count(qs_tile_memory &s, const qs_partitioned &p, uint32_t item)
{
	uint32_t first = (item >> p.tag_bits & ((1u << p.log2_buckets) - 1)) * M;
	uint32_t *pairs = (uint32_t *) s.count;
	uint32_t positions, mask;

	if (M == 1)
	{
		atomicAdd(&pairs[first / 2], 1u << (first % 2 * 16));
		return;
	}
	positions = (item & ((1u << p.tag_bits) - 1)) >> p.log2_masks;
	mask = qs_rotate<M>(s.mask[item & ((1u << p.log2_masks) - 1)], positions);
	for (; mask != 0; mask &= mask - 1)
	{
		uint32_t c = first + __ffs(mask) - 1;

		atomicAdd(&pairs[c / 2], 1u << (c % 2 * 16));
	}
}

/* Count all items from s.begin to s.end. */
template <int M>
__device__ __forceinline__ void
qs_tile_count_runs(qs_tile_memory &s, const qs_partitioned &p)
{
	for (uint32_t g = threadIdx.x / QS_RUN_LANES; g < p.groups; g += QS_TILE_BLOCK / QS_RUN_LANES)
	{
		uint32_t end = s.end[g];

		for (uint32_t i = s.begin[g] + threadIdx.x % QS_RUN_LANES; i < end;
			 i += QS_RUN_LANES * QS_RUN_AHEAD)
		{
			uint32_t item[QS_RUN_AHEAD];

#pragma unroll
			for (uint32_t k = 0; k < QS_RUN_AHEAD; k++)
				if (i + k * QS_RUN_LANES < end)
					item[k] = __ldcs(&p.item[i + k * QS_RUN_LANES]);
#pragma unroll
			for (uint32_t k = 0; k < QS_RUN_AHEAD; k++)
				if (i + k * QS_RUN_LANES < end)
					qs_tile_count<M>(s, p, item[k]);
		}
	}
}

/*
 * Count a tile with more keys than counters of 16 bits can count.  Counts and flushes portions of
 * QS_TILE_KEYS keys, until at most QS_TILE_KEYS keys are left.  Only skewed batches have such
 * tiles.
 */
template <typename Tile>
__device__ __forceinline__ void
qs_tile_in_portions(Tile &tile, qs_tile_memory &s, const qs_view &v, const qs_partitioned &p,
					uint64_t first, uint32_t buckets)
{
	while (s.total > QS_TILE_KEYS)
	{
		uint32_t room = QS_TILE_KEYS;

		for (uint32_t g = 0; g < p.groups && room > 0; g++)
		{
			uint32_t begin = s.begin[g], end = s.end[g];
			uint32_t take = min(end - begin, room);

			for (uint32_t i = begin + threadIdx.x; i < begin + take; i += QS_TILE_BLOCK)
				qs_tile_count<Tile::m>(s, p, p.item[i]);
			room -= take;
			__syncthreads();
			if (threadIdx.x == 0)
				s.begin[g] = begin + take;
			__syncthreads();
		}
		tile.flush(v, first, buckets, s.count);
		__syncthreads();
		qs_tile_clear(s);
		if (threadIdx.x == 0)
			s.total -= QS_TILE_KEYS;
		__syncthreads();
	}
}

/*
 * A block processes every gridDim.x-th tile.  While it counts the keys of a tile, the head of the
 * tile's table is prefetched, and the runs of the next tile are looked up.
 */
template <typename Tile>
__global__ void
__launch_bounds__(QS_TILE_BLOCK) qs_tile_kernel(const qs_view v, const qs_partitioned p)
{
	extern __shared__ uint4 shared[];
	qs_tile_memory &s = *(qs_tile_memory *) shared;
	uint32_t tiles = (uint32_t) ((p.n + (1u << p.log2_buckets) - 1) >> p.log2_buckets);
	uint2 run = qs_tile_run(p, blockIdx.x);
	Tile tile;

	if (v.masks)
		for (uint32_t i = threadIdx.x; i < v.mask_count; i += QS_TILE_BLOCK)
			s.mask[i] = v.masks[i];
	for (uint32_t number = blockIdx.x; number < tiles; number += gridDim.x)
	{
		uint64_t bucket = (uint64_t) number << p.log2_buckets;
		uint32_t buckets = (uint32_t) min((uint64_t) 1 << p.log2_buckets, p.n - bucket);

		if (threadIdx.x == 0)
			s.total = 0;
		qs_tile_clear(s);
		__syncthreads();
		qs_tile_share_run(s, run);
		__syncthreads();
		qs_tile_prefetch(v.table + (p.first + bucket) * Tile::bucket_bytes,
						 buckets * Tile::bucket_bytes);
		if (number + gridDim.x < tiles)
			run = qs_tile_run(p, number + gridDim.x);
		if (s.total > QS_TILE_KEYS)
			qs_tile_in_portions(tile, s, v, p, p.first + bucket, buckets);
		qs_tile_count_runs<Tile::m>(s, p);
		__syncthreads();
		tile.flush(v, p.first + bucket, buckets, s.count);
		__syncthreads();
	}
}

template <typename Tile>
static qb_status
qs_add_tiles(qs_cuda *gpu, const qs_view *v, const qs_partitioned *p)
{
	uint64_t tiles = qs_ceil_div(p->n, (uint64_t) 1 << p->log2_buckets);

	return qs_launch_blocks(gpu, qs_tile_kernel<Tile>,
							{ tiles, QS_TILE_BLOCK, sizeof(qs_tile_memory) }, *v, *p);
}

/*
 * The qs_cuda_ops of a structure.  Narrow and Wide are its tables with counters of 4 and 8 bytes.
 * Each has an adder, a tile, and least() for queries.  Narrow::merge() merges tables of any width.
 */
template <typename Narrow, typename Wide> struct qs_structure_ops
{
	static qb_status
	insert(qs_cuda *gpu, const qs_view *v, const qs_batch *b)
	{
		return v->wide ? qs_add_batch<typename Wide::adder>(gpu, v, b)
					   : qs_add_batch<typename Narrow::adder>(gpu, v, b);
	}

	static qb_status
	query(qs_cuda *gpu, const qs_view *v, const qs_batch *b, int64_t *estimate)
	{
		auto kernel = v->wide ? query_keys<Wide> : query_keys<Narrow>;

		return qs_launch(gpu, kernel, b->count, *v, *b, estimate);
	}

	static qb_status
	bulk(qs_cuda *gpu, const qs_view *v, const qs_partitioned *partitioned)
	{
		return v->wide ? qs_add_tiles<typename Wide::tile>(gpu, v, partitioned)
					   : qs_add_tiles<typename Narrow::tile>(gpu, v, partitioned);
	}

	static uint32_t
	bucket_bytes(bool wide)
	{
		return wide ? Wide::tile::bucket_bytes : Narrow::tile::bucket_bytes;
	}

	static constexpr qs_cuda_ops ops = {
		insert,          query,       Narrow::merge, bulk, qs_add_groups<typename Narrow::adder>,
		Narrow::tile::m, bucket_bytes
	};
};

/* ---- sketch_bulk.cu ---- */

/* Largest number of keys that are partitioned at a time. */
#define QS_BULK_KEYS (UINT64_C(1) << 28)

/* True if the keys of this sketch can be partitioned. */
extern bool qs_bulk_possible(const qs_cuda_sketch *sk);

/* True if partitioning is faster than adding "count" keys directly. */
extern bool qs_bulk_pays(const qs_cuda_sketch *sk, uint64_t count);

/* Return the largest number of keys for one call of qs_bulk_insert(). */
extern uint64_t qs_bulk_most(const qs_cuda_sketch *sk);

/* Return the bytes of workspace for "count" keys. */
extern size_t qs_bulk_bytes(const qs_cuda_sketch *sk, uint64_t count);

/* Add at most qs_bulk_most() keys without weights.  "work" has qs_bulk_bytes() bytes. */
extern qb_status qs_bulk_insert(qs_cuda_sketch *sk, const qs_batch *b, uint8_t *work);

#endif
