/*
 * sketch_bulk.cu
 *		Partitions a batch of keys by tiles of the table.
 *
 * Each of two passes sorts stretches of about 8192 keys in shared memory.  So writes are coalesced,
 * and no pass needs a histogram of all keys.
 *
 *	coarse	Each block reads 8192 keys, hashes them and sorts them by coarse partition.  It
 *			writes them as one stretch, with the offset of each partition in the stretch.
 *	fine	Each block reads the keys of one coarse partition from a group of stretches,
 *			also about 8192 keys, and sorts them by fine partition.  It writes them where
 *			the coarse partition begins in the group.  That index is the sum of the
 *			partition's offsets in the stretches.
 *
 * Then the kernel of sketch_bulk.cuh counts the keys tile by tile; a tile has one run per group.
 * After the coarse pass a key is an item of 4 bytes (qs_partitioned).  Keys of a thread sketch are
 * partitioned again for each row.
 *
 * Skew: partitions may have different sizes.  If the keys of a block of the fine pass do not fit
 * into shared memory, the keys are sorted in device memory.  Before the coarse pass sketch_skew.cu
 * removes the keys that occur often.
 *
 * SQL: qsketch_agg() of cached columns into a sketch that is larger than half the L2 cache (thread:
 * than three quarters).  The worker joins the keys of several chunks, up to 50 million rows, to
 * have enough keys (qs_cuda_gains_together()).
 *
 * cuda/sketch_bulk.cu
 */
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda_pipeline.h>

#include "sketch_bulk.cuh"

#define COARSE_BLOCK 512
#define COARSE_KEYS  8192 /* keys of a stretch */
#define COARSE_EACH  (COARSE_KEYS / COARSE_BLOCK)
#define COARSE_AHEAD 4 /* keys that a thread reads before it hashes any key */
#define FINE_BLOCK   512
#define FINE_KEYS    9216 /* capacity in keys: the mean, 8192, and 11 standard deviations */
#define FINE_EACH    (FINE_KEYS / FINE_BLOCK)
#define RESIDENT     3 /* blocks of a multiprocessor for which the registers must suffice */

#define RANK_BITS  14   /* bits of an index below COARSE_KEYS or FINE_KEYS */
#define COARSE_MAX 1024 /* largest number of coarse partitions */
#define FINE_MAX   512  /* largest number of fine partitions of a coarse partition */
#define GROUP_MAX  1024 /* largest number of stretches of a group */

/*
 * Partitioning pays for at least PAYS_KEYS keys, if the table has at most PAYS_BYTES bytes per
 * random access.  PAYS_BYTES_FEW is the limit for multilevel, whose tiles cost more, and for
 * thread, whose keys are partitioned for each row.
 */
#define PAYS_KEYS      (UINT64_C(1) << 22)
#define PAYS_BYTES     128
#define PAYS_BYTES_FEW 64

/* How a batch is partitioned. */
struct plan : qs_partitioned
{
	uint32_t m;         /* counters of a bucket */
	uint32_t log2_fine; /* log2 of the fine partitions of a coarse partition */
	uint32_t stretches; /* blocks of the coarse pass */
	uint32_t group;     /* stretches that a block of the fine pass reads */
};

static uint32_t
log2_floor(uint64_t v)
{
	return 63 - __builtin_clzll(v);
}

/*
 * Plan the partitions, which do not depend on the number of keys.  The numbers of coarse and fine
 * partitions should be about equal, but a bucket's number in its coarse partition must fit into an
 * item.
 */
static plan
plan_partitions(const qs_cuda_sketch *sk)
{
	plan p = {};
	uint64_t tiles;
	uint32_t most_fine;

	p.n = sk->params.n;
	p.m = sk->ops->m;
	p.log2_masks = sk->params.log2_masks;
	p.tag_bits = p.log2_masks + qs_bits_of(p.m);
	p.log2_buckets = log2_floor(QS_TILE_COUNTERS / p.m);
	tiles = qs_ceil_div(p.n, UINT64_C(1) << p.log2_buckets);
	p.log2_fine = qs_bits_of(tiles) / 2;
	most_fine = 32 - p.tag_bits - p.log2_buckets;
	if (p.log2_fine > most_fine)
		p.log2_fine = most_fine;
	p.fine = 1u << p.log2_fine;
	p.coarse = (uint32_t) qs_ceil_div(tiles, UINT64_C(1) << p.log2_fine);
	p.group = p.coarse < GROUP_MAX ? p.coarse : GROUP_MAX;
	return p;
}

