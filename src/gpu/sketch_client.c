/*
 * sketch_client.c
 *		A backend's side of the GPU worker: sketches there, and calls.
 *
 * Keys are posted: their errors show when the sketch is fetched.  All other requests
 * wait for their replies.
 *
 * src/gpu/sketch_client.c
 */
#include "gpu/sketch_client.h"
#include "gpu/client.h"
#include "gpu/column_client.h"
#include "gpu/sketch_gpu.h"

#include "pgbase/memory.h"
#include "sketch/merge.h"

bool
GpuSketchCreate(const qs_params *params, int device, GpuRef *ref)
{
	GpuSlot *slot;

	if (!GpuNewHandle(GPU_FAMILY_SKETCH, ref))
		return false;
	slot = GpuTakeSlot(ref, SKETCH_CREATE, false);
	slot->count = device;
	GpuSketchShapeIn(slot)->params = *params;
	if (GpuAskOne(slot) == QB_OK)
		return true;
	GpuDropHandle(ref);
	return false;
}

/* Sketches that are being made. */
typedef struct Creating
{
	const qs_params *params;
	int device;
	bool *made;
} Creating;

static void
ask_create(const GpuEach *each, GpuSlot *slot, uint32 i)
{
	const Creating *creating = each->context;

	slot->count = creating->device;
	GpuSketchShapeIn(slot)->params = *creating->params;
}

static void
take_created(const GpuEach *each, const GpuSlot *slot, uint32 i)
{
	((const Creating *) each->context)->made[i] = true;
}

void
GpuSketchCreateAll(const qs_params *params, int device, uint32 count, GpuRef *ref, bool *made)
{
	Creating creating = { .params = params, .device = device, .made = made };
	GpuEach each = { .ref = ref,
					 .count = count,
					 .op = SKETCH_CREATE,
					 .ask = ask_create,
					 .take = take_created,
					 .context = &creating };
	uint32 i;

	memset(made, 0, count * sizeof(bool));
	for (i = 0; i < count; i++)
		if (!GpuNewHandle(GPU_FAMILY_SKETCH, &ref[i]))
			ref[i].serial = 0;
	GpuAskEach(&each);
	for (i = 0; i < count; i++)
		if (!made[i] && ref[i].serial != 0)
			GpuDropHandle(&ref[i]);
}

/* Tables on their way to the worker. */
typedef struct Tables
{
	GpuSketchShape shape;
	const qs_sketch *from;
} Tables;

static void
ask_tables(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Tables *tables = transfer->context;

	slot->offset = at;
	slot->bytes = size;
	GpuReadPiece(tables->from, &tables->shape, at, size, GpuSlotData(slot));
}

static void
send_tables(Tables *tables, const GpuRef *ref)
{
	GpuTransfer transfer = { .ref = ref,
							 .op = SKETCH_WRITE,
							 .all = GpuShapeBytes(&tables->shape),
							 .most = GPU_SLOT_BYTES,
							 .ask = ask_tables,
							 .context = tables };

	GpuPostAll(&transfer);
}

bool
GpuSketchUpload(const qs_sketch *sk, GpuRef *ref)
{
	Tables tables = { .from = sk };
	GpuSlot *slot;
	bool done;

	GpuShapeOf(&tables.shape, sk);
	if (qs_has_fat(sk->params.structure))
	{
		tables.shape.params.part = QS_PART_DEVICE;
		tables.shape.extra_bytes = 0;
	}
	if (!GpuNewHandle(GPU_FAMILY_SKETCH, ref))
		return false;
	slot = GpuTakeSlot(ref, SKETCH_LOAD, false);
	*GpuSketchShapeIn(slot) = tables.shape;
	done = GpuAskOne(slot) == QB_OK;
	if (done)
	{
		send_tables(&tables, ref);
		done = GpuAskOne(GpuTakeSlot(ref, SKETCH_LOADED, false)) == QB_OK;
	}
	if (!done)
		GpuDropHandle(ref);
	return done;
}

static bool
load_stored(const void *sketch, GpuRef *ref)
{
	return GpuSketchUpload(sketch, ref);
}

const GpuStored gpu_stored_sketches = {
	.family = GPU_FAMILY_SKETCH,
	.header_bytes = QS_HEADER_BYTES,
	.load = load_stored,
};

void
GpuSketchSend(const GpuRef *ref, const uint64 *key, const int64 *weight, size_t count)
{
	GpuPostKeys(ref, SKETCH_INSERT, key, weight, count);
}

int64
GpuSketchSendColumn(const GpuRef *ref, const GpuColumnChunk *chunk, int chunks)
{
	return GpuColumnSend(ref, SKETCH_COLUMN, chunk, chunks);
}

/* Chunks of a column on their way to the sketches of groups. */
typedef struct GroupParts
{
	const GpuColumnChunk *chunk;
	GpuGroupSketches *all;
} GroupParts;

static void
ask_groups(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const GroupParts *chunks = transfer->context;
	GpuSketchGroups *wanted = (GpuSketchGroups *) GpuSlotData(slot);

	slot->other = chunks->chunk[at].ref;
	slot->offset = 0;
	GpuColumnWant(slot, &chunks->chunk[at]);
	wanted->all = *chunks->all;
	memset(wanted->all.added, 0, sizeof(wanted->all.added));
}

static void
take_groups(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const GroupParts *chunks = transfer->context;
	const GpuSketchGroups *reply = (const GpuSketchGroups *) GpuSlotData(slot);
	uint32 i;

	if (slot->gone || slot->status != QB_OK)
		return;
	for (i = 0; i < chunks->all->groups.count; i++)
		chunks->all->added[i] += reply->all.added[i];
	memset(chunks->chunk[at].pages, 0, sizeof(GpuPages));
}

