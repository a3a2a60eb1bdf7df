/*
 * column_serve.c
 *		Serves requests for cached columns in the GPU worker.
 *
 * The values of a chunk are an array in device memory, which grows while pages arrive.  The
 * worker's own memory has the first row and the LSN of each page, the set of cached pages, and one
 * remembered count of up to GPU_COUNTED_MAX distinct keys.  The bitmap of NULLs is built in the
 * worker's memory, and is copied to the device when all pages have arrived.
 *
 * src/gpu/worker/column_serve.c
 */
#include "gpu/worker/column_worker.h"
#include "gpu/gpu.h"

/*
 * The initial size, in values, of a chunk's array.  A full array grows by at least 1/GROWTH of its
 * size.
 */
#define FIRST_ROOM 65536
#define GROWTH     2

static void
free_chunk(GpuChunk *h)
{
	if (h == NULL)
		return;
	if (h->values)
	{
		GpuColumnOps()->destroy(h->values);
		GpuNoteFreed(h->device);
	}
	free(h->first);
	free(h->lsn);
	free(h->null);
	free(h->counted);
	free(h);
}

/* True if two chunks have the same pages of a table.  The columns may differ. */
static bool
is_same_chunk(const GpuColumnShape *a, const GpuColumnShape *b)
{
	return a->root == b->root && a->relation == b->relation && a->chunk == b->chunk;
}

/*
 * Pass "leads" of a freed chunk to another chunk of the same pages, and "begins" to another chunk
 * of the same table.
 */
static void
hand_over(const GpuChunk *gone)
{
	bool leads = gone->leads;
	bool begins = gone->begins;
	int i;

	for (i = 0; i < GPU_HANDLES && (leads || begins); i++)
	{
		GpuChunk *h = gpu_chunk[i];

		if (h == NULL || h->shape.root != gone->shape.root)
			continue;
		h->begins |= begins;
		begins = false;
		if (!leads || !is_same_chunk(&h->shape, &gone->shape))
			continue;
		h->leads = true;
		leads = false;
	}
}

static void
drop_column(int index)
{
	GpuChunk *h = gpu_chunk[index];

	gpu_chunk[index] = NULL;
	if (h)
		hand_over(h);
	free_chunk(h);
}

/* ---- loading a chunk ---- */

static qb_status
resize(GpuChunk *h, uint64 room)
{
	qb_status status;

	GPU_WITH_ROOM(status, h->device, GpuColumnOps()->resize(h->values, room, h->rows));
	if (status == QB_OK)
		h->room = room;
	return status;
}

static GpuChunk *
new_chunk(void)
{
	GpuChunk *h = calloc(1, sizeof(GpuChunk));

	if (h == NULL)
		return NULL;
	h->first = calloc(GPU_CHUNK_PAGES + 1, sizeof(uint32));
	h->lsn = calloc(GPU_CHUNK_PAGES, sizeof(uint64));
	if (h->first && h->lsn)
		return h;
	free_chunk(h);
	return NULL;
}

/*
 * The number of rows in each stripe except a table's first stripe.  A stripe is stored on one
 * device.
 */
#define STRIPE_ROWS (UINT64CONST(1) << 25)

/* The stripe of a row, by the row's number in its table.  A small table has only one stripe. */
static uint64
stripe_of(uint64 row)
{
	uint64 first = gpu_device_ops->rows_together;

	return row < first ? 0 : 1 + (row - first) / STRIPE_ROWS;
}

/*
 * Find a chunk of any column with the pages that "shape" names; NULL: no chunk is left.  The search
 * begins at handle *i, and *i becomes the handle after the chunk.
 */
static const GpuChunk *
next_same_chunk(const GpuColumnShape *shape, int *i)
{
	while (*i < GPU_HANDLES)
	{
		const GpuChunk *h = gpu_chunk[(*i)++];

		if (h && is_same_chunk(&h->shape, shape))
			return h;
	}
	return NULL;
}

static const GpuChunk *
find_same_chunk(const GpuColumnShape *shape)
{
	int i = 0;

	return next_same_chunk(shape, &i);
}

/*
 * Set "begins" of a new chunk if its table has no other chunk.  Otherwise clear "begins" of the
 * table's chunks on other devices.
 */