static plan
plan_batch(const qs_cuda_sketch *sk, uint64_t count)
{
	plan p = plan_partitions(sk);

	p.stretches = (uint32_t) qs_ceil_div(count, COARSE_KEYS);
	p.groups = (uint32_t) qs_ceil_div(p.stretches, p.group);
	return p;
}

bool
qs_bulk_possible(const qs_cuda_sketch *sk)
{
	plan p;

	if (sk->view.mask_count > QS_SHARED_MASKS || sizeof(qs_tile_memory) > sk->gpu->shared_max)
		return false;
	p = plan_partitions(sk);
	return p.coarse <= COARSE_MAX && p.fine <= FINE_MAX;
}

/*
 * True if partitioning is faster than adding keys directly.  If the table is in the L2 cache,
 * partitioning is not faster.
 */
bool
qs_bulk_pays(const qs_cuda_sketch *sk, uint64_t count)
{
	bool rows = qs_has_rows(sk->params.structure);
	uint64_t accesses = count * (rows ? sk->params.depth : 1);
	uint64_t bytes = rows || qs_is_multilevel(sk) ? PAYS_BYTES_FEW : PAYS_BYTES;
	size_t in_cache = rows ? sk->gpu->l2_bytes / 4 * 3 : sk->gpu->l2_bytes / 2;

	return count >= PAYS_KEYS && sk->table_bytes > in_cache && sk->table_bytes / bytes <= accesses;
}

/*
 * Return the largest number of keys of one call.  A tile then has at most QS_GROUPS_MAX runs and,
 * unless keys are skewed, no more keys than counters of 16 bits can count.
 */
uint64_t
qs_bulk_most(const qs_cuda_sketch *sk)
{
	plan p = plan_partitions(sk);
	uint64_t runs = (uint64_t) QS_GROUPS_MAX * p.group * COARSE_KEYS;
	uint64_t counts = qs_ceil_div(p.n, UINT64_C(1) << p.log2_buckets) * (QS_TILE_KEYS / 4 * 3);
	uint64_t most = runs < counts ? runs : counts;

	return most < QS_BULK_KEYS ? most : QS_BULK_KEYS;
}

/* The contents of the workspace. */
struct workspace
{
	uint32_t *item[2]; /* items after each pass */
	uint16_t *offset;  /* for each stretch: starts of its coarse partitions, and its end */
	uint32_t *start;   /* see qs_partitioned */
	size_t bytes;
};

static workspace
lay_out(const plan &p, uint8_t *base)
{
	size_t items = (size_t) p.stretches * COARSE_KEYS * sizeof(uint32_t);
	size_t offsets = (size_t) p.stretches * (p.coarse + 1) * sizeof(uint16_t);
	size_t starts = (size_t) p.groups * p.coarse * (p.fine + 1) * sizeof(uint32_t);
	size_t start = 2 * items + qs_ceil_div(offsets, 256) * 256;
	workspace w;

	w.item[0] = (uint32_t *) base;
	w.item[1] = (uint32_t *) (base + items);
	w.offset = (uint16_t *) (base + 2 * items);
	w.start = (uint32_t *) (base + start);
	w.bytes = start + starts;
	return w;
}

size_t
qs_bulk_bytes(const qs_cuda_sketch *sk, uint64_t count)
{
	return lay_out(plan_batch(sk, count), NULL).bytes;
}

template <int BLOCK> using block_scan = cub::BlockScan<uint32_t, BLOCK, cub::BLOCK_SCAN_WARP_SCANS>;
template <int BLOCK>
using block_sum = cub::BlockReduce<uint32_t, BLOCK, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;

