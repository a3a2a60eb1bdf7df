/*
 * sketch_serve.c
 *		What the GPU worker does with sketches: the servant of their requests.
 *
 * The worker has the sketch of each entry on a device, or in its own memory.  Tables
 * are put together in its own memory before they go to a device.  They are read from
 * the device piece by piece.  They come back to the worker's memory if the device has no
 * memory for them to grow, or cannot describe them.  A sketch that had to come back
 * takes further keys through the CPU engine, so that no keys are lost.
 *
 * src/gpu/sketch_serve.c
 */
#include "gpu/settings.h"
#include "gpu/sketch_holding.h"
#include "gpu/sketch_tables.h"

#include "engine/sketch_engine.h"
#include "pgbase/memory.h"
#include "utils/memutils.h"

GpuSketchHolding gpu_sketch_holding[GPU_ENTRIES];

static void
drop_device_form(GpuSketchHolding *h)
{
	if (h->on_device == NULL)
		return;
	GpuSketchOps()->destroy(h->on_device);
	h->on_device = NULL;
	h->frozen = false;
	pg_atomic_fetch_sub_u64(&gpu_shared->device[h->device].values, 1);
}

void
GpuSketchFreeCopy(qs_sketch **copy)
{
	if (*copy == NULL)
		return;
	qs_free(*copy);
	pfree(*copy);
	*copy = NULL;
}

const qb_memory *
GpuSketchMemory(void)
{
	static qb_memory memory;

	return ContextMemory(TopMemoryContext, &memory);
}

/* Put a sketch on a device: an empty one, or a copy of "from" if not NULL. */
static qb_status
to_device(GpuSketchHolding *h, int i, const qs_params *params, const qs_sketch *from)
{
	qb_status status = QB_NO_MEMORY;

	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	do
	{
		status = from ? GpuSketchOps()->load(gpu_device[i], from, &h->on_device)
					  : GpuSketchOps()->create(gpu_device[i], params, &h->on_device);
	}
	while (status == QB_NO_MEMORY && GpuMakeRoom(i));
	if (status != QB_OK)
		return status;
	h->device = i;
	h->params = from ? from->params : *params;
	h->depth = h->params.depth;
	pg_atomic_fetch_add_u64(&gpu_shared->device[i].values, 1);
	GpuCount(COUNT_CREATED, 1);
	return QB_OK;
}

/* Copy tables that a backend may be reading: its next pieces come from the copy. */
static qb_status
copy_frozen(const GpuSketchHolding *h, qs_sketch *copy)
{
	const GpuSketchShape *shape = &h->shape;
	qb_status status;

	qs_init(copy, &shape->params, GpuSketchMemory());
	status = GpuSketchMakeTables(copy, shape);
	if (status == QB_OK)
		status = GpuSketchOps()->read(h->on_device, 0, shape->table_bytes, copy->table);
	if (status == QB_OK && shape->extra_bytes > 0)
		status =
			GpuSketchOps()->read(h->on_device, shape->table_bytes, shape->extra_bytes, copy->extra);
	if (status != QB_OK)
		qs_free(copy);
	return status;
}

/* Keep what was copied to "made" in the worker's memory, if the status is QB_OK. */
static qb_status
keep_copy(qb_status status, const qs_sketch *made, qs_sketch **copy)
{
	if (status != QB_OK)
		return status;
	*copy = MemoryContextAlloc(TopMemoryContext, sizeof(qs_sketch));
	**copy = *made;
	return QB_OK;
}

qb_status
GpuSketchFetch(void *on_device, qs_sketch **copy)
{
	qs_sketch made;

	return keep_copy(GpuSketchOps()->fetch(on_device, &made, GpuSketchMemory()), &made, copy);
}

/* Bring a sketch back from its device, for good. */
static qb_status
to_host(GpuSketchHolding *h)
{
	qs_sketch made;
	qb_status status;

	if (h->on_host)
		return QB_OK;
	if (h->on_device == NULL)
		return QB_NO_MEMORY;
	status = h->frozen ? keep_copy(copy_frozen(h, &made), &made, &h->on_host)
					   : GpuSketchFetch(h->on_device, &h->on_host);
	if (status == QB_OK)
		drop_device_form(h);
	return status;
}

