/*
 * sketch_client.c
 *		A backend's requests for sketches to the GPU worker.
 *
 * Keys and pieces of tables are posted.  Errors of posted requests show only in the reply to a
 * later request.  All other requests wait for their replies.
 *
 * src/gpu/sketch_client.c
 */
#include "gpu/sketch_gpu.h"

#include "pgbase/memory.h"
#include "sketch/merge.h"

/* ---- pieces of the tables of a sketch, as slots carry them ---- */

void
GpuShapeOf(GpuSketchShape *shape, const qs_sketch *sk)
{
	uint64 extra = qs_extra_bytes(&sk->params, sk->wide);

	Assert(sk->encoding == QS_DENSE);
	shape->params = sk->params;
	shape->total = sk->total;
	shape->wide = sk->wide;
	shape->table_bytes = sk->table ? qs_table_bytes(&sk->params, sk->wide) : 0;
	shape->extra_used = sk->extra_used;
	shape->extra_bytes = sk->ops->live_extra ? extra * sk->extra_used : extra;
	if (sk->extra == NULL)
		shape->extra_bytes = 0;
}

/* Allocate memory for exactly the high buckets of a multilevel sketch. */
static qb_status
make_extra(qs_sketch *sk, const GpuSketchShape *shape)
{
	if (sk->extra)
		sk->memory->release(sk->memory->context, sk->extra);
	sk->extra = NULL;
	sk->extra_used = sk->extra_room = 0;
	if (shape->extra_bytes == 0)
		return QB_OK;
	sk->extra = sk->memory->alloc(sk->memory->context, shape->extra_bytes);
	if (sk->extra == NULL)
		return QB_NO_MEMORY;
	sk->extra_used = sk->extra_room = shape->extra_used;
	return QB_OK;
}

qb_status
GpuSketchMakeTables(qs_sketch *sk, const GpuSketchShape *shape)
{
	qb_status status = qs_start_dense(sk, shape->wide);

	if (status == QB_OK && sk->ops->live_extra)
		status = make_extra(sk, shape);
	sk->total = shape->total;
	return status;
}

/*
 * The number of bytes of a piece that are in the table.  The remaining bytes are in the extra
 * table.
 */
static uint64
bytes_in_table(const GpuSketchShape *shape, uint64 offset, uint64 bytes)
{
	return offset < shape->table_bytes ? Min(bytes, shape->table_bytes - offset) : 0;
}

void
GpuReadPiece(const qs_sketch *sk, const GpuSketchShape *shape, uint64 offset, uint64 bytes,
			 uint8 *to)
{
	uint64 in_table = bytes_in_table(shape, offset, bytes);

	if (in_table > 0)
		memcpy(to, sk->table + offset, in_table);
	if (bytes > in_table)
		memcpy(to + in_table, sk->extra + (offset + in_table - shape->table_bytes),
			   bytes - in_table);
}

void
GpuWritePiece(qs_sketch *sk, const GpuSketchShape *shape, uint64 offset, uint64 bytes,
			  const uint8 *from)
{
	uint64 in_table = bytes_in_table(shape, offset, bytes);

	if (in_table > 0)
		memcpy(sk->table + offset, from, in_table);
	if (bytes > in_table)
		memcpy(sk->extra + (offset + in_table - shape->table_bytes), from + in_table,
			   bytes - in_table);
}

/* ---- calls ---- */

/* Sketches that are being created. */
typedef struct Creating
{
	const qs_params *params;
	int device;
	bool *created;
} Creating;

static void
ask_create(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Creating *creating = transfer->context;

	slot->count = creating->device;
	GpuSketchShapeIn(slot)->params = *creating->params;
}

static void
take_created(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	((const Creating *) transfer->context)->created[at] = GpuIsAnswer(slot);
}

void
GpuSketchCreateAll(const qs_params *params, int device, uint32 count, GpuRef *ref, bool *created)
{
	Creating creating = { .params = params, .device = device, .created = created };
	GpuTransfer transfer = { .ref = ref,
							 .each = true,
							 .op = SKETCH_CREATE,
							 .all = count,
							 .most = 1,
							 .ask = ask_create,
							 .take = take_created,
							 .all_replies = true,
							 .context = &creating };
	uint32 i;

	memset(created, 0, count * sizeof(bool));
	for (i = 0; i < count; i++)
		if (!GpuNewHandle(GPU_FAMILY_SKETCH, &ref[i]))
			ref[i].serial = 0;
	(void) GpuAskAll(&transfer);
	for (i = 0; i < count; i++)
		if (!created[i])
			GpuDropHandle(&ref[i]);
}

