/*
 * sketch_multilevel.cu
 *		The multilevel sketch on the device: adds and queries keys, and merges sketches.
 *
 * Layout: src/sketch/multilevel.c.  A low bucket is one sector: 28 counters of
 * one byte and the high index.
 *
 * Four counters share a word of 32 bits.  One atomicAdd changes a word and returns its old value.
 * A byte that exceeds 255 carries into the next byte, where other threads may read the carry before
 * it is removed.  The counts are exact without locks, because the thread whose addition crossed the
 * upper boundary of byte i
 *
 *	- adds 1 to high[i], and
 *	- removes the carry: it subtracts 1 from byte i + 1.
 *
 * The subtraction may cross a boundary itself, because other threads change the byte at the same
 * time.  Such a borrow counts as -1, and is handled in the same way.  Each further crossing is at
 * least one byte higher, so there are at most four rounds.  Let X_i be the sum of the signed
 * crossings of boundary i.  Then X_i was added to high[i], and X_i was subtracted from byte i + 1.
 * So when all threads are done
 *
 *	byte[i] = added[i] - 256 * X_i,		0 <= byte[i] <= 255
 *
 * for any order of the threads.  So low + 256 * high is exact.  No thread waits, and equal keys
 * cause no retries.
 *
 * High buckets.  Before the first crossing the bytes of a bucket are exact.  So a bucket needs a
 * high bucket only if one of its counters reached 256.  With a total weight N, this holds for at
 * most N / 256 buckets.  A warp takes the number of a free high bucket, and stores it in the low
 * bucket by compare-and-swap.  If another warp stored a number first, this warp keeps the number
 * that it took, and stores it in a later bucket.  So a launch leaves at most one number per warp
 * unused, and a bulk launch one per thread.  The high buckets for all numbers are allocated before
 * the launch (qs_reserve_launch).
 *
 * Insert: 8 lanes share a key, and 7 of them have a word each.  Floor per key: 8 bytes of key and
 * one atomic transaction on one sector, as for sub_warp.  Query: a thread processes a key, by two
 * loads of 16 bytes.  Floor per key: 8 bytes read, 8 bytes written, one sector of the low bucket,
 * and the sectors of the selected high counters if the bucket has a high bucket.
 *
 * SQL: qsketch_agg() and lookups of arrays.  merge_buckets: parallel plans, and cached
 * columns on several GPUs.
 *
 * cuda/sketch_multilevel.cu
 */
#include "sketch_bulk.cuh"

#define LANES      8 /* words of a low bucket */
#define INDEX_WORD 7
#define GATHER     4 /* high counters whose loads are in flight together */

/* The lowest bits of bytes 1, 2 and 3 of a word.  A carry into a byte changes its lowest bit. */
#define CARRY_BITS 0x01010100u

/*
 * The byte boundaries of a word that an addition crossed.  The bits of "into" are the bits that
 * carries changed.
 */
struct crossing
{
	uint32_t into; /* boundaries 0, 1, 2: bits 8, 16, 24 */
	bool out;      /* boundary 3 */

	__device__ __forceinline__ bool
	any() const
	{
		return into != 0 || out;
	}
};

__device__ __forceinline__ crossing
crossed(uint32_t old, uint32_t delta, bool minus)
{
	uint32_t now = minus ? old - delta : old + delta;

	return { (old ^ delta ^ now) & CARRY_BITS, minus ? old < delta : now < old };
}

/*
 * Return a word with "value" (8 bits) in each byte i, from 0 to 3, for which bit i of "bits" is
 * set.
 */
__device__ __forceinline__ uint32_t
spread(uint32_t bits, uint32_t value)
{
	return (((bits & 15) * 0x00204081u) & 0x01010101u) * value;
}

/* The table of high buckets, for take_high() and deliver(). */
struct high_access
{
	uint8_t *extra;
	uint32_t *used;
	bool wide;
};

/*
 * Return the high index of a bucket.  If the bucket has none, take a high bucket for it.  "spare"
 * is a high index that was taken and is not used yet, or 0.
 */
__device__ __forceinline__ uint32_t
take_high(const high_access &high, uint32_t *low, uint32_t &spare)
{
	uint32_t index;

	if (spare == 0)
		spare = QS_HIGH_INDEX_MIN + atomicAdd(high.used, 1);
	index = atomicCAS(&low[INDEX_WORD], 0, spare);
	if (index != 0)
		return index;
	index = spare;
	spare = 0;
	return index;
}