qb_status
GpuSketchEvict(int index)
{
	qb_status status = to_host(&gpu_sketch_holding[index]);

	if (status == QB_OK)
	{
		gpu_shared->entry[index].evicted = true;
		GpuCount(COUNT_FALLBACKS, 1);
	}
	return status;
}

static qb_status
serve_create(GpuSketchHolding *h, GpuSlot *slot)
{
	return to_device(h, GpuChooseDevice(), &GpuSketchShapeIn(slot)->params, NULL);
}

static qb_status
serve_load(GpuSketchHolding *h, GpuSlot *slot)
{
	qb_status status;

	h->on_host = MemoryContextAllocZero(TopMemoryContext, sizeof(qs_sketch));
	h->shape = *GpuSketchShapeIn(slot);
	qs_init(h->on_host, &GpuSketchShapeIn(slot)->params, GpuSketchMemory());
	status = GpuSketchMakeTables(h->on_host, &h->shape);
	if (status != QB_OK)
		GpuSketchFreeCopy(&h->on_host);
	return status;
}

static qb_status
serve_write(GpuSketchHolding *h, GpuSlot *slot)
{
	if (h->on_host == NULL)
		return QB_NO_MEMORY;
	GpuWritePiece(h->on_host, &h->shape, slot->offset, slot->bytes, GpuSlotData(slot));
	GpuCount(COUNT_BYTES_IN, slot->bytes);
	return QB_OK;
}

static qb_status
serve_loaded(GpuSketchHolding *h, GpuSlot *slot)
{
	qb_status status = QB_NO_MEMORY;

	if (h->on_host)
		status = to_device(h, GpuChooseDevice(), NULL, h->on_host);
	GpuSketchFreeCopy(&h->on_host);
	return status;
}

static qb_status
serve_insert(GpuSketchHolding *h, GpuSlot *slot)
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
		h->frozen = false;
		if (gpu_fault != FAULT_SPILL)
			status = GpuSketchOps()->insert(h->on_device, key, weight, piece);
		if (status != QB_NO_MEMORY)
			return status;
		status = GpuSketchEvict(slot->entry.index);
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
	GpuSketchHolding *h = &gpu_sketch_holding[slot[0]->entry.index];
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
	h->frozen = false;
	status = batches > 1 ? GpuSketchOps()->insert_all(h->on_device, batch, batches) : QB_NO_MEMORY;
	if (status != QB_OK)
		return status;
	for (i = 0; i < batches; i++)
		(void) GpuNextPiece(slot[i], h->depth, COUNT_BATCHES, COUNT_KEYS);
	*count = batches;
	return QB_OK;
}

qb_status
GpuSketchMakeElsewhere(GpuSketchHolding *h, int device)
{
	const qs_params params = h->params;
	GpuSketchHolding old = *h;
	qb_status status;

	h->on_device = NULL;
	status = to_device(h, device, &params, NULL);
	if (status != QB_OK)
	{
		*h = old;
		return status;
	}
	h->frozen = false;
	drop_device_form(&old);
	GpuShowMemory(old.device);
	return QB_OK;
}

static qb_status
serve_query(GpuSketchHolding *h, GpuSlot *slot)
{
	uint64 *key = (uint64 *) GpuSlotData(slot) + slot->done;
	int piece;

	if (gpu_fault == FAULT_ERROR)
		return QB_DEVICE_ERROR;
	if (h->on_device == NULL)
		return QB_NO_MEMORY;
	piece = GpuNextPiece(slot, h->depth, COUNT_QUERIES, COUNT_LOOKUPS);
	GpuCount(COUNT_BYTES_OUT, piece * 8);
	return GpuSketchOps()->query(h->on_device, key, piece, (int64 *) key);
}

/* Move a sketch that is being merged into another one.  The request shows the other one's place. */
static qb_status
move_source(int index)
{
	qb_status status = GpuSketchEvict(index);

	if (status == QB_OK)
		GpuShowPlace(index);
	return status;
}

