/*
 * column_exact.c
 *		Exact counts of keys of cached columns: the backend's calls, and their request handler.
 *
 * src/gpu/column_exact.c
 */
#include "gpu/column_exact.h"

#include "gpu/client.h"
#include "gpu/column_client.h"
#include "gpu/column_worker.h"
#include "gpu/settings.h"
#include "gpu/worker.h"

#include "column_exact_cuda.h"

bool
GpuExactBegin(GpuRef *ref, uint64 keys)
{
	GpuSlot *slot;

	if (!GpuNewHandle(GPU_FAMILY_EXACT, ref))
		return false;
	slot = GpuTakeSlot(ref, EXACT_CREATE, false);
	GpuExactShapeIn(slot)->keys = keys;
	if (GpuAskOne(slot) == QB_OK)
		return true;
	GpuDropHandle(ref);
	return false;
}

/* Chunks of a column on their way. */
typedef struct Chunks
{
	const GpuColumnChunk *chunk;
	bool complete; /* the keys of all pages were counted */
} Chunks;

static void
ask_chunk(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const GpuColumnChunk *chunk = &((const Chunks *) transfer->context)->chunk[at];

	slot->other = chunk->ref;
	slot->offset = 0;
	GpuColumnWant(slot, chunk);
}

static void
take_chunk(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	Chunks *chunks = transfer->context;

	chunks->complete &= !slot->gone && slot->status == QB_OK;
}

bool
GpuExactAddColumn(const GpuRef *ref, const GpuColumnChunk *chunk, int chunks)
{
	Chunks all = { .chunk = chunk, .complete = true };
	GpuTransfer transfer = { .ref = ref,
							 .op = EXACT_COLUMN,
							 .all = chunks,
							 .most = 1,
							 .ask = ask_chunk,
							 .take = take_chunk,
							 .all_replies = true,
							 .context = &all };

	(void) GpuAskAll(&transfer);
	return all.complete;
}

void
GpuExactAddKeys(const GpuRef *ref, const uint64 *key, size_t count)
{
	GpuPostKeys(ref, EXACT_KEYS, key, NULL, count);
}

static void
ask_best(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	slot->offset = at;
	slot->count = (int) size;
}

static void
take_best(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	GpuExactKey *best = (GpuExactKey *) transfer->context + at;
	const int64 *key = (const int64 *) GpuSlotData(slot);
	uint64 i;

	for (i = 0; i < size; i++)
		best[i] = (GpuExactKey){ .key = key[i], .times = key[size + i] };
}

GpuExactKey *
GpuExactBest(const GpuRef *ref, int most, int *count)
{
	GpuTransfer transfer = {
		.ref = ref, .op = EXACT_READ, .most = GPU_SLOT_WEIGHED, .ask = ask_best, .take = take_best
	};
	GpuShape reply;
	GpuExactKey *best;

	if (GpuAskShape(GpuTakeSlot(ref, EXACT_ORDER, false), &reply) != QB_OK)
		return NULL;
	transfer.all = Min(((const GpuExactShape *) reply.bytes)->keys, most);
	*count = (int) transfer.all;
	best = palloc_array(GpuExactKey, transfer.all + 1);
	transfer.context = best;
	return GpuAskAll(&transfer) ? best : NULL;
}

/*
 * ---- what the GPU worker does with exact counts of keys: the handler of their requests ----
 *
 * Each device counts the keys of its own chunks.  When the counts are ordered, all of them are
 * merged into those of one device, one device in a piece.  Counts have room for the keys that a
 * device sorts in a piece of work, or for all keys if they are fewer, or for as many as there
 * is memory for.  Chunks are not freed to make room: they are what is to be counted.
 */

/* The least room, in keys: with less, a list of distinct keys soon fills it. */
#define LEAST_ROOM 8192

typedef struct Holding
{
	qs_cuda_exact *exact[GPU_DEVICES_MAX]; /* NULL: no keys have come from the device */
	int devices;                           /* that have counts */
	int first;                             /* device that had keys first, on which all come together */
	uint64 keys;                           /* that may come */
	uint64 found;
} Holding;

static Holding holding[GPU_HANDLES];

static const qs_exact_ops *
device_ops(void)
{
	return gpu_device_ops->exact;
}

static void
drop_on(Holding *h, int device)
{
	device_ops()->destroy(h->exact[device]);
	h->exact[device] = NULL;
	h->devices--;
	pg_atomic_fetch_sub_u64(&gpu_shared->device[device].values, 1);
	GpuShowMemory(device);
}

static void
drop_exact(int index)
{
	Holding *h = &holding[index];
	int i;

	for (i = 0; i < GPU_DEVICES_MAX; i++)
		if (h->exact[i])
			drop_on(h, i);
	memset(h, 0, sizeof(*h));
}

