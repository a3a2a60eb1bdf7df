/*
 * bulk.cuh
 *		Adding partitioned keys tile by tile in shared memory.
 *
 * A key added directly costs a random access to device memory, however fast
 * the kernel is.  A large batch can do better: bulk.cu brings its keys into
 * the order of the tiles of the table, stretches of buckets whose counts fit
 * into shared memory.  Here a block counts the keys of a tile there, with
 * counters of 16 bits, and adds the counts to the table: all accesses to
 * device memory are long runs.
 *
 * Floor per key: 8 bytes of key, 4 bytes written and read by each of two
 * passes of partitioning, so 24, and the table read and written once per
 * batch: 2 * 32 / (keys per bucket of 32 bytes) more.
 *
 * A counter of 16 bits cannot overflow, because no more than 65535 keys are
 * counted before the counts are added to the table.
 *
 * cuda/bulk.cuh
 */
#ifndef QS_BULK_CUH
#define QS_BULK_CUH

#include "kernels.cuh"

#define QS_TILE_COUNTERS 32768 /* 64 kB: three tiles fit an SM of compute capability 9.0 */
#define QS_TILE_BLOCK    512
#define QS_TILE_KEYS     65535
#define QS_RUN_LANES     16  /* lanes that read a run of keys together */
#define QS_RUN_AHEAD     4   /* keys that a lane reads before it adds the first */
#define QS_GROUPS_MAX    512 /* runs of a tile */

/*
 * Keys as items of 4 bytes, those of a tile in "groups" runs.  From the low
 * end an item has the index of its mask, the places it is turned by, and its
 * bucket.  A tile is the fine-th part of a coarse part of the buckets.
 */
struct qs_parted
{
	const uint32_t *item;
	const uint32_t *start; /* of each run: [group][coarse][fine], fine + 1 of them */
	uint32_t *next_tile;   /* zero at first */
	uint64_t first;        /* bucket that number 0 stands for: a row of thread */
	uint64_t n;            /* buckets */
	uint32_t groups;
	uint32_t coarse, fine; /* parts */
	uint32_t log2_masks;
	uint32_t tag_bits;     /* of an item, below its bucket */
	uint32_t log2_buckets; /* of a tile */
};

/* What a block has in shared memory. */
struct qs_tile_memory
{
	uint16_t count[QS_TILE_COUNTERS];
	uint32_t mask[QS_SHARED_MASKS];
	uint32_t begin[QS_GROUPS_MAX]; /* of runs */
	uint32_t end[QS_GROUPS_MAX];
	uint32_t total; /* keys of the tile */
	uint32_t number;
};

/* Add the counts of a tile to a table of plain counters, M to a bucket. */
template <int M, typename Counter> struct qs_plain_tile
{
	static constexpr int m = M;

	__device__ __forceinline__ void
	flush(const qs_view &v, uint64_t first, uint32_t buckets, const uint16_t *count)
	{
		Counter *table = (Counter *) v.table + first * M;

		if (M == 1)
			for (uint32_t i = threadIdx.x; i < buckets; i += QS_TILE_BLOCK)
				table[i] += count[i];
		else
			for (uint32_t i = threadIdx.x; i < buckets * (M / 4); i += QS_TILE_BLOCK)
				add_four(table + i * 4, ((const uint2 *) count)[i]);
	}

  private:
	__device__ __forceinline__ void
	add_four(Counter *four, uint2 gain)
	{
		if ((gain.x | gain.y) == 0)
			return;
		add_pair(four, gain.x, gain.y);
	}

	__device__ __forceinline__ void
	add_pair(uint32_t *four, uint32_t low, uint32_t high)
	{
		uint4 old = __ldcs((const uint4 *) four);

		__stcs((uint4 *) four, make_uint4(old.x + (low & 0xffff), old.y + (low >> 16),
										  old.z + (high & 0xffff), old.w + (high >> 16)));
	}

	__device__ __forceinline__ void
	add_pair(qs_u64 *four, uint32_t low, uint32_t high)
	{
		four[0] += low & 0xffff;
		four[1] += low >> 16;
		four[2] += high & 0xffff;
		four[3] += high >> 16;
	}
};

