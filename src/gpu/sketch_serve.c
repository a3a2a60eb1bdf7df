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
#include "gpu/coroutine.h"
#include "gpu/gpu.h"
#include "gpu/sketch_gpu.h"

#include "pgbase/memory.h"
#include "sketch_cuda.h"
#include "utils/memutils.h"

/*
 * The sketch of a handle.  If its device has no memory for it to grow it is "full" (shared.h),
 * and its keys are in partitions that its backend merges: the sketch on its device, those on
 * other devices, and one in the worker's memory.
 */
typedef struct Holding
{
	qs_cuda_sketch *on_device;
	qs_sketch *on_host; /* tables on their way to the device, or keys that it had no memory for */
	int device;
	qs_params params; /* set while it is on a device */
	GpuReplicas replicas;
	GpuSketchMerged merged; /* of the sketch or replica that is being merged */
	GpuSketchShape shape;   /* of on_host, while it is written or read */
} Holding;

static Holding holding[GPU_HANDLES];

/* What sketches ask of the devices. */
static const qs_sketch_ops *
device_ops(void)
{
	return gpu_device_ops->sketch;
}

static void
destroy(void *sketch)
{
	device_ops()->destroy(sketch);
}

static bool
is_full(int index)
{
	return gpu_shared->handle[index].full;
}

/* A sketch has no memory of its device to grow: its backend will fetch it. */
static void
note_full(int index)
{
	GpuCount(COUNT_FALLBACKS, !is_full(index));
	gpu_shared->handle[index].full = true;
}

static void
make_host_form(Holding *h, const qs_params *params)
{
	static qb_memory memory; /* the worker's own */

	h->on_host = MemoryContextAllocZero(TopMemoryContext, sizeof(qs_sketch));
	qs_init(h->on_host, params, ContextMemory(TopMemoryContext, &memory));
}

static void
free_host_form(Holding *h)
{
	if (h->on_host == NULL)
		return;
	qs_free(h->on_host);
	pfree(h->on_host);
	h->on_host = NULL;
}

/* Make a sketch on a device: an empty one, or a copy of "from" if not NULL. */
static qb_status
make_on(int device, const qs_params *params, const qs_sketch *from, qs_cuda_sketch **made)
{
	qb_status status;

	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	GPU_WITH_ROOM(status, device,
				  from ? device_ops()->load(gpu_device[device], from, made)
					   : device_ops()->create(gpu_device[device], params, made));
	return GpuMade(status, device);
}

/* Put the sketch of a handle on a device. */
static qb_status
to_device(Holding *h, int device, const qs_params *params, const qs_sketch *from)
{
	qb_status status = make_on(device, params, from, &h->on_device);

	if (status != QB_OK)
		return status;
	h->device = device;
	h->params = *params;
	GpuCount(COUNT_CREATED, 1);
	return QB_OK;
}

static qb_status
serve_create(Holding *h, GpuSlot *slot)
{
	return to_device(h, slot->count, &GpuSketchShapeIn(slot)->params, NULL);
}

static qb_status
serve_load(Holding *h, GpuSlot *slot)
{
	qb_status status;

	h->shape = *GpuSketchShapeIn(slot);
	make_host_form(h, &h->shape.params);
	status = GpuSketchMakeTables(h->on_host, &h->shape);
	if (status != QB_OK)
		free_host_form(h);
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
		status = to_device(h, slot->count, &h->on_host->params, h->on_host);
	free_host_form(h);
	return status;
}

/* Count keys that the device had no memory for. */
static qb_status
insert_on_host(Holding *h, const uint64 *key, const int64 *weight, int count)
{
	if (h->on_host == NULL)
		make_host_form(h, &h->params);
	return qs_engine_cpu.insert(h->on_host, key, weight, count);
}

static qb_status
serve_insert(Holding *h, GpuSlot *slot)
{
	const uint64 *key = (const uint64 *) GpuSlotData(slot) + slot->done;
	const int64 *weight = slot->weighted ? (const int64 *) (key + slot->count) : NULL;
	qb_status status = QB_NO_MEMORY;
	int piece;

	if (h->on_device == NULL)
		return QB_NO_MEMORY;
	piece = GpuNextPiece(slot, h->params.depth, COUNT_BATCHES, COUNT_KEYS);
	if (gpu_fault != FAULT_SPILL)
		status = device_ops()->insert(h->on_device, key, weight, piece);
	if (status != QB_NO_MEMORY)
		return status;
	note_full(slot->handle.index);
	return insert_on_host(h, key, weight, piece);
}