/* Return the high index of a bucket; 0: the bucket has no high bucket. */
__device__ __forceinline__ uint32_t
high_index(uint32_t *low)
{
	return atomicAdd(&low[INDEX_WORD], 0);
}

/* Add "amount" to a counter of the high bucket with this index. */
__device__ __forceinline__ void
deliver(const high_access &high, uint32_t index, uint32_t counter, int64_t amount)
{
	uint64_t at = (uint64_t) (index - QS_HIGH_INDEX_MIN) * QS_HIGH_COUNTERS + counter;

	if (high.wide)
		atomicAdd((qs_u64 *) high.extra + at, (qs_u64) amount);
	else
		atomicAdd((uint32_t *) high.extra + at, (uint32_t) amount);
}

/*
 * An addition of "weight" to the bytes "bits" of word "w" of a bucket.  The word's old value was
 * "old".
 */
struct addition
{
	uint32_t w, bits;
	uint64_t weight;
	uint32_t old;
};

/*
 * Complete an addition to a word: find crossed boundaries, and remove their carries.  The
 * crossings, and the weight without its lowest byte, are added to the high bucket with index
 * "index".
 */
__device__ __noinline__ void
materialize(high_access high, uint32_t *low, uint32_t index, addition a)
{
	uint32_t w = a.w, bits = a.bits, old = a.old;
	uint64_t weight = a.weight;
	int sign = 1;
	crossing c = crossed(old, spread(bits, weight & 255), false);
	int64_t net[4];

#pragma unroll
	for (int i = 0; i < 4; i++)
		net[i] = bits >> i & 1 ? (int64_t) (weight >> 8) : 0;
	while (c.any())
	{
		uint32_t back = c.into;

#pragma unroll
		for (int i = 0; i < 3; i++)
			net[i] += back >> (8 * i + 8) & 1 ? sign : 0;
		net[3] += c.out ? sign : 0;
		if (back == 0)
			break;
		sign = -sign;
		old = atomicAdd(&low[w], sign > 0 ? back : 0 - back);
		c = crossed(old, back, sign < 0);
	}
#pragma unroll
	for (int i = 0; i < 4; i++)
		if (net[i] != 0)
			deliver(high, index, w * 4 + i, net[i]);
}

/* True if a change of a word needs materialize(). */
__device__ __forceinline__ bool
is_unmaterialized(uint32_t old, uint32_t bits, uint64_t weight)
{
	return bits != 0 && (weight > 255 || crossed(old, spread(bits, weight & 255), false).any());
}

/*
 * If "asks" is true, return the high index of a lane's bucket, as take_high() does.  If not, return
 * 0.  All lanes of a warp must call this function.  "spare" is equal in all lanes.
 */
__device__ __forceinline__ uint32_t
high_index_of_lane(const high_access &high, uint32_t *low, bool asks, uint32_t &spare)
{
	uint32_t index = asks ? high_index(low) : 0;
	uint32_t left = __ballot_sync(QS_ALL_LANES, asks && index == 0);

	for (; left != 0; left &= left - 1)
	{
		uint32_t lane = __ffs(left) - 1;

		if (qs_lane() == lane)
			index = take_high(high, low, spare);
		spare = __shfl_sync(QS_ALL_LANES, spare, lane);
	}
	return index;
}

/*
 * Add the keys of a warp.  The atomics of all rounds are issued before the first result is used, so
 * each lane has up to eight atomics in flight.  Returns the new "spare", which is equal in all
 * lanes.
 */
template <bool ONES>
__device__ __forceinline__ uint32_t
add_rounds(uint32_t *table, const high_access &high, uint64_t target, uint64_t weight,
		   uint32_t spare)
{
	uint32_t lane = qs_lane() % LANES;
	uint32_t old[LANES];
	bool unmaterialized = false;
	int round = 0;

	qs_rounds<LANES, ONES>(target, weight, [&](uint32_t bucket, uint32_t mask, uint64_t w) {
		uint32_t bits = mask >> (lane * 4) & 15;

		old[round] = 0;
		if (bits != 0)
			old[round] = atomicAdd(&table[(uint64_t) bucket * LANES + lane], spread(bits, w & 255));
		round++;
	});
	round = 0;
	qs_rounds<LANES, ONES>(target, weight, [&](uint32_t, uint32_t mask, uint64_t w) {
		unmaterialized |= is_unmaterialized(old[round++], mask >> (lane * 4) & 15, w);
	});
	if (!__any_sync(QS_ALL_LANES, unmaterialized))
		return spare;
	round = 0;
	qs_rounds<LANES, ONES>(target, weight, [&](uint32_t bucket, uint32_t mask, uint64_t w) {
		uint32_t bits = mask >> (lane * 4) & 15;
		uint32_t *low = &table[(uint64_t) bucket * LANES];
		bool asks = is_unmaterialized(old[round], bits, w);
		uint32_t index = high_index_of_lane(high, low, asks, spare);

		if (asks)
			materialize(high, low, index, { lane, bits, w, old[round] });
		round++;
	});
	return spare;
}

