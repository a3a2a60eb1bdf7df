/*
 * sets_upload.c
 *		A backend's side of the GPU worker: collections on a device, and a search
 *		in them.
 *
 * A backend posts a collection in pieces.  If the worker could not store them, the
 * request for the index fails.  Only numbers of elements go to the worker: what they
 * stand for stays here.  Two collections share one numbering of their elements.
 *
 * The worker may keep a stored collection, on each device by a name of its own
 * (client.c).  It then keeps the ids and the sizes of the sets, too, so that a
 * backend that finds the collection need not read it.  The worker may drop the
 * collection at any time.
 *
 * src/gpu/sets_upload.c
 */
#include "gpu/client.h"
#include "gpu/sets_client.h"
#include "sets/format.h"

#include "utils/memutils.h"

/* ---- to a device ---- */

/* A collection on its way. */
typedef struct Upload
{
	const qset_collection *collection;
	const uint32 *number; /* of its elements, by rank; NULL: their ranks */
	uint64 universe;      /* numbers */
	bool ids;             /* with its ids, for a backend that finds it kept */
	bool index;           /* it has columns */
} Upload;

/* A piece of the ids, or of the offsets. */
static void
ask_words(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const qset_collection *c = ((const Upload *) transfer->context)->collection;
	const void *from =
		transfer->op == SETS_IDS ? (const void *) (c->id + at) : (const void *) (c->offset + at);

	slot->offset = at;
	slot->count = (int) size;
	memcpy(GpuSlotData(slot), from, size * sizeof(uint64));
}

