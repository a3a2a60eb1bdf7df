/*
 * sketch_frequent.cu
 *		Exact counts of the keys with high estimates in a sketch (sketch/frequent.h).
 *
 * Batches of keys are in device memory.  A batch is looked up in the sketch piece by piece, so that
 * the estimates of a piece stay in the L2 cache.  Each key whose estimate reaches the threshold
 * then adds 1 to its slot of the table.  A warp adds the number of its equal keys by one addition.
 * A block first counts keys in slots in shared memory, and adds the counts to the table at the end.
 *
 * Floor: the lookup of a key reads 8 bytes, and one or more sectors of the table of counters.  In
 * addition, each warp with a frequent key makes an atomic operation.
 *
 * SQL: qtop_agg() on cached columns.
 *
 * cuda/sketch_frequent.cu
 */
#include "sketch.cuh"

#include <new>

extern "C"
{
#include "base/slot.h"
}

/* Keys that are looked up at a time. */
#define PIECE ((uint64_t) 1 << 22)

struct qs_cuda_frequent
{
	uint64_t wanted, slots;
	int64_t least;
	uint64_t sampled;           /* number of sampled rows */
	bool started;               /* "least" is set, and keys are counted */
	bool broken;                /* only a part of a batch was counted, because of an error */
	uint8_t *table;             /* has table_bytes() bytes; NULL: the keys were collected */
	qs_frequent_key *collected; /* NULL: nothing was collected, or all keys were read */
	uint64_t count;             /* number of collected keys */
};

#define STEPS_BYTES (QS_ESTIMATE_STEPS * sizeof(uint32_t))

/* The table, for kernels. */
struct counting
{
	long long *dropped;
	qs_frequent_key *slot;
	uint64_t slots;
	int64_t least;
	qb_secret secret;
};

/*
 * Return the bytes that three things take together: the table, the largest dropped estimate, and
 * for each step the number of its samples (qs_step_of()).
 */
static size_t
table_bytes(const qs_cuda_frequent *f)
{
	return qs_frequent_bytes(f->slots) + sizeof(int64_t) + STEPS_BYTES;
}

static counting
counting_of(const qs_cuda_frequent *f)
{
	return { (long long *) (f->table + qs_frequent_bytes(f->slots)), (qs_frequent_key *) f->table,
			 f->slots, f->least, qb_process_secret };
}

/* Return the device array with the number of samples of each step (qs_step_of()). */
static uint32_t *
steps_of(const qs_cuda_frequent *f)
{
	return (uint32_t *) (counting_of(f).dropped + 1);
}

static void
free_collected(qs_cuda_sketch *sk)
{
	qs_cuda_frequent *f = sk->frequent;

	qs_device_free(sk->gpu, f->collected, f->count * sizeof(qs_frequent_key));
	f->collected = NULL;
	f->count = 0;
}

static void
free_table(qs_cuda_sketch *sk)
{
	qs_device_free(sk->gpu, sk->frequent->table, table_bytes(sk->frequent));
	sk->frequent->table = NULL;
}

void
qs_cuda_frequent_end(qs_cuda_sketch *sk)
{
	if (!sk->frequent)
		return;
	free_collected(sk);
	free_table(sk);
	delete sk->frequent;
	sk->frequent = NULL;
}

qb_status
qs_cuda_frequent_begin(qs_cuda_sketch *sk, uint64_t wanted, uint64_t slots)
{
	qs_cuda *gpu = sk->gpu;
	qb_status status;

	if (!qs_frequent_is_valid(wanted, slots))
		return QB_NO_MEMORY;
	QS_TRY(qs_cuda_enter(gpu));
	qs_cuda_frequent_end(sk);
	QS_TRY(qs_ask_room(gpu, qs_frequent_bytes(slots)));
	sk->frequent = new (std::nothrow) qs_cuda_frequent();
	if (!sk->frequent)
		return QB_NO_MEMORY;
	sk->frequent->wanted = wanted;
	sk->frequent->slots = slots;
	sk->frequent->least = 1;
	status = qs_device_alloc(gpu, table_bytes(sk->frequent), (void **) &sk->frequent->table);
	if (status != QB_OK)
	{
		delete sk->frequent;
		sk->frequent = NULL;
	}
	return status;
}

__global__ void
__launch_bounds__(QS_BLOCK)
	pick_keys(const uint64_t *key, uint64_t distance, uint64_t count, uint64_t *picked)
{
	qs_for_each(count, [=](uint64_t i) { picked[i] = key[i * distance]; });
}

__global__ void
__launch_bounds__(QS_BLOCK) count_steps(const int64_t *estimate, uint64_t count, uint32_t *rows)
{
	qs_for_each(count, [=](uint64_t i) { atomicAdd(&rows[qs_step_of(estimate[i])], 1); });
}

/*
 * Look up a sample of the keys, and count the samples by the step of their estimate (qs_step_of()).
 * Does not wait for the device.
 */
