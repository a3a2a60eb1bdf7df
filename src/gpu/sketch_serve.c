/*
 * sketch_serve.c
 *		What the GPU worker does with sketches: the servant of their requests.
 *
 * The worker has the sketch of each entry on a device, or in its own memory.  Tables
 * are put together in its own memory before they go to a device.  They come back
 * there to be fetched, or if the device has no memory for them to grow.  A sketch
 * that had to come back takes further keys through the CPU engine, so that no keys
 * are lost.
 *
 * src/gpu/sketch_serve.c
 */
#include "gpu/column_worker.h"
#include "gpu/settings.h"
#include "gpu/sketch_device.h"
#include "gpu/sketch_tables.h"
#include "gpu/worker.h"

#include "engine/sketch_engine.h"
#include "pgbase/memory.h"
#include "utils/memutils.h"

/* Keys that the worker's CPU counts in a piece of a request. */
#define HOST_PIECE 131072

/* The sketch of an entry: on_device or on_host, or neither. */
typedef struct Holding
{
	void *on_device;
	qs_sketch *on_host;
	int device;
	int depth;            /* counters of a key */
	GpuSketchShape shape; /* on_host while it is written or read */
} Holding;

static Holding holding[GPU_ENTRIES];

/* What sketches ask of the devices. */
static const GpuSketchDeviceOps *
device_ops(void)
{
	return gpu_device_ops->sketch;
}

static void
drop_device_form(Holding *h)
{
	if (h->on_device == NULL)
		return;
	device_ops()->destroy(h->on_device);
	h->on_device = NULL;
	pg_atomic_fetch_sub_u64(&gpu_shared->device[h->device].values, 1);
}

static void
drop_host_form(Holding *h)
{
	if (h->on_host == NULL)
		return;
	qs_free(h->on_host);
	pfree(h->on_host);
	h->on_host = NULL;
}

/* The worker's own memory. */
static const qb_memory *
own_memory(void)
{
	static qb_memory memory;

	return ContextMemory(TopMemoryContext, &memory);
}

/* Put a sketch on a device: an empty one, or a copy of "from" if not NULL. */
static qb_status
to_device(Holding *h, int i, const qs_params *params, const qs_sketch *from)
{
	qb_status status = QB_NO_MEMORY;

	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	do
	{
		status = from ? device_ops()->load(gpu_device[i], from, &h->on_device)
					  : device_ops()->create(gpu_device[i], params, &h->on_device);
	}
	while (status == QB_NO_MEMORY && GpuMakeRoom(i));
	if (status != QB_OK)
		return status;
	h->device = i;
	h->depth = from ? from->params.depth : params->depth;
	pg_atomic_fetch_add_u64(&gpu_shared->device[i].values, 1);
	GpuCount(COUNT_CREATED, 1);
	return QB_OK;
}

/* Bring a sketch back from its device, for good. */
static qb_status
to_host(Holding *h)
{
	qs_sketch *copy;
	qb_status status;

	if (h->on_host)
		return QB_OK;
	if (h->on_device == NULL)
		return QB_NO_MEMORY;
	copy = MemoryContextAllocZero(TopMemoryContext, sizeof(qs_sketch));
	status = device_ops()->fetch(h->on_device, copy, own_memory());
	if (status != QB_OK)
	{
		pfree(copy);
		return status;
	}
	drop_device_form(h);
	h->on_host = copy;
	return QB_OK;
}

/* Bring a sketch back because its device has no memory for it to grow. */
static qb_status
evict(int index)
{
	qb_status status = to_host(&holding[index]);

	if (status == QB_OK)
	{
		gpu_shared->entry[index].evicted = true;
		GpuCount(COUNT_FALLBACKS, 1);
	}
	return status;
}

static qb_status
serve_create(Holding *h, GpuSlot *slot)
{
	return to_device(h, GpuChooseDevice(), &GpuSketchShapeIn(slot)->params, NULL);
}

static qb_status
serve_load(Holding *h, GpuSlot *slot)
{
	qb_status status;

	h->on_host = MemoryContextAllocZero(TopMemoryContext, sizeof(qs_sketch));
	h->shape = *GpuSketchShapeIn(slot);
	qs_init(h->on_host, &GpuSketchShapeIn(slot)->params, own_memory());
	status = GpuSketchMakeTables(h->on_host, &h->shape);
	if (status != QB_OK)
		drop_host_form(h);
	return status;
}