static __device__ __forceinline__ high_access
access_high(const qs_view &v)
{
	return { v.extra, v.high_used, v.wide };
}

/* Adds the keys of a walk.  All threads of the block must call the constructor. */
struct multilevel_adder
{
	qs_mask_lookup<QS_LOW_COUNTERS> mask_of;

	__device__ __forceinline__
	multilevel_adder(const qs_view &v, uint32_t *room)
		: mask_of(v, room)
	{
	}

	template <bool WEIGHTED>
	__device__ __forceinline__ void
	add(const qs_view &v, qs_walk<WEIGHTED> &walk) const
	{
		high_access high = access_high(v);
		uint32_t *table = (uint32_t *) v.table;
		uint32_t spare = 0;

		while (walk.next())
		{
			uint64_t target = qs_target_of(v, walk, mask_of);

			if (walk.ones)
				spare = add_rounds<true>(table, high, target, 1, spare);
			else
				spare = add_rounds<false>(table, high, target, walk.weight, spare);
		}
	}
};

/* Return the least byte that the mask selects in a low bucket.  The low bucket is in registers. */
__device__ __forceinline__ uint32_t
low_min(uint4 left, uint4 right, uint32_t mask)
{
	uint32_t least = left.x | ~spread(mask, 255);

	least = __vminu4(least, left.y | ~spread(mask >> 4, 255));
	least = __vminu4(least, left.z | ~spread(mask >> 8, 255));
	least = __vminu4(least, left.w | ~spread(mask >> 12, 255));
	least = __vminu4(least, right.x | ~spread(mask >> 16, 255));
	least = __vminu4(least, right.y | ~spread(mask >> 20, 255));
	least = __vminu4(least, right.z | ~spread(mask >> 24, 255));
	least = __vminu4(least, least >> 16);
	return min(least & 255, least >> 8 & 255);
}

/* Return byte i of a low bucket in registers, which cannot be indexed. */
__device__ __forceinline__ uint32_t
low_byte(uint4 left, uint4 right, uint32_t i)
{
	uint32_t first = i & 8 ? (i & 4 ? left.w : left.z) : (i & 4 ? left.y : left.x);
	uint32_t second = i & 8 ? right.z : (i & 4 ? right.y : right.x);

	return (i & 16 ? second : first) >> (i % 4 * 8) & 255;
}

/* Return the least counter that the mask selects in a bucket with a high bucket. */
template <typename Counter>
__device__ __forceinline__ Counter
counter_min(const Counter *high, uint4 left, uint4 right, uint32_t mask)
{
	Counter least = (Counter) -1;

	while (mask != 0)
	{
		Counter counter[GATHER];
		uint32_t rest = mask;

#pragma unroll
		for (int k = 0; k < GATHER; k++)
		{
			counter[k] = rest == 0 ? 0 : __ldg(&high[__ffs(rest) - 1]);
			rest &= rest - 1;
		}
#pragma unroll
		for (int k = 0; k < GATHER; k++)
		{
			if (mask != 0)
				least = min(least, (counter[k] << 8) + low_byte(left, right, __ffs(mask) - 1));
			mask &= mask - 1;
		}
	}
	return least;
}

/*
 * Add the counts of the tile kernel (sketch_bulk.cuh) to the table.  Only this block changes the
 * low buckets of the tile, so their counters are changed without atomics.
 */
struct multilevel_tile
{
	static constexpr int m = QS_LOW_COUNTERS;
	static constexpr uint32_t bucket_bytes = QS_LOW_BYTES;
	uint32_t spare = 0; /* the thread's spare high index; see take_high() */