qb_status
qs_cuda_frequent_sample(qs_cuda_sketch *sk, const uint64_t *key, size_t count)
{
	qs_cuda *gpu = sk->gpu;
	qs_cuda_frequent *f = sk->frequent;
	uint64_t samples = count < QS_FREQUENT_SAMPLE ? count : QS_FREQUENT_SAMPLE;
	uint8_t *work;
	int64_t *estimate;
	qs_batch b;

	if (!f || f->started)
		return QB_NO_MEMORY;
	QS_TRY(qs_cuda_enter(gpu));
	if (count == 0)
		return QB_OK;
	QS_TRY(qs_workspace(gpu, 2 * samples * sizeof(uint64_t), &work));
	estimate = (int64_t *) work + samples;
	QS_TRY(qs_launch(gpu, pick_keys, samples, key, count / samples, samples, (uint64_t *) work));
	b = { (const uint64_t *) work, NULL, samples };
	QS_TRY(sk->ops->query(gpu, &sk->view, &b, estimate));
	QS_TRY(qs_launch(gpu, count_steps, samples, (const int64_t *) estimate, samples, steps_of(f)));
	f->sampled += samples;
	return QB_OK;
}

/* Set the threshold, from the samples. */
static qb_status
start(qs_cuda_sketch *sk)
{
	qs_cuda_frequent *f = sk->frequent;
	uint32_t rows[QS_ESTIMATE_STEPS] = { 0 };

	if (f->sampled > 0)
		QS_TRY(qs_copy_now(sk->gpu, rows, steps_of(f), STEPS_BYTES, cudaMemcpyDeviceToHost));
	f->least = qs_frequent_least(rows, f->sampled, sk->total, f->wanted, f->slots);
	f->started = true;
	return QB_OK;
}

/*
 * Return the slot of a key, or a free slot that becomes the key's slot.  NULL: no probed slot is
 * free.
 */
__device__ __forceinline__ qs_frequent_key *
find_slot(const counting &c, uint64_t key)
{
	uint64_t at = qb_slot_hash_by(&c.secret, key) & (c.slots - 1);

	if (key == 0)
		return &c.slot[c.slots];
	for (int i = 0; i < QS_FREQUENT_PROBES; i++, at = (at + 1) & (c.slots - 1))
	{
		unsigned long long *there = (unsigned long long *) &c.slot[at].key;
		unsigned long long old = *(volatile unsigned long long *) there;

		if (old == 0)
			old = atomicCAS(there, 0, key);
		if (old == 0 || old == key)
			return &c.slot[at];
	}
	return NULL;
}

/*
 * Add "times" to the count of a key.  If no slot is free, raise *c.dropped to the key's estimate.
 */
__device__ __forceinline__ void
count_key(const counting &c, uint64_t key, int64_t estimate, uint32_t times)
{
	qs_frequent_key *slot = find_slot(c, key);

	if (slot)
		atomicAdd((unsigned long long *) &slot->times, times);
	else
		atomicMax(c.dropped, estimate);
}

/*
 * Slots in a block's shared memory.  Without them, additions to the most frequent keys would be
 * serialized in the L2 cache.  A slot belongs to the first key that is hashed to it.
 */
#define NEAR_SLOTS 512

struct near_keys
{
	unsigned long long key[NEAR_SLOTS]; /* 0: the slot is free */
	uint32_t times[NEAR_SLOTS];
	long long estimate[NEAR_SLOTS];
};

/* Count a key in the block.  False: the key is 0, or its slot belongs to another key. */
__device__ __forceinline__ bool
count_near(near_keys &near, const counting &c, uint64_t key, int64_t estimate, uint32_t times)
{
	uint32_t at = (uint32_t) (qb_slot_hash_by(&c.secret, key) >> 32) % NEAR_SLOTS;
	unsigned long long old;

	if (key == 0)
		return false;
	old = atomicCAS(&near.key[at], 0, key);
	if (old != 0 && old != key)
		return false;
	atomicMax(&near.estimate[at], estimate); /* all rows of the key have this estimate */
	atomicAdd(&near.times[at], times);
	return true;
}

/*
 * All lanes of a warp make the same number of iterations, because each iteration has a ballot of
 * all lanes.  A launch has fewer than 2^32 keys, so a block's counts fit into 4 bytes.
 */
__global__ void
__launch_bounds__(QS_BLOCK) count_frequent(const uint64_t *key, const int64_t *estimate,
										   uint64_t count, const __grid_constant__ counting c)
{
	__shared__ near_keys near;
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;
	uint64_t at = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;

	for (uint32_t i = threadIdx.x; i < NEAR_SLOTS; i += blockDim.x)
	{
		near.key[i] = 0;
		near.times[i] = 0;
		near.estimate[i] = 0;
	}
	__syncthreads();
	for (; (at & ~31ull) < count; at += stride)
	{
		int64_t e = at < count ? __ldcs(&estimate[at]) : 0;
		bool frequent = e >= c.least && at < count && e > *(volatile long long *) c.dropped;
		uint32_t lanes = __ballot_sync(QS_ALL_LANES, frequent);
		uint64_t k;
		uint32_t same;

		if (!frequent)
			continue;
		k = key[at];
		same = __match_any_sync(lanes, k);
		if (__ffs(same) - 1 == (int) qs_lane() && !count_near(near, c, k, e, __popc(same)))
			count_key(c, k, e, __popc(same));
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < NEAR_SLOTS; i += blockDim.x)
		if (near.times[i] > 0)
			count_key(c, near.key[i], near.estimate[i], near.times[i]);
}

