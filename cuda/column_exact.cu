/*
 * column_exact.cu
 *		Exact counts of all keys, by sorting, on one or several devices.
 *
 * Keys are collected until the array is full, or until all keys are added.  Then the collected keys
 * are sorted (CUB), and each run of equal keys becomes one key, with the length of the run as its
 * count.  If there is an earlier list of keys with counts, both lists are merged by key, and the
 * counts of equal keys are added.  So a list of distinct keys replaces all keys so far, and the
 * rest of the array is free for more keys.
 *
 * A sort uses only the range of bits in which any two keys differ.
 *
 * With several devices, each device has a list of the keys that it received, and processes one
 * range of keys: it merges the slices of all lists in this range.  All devices read the lists of
 * their peers in place, at the same time.  So a device may write only behind its list, or into the
 * slice of its list in its range.  No other device reads this slice.
 *
 * In the end each device sorts its range by count.  This sort is stable and its input is sorted by
 * key, so equally frequent keys stay in the order of keys.
 *
 * Floor: a pass over 8 bits reads and writes 8 bytes per key when keys are sorted, and 16 bytes per
 * distinct key when counts are sorted.  Merging reads and writes 16 bytes per distinct key twice.
 *
 * SQL: qtop_exact() on cached columns.
 *
 * cuda/column_exact.cu
 */
#include "column_cuda.h"
#include "device.cuh"

#include <new>
#include <cub/device/device_merge.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cuda/std/functional>

/* Distinct keys with their counts, sorted by key, or by count after order(). */
struct key_list
{
	const int64_t *key;
	const uint64_t *times;
	uint64_t count;
};

/*
 * Two arrays of keys and two arrays of counts, each of "room" elements.  A sort or a merge reads
 * one array of a pair and writes the other array.
 */
struct qs_cuda_exact
{
	qs_cuda *gpu;
	uint64_t room;
	void *memory;
	cub::DoubleBuffer<int64_t> key;
	cub::DoubleBuffer<uint64_t> times;
	uint64_t listed; /* number of distinct keys with counts, sorted by key */
	uint64_t used;   /* number of keys in the array: "listed", and unsorted keys behind them */
	uint64_t total;  /* number of all keys that were added */
	qs_key_bits bits;
	key_list sum;     /* sum of all slices in the range; ordered by count after order() */
	uint64_t counted; /* number of all keys of the joined lists, with repetitions */
};

static_assert(QS_CUDA_EXACT_BYTES == 4 * sizeof(uint64_t), "bytes of a key");

static qb_status
create(qs_cuda *gpu, uint64_t room, qs_cuda_exact **exact)
{
	qs_cuda_exact *created = NULL;
	void *memory;
	uint64_t *word;

	*exact = NULL;
	QS_TRY(qs_cuda_enter(gpu));
	if (room == 0 || room > QS_CUDA_EXACT_MAX)
		return QB_NO_MEMORY;
	QS_TRY(qs_ask_room(gpu, room * QS_CUDA_EXACT_BYTES));
	QS_TRY(qs_device_take(gpu, room * QS_CUDA_EXACT_BYTES, &memory));
	created = new (std::nothrow) qs_cuda_exact();
	if (!created)
	{
		qs_device_free(gpu, memory, room * QS_CUDA_EXACT_BYTES);
		return QB_NO_MEMORY;
	}
	word = (uint64_t *) memory;
	created->gpu = gpu;
	created->room = room;
	created->memory = word;
	created->key = cub::DoubleBuffer<int64_t>((int64_t *) word, (int64_t *) (word + room));
	created->times = cub::DoubleBuffer<uint64_t>(word + 2 * room, word + 3 * room);
	*exact = created;
	return QB_OK;
}

static void
destroy(qs_cuda_exact *exact)
{
	if (!exact)
		return;
	cudaSetDevice(exact->gpu->device); /* qs_cuda_enter() would clear an earlier error */
	qs_device_free(exact->gpu, exact->memory, exact->room * QS_CUDA_EXACT_BYTES);
	delete exact;
}

static uint64_t
bytes(const qs_cuda_exact *exact)
{
	return exact->room * QS_CUDA_EXACT_BYTES;
}

/*
 * Make a list of the unsorted keys, behind the existing list.  *runs is the length of the new list.
 */
