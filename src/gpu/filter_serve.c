/*
 * filter_serve.c
 *		What the GPU worker does with filters: the servant of their requests.
 *
 * The worker has the filter of each entry on a device, and counts what the filter was
 * given.  A filter never grows: a device that had memory for it has enough for all
 * that follows.
 *
 * A filter is made on the device of the first copy that it gets keys of.  Keys of copies on
 * other devices go into parts there, filters of the same parameters.  Their bits are
 * added before anybody reads the filter, piece by piece, and others have their turns in between.
 * Keys that come between two pieces go into a new part.
 *
 * A key has up to QF_HASHES_MAX positions, so requests for keys are served in
 * pieces of about the same number of positions.
 *
 * src/gpu/filter_serve.c
 */
#include "gpu/column_worker.h"
#include "gpu/filter_request.h"
#include "gpu/settings.h"
#include "gpu/worker.h"

#include "filter_cuda.h"

/* Work of an insert that is waited for. */
#define LONG_INSERT 1e7

typedef struct Holding
{
	qf_cuda_filter *filter; /* NULL: there is none */
	qf_params params;
	int device;
	uint64 given;                          /* see GpuFilterState */
	qf_cuda_filter *part[GPU_DEVICES_MAX]; /* keys of copies on other devices; or NULL */
	qf_cuda_filter *joining;               /* the part whose bits are being added; or NULL */
	int joining_device;                    /* that it is on */
	uint64 joined;                         /* bytes of it that were added */
	int parts;                             /* number of parts that are there, "joining" included */
} Holding;

static Holding holding[GPU_ENTRIES];

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
	if (status == QB_OK)
		pg_atomic_fetch_add_u64(&gpu_shared->device[device].values, 1);
	return status;
}

static void
destroy_on(int device, qf_cuda_filter *filter)
{
	device_ops()->destroy(filter);
	pg_atomic_fetch_sub_u64(&gpu_shared->device[device].values, 1);
	GpuShowMemory(device);
}

