/*
 * sketch_columns.c
 *		What the GPU worker does with sketches that get keys of cached columns.
 *
 * A sketch is made on the device of the first chunk.  Chunks on other devices have replicas
 * there (column_worker.h), sketches with the same parameters.  So keys stay where they are, and
 * each device counts its own.  Without memory for a replica the backend reads the pages; without
 * memory to merge the replicas it fetches them.
 *
 * The sketches of groups get their keys together; if memory or the device does not allow it, one
 * after another.
 *
 * Requests for chunks of one device are served together (GpuColumnGatherAll()): if rows are tested or
 * have NULLs, because then keys are copied anyway, and else if the sketch gains more from large batches
 * than copying the keys takes.
 *
 * src/gpu/sketch_columns.c
 */
#include "gpu/coroutine.h"
#include "gpu/gpu.h"
#include "gpu/sketch_worker.h"

/* The sketch, or its replica, that counts keys of chunks on a device; NULL: there is none yet. */
static qs_cuda_sketch *
sketch_on(GpuSketchHolding *h, int device)
{
	return h->device == device ? h->on_device : h->replicas.on[device];
}

/* Make sure that there is one. */
static qb_status
be_on(GpuSketchHolding *h, int device)
{
	qb_status status;

	if (sketch_on(h, device))
		return QB_OK;
	status = GpuSketchMakeOn(device, &h->params, NULL, (qs_cuda_sketch **) &h->replicas.on[device]);
	h->replicas.count += status == QB_OK;
	return status;
}

/* Count gathered keys on their device; after QB_NO_MEMORY none were counted. */
static qb_status
try_gathered(int index, const GpuGathered *gathered)
{
	GpuSketchHolding *h = &gpu_sketch_holding[index];
	qb_status status = QB_NO_MEMORY;

	if (gathered->count == 0)
		return QB_OK;
	if (gpu_fault != FAULT_SPILL)
		status = be_on(h, gathered->device);
	if (status == QB_OK)
		status = GpuSketchOps()->insert_device(sketch_on(h, gathered->device), gathered->key,
											   gathered->count);
	GpuShowMemory(gathered->device);
	return status;
}

/* The same; a sketch without memory for them is noted as full. */
static qb_status
insert_gathered(int index, const GpuGathered *gathered)
{
	qb_status status = try_gathered(index, gathered);

	if (status == QB_NO_MEMORY)
		GpuSketchNoteFull(index);
	return status;
}

qb_status
GpuSketchServeColumn(GpuSketchHolding *h, GpuSlot *slot)
{
	return h->on_device ? GpuColumnServe(slot, h->params.depth, insert_gathered) : QB_NO_MEMORY;
}

