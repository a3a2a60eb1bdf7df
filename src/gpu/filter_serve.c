/*
 * filter_serve.c
 *		What the GPU worker does with filters: the handler of their requests.
 *
 * The worker has the filter of each handle on a device, and counts what the filter was
 * given.  A filter never grows: a device that had memory for it has enough for all
 * that follows.
 *
 * A filter is made on the device of the first chunk that it gets keys of.  Chunks on other
 * devices have replicas there (column_worker.h), whose bits are added.
 *
 * A key has up to QF_HASHES_MAX positions, so requests for keys are served in
 * pieces of about the same number of positions.
 *
 * src/gpu/filter_serve.c
 */
#include "gpu/column_worker.h"
#include "gpu/filter_gpu.h"
#include "gpu/gpu.h"

#include "filter_cuda.h"

/* Work of an insert that is waited for. */
#define LONG_INSERT 1e7

typedef struct Holding
{
	qf_cuda_filter *filter; /* NULL: there is none */
	qf_params params;
	int device;
	uint64 given; /* see GpuFilterState */
	GpuReplicas replicas;
	uint64 joined; /* bytes that were added of the replica that is being merged */
} Holding;

static Holding holding[GPU_HANDLES];

/* What filters ask of the devices. */
static const qf_filter_ops *
device_ops(void)
{
	return gpu_device_ops->filter;
}

/* Make a filter without bits on a device. */
static qb_status
create_on(int device, const qf_params *params, qf_cuda_filter **filter)
{
	qb_status status;

	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	GPU_WITH_ROOM(status, device, device_ops()->create(gpu_device[device], params, filter));
	return GpuMade(status, device);
}

static void
destroy(void *filter)
{
	device_ops()->destroy(filter);
}

static qb_status
serve_create(Holding *h, GpuSlot *slot)
{
	const qf_params *params = (const qf_params *) slot->shape.bytes;
	int i = slot->count;
	qb_status status = create_on(i, params, &h->filter);

	h->params = *params;
	h->device = i;
	h->given = 0;
	if (status == QB_OK)
		GpuCount(COUNT_CREATED, 1);
	return status;
}

static qb_status
serve_write(Holding *h, GpuSlot *slot)
{
	h->given += slot->bytes;
	GpuCount(COUNT_BYTES_IN, slot->bytes);
	return device_ops()->write(h->filter, slot->offset, GpuSlotData(slot), slot->bytes);
}

static qb_status
serve_set(Holding *h, GpuSlot *slot)
{
	h->given += slot->count;
	GpuCount(COUNT_BYTES_IN, slot->count * sizeof(uint32));
	return device_ops()->set(h->filter, (const uint32 *) GpuSlotData(slot), slot->count);
}

/* Insert rows.  A long insert is waited for, so that its time is known. */
static qb_status
insert(const Holding *h, const qf_batch *batch)
{
	double work = h->params.k * qf_probability(&h->params) * batch->count;
	qb_status status = device_ops()->insert(h->filter, batch);

	if (status == QB_OK && (batch->copies || work > LONG_INSERT))
		status = gpu_device_ops->sync(gpu_device[h->device]);
	return status;
}

static qb_status
serve_insert(Holding *h, GpuSlot *slot)
{
	const GpuFilterRows *rows = (const GpuFilterRows *) slot->shape.bytes;
	const uint64 *key = (const uint64 *) GpuSlotData(slot) + slot->done;
	const uint64 *number = slot->weighted ? key + slot->count : NULL;
	bool copies = number && !rows->ids;
	double work = h->params.k * (copies ? 1 : qf_probability(&h->params));
	qf_batch batch = { .fingerprint = key,
					   .nonce = rows->nonce,
					   .first_row = rows->first + slot->done,
					   .row = rows->ids ? number : NULL,
					   .copies = copies ? (const int64 *) number : NULL };

	batch.count = GpuNextPiece(slot, work, COUNT_BATCHES, COUNT_KEYS);
	h->given += batch.count;
	return insert(h, &batch);
}

/* The filter, or its replica, that gets keys of chunks on a device; NULL: no memory for one. */
static qf_cuda_filter *
filter_on(Holding *h, int device, qb_status *status)
{
	*status = QB_OK;
	if (h->device == device)
		return h->filter;
	if (h->replicas.on[device] == NULL)
	{
		*status = create_on(device, &h->params, (qf_cuda_filter **) &h->replicas.on[device]);
		h->replicas.count += *status == QB_OK;
		GpuShowMemory(device);
	}
	return *status == QB_OK ? h->replicas.on[device] : NULL;
}

/* Where there is no memory for a piece, smaller ones take little. */
#define LEAST_PIECE 65536

/* Add a piece of one of the replicas to the filter. */
static qb_status
add_replica(Holding *h)
{
	uint64 bytes = qf_words(&h->params) * 8;
	qf_cuda_filter *joining = GpuJoiningReplica(&h->replicas);
	uint64 piece = gpu_device_ops->merge_bytes;
	uint64 end;
	qb_status status;

	do
	{
		end = Min(h->joined + piece, bytes);
		GPU_WITH_ROOM(status, h->device,
					  device_ops()->unite(h->filter, joining, h->joined, end - h->joined));
	}
	while (status == QB_NO_MEMORY && (piece /= 2) >= LEAST_PIECE);
	if (status != QB_OK)
		return status;
	h->joined = end;
	if (end < bytes)
		return QB_OK;
	GpuDropJoining(&h->replicas, destroy);
	h->joined = 0;
	return QB_OK;
}