static qb_status
list_new(qs_cuda_exact *e, uint64_t *runs)
{
	qs_cuda *gpu = e->gpu;
	int count = (int) (e->used - e->listed);
	qs_bit_range bits = qs_differing(e->bits);
	cub::DoubleBuffer<int64_t> fresh(e->key.Current() + e->listed, e->key.Alternate() + e->listed);

	QS_TRY(qs_run_cub(gpu, [&](void *memory, size_t &bytes) {
		return cub::DeviceRadixSort::SortKeys(memory, bytes, fresh, count, bits.begin, bits.end,
											  gpu->stream);
	}));
	QS_TRY(qs_run_cub(gpu, [&](void *memory, size_t &bytes) {
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
	return qs_copy(gpu, fresh.Current(), fresh.Alternate(), *runs * sizeof(int64_t),
				   cudaMemcpyDeviceToDevice);
}

/* Return "count" elements of the current arrays, from index "first" on. */
static key_list
slice_of(qs_cuda_exact *e, uint64_t first, uint64_t count)
{
	return { e->key.Current() + first, e->times.Current() + first, count };
}

/*
 * Merge lists a and b into one list in the current arrays, from index "at" on; *runs is its length.
 * The current arrays may also contain a and b, because the merge writes to the alternate arrays
 * first.
 */
static qb_status
merge_lists(qs_cuda_exact *e, const key_list &a, const key_list &b, uint64_t at, uint64_t *runs)
{
	qs_cuda *gpu = e->gpu;
	int64_t *key = e->key.Alternate() + at;
	uint64_t *times = e->times.Alternate() + at;

	QS_TRY(qs_run_cub(gpu, [&](void *memory, size_t &bytes) {
		return cub::DeviceMerge::MergePairs(memory, bytes, a.key, a.times, (int64_t) a.count, b.key,
											b.times, (int64_t) b.count, key, times, {},
											gpu->stream);
	}));
	QS_TRY(qs_run_cub(gpu, [&](void *memory, size_t &bytes) {
		return cub::DeviceReduce::ReduceByKey(
			memory, bytes, key, e->key.Current() + at, times, e->times.Current() + at, gpu->result,
			::cuda::std::plus<uint64_t>(), (int) (a.count + b.count), gpu->stream);
	}));
	QS_TRY(qs_read_result(gpu, 1));
	*runs = gpu->host_result[0];
	return QB_OK;
}

/* Sort the unsorted keys, and merge them into the list of distinct keys. */
static qb_status
materialize(qs_cuda_exact *e)
{
	uint64_t runs;

	if (e->used == e->listed)
		return QB_OK;
	QS_TRY(qs_learn_bits(e->gpu, e->key.Current() + e->listed, e->used - e->listed, &e->bits));
	QS_TRY(list_new(e, &runs));
	if (e->listed > 0)
		QS_TRY(merge_lists(e, slice_of(e, 0, e->listed), slice_of(e, e->listed, runs), 0, &runs));
	e->listed = e->used = runs;
	return QB_OK;
}

static qb_status
add_keys(qs_cuda_exact *e, const uint64_t *key, uint64_t count, cudaMemcpyKind kind)
{
	QS_TRY(qs_cuda_enter(e->gpu));
	e->total += count;
	while (count > 0)
	{
		uint64_t some = e->room - e->used < count ? e->room - e->used : count;

		QS_TRY(qs_copy(e->gpu, e->key.Current() + e->used, key, some * sizeof(uint64_t), kind));
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

static qb_status
add(qs_cuda_exact *e, const uint64_t *key, uint64_t count)
{
	QS_TRY(add_keys(e, key, count, cudaMemcpyHostToDevice));
	return qs_wait(e->gpu, e->gpu->stream);
}

static qb_status
add_device(qs_cuda_exact *e, const uint64_t *key, uint64_t count)
{
	return add_keys(e, key, count, cudaMemcpyDeviceToDevice);
}

/* ---- the list of a device ---- */

/* Pick keys of a sorted list at equal distances. */
__global__ void
pick_samples(const int64_t *key, uint64_t distance, uint32_t samples, uint64_t *sample)
{
	qs_for_each(samples, [=](uint64_t i) { sample[i] = (uint64_t) key[i * distance]; });
}

/* Waits for the list, because other devices may read it after the return. */
static qb_status
list(qs_cuda_exact *e, uint64_t *listed, int64_t *sample)
{
	uint32_t samples;

	QS_TRY(qs_cuda_enter(e->gpu));
	QS_TRY(materialize(e));
	*listed = e->listed;
	samples = qs_cuda_samples(e->listed);
	if (samples == 0)
		return QB_OK;
	QS_TRY(qs_launch(e->gpu, pick_samples, samples, e->key.Current(), e->listed / samples, samples,
					 e->gpu->result));
	QS_TRY(qs_read_result(e->gpu, (int) samples));
	memcpy(sample, e->gpu->host_result, samples * sizeof(*sample));
	return QB_OK;
}

/* The first key of each range but the first range. */
struct range_bounds
{
	int64_t bound[QS_CUDA_RANGES_MAX];
	uint32_t count;
};

/* Set index[i] to the number of keys in a sorted list that are less than bound i. */
__global__ void
find_indexes(const int64_t *key, uint64_t count, const __grid_constant__ range_bounds bounds,
			 uint64_t *index)
{
	qs_for_each(bounds.count, [&](uint64_t i) {
		uint64_t low = 0, high = count;

		while (low < high)
		{
			uint64_t middle = (low + high) / 2;

			if (key[middle] < bounds.bound[i])
				low = middle + 1;
			else
				high = middle;
		}
		index[i] = low;
	});
}

static qb_status
find(qs_cuda_exact *e, const int64_t *bound, uint32_t bounds, uint64_t *index)
{
	range_bounds all = { {}, bounds };

	if (bounds > QS_CUDA_RANGES_MAX)
		return QB_NO_MEMORY;
	memcpy(all.bound, bound, bounds * sizeof(*bound));
	QS_TRY(qs_cuda_enter(e->gpu));
	QS_TRY(
		qs_launch(e->gpu, find_indexes, bounds, e->key.Current(), e->listed, all, e->gpu->result));
	QS_TRY(qs_read_result(e->gpu, (int) bounds));
	memcpy(index, e->gpu->host_result, bounds * sizeof(*index));
	return QB_OK;
}

/* ---- a range of the keys of all devices ---- */

/*
 * Copy *slice, a part of the list of a device that is no peer, to the arrays of "e", behind the
 * list and the sum.  *slice becomes the copy.
 */
static qb_status
copy_slice(qs_cuda_exact *e, key_list *slice, const qs_cuda *there)
{
	uint64_t at = e->listed + e->sum.count, bytes = slice->count * sizeof(uint64_t);
	const qs_cuda *here = e->gpu;

	QS_CUDA_TRY(e->gpu, cudaMemcpyPeerAsync(e->key.Current() + at, here->device, slice->key,
											there->device, bytes, here->stream));
	QS_CUDA_TRY(e->gpu, cudaMemcpyPeerAsync(e->times.Current() + at, here->device, slice->times,
											there->device, bytes, here->stream));
	*slice = slice_of(e, at, slice->count);
	return QB_OK;
}

/* Add a slice of another device's list to the sum. */
static qb_status
merge_slice(qs_cuda_exact *e, const qs_cuda_exact_slice *slice)
{
	key_list more = slice_of(slice->exact, slice->first, slice->count);
	uint64_t runs;

	if (e->sum.count + more.count > e->room - e->listed)
		return QB_NO_MEMORY;
	QS_TRY(qs_cuda_enter(e->gpu));
	if (!qs_reads(e->gpu, slice->exact->gpu))
		QS_TRY(copy_slice(e, &more, slice->exact->gpu));
	QS_TRY(merge_lists(e, e->sum, more, e->listed, &runs));
	e->sum = slice_of(e, e->listed, runs);
	return QB_OK;
}

/* Also waits after a failure, so that no kernel reads the other device's list after the return. */
static qb_status
join(qs_cuda_exact *e, const qs_cuda_exact_slice *slice)
{
	qb_status status, waited;

	e->counted += slice->exact->total;
	if (slice->exact == e)
		e->sum = slice_of(e, slice->first, slice->count);
	if (slice->exact == e || slice->count == 0)
		return QB_OK;
	status = merge_slice(e, slice);
	waited = qs_wait(e->gpu, e->gpu->stream);
	return status == QB_OK ? waited : status;
}

/* Sort the sum by count.  No count exceeds e->counted, so the sort skips the higher bits. */
static qb_status
sort_sum(qs_cuda_exact *e)
{
	uint64_t at = e->sum.key - e->key.Current();
	cub::DoubleBuffer<int64_t> key(e->key.Current() + at, e->key.Alternate() + at);
	cub::DoubleBuffer<uint64_t> times(e->times.Current() + at, e->times.Alternate() + at);
	int bits = 64 - __builtin_clzll(e->counted);

	QS_TRY(qs_cuda_enter(e->gpu));
	QS_TRY(qs_run_cub(e->gpu, [&](void *memory, size_t &bytes) {
		return cub::DeviceRadixSort::SortPairsDescending(
			memory, bytes, times, key, (int) e->sum.count, 0, bits, e->gpu->stream);
	}));
	e->sum = { key.Current(), times.Current(), e->sum.count };
	return QB_OK;
}

static qb_status
order(qs_cuda_exact *e, uint64_t *found)
{
	*found = e->sum.count;
	return e->sum.count > 0 ? sort_sum(e) : QB_OK;
}

static qb_status
get(qs_cuda_exact *e, uint64_t first, uint64_t count, uint64_t *key, int64_t *times)
{
	size_t bytes = count * sizeof(uint64_t);

	QS_TRY(qs_cuda_enter(e->gpu));
	QS_TRY(qs_copy(e->gpu, key, e->sum.key + first, bytes, cudaMemcpyDeviceToHost));
	return qs_copy_now(e->gpu, times, e->sum.times + first, bytes, cudaMemcpyDeviceToHost);
}

const qs_exact_ops qs_cuda_exacts = {
	.create = create,
	.destroy = destroy,
	.add = add,
	.add_device = add_device,
	.list = list,
	.find = find,
	.join = join,
	.order = order,
	.get = get,
	.bytes = bytes,
};