/* Bounds of the runs of a tile, and the number of its keys. */
__device__ __forceinline__ void
qs_tile_runs(qs_tile_memory &s, const qs_parted &p)
{
	uint32_t coarse = s.number / p.fine;
	uint32_t fine = s.number % p.fine;
	uint32_t sum = 0;

	for (uint32_t g = threadIdx.x; g < p.groups; g += QS_TILE_BLOCK)
	{
		const uint32_t *start = &p.start[((uint64_t) g * p.coarse + coarse) * (p.fine + 1) + fine];

		s.begin[g] = start[0];
		s.end[g] = start[1];
		sum += start[1] - start[0];
	}
	sum = __reduce_add_sync(QS_ALL_LANES, sum);
	if (qs_lane() == 0)
		atomicAdd(&s.total, sum);
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
qs_tile_count(qs_tile_memory &s, const qs_parted &p, uint32_t item)
{
	uint32_t first = (item >> p.tag_bits & ((1u << p.log2_buckets) - 1)) * M;
	uint32_t *pairs = (uint32_t *) s.count;
	uint32_t places, mask;

	if (M == 1)
	{
		atomicAdd(&pairs[first / 2], 1u << (first % 2 * 16));
		return;
	}
	places = (item & ((1u << p.tag_bits) - 1)) >> p.log2_masks;
	mask = qs_mask_turn_by(s.mask[item & ((1u << p.log2_masks) - 1)], M, places);
	for (; mask != 0; mask &= mask - 1)
	{
		uint32_t c = first + __ffs(mask) - 1;

		atomicAdd(&pairs[c / 2], 1u << (c % 2 * 16));
	}
}

/* Count all items from s.begin to s.end. */
template <int M>
__device__ __forceinline__ void
qs_tile_count_runs(qs_tile_memory &s, const qs_parted &p)
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
 * A tile with more keys than its counters can take: all but the last
 * QS_TILE_KEYS of them, in portions.  Only skewed batches have such tiles.
 */
template <typename Tile>
__device__ __noinline__ void
qs_tile_in_turns(Tile &tile, qs_tile_memory &s, const qs_view &v, const qs_parted &p,
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

/* A block takes tiles one after the other until there are no more. */
template <typename Tile>
__global__ void
__launch_bounds__(QS_TILE_BLOCK) qs_tile_kernel(const qs_view v, const qs_parted p)
{
	extern __shared__ uint4 shared[];
	qs_tile_memory &s = *(qs_tile_memory *) shared;
	Tile tile;

	if (v.masks)
		for (uint32_t i = threadIdx.x; i < v.mask_count; i += QS_TILE_BLOCK)
			s.mask[i] = v.masks[i];
	for (;;)
	{
		uint64_t bucket;
		uint32_t buckets;

		if (threadIdx.x == 0)
		{
			s.number = atomicAdd(p.next_tile, 1);
			s.total = 0;
		}
		__syncthreads();
		bucket = (uint64_t) s.number << p.log2_buckets;
		if (bucket >= p.n)
			return;
		buckets = (uint32_t) min((uint64_t) 1 << p.log2_buckets, p.n - bucket);
		qs_tile_runs(s, p);
		qs_tile_clear(s);
		__syncthreads();
		if (s.total > QS_TILE_KEYS)
			qs_tile_in_turns(tile, s, v, p, p.first + bucket, buckets);
		qs_tile_count_runs<Tile::m>(s, p);
		__syncthreads();
		tile.flush(v, p.first + bucket, buckets, s.count);
		__syncthreads();
	}
}

template <typename Tile>
static qs_status
qs_add_tiles(qs_cuda *gpu, const qs_view *v, const qs_parted *p)
{
	auto kernel = qs_tile_kernel<Tile>;
	size_t shared = sizeof(qs_tile_memory);
	uint64_t tiles = qs_ceil_div(p->n, (uint64_t) 1 << p->log2_buckets);
	int grid;

	QS_CUDA_TRY(gpu, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
										  (int) shared));
	QS_TRY(qs_grid(gpu, kernel, QS_TILE_BLOCK, shared, tiles, &grid));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(p->next_tile, 0, sizeof(uint32_t), gpu->stream));
	kernel<<<grid, QS_TILE_BLOCK, shared, gpu->stream>>>(*v, *p);
	QS_CUDA_LAUNCHED(gpu);
	return QS_OK;
}

/* ---- bulk.cu ---- */

/* No more keys than this are partitioned at a time. */
#define QS_BULK_KEYS (UINT64_C(1) << 28)

/* Can the keys of this sketch be partitioned at all? */
extern bool qs_bulk_possible(const qs_cuda_sketch *sk);

/* Is it faster than adding "count" keys directly? */
extern bool qs_bulk_pays(const qs_cuda_sketch *sk, uint64_t count);

/* Most keys of one qs_bulk_insert(). */
extern uint64_t qs_bulk_most(const qs_cuda_sketch *sk);

/* Bytes of workspace for "count" keys. */
extern size_t qs_bulk_bytes(const qs_cuda_sketch *sk, uint64_t count);

/* Add keys without weights, at most qs_bulk_most(), in such a workspace. */
extern qs_status qs_bulk_insert(qs_cuda_sketch *sk, const qs_batch *b, uint8_t *work);

#endif
