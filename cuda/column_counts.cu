/*
 * column_counts.cu
 *		Which distinct keys are there, and how often did each come, if they are few?
 *
 * Each block counts its keys in a table in shared memory, by linear probing, and in the
 * end adds the table to one in device memory.  If a block finds more distinct keys than
 * are asked for, or all blocks together do, all blocks stop.  So an array of many distinct
 * keys takes little time.
 *
 * Floor: 8 bytes read for each key.  Keys that come often share an address in shared
 * memory, whose atomics take one key at a time: at worst, with one distinct key, a key a
 * cycle of each multiprocessor.
 *
 * cuda/column_counts.cu
 */
#include "column_cuda.h"

#include "device.cuh"

#include "base/hash.h"

#define COUNT_BLOCK 1024
#define SLOTS       (2 * QS_CUDA_COUNTS_MAX)

/* A slot without a key.  Keys of this value are counted apart. */
#define NO_KEY (~UINT64_C(0))

/* Keys that a thread takes, and slots that it looks at, between two looks at "stop". */
#define STEPS  8
#define PROBES 32

/* All in device memory; "key" and "times" have SLOTS of each. */
struct counts_table
{
	unsigned long long stop;     /* there are too many */
	unsigned long long apart;    /* how often NO_KEY came */
	unsigned long long found;    /* of the result */
	unsigned long long distinct; /* keys in the table */
	unsigned long long key[SLOTS];
	unsigned long long times[SLOTS];
	unsigned long long result_key[QS_CUDA_COUNTS_MAX];
	unsigned long long result_times[QS_CUDA_COUNTS_MAX];
};

static_assert(sizeof(counts_table) == QS_CUDA_COUNTS_WORDS * sizeof(uint64_t), "size of a table");

/* Read what other threads write meanwhile. */
template <typename Word>
__device__ __forceinline__ Word
now(const Word &word)
{
	return *(const volatile Word *) &word;
}

/*
 * The slot of a key, which takes a free one if it has none; *added says so.  SLOTS: the
 * table is full, or "stop" was set while looking.
 */
__device__ __forceinline__ uint32_t
slot_of(unsigned long long *table, uint64_t key, const unsigned long long &stop, bool *added)
{
	uint32_t slot = (uint32_t) (qb_mix64(key) % SLOTS);

	*added = false;
	for (uint32_t n = 0; n < SLOTS; n++)
	{
		unsigned long long there = now(table[slot]);

		if (there == NO_KEY)
		{
			there = atomicCAS(&table[slot], NO_KEY, key);
			*added = there == NO_KEY;
		}
		if (there == key || *added)
			return slot;
		if (n % PROBES == PROBES - 1 && now(stop))
			return SLOTS;
		slot = (slot + 1) % SLOTS;
	}
	return SLOTS;
}

/*
 * Add a block's own table to that of all, unless there are too many keys.  Blocks with few
 * keys each may have many together: then the table would fill up, and each search in it
 * would look at all of it.
 */
__device__ __forceinline__ void
add_table(counts_table *all, uint32_t most, const unsigned long long *key, const uint32_t *times)
{
	bool added;

	for (uint32_t i = threadIdx.x; i < SLOTS && !now(all->stop); i += COUNT_BLOCK)
	{
		uint32_t slot;

		if (key[i] == NO_KEY)
			continue;
		slot = slot_of(all->key, key[i], all->stop, &added);
		if (slot < SLOTS)
			atomicAdd(&all->times[slot], times[i]);
		if (slot == SLOTS || (added && atomicAdd(&all->distinct, 1) >= most))
			all->stop = 1;
	}
}

__global__ void
__launch_bounds__(COUNT_BLOCK)
	count_keys(const uint64_t *key, uint64_t count, uint32_t most, counts_table *all)
{
	extern __shared__ unsigned long long own[];
	uint32_t *times = (uint32_t *) (own + SLOTS);
	uint64_t stride = (uint64_t) gridDim.x * COUNT_BLOCK;
	uint64_t i = (uint64_t) blockIdx.x * COUNT_BLOCK + threadIdx.x;
	__shared__ uint32_t distinct, apart;

	for (uint32_t slot = threadIdx.x; slot < SLOTS; slot += COUNT_BLOCK)
	{
		own[slot] = NO_KEY;
		times[slot] = 0;
	}
	if (threadIdx.x == 0)
		distinct = apart = 0;
	__syncthreads();
	while (i < count && !now(all->stop))
		for (int step = 0; step < STEPS && i < count; step++, i += stride)
		{
			uint64_t k = __ldcs(&key[i]);
			bool added;
			uint32_t slot;

			if (k == NO_KEY)
			{
				atomicAdd(&apart, 1);
				continue;
			}
			if (now(distinct) > most)
				break;
			slot = slot_of(own, k, all->stop, &added);
			if (slot == SLOTS)
			{
				all->stop = 1;
				break;
			}
			if (added && atomicAdd(&distinct, 1) >= most)
				all->stop = 1;
			atomicAdd(&times[slot], 1);
		}
	__syncthreads();
	if (now(all->stop))
		return;
	add_table(all, most, own, times);
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

	if (i < SLOTS && all->key[i] != NO_KEY)
		put_result(all, most, all->key[i], all->times[i]);
	if (i == 0 && all->apart > 0)
		put_result(all, most, NO_KEY, all->apart);
}

/* Start both kernels on an empty table. */
static qb_status
start(qs_cuda *gpu, const uint64_t *key, uint64_t count, uint32_t most, counts_table *table)
{
	size_t shared = SLOTS * (sizeof(uint64_t) + sizeof(uint32_t));
	int grid;

	QS_CUDA_TRY(gpu, cudaMemsetAsync(table, 0, sizeof(*table), gpu->stream));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(table->key, 0xff, sizeof(table->key), gpu->stream));
	QS_CUDA_TRY(gpu, cudaFuncSetAttribute(count_keys, cudaFuncAttributeMaxDynamicSharedMemorySize,
										  (int) shared));
	QS_TRY(qs_grid(gpu, count_keys, COUNT_BLOCK, shared, qs_ceil_div(count, COUNT_BLOCK), &grid));
	count_keys<<<grid, COUNT_BLOCK, shared, gpu->stream>>>(key, count, most, table);
	QS_CUDA_LAUNCHED(gpu);
	return qs_launch(gpu, collect_counts, SLOTS, table, most);
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
	if (distinct)
	{
		QS_TRY(fetch(gpu, distinct, table->result_key, most));
		QS_TRY(fetch(gpu, times, table->result_times, most));
	}
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	*found = head[0] || head[2] > most ? most + 1 : (uint32_t) head[2];
	return QB_OK;
}