/* Make counts on this device, unless there are some. */
static qb_status
be_on(Holding *h, int device)
{
	uint64 room = Max(Min(h->keys, (uint64) gpu_device_ops->piece_work), LEAST_ROOM);
	qb_status status;

	if (h->exact[device])
		return QB_OK;
	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	do
		status = device_ops()->create(gpu_device[device], room, &h->exact[device]);
	while (status == QB_NO_MEMORY && (GpuFreePending() || (room /= 2) >= LEAST_ROOM));
	if (status != QB_OK)
		return status;
	if (h->devices++ == 0)
		h->first = device;
	pg_atomic_fetch_add_u64(&gpu_shared->device[device].values, 1);
	GpuCount(COUNT_CREATED, 1);
	return QB_OK;
}

static qb_status
serve_create(Holding *h, GpuSlot *slot)
{
	h->keys = GpuExactShapeIn(slot)->keys;
	return QB_OK;
}

/* Count gathered keys. */
static qb_status
add_gathered(Holding *h, const GpuGathered *gathered)
{
	qb_status status = be_on(h, gathered->device);

	if (status != QB_OK)
		return status;
	return device_ops()->add_device(h->exact[gathered->device], gathered->key, gathered->count);
}

/* Count keys of a chunk, of as many pages as fit in a piece of the work. */
static qb_status
serve_column(Holding *h, GpuSlot *slot)
{
	GpuWanted wanted;
	GpuGathered gathered;
	qb_status status;

	memcpy(&wanted, GpuSlotData(slot), sizeof(wanted));
	status = GpuColumnGather(slot->other.index, &wanted, (uint32) slot->offset,
							 (uint64) gpu_device_ops->piece_work, &gathered);
	if (status == QB_OK && gathered.count > 0)
		status = add_gathered(h, &gathered);
	if (status != QB_OK)
		return status;
	slot->offset = gathered.end;
	slot->more = gathered.end < GPU_CHUNK_PAGES;
	GpuCount(COUNT_COLUMN_KEYS, gathered.count);
	return QB_OK;
}

static qb_status
serve_keys(Holding *h, GpuSlot *slot)
{
	qb_status status;

	if (slot->count < 0 || slot->count > GPU_SLOT_KEYS)
		return QB_NO_MEMORY;
	status = be_on(h, h->first);
	if (status == QB_OK)
		status = device_ops()->add(h->exact[h->first], (const uint64 *) GpuSlotData(slot),
								   slot->count);
	GpuCount(COUNT_BYTES_IN, slot->count * sizeof(uint64));
	return status;
}

/* Merge the counts of another device into those of the first one. */
static qb_status
merge_other(Holding *h)
{
	int other = 0;
	qb_status status;

	while (h->exact[other] == NULL || other == h->first)
		other++;
	GPU_WITH_ROOM(status, h->first,
				  device_ops()->merge(h->exact[h->first], h->exact[other]));
	if (status == QB_OK)
		drop_on(h, other);
	return status;
}

static qb_status
serve_order(Holding *h, GpuSlot *slot)
{
	qb_status status = QB_OK;

	slot->more = h->devices > 1;
	if (slot->more)
		return merge_other(h);
	if (h->devices > 0)
		status = device_ops()->order(h->exact[h->first], &h->found);
	GpuExactShapeIn(slot)->keys = h->found;
	return status;
}

static qb_status
serve_read(Holding *h, GpuSlot *slot)
{
	uint64 *data = (uint64 *) GpuSlotData(slot);

	if (slot->count < 0 || slot->count > GPU_SLOT_WEIGHED || slot->offset > h->found ||
		slot->count > h->found - slot->offset)
		return QB_NO_MEMORY;
	GpuCount(COUNT_BYTES_OUT, 2 * slot->count * sizeof(uint64));
	return device_ops()->get(h->exact[h->first], slot->offset, slot->count, data,
							 (int64 *) data + slot->count);
}

static qb_status
serve_exact(GpuSlot *slot)
{
	static qb_status (*const serve[])(Holding * h, GpuSlot * slot) = {
		[EXACT_CREATE] = serve_create, [EXACT_COLUMN] = serve_column, [EXACT_KEYS] = serve_keys,
		[EXACT_ORDER] = serve_order,   [EXACT_READ] = serve_read,
	};

	if (gpu_fault == FAULT_ERROR)
		return QB_DEVICE_ERROR;
	return serve[slot->op](&holding[slot->handle.index], slot);
}

static GpuLocation
location_of_exact(int index)
{
	const Holding *h = &holding[index];
	GpuLocation location = { .device = h->first,
							 .on_device = h->devices > 0,
							 .replicas = h->devices > 1 };
	int i;

	for (i = 0; i < GPU_DEVICES_MAX; i++)
		if (h->exact[i])
			location.bytes += device_ops()->bytes(h->exact[i]);
	return location;
}

const GpuHandler gpu_exact_handler = {
	.serve = serve_exact,
	.reads = 1 << EXACT_READ,
	.reads_other = 1 << EXACT_COLUMN,
	.adds = 1 << EXACT_COLUMN,
	.drop = drop_exact,
	.location = location_of_exact,
};