/* Replace the counts of "partitions" partitions, at most MOST, by their starts. */
template <int BLOCK, int MOST>
__device__ __forceinline__ void
counts_to_offsets(uint32_t *count, uint32_t partitions,
				  typename block_scan<BLOCK>::TempStorage &temp)
{
	constexpr int EACH = MOST > BLOCK ? MOST / BLOCK : 1;
	uint32_t mine[EACH];

#pragma unroll
	for (int k = 0; k < EACH; k++)
	{
		uint32_t i = threadIdx.x * EACH + k;

		mine[k] = i < partitions ? count[i] : 0;
	}
	block_scan<BLOCK>(temp).ExclusiveSum(mine, mine);
#pragma unroll
	for (int k = 0; k < EACH; k++)
	{
		uint32_t i = threadIdx.x * EACH + k;

		if (i < partitions)
			count[i] = mine[k];
	}
	__syncthreads();
}

/* Return the bucket of hv.  ROWS: return the counter of hv in a row of a thread sketch. */
template <bool ROWS>
__device__ __forceinline__ uint32_t
cell_of(uint64_t hv, uint64_t n, uint32_t row)
{
	return qs_reduce_short(ROWS ? qs_row_hash(hv, row) : hv, n);
}

/* A block's stretch of the coarse pass. */
struct coarse_stretch
{
	const uint64_t *key;
	uint32_t here;   /* number of keys */
	uint32_t row;    /* for thread: the row */
	uint32_t *count; /* keys of each partition, in shared memory */
	uint32_t *stage; /* the items, in shared memory */
};

/*
 * Hash a thread's keys, and write the items to "stage", in the order of the keys.  ranked[]
 * receives the partition of each key, and the key's rank in the partition.
 */
template <bool ROWS>
__device__ __forceinline__ void
hash_keys(const qs_view &v, const plan &p, const coarse_stretch &s, uint32_t ranked[COARSE_EACH])
{
	uint32_t shift = p.log2_buckets + p.log2_fine;

#pragma unroll
	for (int k = 0; k < COARSE_EACH; k += COARSE_AHEAD)
	{
		uint64_t ahead[COARSE_AHEAD];

#pragma unroll
		for (int j = 0; j < COARSE_AHEAD; j++)
		{
			uint32_t i = (k + j) * COARSE_BLOCK + threadIdx.x;

			ahead[j] = i < s.here ? __ldcs(&s.key[i]) : 0;
		}
#pragma unroll
		for (int j = 0; j < COARSE_AHEAD; j++)
		{
			uint32_t i = (k + j) * COARSE_BLOCK + threadIdx.x;
			uint64_t hv = qb_hash(ahead[j], v.seed_key);
			uint32_t bucket = cell_of<ROWS>(hv, v.n, s.row);
			uint32_t partition = bucket >> shift;

			if (i >= s.here)
				break;
			s.stage[i] = (bucket & ((1u << shift) - 1)) << p.tag_bits |
						 qs_mask_positions(p.m, hv) << p.log2_masks |
						 ((uint32_t) hv & (v.mask_count - 1));
			ranked[k + j] = partition << RANK_BITS | atomicAdd(&s.count[partition], 1);
		}
	}
}

template <bool ROWS>
__global__ void
__launch_bounds__(COARSE_BLOCK, RESIDENT)
	sort_coarse(const qs_view v, const qs_batch b, const plan p, uint32_t row, uint32_t *item,
				uint16_t *offset)
{
	__shared__ uint4 stage4[COARSE_KEYS / 4];
	__shared__ uint32_t count[COARSE_MAX];
	__shared__ typename block_scan<COARSE_BLOCK>::TempStorage temp;
	uint32_t *stage = (uint32_t *) stage4;
	uint64_t first = (uint64_t) blockIdx.x * COARSE_KEYS;
	uint32_t here = (uint32_t) min((uint64_t) COARSE_KEYS, b.count - first);
	uint32_t ranked[COARSE_EACH];
	uint32_t value[COARSE_EACH];

	for (uint32_t i = threadIdx.x; i < p.coarse; i += COARSE_BLOCK)
		count[i] = 0;
	__syncthreads();
	hash_keys<ROWS>(v, p, { b.key + first, here, row, count, stage }, ranked);
	__syncthreads();
	counts_to_offsets<COARSE_BLOCK, COARSE_MAX>(count, p.coarse, temp);
	for (uint32_t i = threadIdx.x; i <= p.coarse; i += COARSE_BLOCK)
		offset[(uint64_t) blockIdx.x * (p.coarse + 1) + i] =
			(uint16_t) (i < p.coarse ? count[i] : here);
#pragma unroll
	for (int k = 0; k < COARSE_EACH; k++)
		value[k] = stage[k * COARSE_BLOCK + threadIdx.x];
	__syncthreads();
#pragma unroll
	for (int k = 0; k < COARSE_EACH; k++)
		if (k * COARSE_BLOCK + threadIdx.x < here)
			stage[count[ranked[k] >> RANK_BITS] + (ranked[k] & ((1u << RANK_BITS) - 1))] = value[k];
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < (here + 3) / 4; i += COARSE_BLOCK)
		((uint4 *) (item + first))[i] = stage4[i];
}