/* Insert gathered rows. */
static qb_status
insert_gathered(GpuSlot *slot, const GpuGathered *gathered)
{
	Holding *h = &holding[slot->handle.index];
	qf_batch batch = { .fingerprint = gathered->key, .count = gathered->count };
	qb_status status;
	qf_cuda_filter *filter = filter_on(h, gathered->device, &status);

	if (status == QB_OK)
		status = device_ops()->insert_device(filter, &batch);
	if (status == QB_OK)
		h->given += gathered->count;
	return status;
}

static qb_status
serve_columns(GpuSlot *const *slot, int *count)
{
	const Holding *h = &holding[slot[0]->handle.index];
	const GpuAdding adding = { .work = h->params.k, .add = insert_gathered };

	return qf_is_bloom(&h->params) ? GpuColumnServe(slot, count, &adding) : QB_NO_MEMORY;
}

static qb_status
serve_column(Holding *h, GpuSlot *slot)
{
	int one = 1;

	return serve_columns(&slot, &one);
}

static qb_status
serve_lookup(Holding *h, GpuSlot *slot)
{
	uint64 *key = (uint64 *) GpuSlotData(slot) + slot->done;
	uint32 bytes = GpuFilterAnswerBytes(slot->op);
	void *answer = (char *) GpuSlotData(slot) + slot->done * bytes; /* over keys that were read */
	int piece = GpuNextPiece(slot, h->params.k, COUNT_QUERIES, COUNT_LOOKUPS);

	GpuCount(COUNT_BYTES_OUT, piece * bytes);
	return slot->op == FILTER_QUERY ? device_ops()->query(h->filter, key, piece, answer)
									: device_ops()->contains(h->filter, key, piece, answer);
}

static qb_status
serve_fetch(Holding *h, GpuSlot *slot)
{
	GpuFilterState *state = (GpuFilterState *) slot->shape.bytes;

	GpuCount(COUNT_FETCHES, 1);
	state->given = h->given;
	return device_ops()->ones(h->filter, &state->ones);
}

static qb_status
read_together(const Holding *h, GpuSlot *const *slot, int count)
{
	qs_cuda_piece piece[GPU_TOGETHER];

	GpuPiecesOf(slot, count, piece);
	return device_ops()->read(h->filter, piece, count);
}

static qb_status
serve_read(Holding *h, GpuSlot *slot)
{
	return read_together(h, &slot, 1);
}

static bool
reads_bits(int op)
{
	return op == FILTER_QUERY || op == FILTER_CONTAINS || op == FILTER_FETCH || op == FILTER_READ;
}

static qb_status
serve_filter(GpuSlot *slot)
{
	static qb_status (*const serve[])(Holding * h, GpuSlot * slot) = {
		[FILTER_CREATE] = serve_create, [FILTER_WRITE] = serve_write,
		[FILTER_SET] = serve_set,       [FILTER_INSERT] = serve_insert,
		[FILTER_QUERY] = serve_lookup,  [FILTER_CONTAINS] = serve_lookup,
		[FILTER_FETCH] = serve_fetch,   [FILTER_READ] = serve_read,
		[FILTER_COLUMN] = serve_column,
	};
	Holding *h = &holding[slot->handle.index];
	qb_status status;

	if (slot->op != FILTER_CREATE && h->filter == NULL)
		return QB_NO_MEMORY;
	if (h->replicas.count == 0 || !reads_bits(slot->op))
		return serve[slot->op](h, slot);
	status = add_replica(h);
	slot->more = status == QB_OK;
	return status;
}

/* Keys of chunks, or bits that are on one device. */
static qb_status
serve_together(GpuSlot *const *slot, int *count)
{
	const Holding *h = &holding[slot[0]->handle.index];

	if (h->filter == NULL)
		return QB_NO_MEMORY;
	if (slot[0]->op == FILTER_COLUMN)
		return serve_columns(slot, count);
	return h->replicas.count == 0 ? read_together(h, slot, *count) : QB_NO_MEMORY;
}

static void
drop_filter(int index)
{
	Holding *h = &holding[index];

	if (h->filter == NULL)
		return;
	GpuDropReplicas(&h->replicas, destroy);
	destroy(h->filter);
	GpuUnmade(h->device);
	h->filter = NULL;
	h->joined = 0;
}

static GpuLocation
location_of_filter(int index)
{
	const Holding *h = &holding[index];

	return (GpuLocation){ .device = h->device,
						  .on_device = h->filter != NULL,
						  .replicas = GpuReplicaDevices(&h->replicas),
						  .bytes = h->filter ? device_ops()->bytes(h->filter) : 0 };
}

static int
choose_device(GpuSlot *slot)
{
	slot->count = GpuChooseDevice(slot->count);
	return slot->count;
}

const GpuHandler gpu_filter_handler = {
	.serve = serve_filter,
	.serve_all = serve_together,
	.together = 1 << FILTER_READ | 1 << FILTER_COLUMN,
	.reads = 1 << FILTER_QUERY | 1 << FILTER_CONTAINS | 1 << FILTER_FETCH | 1 << FILTER_READ,
	.reads_other = 1 << FILTER_COLUMN,
	.adds = 1 << FILTER_COLUMN,
	.chooses = 1 << FILTER_CREATE,
	.choose = choose_device,
	.faulty = 1 << FILTER_INSERT | 1 << FILTER_QUERY | 1 << FILTER_CONTAINS | 1 << FILTER_COLUMN,
	.drop = drop_filter,
	.location = location_of_filter,
};
