/*
 * column_serve.c
 *		What the GPU worker does with copies of columns: the servant of their requests.
 *
 * The keys of a copy are an array in device memory, which grows while pages come.  In
 * the worker's own memory are the place of each page's first key, the LSNs, and the set
 * of pages that count as copied.
 *
 * src/gpu/column_serve.c
 */
#include "gpu/column_device.h"
#include "gpu/column_worker.h"
#include "gpu/settings.h"
#include "gpu/worker.h"

/* Keys of the first room, and what room grows by: a fraction of itself. */
#define FIRST_ROOM 65536
#define GROWTH     2

typedef struct Holding
{
	void *keys; /* NULL: there is no copy */
	int device;
	uint64 room;
	uint64 count;
	uint32 pages; /* pages before this one have come */
	uint64 map_lsn;
	GpuPages copied;
	uint32 *first; /* GPU_RANGE_PAGES + 1 */
	uint64 *lsn;   /* GPU_RANGE_PAGES */
} Holding;

static Holding *holding[GPU_ENTRIES];

static const GpuColumnDeviceOps *
device_ops(void)
{
	return gpu_device_ops->column;
}

static void
free_holding(Holding *h)
{
	if (h == NULL)
		return;
	if (h->keys)
	{
		device_ops()->destroy(h->keys);
		pg_atomic_fetch_sub_u64(&gpu_shared->device[h->device].values, 1);
	}
	free(h->first);
	free(h->lsn);
	free(h);
}

static void
drop_column(int index)
{
	free_holding(holding[index]);
	holding[index] = NULL;
}

/* ---- making a copy ---- */

static qb_status
resize(Holding *h, uint64 room)
{
	qb_status status;

	do
		status = device_ops()->resize(h->keys, room, h->count);
	while (status == QB_NO_MEMORY && GpuMakeRoom(h->device));
	if (status == QB_OK)
		h->room = room;
	return status;
}

static Holding *
new_holding(void)
{
	Holding *h = calloc(1, sizeof(Holding));

	if (h == NULL)
		return NULL;
	h->first = calloc(GPU_RANGE_PAGES + 1, sizeof(uint32));
	h->lsn = calloc(GPU_RANGE_PAGES, sizeof(uint64));
	if (h->first && h->lsn)
		return h;
	free_holding(h);
	return NULL;
}

/* All copies of a table go to one device, because the sketches that they fill are on one. */
static qb_status
serve_create(GpuSlot *slot)
{
	Holding *h = new_holding();
	qb_status status;

	if (h == NULL || gpu_fault == FAULT_MEMORY)
	{
		free_holding(h);
		return QB_NO_MEMORY;
	}
	h->device = (int) (GpuColumnShapeIn(slot)->table % gpu_shared->device_count);
	status = device_ops()->create(gpu_device[h->device], &h->keys);
	if (status != QB_OK)
	{
		free_holding(h);
		return status;
	}
	holding[slot->entry.index] = h;
	pg_atomic_fetch_add_u64(&gpu_shared->device[h->device].values, 1);
	GpuCount(COUNT_CREATED, 1);
	return QB_OK;
}

/* Are these pages behind the ones that have come, and are their keys all in the slot? */
static bool
is_valid(const Holding *h, const GpuSlot *slot, const GpuColumnPage *page)
{
	uint64 next = h->pages;
	uint64 keys = 0;
	int i;

	if (slot->count < 0 || slot->count * sizeof(*page) + slot->bytes > GPU_SLOT_BYTES)
		return false;
	for (i = 0; i < slot->count; i++)
	{
		if (page[i].page < next || page[i].page >= GPU_RANGE_PAGES)
			return false;
		next = page[i].page + 1;
		keys += page[i].keys;
	}
	return keys * sizeof(uint64) == slot->bytes && h->count + keys <= PG_UINT32_MAX;
}

/* Note where the keys of the next pages begin, up to "page". */
static void
begin_pages(Holding *h, uint32 page)
{
	while (h->pages < page)
		h->first[++h->pages] = (uint32) h->count;
}

