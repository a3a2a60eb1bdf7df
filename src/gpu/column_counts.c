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
ask_counts(GpuSlot *slot, const GpuColumnPart *part, int most)
{
	Assert(most <= GPU_COUNTS_MAX);
	slot->count = most;
	slot->offset = 0;
	GpuColumnWant(slot, part);
}

/* Take the reply; false: the copy is gone, or the device has no room. */
static bool
take_counts(const GpuSlot *slot, const GpuColumnPart *part, int most, GpuKeyCounts *counts)
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
	GpuPagesRemoveBefore(part->pages, (uint32) slot->offset);
	return true;
}

bool
GpuColumnCounts(const GpuColumnPart *part, int most, GpuKeyCounts *counts)
{
	GpuSlot *slot = GpuTakeSlot(&part->ref, COLUMN_COUNTS, false);
	bool there;

	ask_counts(slot, part, most);
	GpuAsk(slot);
	GpuAwait(slot);
	there = take_counts(slot, part, most, counts);
	GpuDone(slot);
	return there;
}

/* Parts whose keys are counted.  "place" says which of them have pages left. */
typedef struct Counting
{
	const GpuColumnPart *part;
	uint32 *place;
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
	const GpuColumnPart *part = &counting->part[counting->place[at]];

	slot->entry = part->ref;
	ask_counts(slot, part, counting->most);
}

static void
take_counts_of(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	Counting *counting = transfer->context;

	if (!counting->there || counting->ended)
		return;
	counting->there =
		take_counts(slot, &counting->part[counting->place[at]], counting->most, &counting->counts);
	if (counting->there)
		counting->ended = !counting->take(counting->context, &counting->counts);
}

bool
GpuColumnCountsAll(const GpuColumnPart *part, int parts, int most, GpuTakeCounts take,
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

	counting->part = part;
	counting->place = palloc(Max(parts, 1) * sizeof(uint32));
	counting->most = most;
	counting->take = take;
	counting->context = context;
	counting->there = true;
	counting->ended = false;
	do
	{
		int i;

		transfer.all = 0;
		for (i = 0; i < parts; i++)
			if (!GpuPagesAreNone(part[i].pages))
				counting->place[transfer.all++] = i;
		if (transfer.all > 0)
		{
			transfer.ref = &part[counting->place[0]].ref;
			(void) GpuAskAll(&transfer);
		}
	}
	while (transfer.all > 0 && counting->there && !counting->ended);
	there = counting->there;
	pfree(counting->place);
	pfree(counting);
	return there;
}

bool
GpuColumnMany(const GpuColumnPart *part, const qb_groups *groups, int most, bool *many)
{
	GpuSlot *slot = GpuTakeSlot(&part->ref, COLUMN_MANY, false);
	GpuManyKeys *asked = (GpuManyKeys *) GpuSlotData(slot);
	bool there;

	slot->count = most;
	GpuColumnWant(slot, part);
	asked->groups = *groups;
	GpuAsk(slot);
	GpuAwait(slot);
	there = !slot->gone && slot->status == QB_OK;
	if (there)
		memcpy(many, asked->many, groups->count * sizeof(bool));
	GpuDone(slot);
	return there;
}