/*
 * Insert keys of several requests at once, as many as fit in a piece of the work.  This is
 * for speed alone: whatever is not usual is left to serve_insert().
 */
static qb_status
serve_inserts(GpuSlot *const *slot, int *count)
{
	Holding *h = &holding[slot[0]->handle.index];
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

		work += (double) next->count * h->params.depth;
		if (work > gpu_device_ops->piece_work || next->weighted != slot[0]->weighted)
			break;
		batch[batches] =
			(qs_cuda_keys){ .key = key,
							.weight = next->weighted ? (const int64 *) key + next->count : NULL,
							.count = next->count };
	}
	status = batches > 1 ? device_ops()->insert_all(h->on_device, batch, batches) : QB_NO_MEMORY;
	if (status != QB_OK)
		return status;
	for (i = 0; i < batches; i++)
		(void) GpuNextPiece(slot[i], h->params.depth, COUNT_BATCHES, COUNT_KEYS);
	*count = batches;
	return QB_OK;
}

static qb_status
serve_query(Holding *h, GpuSlot *slot)
{
	uint64 *key = (uint64 *) GpuSlotData(slot) + slot->done;
	int piece;

	if (h->on_device == NULL)
		return QB_NO_MEMORY;
	piece = GpuNextPiece(slot, h->params.depth, COUNT_QUERIES, COUNT_LOOKUPS);
	GpuCount(COUNT_BYTES_OUT, piece * 8);
	return device_ops()->query(h->on_device, key, piece, (int64 *) key);
}

/*
 * ---- keys of cached columns ----
 *
 * A sketch is made on the device of the first chunk.  Chunks on other devices have replicas
 * there (column_worker.h), sketches with the same parameters.  So keys stay where they are, and
 * each device counts its own.  Without memory for a replica the backend reads the pages; without
 * memory to merge the replicas it fetches them.
 *
 * The sketches of groups get their keys together; if memory or the device does not allow it, one
 * after another.
 *
 * Requests for chunks of one device are served together.  Without memory for all, they are served one
 * by one.
 */

/* The sketch, or its replica, that counts keys of chunks on a device; NULL: there is none yet. */
static qs_cuda_sketch *
sketch_on(Holding *h, int device)
{
	return h->device == device ? h->on_device : h->replicas.on[device];
}

/* Make sure that there is one. */
static qb_status
be_on(Holding *h, int device)
{
	qb_status status;

	if (sketch_on(h, device))
		return QB_OK;
	status = make_on(device, &h->params, NULL, (qs_cuda_sketch **) &h->replicas.on[device]);
	h->replicas.count += status == QB_OK;
	return status;
}

/*
 * Count gathered keys on their device; after QB_NO_MEMORY none were counted, and if they are of one chunk
 * the sketch is noted as full.
 */
static qb_status
insert_gathered(int index, const GpuGathered *gathered)
{
	Holding *h = &holding[index];
	qb_status status = QB_NO_MEMORY;

	if (gathered->count == 0)
		return QB_OK;
	if (gpu_fault != FAULT_SPILL)
		status = be_on(h, gathered->device);
	if (status == QB_OK)
		status = device_ops()->insert_device(sketch_on(h, gathered->device), gathered->key, NULL,
											 gathered->count);
	GpuShowMemory(gathered->device);
	if (status == QB_NO_MEMORY && gathered->chunks == 1)
		note_full(index);
	return status;
}

static qb_status
add_keys(GpuSlot *slot, const GpuGathered *gathered)
{
	return insert_gathered(slot->handle.index, gathered);
}

static qb_status
serve_columns(GpuSlot *const *slot, int *count)
{
	const Holding *h = &holding[slot[0]->handle.index];
	GpuAdding adding = { .work = h->params.depth, .add = add_keys };

	if (h->on_device == NULL)
		return QB_NO_MEMORY;
	adding.together = GpuSketchOps()->gains_together(h->on_device);
	return GpuColumnServe(slot, count, &adding);
}

/* The sketch of a group; NULL: there is none any more. */
static Holding *
find_group(const GpuRef *ref)
{
	Holding *h;

	if (ref->index < 0 || ref->index >= GPU_HANDLES)
		return NULL;
	h = &holding[ref->index];
	return gpu_shared->handle[ref->index].serial == ref->serial && h->on_device ? h : NULL;
}

