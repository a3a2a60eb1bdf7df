/*
 * column_many.cu
 *		Which groups of keys, side by side, have more than so many distinct ones?
 *
 * A block takes a chunk of keys in a row, and counts those of one group after another in a
 * table of its own (column_counts.cuh), which it adds to the group's table.  A group whose
 * answer is known takes no more time.
 *
 * Floor: 8 bytes read for each key, of groups that have few distinct keys.
 *
 * cuda/column_many.cu
 */
#include "column_counts.cuh"
#include "kernels.cuh"

/* A group, in device memory.  Its table follows those of the groups before it. */
struct many_group
{
	unsigned long long end;   /* of its keys, which begin where those of the group before it end */
	unsigned long long stop;  /* there are too many */
	unsigned long long apart; /* QS_NO_KEY is one of its keys */
	unsigned long long distinct; /* keys in the table */
};

#define GROUP_WORDS (sizeof(many_group) / sizeof(uint64_t))

/* What a launch works on. */
struct many_keys
{
	const uint64_t *key;
	uint64_t count;
	uint64_t chunk; /* keys of a block */
	many_group *group;
	unsigned long long *table;
	uint32_t groups;
	uint32_t slots; /* of a group's table; 2^k */
	uint32_t most;
	qb_secret secret;
};

/* At most half of a group's table is needed. */
static uint32_t
slots_for(uint32_t most)
{
	uint32_t slots = 64;

	while (slots < 2 * most)
		slots *= 2;
	return slots;
}

uint64_t
qs_cuda_many_words(uint32_t groups, uint32_t most)
{
	return (uint64_t) groups * (GROUP_WORDS + slots_for(most));
}

/* Add a block's table to that of a group, unless there are too many keys. */
__device__ __forceinline__ void
add_table(const many_keys &all, uint32_t g, const qs_own_counts &own)
{
	many_group *group = &all.group[g];
	unsigned long long *table = all.table + (uint64_t) g * all.slots;

	if (threadIdx.x == 0 && *own.apart > 0)
		group->apart = 1;
	for (uint32_t i = threadIdx.x; i < QS_COUNT_SLOTS && !qs_now(group->stop); i += QS_COUNT_BLOCK)
	{
		bool added;

		if (own.key[i] == QS_NO_KEY)
			continue;
		if (qs_slot_of(table, all.slots, all.secret, own.key[i], group->stop, &added) ==
				all.slots ||
			(added && atomicAdd(&group->distinct, 1) >= all.most))
			group->stop = 1;
	}
}

/*
 * All threads of a block reach the same waits.  Only looks at "stop" can differ between them, and
 * no wait depends on these.
 */
__global__ void
__launch_bounds__(QS_COUNT_BLOCK) count_many(const __grid_constant__ many_keys all)
{
	extern __shared__ unsigned long long shared[];
	__shared__ uint32_t distinct, apart;
	qs_own_counts own = { shared, NULL, &distinct, &apart, all.secret };
	uint64_t at = blockIdx.x * all.chunk;
	uint64_t end = min(at + all.chunk, all.count);
	uint32_t g = at < end ? qs_group_at(all.group, all.groups, at) : 0;

	for (; at < end; g++)
	{
		uint64_t stop = min((uint64_t) all.group[g].end, end);

		if (stop > at)
		{
			qs_clear_counts(own);
			qs_count_keys(own, all.key, at + threadIdx.x, stop, QS_COUNT_BLOCK, all.most,
						  all.group[g].stop);
			__syncthreads();
			add_table(all, g, own);
			__syncthreads();
			at = stop;
		}
	}
}

static qb_status
launch(qs_cuda *gpu, many_keys *all)
{
	size_t shared = QS_COUNT_SLOTS * sizeof(uint64_t);
	int grid;

	QS_CUDA_TRY(gpu, cudaFuncSetAttribute(count_many, cudaFuncAttributeMaxDynamicSharedMemorySize,
										  (int) shared));
	QS_TRY(qs_grid(gpu, count_many, QS_COUNT_BLOCK, shared, qs_ceil_div(all->count, QS_COUNT_BLOCK),
				   &grid));
	all->chunk = qs_ceil_div(all->count, grid);
	count_many<<<grid, QS_COUNT_BLOCK, shared, gpu->stream>>>(*all);
	QS_CUDA_LAUNCHED(gpu);
	return QB_OK;
}

/* Count in empty tables, and read what came of it. */
static qb_status
run(qs_cuda *gpu, many_keys *all, many_group *group)
{
	size_t bytes = all->groups * sizeof(*group);

	QS_CUDA_TRY(gpu,
				cudaMemcpyAsync(all->group, group, bytes, cudaMemcpyHostToDevice, gpu->stream));
	QS_CUDA_TRY(gpu,
				cudaMemsetAsync(all->table, 0xff,
								(size_t) all->groups * all->slots * sizeof(uint64_t), gpu->stream));
	QS_TRY(launch(gpu, all));
	QS_CUDA_TRY(gpu,
				cudaMemcpyAsync(group, all->group, bytes, cudaMemcpyDeviceToHost, gpu->stream));
	QS_CUDA_TRY(gpu, cudaStreamSynchronize(gpu->stream));
	gpu->stats.bytes_out += bytes;
	return QB_OK;
}

qb_status
qs_cuda_keys_many(qs_cuda *gpu, const uint64_t *key, const uint64_t *count, uint32_t groups,
				  uint32_t most, void *memory, bool *many)
{
	many_group group[QB_GROUPS_MAX] = {};
	many_keys all = {
		key, 0, 0, (many_group *) memory, NULL, groups, slots_for(most), most, qb_own_secret
	};

	QS_TRY(qs_cuda_enter(gpu));
	for (uint32_t i = 0; i < groups; i++)
		group[i].end = all.count += count[i];
	all.table = (unsigned long long *) (all.group + groups);
	if (all.count > 0)
		QS_TRY(run(gpu, &all, group));
	for (uint32_t i = 0; i < groups; i++)
		many[i] = group[i].stop || group[i].distinct + group[i].apart > most;
	return QB_OK;
}