/* A block's shard of the fine pass: one coarse partition in one group of stretches. */
struct fine_shard
{
	uint32_t run[GROUP_MAX]; /* index of each run's first item in the input */
	uint32_t position
		[GROUP_MAX +
		 1]; /* index of each run's first item in the shard; at the end the shard's length */
	uint32_t runs;
	uint32_t base; /* index of the shard's first item in the output */
};

__device__ __forceinline__ void
find_shard(fine_shard &shard, const plan &p, const uint16_t *offset,
		   typename block_scan<FINE_BLOCK>::TempStorage &scan,
		   typename block_sum<FINE_BLOCK>::TempStorage &sum)
{
	uint32_t partition = blockIdx.x % p.coarse;
	uint32_t stretch = blockIdx.x / p.coarse * p.group;
	uint32_t runs = min(p.group, p.stretches - stretch);
	uint32_t before = 0;

	for (uint32_t r = threadIdx.x; r < runs; r += FINE_BLOCK)
	{
		const uint16_t *o = &offset[(uint64_t) (stretch + r) * (p.coarse + 1) + partition];
		uint32_t begin = o[0];

		shard.run[r] = (stretch + r) * COARSE_KEYS + begin;
		shard.position[r] = o[1] - begin;
		before += begin;
	}
	if (threadIdx.x == 0)
		shard.position[runs] = 0;
	before = block_sum<FINE_BLOCK>(sum).Sum(before);
	if (threadIdx.x == 0)
	{
		shard.runs = runs;
		shard.base = stretch * COARSE_KEYS + before;
	}
	__syncthreads();
	counts_to_offsets<FINE_BLOCK, 2 * GROUP_MAX>(shard.position, runs + 1, scan);
}

/* Call each(position, item index) for all items of a shard; "lanes" lanes share a run. */
template <typename Each>
__device__ __forceinline__ void
for_each_item(const fine_shard &shard, uint32_t lanes, Each each)
{
	for (uint32_t r = threadIdx.x / lanes; r < shard.runs; r += FINE_BLOCK / lanes)
		for (uint32_t i = shard.position[r] + threadIdx.x % lanes; i < shard.position[r + 1];
			 i += lanes)
			each(i, shard.run[r] + i - shard.position[r]);
}

/* Sort a shard of "total" items by fine partition in shared memory, and write it. */
__device__ __forceinline__ void
sort_shard(uint32_t *item, uint32_t total, const plan &p, uint32_t *count,
		   typename block_scan<FINE_BLOCK>::TempStorage &temp, uint32_t *sorted)
{
	uint32_t shift = p.log2_buckets + p.tag_bits;
	uint32_t rank[FINE_EACH / 2]; /* two ranks in a word */
	uint32_t value[FINE_EACH];

#pragma unroll
	for (int k = 0; k < FINE_EACH; k++)
	{
		uint32_t i = k * FINE_BLOCK + threadIdx.x;
		uint32_t mine = i < total ? atomicAdd(&count[item[i] >> shift], 1) : 0;

		rank[k / 2] = k % 2 ? rank[k / 2] | mine << 16 : mine;
	}
	__syncthreads();
	counts_to_offsets<FINE_BLOCK, FINE_MAX>(count, p.fine, temp);
#pragma unroll
	for (int k = 0; k < FINE_EACH; k++)
		value[k] = item[k * FINE_BLOCK + threadIdx.x];
	__syncthreads();
#pragma unroll
	for (int k = 0; k < FINE_EACH; k++)
		if (k * FINE_BLOCK + threadIdx.x < total)
			item[count[value[k] >> shift] + (rank[k / 2] >> (k % 2 * 16) & 0xffff)] = value[k];
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < total; i += FINE_BLOCK)
		sorted[i] = item[i];
}

