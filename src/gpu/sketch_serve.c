/*
 * sketch_serve.c
 *		What the GPU worker does with sketches: the handler of their requests.
 *
 * The worker has the sketch of each handle on a device.  Tables are put together in its own
 * memory before they go there.  They are read from the device piece by piece.  If the device
 * has no memory for a sketch to grow, the keys on their way to it are counted in the worker's
 * memory, so that none are lost.  Its backend then fetches all and goes on with the CPU's engine.
 *
 * src/gpu/sketch_serve.c
 */
#include "engine/sketch_engine.h"
#include "gpu/column_worker.h"
#include "gpu/settings.h"
#include "gpu/sketch_holding.h"
#include "gpu/sketch_client.h"

#include "utils/memutils.h"

GpuSketchHolding gpu_sketch_holding[GPU_HANDLES];

static void
drop_device_form(GpuSketchHolding *h)
{
	if (h->on_device == NULL)
		return;
	GpuSketchOps()->destroy(h->on_device);
	h->on_device = NULL;
	pg_atomic_fetch_sub_u64(&gpu_shared->device[h->device].values, 1);
}

static void
free_host_form(GpuSketchHolding *h)
{
	if (h->on_host == NULL)
		return;
	qs_free(h->on_host);
	pfree(h->on_host);
	h->on_host = NULL;
}

/* Put a sketch on a device: an empty one, or a copy of "from" if not NULL. */
static qb_status
to_device(GpuSketchHolding *h, int i, const qs_params *params, const qs_sketch *from)
{
	qb_status status = QB_NO_MEMORY;

	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	GPU_WITH_ROOM(status, i,
				  from ? GpuSketchOps()->load(gpu_device[i], from, &h->on_device)
					   : GpuSketchOps()->create(gpu_device[i], params, &h->on_device));
	if (status != QB_OK)
		return status;
	h->device = i;
	h->params = from ? from->params : *params;
	h->depth = h->params.depth;
	pg_atomic_fetch_add_u64(&gpu_shared->device[i].values, 1);
	GpuCount(COUNT_CREATED, 1);
	return QB_OK;
}

static qb_status
serve_create(GpuSketchHolding *h, GpuSlot *slot)
{
	return to_device(h, slot->count, &GpuSketchShapeIn(slot)->params, NULL);
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
		free_host_form(h);
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
		status = to_device(h, slot->count, NULL, h->on_host);
	free_host_form(h);
	return status;
}

/* Count keys that the device had no memory for. */
static qb_status
insert_on_host(GpuSketchHolding *h, const uint64 *key, const int64 *weight, int count)
{
	if (h->on_host == NULL)
	{
		h->on_host = MemoryContextAllocZero(TopMemoryContext, sizeof(qs_sketch));
		qs_init(h->on_host, &h->params, GpuSketchMemory());
	}
	return qs_engine_cpu.insert(h->on_host, key, weight, count);
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
	if (h->on_device == NULL)
		return QB_NO_MEMORY;
	piece = GpuNextPiece(slot, h->depth, COUNT_BATCHES, COUNT_KEYS);
	if (gpu_fault != FAULT_SPILL)
		status = GpuSketchOps()->insert(h->on_device, key, weight, piece);
	if (status != QB_NO_MEMORY)
		return status;
	GpuSketchNoteFull(slot->handle.index);
	return insert_on_host(h, key, weight, piece);
}

/*
 * Insert keys of several requests at once, as many as fit in a piece of the work.  This is
 * for speed alone: whatever is not usual is left to serve_insert().
 */
static qb_status
serve_inserts(GpuSlot *const *slot, int *count)
{
	GpuSketchHolding *h = &gpu_sketch_holding[slot[0]->handle.index];
	qs_cuda_keys batch[GPU_TOGETHER];
	double work = 0;
	int batches;
	qb_status status;
	int i;

	StaticAssertStmt(GPU_TOGETHER <= QS_CUDA_TOGETHER, "too many batches for a launch");
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
			(qs_cuda_keys){ .key = key,
							.weight = next->weighted ? (const int64 *) key + next->count : NULL,
							.count = next->count };
	}
	status = batches > 1 ? GpuSketchOps()->insert_all(h->on_device, batch, batches) : QB_NO_MEMORY;
	if (status != QB_OK)
		return status;
	for (i = 0; i < batches; i++)
		(void) GpuNextPiece(slot[i], h->depth, COUNT_BATCHES, COUNT_KEYS);
	*count = batches;
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

