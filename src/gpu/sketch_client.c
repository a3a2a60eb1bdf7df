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

/* Tables on their way to the worker, or back. */
typedef struct Tables
{
	GpuSketchShape shape;
	const qs_sketch *from;
	qs_sketch *to;
} Tables;

static void
ask_tables(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Tables *tables = transfer->context;

	slot->offset = at;
	slot->bytes = size;
	if (tables->from)
		GpuReadPiece(tables->from, &tables->shape, at, size, GpuSlotData(slot));
}

static void
take_tables(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Tables *tables = transfer->context;

	GpuWritePiece(tables->to, &tables->shape, at, size, GpuSlotData(slot));
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

/* Learn the shape of the worker's tables, which take no more keys then. */
static qb_status
fetch_shape(const GpuRef *ref, GpuSketchShape *shape)
{
	GpuShape reply;
	qb_status status = GpuFetchShape(GpuTakeSlot(ref, SKETCH_FETCH, false), &reply);

	memcpy(shape, &reply, sizeof(*shape));
	return status;
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

qb_status
GpuSketchDownload(const GpuRef *ref, qs_sketch *sk)
{
	Tables tables = { .to = sk };
	GpuTransfer transfer = { .ref = ref,
							 .op = SKETCH_READ,
							 .most = GPU_SLOT_BYTES,
							 .ask = ask_tables,
							 .take = take_tables,
							 .context = &tables };
	qb_status status = fetch_shape(ref, &tables.shape);

	if (status == QB_OK)
		status = tables_to_fill(sk, &tables.shape);
	transfer.all = GpuShapeBytes(&tables.shape);
	if (status == QB_OK && !GpuAskAll(&transfer))
		GpuRaiseLost();
	return status;
}