/* Without memory for all, chunks are counted one by one. */
qb_status
GpuSketchServeColumnsTogether(GpuSlot *const *slot, int *count)
{
	const GpuSketchHolding *h = &gpu_sketch_holding[slot[0]->handle.index];

	if (h->on_device == NULL)
		return QB_NO_MEMORY;
	return GpuColumnServeAll(slot, count, h->params.depth,
							 GpuSketchOps()->gains_together(h->on_device), try_gathered);
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

/* Count gathered keys in the sketch of a group. */
static qb_status
insert_group(const GpuRef *ref, const GpuGathered *gathered)
{
	return find_group(ref) ? insert_gathered(ref->index, gathered) : QB_NO_MEMORY;
}

/* Give each sketch its gathered keys, one after another. */
static qb_status
insert_one_by_one(const GpuGathered *gathered, const GpuGroupSketches *all)
{
	GpuGathered replica = *gathered;
	qb_status status = QB_OK;
	uint32 i;

	for (i = 0; i < all->groups.count && status == QB_OK; i++)
	{
		replica.count = gathered->of_group[i];
		status = insert_group(&all->sketch[i], &replica);
		replica.key += gathered->of_group[i];
	}
	return status;
}

/*
 * Give all sketches their gathered keys by one call.  QB_NO_MEMORY: that is not possible, and none got
 * any.  Groups without keys on the device need no sketch there.
 */
static qb_status
insert_together(const GpuGathered *gathered, const GpuGroupSketches *all)
{
	qs_cuda_sketch *sketch[QB_GROUPS_MAX];
	uint64 keys[QB_GROUPS_MAX];
	uint32 count = 0;
	qb_status status;
	uint32 i;

	if (gpu_fault == FAULT_SPILL)
		return QB_NO_MEMORY;
	for (i = 0; i < all->groups.count; i++)
	{
		GpuSketchHolding *h = find_group(&all->sketch[i]);

		if (h == NULL || (gathered->of_group[i] > 0 && be_on(h, gathered->device) != QB_OK))
			return QB_NO_MEMORY;
		if (gathered->of_group[i] == 0)
			continue;
		sketch[count] = sketch_on(h, gathered->device);
		keys[count++] = gathered->of_group[i];
	}
	if (count == 0)
		return QB_OK;
	status = GpuSketchOps()->insert_groups(sketch, keys, count, gathered->key);
	GpuShowMemory(gathered->device);
	return status;
}

/* Give the sketches their gathered keys, which lie side by side by group. */
static qb_status
insert_groups(const GpuGathered *gathered, const GpuGroupSketches *all)
{
	qb_status status = insert_together(gathered, all);

	return status == QB_NO_MEMORY ? insert_one_by_one(gathered, all) : status;
}

/*
 * Note in the slot how many gathered keys each group got.  Of several requests the first one's slot
 * gets all.
 */
static void
note_groups(GpuSlot *slot, const GpuGathered *gathered, const GpuGroupSketches *all)
{
	uint32 i;

	for (i = 0; i < all->groups.count; i++)
	{
		((GpuSketchGroups *) GpuSlotData(slot))->all.added[i] += gathered->of_group[i];
		GpuCount(COUNT_COLUMN_KEYS, gathered->of_group[i]);
	}
	slot->offset = gathered->end;
}

/*
 * Count keys of a chunk for the sketches of groups, of as many pages as fit in a piece of the
 * work.
 */
static qb_status
count_groups(const GpuSketchHolding *h, GpuSlot *slot, const GpuGroupSketches *all)
{
	GpuGather gather = GpuGatherFor(slot, h->params.depth);
	GpuGathered gathered;
	qb_status status;

	gather.groups = &all->groups;
	status = GpuColumnGather(&gather, &gathered);
	if (status == QB_OK && gathered.key)
		status = insert_groups(&gathered, all);
	if (status == QB_OK)
		status = GpuColumnLimitQueued(&gathered, h->params.depth);
	if (status != QB_OK)
		return status;
	note_groups(slot, &gathered, all);
	slot->more = gathered.end < GPU_CHUNK_PAGES;
	return QB_OK;
}

/* Does a request name these groups with these sketches? */
static bool
are_same_groups(const GpuSlot *slot, const GpuGroupSketches *all)
{
	const GpuGroupSketches *own = &((const GpuSketchGroups *) GpuSlotData(slot))->all;

	return memcmp(&own->groups, &all->groups, sizeof(all->groups)) == 0 &&
		   memcmp(own->sketch, all->sketch, sizeof(all->sketch)) == 0;
}

/*
 * Count all wanted keys of several chunks at once, for requests with the same groups and sketches;
 * *count says how many.
 */
static qb_status
count_groups_together(const GpuSketchHolding *h, GpuSlot *const *slot, int *count,
					  const GpuGroupSketches *all)
{
	GpuGather gather[GPU_TOGETHER];
	GpuGathered gathered;
	qb_status status;
	int same = 0;
	int i;

	for (; same < *count && are_same_groups(slot[same], all); same++)
	{
		gather[same] = GpuGatherFor(slot[same], h->params.depth);
		gather[same].groups = &all->groups;
	}
	*count = same;
	status = GpuColumnGatherAll(gather, count, &gathered);
	if (status == QB_OK)
		status = insert_together(&gathered, all);
	if (status == QB_OK)
		status = GpuColumnLimitQueued(&gathered, h->params.depth);
	if (status != QB_OK)
		return status;
	note_groups(slot[0], &gathered, all);
	for (i = 1; i < *count; i++)
		slot[i]->offset = gathered.end;
	return QB_OK;
}

/*
 * Count keys of chunks for the sketches of groups: of one chunk, or of all wanted pages of several.
 */
qb_status
GpuSketchServeGroupsTogether(GpuSlot *const *slot, int *count)
{
	const GpuSketchHolding *h = &gpu_sketch_holding[slot[0]->handle.index];
	const GpuGroupSketches *all = &((const GpuSketchGroups *) GpuSlotData(slot[0]))->all;
	qb_status status;

	GpuUse(all->sketch, Min(all->groups.count, QB_GROUPS_MAX));
	status =
		*count > 1 ? count_groups_together(h, slot, count, all) : count_groups(h, slot[0], all);
	GpuEndUse(GpuCoroutine());
	return status;
}

qb_status
GpuSketchServeGroups(GpuSketchHolding *h, GpuSlot *slot)
{
	int one = 1;

	return GpuSketchServeGroupsTogether(&slot, &one);
}