/* Give each sketch its gathered keys, one after another. */
static qb_status
insert_one_by_one(const GpuGathered *gathered, const GpuGroupValues *all)
{
	GpuGathered group = *gathered;
	qb_status status = QB_OK;
	uint32 i;

	for (i = 0; i < all->groups.count && status == QB_OK; i++)
	{
		group.count = gathered->of_group[i];
		status = find_group(&all->value[i]) ? insert_gathered(all->value[i].index, &group)
											 : QB_NO_MEMORY;
		group.key += group.count;
	}
	return status;
}

/*
 * Give all sketches their gathered keys by one call.  QB_NO_MEMORY: that is not possible, and none got
 * any.  Groups without keys on the device need no sketch there.
 */
static qb_status
insert_together(const GpuGathered *gathered, const GpuGroupValues *all)
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
		Holding *h = find_group(&all->value[i]);

		if (h == NULL || (gathered->of_group[i] > 0 && be_on(h, gathered->device) != QB_OK))
			return QB_NO_MEMORY;
		if (gathered->of_group[i] == 0)
			continue;
		sketch[count] = sketch_on(h, gathered->device);
		keys[count++] = gathered->of_group[i];
	}
	status = device_ops()->insert_groups(sketch, keys, count, gathered->key);
	GpuShowMemory(gathered->device);
	return status;
}

/* The sketches of groups that a request names. */
static GpuGroupValues *
groups_in(const GpuSlot *slot)
{
	return &((GpuWantedOfGroups *) GpuSlotData(slot))->all;
}

/*
 * Give the sketches their gathered keys, which lie side by side by group, and note in the slot how many
 * each got.
 */
static qb_status
add_groups(GpuSlot *slot, const GpuGathered *gathered)
{
	GpuGroupValues *all = groups_in(slot);
	qb_status status = insert_together(gathered, all);
	uint32 i;

	if (status == QB_NO_MEMORY && gathered->chunks == 1)
		status = insert_one_by_one(gathered, all);
	for (i = 0; i < all->groups.count && status == QB_OK; i++)
		all->added[i] += gathered->of_group[i];
	return status;
}

/* Do two requests name the same groups with the same sketches? */
static bool
have_same_groups(const GpuSlot *a, const GpuSlot *b)
{
	return memcmp(&groups_in(a)->groups, &groups_in(b)->groups, sizeof(qb_groups)) == 0 &&
		   memcmp(groups_in(a)->value, groups_in(b)->value, sizeof(groups_in(a)->value)) == 0;
}

/* Requests for the sketches of groups: those that have the same ones are served together. */
static qb_status
serve_groups(GpuSlot *const *slot, int *count)
{
	const GpuGroupValues *all = groups_in(slot[0]);
	const GpuAdding adding = { .work = holding[slot[0]->handle.index].params.depth,
							   .groups = &all->groups,
							   .add = add_groups };
	qb_status status;
	int same = 1;

	while (same < *count && have_same_groups(slot[same], slot[0]))
		same++;
	if (same == 1 && *count > 1)
		return QB_NO_MEMORY;
	*count = same;
	GpuUse(all->value, Min(all->groups.count, QB_GROUPS_MAX));
	status = GpuColumnServe(slot, count, &adding);
	GpuEndUse(GpuCoroutine());
	return status;
}

/*
 * ---- merging sketches of devices in the GPU worker, slice by slice ----
 *
 * Between two slices others are served.  A slice of another device needs memory there, and on
 * the one that it goes to.  If there is none the merge ends there, and the backend of the
 * sketch does the rest.
 *
 * After any other error the sketch may have some slices and not others, and is of no use.
 */

/* A sketch on a device that is merged into another one. */
typedef struct Source
{
	qs_cuda_sketch *sketch;
	int device;
	const qs_params *params;
} Source;

/* The next slice: of so many bytes, or less at the end. */
static qs_slice
next_slice(const qs_params *p, uint64 at)
{
	uint64 units = qs_slice_units(p);
	uint64 bytes = qs_block_bytes(p) * p->n / units;
	uint64 count = Min(Max(gpu_device_ops->merge_bytes / bytes, 1), units - at);

	return (qs_slice){ at, count };
}

static qb_status
merge_slice(const Holding *h, const Source *from, qs_slice units)
{
	qb_status status;

	do
		status = device_ops()->merge_slice(h->on_device, units, from->sketch, units);
	while (status == QB_NO_MEMORY && (GpuMakeRoom(h->device) || GpuMakeRoom(from->device)));
	return status;
}

/*
 * Merge the next slice of a sketch into another one; "more": there are further slices.  After
 * QB_NO_MEMORY "merged" says how far that got.
 */
