/*
 * sketch_client.c
 *		A backend's side of the GPU worker: sketches there, and calls.
 *
 * Keys and merges are posted: their errors show when the sketch is fetched.  All
 * other requests wait for their replies.
 *
 * src/gpu/sketch_client.c
 */
#include "gpu/sketch_client.h"
#include "gpu/client.h"
#include "gpu/column_client.h"
#include "gpu/sketch_gpu.h"
#include "gpu/sketch_tables.h"
#include "gpu/wait.h"

#include "pgbase/memory.h"

bool
GpuSketchCreate(const qs_params *params, GpuRef *ref)
{
	GpuSlot *slot;

	if (!GpuNewEntry(GPU_FAMILY_SKETCH, ref))
		return false;
	slot = GpuTakeSlot(ref, SKETCH_CREATE, false);
	GpuSketchShapeIn(slot)->params = *params;
	if (GpuAskOne(slot) == QB_OK)
		return true;
	GpuDropEntry(ref);
	return false;
}

/* Sketches that are being made. */
typedef struct Creating
{
	const qs_params *params;
	const GpuRef *ref;
	const uint32 *place; /* of each request among them */
	bool *made;
} Creating;

static void
ask_create(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Creating *creating = transfer->context;

	slot->entry = creating->ref[creating->place[at]];
	GpuSketchShapeIn(slot)->params = *creating->params;
}

static void
take_created(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Creating *creating = transfer->context;

	creating->made[creating->place[at]] = !slot->gone && slot->status == QB_OK;
}