/* What there is no memory for is left to the backend. */
static qb_status
serve_merge(GpuSketchHolding *into, GpuSlot *slot)
{
	GpuSketchHolding *other = &gpu_sketch_holding[slot->other.index];
	GpuSketchSource from = { .sketch = other->on_device,
							 .device = other->device,
							 .params = &other->params };
	qb_status status = QB_NO_MEMORY;

	if (gpu_fault == FAULT_ERROR)
		return QB_DEVICE_ERROR;
	if (!into->merged.begun)
		GpuCount(COUNT_MERGES, 1);
	if (into->on_device && other->on_device && !GpuSketchIsFull(slot->handle.index) &&
		!GpuSketchIsFull(slot->other.index))
		status = GpuSketchMerge(into, &from, &slot->more);
	GpuSketchShapeIn(slot)->merged = into->merged;
	if (status == QB_NO_MEMORY)
		GpuSketchNoteFull(slot->handle.index);
	if (status != QB_OK)
		into->merged = (GpuSketchMerged){ 0 };
	return status;
}

/* A partition on a device, by its number; NULL: there is none of that number. */
static void *
partition(const GpuSketchHolding *h, int number)
{
	return number == 0 ? h->on_device : GpuSketchPart(h, number);
}

/* The tables of the partition in the worker's memory. */
static qb_status
host_tables(GpuSketchHolding *h, qs_sketch *head)
{
	qb_status status = QB_NO_MEMORY;

	if (h->on_host)
		status = h->on_host->encoding == QS_DENSE ? QB_OK : qs_make_dense(h->on_host);
	if (status == QB_OK)
		*head = *h->on_host;
	return status;
}

/* Describe the tables of a partition to a backend that is going to read them. */
static qb_status
serve_fetch(GpuSketchHolding *h, GpuSlot *slot)
{
	GpuSketchShape *shape = GpuSketchShapeIn(slot);
	void *there = partition(h, slot->count);
	qs_sketch head;
	qb_status status;

	GpuCount(COUNT_FETCHES, slot->count == 0);
	status = there ? GpuSketchOps()->freeze(there, &head) : host_tables(h, &head);
	if (status != QB_OK)
		return status;
	GpuShapeOf(shape, &head);
	shape->more = slot->count < h->replicas + (h->on_host != NULL);
	shape->merged = there && there == h->joining ? h->merged : (GpuSketchMerged){ 0 };
	if (there == NULL)
		h->shape = *shape;
	return QB_OK;
}

static qb_status
serve_read(GpuSketchHolding *h, GpuSlot *slot)
{
	void *there = partition(h, slot->count);

	GpuCount(COUNT_BYTES_OUT, slot->bytes);
	if (there)
		return GpuSketchOps()->read(there, slot->offset, slot->bytes, GpuSlotData(slot));
	if (h->on_host == NULL)
		return QB_NO_MEMORY;
	GpuReadPiece(h->on_host, &h->shape, slot->offset, slot->bytes, GpuSlotData(slot));
	return QB_OK;
}

static bool
has_replica(int index)
{
	return gpu_sketch_holding[index].replicas > 0 && !GpuSketchIsFull(index);
}

/* A sketch that a request reads or merges, and that has replicas to be merged; -1: there is none. */
static int
find_replica(const GpuSlot *slot)
{
	const uint32 whole = 1 << SKETCH_MERGE | 1 << SKETCH_FETCH | 1 << SKETCH_READ;

	if ((1 << slot->op & whole) && has_replica(slot->handle.index))
		return slot->handle.index;
	if (slot->op == SKETCH_MERGE && has_replica(slot->other.index))
		return slot->other.index;
	return -1;
}

static void
drop_sketch(int index)
{
	GpuSketchHolding *h = &gpu_sketch_holding[index];

	GpuSketchDropReplicas(h);
	drop_device_form(h);
	free_host_form(h);
	h->merged = (GpuSketchMerged){ 0 };
}

/*
 * Replicas that there is no memory to merge are left to the backend.  After any other error the
 * sketch is of no use.
 */
static qb_status
serve_sketch(GpuSlot *slot)
{
	static qb_status (*const serve[])(GpuSketchHolding * h, GpuSlot * slot) = {
		[SKETCH_CREATE] = serve_create,
		[SKETCH_LOAD] = serve_load,
		[SKETCH_WRITE] = serve_write,
		[SKETCH_LOADED] = serve_loaded,
		[SKETCH_INSERT] = serve_insert,
		[SKETCH_QUERY] = serve_query,
		[SKETCH_MERGE] = serve_merge,
		[SKETCH_FETCH] = serve_fetch,
		[SKETCH_READ] = serve_read,
		[SKETCH_COLUMN] = GpuSketchServeColumn,
		[SKETCH_GROUPS] = GpuSketchServeGroups,
	};
	int index = find_replica(slot);
	qb_status status;

	if (index < 0)
		return serve[slot->op](&gpu_sketch_holding[slot->handle.index], slot);
	status = GpuSketchMergeReplica(&gpu_sketch_holding[index]);
	if (status == QB_NO_MEMORY)
	{
		GpuSketchNoteFull(index);
		status = QB_OK;
	}
	slot->more = status == QB_OK;
	if (status != QB_OK)
		drop_sketch(index);
	return status;
}

