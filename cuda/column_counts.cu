/*
 * column_counts.cu
 *		Counts the distinct keys of an array, if there are few distinct keys.
 *
 * Tables use linear probing.  A block counts its keys in a table in shared memory, and adds this
 * table to a table in device memory.  All blocks stop when one block, or all blocks together, have
 * found more distinct keys than the request allows.  So an array with many distinct keys takes
 * little time.  column_exact.cu counts any number of distinct keys.
 *
 * Equal keys change one address in shared memory, where atomics of one address are serialized.  In
 * the worst case, a single distinct key, a multiprocessor counts one key per clock.
 *
 * Floor: 8 bytes read for each key.
 *
 * SQL: aggregates on cached columns.  Their states stay explicit if there are few distinct keys.
 * Aggregates with GROUP BY use count_many.
 *
 * cuda/column_counts.cu
 */
#include "column_cuda.h"
#include "device.cuh"

#include "base/slot.h"

/* ---- a block's table ---- */

#define COUNT_BLOCK 1024
#define COUNT_SLOTS (2 * QS_CUDA_COUNTS_MAX) /* slots of a block's table; 2^k */

/* Marks a free slot.  Keys of this value are counted separately, in "apart". */
#define NO_KEY (~UINT64_C(0))

/* Keys that a thread counts, and slots that it probes, between two reads of "stop". */
#define COUNT_STEPS  8
#define COUNT_PROBES 32

/* A block's table, in shared memory. */
struct block_counts
{
	qs_u64 *key;
	uint32_t *times; /* counts of the keys; NULL: keys are not counted */
	uint32_t *distinct;
	uint32_t *apart; /* number of keys equal to NO_KEY */
	const qb_secret &secret;
	uint32_t most; /* largest number of distinct keys to count */
	qs_u64 *stop;  /* in device memory; 1: there are too many distinct keys */
};

/* Read a word that other threads may change at the same time. */
template <typename Word>
__device__ __forceinline__ Word
now(const Word &word)
{
	return *(const volatile Word *) &word;
}

/*
 * Return the slot of a key in a table of 2^k slots.  If the key has no slot, take a free slot and
 * set *added.  Returns "slots" if the table is full or "stop" was set.
 */
__device__ __forceinline__ uint32_t
slot_of(qs_u64 *table, uint32_t slots, const qb_secret &secret, uint64_t key, const qs_u64 &stop,
		bool *added)
{
	uint32_t slot = (uint32_t) qb_slot_hash_by(&secret, key) & (slots - 1);

	*added = false;
	for (uint32_t n = 0; n < slots; n++)
	{
		qs_u64 there = now(table[slot]);

		if (there == NO_KEY)
		{
			there = atomicCAS(&table[slot], NO_KEY, key);
			*added = there == NO_KEY;
		}
		if (there == key || *added)
			return slot;
		if (n % COUNT_PROBES == COUNT_PROBES - 1 && now(stop))
			return slots;
		slot = (slot + 1) & (slots - 1);
	}
	return slots;
}

/* Clear a block's table.  All threads of the block must call this. */
__device__ __forceinline__ void
clear_counts(const block_counts &local)
{
	for (uint32_t slot = threadIdx.x; slot < COUNT_SLOTS; slot += COUNT_BLOCK)
	{
		local.key[slot] = NO_KEY;
		if (local.times)
			local.times[slot] = 0;
	}
	if (threadIdx.x == 0)
		*local.distinct = *local.apart = 0;
	__syncthreads();
}

/* Count one key.  False: there are too many distinct keys. */
__device__ __forceinline__ bool
count_key(const block_counts &local, uint64_t key)
{
	bool added;
	uint32_t slot;

	if (key == NO_KEY)
	{
		atomicAdd(local.apart, 1);
		return true;
	}
	if (now(*local.distinct) > local.most)
		return false;
	slot = slot_of(local.key, COUNT_SLOTS, local.secret, key, *local.stop, &added);
	if (slot == COUNT_SLOTS || (added && atomicAdd(local.distinct, 1) >= local.most))
		*local.stop = 1;
	if (slot < COUNT_SLOTS && local.times)
		atomicAdd(&local.times[slot], 1);
	return slot < COUNT_SLOTS;
}

/* Count a thread's keys: every stride-th key from index i on, until "stop" is set. */
__device__ __forceinline__ void
count_in_block(const block_counts &local, const uint64_t *key, uint64_t i, uint64_t count,
			   uint64_t stride)
{
	while (i < count && !now(*local.stop))
		for (int step = 0; step < COUNT_STEPS && i < count; step++, i += stride)
			if (!count_key(local, __ldcs(&key[i])))
				break;
}

/* ---- counting each distinct key ---- */