void
GpuSketchCreateAll(const qs_params *params, uint32 count, GpuRef *ref, bool *made)
{
	uint32 *place = palloc(count * sizeof(uint32));
	Creating creating = { .params = params, .ref = ref, .place = place, .made = made };
	GpuTransfer transfer = { .op = SKETCH_CREATE,
							 .most = 1,
							 .ask = ask_create,
							 .take = take_created,
							 .all_replies = true,
							 .context = &creating };
	uint32 i;

	memset(made, 0, count * sizeof(bool));
	for (i = 0; i < count; i++)
		if (GpuNewEntry(GPU_FAMILY_SKETCH, &ref[i]))
			place[transfer.all++] = i;
	if (transfer.all > 0)
	{
		transfer.ref = &ref[place[0]];
		(void) GpuAskAll(&transfer);
	}
	for (i = 0; i < transfer.all; i++)
		if (!made[place[i]])
			GpuDropEntry(&ref[place[i]]);
	pfree(place);
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
	if (!GpuNewEntry(GPU_FAMILY_SKETCH, ref))
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
		GpuDropEntry(ref);
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
GpuSketchSendColumn(const GpuRef *ref, const GpuColumnPart *part, int parts)
{
	return GpuColumnSend(ref, SKETCH_COLUMN, part, parts);
}

/* Parts of a column on their way to the sketches of groups. */
typedef struct GroupParts
{
	const GpuColumnPart *part;
	GpuGroupSketches *all;
} GroupParts;

static void
ask_groups(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const GroupParts *parts = transfer->context;
	GpuSketchGroups *wanted = (GpuSketchGroups *) GpuSlotData(slot);

	slot->other = parts->part[at].ref;
	slot->offset = 0;
	GpuColumnWant(slot, &parts->part[at]);
	wanted->all = *parts->all;
	memset(wanted->all.added, 0, sizeof(wanted->all.added));
}

static void
take_groups(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const GroupParts *parts = transfer->context;
	const GpuSketchGroups *reply = (const GpuSketchGroups *) GpuSlotData(slot);
	uint32 i;

	if (slot->gone || slot->status != QB_OK)
		return;
	for (i = 0; i < parts->all->groups.count; i++)
		parts->all->added[i] += reply->all.added[i];
	memset(parts->part[at].pages, 0, sizeof(GpuPages));
}

void
GpuSketchSendGroups(GpuGroupSketches *all, const GpuColumnPart *part, int parts)
{
	GroupParts list = { .part = part, .all = all };
	GpuTransfer transfer = { .ref = &all->sketch[0],
							 .op = SKETCH_GROUPS,
							 .all = parts,
							 .most = 1,
							 .ask = ask_groups,
							 .take = take_groups,
							 .all_replies = true,
							 .context = &list };

	memset(all->added, 0, sizeof(all->added));
	(void) GpuAskAll(&transfer);
}

void
GpuSketchMergeInto(const GpuRef *ref, const GpuRef *other)
{
	GpuSlot *slot = GpuTakeSlot(ref, SKETCH_MERGE, false);

	slot->other = *other;
	GpuPost(slot);
}

qb_status
GpuSketchTotal(const GpuRef *ref, int64 *total)
{
	GpuShape reply;
	GpuSketchShape shape;
	qb_status status = GpuFetchShape(GpuTakeSlot(ref, SKETCH_TOTAL, false), &reply);

	memcpy(&shape, &reply, sizeof(shape));
	*total = shape.total;
	return status;
}

/* Ask for the shapes of the worker's tables, which take no more keys then. */
static void
ask_shape(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const GpuReturning *list = transfer->context;

	slot->entry = list[at].ref;
}

static void
take_shape(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	GpuReturning *list = transfer->context;

	list[at].shape = *GpuSketchShapeIn(slot);
	list[at].gone = slot->gone;
	list[at].status = slot->gone ? QB_NO_MEMORY : slot->status;
}

/* Pieces of the tables of a sketch that comes back. */
static uint64
pieces_of(const GpuReturning *returning)
{
	if (returning->status != QB_OK)
		return 0;
	return (GpuShapeBytes(&returning->shape) + GPU_SLOT_BYTES - 1) / GPU_SLOT_BYTES;
}

/* The sketch that a piece belongs to; "*at" becomes the number of the piece in it. */
static const GpuReturning *
find_piece(const GpuReturning *list, uint64 *at)
{
	for (; *at >= pieces_of(list); list++)
		*at -= pieces_of(list);
	return list;
}

static void
ask_piece(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const GpuReturning *returning = find_piece(transfer->context, &at);

	slot->entry = returning->ref;
	slot->offset = at * GPU_SLOT_BYTES;
	slot->bytes = Min(GpuShapeBytes(&returning->shape) - slot->offset, GPU_SLOT_BYTES);
}

static void
take_piece(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const GpuReturning *returning = find_piece(transfer->context, &at);

	GpuWritePiece(returning->sk, &returning->shape, slot->offset, slot->bytes, GpuSlotData(slot));
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

void
GpuSketchDownloadAll(GpuReturning *list, int count)
{
	GpuTransfer shapes = { .ref = &list[0].ref,
						   .op = SKETCH_FETCH,
						   .all = count,
						   .most = 1,
						   .ask = ask_shape,
						   .take = take_shape,
						   .all_replies = true,
						   .context = list };
	GpuTransfer pieces = { .ref = &list[0].ref,
						   .op = SKETCH_READ,
						   .most = 1,
						   .ask = ask_piece,
						   .take = take_piece,
						   .context = list };
	int i;

	(void) GpuAskAll(&shapes);
	for (i = 0; i < count; i++)
	{
		if (list[i].status == QB_OK)
			list[i].status = tables_to_fill(list[i].sk, &list[i].shape);
		pieces.all += pieces_of(&list[i]);
	}
	if (!GpuAskAll(&pieces))
		GpuRaiseLost();
}

qb_status
GpuSketchDownload(const GpuRef *ref, qs_sketch *sk)
{
	GpuReturning returning = { .ref = *ref, .sk = sk };

	GpuSketchDownloadAll(&returning, 1);
	if (returning.gone)
		GpuRaiseLost();
	return returning.status;
}