static void
note_beginning(GpuChunk *new)
{
	int i;

	new->begins = true;
	for (i = 0; i < GPU_HANDLES; i++)
	{
		GpuChunk *h = gpu_chunk[i];

		if (h == NULL || h->shape.root != new->shape.root)
			continue;
		new->begins = false;
		h->begins &= h->device == new->device;
	}
}

/*
 * Devices whose used memory differs by less than this number of bytes count as equally used.  The
 * number is the size of one column of a table's first stripe, but at most an eighth of
 * qsketch.gpu_memory_limit, or of the device's memory if no limit is set.
 */
static uint64
nearly_bytes(int device)
{
	uint64 part = gpu_device_ops->rows_together * sizeof(uint64);
	uint64 limit = gpu_memory_limit > 0 ? (uint64) gpu_memory_limit << 20
										: gpu_shared->device[device].memory_bytes;

	return limit > 0 ? Min(part, limit / 8) : part;
}

/*
 * Choose the device of a table's first chunk: among the devices with nearly the least used memory,
 * the device with the fewest tables.  Tables on several devices do not count.  So small tables are
 * spread over the devices, even if the stripes of a large table take slightly more memory on some
 * devices.
 */
static int
choose_beginning(void)
{
	int best = GpuChooseDevice(-1);
	int tables[GPU_DEVICES_MAX] = { 0 };
	uint64 most;
	int i;

	if (best < 0)
		return best;
	most = gpu_device_ops->used(gpu_device[best]) + nearly_bytes(best);
	for (i = 0; i < GPU_HANDLES; i++)
		if (gpu_chunk[i] && gpu_chunk[i]->begins)
			tables[gpu_chunk[i]->device]++;
	for (i = 0; i < gpu_shared->device_count; i++)
		if (!gpu_shared->device[i].lost && gpu_device_ops->used(gpu_device[i]) < most &&
			tables[i] < tables[best])
			best = i;
	return best;
}

/* The device of a table's next chunk; -1: any device, because the chunk begins another stripe. */
static int
choose_next(uint32 root)
{
	const GpuChunk *last = NULL;
	uint64 rows = 0;
	int i;

	for (i = 0; i < GPU_HANDLES; i++)
	{
		const GpuChunk *h = gpu_chunk[i];

		if (h == NULL || !h->leads || h->shape.root != root)
			continue;
		rows += h->rows;
		if (last == NULL || h->serial > last->serial)
			last = h;
	}
	if (last == NULL)
		return choose_beginning();
	if (gpu_fault == FAULT_SPREAD || stripe_of(rows) != stripe_of(rows - last->rows))
		return -1;
	return last->device;
}

/*
 * Choose the device of a new chunk.  If a chunk of the same pages exists, its device is chosen,
 * because rows are matched on one device.  The first stripe of a table, including its partitions,
 * is on one device.  Each further stripe is stored on the device with the least used memory.
 */
static int
choose_device(GpuSlot *slot)
{
	const GpuColumnShape *shape = GpuColumnShapeIn(slot);
	const GpuChunk *same = find_same_chunk(shape);

	slot->count = GpuChooseDevice(same ? same->device : choose_next(shape->root));
	return slot->count;
}

static qb_status
serve_create(GpuSlot *slot)
{
	const GpuColumnShape *shape = GpuColumnShapeIn(slot);
	GpuChunk *h = new_chunk();
	qb_status status;

	if (h == NULL || gpu_fault == FAULT_MEMORY)
	{
		free_chunk(h);
		return QB_NO_MEMORY;
	}
	h->serial = slot->handle.serial;
	h->shape = *shape;
	h->leads = find_same_chunk(shape) == NULL;
	h->device = slot->count;
	status = GpuColumnOps()->create(gpu_device[h->device], &h->values);
	if (status != QB_OK)
	{
		free_chunk(h);
		return status;
	}
	note_beginning(h);
	gpu_chunk[slot->handle.index] = h;
	GpuCount(COUNT_CREATED, 1);
	return GpuNoteCreated(QB_OK, h->device);
}

/* The number of words of the bitmap of NULLs in a slot. */
static uint64
slot_null_words(const GpuSlot *slot)
{
	return slot->weighted ? GpuNullWords(slot->bytes / sizeof(uint64)) : 0;
}

