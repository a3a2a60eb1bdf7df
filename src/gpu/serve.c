/*
 * serve.c
 *		A piece of a request in the GPU worker: is its value there, and what follows from the
 *		result.  The table of request handlers, and room for values.
 *
 * src/gpu/serve.c
 */
#include "gpu/worker.h"

/*
 * Is a value that a request names still there?  One pending free counts: it may
 * have been pushed out of the cache since it was asked for.
 */
static bool
is_there(const GpuRef *ref)
{
	GpuHandle *handle = &gpu_shared->handle[ref->index];
	bool there;

	LWLockAcquire(gpu_shared->handles, LW_SHARED);
	there = handle->serial == ref->serial && handle->state != HANDLE_UNUSED &&
			handle->state != HANDLE_LOST;
	LWLockRelease(gpu_shared->handles);
	return there;
}

/* A request that changes a value failed: the value is incomplete now, and lost. */
static void
lose_value(const GpuHandler *handler, GpuSlot *slot)
{
	if (!slot->gone)
		strlcpy(gpu_shared->reason, qb_status_text(slot->status), GPU_TEXT_BYTES);
	if (GpuLoseHandle(&slot->handle))
		handler->drop(slot->handle.index);
}

/* Serve a request, or a piece of it; or several together, as many as *count says then. */
static qb_status
serve(const GpuHandler *handler, GpuSlot *const *slot, int *count)
{
	qb_status status = *count > 1 ? handler->serve_all(slot, count) : QB_NO_MEMORY;

	if (*count > 1 && (status == QB_OK || status == QB_DEVICE_ERROR))
		return status;
	*count = 1;
	return handler->serve(slot[0]);
}

/*
 * Serve a request, or a piece of it; or requests that may be served together, of which
 * *count says how many were served.  Returns NULL, or what is wrong with the device: no
 * answer of such a device can be trusted, and the worker has to end.
 */
const char *
GpuServe(GpuSlot *const *slots, int *count)
{
	GpuSlot *slot = slots[0];
	const GpuHandler *handler = GpuHandlerOf(slot->handle.family);
	int index = slot->handle.index;

	slot->more = false;
	slot->gone = !is_there(&slot->handle) || (slot->other.serial != 0 && !is_there(&slot->other));
	if (slot->gone && !slot->wait)
		lose_value(handler, slot);
	if (slot->gone || slot->abandoned || GpuIsMoot(slot))
	{
		*count = 1;
		return NULL;
	}
	slot->status = serve(handler, slots, count);
	if (slot->status != QB_OK)
		slot->more = false;
	if (slot->status == QB_DEVICE_ERROR)
		return GpuDeviceError(handler->location(index).device);
	if (slot->status != QB_OK && !slot->wait)
		lose_value(handler, slot);
	GpuShowLocation(index);
	return NULL;
}

/* ---- values of all families in the GPU worker: their handlers, and room for them ---- */

/* Values that are freed between two pieces of requests. */
#define PENDING_FREES_AT_ONCE 8

/* The handler of a family. */
const GpuHandler *
GpuHandlerOf(GpuFamily family)
{
	static const GpuHandler *const handler[GPU_FAMILIES] = {
		[GPU_FAMILY_SKETCH] = &gpu_sketch_handler,
		[GPU_FAMILY_SETS] = &gpu_sets_handler,
		[GPU_FAMILY_FILTER] = &gpu_filter_handler,
		[GPU_FAMILY_COLUMN] = &gpu_column_handler,
		[GPU_FAMILY_EXACT] = &gpu_exact_handler,
		[GPU_FAMILY_MEMBERSHIPS] = &gpu_memberships_handler,
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

/*
 * Free the values of handles pending free that no request names, some at a time; were there any?
 * On a busy device a request may use what it does not name.
 */
bool
GpuFreePending(void)
{
	int index[PENDING_FREES_AT_ONCE];
	int count;
	int i;

	if (pg_atomic_read_u32(&gpu_shared->pending_frees) == 0)
		return false;
	count = GpuTakePending(index, PENDING_FREES_AT_ONCE, GpuBusyDevices());
	for (i = 0; i < count; i++)
		free_value(index[i]);
	return count > 0;
}

/*
 * Make room on a device: free what nobody wants, or else give up a cached
 * value, or else a chunk of a column; false if there is none.  Columns of other
 * roles go for columns alone.
 */
bool
GpuMakeRoom(int device)
{
	const GpuHandle *served = &gpu_shared->handle[GpuServed()->handle.index];
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