static qb_status
serve_write(Holding *h, GpuSlot *slot)
{
	if (h->on_host == NULL)
		return QB_NO_MEMORY;
	GpuWritePiece(h->on_host, &h->shape, slot->offset, slot->bytes, GpuSlotData(slot));
	GpuCount(COUNT_BYTES_IN, slot->bytes);
	return QB_OK;
}

static qb_status
serve_loaded(Holding *h, GpuSlot *slot)
{
	qb_status status = QB_NO_MEMORY;

	if (h->on_host)
		status = to_device(h, GpuChooseDevice(), NULL, h->on_host);
	drop_host_form(h);
	return status;
}

static qb_status
serve_insert(Holding *h, GpuSlot *slot)
{
	const uint64 *key = (const uint64 *) GpuSlotData(slot) + slot->done;
	const int64 *weight = slot->weighted ? (const int64 *) (key + slot->count) : NULL;
	qb_status status = QB_NO_MEMORY;
	int piece;

	if (gpu_fault == FAULT_ERROR)
		return QB_DEVICE_ERROR;
	piece = GpuNextPiece(slot, h->depth, COUNT_BATCHES, COUNT_KEYS);
	if (h->on_device)
	{
		if (gpu_fault != FAULT_SPILL)
			status = device_ops()->insert(h->on_device, key, weight, piece);
		if (status != QB_NO_MEMORY)
			return status;
		status = evict(slot->entry.index);
		if (status != QB_OK)
			return status;
	}
	if (h->on_host == NULL)
		return QB_NO_MEMORY;
	return qs_engine_cpu.insert(h->on_host, key, weight, piece);
}

/*
 * Insert keys of several requests at once, as many as fit in a piece of the work.  This is
 * for speed alone: whatever is not usual is left to serve_insert().
 */
static qb_status
serve_inserts(GpuSlot *const *slot, int *count)
{
	const Holding *h = &holding[slot[0]->entry.index];
	GpuKeys batch[GPU_TOGETHER];
	double work = 0;
	int batches;
	qb_status status;
	int i;

	if (h->on_device == NULL || gpu_fault != FAULT_NONE)
		return QB_NO_MEMORY;
	for (batches = 0; batches < *count; batches++)
	{
		const GpuSlot *next = slot[batches];
		const uint64 *key = (const uint64 *) GpuSlotData(next);

		work += (double) next->count * h->depth;
		if (work > gpu_device_ops->piece_work || next->weighted != slot[0]->weighted)
			break;
		batch[batches] =
			(GpuKeys){ .key = key,
					   .weight = next->weighted ? (const int64 *) key + next->count : NULL,
					   .count = next->count };
	}
	status = batches > 1 ? device_ops()->insert_all(h->on_device, batch, batches) : QB_NO_MEMORY;
	if (status != QB_OK)
		return status;
	for (i = 0; i < batches; i++)
		(void) GpuNextPiece(slot[i], h->depth, COUNT_BATCHES, COUNT_KEYS);
	*count = batches;
	return QB_OK;
}

/* Move a sketch of another device, or of the worker's memory, to this device. */
static qb_status
move_to_device(Holding *h, int i)
{
	qb_status status = to_host(h);

	if (status == QB_OK)
		status = to_device(h, i, NULL, h->on_host);
	if (status == QB_OK)
		drop_host_form(h);
	return status;
}

/* Count picked keys in the worker's memory. */
static qb_status
insert_on_host(Holding *h, const GpuPicked *picked)
{
	uint64 *key = malloc(Max(picked->count, 1) * sizeof(uint64));
	qb_status status = QB_NO_MEMORY;

	if (key)
		status = GpuColumnFetch(picked, key);
	if (status == QB_OK)
		status = qs_engine_cpu.insert(h->on_host, key, NULL, picked->count);
	free(key);
	return status;
}

/* Count picked keys.  Without device memory to grow, the sketch comes to the worker's memory. */
static qb_status
insert_picked(int index, const GpuPicked *picked)
{
	Holding *h = &holding[index];
	qb_status status = QB_OK;

	if (picked->count == 0)
		return QB_OK;
	if (h->on_device && gpu_fault != FAULT_SPILL)
	{
		status = device_ops()->insert_device(h->on_device, picked->key, picked->count);
		if (status != QB_NO_MEMORY)
			return status;
	}
	if (h->on_device)
		status = evict(index);
	return status == QB_OK ? insert_on_host(h, picked) : status;
}

