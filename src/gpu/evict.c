/*
 * evict.c
 *		Values of all families in the GPU worker: their handlers, and room for them.
 *
 * src/gpu/evict.c
 */
#include "gpu/worker.h"

/* Values that are freed between two pieces of requests. */
#define PENDING_FREES_AT_ONCE 8

/* The handler of a family. */
const GpuHandler *
GpuHandlerOf(GpuFamily family)
{
	static const GpuHandler *const handler[GPU_FAMILIES] = {
		[GPU_FAMILY_SKETCH] = &gpu_sketch_handler, [GPU_FAMILY_SETS] = &gpu_sets_handler,
		[GPU_FAMILY_FILTER] = &gpu_filter_handler, [GPU_FAMILY_COLUMN] = &gpu_column_handler,
		[GPU_FAMILY_EXACT] = &gpu_exact_handler,   [GPU_FAMILY_MEMBERSHIPS] = &gpu_memberships_handler,
	};

	return handler[family];
}

/* Tell the backends where a value is now. */
void
GpuShowLocation(int index)
{
	GpuLocation location = GpuHandlerOf(gpu_shared->handle[index].family)->location(index);

	gpu_shared->handle[index].device = location.on_device ? location.device : -1;
	gpu_shared->handle[index].bytes = location.bytes;
	gpu_shared->handle[index].pages = location.pages;
	GpuShowMemory(location.device);
}

static void
free_value(int index)
{
	const GpuHandler *handler = GpuHandlerOf(gpu_shared->handle[index].family);
	int device = handler->location(index).device;

	handler->drop(index);
	GpuShowMemory(device);
	GpuHandleFreed(index);
}

/* Free the values of handles pending free that no request names, some at a time; were there any? */
bool
GpuFreePending(void)
{
	int index[PENDING_FREES_AT_ONCE];
	int count;
	int i;

	if (pg_atomic_read_u32(&gpu_shared->pending_frees) == 0)
		return false;
	count = GpuTakePending(index, PENDING_FREES_AT_ONCE);
	for (i = 0; i < count; i++)
		free_value(index[i]);
	return count > 0;
}

/* Whose request is served: room is made for that handle. */
static const GpuHandle *served;

void
GpuMakeRoomFor(int index)
{
	served = &gpu_shared->handle[index];
}

/*
 * Make room on a device: free what nobody wants, or else give up a copy of a value, or else one
 * of a column; false if there is none.  Columns of other roles go for columns alone.
 */
bool
GpuMakeRoom(int device)
{
	bool column = served->family == GPU_FAMILY_COLUMN;

	if (GpuFreePending())
		return true;
	if (!GpuEvict(device, false, served->role, false) &&
		!GpuEvict(device, true, served->role, !column))
		return false;
	while (GpuFreePending())
		;
	return true;
}