	__device__ __forceinline__ void
	flush(const qs_view &v, uint64_t first, uint32_t buckets, const uint16_t *count)
	{
		high_access high = access_high(v);
		uint32_t *table = (uint32_t *) v.table + first * LANES;

		uint32_t end = buckets * LANES;

		for (uint32_t at = threadIdx.x; at < end; at += QS_TILE_BLOCK * QS_FLUSH_AHEAD)
		{
			uint32_t old[QS_FLUSH_AHEAD];

#pragma unroll
			for (uint32_t k = 0; k < QS_FLUSH_AHEAD; k++)
				if (at + k * QS_TILE_BLOCK < end)
					old[k] = table[at + k * QS_TILE_BLOCK];
#pragma unroll
			for (uint32_t k = 0; k < QS_FLUSH_AHEAD; k++)
			{
				uint32_t i = at + k * QS_TILE_BLOCK;

				if (i < end && i % LANES != INDEX_WORD)
					add_word(high, &table[i / LANES * LANES], i % LANES, old[k],
							 *(const uint2 *) &count[i / LANES * QS_LOW_COUNTERS + i % LANES * 4]);
			}
		}
	}

  private:
	/* Add four counts of 16 bits to the four bytes of a word. */
	__device__ __forceinline__ void
	add_word(const high_access &high, uint32_t *low, uint32_t w, uint32_t old, uint2 gain)
	{
		uint32_t now = 0;

		if ((gain.x | gain.y) == 0)
			return;
#pragma unroll
		for (int k = 0; k < 4; k++)
		{
			uint32_t sum =
				(old >> (8 * k) & 255) + ((k < 2 ? gain.x : gain.y) >> (16 * (k % 2)) & 0xffff);

			now |= (sum & 255) << (8 * k);
			if (sum > 255)
				deliver(high, index_of(high, low), w * 4 + k, sum >> 8);
		}
		low[w] = now;
	}

	/* Return the high index of a bucket.  If the bucket has none, take a high bucket for it. */
	__device__ __forceinline__ uint32_t
	index_of(const high_access &high, uint32_t *low)
	{
		uint32_t index = high_index(low);

		return index != 0 ? index : take_high(high, low, spare);
	}
};

/*
 * ---- work on all buckets of a multilevel sketch: merging, renumbering ----
 *
 * To merge or renumber, a warp processes a bucket, and lane i processes counter i.  So accesses to
 * a bucket are coalesced.  Floor: each low and each high bucket is read once, and written once if
 * it changes.
 */

/* Return the number of a bucket's high bucket, or -1 if it has none. */
__device__ __forceinline__ int64_t
high_number(const uint8_t *low)
{
	uint32_t index = ((const uint32_t *) low)[INDEX_WORD];

	return index < QS_HIGH_INDEX_MIN ? -1 : (int64_t) index - QS_HIGH_INDEX_MIN;
}

/* Return the lane's counter of a high bucket; 0 if "number" is negative. */
__device__ __forceinline__ uint64_t
high_counter(const qs_view &v, int64_t number)
{
	if (number < 0 || qs_lane() >= QS_LOW_COUNTERS)
		return 0;
	return qb_counter_get(v.extra, (uint64_t) number * QS_HIGH_COUNTERS + qs_lane(), v.wide);
}

__device__ __forceinline__ void
set_high_counter(uint8_t *extra, bool wide, int64_t number, uint64_t value)
{
	qb_counter_set(extra, (uint64_t) number * QS_HIGH_COUNTERS + qs_lane(), wide, value);
}

/* Return the lane's counter of a bucket: its low byte and its high counter together. */
__device__ __forceinline__ uint64_t
counter(const qs_view &v, uint64_t bucket)
{
	const uint8_t *low = v.table + bucket * QS_LOW_BYTES;

	if (qs_lane() >= QS_LOW_COUNTERS)
		return 0;
	return low[qs_lane()] + (high_counter(v, high_number(low)) << 8);
}

/* Set a bucket to new values, and take a high bucket if it needs one. */
__device__ __forceinline__ void
set_bucket(const qs_view &v, uint64_t bucket, uint64_t value)
{
	uint8_t *low = v.table + bucket * QS_LOW_BYTES;
	int64_t number = high_number(low);

	if (number < 0 && __any_sync(QS_ALL_LANES, value > 255))
	{
		uint32_t taken = qs_lane() == 0 ? atomicAdd(v.high_used, 1) : 0;

		number = __shfl_sync(QS_ALL_LANES, taken, 0);
		if (qs_lane() == 0)
			((uint32_t *) low)[INDEX_WORD] = (uint32_t) number + QS_HIGH_INDEX_MIN;
	}
	__syncwarp();
	if (qs_lane() < QS_LOW_COUNTERS)
		low[qs_lane()] = (uint8_t) value;
	if (number >= 0)
		set_high_counter(v.extra, v.wide, number, value >> 8);
}