/* Have a sketch on the device of the copies that it counts. */
static qb_status
move_to_copy(Holding *h, int device)
{
	if (h->on_device == NULL || h->device == device)
		return h->on_device || h->on_host ? QB_OK : QB_NO_MEMORY;
	return move_to_device(h, device);
}

/* Count keys of a copy, of as many pages as fit in a piece of the work. */
static qb_status
serve_column(Holding *h, GpuSlot *slot)
{
	double most = h->on_device ? gpu_device_ops->piece_work / h->depth : HOST_PIECE;
	GpuWanted wanted;
	GpuPicked picked;
	qb_status status;

	if (gpu_fault == FAULT_ERROR)
		return QB_DEVICE_ERROR;
	memcpy(&wanted, GpuSlotData(slot), sizeof(wanted));
	status =
		GpuColumnPick(slot->other.index, &wanted, (uint32) slot->offset, (uint64) most, &picked);
	if (status == QB_OK)
		status = move_to_copy(h, picked.device);
	if (status == QB_OK)
		status = insert_picked(slot->entry.index, &picked);
	if (status != QB_OK)
		return status;
	slot->done += (int) picked.count;
	slot->offset = picked.end;
	slot->more = picked.end < GPU_RANGE_PAGES;
	GpuCount(COUNT_COLUMN_KEYS, picked.count);
	return QB_OK;
}

/* The sketch of a group; NULL: there is none any more. */
static Holding *
find_group(const GpuRef *ref)
{
	Holding *h;

	if (ref->index < 0 || ref->index >= GPU_ENTRIES)
		return NULL;
	h = &holding[ref->index];
	return gpu_shared->entry[ref->index].serial == ref->serial && (h->on_device || h->on_host)
			   ? h
			   : NULL;
}

/*
 * Count picked keys in the sketch of a group.  The request does not name it, so it is kept
 * in use here: room for a sketch may be made by freeing values that nobody needs any more.
 */
static qb_status
insert_group(const GpuRef *ref, const GpuPicked *picked)
{
	Holding *h = find_group(ref);
	pg_atomic_uint32 *pending;
	qb_status status;

	if (h == NULL)
		return QB_NO_MEMORY;
	pending = &gpu_shared->entry[ref->index].pending;
	pg_atomic_fetch_add_u32(pending, 1);
	status = move_to_copy(h, picked->device);
	if (status == QB_OK)
		status = insert_picked(ref->index, picked);
	pg_atomic_fetch_sub_u32(pending, 1);
	return status;
}

/* Give the sketches their picked keys, which lie side by side by group. */
static qb_status
insert_groups(const GpuPicked *picked, GpuGroupSketches *all, const uint64 *count)
{
	GpuPicked part = *picked;
	qb_status status = QB_OK;
	uint32 i;

	for (i = 0; i < all->groups.count && status == QB_OK; i++)
	{
		part.count = count[i];
		status = insert_group(&all->sketch[i], &part);
		if (status == QB_OK)
			all->added[i] += count[i];
		part.key += count[i];
	}
	return status;
}

/* Count keys of a copy for the sketches of groups, of as many pages as fit in a piece of the work. */
static qb_status
serve_groups(Holding *h, GpuSlot *slot)
{
	static GpuSketchGroups wanted;
	GpuGroupSketches *all = &wanted.all;
	uint64 count[QB_GROUPS_MAX];
	GpuPicked picked;
	qb_status status;
	uint32 i;

	if (gpu_fault == FAULT_ERROR)
		return QB_DEVICE_ERROR;
	memcpy(&wanted, GpuSlotData(slot), sizeof(wanted));
	status = GpuColumnPickGroups(
		slot->other.index, &wanted.wanted, &all->groups, (uint32) slot->offset,
		(uint64) (gpu_device_ops->piece_work / Max(h->depth, 1)), &picked, count);
	if (status == QB_OK && picked.key)
		status = insert_groups(&picked, all, count);
	if (status != QB_OK)
		return status;
	memcpy(((GpuSketchGroups *) GpuSlotData(slot))->all.added, all->added, sizeof(all->added));
	slot->offset = picked.end;
	slot->more = picked.end < GPU_RANGE_PAGES;
	for (i = 0; i < all->groups.count; i++)
		GpuCount(COUNT_COLUMN_KEYS, count[i]);
	return QB_OK;
}

