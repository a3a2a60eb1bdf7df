/*
 * sketch_serve.c
 *		Serves requests for sketches in the GPU worker.
 *
 * Each sketch is on a device.  The worker assembles tables in its own memory, and then copies them
 * to the device.  Tables are read from the device piece by piece.  If the device has no memory for
 * a sketch to grow, keys that still arrive are counted in the worker's memory, so that no keys are
 * lost.  The backend then fetches all tables and continues with the CPU's engine.
 *
 * src/gpu/worker/sketch_serve.c
 */
#include "engine/sketch_engine.h"
#include "gpu/worker/coroutine.h"
#include "gpu/gpu.h"
#include "gpu/worker/keyed_worker.h"
#include "gpu/sketch_gpu.h"

#include "pgbase/memory.h"
#include "sketch_cuda.h"
#include "utils/memutils.h"

/*
 * The data of a sketch in the worker's memory: tables that will be copied to the device, or keys
 * for which the device had no memory.  In the second case, the sketch is "full" (shared.h).  Its
 * backend then merges the partitions: the sketch on its device, the replicas on other devices, and
 * these keys.
 */
typedef struct Host
{
	qs_sketch *sketch;    /* NULL: no data in the worker's memory */
	GpuSketchShape shape; /* shape of "sketch" while pieces are written or read */
} Host;

static Host hosts[GPU_HANDLES];

static const GpuKeyedOps ops;

static const qs_sketch_ops *
device_ops(void)
{
	return gpu_device_ops->sketch;
}

static const qs_params *
params_of(const GpuKeyed *k)
{
	return (const qs_params *) k->params.bytes;
}

static void
make_host_form(Host *host, const qs_params *params)
{
	static qb_memory memory; /* allocates in the worker's own memory */

	host->sketch = MemoryContextAllocZero(TopMemoryContext, sizeof(qs_sketch));
	qs_init(host->sketch, params, ContextMemory(TopMemoryContext, &memory));
}

static void
free_host_form(Host *host)
{
	if (host->sketch == NULL)
		return;
	qs_free(host->sketch);
	pfree(host->sketch);
	host->sketch = NULL;
}

static qb_status
serve_create(GpuKeyed *k, GpuSlot *slot)
{
	return GpuKeyedMake(slot->handle.index, &ops, slot->count, &slot->shape, NULL);
}

static qb_status
serve_load(GpuKeyed *k, GpuSlot *slot)
{
	Host *host = &hosts[slot->handle.index];
	qb_status status;

	host->shape = *GpuSketchShapeIn(slot);
	make_host_form(host, &host->shape.params);
	status = GpuSketchMakeTables(host->sketch, &host->shape);
	if (status != QB_OK)
		free_host_form(host);
	return status;
}

static qb_status
serve_write(GpuKeyed *k, GpuSlot *slot)
{
	Host *host = &hosts[slot->handle.index];

	if (host->sketch == NULL)
		return QB_NO_MEMORY;
	GpuWritePiece(host->sketch, &host->shape, slot->offset, slot->bytes, GpuSlotData(slot));
	GpuCount(COUNT_BYTES_IN, slot->bytes);
	return QB_OK;
}

static qb_status
serve_loaded(GpuKeyed *k, GpuSlot *slot)
{
	Host *host = &hosts[slot->handle.index];
	qb_status status = QB_NO_MEMORY;
	GpuShape params = { 0 };

	memcpy(params.bytes, &host->shape.params, sizeof(qs_params));
	if (host->sketch)
		status = GpuKeyedMake(slot->handle.index, &ops, slot->count, &params, host->sketch);
	free_host_form(host);
	return status;
}

/* Count keys in the worker's memory, after the device had no memory for them. */
static qb_status
insert_on_host(const GpuKeyed *k, Host *host, const uint64 *key, const int64 *weight, int count)
{
	if (host->sketch == NULL)
		make_host_form(host, params_of(k));
	return qs_engine_cpu.insert(host->sketch, key, weight, count);
}

static qb_status
serve_insert(GpuKeyed *k, GpuSlot *slot)
{
	const uint64 *key = (const uint64 *) GpuSlotData(slot) + slot->done;
	const int64 *weight = slot->weighted ? (const int64 *) (key + slot->count) : NULL;
	int piece = GpuNextPiece(slot, params_of(k)->depth, COUNT_BATCHES, COUNT_KEYS);
	qb_status status = QB_NO_MEMORY;

	if (gpu_fault != FAULT_SPILL)
		status = device_ops()->insert(k->on_device, key, weight, piece);
	if (status != QB_NO_MEMORY)
		return status;
	GpuKeyedNoteFull(slot->handle.index);
	return insert_on_host(k, &hosts[slot->handle.index], key, weight, piece);
}

