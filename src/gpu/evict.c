/*
 * evict.c
 *		Values of all families in the GPU worker: their servants, and room for them.
 *
 * src/gpu/evict.c
 */
#include "gpu/settings.h"
#include "gpu/worker.h"

/* Values that are freed between two pieces of requests. */
#define DOOMED_AT_ONCE 8

/* The servant of a family. */
const GpuServant *
GpuServantOf(GpuFamily family)
{
	static const GpuServant *const servant[GPU_FAMILIES] = {
		[GPU_FAMILY_SKETCH] = &gpu_sketch_servant, [GPU_FAMILY_SETS] = &gpu_sets_servant,
		[GPU_FAMILY_FILTER] = &gpu_filter_servant, [GPU_FAMILY_COLUMN] = &gpu_column_servant,
		[GPU_FAMILY_EXACT] = &gpu_exact_servant,   [GPU_FAMILY_MEMBERS] = &gpu_members_servant,
	};

	return servant[family];
}

/* Tell the backends where a value is now. */
void
GpuShowPlace(int index)
{
	GpuPlace place = GpuServantOf(gpu_shared->entry[index].family)->place(index);

	gpu_shared->entry[index].device = place.on_device ? place.device : -1;
	gpu_shared->entry[index].bytes = place.bytes;
	gpu_shared->entry[index].pages = place.pages;
	GpuShowMemory(place.device);
}

static void
free_value(int index)
{
	const GpuServant *servant = GpuServantOf(gpu_shared->entry[index].family);
	int device = servant->place(index).device;

	servant->drop(index);
	GpuShowMemory(device);
	GpuEntryFreed(index);
}

/* Free the values of doomed entries that no request names, some at a time; were there any? */
bool
GpuFreeDoomed(void)
{
	int index[DOOMED_AT_ONCE];
	int count;
	int i;

	if (pg_atomic_read_u32(&gpu_shared->doomed) == 0)
		return false;
	count = GpuTakeDoomed(index, DOOMED_AT_ONCE);
	for (i = 0; i < count; i++)
		free_value(index[i]);
	return count > 0;
}

/* Keep cached copies within qsketch.gpu_cache_size, and within their share of the entries. */
void
GpuTrimCache(void)
{
	uint64 limit = (uint64) gpu_cache_size << 20;

	while ((pg_atomic_read_u64(&gpu_shared->cache_now) > limit ||
			pg_atomic_read_u32(&gpu_shared->cached) > GPU_CACHED_MAX) &&
		   GpuEvictOldest(-1))
		;
}

/* Move a value that rests on a device to the worker's memory; false if there is none. */
static bool
move_resting(int device)
{
	int index = -1;

	while ((index = GpuNextResting(device, index)) >= 0)
	{
		const GpuServant *servant = GpuServantOf(gpu_shared->entry[index].family);

		if (servant->move == NULL || servant->move(index) != QB_OK)
			continue;
		GpuShowPlace(index);
		return true;
	}
	return false;
}

/*
 * Make room on a device: free what nobody wants, or else move a value that only rests there,
 * or else give up a cached copy; false if there is nothing of the kind.
 */
bool
GpuMakeRoom(int device)
{
	if (GpuFreeDoomed() || move_resting(device))
		return true;
	if (!GpuEvictOldest(device))
		return false;
	while (GpuFreeDoomed())
		;
	return true;
}
