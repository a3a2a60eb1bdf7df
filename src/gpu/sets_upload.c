/*
 * sets_upload.c
 *		A backend's side of the GPU worker: collections there.
 *
 * A collection is posted in pieces; that they could not be stored shows when the
 * index is asked for.  Only element numbers go there: what they stand for stays
 * here.  Of two collections the numbers are those of all their elements
 * together.
 *
 * A stored collection may be kept there, named as stored sketches are, on each
 * device by a name of its own, and with its ids and the sizes of its sets, so
 * that who finds it need not read it.  The worker may drop it at any time.
 *
 * src/gpu/sets_upload.c
 */
#include "gpu/client.h"
#include "gpu/sets_client.h"
#include "gpu/wait.h"
#include "sets/format.h"

#include "utils/memutils.h"

/* ---- there ---- */

static void
ask_ids(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const GpuSketchUpload *upload = transfer->context;

	slot->offset = at;
	slot->count = (int) size;
	memcpy(GpuSlotData(slot), upload->collection->id + at, size * sizeof(int64));
}

static void
ask_offsets(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const GpuSketchUpload *upload = transfer->context;

	slot->offset = at;
	slot->count = (int) size;
	memcpy(GpuSlotData(slot), upload->collection->offset + at, size * sizeof(uint64));
}

static void
ask_elements(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const GpuSketchUpload *upload = transfer->context;
	const uint32 *rank = upload->collection->rank + at;
	uint32 *data = (uint32 *) GpuSlotData(slot);
	uint64 i;

	slot->offset = at;
	slot->count = (int) size;
	if (upload->number == NULL)
		memcpy(data, rank, size * sizeof(uint32));
	for (i = 0; upload->number && i < size; i++)
		data[i] = upload->number[rank[i]];
}

/* Post one of its arrays. */
static void
post_array(const GpuSketchUpload *upload, const GpuRef *ref, int op, uint64 count)
{
	GpuTransfer transfer = { .ref = ref, .op = op, .all = count, .context = (void *) upload };

	transfer.most = op == SETS_ELEMENTS ? GPU_SLOT_ELEMENTS : GPU_SLOT_OFFSETS;
	transfer.ask = op == SETS_IDS ? ask_ids : op == SETS_OFFSETS ? ask_offsets : ask_elements;
	GpuPostAll(&transfer);
}

static bool
create(const GpuSketchUpload *upload, int device, const GpuRef *ref)
{
	GpuSlot *slot = GpuTakeSlot(ref, SETS_CREATE, false);

	*(GpuSetsShape *) slot->shape.bytes = (GpuSetsShape){ .sets = upload->collection->sets,
														  .elements = upload->collection->elements,
														  .universe = upload->universe,
														  .device = device };
	return GpuAskOne(slot) == QB_OK;
}

static bool
make_index(const GpuRef *ref, double *ms)
{
	GpuSlot *slot = GpuTakeSlot(ref, SETS_INDEX, false);
	qb_status status;

	GpuAsk(slot);
	GpuAwait(slot);
	status = slot->gone ? QB_NO_MEMORY : slot->status;
	*ms += ((const GpuSetsReply *) slot->shape.bytes)->ms;
	GpuDone(slot);
	return status == QB_OK;
}

bool
GpuSetsUpload(const GpuSketchUpload *upload, int device, GpuRef *ref, double *index_ms)
{
	const qset_collection *c = upload->collection;

	if (!GpuNewEntry(GPU_FAMILY_SETS, ref) || !create(upload, device, ref))
		return false;
	if (upload->ids)
		post_array(upload, ref, SETS_IDS, c->sets);
	post_array(upload, ref, SETS_OFFSETS, c->sets + 1);
	post_array(upload, ref, SETS_ELEMENTS, c->elements);
	return !upload->index || make_index(ref, index_ms);
}

bool
GpuSetsCopy(const GpuRef *from, int device, GpuRef *ref)
{
	GpuSlot *slot;

	if (!GpuNewEntry(GPU_FAMILY_SETS, ref))
		return false;
	slot = GpuTakeSlot(ref, SETS_COPY, false);
	slot->other = *from;
	*(GpuSetsShape *) slot->shape.bytes = (GpuSetsShape){ .device = device };
	return GpuAskOne(slot) == QB_OK;
}

/* ---- kept there ---- */

const GpuStored gpu_stored_sets = {
	.family = GPU_FAMILY_SETS,
	.header_bytes = QSET_HEADER_BYTES,
};

/* Names of stored values leave the upper half of this word free. */
static StoredName
name_on(const StoredName *name, int device)
{
	StoredName key = *name;

	key.id[1] |= (uint64) (device + 1) << 32;
	return key;
}

bool
GpuSetsFind(const StoredName *name, int device, GpuRef *ref)
{
	StoredName key = name_on(name, device);

	return GpuFindCached(&key, ref, NULL);
}

void
GpuSetsKeep(const StoredName *name, int device, const GpuRef *ref)
{
	StoredName key = name_on(name, device);

	GpuPublishEntry(ref, &key);
}

static void
ask_piece(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	slot->offset = at;
	slot->count = (int) size;
}

static void
take_piece(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	memcpy((uint64 *) transfer->context + at, GpuSlotData(slot), size * sizeof(uint64));
}

static bool
get_array(const GpuRef *ref, int op, uint64 count, void *to)
{
	GpuTransfer transfer = { .ref = ref,
							 .op = op,
							 .all = count,
							 .most = GPU_SLOT_OFFSETS,
							 .ask = ask_piece,
							 .take = take_piece,
							 .context = to };

	return GpuAskAll(&transfer);
}

bool
GpuSetsDescribe(const GpuRef *ref, GpuKept *kept)
{
	kept->offset = MemoryContextAllocHuge(CurrentMemoryContext, (kept->sets + 1) * sizeof(uint64));
	kept->id = MemoryContextAllocHuge(CurrentMemoryContext, (kept->sets + 1) * sizeof(int64));
	return get_array(ref, SETS_GET_OFFSETS, kept->sets + 1, kept->offset) &&
		   get_array(ref, SETS_GET_IDS, kept->sets, kept->id);
}