/*
 * Insert the keys of several requests by one call, up to one piece of work.  *count becomes the
 * number of served requests.  QB_NO_MEMORY: no request was served, and serve_insert() serves the
 * first request.
 */
static qb_status
serve_inserts(const GpuKeyed *k, GpuSlot *const *slot, int *count)
{
	qs_cuda_keys batch[GPU_TOGETHER];
	double work = 0;
	int batches;
	qb_status status;
	int i;

	StaticAssertStmt(GPU_TOGETHER <= QS_CUDA_TOGETHER, "too many batches for a launch");
	if (gpu_fault != FAULT_NONE)
		return QB_NO_MEMORY;
	for (batches = 0; batches < *count; batches++)
	{
		const GpuSlot *next = slot[batches];
		const uint64 *key = (const uint64 *) GpuSlotData(next);

		work += (double) next->count * params_of(k)->depth;
		if (work > gpu_device_ops->piece_work || next->weighted != slot[0]->weighted)
			break;
		batch[batches] =
			(qs_cuda_keys){ .key = key,
							.weight = next->weighted ? (const int64 *) key + next->count : NULL,
							.count = next->count };
	}
	status = batches > 1 ? device_ops()->insert_all(k->on_device, batch, batches) : QB_NO_MEMORY;
	if (status != QB_OK)
		return status;
	for (i = 0; i < batches; i++)
		(void) GpuNextPiece(slot[i], params_of(k)->depth, COUNT_BATCHES, COUNT_KEYS);
	*count = batches;
	return QB_OK;
}

static qb_status
serve_query(GpuKeyed *k, GpuSlot *slot)
{
	uint64 *key = (uint64 *) GpuSlotData(slot) + slot->done;
	int piece = GpuNextPiece(slot, params_of(k)->depth, COUNT_QUERIES, COUNT_LOOKUPS);

	GpuCount(COUNT_BYTES_OUT, piece * 8);
	return device_ops()->query(k->on_device, key, piece, (int64 *) key);
}

/*
 * ---- keys of cached columns ----
 *
 * If no memory is free for a replica, the backend reads the pages.  If no memory is free to merge
 * the replicas, the backend fetches the replicas.  The sketches of groups receive their keys by one
 * call.  If this call is not possible, one sketch after another receives its keys.
 */

/* The sketch of a group; NULL: it no longer exists. */
static GpuKeyed *
find_group(const GpuRef *ref)
{
	GpuKeyed *k;

	if (ref->index < 0 || ref->index >= GPU_HANDLES)
		return NULL;
	k = &gpu_keyed[ref->index];
	return gpu_shared->handle[ref->index].serial == ref->serial && k->on_device ? k : NULL;
}

/* Add to each sketch its gathered keys, one sketch after another. */
static qb_status
insert_one_by_one(const GpuGathered *gathered, const GpuGroupValues *all)
{
	GpuGathered group = *gathered;
	qb_status status = QB_OK;
	uint32 i;

	for (i = 0; i < all->groups.count && status == QB_OK; i++)
	{
		group.count = gathered->of_group[i];
		if (find_group(&all->value[i]) == NULL)
			status = QB_NO_MEMORY;
		else if (group.count > 0)
			status = GpuKeyedAdd(all->value[i].index, &group);
		group.key += group.count;
	}
	return status;
}

/*
 * Add the gathered keys to all sketches by one call.  QB_NO_MEMORY: no key was added.  The caller
 * may then add the keys to one sketch after another.  A group without gathered keys needs no
 * replica on the device.
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
		GpuKeyed *k = find_group(&all->value[i]);

		if (k == NULL)
			return QB_NO_MEMORY;
		if (gathered->of_group[i] == 0)
			continue;
		sketch[count] = GpuKeyedOn(k, gathered->device, &status);
		if (sketch[count] == NULL)
			return QB_NO_MEMORY;
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
 * Add the gathered keys, which are ordered by group, to the sketches.  The number of keys of each
 * group is added to "added" in the slot.
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

/* True if two requests name the same groups with the same sketches. */
static bool
have_same_groups(const GpuSlot *a, const GpuSlot *b)
{
	return memcmp(&groups_in(a)->groups, &groups_in(b)->groups, sizeof(qb_groups)) == 0 &&
		   memcmp(groups_in(a)->value, groups_in(b)->value, sizeof(groups_in(a)->value)) == 0;
}

