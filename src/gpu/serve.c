/*
 * serve.c
 *		A piece of a request in the GPU worker: is its value there, and what follows
 *		from the result.
 *
 * src/gpu/serve.c
 */
#include "gpu/worker.h"

/*
 * Is a value that a request names still there?  A doomed one counts: a copy may have
 * been pushed out since it was asked for.
 */
static bool
is_there(const GpuRef *ref)
{
	GpuEntry *entry = &gpu_shared->entry[ref->index];
	bool there;

	LWLockAcquire(gpu_shared->entries, LW_SHARED);
	there =
		entry->serial == ref->serial && entry->state != ENTRY_UNUSED && entry->state != ENTRY_LOST;
	LWLockRelease(gpu_shared->entries);
	return there;
}

/* A request that changes a value failed: the value is incomplete now, and lost. */
static void
lose_value(const GpuServant *servant, GpuSlot *slot)
{
	if (!slot->gone)
		strlcpy(gpu_shared->reason, qb_status_text(slot->status), GPU_TEXT_BYTES);
	if (GpuLoseEntry(&slot->entry))
		servant->drop(slot->entry.index);
}

/* Serve a request, or a piece of it; or several together, as many as *count says then. */
static qb_status
serve(const GpuServant *servant, GpuSlot *const *slot, int *count)
{
	qb_status status = *count > 1 ? servant->serve_all(slot, count) : QB_NO_MEMORY;

	if (*count > 1 && (status == QB_OK || status == QB_DEVICE_ERROR))
		return status;
	*count = 1;
	return servant->serve(slot[0]);
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
	const GpuServant *servant = GpuServantOf(slot->entry.family);
	int index = slot->entry.index;

	slot->more = false;
	slot->gone = !is_there(&slot->entry) || (slot->other.serial != 0 && !is_there(&slot->other));
	if (slot->gone && !slot->wait)
		lose_value(servant, slot);
	if (slot->gone || slot->abandoned || GpuIsMoot(slot))
	{
		*count = 1;
		return NULL;
	}
	GpuMakeRoomFor(index);
	slot->status = serve(servant, slots, count);
	if (slot->status != QB_OK)
		slot->more = false;
	if (slot->status == QB_DEVICE_ERROR)
		return GpuDeviceError(servant->place(index).device);
	if (slot->status != QB_OK && !slot->wait)
		lose_value(servant, slot);
	GpuShowPlace(index);
	return NULL;
}