__global__ void
__launch_bounds__(QS_BLOCK) merge_buckets(const qs_view into, const qs_view from)
{
	qs_for_each_of_warps(into.n, [&](uint64_t bucket) {
		uint64_t value = counter(into, bucket);
		uint64_t gain = counter(from, bucket);

		__syncwarp();
		if (__any_sync(QS_ALL_LANES, gain != 0))
			set_bucket(into, bucket, value + gain);
	});
}

/* The tables of multilevel, with high counters of type Counter. */
template <typename Counter> struct multilevel_table : multilevel_adder
{
	using adder = multilevel_adder;
	using tile = multilevel_tile;
	using multilevel_adder::multilevel_adder;

	__device__ __forceinline__ Counter
	least(const qs_view &v, uint64_t hv) const
	{
		const uint4 *low = (const uint4 *) v.table + (uint64_t) qs_reduce_short(hv, v.n) * 2;
		uint4 left = __ldg(&low[0]);
		uint4 right = __ldg(&low[1]);
		uint32_t mask = mask_of(hv);
		uint64_t high = (uint64_t) (right.w - QS_HIGH_INDEX_MIN) * QS_HIGH_COUNTERS;

		return right.w == 0 ? low_min(left, right, mask)
							: counter_min((const Counter *) v.extra + high, left, right, mask);
	}

	static qb_status
	merge(qs_cuda *gpu, const qs_view *into, const qs_view *from)
	{
		return qs_launch(gpu, merge_buckets, into->n * 32, *into, *from);
	}
};

const qs_cuda_ops qs_multilevel_cuda =
	qs_structure_ops<multilevel_table<uint32_t>, multilevel_table<qs_u64>>::ops;

__global__ void
__launch_bounds__(QS_BLOCK) sanitize_buckets(const qs_view v, uint64_t high)
{
	qs_for_each(v.n, [&](uint64_t b) {
		uint8_t *low = v.table + b * QS_LOW_BYTES;

		if (high_number(low) < 0 || (uint64_t) high_number(low) >= high)
			((uint32_t *) low)[INDEX_WORD] = 0;
	});
}

qb_status
qs_high_sanitize(qs_cuda *gpu, const qs_view *v, uint64_t high)
{
	return qs_launch(gpu, sanitize_buckets, v->n, *v, high);
}

/*
 * Add the number of live high buckets to *live.  If "to" is not NULL, copy each live high bucket to
 * the next free index of "to", and update the low bucket's high index.
 */
__global__ void
__launch_bounds__(QS_BLOCK) collect_live(const qs_view v, uint8_t *to, uint64_t *live)
{
	qs_for_each_of_warps(v.n, [&](uint64_t bucket) {
		uint8_t *low = v.table + bucket * QS_LOW_BYTES;
		int64_t number = high_number(low);
		uint64_t value = high_counter(v, number);
		bool is_live = __any_sync(QS_ALL_LANES, value != 0);
		uint64_t next = 0;

		if (is_live && qs_lane() == 0)
			next = atomicAdd((qs_u64 *) live, 1);
		next = __shfl_sync(QS_ALL_LANES, next, 0);
		if (!to || number < 0)
			return;
		if (qs_lane() == 0)
			((uint32_t *) low)[INDEX_WORD] = is_live ? (uint32_t) next + QS_HIGH_INDEX_MIN : 0;
		if (is_live)
			set_high_counter(to, v.wide, (int64_t) next, value);
	});
}

qb_status
qs_high_collect(qs_cuda *gpu, const qs_view *v, uint8_t *to, uint64_t *live)
{
	QS_CUDA_TRY(gpu, cudaMemsetAsync(gpu->result, 0, sizeof(uint64_t), gpu->stream));
	QS_TRY(qs_launch(gpu, collect_live, v->n * 32, *v, to, gpu->result));
	if (!live)
		return QB_OK;
	QS_TRY(qs_read_result(gpu, 1));
	*live = gpu->host_result[0];
	return QB_OK;
}