static qb_status
merge_next(Holding *h, const Source *from, bool *more)
{
	qb_status status = QB_OK;
	qs_slice units;

	if (!h->merged.begun)
		GPU_WITH_ROOM(status, h->device,
					  device_ops()->merge_begin(h->on_device, from->params,
												  device_ops()->total(from->sketch)));
	if (status != QB_OK)
		return status;
	h->merged.begun = true;
	units = next_slice(&h->params, h->merged.units);
	status = merge_slice(h, from, units);
	if (status != QB_OK)
		return status;
	h->merged.units += units.count;
	*more = h->merged.units < qs_slice_units(&h->params);
	if (!*more)
		h->merged = (GpuSketchMerged){ 0 };
	return QB_OK;
}

/* Merge the next slice of a replica. */
static qb_status
merge_replica(Holding *h)
{
	Source replica = { .sketch = GpuJoiningReplica(&h->replicas),
					   .device = h->replicas.joining_device,
					   .params = &h->params };
	bool more;
	qb_status status = merge_next(h, &replica, &more);

	if (status == QB_OK && !more)
		GpuDropJoining(&h->replicas, destroy);
	return status;
}

/* What there is no memory for is left to the backend. */
static qb_status
serve_merge(Holding *into, GpuSlot *slot)
{
	Holding *other = &holding[slot->other.index];
	Source from = { .sketch = other->on_device, .device = other->device, .params = &other->params };
	qb_status status = QB_NO_MEMORY;

	if (!into->merged.begun)
		GpuCount(COUNT_MERGES, 1);
	if (into->on_device && other->on_device && !is_full(slot->handle.index) &&
		!is_full(slot->other.index))
		status = merge_next(into, &from, &slot->more);
	GpuSketchShapeIn(slot)->merged = into->merged;
	if (status == QB_NO_MEMORY)
		note_full(slot->handle.index);
	if (status != QB_OK)
		into->merged = (GpuSketchMerged){ 0 };
	return status;
}

/* A partition on a device, by its number; NULL: there is none of that number. */
static void *
partition(const Holding *h, int number)
{
	int device;

	if (number == 0)
		return h->on_device;
	if (h->replicas.joining && --number == 0)
		return h->replicas.joining;
	for (device = 0; device < GPU_DEVICES_MAX; device++)
		if (h->replicas.on[device] && --number == 0)
			return h->replicas.on[device];
	return NULL;
}

/* The tables of the partition in the worker's memory. */
static qb_status
host_tables(Holding *h, qs_sketch *head)
{
	qb_status status = QB_NO_MEMORY;

	if (h->on_host)
		status = h->on_host->encoding == QS_DENSE ? QB_OK : qs_make_dense(h->on_host);
	if (status == QB_OK)
		*head = *h->on_host;
	return status;
}

/*
 * Describe the tables of a partition to a backend that is going to read them.  A device gets them
 * ready first, while others are served.
 */
static qb_status
serve_fetch(Holding *h, GpuSlot *slot)
{
	GpuSketchShape *shape = GpuSketchShapeIn(slot);
	void *there = partition(h, slot->count);
	qs_sketch head;
	qb_status status;

	if (there && slot->done == 0)
	{
		slot->done = 1;
		slot->more = true;
		return device_ops()->settle(there);
	}
	GpuCount(COUNT_FETCHES, slot->count == 0);
	status = there ? device_ops()->freeze(there, &head) : host_tables(h, &head);
	if (status != QB_OK)
		return status;
	GpuShapeOf(shape, &head);
	shape->more = slot->count < h->replicas.count + (h->on_host != NULL);
	shape->merged = there && there == h->replicas.joining ? h->merged : (GpuSketchMerged){ 0 };
	if (there == NULL)
		h->shape = *shape;
	return QB_OK;
}

/* Pieces of one partition. */
static qb_status
read_together(const Holding *h, GpuSlot *const *slot, int count)
{
	void *there = partition(h, slot[0]->count);
	qs_cuda_piece piece[GPU_TOGETHER];

	if (there == NULL && (h->on_host == NULL || count > 1))
		return QB_NO_MEMORY;
	GpuPiecesOf(slot, count, piece);
	if (there)
		return device_ops()->read(there, piece, count);
	GpuReadPiece(h->on_host, &h->shape, piece->offset, piece->bytes, piece->to);
	return QB_OK;
}

static qb_status
serve_read(Holding *h, GpuSlot *slot)
{
	return read_together(h, &slot, 1);
}

