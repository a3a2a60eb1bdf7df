/*
 * column_counts.cu
 *		Which distinct keys are there, and how often did each come, if they are few?
 *
 * Blocks count in tables of their own (column_counts.cuh), which they add to one in device
 * memory.
 *
 * Floor: 8 bytes read for each key.
 *
 * cuda/column_counts.cu
 */
#include "column_counts.cuh"

#include "column_exact_cuda.h"
#include "device.cuh"
#include "key_bits.cuh"

#include <new>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>

/* All in device memory; "key" and "times" have a slot for each key and more. */
struct counts_table
{
	unsigned long long stop;     /* there are too many */
	unsigned long long apart;    /* how often QS_NO_KEY came */
	unsigned long long found;    /* of the result */
	unsigned long long distinct; /* keys in the table */
	unsigned long long key[QS_COUNT_SLOTS];
	unsigned long long times[QS_COUNT_SLOTS];
	unsigned long long result_key[QS_CUDA_COUNTS_MAX];
	unsigned long long result_times[QS_CUDA_COUNTS_MAX];
};

static_assert(sizeof(counts_table) == QS_CUDA_COUNTS_WORDS * sizeof(uint64_t), "size of a table");

/*
 * Add a block's own table to that of all, unless there are too many keys.  Blocks with few
 * keys each may have many together: then the table would fill up, and each search in it
 * would look at all of it.
 */
__device__ __forceinline__ void
add_table(counts_table *all, uint32_t most, const qs_own_counts &own)
{
	bool added;

	for (uint32_t i = threadIdx.x; i < QS_COUNT_SLOTS && !qs_now(all->stop); i += QS_COUNT_BLOCK)
	{
		uint32_t slot;

		if (own.key[i] == QS_NO_KEY)
			continue;
		slot = qs_slot_of(all->key, QS_COUNT_SLOTS, own.secret, own.key[i], all->stop, &added);
		if (slot < QS_COUNT_SLOTS)
			atomicAdd(&all->times[slot], own.times[i]);
		if (slot == QS_COUNT_SLOTS || (added && atomicAdd(&all->distinct, 1) >= most))
			all->stop = 1;
	}
}

__global__ void
__launch_bounds__(QS_COUNT_BLOCK)
	count_keys(const uint64_t *key, uint64_t count, uint32_t most, counts_table *all,
			   const __grid_constant__ qb_secret secret)
{
	extern __shared__ unsigned long long shared[];
	__shared__ uint32_t distinct, apart;
	qs_own_counts own = { shared, (uint32_t *) (shared + QS_COUNT_SLOTS), &distinct, &apart,
						  secret };

	qs_clear_counts(own);
	qs_count_keys(own, key, (uint64_t) blockIdx.x * QS_COUNT_BLOCK + threadIdx.x, count,
				  (uint64_t) gridDim.x * QS_COUNT_BLOCK, most, all->stop);
	__syncthreads();
	if (qs_now(all->stop))
		return;
	add_table(all, most, own);
	if (threadIdx.x == 0 && apart > 0)
		atomicAdd(&all->apart, apart);
}

/* Put one entry into the result, if there is room. */
__device__ __forceinline__ void
put_result(counts_table *all, uint32_t most, uint64_t key, uint64_t times)
{
	uint64_t place = atomicAdd(&all->found, 1);

	if (place >= most)
		return;
	all->result_key[place] = key;
	all->result_times[place] = times;
}

__global__ void
collect_counts(counts_table *all, uint32_t most)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < QS_COUNT_SLOTS && all->key[i] != QS_NO_KEY)
		put_result(all, most, all->key[i], all->times[i]);
	if (i == 0 && all->apart > 0)
		put_result(all, most, QS_NO_KEY, all->apart);
}

