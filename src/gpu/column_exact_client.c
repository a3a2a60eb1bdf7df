/*
 * column_exact_client.c
 *		A backend's side of the GPU worker: exact counts of the keys of a column.
 *
 * src/gpu/column_exact_client.c
 */
#include "gpu/client.h"
#include "gpu/column_client.h"
#include "gpu/column_exact.h"
#include "gpu/wait.h"

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