void
GpuSketchSendGroups(GpuGroupSketches *all, const GpuColumnChunk *chunk, int chunks)
{
	GroupParts list = { .chunk = chunk, .all = all };
	GpuTransfer transfer = { .ref = &all->sketch[0],
							 .op = SKETCH_GROUPS,
							 .all = chunks,
							 .most = 1,
							 .ask = ask_groups,
							 .take = take_groups,
							 .all_replies = true,
							 .context = &list };

	memset(all->added, 0, sizeof(all->added));
	(void) GpuAskAll(&transfer);
}

/* Ask for the shape of a sketch that cannot be made anew. */
static qb_status
ask_shape(GpuSlot *slot, GpuSketchShape *shape)
{
	GpuShape reply;
	qb_status status = GpuFetchShape(slot, &reply);

	memcpy(shape, &reply, sizeof(*shape));
	return status;
}

qb_status
GpuSketchMergeInto(const GpuRef *ref, const GpuRef *other, GpuSketchMerged *merged)
{
	GpuSlot *slot = GpuTakeSlot(ref, SKETCH_MERGE, false);
	GpuSketchShape shape;
	qb_status status;

	slot->other = *other;
	status = ask_shape(slot, &shape);
	*merged = shape.merged;
	return status;
}

qb_status
GpuSketchMergeRest(qs_sketch *into, const qs_sketch *from, const GpuSketchMerged *merged)
{
	qs_slice rest = { merged->units, qs_slice_units(&into->params) - merged->units };

	if (!merged->begun)
		return qs_merge(into, from);
	return qs_merge_slice(into, rest, from, rest);
}

/* Tables on their way to a backend. */
typedef struct Returning
{
	qs_sketch *to;
	GpuSketchShape shape;
	int number;       /* of the partition */
	qb_status status; /* of the tables here */
	bool gone;
	uint64 pieces;
	GpuSketchAhead *next; /* its shape is asked for behind the last piece */
} Returning;

static void
ask_piece(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Returning *returning = transfer->context;

	if (at == returning->pieces)
	{
		slot->handle = returning->next->ref;
		slot->op = SKETCH_FETCH;
		slot->count = 0;
		return;
	}
	slot->count = returning->number;
	slot->offset = at * GPU_SLOT_BYTES;
	slot->bytes = Min(GpuShapeBytes(&returning->shape) - slot->offset, GPU_SLOT_BYTES);
}

/* Tables for all bytes of this shape, which are to be read; their memory has any contents. */
static qb_status
tables_to_fill(qs_sketch *sk, const GpuSketchShape *shape)
{
	const qb_memory *memory = sk->memory;
	qb_memory to_fill;
	qb_status status;

	Assert(!qs_has_fat(sk->params.structure));
	sk->memory = MemoryToFill(memory, &to_fill);
	status = GpuSketchMakeTables(sk, shape);
	sk->memory = memory;
	return status;
}

/* Memory is made while the worker copies the next pieces. */
static void
take_piece(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	Returning *returning = transfer->context;
	bool good = !slot->gone && slot->status == QB_OK;

	if (at == returning->pieces)
	{
		returning->next->known = good;
		returning->next->shape = *GpuSketchShapeIn(slot);
		return;
	}
	if (at == 0)
		returning->status = tables_to_fill(returning->to, &returning->shape);
	returning->gone |= !good;
	if (good && returning->status == QB_OK)
		GpuWritePiece(returning->to, &returning->shape, slot->offset, slot->bytes,
					  GpuSlotData(slot));
}

static qb_status
ask_partition(const GpuRef *ref, int number, GpuSketchShape *shape)
{
	GpuSlot *slot = GpuTakeSlot(ref, SKETCH_FETCH, false);

	slot->count = number;
	return ask_shape(slot, shape);
}

/* Read the tables of a partition that was described. */
static qb_status
download(const GpuRef *ref, Returning *returning)
{
	GpuTransfer transfer = { .ref = ref,
							 .op = SKETCH_READ,
							 .most = 1,
							 .ask = ask_piece,
							 .take = take_piece,
							 .all_replies = true,
							 .context = returning };

	returning->to->params = returning->shape.params;
	returning->pieces = (GpuShapeBytes(&returning->shape) + GPU_SLOT_BYTES - 1) / GPU_SLOT_BYTES;
	transfer.all = returning->pieces + (returning->next ? 1 : 0);
	(void) GpuAskAll(&transfer);
	if (returning->gone)
		GpuRaiseLost();
	return returning->status;
}

/* Fetch a further partition and merge it; "shape" is that of the one before, and then its own. */
static qb_status
add_partition(const GpuRef *ref, int number, GpuSketchShape *shape, qs_sketch *sk)
{
	qs_sketch chunk;
	Returning returning = { .to = &chunk, .number = number };
	qb_status status = ask_partition(ref, number, shape);

	if (status != QB_OK)
		return status;
	qs_init(&chunk, &shape->params, sk->memory);
	chunk.keys = sk->keys;
	returning.shape = *shape;
	status = download(ref, &returning);
	if (status == QB_OK)
		status = GpuSketchMergeRest(sk, &chunk, &shape->merged);
	qs_free(&chunk);
	return status;
}

qb_status
GpuSketchDownload(const GpuSketchAhead *from, GpuSketchAhead *next, qs_sketch *sk)
{
	GpuSketchShape shape = from->shape;
	qb_status status = from->known ? QB_OK : ask_partition(&from->ref, 0, &shape);
	Returning returning = { .to = sk, .shape = shape, .next = next };
	int number;

	if (status == QB_OK)
		status = download(&from->ref, &returning);
	for (number = 1; status == QB_OK && shape.more; number++)
		status = add_partition(&from->ref, number, &shape, sk);
	return status;
}