/* Start both kernels on an empty table. */
static qb_status
start(qs_cuda *gpu, const uint64_t *key, uint64_t count, uint32_t most, counts_table *table)
{
	size_t shared = QS_COUNT_SLOTS * (sizeof(uint64_t) + sizeof(uint32_t));
	int grid;

	QS_CUDA_TRY(gpu, cudaMemsetAsync(table, 0, sizeof(*table), gpu->stream));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(table->key, 0xff, sizeof(table->key), gpu->stream));
	QS_CUDA_TRY(gpu, cudaFuncSetAttribute(count_keys, cudaFuncAttributeMaxDynamicSharedMemorySize,
										  (int) shared));
	QS_TRY(qs_grid(gpu, count_keys, QS_COUNT_BLOCK, shared, qs_ceil_div(count, QS_COUNT_BLOCK),
				   &grid));
	count_keys<<<grid, QS_COUNT_BLOCK, shared, gpu->stream>>>(key, count, most, table,
															  qb_own_secret);
	QS_CUDA_LAUNCHED(gpu);
	return qs_launch(gpu, collect_counts, QS_COUNT_SLOTS, table, most);
}

static qb_status
fetch(qs_cuda *gpu, void *to, const void *from, size_t words)
{
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(to, from, words * sizeof(uint64_t), cudaMemcpyDeviceToHost,
									 gpu->stream));
	gpu->stats.bytes_out += words * sizeof(uint64_t);
	return QB_OK;
}

qb_status
qs_cuda_keys_count(qs_cuda *gpu, const uint64_t *key, uint64_t count, uint32_t most, void *memory,
				   uint64_t *distinct, int64_t *times, uint32_t *found)
{
	counts_table *table = (counts_table *) memory;
	unsigned long long head[3]; /* stop, apart, found */

	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(start(gpu, key, count, most, table));
	QS_TRY(fetch(gpu, head, table, 3));
	QS_TRY(fetch(gpu, distinct, table->result_key, most));
	QS_TRY(fetch(gpu, times, table->result_times, most));
	QS_TRY(qs_wait(gpu, gpu->stream));
	*found = head[0] || head[2] > most ? most + 1 : (uint32_t) head[2];
	return QB_OK;
}

/*
 * ---- how often did each key come?  Exact counts by sorting ----
 *
 * Keys are collected until the room is full, or until all have come.  Then they are
 * sorted (CUB), and each run of equal keys becomes a key with the length of the run.  If
 * there is a list of keys with counts from before, both are sorted together by key, and
 * the counts of equal keys are added.  So a list of distinct keys takes the place of
 * everything that has come, and the rest of the room takes more keys.
 *
 * Only those bits are sorted by in which any two keys differ (key_bits.cuh).
 *
 * In the end the list is sorted by count.  That sort is stable and keys were sorted
 * before, so equally frequent keys stay in their order.
 *
 * Floor: each pass over 8 bits reads and writes 8 bytes a key, and 16 a distinct key.
 */

/* Two arrays of keys and two of counts, of "room" each, which sorts go back and forth between. */
struct qs_cuda_exact
{
	qs_cuda *gpu;
	uint64_t room;
	void *memory;
	cub::DoubleBuffer<int64_t> key;
	cub::DoubleBuffer<uint64_t> times;
	uint64_t listed; /* distinct keys with counts, sorted by key */
	uint64_t used;   /* these, and behind them keys that were not sorted yet */
	uint64_t total;  /* keys that have come */
	qs_key_bits bits;
};

static_assert(QS_CUDA_EXACT_BYTES == 4 * sizeof(uint64_t), "bytes of a key");

qb_status
qs_cuda_exact_create(qs_cuda *gpu, uint64_t room, qs_cuda_exact **exact)
{
	qs_cuda_exact *made = NULL;
	void *memory;
	uint64_t *word;

	*exact = NULL;
	QS_TRY(qs_cuda_enter(gpu));
	if (room == 0 || room > QS_CUDA_EXACT_MAX)
		return QB_NO_MEMORY;
	QS_TRY(qs_ask_room(gpu, room * QS_CUDA_EXACT_BYTES));
	QS_TRY(qs_device_take(gpu, room * QS_CUDA_EXACT_BYTES, &memory));
	made = new (std::nothrow) qs_cuda_exact();
	if (!made)
	{
		qs_device_free(gpu, memory, room * QS_CUDA_EXACT_BYTES);
		return QB_NO_MEMORY;
	}
	word = (uint64_t *) memory;
	made->gpu = gpu;
	made->room = room;
	made->memory = word;
	made->key = cub::DoubleBuffer<int64_t>((int64_t *) word, (int64_t *) (word + room));
	made->times = cub::DoubleBuffer<uint64_t>(word + 2 * room, word + 3 * room);
	*exact = made;
	return QB_OK;
}

