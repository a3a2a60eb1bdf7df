/*
 * sketch_serve_column.c
 *		What the GPU worker does with sketches that get keys of copies of columns.
 *
 * A sketch is made on the device of the first copy.  Keys of copies on other devices go into
 * replicas there (sketch_replicas.c).  If a device has no memory for them, the backend
 * reads the pages.  The sketches of groups get their keys together if they are all on the device
 * of the copies, else one after another.
 *
 * src/gpu/sketch_serve_column.c
 */
#include "gpu/column_worker.h"
#include "gpu/settings.h"
#include "gpu/sketch_holding.h"

/* Count gathered keys on their device; after QB_NO_MEMORY none were counted. */
static qb_status
insert_gathered(int index, const GpuGathered *gathered)
{
	GpuSketchHolding *h = &gpu_sketch_holding[index];
	qb_status status = QB_NO_MEMORY;

	if (gathered->count == 0)
		return QB_OK;
	if (gpu_fault != FAULT_SPILL)
		status = gathered->device == h->device
					 ? GpuSketchOps()->insert_device(h->on_device, gathered->key, NULL, gathered->count)
					 : GpuSketchInsertReplica(h, gathered);
	if (status == QB_NO_MEMORY)
		GpuSketchNoteFull(index);
	return status;
}

/* Count keys of a copy, of as many pages as fit in a piece of the work. */
qb_status
GpuSketchServeColumn(GpuSketchHolding *h, GpuSlot *slot)
{
	double most = gpu_device_ops->piece_work / Max(h->depth, 1);
	GpuWanted wanted;
	GpuGathered gathered;
	qb_status status;

	if (gpu_fault == FAULT_ERROR)
		return QB_DEVICE_ERROR;
	if (h->on_device == NULL)
		return QB_NO_MEMORY;
	memcpy(&wanted, GpuSlotData(slot), sizeof(wanted));
	status =
		GpuColumnGather(slot->other.index, &wanted, (uint32) slot->offset, (uint64) most, &gathered);
	if (status == QB_OK)
		status = insert_gathered(slot->handle.index, &gathered);
	if (status != QB_OK)
		return status;
	slot->done += (int) gathered.count;
	slot->offset = gathered.end;
	slot->more = gathered.end < GPU_CHUNK_PAGES;
	GpuCount(COUNT_COLUMN_KEYS, gathered.count);
	return QB_OK;
}

/* The sketch of a group; NULL: there is none any more. */
static GpuSketchHolding *
find_group(const GpuRef *ref)
{
	GpuSketchHolding *h;

	if (ref->index < 0 || ref->index >= GPU_HANDLES)
		return NULL;
	h = &gpu_sketch_holding[ref->index];
	return gpu_shared->handle[ref->index].serial == ref->serial && h->on_device ? h : NULL;
}

/*
 * Count gathered keys in the sketch of a group.  The request does not name it, so it is kept
 * in use here: room for a sketch may be made by freeing values that nobody needs any more.
 */
static qb_status
insert_group(const GpuRef *ref, const GpuGathered *gathered)
{
	GpuSketchHolding *h = find_group(ref);
	pg_atomic_uint32 *pending;
	qb_status status;

	if (h == NULL)
		return QB_NO_MEMORY;
	pending = &gpu_shared->handle[ref->index].pending;
	pg_atomic_fetch_add_u32(pending, 1);
	status = insert_gathered(ref->index, gathered);
	pg_atomic_fetch_sub_u32(pending, 1);
	return status;
}

/* Give each sketch its gathered keys, one after another. */
static qb_status
insert_one_by_one(const GpuGathered *gathered, const GpuGroupSketches *all, const uint64 *count)
{
	GpuGathered replica = *gathered;
	qb_status status = QB_OK;
	uint32 i;

	for (i = 0; i < all->groups.count && status == QB_OK; i++)
	{
		replica.count = count[i];
		status = insert_group(&all->sketch[i], &replica);
		replica.key += count[i];
	}
	return status;
}

/* The sketch of a group on the device of gathered keys, or its replica there; NULL: there is neither. */
static qs_cuda_sketch *
group_on(const GpuRef *ref, int device)
{
	GpuSketchHolding *h = find_group(ref);

	if (h == NULL)
		return NULL;
	return h->device == device ? h->on_device : h->replica[device];
}

/*
 * Give all sketches their gathered keys at once.  This is for speed alone: QB_NO_MEMORY if one
 * of them has nothing on the device of the copies yet, or if the device cannot do it.
 */
static qb_status
insert_together(const GpuGathered *gathered, const GpuGroupSketches *all, const uint64 *count)
{
	qs_cuda_sketch *sketch[QB_GROUPS_MAX];
	qb_status status;
	uint32 i;

	if (gpu_fault != FAULT_NONE)
		return QB_NO_MEMORY;
	for (i = 0; i < all->groups.count; i++)
	{
		sketch[i] = group_on(&all->sketch[i], gathered->device);
		if (sketch[i] == NULL)
			return QB_NO_MEMORY;
	}
	status = GpuSketchOps()->insert_groups(sketch, count, all->groups.count, gathered->key);
	GpuShowMemory(gathered->device);
	return status;
}

/* Give the sketches their gathered keys, which lie side by side by group. */
static qb_status
insert_groups(const GpuGathered *gathered, GpuGroupSketches *all, const uint64 *count)
{
	qb_status status = insert_together(gathered, all, count);
	uint32 i;

	if (status == QB_NO_MEMORY)
		status = insert_one_by_one(gathered, all, count);
	for (i = 0; i < all->groups.count && status == QB_OK; i++)
		all->added[i] += count[i];
	return status;
}

/* Count keys of a copy for the sketches of groups, of as many pages as fit in a piece of the work. */
qb_status
GpuSketchServeGroups(GpuSketchHolding *h, GpuSlot *slot)
{
	static GpuSketchGroups wanted;
	GpuGroupSketches *all = &wanted.all;
	uint64 count[QB_GROUPS_MAX];
	GpuGathered gathered;
	qb_status status;
	uint32 i;

	if (gpu_fault == FAULT_ERROR)
		return QB_DEVICE_ERROR;
	memcpy(&wanted, GpuSlotData(slot), sizeof(wanted));
	status = GpuColumnGatherGroups(
		slot->other.index, &wanted.wanted, &all->groups, (uint32) slot->offset,
		(uint64) (gpu_device_ops->piece_work / Max(h->depth, 1)), &gathered, count);
	if (status == QB_OK && gathered.key)
		status = insert_groups(&gathered, all, count);
	if (status != QB_OK)
		return status;
	memcpy(((GpuSketchGroups *) GpuSlotData(slot))->all.added, all->added, sizeof(all->added));
	slot->offset = gathered.end;
	slot->more = gathered.end < GPU_CHUNK_PAGES;
	for (i = 0; i < all->groups.count; i++)
		GpuCount(COUNT_COLUMN_KEYS, count[i]);
	return QB_OK;
}