/* True if these pages follow the pages that have arrived, and the slot has all of their values. */
static bool
is_valid(const GpuChunk *h, const GpuSlot *slot, const GpuColumnPage *page)
{
	uint64 next = h->pages;
	uint64 rows = 0;
	int i;

	if (slot->count < 0 || slot->count > GPU_CHUNK_PAGES || slot->bytes > GPU_SLOT_BYTES ||
		slot->count * sizeof(*page) + slot->bytes + slot_null_words(slot) * sizeof(uint64) >
			GPU_SLOT_BYTES)
		return false;
	for (i = 0; i < slot->count; i++)
	{
		if (page[i].page < next || page[i].page >= GPU_CHUNK_PAGES ||
			page[i].rows > MaxHeapTuplesPerPage)
			return false;
		next = page[i].page + 1;
		rows += page[i].rows;
	}
	return rows * sizeof(uint64) == slot->bytes;
}

/* Set the bits of the next rows that are NULL. */
static qb_status
add_nulls(GpuChunk *h, const uint64 *null, uint64 rows)
{
	uint64 i;

	if (h->null == NULL)
		h->null = calloc(GpuNullWords(GPU_CHUNK_ROWS), sizeof(uint64));
	if (h->null == NULL)
		return QB_NO_MEMORY;
	for (i = 0; i < rows; i++)
		if (null[i / 64] >> i % 64 & 1)
		{
			uint64 row = h->rows + i;

			h->null[row / 64] |= UINT64CONST(1) << row % 64;
			h->nulls++;
		}
	return QB_OK;
}

/* Set first[] for the pages before "page" that were not sent.  These pages have no rows. */
static void
begin_pages(GpuChunk *h, uint32 page)
{
	while (h->pages < page)
		h->first[++h->pages] = (uint32) h->rows;
}

static qb_status
serve_put(GpuSlot *slot, GpuChunk *h)
{
	const GpuColumnPage *page = (const GpuColumnPage *) GpuSlotData(slot);
	const uint64 *value = (const uint64 *) (page + slot->count);
	uint64 rows = slot->bytes / sizeof(uint64);
	qb_status status = QB_OK;
	int i;

	if (!is_valid(h, slot, page))
		return QB_NO_MEMORY;
	if (h->rows + rows > h->room)
		status = resize(h, Max(h->rows + rows, Max(FIRST_ROOM, h->room + h->room / GROWTH)));
	if (status == QB_OK && rows > 0)
		status = GpuColumnOps()->put(h->values, h->rows, value, rows);
	if (status == QB_OK && slot->weighted)
		status = add_nulls(h, value + rows, rows);
	if (status != QB_OK)
		return status;
	for (i = 0; i < slot->count; i++)
	{
		begin_pages(h, page[i].page);
		h->lsn[page[i].page] = page[i].lsn;
		h->rows += page[i].rows;
		h->first[++h->pages] = (uint32) h->rows;
		GpuPagesAdd(&h->copied, page[i].page);
	}
	GpuCount(COUNT_BYTES_IN, slot->count * sizeof(*page) + slot->bytes);
	return QB_OK;
}

/* Copy the bitmap of NULLs to the device, if there are NULLs. */
static qb_status
finish_nulls(GpuChunk *h)
{
	qb_status status = QB_OK;

	if (h->nulls > 0)
		GPU_WITH_ROOM(status, h->device,
					  GpuColumnOps()->put_nulls(h->values, h->null, GpuNullWords(h->rows)));
	free(h->null);
	h->null = NULL;
	return status;
}

static void
note_copied(GpuChunk *h)
{
	uint32 first = GpuPagesRun(&h->copied, 0);

	h->copied_count = GpuPagesCount(&h->copied);
	h->copied_first = first == h->copied_count ? first : 0;
}

/*
 * Find the layout of a finished chunk: the layout of another column's chunk with the same "first",
 * or else the serial number of this chunk.
 */
static uint64
find_layout(const GpuChunk *h)
{
	const GpuChunk *other;
	int i = 0;

	while ((other = next_same_chunk(&h->shape, &i)) != NULL)
		if (other->layout != 0 &&
			memcmp(other->first, h->first, (GPU_CHUNK_PAGES + 1) * sizeof(uint32)) == 0)
			return other->layout;
	return h->serial;
}

/*
 * Finish a chunk.  Its array shrinks to the number of rows, unless the device has no memory for the
 * smaller array.
 */
