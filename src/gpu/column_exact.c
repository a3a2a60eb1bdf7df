/*
 * column_exact.c
 *		Exact counts of keys of cached columns: the backend's calls, and their request handler.
 *
 * src/gpu/column_exact.c
 */
#include "gpu/column_worker.h"
#include "gpu/gpu.h"

#include "column_cuda.h"

bool
GpuExactBegin(GpuRef *ref, uint64 keys)
{
	return GpuMake(GPU_FAMILY_EXACT, EXACT_CREATE, 0, &keys, sizeof(keys), ref);
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

/* Chunks, one of each device, and whether a device has failed. */
typedef struct Listed
{
	GpuRef chunk[GPU_DEVICES_MAX];
	bool failed;
} Listed;

static void
ask_list(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	slot->other = ((const Listed *) transfer->context)->chunk[at];
}

/* If the chunk has gone, its device counts when the lists are merged. */
static void
take_list(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	((Listed *) transfer->context)->failed |= !slot->gone && slot->status != QB_OK;
}

/* Have each device of the chunks count what has come there; false: one has no memory. */
static bool
list_devices(const GpuRef *ref, const GpuColumnChunk *chunk, int chunks)
{
	Listed listed = { .failed = false };
	GpuTransfer transfer = { .ref = ref,
							 .op = EXACT_LIST,
							 .most = 1,
							 .ask = ask_list,
							 .take = take_list,
							 .all_replies = true,
							 .context = &listed };
	uint32 devices = 0;
	int i;

	for (i = 0; i < chunks; i++)
	{
		int device = gpu_shared->handle[chunk[i].ref.index].device;

		if (device < 0 || device >= GPU_DEVICES_MAX || (devices >> device & 1))
			continue;
		devices |= 1U << device;
		listed.chunk[transfer.all++] = chunk[i].ref;
	}
	(void) GpuAskAll(&transfer);
	return !listed.failed;
}

GpuExactKey *
GpuExactBest(const GpuRef *ref, const GpuColumnChunk *chunk, int chunks, int most, int *count)
{
	GpuTransfer transfer = {
		.ref = ref, .op = EXACT_READ, .most = GPU_SLOT_WEIGHED, .ask = ask_best, .take = take_best
	};
	uint64 found;
	GpuExactKey *best;

	if (!list_devices(ref, chunk, chunks) ||
		GpuAskOne(GpuTakeSlot(ref, EXACT_ORDER, false), &found, sizeof(found)) != QB_OK)
		return NULL;
	transfer.all = Min(found, most);
	*count = (int) transfer.all;
	best = palloc_array(GpuExactKey, transfer.all + 1);
	transfer.context = best;
	return GpuAskAll(&transfer) ? best : NULL;
}

/*
 * ---- what the GPU worker does with exact counts of keys: the handler of their requests ----
 *
 * Each device counts the keys of its own chunks: the one of the first chunk, and replicas on
 * others (column_worker.h).  All devices make their lists at the same time (EXACT_LIST).  Then the
 * lists are merged, one in a piece, and the counts are ordered.
 *
 * Counts have room for the keys that a device sorts in a piece of work, or for all keys if they
 * are fewer, or for as many as there is memory for.  Chunks are not freed to make room: they are
 * what is to be counted.
 */

/* The least room, in keys: with less, a list of distinct keys soon fills it. */
#define LEAST_ROOM 8192

typedef struct Holding
{
	qs_cuda_exact *exact; /* NULL: no keys have come */
	int device;
	GpuReplicas replicas;
	uint64 keys; /* that may come */
	uint64 found;
} Holding;

static Holding holding[GPU_HANDLES];

static const qs_exact_ops *
device_ops(void)
{
	return gpu_device_ops->exact;
}

static void
destroy(void *exact)
{
	device_ops()->destroy(exact);
}

static void
drop_exact(int index)
{
	Holding *h = &holding[index];

	GpuDropReplicas(&h->replicas, destroy);
	if (h->exact)
	{
		destroy(h->exact);
		GpuUnmade(h->device);
	}
	memset(h, 0, sizeof(*h));
}

/* Make counts on a device. */
static qb_status
make_on(const Holding *h, int device, qs_cuda_exact **exact)
{
	uint64 room = Max(Min(h->keys, (uint64) gpu_device_ops->piece_work), LEAST_ROOM);
	qb_status status;

	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	do
		status = device_ops()->create(gpu_device[device], room, exact);
	while (status == QB_NO_MEMORY && (GpuFreePending() || (room /= 2) >= LEAST_ROOM));
	GpuCount(COUNT_CREATED, status == QB_OK);
	return GpuMade(status, device);
}

/* The counts of keys of a device, or NULL; made if there are none. */
static qs_cuda_exact *
exact_on(Holding *h, int device, qb_status *status)
{
	qs_cuda_exact **replica = (qs_cuda_exact **) &h->replicas.on[device];

	*status = QB_OK;
	if (h->exact == NULL)
	{
		h->device = device;
		*status = make_on(h, device, &h->exact);
	}
	if (h->device == device)
		return h->exact;
	if (*replica == NULL)
	{
		*status = make_on(h, device, replica);
		h->replicas.count += *status == QB_OK;
	}
	return *replica;
}

/* The number in the shape of a slot. */
static uint64 *
keys_in(GpuSlot *slot)
{
	return (uint64 *) slot->shape.bytes;
}

static qb_status
serve_create(Holding *h, GpuSlot *slot)
{
	h->keys = *keys_in(slot);
	return QB_OK;
}

/* Count gathered keys. */
static qb_status
add_gathered(int index, const GpuGathered *gathered)
{
	qb_status status;
	qs_cuda_exact *exact = exact_on(&holding[index], gathered->device, &status);

	return exact ? device_ops()->add_device(exact, gathered->key, gathered->count) : status;
}

static qb_status
serve_column(Holding *h, GpuSlot *slot)
{
	return GpuColumnServe(slot, 1, add_gathered);
}

static qb_status
serve_list(Holding *h, GpuSlot *slot)
{
	int device = gpu_column_handler.location(slot->other.index).device;
	qs_cuda_exact *exact = h->device == device ? h->exact : h->replicas.on[device];

	return exact ? device_ops()->list(exact) : QB_OK;
}

static qb_status
serve_keys(Holding *h, GpuSlot *slot)
{
	qs_cuda_exact *exact;
	qb_status status;

	if (slot->count < 0 || slot->count > GPU_SLOT_KEYS)
		return QB_NO_MEMORY;
	exact = exact_on(h, h->exact ? h->device : GpuChooseDevice(0), &status);
	if (exact)
		status = device_ops()->add(exact, (const uint64 *) GpuSlotData(slot), slot->count);
	GpuCount(COUNT_BYTES_IN, slot->count * sizeof(uint64));
	return status;
}

/* If the lists do not fit into one, nothing that would be freed could make room. */
static qb_status
merge_replica(Holding *h)
{
	qb_status status = device_ops()->merge(h->exact, GpuJoiningReplica(&h->replicas));

	if (status == QB_OK)
		GpuDropJoining(&h->replicas, destroy);
	return status;
}

static qb_status
serve_order(Holding *h, GpuSlot *slot)
{
	qb_status status = QB_OK;

	slot->more = h->replicas.count > 0;
	if (slot->more)
		return merge_replica(h);
	if (h->exact)
		status = device_ops()->order(h->exact, &h->found);
	*keys_in(slot) = h->found;
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
	return device_ops()->get(h->exact, slot->offset, slot->count, data,
							 (int64 *) data + slot->count);
}

static qb_status
serve_exact(GpuSlot *slot)
{
	static qb_status (*const serve[])(Holding * h, GpuSlot * slot) = {
		[EXACT_CREATE] = serve_create, [EXACT_COLUMN] = serve_column, [EXACT_KEYS] = serve_keys,
		[EXACT_LIST] = serve_list,     [EXACT_ORDER] = serve_order,   [EXACT_READ] = serve_read,
	};

	return serve[slot->op](&holding[slot->handle.index], slot);
}

static GpuLocation
location_of_exact(int index)
{
	const Holding *h = &holding[index];

	return (GpuLocation){ .device = h->device,
						  .on_device = h->exact != NULL,
						  .replicas = GpuReplicaDevices(&h->replicas),
						  .bytes = h->exact ? device_ops()->bytes(h->exact) : 0 };
}

const GpuHandler gpu_exact_handler = {
	.serve = serve_exact,
	.reads = 1 << EXACT_READ,
	.reads_other = 1 << EXACT_COLUMN | 1 << EXACT_LIST,
	.adds = 1 << EXACT_COLUMN | 1 << EXACT_LIST,
	.on_host = 1 << EXACT_CREATE,
	.faulty = ~0u,
	.drop = drop_exact,
	.location = location_of_exact,
};
