/*
 * column_send.c
 *		A backend's side of the GPU worker: keys of copies for values that are on a device.
 *
 * src/gpu/column_send.c
 */
#include "gpu/client.h"
#include "gpu/column_client.h"

/* Chunks of a column on their way, and the keys that were added. */
typedef struct Chunks
{
	const GpuColumnChunk *chunk;
	int64 added;
} Chunks;

static void
ask_chunk(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const GpuColumnChunk *chunk = &((const Chunks *) transfer->context)->chunk[at];

	slot->other = chunk->ref;
	slot->offset = 0;
	slot->count = 0;
	GpuColumnWant(slot, chunk);
}

/* Of a chunk that failed, or whose copy went, the keys of the first pages may have been added. */
static void
take_chunk(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	Chunks *chunks = transfer->context;

	chunks->added += slot->done;
	GpuPagesRemoveBefore(chunks->chunk[at].pages, (uint32) slot->offset);
}

int64
GpuColumnSend(const GpuRef *ref, int op, const GpuColumnChunk *chunk, int chunks)
{
	Chunks all = { .chunk = chunk };
	GpuTransfer transfer = { .ref = ref,
							 .op = op,
							 .all = chunks,
							 .most = 1,
							 .ask = ask_chunk,
							 .take = take_chunk,
							 .all_replies = true,
							 .context = &all };

	(void) GpuAskAll(&transfer);
	return all.added;
}
