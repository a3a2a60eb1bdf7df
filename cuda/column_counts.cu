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
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	*found = head[0] || head[2] > most ? most + 1 : (uint32_t) head[2];
	return QB_OK;
}