/* ---- the handler ---- */

/* A single request for keys of a chunk. */
static qb_status
serve_column(Holding *h, GpuSlot *slot)
{
	int one = 1;

	return slot->op == SKETCH_GROUPS ? serve_groups(&slot, &one) : serve_columns(&slot, &one);
}

static bool
has_replica(int index)
{
	return holding[index].replicas.count > 0 && !is_full(index);
}

/*
 * A sketch that a request reads or merges, and that has replicas to be merged; -1: there is none.
 */
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
	Holding *h = &holding[index];

	GpuDropReplicas(&h->replicas, destroy);
	if (h->on_device)
	{
		destroy(h->on_device);
		GpuUnmade(h->device);
	}
	h->on_device = NULL;
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
	static qb_status (*const serve[])(Holding * h, GpuSlot * slot) = {
		[SKETCH_CREATE] = serve_create,
		[SKETCH_LOAD] = serve_load,
		[SKETCH_WRITE] = serve_write,
		[SKETCH_LOADED] = serve_loaded,
		[SKETCH_INSERT] = serve_insert,
		[SKETCH_QUERY] = serve_query,
		[SKETCH_MERGE] = serve_merge,
		[SKETCH_FETCH] = serve_fetch,
		[SKETCH_READ] = serve_read,
		[SKETCH_COLUMN] = serve_column,
		[SKETCH_GROUPS] = serve_column,
	};
	int index = find_replica(slot);
	qb_status status;

	if (index < 0)
		return serve[slot->op](&holding[slot->handle.index], slot);
	status = merge_replica(&holding[index]);
	if (status == QB_NO_MEMORY)
	{
		note_full(index);
		status = QB_OK;
	}
	slot->more = status == QB_OK;
	if (status != QB_OK)
		drop_sketch(index);
	return status;
}

/*
 * Keys, keys of chunks (also for the sketches of groups), or pieces of a sketch that has no
 * replicas to merge.
 */
static qb_status
serve_together(GpuSlot *const *slot, int *count)
{
	if (slot[0]->op == SKETCH_INSERT)
		return serve_inserts(slot, count);
	if (slot[0]->op == SKETCH_COLUMN)
		return serve_columns(slot, count);
	if (slot[0]->op == SKETCH_GROUPS)
		return serve_groups(slot, count);
	if (find_replica(slot[0]) >= 0)
		return QB_NO_MEMORY;
	return read_together(&holding[slot[0]->handle.index], slot, *count);
}

/* Are the tables of a sketch that is fetched ready?  Its device was told to get them ready. */
static bool
is_ready(const GpuSlot *slot)
{
	const Holding *h = &holding[slot->handle.index];
	void *there;

	if (slot->op != SKETCH_FETCH)
		return true;
	there = partition(h, slot->count);
	return there == NULL || device_ops()->is_settled(there);
}

static GpuLocation
location_of_sketch(int index)
{
	const Holding *h = &holding[index];

	return (GpuLocation){ .device = h->device,
						  .on_device = h->on_device != NULL,
						  .replicas = GpuReplicaDevices(&h->replicas),
						  .bytes = h->on_device ? device_ops()->bytes(h->on_device) : 0 };
}

static int
choose_device(GpuSlot *slot)
{
	slot->count = GpuChooseDevice(slot->op == SKETCH_LOADED ? -1 : slot->count);
	return slot->count;
}

const GpuHandler gpu_sketch_handler = {
	.serve = serve_sketch,
	.serve_all = serve_together,
	.together = 1 << SKETCH_INSERT | 1 << SKETCH_READ | 1 << SKETCH_COLUMN | 1 << SKETCH_GROUPS,
	.reads = 1 << SKETCH_QUERY | 1 << SKETCH_READ,
	.reads_other = 1 << SKETCH_COLUMN | 1 << SKETCH_GROUPS,
	.adds = 1 << SKETCH_COLUMN | 1 << SKETCH_GROUPS,
	.on_host = 1 << SKETCH_LOAD | 1 << SKETCH_WRITE,
	.chooses = 1 << SKETCH_CREATE | 1 << SKETCH_LOADED,
	.choose = choose_device,
	.is_ready = is_ready,
	.faulty = 1 << SKETCH_INSERT | 1 << SKETCH_QUERY | 1 << SKETCH_MERGE | 1 << SKETCH_COLUMN |
			  1 << SKETCH_GROUPS,
	.drop = drop_sketch,
	.location = location_of_sketch,
};
