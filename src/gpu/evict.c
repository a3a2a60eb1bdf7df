/*
 * evict.c
 *		Values of all families in the GPU worker: their servants, and room for them.
 *
 * src/gpu/evict.c
 */
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

/* Whose request is served: room is made for that entry. */
static const GpuEntry *served;

void
GpuMakeRoomFor(int index)
{
	served = &gpu_shared->entry[index];
}

/*
 * Make room on a device: free what nobody wants, or else give up a copy of a value, or else one
 * of a column; false if there is none.  Columns of other roles go for columns alone.
 */
bool
GpuMakeRoom(int device)
{
	bool column = served->family == GPU_FAMILY_COLUMN;

	if (GpuFreeDoomed())
		return true;
	if (!GpuEvict(device, false, served->role, false) &&
		!GpuEvict(device, true, served->role, !column))
		return false;
	while (GpuFreeDoomed())
		;
	return true;
}