static GpuLocation
location_of_sketch(int index)
{
	const GpuSketchHolding *h = &gpu_sketch_holding[index];
	GpuLocation location = { .device = h->device,
							 .on_device = h->on_device != NULL,
							 .replicas = h->replicas > 0 };

	if (location.on_device)
		location.bytes = GpuSketchOps()->bytes(h->on_device);
	return location;
}

static int
choose_device(GpuSlot *slot)
{
	slot->count = GpuChooseDevice(slot->op == SKETCH_LOADED ? -1 : slot->count);
	return slot->count;
}

const GpuHandler gpu_sketch_handler = {
	.serve = serve_sketch,
	.serve_all = serve_inserts,
	.together = 1 << SKETCH_INSERT,
	.reads = 1 << SKETCH_QUERY | 1 << SKETCH_READ,
	.reads_other = 1 << SKETCH_COLUMN | 1 << SKETCH_GROUPS,
	.adds = 1 << SKETCH_COLUMN | 1 << SKETCH_GROUPS,
	.creates = 1 << SKETCH_CREATE | 1 << SKETCH_LOADED,
	.choose = choose_device,
	.drop = drop_sketch,
	.location = location_of_sketch,
};

/*
 * ---- what the GPU worker does with sketches that get keys of cached columns ----
 *
 * A sketch is made on the device of the first chunk.  Keys of chunks on other devices go into
 * replicas there (sketch_replicas.c).  If a device has no memory for them, the backend
 * reads the pages.  The sketches of groups get their keys together if they are all on the
 * device of the chunks, else one after another.
 */

/* Count gathered keys on their device; after QB_NO_MEMORY none were counted. */
static qb_status
insert_gathered(int index, const GpuGathered *gathered)
{
	GpuSketchHolding *h = &gpu_sketch_holding[index];
	qb_status status = QB_NO_MEMORY;

	if (gathered->count == 0)
		return QB_OK;
	if (gpu_fault != FAULT_SPILL)
		status =
			gathered->device == h->device
				? GpuSketchOps()->insert_device(h->on_device, gathered->key, NULL, gathered->count)
				: GpuSketchInsertReplica(h, gathered);
	if (status == QB_NO_MEMORY)
		GpuSketchNoteFull(index);
	return status;
}

/* Count keys of a chunk, of as many pages as fit in a piece of the work. */
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
	status = GpuColumnGather(slot->other.index, &wanted, (uint32) slot->offset, (uint64) most,
							 &gathered);
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

/* Count gathered keys in the sketch of a group. */
static qb_status
insert_group(const GpuRef *ref, const GpuGathered *gathered)
{
	return find_group(ref) ? insert_gathered(ref->index, gathered) : QB_NO_MEMORY;
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
 * of them has nothing on the device of the chunk yet, or if the device cannot do it.
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

/*
 * The request does not name the sketches of its groups.  They are kept in use here: values that
 * nobody needs any more are freed where room is made, and while the request waits for its device.
 */
static void
use_groups(const GpuGroupSketches *all, int more)
{
	uint32 i;

	for (i = 0; i < Min(all->groups.count, QB_GROUPS_MAX); i++)
		if (all->sketch[i].index >= 0 && all->sketch[i].index < GPU_HANDLES)
			pg_atomic_fetch_add_u32(&gpu_shared->handle[all->sketch[i].index].pending, more);
}

static qb_status
count_groups(GpuSketchHolding *h, GpuSlot *slot, GpuSketchGroups *wanted)
{
	GpuGroupSketches *all = &wanted->all;
	uint64 count[QB_GROUPS_MAX];
	GpuGathered gathered;
	qb_status status;
	uint32 i;

	status = GpuColumnGatherGroups(
		slot->other.index, &wanted->wanted, &all->groups, (uint32) slot->offset,
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

/*
 * Count keys of a chunk for the sketches of groups, of as many pages as fit in a piece of the
 * work.
 */
qb_status
GpuSketchServeGroups(GpuSketchHolding *h, GpuSlot *slot)
{
	GpuSketchGroups wanted;
	qb_status status;

	if (gpu_fault == FAULT_ERROR)
		return QB_DEVICE_ERROR;
	memcpy(&wanted, GpuSlotData(slot), sizeof(wanted));
	use_groups(&wanted.all, 1);
	status = count_groups(h, slot, &wanted);
	use_groups(&wanted.all, -1);
	return status;
}
