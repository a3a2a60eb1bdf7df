/*
 * filter_serve.c
 *		Serves requests for filters in the GPU worker.
 *
 * Each filter is on a device.  The worker counts the rows, positions and bytes that arrive for a
 * filter.  A filter never grows, so adding rows on its device needs no more memory.
 *
 * A key has up to QF_HASHES_MAX positions.  So requests for keys are divided into pieces of about
 * equal numbers of positions.
 *
 * src/gpu/worker/filter_serve.c
 */
#include "gpu/filter_gpu.h"
#include "gpu/gpu.h"
#include "gpu/worker/keyed_worker.h"

#include "filter_cuda.h"

/* After an insertion with more work than this, the worker waits for the device. */
#define LONG_INSERT 1e7

static const GpuKeyedOps ops;

static const qf_filter_ops *
device_ops(void)
{
	return gpu_device_ops->filter;
}

static const qf_params *
params_of(const GpuKeyed *k)
{
	return (const qf_params *) k->params.bytes;
}

static qb_status
serve_create(GpuKeyed *k, GpuSlot *slot)
{
	return GpuKeyedMake(slot->handle.index, &ops, slot->count, &slot->shape, NULL);
}

static qb_status
serve_write(GpuKeyed *k, GpuSlot *slot)
{
	k->given += slot->bytes;
	GpuCount(COUNT_BYTES_IN, slot->bytes);
	return device_ops()->write(k->on_device, slot->offset, GpuSlotData(slot), slot->bytes);
}

static qb_status
serve_set(GpuKeyed *k, GpuSlot *slot)
{
	k->given += slot->count;
	GpuCount(COUNT_BYTES_IN, slot->count * sizeof(uint32));
	return device_ops()->set(k->on_device, (const uint32 *) GpuSlotData(slot), slot->count);
}

/*
 * Insert rows.  After a long insertion, or if batch->copies is set, the worker waits for the
 * device, to measure the time of the insertion.
 */
static qb_status
insert_rows(const GpuKeyed *k, const qf_batch *batch)
{
	double work = params_of(k)->k * qf_probability(params_of(k)) * batch->count;
	qb_status status = device_ops()->insert(k->on_device, batch);

	if (status == QB_OK && (batch->copies || work > LONG_INSERT))
		status = gpu_device_ops->sync(gpu_device[k->device]);
	return status;
}

static qb_status
serve_insert(GpuKeyed *k, GpuSlot *slot)
{
	const GpuFilterRows *rows = (const GpuFilterRows *) slot->shape.bytes;
	const uint64 *key = (const uint64 *) GpuSlotData(slot) + slot->done;
	const uint64 *number = slot->weighted ? key + slot->count : NULL;
	bool copies = number && !rows->ids;
	double work = params_of(k)->k * (copies ? 1 : qf_probability(params_of(k)));
	qf_batch batch = { .fingerprint = key,
					   .nonce = rows->nonce,
					   .first_row = rows->first + slot->done,
					   .row = rows->ids ? number : NULL,
					   .copies = copies ? (const int64 *) number : NULL };

	batch.count = GpuNextPiece(slot, work, COUNT_BATCHES, COUNT_KEYS);
	k->given += batch.count;
	return insert_rows(k, &batch);
}

static qb_status
serve_lookup(GpuKeyed *k, GpuSlot *slot)
{
	uint64 *key = (uint64 *) GpuSlotData(slot) + slot->done;
	uint32 bytes = GpuFilterAnswerBytes(slot->op);
	void *answer = (char *) GpuSlotData(slot) +
				   slot->done * bytes; /* overwrites keys that the device has read */
	int piece = GpuNextPiece(slot, params_of(k)->k, COUNT_QUERIES, COUNT_LOOKUPS);

	GpuCount(COUNT_BYTES_OUT, piece * bytes);
	return slot->op == FILTER_QUERY ? device_ops()->query(k->on_device, key, piece, answer)
									: device_ops()->contains(k->on_device, key, piece, answer);
}

static qb_status
serve_fetch(GpuKeyed *k, GpuSlot *slot)
{
	GpuFilterState *state = (GpuFilterState *) slot->shape.bytes;

	GpuCount(COUNT_FETCHES, 1);
	state->given = k->given;
	return device_ops()->ones(k->on_device, &state->ones);
}