static qb_status
serve_put(GpuSlot *slot, Holding *h)
{
	const GpuColumnPage *page = (const GpuColumnPage *) GpuSlotData(slot);
	const uint64 *key = (const uint64 *) (page + slot->count);
	uint64 keys = slot->bytes / sizeof(uint64);
	qb_status status = QB_OK;
	int i;

	if (!is_valid(h, slot, page))
		return QB_NO_MEMORY;
	if (h->count + keys > h->room)
		status = resize(h, Max(h->count + keys, Max(FIRST_ROOM, h->room + h->room / GROWTH)));
	if (status == QB_OK && keys > 0)
		status = device_ops()->put(h->keys, h->count, key, keys);
	if (status != QB_OK)
		return status;
	for (i = 0; i < slot->count; i++)
	{
		begin_pages(h, page[i].page);
		h->lsn[page[i].page] = page[i].lsn;
		h->count += page[i].keys;
		h->first[++h->pages] = (uint32) h->count;
		GpuPagesAdd(&h->copied, page[i].page);
	}
	GpuCount(COUNT_BYTES_IN, slot->count * sizeof(*page) + slot->bytes);
	return QB_OK;
}

/* Room that is left over is given back, if there is room to do so. */
static qb_status
serve_finish(GpuSlot *slot, Holding *h)
{
	qb_status status = QB_OK;

	begin_pages(h, GPU_RANGE_PAGES);
	h->map_lsn = GpuColumnShapeIn(slot)->map_lsn;
	if (h->room > h->count)
		status = device_ops()->resize(h->keys, h->count, h->count);
	if (status == QB_OK)
		h->room = h->count;
	return status == QB_NO_MEMORY ? QB_OK : status;
}

/* ---- using a copy ---- */

static qb_status
serve_describe(GpuSlot *slot, const Holding *h)
{
	GpuColumnShapeIn(slot)->map_lsn = h->map_lsn;
	GpuColumnShapeIn(slot)->keys = h->count;
	memcpy(GpuSlotData(slot), &h->copied, sizeof(h->copied));
	return QB_OK;
}

static qb_status
serve_lsns(GpuSlot *slot, const Holding *h)
{
	if (slot->count < 0 || slot->count > GPU_SLOT_KEYS || slot->offset > GPU_RANGE_PAGES ||
		slot->count > GPU_RANGE_PAGES - slot->offset)
		return QB_NO_MEMORY;
	memcpy(GpuSlotData(slot), h->lsn + slot->offset, slot->count * sizeof(uint64));
	return QB_OK;
}

/* Nothing changes if somebody else has renewed the copy since it was described. */
static qb_status
serve_renew(GpuSlot *slot, Holding *h)
{
	const GpuColumnShape *shape = GpuColumnShapeIn(slot);

	if (h->map_lsn != shape->old_lsn)
		return QB_OK;
	GpuPagesKeep(&h->copied, (const GpuPages *) GpuSlotData(slot));
	h->map_lsn = shape->map_lsn;
	return QB_OK;
}

static GpuRun runs[GPU_RANGE_PAGES];

/* Add the keys of a page to the runs, whose number is returned. */
static int
add_run(int count, uint64 first, uint64 keys)
{
	if (keys == 0)
		return count;
	if (count > 0 && runs[count - 1].first + runs[count - 1].count == first)
		runs[count - 1].count += keys;
	else
		runs[count++] = (GpuRun){ .first = first, .count = keys };
	return count;
}

/* The pages that can be looked at together: 8 that are all wanted, with few keys; or one. */
static uint32
pages_at_once(const Holding *h, const GpuPages *pages, uint32 page, uint64 most)
{
	return page % 8 == 0 && pages->bits[page / 8] == 0xff &&
				   h->first[page + 8] - h->first[page] <= most
			   ? 8
			   : 1;
}

