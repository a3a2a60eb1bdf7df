/*
 * sets_serve.c
 *		What the GPU worker does with collections of sets: the servant of their
 *		requests.
 *
 * For each entry of the shared table the worker has the collection on a device.
 * Both collections of a search must be on one, so all go to the first device.
 *
 * src/gpu/sets_serve.c
 */
#include "gpu/settings.h"
#include "gpu/sets_device.h"
#include "gpu/worker.h"

static void *holding[GPU_ENTRIES];

static const GpuSetsDeviceOps *
device_ops(void)
{
	return gpu_device_ops->sets;
}

static qs_status
serve_create(GpuSlot *slot)
{
	const GpuSetsShape *shape = (const GpuSetsShape *) slot->shape.bytes;
	void **sets = &holding[slot->entry.index];
	qs_status status;

	if (gpu_fault == FAULT_MEMORY)
		return QS_NO_MEMORY;
	do
		status = device_ops()->create(gpu_device[0], shape, sets);
	while (status == QS_NO_MEMORY && GpuMakeRoom(0));
	if (status != QS_OK)
		return status;
	pg_atomic_fetch_add_u64(&gpu_shared->device[0].values, 1);
	GpuCount(COUNT_CREATED, 1);
	return QS_OK;
}

static qs_status
serve_search(GpuSlot *slot)
{
	const GpuSetsSearch *search = (const GpuSetsSearch *) slot->shape.bytes;
	void *columns = slot->other.serial != 0 ? holding[slot->other.index] : NULL;
	qs_status status;

	do
		status = device_ops()->search(holding[slot->entry.index], columns, search);
	while (status == QS_NO_MEMORY && GpuMakeRoom(0));
	GpuCount(COUNT_SEARCHES, 1);
	return status;
}

static qs_status
serve_pairs(GpuSlot *slot)
{
	GpuSetsReply *reply = (GpuSetsReply *) slot->shape.bytes;
	uint64 count;
	qs_status status = device_ops()->next(holding[slot->entry.index], (qi_pair *) GpuSlotData(slot),
										  GPU_SLOT_PAIRS, &count, &reply->over);

	if (status != QS_OK)
		return status;
	slot->count = (int) count;
	GpuCount(COUNT_PAIRS, count);
	GpuCount(COUNT_BYTES_OUT, count * sizeof(qi_pair));
	return QS_OK;
}

static qs_status
serve_sets(GpuSlot *slot)
{
	void *sets = holding[slot->entry.index];

	if (gpu_fault == FAULT_ERROR)
		return QS_DEVICE_ERROR;
	if (slot->op == SETS_CREATE)
		return serve_create(slot);
	if (sets == NULL || (slot->other.serial != 0 && holding[slot->other.index] == NULL))
		return QS_NO_MEMORY;
	switch ((GpuSetsOp) slot->op)
	{
		case SETS_OFFSETS:
			GpuCount(COUNT_BYTES_IN, slot->count * sizeof(uint64));
			return device_ops()->put_offsets(sets, slot->offset, (const uint64 *) GpuSlotData(slot),
											 slot->count);
		case SETS_ELEMENTS:
			GpuCount(COUNT_BYTES_IN, slot->count * sizeof(uint32));
			return device_ops()->put_elements(sets, slot->offset,
											  (const uint32 *) GpuSlotData(slot), slot->count);
		case SETS_SEARCH:
			return serve_search(slot);
		case SETS_PAIRS:
			return serve_pairs(slot);
		default:
			return QS_DEVICE_ERROR;
	}
}

static void
drop_sets(int index)
{
	if (holding[index] == NULL)
		return;
	device_ops()->destroy(holding[index]);
	holding[index] = NULL;
	pg_atomic_fetch_sub_u64(&gpu_shared->device[0].values, 1);
}

static GpuPlace
place_of_sets(int index)
{
	GpuPlace place = { .device = 0, .on_device = holding[index] != NULL };

	if (place.on_device)
		place.bytes = device_ops()->bytes(holding[index]);
	return place;
}

const GpuServant gpu_sets_servant = {
	.serve = serve_sets,
	.drop = drop_sets,
	.place = place_of_sets,
};