static qb_status
serve_reads(const GpuKeyed *k, GpuSlot *const *slot, int count)
{
	qs_cuda_piece piece[GPU_TOGETHER];

	GpuPiecesOf(slot, count, piece);
	return device_ops()->read(k->on_device, piece, count);
}

/* ---- the handler ---- */

static qb_status
make(qs_cuda *gpu, const GpuShape *params, const void *from, void **created)
{
	return device_ops()->create(gpu, (const qf_params *) params->bytes,
								(qf_cuda_filter **) created);
}

static void
destroy(void *filter)
{
	device_ops()->destroy(filter);
}

static uint64
bytes_of(const void *filter)
{
	return device_ops()->bytes(filter);
}

static qb_status
insert(void *filter, const uint64 *key, uint64 count)
{
	qf_batch batch = { .fingerprint = key, .count = count };

	return device_ops()->insert_device(filter, &batch);
}

/* Bytes of the smallest piece that is tried when the device has no memory for larger pieces. */
#define LEAST_PIECE 65536

/* Merge the next piece of a replica.  into->merged counts bytes. */
static qb_status
merge(GpuKeyed *into, void *from, int device, bool *more)
{
	uint64 bytes = qf_words(params_of(into)) * 8;
	uint64 piece = gpu_device_ops->merge_bytes;
	uint64 end;
	qb_status status;

	do
	{
		end = Min(into->merged + piece, bytes);
		GPU_WITH_ROOM(status, into->device,
					  device_ops()->unite(into->on_device, from, into->merged, end - into->merged));
	}
	while (status == QB_NO_MEMORY && (piece /= 2) >= LEAST_PIECE);
	if (status != QB_OK)
		return status;
	*more = end < bytes;
	into->merged = *more ? end : 0;
	return QB_OK;
}

/* Serve a request, or several requests together. */
static qb_status
serve(GpuSlot *const *slot, int *count)
{
	static qb_status (*const one[])(GpuKeyed * k, GpuSlot * slot) = {
		[FILTER_CREATE] = serve_create, [FILTER_WRITE] = serve_write,
		[FILTER_SET] = serve_set,       [FILTER_INSERT] = serve_insert,
		[FILTER_QUERY] = serve_lookup,  [FILTER_CONTAINS] = serve_lookup,
		[FILTER_FETCH] = serve_fetch,
	};
	GpuKeyed *k = &gpu_keyed[slot[0]->handle.index];

	switch (slot[0]->op)
	{
		case FILTER_COLUMN:
			return qf_is_bloom(params_of(k)) ? GpuKeyedServeColumns(slot, count, params_of(k)->k)
											 : QB_NO_MEMORY;
		case FILTER_READ:
			return serve_reads(k, slot, *count);
		default:
			return one[slot[0]->op](k, slot[0]);
	}
}

static const GpuKeyedOps ops = {
	.make = make,
	.destroy = destroy,
	.bytes = bytes_of,
	.insert = insert,
	.merge = merge,
	.serve = serve,
	.makes = 1 << FILTER_CREATE,
	.whole = 1 << FILTER_QUERY | 1 << FILTER_CONTAINS | 1 << FILTER_FETCH | 1 << FILTER_READ,
};

const GpuHandler gpu_filter_handler = {
	.keyed = &ops,
	.serve = GpuKeyedServe,
	.serve_all = GpuKeyedServeAll,
	.together = 1 << FILTER_READ | 1 << FILTER_COLUMN,
	.reads = 1 << FILTER_QUERY | 1 << FILTER_CONTAINS | 1 << FILTER_FETCH | 1 << FILTER_READ,
	.reads_other = 1 << FILTER_COLUMN,
	.adds = 1 << FILTER_COLUMN,
	.chooses = 1 << FILTER_CREATE,
	.choose = GpuKeyedChoose,
	.faulty = 1 << FILTER_INSERT | 1 << FILTER_QUERY | 1 << FILTER_CONTAINS | 1 << FILTER_COLUMN,
	.drop = GpuKeyedDrop,
	.location = GpuKeyedLocation,
};