static qb_status
serve_merge(GpuSketchHolding *into, GpuSlot *slot)
{
	GpuSketchHolding *other = &gpu_sketch_holding[slot->other.index];
	GpuSketchSource from = { .on_device = &other->on_device,
							 .device = &other->device,
							 .params = &other->params,
							 .on_host = &other->on_host,
							 .to_host = move_source,
							 .index = slot->other.index };

	if (gpu_fault == FAULT_ERROR)
		return QB_DEVICE_ERROR;
	if (other->on_device == NULL && other->on_host == NULL)
		return QB_NO_MEMORY;
	if (into->merged == 0)
		GpuCount(COUNT_MERGES, 1);
	return GpuSketchMerge(slot->entry.index, &from, &slot->more);
}

/*
 * Describe the tables to a backend that is going to read them.  Those of a device are read
 * from there, if they can.
 */
static qb_status
serve_fetch(GpuSketchHolding *h, GpuSlot *slot)
{
	qb_status status = QB_READ_ONLY;
	qs_sketch head;

	GpuCount(COUNT_FETCHES, 1);
	if (h->on_device)
		status = GpuSketchOps()->freeze(h->on_device, &head);
	h->frozen = h->on_device && status == QB_OK;
	if (status != QB_OK && status != QB_DEVICE_ERROR)
	{
		status = to_host(h);
		if (status == QB_OK)
			head = *h->on_host;
	}
	if (status != QB_OK)
		return status;
	GpuShapeOf(&h->shape, &head);
	*GpuSketchShapeIn(slot) = h->shape;
	return QB_OK;
}

static qb_status
serve_read(GpuSketchHolding *h, GpuSlot *slot)
{
	GpuCount(COUNT_BYTES_OUT, slot->bytes);
	if (h->on_host)
		GpuReadPiece(h->on_host, &h->shape, slot->offset, slot->bytes, GpuSlotData(slot));
	else if (h->on_device)
		return GpuSketchOps()->read(h->on_device, slot->offset, slot->bytes, GpuSlotData(slot));
	else
		return QB_NO_MEMORY;
	return QB_OK;
}

/* A sketch that a request reads or merges, and that has parts elsewhere; -1: there is none. */
static int
find_parts(const GpuSlot *slot)
{
	const uint32 whole = 1 << SKETCH_MERGE | 1 << SKETCH_FETCH | 1 << SKETCH_READ;

	if ((1 << slot->op & whole) && gpu_sketch_holding[slot->entry.index].parts > 0)
		return slot->entry.index;
	if (slot->op == SKETCH_MERGE && gpu_sketch_holding[slot->other.index].parts > 0)
		return slot->other.index;
	return -1;
}

static void
drop_sketch(int index)
{
	GpuSketchHolding *h = &gpu_sketch_holding[index];

	GpuSketchDropParts(h);
	drop_device_form(h);
	GpuSketchFreeCopy(&h->on_host);
	h->placed = false;
	h->merged = 0;
}

/* A sketch of which some parts could not be merged is of no use. */
static qb_status
serve_sketch(GpuSlot *slot)
{
	static qb_status (*const serve[])(GpuSketchHolding * h, GpuSlot * slot) = {
		[SKETCH_CREATE] = serve_create,         [SKETCH_LOAD] = serve_load,
		[SKETCH_WRITE] = serve_write,           [SKETCH_LOADED] = serve_loaded,
		[SKETCH_INSERT] = serve_insert,         [SKETCH_QUERY] = serve_query,
		[SKETCH_MERGE] = serve_merge,
		[SKETCH_FETCH] = serve_fetch,           [SKETCH_READ] = serve_read,
		[SKETCH_COLUMN] = GpuSketchServeColumn, [SKETCH_GROUPS] = GpuSketchServeGroups,
	};
	int index = find_parts(slot);
	qb_status status;

	if (index < 0)
		return serve[slot->op](&gpu_sketch_holding[slot->entry.index], slot);
	status = GpuSketchMergePart(index);
	slot->more = status == QB_OK;
	if (status != QB_OK)
		drop_sketch(index);
	return status;
}

static GpuPlace
place_of_sketch(int index)
{
	const GpuSketchHolding *h = &gpu_sketch_holding[index];
	GpuPlace place = { .device = h->device, .on_device = h->on_device != NULL };

	if (place.on_device)
		place.bytes = GpuSketchOps()->bytes(h->on_device);
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