/* The state of a table in device memory, which all blocks share. */
struct counted_keys
{
	qs_u64 stop;     /* 1: there are too many distinct keys */
	qs_u64 apart;    /* number of keys equal to NO_KEY; in count_many 1 if there is such a key */
	qs_u64 distinct; /* keys in the table */
};

/* The table in device memory, and the result. */
struct counts_table
{
	counted_keys all;
	qs_u64 found; /* number of entries, including entries that did not fit into the result */
	qs_u64 key[COUNT_SLOTS];
	qs_u64 times[COUNT_SLOTS];
	qs_u64 result_key[QS_CUDA_COUNTS_MAX];
	qs_u64 result_times[QS_CUDA_COUNTS_MAX];
};

/*
 * Add a block's table to the table in device memory, until "stop" is set.  Even if each block has
 * few distinct keys, all blocks together may have many.  If no block stopped, the keys would fill
 * the table, and each search would scan the whole table.
 */
__device__ __forceinline__ void
add_table(counted_keys *all, qs_u64 *table, uint32_t slots, qs_u64 *times,
		  const block_counts &local)
{
	bool added;

	for (uint32_t i = threadIdx.x; i < COUNT_SLOTS && !now(all->stop); i += COUNT_BLOCK)
	{
		uint32_t slot;

		if (local.key[i] == NO_KEY)
			continue;
		slot = slot_of(table, slots, local.secret, local.key[i], all->stop, &added);
		if (times && slot < slots)
			atomicAdd(&times[slot], local.times[i]);
		if (slot == slots || (added && atomicAdd(&all->distinct, 1) >= local.most))
			all->stop = 1;
	}
}

__global__ void
__launch_bounds__(COUNT_BLOCK)
	count_keys(const uint64_t *key, uint64_t count, uint32_t most, counts_table *all,
			   const __grid_constant__ qb_secret secret)
{
	extern __shared__ qs_u64 shared[];
	__shared__ uint32_t distinct, apart;
	block_counts local = {
		shared, (uint32_t *) (shared + COUNT_SLOTS), &distinct, &apart, secret, most, &all->all.stop
	};

	clear_counts(local);
	count_in_block(local, key, (uint64_t) blockIdx.x * COUNT_BLOCK + threadIdx.x, count,
				   (uint64_t) gridDim.x * COUNT_BLOCK);
	__syncthreads();
	if (now(all->all.stop))
		return;
	add_table(&all->all, all->key, COUNT_SLOTS, all->times, local);
	if (threadIdx.x == 0 && apart > 0)
		atomicAdd(&all->all.apart, apart);
}

/* Add an entry to the result, unless the result is full. */
__device__ __forceinline__ void
put_result(counts_table *all, uint32_t most, uint64_t key, uint64_t times)
{
	uint64_t index = atomicAdd(&all->found, 1);

	if (index >= most)
		return;
	all->result_key[index] = key;
	all->result_times[index] = times;
}

__global__ void
collect_counts(counts_table *all, uint32_t most)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < COUNT_SLOTS && all->key[i] != NO_KEY)
		put_result(all, most, all->key[i], all->times[i]);
	if (i == 0 && all->all.apart > 0)
		put_result(all, most, NO_KEY, all->all.apart);
}

/* Clear the table, and launch both kernels. */
static qb_status
start(qs_cuda *gpu, const uint64_t *key, uint64_t count, uint32_t most, counts_table *table)
{
	size_t shared = COUNT_SLOTS * (sizeof(uint64_t) + sizeof(uint32_t));

	QS_CUDA_TRY(gpu, cudaMemsetAsync(table, 0, sizeof(*table), gpu->stream));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(table->key, 0xff, sizeof(table->key), gpu->stream));
	QS_TRY(qs_launch_blocks(gpu, count_keys,
							{ qs_ceil_div(count, COUNT_BLOCK), COUNT_BLOCK, shared }, key, count,
							most, table, qb_process_secret));
	return qs_launch(gpu, collect_counts, COUNT_SLOTS, table, most);
}

qb_status
qs_cuda_keys_count(qs_cuda *gpu, const uint64_t *key, uint64_t count, qs_cuda_counts *counts)
{
	size_t bytes = counts->most * sizeof(uint64_t);
	counts_table *table;
	qs_u64 head[4]; /* the members of counted_keys, then "found" */

	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(qs_have_room(gpu, &gpu->table, sizeof(*table) / sizeof(uint64_t)));
	table = (counts_table *) gpu->table.word;
	QS_TRY(start(gpu, key, count, counts->most, table));
	QS_TRY(qs_copy(gpu, head, table, sizeof(head), cudaMemcpyDeviceToHost));
	QS_TRY(qs_copy(gpu, counts->distinct, table->result_key, bytes, cudaMemcpyDeviceToHost));
	QS_TRY(qs_copy_now(gpu, counts->times, table->result_times, bytes, cudaMemcpyDeviceToHost));
	counts->found = head[0] || head[3] > counts->most ? counts->most + 1 : (uint32_t) head[3];
	return QB_OK;
}