void
qs_cuda_exact_destroy(qs_cuda_exact *exact)
{
	if (!exact)
		return;
	cudaSetDevice(exact->gpu->device); /* qs_cuda_enter() would forget why a call failed */
	qs_device_free(exact->gpu, exact->memory, exact->room * QS_CUDA_EXACT_BYTES);
	delete exact;
}

uint64_t
qs_cuda_exact_bytes(const qs_cuda_exact *exact)
{
	return exact->room * QS_CUDA_EXACT_BYTES;
}

/* Call an algorithm of CUB, first for the size of its memory. */
template <typename Call>
static qb_status
run_cub(qs_cuda *gpu, Call call)
{
	uint8_t *memory;
	size_t bytes = 0;

	QS_CUDA_TRY(gpu, call((void *) NULL, bytes));
	QS_TRY(qs_workspace(gpu, bytes, &memory));
	QS_CUDA_TRY(gpu, call((void *) memory, bytes));
	return QB_OK;
}

/*
 * Make a list of the keys that are not sorted yet, behind the list that there is.  *runs:
 * its length.
 */
static qb_status
list_new(qs_cuda_exact *e, uint64_t *runs)
{
	qs_cuda *gpu = e->gpu;
	int count = (int) (e->used - e->listed);
	qs_bit_range bits = qs_differing(e->bits);
	cub::DoubleBuffer<int64_t> fresh(e->key.Current() + e->listed, e->key.Alternate() + e->listed);

	QS_TRY(run_cub(gpu, [&](void *memory, size_t &bytes) {
		return cub::DeviceRadixSort::SortKeys(memory, bytes, fresh, count, bits.begin, bits.end,
											  gpu->stream);
	}));
	QS_TRY(run_cub(gpu, [&](void *memory, size_t &bytes) {
		return cub::DeviceRunLengthEncode::Encode(memory, bytes, fresh.Current(), fresh.Alternate(),
												  e->times.Current() + e->listed, gpu->result,
												  count, gpu->stream);
	}));
	QS_TRY(qs_read_result(gpu, 1));
	*runs = gpu->host_result[0];
	if (fresh.selector == 1)
		return QB_OK;
	if (e->listed == 0)
	{
		e->key.selector ^= 1;
		return QB_OK;
	}
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(fresh.Current(), fresh.Alternate(), *runs * sizeof(int64_t),
									 cudaMemcpyDeviceToDevice, gpu->stream));
	return QB_OK;
}

struct add_times
{
	__host__ __device__ __forceinline__ uint64_t
	operator()(uint64_t a, uint64_t b) const
	{
		return a + b;
	}
};

/* Make one list of two that lie side by side. */
static qb_status
merge_lists(qs_cuda_exact *e, uint64_t both, uint64_t *runs)
{
	qs_cuda *gpu = e->gpu;
	qs_bit_range bits = qs_differing(e->bits);

	QS_TRY(run_cub(gpu, [&](void *memory, size_t &bytes) {
		return cub::DeviceRadixSort::SortPairs(memory, bytes, e->key, e->times, (int) both,
											   bits.begin, bits.end, gpu->stream);
	}));
	QS_TRY(run_cub(gpu, [&](void *memory, size_t &bytes) {
		return cub::DeviceReduce::ReduceByKey(memory, bytes, e->key.Current(), e->key.Alternate(),
											  e->times.Current(), e->times.Alternate(), gpu->result,
											  add_times(), (int) both, gpu->stream);
	}));
	QS_TRY(qs_read_result(gpu, 1));
	*runs = gpu->host_result[0];
	e->key.selector ^= 1;
	e->times.selector ^= 1;
	return QB_OK;
}

/* Leave nothing but the list of distinct keys. */
static qb_status
materialize(qs_cuda_exact *e)
{
	uint64_t runs;

	if (e->used == e->listed)
		return QB_OK;
	QS_TRY(qs_learn_bits(e->gpu, e->key.Current() + e->listed, e->used - e->listed, &e->bits));
	QS_TRY(list_new(e, &runs));
	if (e->listed > 0)
		QS_TRY(merge_lists(e, e->listed + runs, &runs));
	e->listed = e->used = runs;
	return QB_OK;
}