qb_status
GpuColumnPick(int index, const GpuPages *pages, uint32 from, uint64 most, GpuPicked *picked)
{
	const Holding *h = holding[index];
	int count = 0;
	uint32 page;
	uint32 step;

	if (h == NULL)
		return QB_NO_MEMORY;
	*picked = (GpuPicked){ .index = index, .device = h->device };
	for (page = from; page < GPU_RANGE_PAGES; page += step)
	{
		uint64 keys;

		step = pages_at_once(h, pages, page, most - Min(most, picked->count));
		keys = h->first[page + step] - h->first[page];
		if (!GpuPagesHave(pages, page))
			continue;
		if (picked->count > 0 && picked->count + keys > most)
			break;
		count = add_run(count, h->first[page], keys);
		picked->count += keys;
	}
	picked->end = page;
	GpuEntryUsed(index);
	return picked->count > 0 ? device_ops()->gather(h->keys, runs, count, &picked->key) : QB_OK;
}

qb_status
GpuColumnFetch(const GpuPicked *picked, uint64 *to)
{
	if (picked->count == 0)
		return QB_OK;
	return device_ops()->fetch(holding[picked->index]->keys, picked->key, picked->count, to);
}

/* Count distinct keys of as many pages as fit in a piece of the work. */
static qb_status
serve_counts(GpuSlot *slot)
{
	uint64 *key = (uint64 *) GpuSlotData(slot);
	int most = slot->count;
	static int64 times[GPU_COUNTS_MAX];
	GpuPages pages;
	GpuPicked picked;
	qb_status status;

	if (most < 0 || most > GPU_COUNTS_MAX)
		return QB_NO_MEMORY;
	memcpy(&pages, GpuSlotData(slot), sizeof(pages));
	slot->count = 0;
	status =
		GpuColumnPick(slot->entry.index, &pages, 0, (uint64) gpu_device_ops->piece_work, &picked);
	if (status == QB_OK && picked.count > 0)
		status = device_ops()->counts(holding[picked.index]->keys, picked.key, picked.count, most,
									  key, times, &slot->count);
	if (status != QB_OK)
		return status;
	slot->offset = picked.end;
	if (slot->count > most)
		return QB_OK;
	memcpy(key + slot->count, times, slot->count * sizeof(int64));
	GpuCount(COUNT_COLUMN_KEYS, picked.count);
	GpuCount(COUNT_BYTES_OUT, 2 * slot->count * sizeof(uint64));
	return QB_OK;
}

/* ---- the servant ---- */

static qb_status
serve_column(GpuSlot *slot)
{
	Holding *h = holding[slot->entry.index];

	if (gpu_fault == FAULT_ERROR)
		return QB_DEVICE_ERROR;
	if (slot->op == COLUMN_CREATE)
		return serve_create(slot);
	if (h == NULL)
		return QB_NO_MEMORY;
	switch ((GpuColumnOp) slot->op)
	{
		case COLUMN_PUT:
			return serve_put(slot, h);
		case COLUMN_FINISH:
			return serve_finish(slot, h);
		case COLUMN_DESCRIBE:
			return serve_describe(slot, h);
		case COLUMN_LSNS:
			return serve_lsns(slot, h);
		case COLUMN_RENEW:
			return serve_renew(slot, h);
		case COLUMN_COUNTS:
			return serve_counts(slot);
		default:
			return QB_DEVICE_ERROR;
	}
}

static GpuPlace
place_of_column(int index)
{
	const Holding *h = holding[index];
	GpuPlace place = { .device = 0 };

	if (h == NULL)
		return place;
	place.device = h->device;
	place.on_device = true;
	place.bytes = device_ops()->bytes(h->keys);
	return place;
}

const GpuServant gpu_column_servant = {
	.serve = serve_column,
	.reads = 1 << COLUMN_DESCRIBE | 1 << COLUMN_LSNS | 1 << COLUMN_COUNTS,
	.drop = drop_column,
	.place = place_of_column,
};