static qb_status
serve_finish(GpuSlot *slot, GpuChunk *h)
{
	qb_status status = QB_OK;

	begin_pages(h, GPU_CHUNK_PAGES);
	h->layout = find_layout(h);
	note_copied(h);
	h->map_lsn = GpuColumnShapeIn(slot)->map_lsn;
	if (h->room > h->rows)
		status = GpuColumnOps()->resize(h->values, h->rows, h->rows);
	if (status == QB_OK)
		h->room = h->rows;
	return status == QB_OK || status == QB_NO_MEMORY ? finish_nulls(h) : status;
}

/* ---- using a chunk ---- */

static qb_status
serve_describe(GpuSlot *slot, const GpuChunk *h)
{
	GpuColumnShapeIn(slot)->map_lsn = h->map_lsn;
	GpuColumnShapeIn(slot)->keys = h->rows - h->nulls;
	memcpy(GpuSlotData(slot), &h->copied, sizeof(h->copied));
	return QB_OK;
}

/* Renew a chunk, unless another backend has renewed the chunk since it was described. */
static qb_status
serve_renew(GpuSlot *slot, GpuChunk *h)
{
	const GpuColumnShape *shape = GpuColumnShapeIn(slot);

	if (h->map_lsn != shape->old_lsn)
		return QB_OK;
	GpuPagesKeep(&h->copied, (const GpuPages *) GpuSlotData(slot));
	note_copied(h);
	h->map_lsn = shape->map_lsn;
	return QB_OK;
}

/* Reply with the remembered count; false: no count for this request is remembered. */
static bool
recall_counts(const GpuChunk *h, const GpuWanted *wanted, GpuSlot *slot)
{
	const GpuCounted *c = h->counted;
	uint64 *key = (uint64 *) GpuSlotData(slot);

	if (c == NULL || wanted->tests.tests > 0 || c->projection != wanted->projection ||
		c->most != slot->count || memcmp(&c->pages, &wanted->pages, sizeof(c->pages)) != 0)
		return false;
	slot->count = c->count;
	slot->offset = c->end;
	GpuHandleUsed(slot->handle.index);
	if (c->count > c->most)
		return true;
	memcpy(key, c->key, c->count * sizeof(uint64));
	memcpy(key + c->count, c->times, c->count * sizeof(int64));
	GpuCount(COUNT_COLUMN_KEYS, c->rows);
	return true;
}

/*
 * Remember the result of a count without tests: up to GPU_COUNTED_MAX distinct keys, or the fact
 * that more than "most" distinct keys exist.
 */
static void
remember_counts(GpuChunk *h, const GpuWanted *wanted, int most, uint64 rows, const GpuSlot *slot,
				const int64 *times)
{
	GpuCounted *c = h->counted;

	if (wanted->tests.tests > 0 || (slot->count <= most && slot->count > GPU_COUNTED_MAX))
		return;
	if (c == NULL)
		c = h->counted = malloc(sizeof(GpuCounted));
	if (c == NULL)
		return;
	c->pages = wanted->pages;
	c->projection = wanted->projection;
	c->most = most;
	c->count = slot->count;
	c->rows = rows;
	c->end = (uint32) slot->offset;
	if (slot->count > most)
		return;
	memcpy(c->key, GpuSlotData(slot), slot->count * sizeof(uint64));
	memcpy(c->times, times, slot->count * sizeof(int64));
}

/* What a request for a chunk gathers: the first wanted pages, up to one piece of work. */
static GpuGather
gather_first(const GpuSlot *slot, const GpuWanted *wanted, const qb_groups *groups)
{
	return (GpuGather){ .chunk = slot->handle,
						.wanted = wanted,
						.groups = groups,
						.most = (uint64) gpu_device_ops->piece_work };
}

static qb_status
count_keys(GpuSlot *slot, const GpuGather *gather, int most, int64 *times, GpuGathered *gathered)
{
	qb_status status = GpuColumnGather(gather, gathered);
	qs_cuda_counts counts = { .most = most,
							  .distinct = (uint64 *) GpuSlotData(slot),
							  .times = times };

	StaticAssertStmt(GPU_COUNTS_MAX <= QS_CUDA_COUNTS_MAX, "a table has room for a reply");
	if (status != QB_OK || gathered->count == 0)
		return status;
	status = GpuColumnOps()->counts(gpu_device[gpu_chunk[gathered->index]->device], gathered->key,
									gathered->count, &counts);
	slot->count = (int) counts.found;
	return status;
}