qb_status
qs_cuda_frequent_count(qs_cuda_sketch *sk, const uint64_t *key, size_t count)
{
	qs_cuda *gpu = sk->gpu;
	qs_cuda_frequent *f = sk->frequent;
	uint8_t *work;
	counting c;

	if (!f || !f->table || f->broken)
		return QB_NO_MEMORY;
	QS_TRY(qs_cuda_enter(gpu));
	if (!f->started)
		QS_TRY(start(sk));
	c = counting_of(f);
	QS_TRY(qs_workspace(gpu, (count < PIECE ? count : PIECE) * sizeof(int64_t), &work));
	f->broken = true;
	for (uint64_t some; count > 0; key += some, count -= some)
	{
		qs_batch b;

		some = count < PIECE ? count : PIECE;
		b = { key, NULL, some };
		QS_TRY(sk->ops->query(gpu, &sk->view, &b, (int64_t *) work));
		QS_TRY(qs_launch(gpu, count_frequent, some, key, (const int64_t *) work, some, c));
	}
	f->broken = false;
	return QB_OK;
}

__global__ void
__launch_bounds__(QS_BLOCK) count_times(const qs_frequent_key *slot, uint64_t slots, uint32_t *keys)
{
	qs_for_each(slots, [=](uint64_t i) {
		if (slot[i].times > 0)
			atomicAdd(&keys[qs_step_of((int64_t) slot[i].times)], 1);
	});
}

__global__ void
__launch_bounds__(QS_BLOCK) collect_keys(const qs_frequent_key *slot, uint64_t slots,
										 uint64_t least, uint32_t *taken, qs_frequent_key *key)
{
	qs_for_each(slots, [=](uint64_t i) {
		if (slot[i].times >= least)
			key[atomicAdd(taken, 1)] = slot[i];
	});
}

/* Count the keys of the table by the step of their count, and read the largest dropped estimate. */
static qb_status
read_counts(qs_cuda_sketch *sk, uint32_t *keys, int64_t *dropped, uint8_t **work)
{
	qs_cuda *gpu = sk->gpu;
	counting c = counting_of(sk->frequent);

	QS_TRY(qs_workspace(gpu, STEPS_BYTES, work));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(*work, 0, STEPS_BYTES, gpu->stream));
	QS_TRY(qs_launch(gpu, count_times, c.slots + 1, (const qs_frequent_key *) c.slot, c.slots + 1,
					 (uint32_t *) *work));
	QS_TRY(qs_copy(gpu, dropped, c.dropped, sizeof(*dropped), cudaMemcpyDeviceToHost));
	return qs_copy_now(gpu, keys, *work, STEPS_BYTES, cudaMemcpyDeviceToHost);
}

/* Frees the table, because other sketches may need the memory. */
qb_status
qs_cuda_frequent_collect(qs_cuda_sketch *sk, bool all, qs_frequent *head)
{
	qs_cuda *gpu = sk->gpu;
	qs_cuda_frequent *f = sk->frequent;
	uint32_t keys[QS_ESTIMATE_STEPS];
	uint8_t *work;
	counting c;

	if (!f || !f->table || f->broken)
		return QB_NO_MEMORY;
	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(read_counts(sk, keys, &head->dropped, &work));
	qs_frequent_cut(keys, f->wanted, all, head);
	head->least = f->least;
	QS_TRY(qs_device_take(gpu, head->count * sizeof(qs_frequent_key), (void **) &f->collected));
	f->count = head->count;
	c = counting_of(f);
	QS_CUDA_TRY(gpu, cudaMemsetAsync(work, 0, sizeof(uint32_t), gpu->stream));
	QS_TRY(qs_launch(gpu, collect_keys, c.slots + 1, (const qs_frequent_key *) c.slot, c.slots + 1,
					 (uint64_t) head->left_out + 1, (uint32_t *) work, f->collected));
	free_table(sk);
	return QB_OK;
}

/* Frees the collected keys after the last of them was read. */
qb_status
qs_cuda_frequent_read(qs_cuda_sketch *sk, uint64_t offset, uint64_t bytes, void *to)
{
	qs_cuda_frequent *f = sk->frequent;
	uint64_t all = f ? f->count * sizeof(qs_frequent_key) : 0;

	if (offset > all || bytes > all - offset)
		return QB_NO_MEMORY;
	QS_TRY(qs_cuda_enter(sk->gpu));
	QS_TRY(qs_copy_now(sk->gpu, to, (const uint8_t *) f->collected + offset, bytes,
					   cudaMemcpyDeviceToHost));
	if (all > 0 && offset + bytes == all)
		free_collected(sk);
	return QB_OK;
}