/* Sample gathered keys, or count the frequent keys among them. */
static qb_status
recount_one(int op, const GpuKeyed *k, const uint64 *key, uint64 count, int device)
{
	if (k == NULL || k->device != device)
		return QB_NO_MEMORY;
	return (op == SKETCH_SAMPLE || op == SKETCH_SAMPLE_GROUPS
				? device_ops()->frequent_sample
				: device_ops()->frequent_count)(k->on_device, key, count);
}

static qb_status
recount(GpuSlot *slot, const GpuGathered *gathered)
{
	return recount_one(slot->op, &gpu_keyed[slot->handle.index], gathered->key, gathered->count,
					   gathered->device);
}

/* Sample the gathered keys of each group, or count the frequent keys among them. */
static qb_status
recount_groups(GpuSlot *slot, const GpuGathered *gathered)
{
	GpuGroupValues *all = groups_in(slot);
	const uint64 *key = gathered->key;
	qb_status status = QB_OK;
	uint32 i;

	for (i = 0; i < all->groups.count && status == QB_OK; i++)
	{
		uint64 count = gathered->of_group[i];

		if (count > 0)
			status =
				recount_one(slot->op, find_group(&all->value[i]), key, count, gathered->device);
		all->added[i] += count;
		key += count;
	}
	return status;
}

static qb_status
serve_recount(GpuSlot *const *slot, int *count)
{
	const GpuAdding adding = { .work = params_of(&gpu_keyed[slot[0]->handle.index])->depth,
							   .add = recount };

	return GpuColumnServe(slot, count, &adding);
}

/* Make the table for exact counts of frequent keys. */
static qb_status
serve_frequent(GpuKeyed *k, GpuSlot *slot)
{
	qb_status status;

	GPU_WITH_ROOM(status, k->device,
				  device_ops()->frequent_begin(k->on_device, slot->offset, slot->bytes));
	GpuShowMemory(k->device);
	return status;
}

static qb_status
serve_collect(GpuKeyed *k, GpuSlot *slot)
{
	return device_ops()->frequent_collect(k->on_device, slot->weighted,
										  (qs_frequent *) slot->shape.bytes);
}

static qb_status
serve_collected(GpuKeyed *k, GpuSlot *slot)
{
	if (slot->bytes > GPU_SLOT_BYTES)
		return QB_NO_MEMORY;
	GpuCount(COUNT_BYTES_OUT, slot->bytes);
	return device_ops()->frequent_read(k->on_device, slot->offset, slot->bytes, GpuSlotData(slot));
}

/*
 * Serve requests for the sketches of groups.  Requests for the same groups and sketches are served
 * together.
 */