static qb_status
add(qs_cuda_exact *e, const uint64_t *key, uint64_t count, cudaMemcpyKind kind)
{
	QS_TRY(qs_cuda_enter(e->gpu));
	e->total += count;
	while (count > 0)
	{
		uint64_t some = e->room - e->used < count ? e->room - e->used : count;

		QS_CUDA_TRY(e->gpu, cudaMemcpyAsync(e->key.Current() + e->used, key,
											some * sizeof(uint64_t), kind, e->gpu->stream));
		e->used += some;
		key += some;
		count -= some;
		if (count == 0)
			break;
		QS_TRY(materialize(e));
		if (e->listed > e->room / 2)
			return QB_NO_MEMORY;
	}
	return QB_OK;
}

qb_status
qs_cuda_exact_add(qs_cuda_exact *exact, const uint64_t *key, uint64_t count)
{
	QS_TRY(add(exact, key, count, cudaMemcpyHostToDevice));
	QS_TRY(qs_wait(exact->gpu, exact->gpu->stream));
	exact->gpu->stats.bytes_in += count * sizeof(uint64_t);
	return QB_OK;
}

qb_status
qs_cuda_exact_add_device(qs_cuda_exact *exact, const uint64_t *key, uint64_t count)
{
	return add(exact, key, count, cudaMemcpyDeviceToDevice);
}

/* Copy a list of distinct keys behind another one. */
static qb_status
carry_list(qs_cuda_exact *to, qs_cuda_exact *from)
{
	uint64_t bytes = from->listed * sizeof(uint64_t);

	QS_TRY(qs_carry(to->gpu, to->key.Current() + to->listed, from->gpu,
					from->key.Current(), bytes));
	return qs_carry(to->gpu, to->times.Current() + to->listed, from->gpu,
					from->times.Current(), bytes);
}

qb_status
qs_cuda_exact_merge(qs_cuda_exact *into, qs_cuda_exact *from)
{
	uint64_t runs;

	QS_TRY(qs_cuda_enter(into->gpu));
	QS_TRY(materialize(into));
	QS_TRY(qs_cuda_enter(from->gpu));
	QS_TRY(qs_pass_error(into->gpu, from->gpu, materialize(from)));
	QS_TRY(qs_cuda_enter(into->gpu));
	if (from->listed > into->room - into->listed)
		return QB_NO_MEMORY;
	QS_TRY(carry_list(into, from));
	into->total += from->total;
	into->bits.any |= from->bits.any;
	into->bits.all &= from->bits.all;
	QS_TRY(merge_lists(into, into->listed + from->listed, &runs));
	into->listed = into->used = runs;
	return QB_OK;
}

qb_status
qs_cuda_exact_order(qs_cuda_exact *exact, uint64_t *found)
{
	qs_cuda *gpu = exact->gpu;

	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(materialize(exact));
	*found = exact->listed;
	if (exact->listed == 0)
		return QB_OK;
	return run_cub(gpu, [&](void *memory, size_t &bytes) {
		return cub::DeviceRadixSort::SortPairsDescending(
			memory, bytes, exact->times, exact->key, (int) exact->listed, 0,
			64 - __builtin_clzll(exact->total), gpu->stream);
	});
}

qb_status
qs_cuda_exact_get(qs_cuda_exact *exact, uint64_t first, uint64_t count, uint64_t *key,
				  int64_t *times)
{
	qs_cuda *gpu = exact->gpu;
	size_t bytes = count * sizeof(uint64_t);

	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(key, exact->key.Current() + first, bytes,
									 cudaMemcpyDeviceToHost, gpu->stream));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(times, exact->times.Current() + first, bytes,
									 cudaMemcpyDeviceToHost, gpu->stream));
	QS_TRY(qs_wait(gpu, gpu->stream));
	gpu->stats.bytes_out += 2 * bytes;
	return QB_OK;
}

const qs_exact_ops qs_cuda_exacts = {
	.create = qs_cuda_exact_create,
	.destroy = qs_cuda_exact_destroy,
	.add = qs_cuda_exact_add,
	.add_device = qs_cuda_exact_add_device,
	.merge = qs_cuda_exact_merge,
	.order = qs_cuda_exact_order,
	.get = qs_cuda_exact_get,
	.bytes = qs_cuda_exact_bytes,
};