__device__ __forceinline__ void
write_starts(uint32_t *start, const uint32_t *count, uint32_t partitions, uint32_t base,
			 uint32_t total)
{
	for (uint32_t i = threadIdx.x; i <= partitions; i += FINE_BLOCK)
		start[i] = base + (i < partitions ? count[i] : total);
}

__global__ void
__launch_bounds__(FINE_BLOCK, RESIDENT)
	sort_fine(const plan p, const uint32_t *item, const uint16_t *offset, uint32_t *sorted,
			  uint32_t *start)
{
	__shared__ uint32_t stage[FINE_KEYS];
	__shared__ uint32_t count[FINE_MAX];
	__shared__ fine_shard shard;
	__shared__ typename block_scan<FINE_BLOCK>::TempStorage scan;
	__shared__ typename block_sum<FINE_BLOCK>::TempStorage sum;
	uint32_t partitions = 1u << p.log2_fine;
	uint32_t shift = p.log2_buckets + p.tag_bits;
	uint32_t lanes = p.coarse > 256 ? 8 : p.coarse > 64 ? 16 : 32; /* at most a run's mean length */
	uint32_t total;

	for (uint32_t i = threadIdx.x; i < partitions; i += FINE_BLOCK)
		count[i] = 0;
	find_shard(shard, p, offset, scan, sum);
	total = shard.position[shard.runs];
	start += (uint64_t) blockIdx.x * (partitions + 1);
	sorted += shard.base;
	if (total <= FINE_KEYS)
	{
		for_each_item(shard, lanes, [&](uint32_t i, uint32_t from) {
			__pipeline_memcpy_async(&stage[i], &item[from], sizeof(uint32_t));
		});
		__pipeline_commit();
		__pipeline_wait_prior(0);
		__syncthreads();
		sort_shard(stage, total, p, count, scan, sorted);
		write_starts(start, count, partitions, shard.base, total);
		return;
	}
	/* the shard does not fit into shared memory: count, then write each item to its position */
	for_each_item(shard, lanes,
				  [&](uint32_t, uint32_t from) { atomicAdd(&count[item[from] >> shift], 1); });
	__syncthreads();
	counts_to_offsets<FINE_BLOCK, FINE_MAX>(count, partitions, scan);
	write_starts(start, count, partitions, shard.base, total);
	__syncthreads();
	for_each_item(shard, lanes, [&](uint32_t, uint32_t from) {
		sorted[atomicAdd(&count[item[from] >> shift], 1)] = item[from];
	});
}

/* Partition keys, and add them to the sketch.  "row" is the row of a thread sketch. */
static qb_status
insert_row(qs_cuda_sketch *sk, const qs_batch *b, const plan &p, const workspace &w, uint32_t row)
{
	qs_cuda *gpu = sk->gpu;
	auto coarse = qs_has_rows(sk->params.structure) ? sort_coarse<true> : sort_coarse<false>;
	qs_partitioned partitioned = p;

	coarse<<<p.stretches, COARSE_BLOCK, 0, gpu->stream>>>(sk->view, *b, p, row, w.item[0],
														  w.offset);
	QS_TRY(qs_launched(gpu));
	sort_fine<<<p.groups * p.coarse, FINE_BLOCK, 0, gpu->stream>>>(p, w.item[0], w.offset,
																   w.item[1], w.start);
	QS_TRY(qs_launched(gpu));
	partitioned.item = w.item[1];
	partitioned.start = w.start;
	partitioned.first = sk->params.n * row;
	QS_TRY(qs_reserve_launch(sk, b->count, true));
	return sk->ops->bulk(gpu, &sk->view, &partitioned);
}

qb_status
qs_bulk_insert(qs_cuda_sketch *sk, const qs_batch *b, uint8_t *work)
{
	plan p = plan_batch(sk, b->count);
	workspace w = lay_out(p, work);
	uint32_t rows = qs_has_rows(sk->params.structure) ? sk->params.depth : 1;
	uint32_t row;

	for (row = 0; row < rows; row++)
		QS_TRY(insert_row(sk, b, p, w, row));
	sk->gpu->stats.bulk_keys += b->count;
	return QB_OK;
}