/*
 * ---- finding the groups that have more than "most" distinct keys ----
 *
 * A block processes a chunk of neighbouring keys.  It counts the keys of one group after another in
 * a table in shared memory, and adds this table to the group's table in device memory.  When too
 * many distinct keys of a group are found, its other keys are skipped.
 *
 * Floor: 8 bytes read for each key of the groups with few distinct keys.
 */

/*
 * A group, in device memory.  Behind the array of groups are their tables, in the order of the
 * groups.
 */
struct many_group
{
	qs_u64 end; /* index behind the group's last key */
	counted_keys all;
};

#define GROUP_WORDS (sizeof(many_group) / sizeof(uint64_t))

/* Arguments of count_many. */
struct many_keys
{
	const uint64_t *key;
	uint64_t count;
	uint64_t chunk; /* keys of a block */
	many_group *group;
	qs_u64 *table;
	uint32_t groups;
	uint32_t slots; /* slots of a group's table; 2^k */
	uint32_t most;
	qb_secret secret;
};

/*
 * Threads of a block may read different values of "stop".  No barrier depends on "stop", so all
 * threads reach the same barriers.
 */
__global__ void
__launch_bounds__(COUNT_BLOCK) count_many(const __grid_constant__ many_keys all)
{
	extern __shared__ qs_u64 shared[];
	__shared__ uint32_t distinct, apart;
	block_counts local = { shared, NULL, &distinct, &apart, all.secret, all.most, NULL };
	uint64_t at = blockIdx.x * all.chunk;
	uint64_t end = min(at + all.chunk, all.count);
	uint32_t g = at < end ? qs_group_at(all.group, all.groups, at) : 0;

	for (; at < end; g++)
	{
		uint64_t stop = min((uint64_t) all.group[g].end, end);

		if (stop > at)
		{
			local.stop = &all.group[g].all.stop;
			clear_counts(local);
			count_in_block(local, all.key, at + threadIdx.x, stop, COUNT_BLOCK);
			__syncthreads();
			if (threadIdx.x == 0 && apart > 0)
				all.group[g].all.apart = 1;
			add_table(&all.group[g].all, all.table + (uint64_t) g * all.slots, all.slots, NULL,
					  local);
			__syncthreads();
			at = stop;
		}
	}
}

/* Clear the tables, count, and read the results. */
static qb_status
run(qs_cuda *gpu, many_keys *all, many_group *group)
{
	size_t shared = COUNT_SLOTS * sizeof(uint64_t), bytes = all->groups * sizeof(*group);
	uint64_t blocks = qs_ceil_div(all->count, COUNT_BLOCK);
	int grid;

	QS_TRY(qs_copy(gpu, all->group, group, bytes, cudaMemcpyHostToDevice));
	QS_CUDA_TRY(gpu,
				cudaMemsetAsync(all->table, 0xff,
								(size_t) all->groups * all->slots * sizeof(uint64_t), gpu->stream));
	QS_TRY(qs_allow_shared(gpu, count_many, shared));
	QS_TRY(qs_grid(gpu, count_many, COUNT_BLOCK, shared, blocks, &grid));
	all->chunk = qs_ceil_div(all->count, grid);
	QS_TRY(qs_launch_blocks(gpu, count_many, { blocks, COUNT_BLOCK, shared }, *all));
	return qs_copy_now(gpu, group, all->group, bytes, cudaMemcpyDeviceToHost);
}

qb_status
qs_cuda_keys_many(qs_cuda *gpu, const uint64_t *key, const uint64_t *count, uint32_t groups,
				  uint32_t most, bool *many)
{
	many_group group[QB_GROUPS_MAX] = {};
	many_keys all = {
		key, 0, 0, NULL, NULL, groups, (uint32_t) qs_slots_for(most), most, qb_process_secret
	};

	QS_TRY(qs_cuda_enter(gpu));
	QS_TRY(qs_have_room(gpu, &gpu->table, (uint64_t) groups * (GROUP_WORDS + all.slots)));
	all.group = (many_group *) gpu->table.word;
	all.table = (qs_u64 *) (all.group + groups);
	for (uint32_t i = 0; i < groups; i++)
		group[i].end = all.count += count[i];
	if (all.count > 0)
		QS_TRY(run(gpu, &all, group));
	for (uint32_t i = 0; i < groups; i++)
		many[i] = group[i].all.stop || group[i].all.distinct + group[i].all.apart > most;
	return QB_OK;
}