static qb_status
serve_groups(GpuSlot *const *slot, int *count)
{
	const GpuGroupValues *all = groups_in(slot[0]);
	const GpuAdding adding = { .work = params_of(&gpu_keyed[slot[0]->handle.index])->depth,
							   .groups = &all->groups,
							   .add = slot[0]->op == SKETCH_GROUPS ? add_groups : recount_groups };
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
 * Other requests are served between two slices.  A slice from a device that is not a peer needs
 * memory on both devices.  Without this memory, the merge ends, and the backend of the sketch
 * merges the rest.
 *
 * After any other error, the sketch may have only some of the slices, and must not be used.
 */

/* The next slice of a merge, of about merge_bytes bytes. */
static qs_slice
next_slice(const qs_params *p, uint64 at)
{
	uint64 units = qs_slice_units(p);
	uint64 bytes = qs_block_bytes(p) * p->n / units;
	uint64 count = Min(Max(gpu_device_ops->merge_bytes / bytes, 1), units - at);

	return (qs_slice){ at, count };
}

static GpuSketchMerged
merged_of(const GpuKeyed *k)
{
	return (GpuSketchMerged){ .begun = k->begun, .units = k->merged };
}

static void
end_merge(GpuKeyed *k)
{
	k->begun = false;
	k->merged = 0;
}

static qb_status
merge_slice(const GpuKeyed *k, const qs_cuda_sketch *from, int device, qs_slice units)
{
	qb_status status;

	do
		status = device_ops()->merge_slice(k->on_device, units, from, units);
	while (status == QB_NO_MEMORY && (GpuMakeRoom(k->device) || GpuMakeRoom(device)));
	return status;
}

/*
 * Merge the next slice of sketch "from", which is on "device" and has "params", into sketch "k".
 * *more becomes true if further slices follow.  After QB_NO_MEMORY, "begun" and "merged" say how
 * much was merged.
 */
static qb_status
merge_next(GpuKeyed *k, const qs_cuda_sketch *from, int device, const qs_params *params, bool *more)
{
	qb_status status = QB_OK;
	qs_slice units;

	if (!k->begun)
		GPU_WITH_ROOM(status, k->device,
					  device_ops()->merge_begin(k->on_device, params, device_ops()->total(from)));
	if (status != QB_OK)
		return status;
	k->begun = true;
	units = next_slice(params_of(k), k->merged);
	status = merge_slice(k, from, device, units);
	if (status != QB_OK)
		return status;
	k->merged += units.count;
	*more = k->merged < qs_slice_units(params_of(k));
	if (!*more)
		end_merge(k);
	return QB_OK;
}

/* Merge the next slice of a replica. */
static qb_status
merge_replica(GpuKeyed *into, void *from, int device, bool *more)
{
	return merge_next(into, from, device, params_of(into), more);
}

/*
 * Merge the next slice of another sketch.  If a device has no memory, the backend merges the rest.
 */
static qb_status
serve_merge(GpuKeyed *into, GpuSlot *slot)
{
	GpuKeyed *other = &gpu_keyed[slot->other.index];
	qb_status status = QB_NO_MEMORY;

	if (!into->begun)
		GpuCount(COUNT_MERGES, 1);
	if (other->on_device && !GpuKeyedIsFull(slot->handle.index) &&
		!GpuKeyedIsFull(slot->other.index))
		status = merge_next(into, other->on_device, other->device, params_of(other), &slot->more);
	GpuSketchShapeIn(slot)->merged = merged_of(into);
	if (status == QB_NO_MEMORY)
		GpuKeyedNoteFull(slot->handle.index);
	if (status != QB_OK)
		end_merge(into);
	return status;
}

/* The partition of this number; NULL: it is not on a device. */
static void *
partition(const GpuKeyed *k, int number)
{
	int device;

	if (number == 0)
		return k->on_device;
	if (k->joining && --number == 0)
		return k->joining;
	for (device = 0; device < GPU_DEVICES_MAX; device++)
		if (k->replica[device] && --number == 0)
			return k->replica[device];
	return NULL;
}

/* Make the sketch in the worker's memory dense, and copy its qs_sketch to *head. */
static qb_status
host_tables(Host *host, qs_sketch *head)
{
	qb_status status = QB_NO_MEMORY;

	if (host->sketch)
		status = host->sketch->encoding == QS_DENSE ? QB_OK : qs_make_dense(host->sketch);
	if (status == QB_OK)
		*head = *host->sketch;
	return status;
}

/*
 * Describe the tables of a partition to a backend that will read them.  The first piece of the
 * request lets the device prepare the tables.  Other requests are served meanwhile.
 */
static qb_status
serve_fetch(GpuKeyed *k, GpuSlot *slot)
{
	Host *host = &hosts[slot->handle.index];
	GpuSketchShape *shape = GpuSketchShapeIn(slot);
	void *there = partition(k, slot->count);
	qs_sketch head;
	qb_status status;

	if (there && slot->done == 0)
	{
		slot->done = 1;
		slot->more = true;
		return device_ops()->prepare_read(there);
	}
	GpuCount(COUNT_FETCHES, slot->count == 0);
	status = there ? device_ops()->freeze(there, &head) : host_tables(host, &head);
	if (status != QB_OK)
		return status;
	GpuShapeOf(shape, &head);
	shape->more = slot->count < k->replicas + (host->sketch != NULL);
	shape->merged = there && there == k->joining ? merged_of(k) : (GpuSketchMerged){ 0 };
	if (there == NULL)
		host->shape = *shape;
	return QB_OK;
}

/* Serve requests for pieces of one partition. */
static qb_status
serve_reads(const GpuKeyed *k, GpuSlot *const *slot, int count)
{
	const Host *host = &hosts[slot[0]->handle.index];
	void *there = partition(k, slot[0]->count);
	qs_cuda_piece piece[GPU_TOGETHER];

	if (there == NULL && (host->sketch == NULL || count > 1))
		return QB_NO_MEMORY;
	GpuPiecesOf(slot, count, piece);
	if (there)
		return device_ops()->read(there, piece, count);
	GpuReadPiece(host->sketch, &host->shape, piece->offset, piece->bytes, piece->to);
	return QB_OK;
}

/* ---- the handler ---- */

static qb_status
make(qs_cuda *gpu, const GpuShape *params, const void *from, void **created)
{
	qs_cuda_sketch **sketch = (qs_cuda_sketch **) created;

	return from ? device_ops()->load(gpu, from, sketch)
				: device_ops()->create(gpu, (const qs_params *) params->bytes, sketch);
}

static void
destroy(void *sketch)
{
	device_ops()->destroy(sketch);
}

static uint64
bytes_of(const void *sketch)
{
	return device_ops()->bytes(sketch);
}

static qb_status
insert(void *sketch, const uint64 *key, uint64 count)
{
	return device_ops()->insert_device(sketch, key, count);
}

static bool
gains_together(const void *sketch)
{
	return device_ops()->gains_together(sketch);
}

/* Serve a request, or several requests together. */
static qb_status
serve(GpuSlot *const *slot, int *count)
{
	static qb_status (*const one[])(GpuKeyed * k, GpuSlot * slot) = {
		[SKETCH_CREATE] = serve_create,       [SKETCH_LOAD] = serve_load,
		[SKETCH_WRITE] = serve_write,         [SKETCH_LOADED] = serve_loaded,
		[SKETCH_INSERT] = serve_insert,       [SKETCH_QUERY] = serve_query,
		[SKETCH_MERGE] = serve_merge,         [SKETCH_FETCH] = serve_fetch,
		[SKETCH_FREQUENT] = serve_frequent,   [SKETCH_COLLECT] = serve_collect,
		[SKETCH_COLLECTED] = serve_collected,
	};
	GpuKeyed *k = &gpu_keyed[slot[0]->handle.index];

	switch (slot[0]->op)
	{
		case SKETCH_COLUMN:
			return GpuKeyedServeColumns(slot, count, params_of(k)->depth);
		case SKETCH_SAMPLE:
		case SKETCH_RECOUNT:
			return serve_recount(slot, count);
		case SKETCH_GROUPS:
		case SKETCH_SAMPLE_GROUPS:
		case SKETCH_RECOUNT_GROUPS:
			return serve_groups(slot, count);
		case SKETCH_READ:
			return serve_reads(k, slot, *count);
		default:
			return *count > 1 ? serve_inserts(k, slot, count) : one[slot[0]->op](k, slot[0]);
	}
}

static void
drop_sketch(int index)
{
	GpuKeyedDrop(index);
	free_host_form(&hosts[index]);
}

/* True if the tables of a fetched sketch are ready on its device. */
static bool
is_ready(const GpuSlot *slot)
{
	void *there;

	if (slot->op != SKETCH_FETCH)
		return true;
	there = partition(&gpu_keyed[slot->handle.index], slot->count);
	return there == NULL || device_ops()->read_is_ready(there);
}

static const GpuKeyedOps ops = {
	.make = make,
	.destroy = destroy,
	.bytes = bytes_of,
	.insert = insert,
	.gains_together = gains_together,
	.merge = merge_replica,
	.serve = serve,
	.makes = 1 << SKETCH_CREATE | 1 << SKETCH_LOAD | 1 << SKETCH_WRITE | 1 << SKETCH_LOADED,
	.whole = 1 << SKETCH_MERGE | 1 << SKETCH_FETCH | 1 << SKETCH_READ,
	.grows = true,
};

/* Requests for the keys of chunks. */
#define OF_CHUNKS                                                                               \
	(1 << SKETCH_COLUMN | 1 << SKETCH_GROUPS | 1 << SKETCH_SAMPLE | 1 << SKETCH_SAMPLE_GROUPS | \
	 1 << SKETCH_RECOUNT | 1 << SKETCH_RECOUNT_GROUPS)

const GpuHandler gpu_sketch_handler = {
	.keyed = &ops,
	.serve = GpuKeyedServe,
	.serve_all = GpuKeyedServeAll,
	.together = 1 << SKETCH_INSERT | 1 << SKETCH_READ | OF_CHUNKS,
	.reads = 1 << SKETCH_QUERY | 1 << SKETCH_READ,
	.reads_other = OF_CHUNKS,
	.adds = OF_CHUNKS,
	.on_host = 1 << SKETCH_LOAD | 1 << SKETCH_WRITE,
	.chooses = 1 << SKETCH_CREATE | 1 << SKETCH_LOADED,
	.choose = GpuKeyedChoose,
	.is_ready = is_ready,
	.faulty = 1 << SKETCH_INSERT | 1 << SKETCH_QUERY | 1 << SKETCH_MERGE | 1 << SKETCH_COLUMN |
			  1 << SKETCH_GROUPS | 1 << SKETCH_RECOUNT | 1 << SKETCH_RECOUNT_GROUPS,
	.drop = drop_sketch,
	.location = GpuKeyedLocation,
};