static qb_status
serve_query(Holding *h, GpuSlot *slot)
{
	uint64 *key = (uint64 *) GpuSlotData(slot) + slot->done;
	int piece;

	if (gpu_fault == FAULT_ERROR)
		return QB_DEVICE_ERROR;
	if (h->on_device == NULL)
		return QB_NO_MEMORY;
	piece = GpuNextPiece(slot, h->depth, COUNT_QUERIES, COUNT_LOOKUPS);
	GpuCount(COUNT_BYTES_OUT, piece * 8);
	return device_ops()->query(h->on_device, key, piece, (int64 *) key);
}

/* Merge in the worker's memory: at least one of the sketches is there, or has to go there. */
static qb_status
merge_on_host(int into, Holding *from)
{
	qb_status status = evict(into);

	if (status == QB_OK)
		status = to_host(from);
	return status == QB_OK ? qs_merge(holding[into].on_host, from->on_host) : status;
}

static qb_status
serve_merge(Holding *into, GpuSlot *slot)
{
	Holding *from = &holding[slot->other.index];
	qb_status status = QB_OK;

	if (gpu_fault == FAULT_ERROR)
		return QB_DEVICE_ERROR;
	GpuCount(COUNT_MERGES, 1);
	if (into->on_host)
		return merge_on_host(slot->entry.index, from);
	if (from->on_host || from->device != into->device)
		status = move_to_device(from, into->device);
	if (status == QB_OK)
		status = device_ops()->merge(into->on_device, from->on_device);
	if (status == QB_NO_MEMORY)
		status = merge_on_host(slot->entry.index, from);
	return status;
}

static qb_status
serve_fetch(Holding *h, GpuSlot *slot)
{
	qb_status status = to_host(h);

	GpuCount(COUNT_FETCHES, 1);
	if (status == QB_OK)
	{
		GpuShapeOf(&h->shape, h->on_host);
		*GpuSketchShapeIn(slot) = h->shape;
	}
	return status;
}

static qb_status
serve_read(Holding *h, GpuSlot *slot)
{
	if (h->on_host == NULL)
		return QB_NO_MEMORY;
	GpuReadPiece(h->on_host, &h->shape, slot->offset, slot->bytes, GpuSlotData(slot));
	GpuCount(COUNT_BYTES_OUT, slot->bytes);
	return QB_OK;
}

static qb_status
serve_sketch(GpuSlot *slot)
{
	static qb_status (*const serve[])(Holding * h, GpuSlot * slot) = {
		[SKETCH_CREATE] = serve_create, [SKETCH_LOAD] = serve_load,
		[SKETCH_WRITE] = serve_write,   [SKETCH_LOADED] = serve_loaded,
		[SKETCH_INSERT] = serve_insert, [SKETCH_QUERY] = serve_query,
		[SKETCH_MERGE] = serve_merge,   [SKETCH_FETCH] = serve_fetch,
		[SKETCH_READ] = serve_read,     [SKETCH_COLUMN] = serve_column,
		[SKETCH_GROUPS] = serve_groups,
	};

	return serve[slot->op](&holding[slot->entry.index], slot);
}

static void
drop_sketch(int index)
{
	drop_device_form(&holding[index]);
	drop_host_form(&holding[index]);
}

static GpuPlace
place_of_sketch(int index)
{
	const Holding *h = &holding[index];
	GpuPlace place = { .device = h->device, .on_device = h->on_device != NULL };

	if (place.on_device)
		place.bytes = device_ops()->bytes(h->on_device);
	return place;
}

const GpuServant gpu_sketch_servant = {
	.serve = serve_sketch,
	.serve_all = serve_inserts,
	.together = 1 << SKETCH_INSERT,
	.reads = 1 << SKETCH_QUERY | 1 << SKETCH_READ,
	.reads_other = 1 << SKETCH_COLUMN | 1 << SKETCH_GROUPS,
	.drop = drop_sketch,
	.place = place_of_sketch,
};
