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

	if (!GpuNewEntry(GPU_FAMILY_EXACT, ref))
		return false;
	slot = GpuTakeSlot(ref, EXACT_CREATE, false);
	GpuExactShapeIn(slot)->keys = keys;
	if (GpuAskOne(slot) == QB_OK)
		return true;
	GpuDropEntry(ref);
	return false;
}

/* Parts of a column on their way. */
typedef struct Parts
{
	const GpuColumnPart *part;
	bool complete; /* the keys of all pages were counted */
} Parts;

static void
ask_part(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const GpuColumnPart *part = &((const Parts *) transfer->context)->part[at];

	slot->other = part->ref;
	slot->offset = 0;
	GpuColumnWant(slot, part);
}

static void
take_part(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	Parts *parts = transfer->context;

	parts->complete &= !slot->gone && slot->status == QB_OK;
}

bool
GpuExactAddColumn(const GpuRef *ref, const GpuColumnPart *part, int parts)
{
	Parts all = { .part = part, .complete = true };
	GpuTransfer transfer = { .ref = ref,
							 .op = EXACT_COLUMN,
							 .all = parts,
							 .most = 1,
							 .ask = ask_part,
							 .take = take_part,
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
