/*
 * column_counts.cuh
 *		A block's table of distinct keys, by linear probing.
 *
 * A block counts its keys in a table in shared memory, and adds the table to one in device
 * memory.  If it finds more distinct keys than are asked for, or all blocks together do,
 * all stop.  So an array of many distinct keys takes little time.
 *
 * Keys that come often share an address in shared memory, whose atomics take one key at a
 * time: at worst, with one distinct key, a key a cycle of each multiprocessor.
 *
 * cuda/column_counts.cuh
 */
#ifndef QS_COLUMN_COUNTS_CUH
#define QS_COLUMN_COUNTS_CUH

#include "column_cuda.h"

#include "device.cuh"

#include "base/slot.h"

#define QS_COUNT_BLOCK 1024
#define QS_COUNT_SLOTS (2 * QS_CUDA_COUNTS_MAX) /* of a block's table; 2^k */

/* A slot without a key.  Keys of this value are counted apart. */
#define QS_NO_KEY (~UINT64_C(0))

/* Keys that a thread takes, and slots that it looks at, between two looks at "stop". */
#define QS_COUNT_STEPS  8
#define QS_COUNT_PROBES 32

/* A block's table, in shared memory. */
struct qs_own_counts
{
	unsigned long long *key;
	uint32_t *times; /* NULL: nobody asks how often keys came */
	uint32_t *distinct;
	uint32_t *apart; /* how often QS_NO_KEY came */
	const qb_secret &secret;
};

/* Read what other threads write meanwhile. */
template <typename Word>
__device__ __forceinline__ Word
qs_now(const Word &word)
{
	return *(const volatile Word *) &word;
}

/*
 * The slot of a key in a table of 2^k slots, which takes a free one if it has none; *added
 * says so.  "slots": the table is full, or "stop" was set while looking.
 */
__device__ __forceinline__ uint32_t
qs_slot_of(unsigned long long *table, uint32_t slots, const qb_secret &secret, uint64_t key,
		   const unsigned long long &stop, bool *added)
{
	uint32_t slot = (uint32_t) qb_slot_hash_by(&secret, key) & (slots - 1);

	*added = false;
	for (uint32_t n = 0; n < slots; n++)
	{
		unsigned long long there = qs_now(table[slot]);

		if (there == QS_NO_KEY)
		{
			there = atomicCAS(&table[slot], QS_NO_KEY, key);
			*added = there == QS_NO_KEY;
		}
		if (there == key || *added)
			return slot;
		if (n % QS_COUNT_PROBES == QS_COUNT_PROBES - 1 && qs_now(stop))
			return slots;
		slot = (slot + 1) & (slots - 1);
	}
	return slots;
}

/* Empty a block's table.  All its threads call this, and wait for one another. */
__device__ __forceinline__ void
qs_clear_counts(const qs_own_counts &own)
{
	for (uint32_t slot = threadIdx.x; slot < QS_COUNT_SLOTS; slot += QS_COUNT_BLOCK)
	{
		own.key[slot] = QS_NO_KEY;
		if (own.times)
			own.times[slot] = 0;
	}
	if (threadIdx.x == 0)
		*own.distinct = *own.apart = 0;
	__syncthreads();
}

/* Count one key; false: there are too many. */
__device__ __forceinline__ bool
qs_count_key(const qs_own_counts &own, uint64_t key, uint32_t most, unsigned long long &stop)
{
	bool added;
	uint32_t slot;

	if (key == QS_NO_KEY)
	{
		atomicAdd(own.apart, 1);
		return true;
	}
	if (qs_now(*own.distinct) > most)
		return false;
	slot = qs_slot_of(own.key, QS_COUNT_SLOTS, own.secret, key, stop, &added);
	if (slot == QS_COUNT_SLOTS || (added && atomicAdd(own.distinct, 1) >= most))
		stop = 1;
	if (slot < QS_COUNT_SLOTS && own.times)
		atomicAdd(&own.times[slot], 1);
	return slot < QS_COUNT_SLOTS;
}

/* Count a thread's keys: from the i-th on, every stride-th, until "stop" is set. */
__device__ __forceinline__ void
qs_count_keys(const qs_own_counts &own, const uint64_t *key, uint64_t i, uint64_t count,
			  uint64_t stride, uint32_t most, unsigned long long &stop)
{
	while (i < count && !qs_now(stop))
		for (int step = 0; step < QS_COUNT_STEPS && i < count; step++, i += stride)
			if (!qs_count_key(own, __ldcs(&key[i]), most, stop))
				break;
}

#endif