static qb_status
serve_create(Holding *h, GpuSlot *slot)
{
	const qf_params *params = (const qf_params *) slot->shape.bytes;
	int i = GpuChooseDevice(slot->count);
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
insert(__typeof__(qf_cuda_insert) *operation, qf_cuda_filter *filter, const qf_batch *batch,
	   const Holding *h, int device)
{
	double work = h->params.k * qf_probability(&h->params) * batch->count;
	qb_status status = operation(filter, batch);

	if (status == QB_OK && (batch->copies || work > LONG_INSERT))
		status = gpu_device_ops->sync(gpu_device[device]);
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
	return insert(device_ops()->insert, h->filter, &batch, h, h->device);
}

/* Bytes of a filter that go from device to device at a time. */
#define MOVE_BYTES ((size_t) 1 << 20)

/* Add bits of a filter to those of another one, where both have the piece at "at". */
static qb_status
add_piece(qf_cuda_filter *from, qf_cuda_filter *to, uint64 at, size_t bytes, uint64 *piece)
{
	uint64 *other = piece + MOVE_BYTES / sizeof(uint64);
	qb_status status = device_ops()->read(from, at, (uint8 *) piece, bytes);
	size_t i;

	if (status == QB_OK)
		status = device_ops()->read(to, at, (uint8 *) other, bytes);
	for (i = 0; i < bytes / sizeof(uint64); i++)
		piece[i] |= other[i];
	return status == QB_OK ? device_ops()->write(to, at, (const uint8 *) piece, bytes) : status;
}

/* Add bits of a filter to those of one on another device, from one place to another. */
static qb_status
add_bits(qf_cuda_filter *from, qf_cuda_filter *to, uint64 at, uint64 end)
{
	uint64 *piece = malloc(2 * MOVE_BYTES);
	qb_status status = piece ? QB_OK : QB_NO_MEMORY;

	for (; at < end && status == QB_OK; at += MOVE_BYTES)
		status = add_piece(from, to, at, Min(end - at, MOVE_BYTES), piece);
	free(piece);
	return status;
}

/* The filter, or its part, that gets keys of copies on a device; NULL: no memory for one. */
static qf_cuda_filter *
filter_on(Holding *h, int device, qb_status *status)
{
	*status = QB_OK;
	if (h->device != device && h->part[device] == NULL)
	{
		*status = create_on(device, &h->params, &h->part[device]);
		h->parts += *status == QB_OK;
		GpuShowMemory(device);
	}
	if (*status != QB_OK)
		return NULL;
	return h->device == device ? h->filter : h->part[device];
}

static void
drop_part(Holding *h, qf_cuda_filter *part, int device)
{
	destroy_on(device, part);
	h->parts--;
}

static void
drop_joining(Holding *h)
{
	drop_part(h, h->joining, h->joining_device);
	h->joining = NULL;
}

/* Take one of the parts that there are, to add its bits. */
static void
take_part(Holding *h)
{
	int device = 0;

	while (h->part[device] == NULL)
		device++;
	h->joining = h->part[device];
	h->joining_device = device;
	h->joined = 0;
	h->part[device] = NULL;
}

/* Add a piece of one of the parts to the filter. */
static qb_status
add_part(Holding *h)
{
	uint64 bytes = qf_words(&h->params) * 8;
	uint64 end;
	qb_status status;

	if (h->joining == NULL)
		take_part(h);
	end = Min(h->joined + gpu_device_ops->merge_bytes, bytes);
	status = add_bits(h->joining, h->filter, h->joined, end);
	if (status != QB_OK)
		return status;
	h->joined = end;
	if (end == bytes)
		drop_joining(h);
	return QB_OK;
}

/* Insert rows of a copy, of as many pages as fit in a piece of the work. */
static qb_status
serve_column(Holding *h, GpuSlot *slot)
{
	GpuWanted wanted;
	GpuPicked picked;
	qf_batch batch = { .fingerprint = NULL };
	qb_status status = qf_is_bloom(&h->params) ? QB_OK : QB_NO_MEMORY;
	qf_cuda_filter *filter = NULL;

	memcpy(&wanted, GpuSlotData(slot), sizeof(wanted));
	if (status == QB_OK)
		status = GpuColumnPick(slot->other.index, &wanted, (uint32) slot->offset,
							   (uint64) (gpu_device_ops->piece_work / h->params.k), &picked);
	if (status == QB_OK)
		filter = filter_on(h, picked.device, &status);
	if (status != QB_OK)
		return status;
	batch.fingerprint = picked.key;
	batch.count = picked.count;
	if (picked.count > 0)
		status = insert(device_ops()->insert_device, filter, &batch, h, picked.device);
	if (status != QB_OK)
		return status;
	h->given += picked.count;
	slot->done += (int) picked.count;
	slot->offset = picked.end;
	slot->more = picked.end < GPU_RANGE_PAGES;
	GpuCount(COUNT_COLUMN_KEYS, picked.count);
	return QB_OK;
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
serve_read(Holding *h, GpuSlot *slot)
{
	GpuCount(COUNT_BYTES_OUT, slot->bytes);
	return device_ops()->read(h->filter, slot->offset, GpuSlotData(slot), slot->bytes);
}

static bool
is_for_keys(int op)
{
	return op == FILTER_INSERT || op == FILTER_QUERY || op == FILTER_CONTAINS ||
		   op == FILTER_COLUMN;
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
	Holding *h = &holding[slot->entry.index];
	qb_status status;

	if (gpu_fault == FAULT_ERROR && is_for_keys(slot->op))
		return QB_DEVICE_ERROR;
	if (slot->op != FILTER_CREATE && h->filter == NULL)
		return QB_NO_MEMORY;
	if (h->parts == 0 || !reads_bits(slot->op))
		return serve[slot->op](h, slot);
	status = add_part(h);
	slot->more = status == QB_OK;
	return status;
}

static void
drop_filter(int index)
{
	Holding *h = &holding[index];
	int device;

	if (h->filter == NULL)
		return;
	if (h->joining)
		drop_joining(h);
	for (device = 0; device < GPU_DEVICES_MAX; device++)
		if (h->part[device])
		{
			drop_part(h, h->part[device], device);
			h->part[device] = NULL;
		}
	destroy_on(h->device, h->filter);
	h->filter = NULL;
}

static GpuPlace
place_of_filter(int index)
{
	const Holding *h = &holding[index];
	GpuPlace place = { .device = h->device, .on_device = h->filter != NULL };

	if (place.on_device)
		place.bytes = device_ops()->bytes(h->filter);
	return place;
}

const GpuServant gpu_filter_servant = {
	.serve = serve_filter,
	.reads = 1 << FILTER_QUERY | 1 << FILTER_CONTAINS | 1 << FILTER_FETCH | 1 << FILTER_READ,
	.reads_other = 1 << FILTER_COLUMN,
	.drop = drop_filter,
	.place = place_of_filter,
};