static void
ask_elements(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Upload *upload = transfer->context;
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
post_array(const Upload *upload, const GpuRef *ref, int op, uint64 count)
{
	GpuTransfer transfer = { .ref = ref, .op = op, .all = count, .context = (void *) upload };

	transfer.most = op == SETS_ELEMENTS ? GPU_SLOT_ELEMENTS : GPU_SLOT_OFFSETS;
	transfer.ask = op == SETS_ELEMENTS ? ask_elements : ask_words;
	GpuPostAll(&transfer);
}

static bool
create(const Upload *upload, int device, const GpuRef *ref)
{
	GpuSlot *slot = GpuTakeSlot(ref, SETS_CREATE, false);

	*(GpuSetsShape *) slot->shape.bytes = (GpuSetsShape){ .sets = upload->collection->sets,
														  .elements = upload->collection->elements,
														  .universe = upload->universe,
														  .device = device };
	return GpuAskOne(slot) == QB_OK;
}

/* Ask for something with one reply, and take it; false: no memory, or the value is gone. */
static bool
ask_reply(const GpuRef *ref, int op, GpuSetsReply *reply)
{
	GpuShape shape;
	qb_status status = GpuAskShape(GpuTakeSlot(ref, op, false), &shape);

	*reply = *(const GpuSetsReply *) shape.bytes;
	return status == QB_OK;
}

static bool
make_index(const GpuRef *ref, double *ms)
{
	GpuSetsReply reply;
	bool done = ask_reply(ref, SETS_INDEX, &reply);

	*ms += reply.ms;
	return done;
}

/* Make a handle of a collection; "index_ms" grows by what its index took. */
static bool
make_collection(const Upload *upload, int device, GpuRef *ref, double *index_ms)
{
	const qset_collection *c = upload->collection;

	if (!GpuNewHandle(GPU_FAMILY_SETS, ref) || !create(upload, device, ref))
		return false;
	if (upload->ids)
		post_array(upload, ref, SETS_IDS, c->sets);
	post_array(upload, ref, SETS_OFFSETS, c->sets + 1);
	post_array(upload, ref, SETS_ELEMENTS, c->elements);
	return !upload->index || make_index(ref, index_ms);
}

/* Copy a collection of a device to another one. */
static bool
copy_collection(const GpuRef *from, int device, GpuRef *ref)
{
	GpuSlot *slot;

	if (!GpuNewHandle(GPU_FAMILY_SETS, ref))
		return false;
	slot = GpuTakeSlot(ref, SETS_COPY, false);
	slot->other = *from;
	*(GpuSetsShape *) slot->shape.bytes = (GpuSetsShape){ .device = device };
	return GpuAskOne(slot) == QB_OK;
}

/* ---- kept on a device ---- */

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

	GpuPublishHandle(ref, &key);
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

/* ---- a search on a device ---- */

/* The device with the least memory in use. */
static int
choose_device(void)
{
	int best = 0;
	int i;

	for (i = 1; i < gpu_shared->device_count; i++)
		if (pg_atomic_read_u64(&gpu_shared->device[i].memory_used) <
			pg_atomic_read_u64(&gpu_shared->device[best].memory_used))
			best = i;
	return best;
}

/* Both of two collections, with common numbers. */
static bool
make_both(GpuReplica *replica, const qset_request *r, double *index_ms)
{
	Upload a = { .collection = r->rows };
	Upload b = { .collection = r->columns, .index = true };
	uint32 *number_a = qset_alloc(r->memory, r->rows->universe, sizeof(uint32));
	uint32 *number_b = qset_alloc(r->memory, r->columns->universe, sizeof(uint32));
	bool done = false;

	if (number_a && number_b)
	{
		a.universe = b.universe = qset_collection_join(r->rows, r->columns, number_a, number_b);
		a.number = number_a;
		b.number = number_b;
		done = make_collection(&a, replica->device, &replica->rows, index_ms) &&
			   make_collection(&b, replica->device, &replica->columns, index_ms);
	}
	qset_release(r->memory, number_a);
	qset_release(r->memory, number_b);
	return done;
}

bool
GpuReplicaPlace(GpuReplica *replica, const qset_request *r, bool ids, double *index_ms)
{
	Upload rows = {
		.collection = r->rows, .universe = r->rows->universe, .ids = ids, .index = true
	};

	replica->device = choose_device();
	return r->columns ? make_both(replica, r, index_ms)
					  : make_collection(&rows, replica->device, &replica->rows, index_ms);
}

bool
GpuReplicaMake(GpuReplica *replica, const GpuRef *memberships, double *index_ms)
{
	GpuSlot *slot;
	GpuShape reply;

	if (!GpuNewHandle(GPU_FAMILY_SETS, &replica->rows))
		return false;
	slot = GpuTakeSlot(&replica->rows, SETS_MAKE, false);
	slot->other = *memberships;
	if (GpuAskShape(slot, &reply) != QB_OK)
		return false;
	replica->device = ((const GpuSetsShape *) reply.bytes)->device;
	return make_index(&replica->rows, index_ms);
}

bool
GpuReplicaCopy(GpuReplica *replica, const GpuReplica *from, const StoredName *name)
{
	if (name && GpuSetsFind(name, replica->device, &replica->rows))
		return true;
	return copy_collection(&from->rows, replica->device, &replica->rows) &&
		   (from->columns.serial == 0 ||
			copy_collection(&from->columns, replica->device, &replica->columns));
}

bool
GpuReplicaSearch(GpuReplica *replica, const qset_request *r, GpuSetsReply *reply)
{
	GpuSlot *slot;

	if (!GpuNewHandle(GPU_FAMILY_SETS, &replica->search))
		return false;
	slot = GpuTakeSlot(&replica->search, SETS_SEARCH, false);
	slot->other = replica->rows;
	*(GpuSetsSearch *) slot->shape.bytes =
		(GpuSetsSearch){ .filter = r->filter, .method = r->method, .directed = r->directed };
	if (GpuAskOne(slot) != QB_OK)
		return false;
	if (replica->columns.serial != 0)
	{
		slot = GpuTakeSlot(&replica->search, SETS_AGAINST, false);
		slot->other = replica->columns;
		if (GpuAskOne(slot) != QB_OK)
			return false;
	}
	return ask_reply(&replica->search, SETS_OPEN, reply);
}

static void
drop_handle(GpuRef *ref)
{
	if (ref->serial != 0)
		GpuDropHandle(ref);
	ref->serial = 0;
}

void
GpuReplicaDrop(GpuReplica *replica)
{
	drop_handle(&replica->search);
	drop_handle(&replica->rows);
	drop_handle(&replica->columns);
}
