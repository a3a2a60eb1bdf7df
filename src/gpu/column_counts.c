/*
 * column_counts.c
 *		A backend's side of the GPU worker: distinct keys of copies, and how often each came.
 *
 * src/gpu/column_counts.c
 */
#include "gpu/column_client.h"
#include "gpu/client.h"
#include "gpu/wait.h"

static void
ask_counts(GpuSlot *slot, const GpuColumnChunk *chunk, int most)
{
	Assert(most <= GPU_COUNTS_MAX);
	slot->count = most;
	slot->offset = 0;
	GpuColumnWant(slot, chunk);
}

/* Take the reply; false: the copy is gone, or the device has no room. */
static bool
take_counts(const GpuSlot *slot, const GpuColumnChunk *chunk, int most, GpuKeyCounts *counts)
{
	const uint64 *data = (const uint64 *) GpuSlotData(slot);

	if (slot->gone || slot->status != QB_OK)
		return false;
	counts->count = slot->count;
	if (counts->count > most)
		return true;
	counts->nulls = slot->weighted;
	memcpy(counts->key, data, counts->count * sizeof(uint64));
	memcpy(counts->times, data + counts->count, counts->count * sizeof(int64));
	GpuPagesRemoveBefore(chunk->pages, (uint32) slot->offset);
	return true;
}

bool
GpuColumnCounts(const GpuColumnChunk *chunk, int most, GpuKeyCounts *counts)
{
	GpuSlot *slot = GpuTakeSlot(&chunk->ref, COLUMN_COUNTS, false);
	bool there;

	ask_counts(slot, chunk, most);
	GpuAsk(slot);
	GpuAwait(slot);
	there = take_counts(slot, chunk, most, counts);
	GpuDone(slot);
	return there;
}

/* Chunks whose keys are counted.  "index" says which of them have pages left. */
typedef struct Counting
{
	const GpuColumnChunk *chunk;
	uint32 *index;
	int most;
	GpuTakeCounts take;
	void *context;
	bool there;
	bool ended; /* "take" has had enough */
	GpuKeyCounts counts;
} Counting;

static void
ask_counts_of(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Counting *counting = transfer->context;
	const GpuColumnChunk *chunk = &counting->chunk[counting->index[at]];

	slot->handle = chunk->ref;
	ask_counts(slot, chunk, counting->most);
}

static void
take_counts_of(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	Counting *counting = transfer->context;

	if (!counting->there || counting->ended)
		return;
	counting->there =
		take_counts(slot, &counting->chunk[counting->index[at]], counting->most, &counting->counts);
	if (counting->there)
		counting->ended = !counting->take(counting->context, &counting->counts);
}

bool
GpuColumnCountsAll(const GpuColumnChunk *chunk, int chunks, int most, GpuTakeCounts take,
				   void *context)
{
	Counting *counting = palloc(sizeof(Counting));
	GpuTransfer transfer = { .op = COLUMN_COUNTS,
							 .most = 1,
							 .ask = ask_counts_of,
							 .take = take_counts_of,
							 .all_replies = true,
							 .context = counting };
	bool there;

	counting->chunk = chunk;
	counting->index = palloc(Max(chunks, 1) * sizeof(uint32));
	counting->most = most;
	counting->take = take;
	counting->context = context;
	counting->there = true;
	counting->ended = false;
	do
	{
		int i;

		transfer.all = 0;
		for (i = 0; i < chunks; i++)
			if (!GpuPagesAreNone(chunk[i].pages))
				counting->index[transfer.all++] = i;
		if (transfer.all > 0)
		{
			transfer.ref = &chunk[counting->index[0]].ref;
			(void) GpuAskAll(&transfer);
		}
	}
	while (transfer.all > 0 && counting->there && !counting->ended);
	there = counting->there;
	pfree(counting->index);
	pfree(counting);
	return there;
}

bool
GpuColumnMany(const GpuColumnChunk *chunk, const qb_groups *groups, int most, bool *many)
{
	GpuSlot *slot = GpuTakeSlot(&chunk->ref, COLUMN_MANY, false);
	GpuManyKeys *asked = (GpuManyKeys *) GpuSlotData(slot);
	bool there;

	slot->count = most;
	GpuColumnWant(slot, chunk);
	asked->groups = *groups;
	GpuAsk(slot);
	GpuAwait(slot);
	there = !slot->gone && slot->status == QB_OK;
	if (there)
		memcpy(many, asked->many, groups->count * sizeof(bool));
	GpuDone(slot);
	return there;
}