/* Count rows.  The reply has the key 0 with the number of rows, or no key if no row passes. */
static qb_status
count_rows(GpuSlot *slot, const GpuGather *gather, int64 *times, GpuGathered *gathered)
{
	qb_status status = GpuColumnCountRows(gather, gathered);

	if (status != QB_OK || gathered->count == 0)
		return status;
	*(uint64 *) GpuSlotData(slot) = 0;
	times[0] = (int64) gathered->count;
	slot->count = 1;
	return QB_OK;
}

/* Serve COLUMN_COUNTS: count distinct keys, or rows. */
static qb_status
serve_counts(GpuSlot *slot, GpuChunk *h)
{
	uint64 *key = (uint64 *) GpuSlotData(slot);
	int most = slot->count;
	int64 times[GPU_COUNTS_MAX];
	GpuWanted wanted;
	GpuGather gather = gather_first(slot, &wanted, NULL);
	GpuGathered gathered;
	qb_status status;

	if (most < 0 || most > GPU_COUNTS_MAX)
		return QB_NO_MEMORY;
	memcpy(&wanted, GpuSlotData(slot), sizeof(wanted));
	slot->weighted = h->nulls > 0;
	if (recall_counts(h, &wanted, slot))
		return QB_OK;
	slot->count = 0;
	status = wanted.projection == PROJECT_ROWS ? count_rows(slot, &gather, times, &gathered)
											   : count_keys(slot, &gather, most, times, &gathered);
	if (status != QB_OK)
		return status;
	slot->offset = gathered.end;
	remember_counts(h, &wanted, most, gathered.count, slot, times);
	if (slot->count > most)
		return QB_OK;
	memcpy(key + slot->count, times, slot->count * sizeof(int64));
	GpuCount(COUNT_COLUMN_KEYS, gathered.count);
	GpuCount(COUNT_BYTES_OUT, 2 * slot->count * sizeof(uint64));
	return QB_OK;
}

/* Serve COLUMN_MANY, for the pages of one piece of work. */
static qb_status
serve_many(GpuSlot *slot)
{
	GpuManyKeys *reply = (GpuManyKeys *) GpuSlotData(slot);
	GpuManyKeys asked;
	GpuGather gather = gather_first(slot, &asked.wanted, &asked.groups);
	GpuGathered gathered;
	qb_status status;

	if (slot->count < 0 || slot->count > GPU_COUNTS_MAX)
		return QB_NO_MEMORY;
	memcpy(&asked, reply, sizeof(asked));
	status = GpuColumnGather(&gather, &gathered);
	memset(reply->many, 0, sizeof(reply->many));
	if (status == QB_OK && gathered.key)
		status =
			GpuColumnOps()->many(gpu_device[gpu_chunk[gathered.index]->device], gathered.key,
								 gathered.of_group, asked.groups.count, slot->count, reply->many);
	return status;
}

/* ---- the handler ---- */

static qb_status
serve_column(GpuSlot *slot)
{
	GpuChunk *h = gpu_chunk[slot->handle.index];

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
			return GpuGivePiece(slot, h->lsn, GPU_CHUNK_PAGES * sizeof(uint64));
		case COLUMN_RENEW:
			return serve_renew(slot, h);
		case COLUMN_COUNTS:
			return serve_counts(slot, h);
		case COLUMN_MANY:
			return serve_many(slot);
		default:
			return QB_DEVICE_ERROR;
	}
}

static GpuLocation
location_of_column(int index)
{
	const GpuChunk *h = gpu_chunk[index];
	GpuLocation location = { .device = 0 };

	if (h == NULL)
		return location;
	location.device = h->device;
	location.on_device = true;
	location.bytes = GpuColumnOps()->bytes(h->values);
	location.pages = h->copied_count;
	if (h->copied_first > 0)
		location.chunk_state = (GpuChunkState){ h->copied_first, h->map_lsn, h->rows - h->nulls };
	return location;
}

const GpuHandler gpu_column_handler = {
	.serve = serve_column,
	.reads = 1 << COLUMN_DESCRIBE | 1 << COLUMN_LSNS | 1 << COLUMN_COUNTS | 1 << COLUMN_MANY,
	.chooses = 1 << COLUMN_CREATE,
	.choose = choose_device,
	.faulty = ~0u,
	.drop = drop_column,
	.location = location_of_column,
};
