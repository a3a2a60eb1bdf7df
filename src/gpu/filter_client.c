/*
 * filter_client.c
 *		A backend's side of the GPU worker: filters there, and calls.
 *
 * Bits and rows are posted: their errors show when the filter is fetched.  All other
 * requests wait for their replies.
 *
 * src/gpu/filter_client.c
 */
#include "gpu/client.h"
#include "gpu/column_client.h"
#include "gpu/filter_client.h"
#include "gpu/filter_gpu.h"
#include "gpu/wait.h"

bool
GpuFilterCreate(const qf_params *params, int device, GpuRef *ref)
{
	GpuSlot *slot;

	if (!GpuNewHandle(GPU_FAMILY_FILTER, ref))
		return false;
	slot = GpuTakeSlot(ref, FILTER_CREATE, false);
	slot->count = device;
	memcpy(slot->shape.bytes, params, sizeof(*params));
	if (GpuAskOne(slot) == QB_OK)
		return true;
	GpuDropHandle(ref);
	return false;
}

/* Bits on their way to the worker, or back. */
static void
ask_bits(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const qf_filter *f = transfer->context;

	slot->offset = at;
	slot->bytes = size;
	if (transfer->op == FILTER_WRITE)
		memcpy(GpuSlotData(slot), f->bits + at, size);
}

static void
take_bits(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const qf_filter *f = transfer->context;

	memcpy(f->bits + at, GpuSlotData(slot), size);
}

static GpuTransfer
transfer_of(const GpuRef *ref, GpuFilterOp op, qf_filter *f)
{
	return (GpuTransfer){ .ref = ref,
						  .op = op,
						  .all = qf_words(&f->params) * 8,
						  .most = GPU_SLOT_BYTES,
						  .ask = ask_bits,
						  .take = take_bits,
						  .context = f };
}

/* Send the positions of an explicit filter: one slot holds as many as there can be. */
static uint64
send_positions(const GpuRef *ref, const qf_filter *f)
{
	GpuSlot *slot = GpuTakeSlot(ref, FILTER_SET, false);
	uint32 *position = (uint32 *) GpuSlotData(slot);
	uint64_t at = 0;
	int count = 0;

	while (count < QF_EXPLICIT_MAX && qf_explicit_next(f, &at, &position[count]))
		count++;
	slot->count = count;
	GpuPost(slot);
	return count;
}

uint64
GpuFilterSendBits(const GpuRef *ref, const qf_filter *f)
{
	qf_filter from = *f; /* which is only read */
	GpuTransfer transfer = transfer_of(ref, FILTER_WRITE, &from);

	if (f->encoding == QF_EXPLICIT)
		return send_positions(ref, f);
	GpuPostAll(&transfer);
	return transfer.all;
}

static void
ask_rows(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const qf_batch *batch = transfer->context;
	const void *number = batch->row ? (const void *) (batch->row + at)
									: (batch->copies ? (const void *) (batch->copies + at) : NULL);
	GpuFilterRows *rows = (GpuFilterRows *) slot->shape.bytes;
	uint64 *data = (uint64 *) GpuSlotData(slot);

	rows->nonce = batch->nonce;
	rows->first = batch->first_row + at;
	rows->ids = batch->row != NULL;
	slot->count = (int) size;
	slot->weighted = number != NULL;
	memcpy(data, batch->fingerprint + at, size * sizeof(uint64));
	if (number)
		memcpy(data + size, number, size * sizeof(uint64));
}

uint64
GpuFilterSendRows(const GpuRef *ref, const qf_batch *batch)
{
	qf_batch rows = *batch;
	GpuTransfer transfer = { .ref = ref,
							 .op = FILTER_INSERT,
							 .all = batch->count,
							 .most = batch->row || batch->copies ? GPU_SLOT_WEIGHED : GPU_SLOT_KEYS,
							 .ask = ask_rows,
							 .context = &rows };

	GpuPostAll(&transfer);
	return batch->count;
}

uint64
GpuFilterSendColumn(const GpuRef *ref, const GpuColumnChunk *chunk, int chunks)
{
	return (uint64) GpuColumnSend(ref, FILTER_COLUMN, chunk, chunks);
}

static bool
load_stored(const void *filter, GpuRef *ref)
{
	const qf_filter *f = filter;

	if (!GpuFilterCreate(&f->params, -1, ref))
		return false;
	(void) GpuFilterSendBits(ref, f);
	return true;
}

const GpuStored gpu_stored_filters = {
	.family = GPU_FAMILY_FILTER,
	.header_bytes = QF_HEADER_BYTES,
	.load = load_stored,
};

/* What the worker says of its filter. */
static qb_status
fetch_state(const GpuRef *ref, GpuFilterState *state)
{
	GpuShape reply;
	qb_status status = GpuFetchShape(GpuTakeSlot(ref, FILTER_FETCH, false), &reply);

	memcpy(state, &reply, sizeof(*state));
	return status;
}

qb_status
GpuFilterDownload(const GpuRef *ref, uint64 given, qf_filter *f)
{
	GpuTransfer transfer = transfer_of(ref, FILTER_READ, f);
	GpuFilterState state;
	qb_status status = fetch_state(ref, &state);

	if (status == QB_OK && state.given != given)
		elog(ERROR, "filter on the GPU was given " UINT64_FORMAT ", not " UINT64_FORMAT,
			 state.given, given);
	if (status == QB_OK)
		status = qf_make_dense(f);
	if (status == QB_OK && !GpuAskAll(&transfer))
		GpuRaiseLost();
	f->ones = state.ones;
	return status;
}