/* Tables that are being sent to the worker. */
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
GpuSketchUpload(const qs_sketch *sk, int device, GpuRef *ref)
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
	if (!GpuMake(GPU_FAMILY_SKETCH, SKETCH_LOAD, 0, &tables.shape, sizeof(tables.shape), ref))
		return false;
	send_tables(&tables, ref);
	slot = GpuTakeSlot(ref, SKETCH_LOADED, false);
	slot->count = device;
	done = GpuAskOne(slot, NULL, 0) == QB_OK;
	if (!done)
		GpuDropHandle(ref);
	return done;
}

static bool
load_stored(const void *sketch, GpuRef *ref)
{
	return GpuSketchUpload(sketch, -1, ref);
}

const GpuStored gpu_stored_sketches = {
	.family = GPU_FAMILY_SKETCH,
	.header_bytes = QS_HEADER_BYTES,
	.load = load_stored,
};

qb_status
GpuSketchMergeInto(const GpuRef *ref, const GpuRef *other, GpuSketchMerged *merged)
{
	GpuSlot *slot = GpuTakeSlot(ref, SKETCH_MERGE, false);
	GpuSketchShape shape;
	qb_status status;

	slot->other = *other;
	status = GpuFetchOne(slot, &shape, sizeof(shape));
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

/* Tables that a backend fetches. */
typedef struct Returning
{
	qs_sketch *to;
	GpuSketchShape shape;
	int number;       /* number of the partition */
	qb_status status; /* status of allocating the tables in this process */
	bool gone;
	uint64 pieces;
	GpuRemote *next; /* sketch whose shape is requested after the last piece; or NULL */
} Returning;

static void
ask_piece(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Returning *returning = transfer->context;

	if (at == returning->pieces)
	{
		slot->handle = returning->next->handle.ref;
		slot->op = SKETCH_FETCH;
		slot->count = 0;
		return;
	}
	slot->count = returning->number;
	slot->offset = at * GPU_SLOT_BYTES;
	slot->bytes = Min(GpuShapeBytes(&returning->shape) - slot->offset, GPU_SLOT_BYTES);
}

/*
 * Make tables of this shape.  The tables are not initialized, because pieces will fill all bytes.
 */
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

/*
 * Write a piece into the tables, or store the shape of the next sketch, which follows the last
 * piece.  The tables are allocated with the first piece, while the worker copies the next pieces.
 */
static void
take_piece(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	Returning *returning = transfer->context;
	bool good = GpuIsAnswer(slot);

	if (at == returning->pieces)
	{
		returning->next->described = good;
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
	return GpuFetchOne(slot, shape, sizeof(*shape));
}

/* Read the tables of the partition that returning->shape describes. */
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
		GpuRaiseFailure();
	return returning->status;
}

/* Fetch a further partition, and merge it into "sk".  *shape becomes the partition's shape. */
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

/*
 * True if the worker has described the tables, and no key was added afterwards.  Each key changes
 * the total.
 */
static bool
is_described(const GpuRemote *remote, const qs_sketch *sk)
{
	return remote->described && remote->shape.total == sk->total;
}

qb_status
GpuSketchFetch(const qs_sketch *sk, qs_sketch *here)
{
	GpuRemote *remote = sk->remote;
	const GpuRef *ref = &remote->handle.ref;
	GpuSketchShape shape = remote->shape;
	qb_status status = is_described(remote, sk) ? QB_OK : ask_partition(ref, 0, &shape);
	Returning returning = { .to = here, .shape = shape };
	int number;

	if (remote->next && !remote->next->in_transfer)
		returning.next = remote->next;
	if (status == QB_OK)
		status = download(ref, &returning);
	for (number = 1; status == QB_OK && shape.more; number++)
		status = add_partition(ref, number, &shape, here);
	return status;
}
