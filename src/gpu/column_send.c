/*
 * column_send.c
 *		A backend's side of the GPU worker: keys of copies for values that are on a device.
 *
 * src/gpu/column_send.c
 */
#include "gpu/client.h"
#include "gpu/column_client.h"

/* Parts of a column on their way, and the keys that were added. */
typedef struct Parts
{
	const GpuColumnPart *part;
	int64 added;
} Parts;

static void
ask_part(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const GpuColumnPart *part = &((const Parts *) transfer->context)->part[at];

	slot->other = part->ref;
	slot->offset = 0;
	slot->count = 0;
	GpuColumnWant(slot, part);
}

/* Of a part that failed, or whose copy went, the keys of the first pages may have been added. */
static void
take_part(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	Parts *parts = transfer->context;

	parts->added += slot->done;
	GpuPagesRemoveBefore(parts->part[at].pages, (uint32) slot->offset);
}

int64
GpuColumnSend(const GpuRef *ref, int op, const GpuColumnPart *part, int parts)
{
	Parts all = { .part = part };
	GpuTransfer transfer = { .ref = ref,
							 .op = op,
							 .all = parts,
							 .most = 1,
							 .ask = ask_part,
							 .take = take_part,
							 .all_replies = true,
							 .context = &all };

	(void) GpuAskAll(&transfer);
	return all.added;
}
