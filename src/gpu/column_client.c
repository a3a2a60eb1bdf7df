/*
 * column_client.c
 *		A backend's requests for cached columns to the GPU worker.
 *
 * A backend posts the pages of a new chunk.  Only the last reply tells whether the worker had
 * memory for the pages.  The backend then publishes the chunk: like a cached value, the chunk has
 * no owner, and is found by its name.
 *
 * src/gpu/column_client.c
 */
#include "gpu/column_gpu.h"

#include "gpu/gpu.h"

#include "access/htup_details.h"
#include "utils/timestamp.h"

/* Bytes of a slot for pages and values.  The bitmap of NULLs fits into the remaining bytes. */
#define LOAD_BYTES (GPU_SLOT_BYTES - GPU_SLOT_KEYS / 8)

/* Maximum number of bytes that a page and its values take in a slot. */
#define PAGE_BYTES (sizeof(GpuColumnPage) + MaxHeapTuplesPerPage * sizeof(uint64))

bool
GpuColumnsExist(void)
{
	return gpu_shared != NULL && pg_atomic_read_u32(&gpu_shared->cache_usage[true].count) > 0 &&
		   gpu_columns_enabled && device_setting != DEVICE_CPU && GpuStateNow() == GPU_READY;
}

/* ---- names ---- */

static void
name_copy(const GpuColumn *column, uint32 chunk, StoredName *name)
{
	memset(name, 0, sizeof(*name));
	name->family = GPU_FAMILY_COLUMN;
	name->kind = column->database;
	name->id[0] = chunk;
	memcpy(name->header, column, sizeof(*column));
}

/* A search for the cached chunks of a column. */
typedef struct Finding
{
	GpuRef *ref;   /* the handle of each chunk; or NULL */
	uint32 *pages; /* for each chunk: number of its cached pages; or NULL */
	uint32 chunks;
	int found;
} Finding;

static void
find_chunk(GpuHandle *handle, void *context)
{
	Finding *finding = context;
	uint64 chunk = handle->key.id[0];

	if (chunk >= finding->chunks)
		return;
	if (finding->ref)
		finding->ref[chunk] = GpuRefOf(handle);
	if (finding->pages)
		finding->pages[chunk] = handle->pages;
	finding->found++;
}

int
GpuColumnFind(const GpuColumn *column, GpuRef *ref, uint32 chunks)
{
	Finding finding = { .ref = ref, .chunks = chunks };
	StoredName name;

	name_copy(column, 0, &name);
	memset(ref, 0, chunks * sizeof(*ref));
	GpuEachChunk(&name, find_chunk, &finding);
	return finding.found;
}

void
GpuColumnCover(const GpuColumn *column, uint32 *pages, uint32 chunks)
{
	Finding finding = { .pages = palloc0(chunks * sizeof(uint32)), .chunks = chunks };
	StoredName name;
	uint32 chunk;

	name_copy(column, 0, &name);
	GpuEachChunk(&name, find_chunk, &finding);
	for (chunk = 0; chunk < chunks; chunk++)
		pages[chunk] = Min(pages[chunk], finding.pages[chunk]);
	pfree(finding.pages);
}

typedef struct Listing
{
	GpuCachedColumn *copy;
	int count;
} Listing;

static void
list_copy_of(GpuHandle *handle, void *context)
{
	Listing *listing = context;
	GpuCachedColumn *copy = &listing->copy[listing->count++];

	memset(copy, 0, sizeof(*copy));
	memcpy(&copy->column, handle->key.header, sizeof(copy->column));
	copy->chunk = (uint32) handle->key.id[0];
	copy->bytes = handle->bytes;
	copy->used = pg_atomic_read_u64(&handle->used_at);
	copy->ref = GpuRefOf(handle);
}

/* List the columns with evicted chunks, including columns that have no chunk left. */
static void
list_pushed_out(Listing *listing)
{
	GpuPushedOut *out = palloc(GPU_PUSHED_OUT_MAX * sizeof(*out));
	int count = GpuListPushedOut(out);
	int i;

	for (i = 0; i < count; i++)
	{
		GpuCachedColumn *copy = &listing->copy[listing->count++];

		memset(copy, 0, sizeof(*copy));
		memcpy(&copy->column, out[i].column.header, sizeof(copy->column));
		copy->pushed_out = out[i].chunks;
		copy->pushed_out_by = out[i].role;
		copy->pushed_out_at = out[i].when;
	}
	pfree(out);
}

GpuCachedColumn *
GpuColumnList(int *count)
{
	Listing listing = { .copy =
							palloc((GPU_HANDLES + GPU_PUSHED_OUT_MAX) * sizeof(GpuCachedColumn)) };

	if (gpu_shared)
	{
		GpuEachCached(GPU_FAMILY_COLUMN, list_copy_of, &listing);
		list_pushed_out(&listing);
	}
	*count = listing.count;
	return listing.copy;
}

void
GpuColumnForgetPushedOut(const GpuColumn *column)
{
	StoredName name;

	name_copy(column, 0, &name);
	GpuForgetPushedOut(&name);
}

/* ---- loading a chunk ---- */

static void
start_slot(GpuColumnLoad *load)
{
	load->pages = load->rows = 0;
	load->any_null = false;
	memset(load->null, 0, GPU_SLOT_KEYS / 8);
}

bool
GpuColumnBegin(GpuColumnLoad *load, const GpuColumnShape *shape)
{
	if (load->page == NULL)
	{
		load->page = palloc(GPU_SLOT_BYTES);
		load->value = palloc(GPU_SLOT_BYTES);
		load->null = palloc(GPU_SLOT_KEYS / 8);
	}
	start_slot(load);
	return GpuMake(GPU_FAMILY_COLUMN, COLUMN_CREATE, 0, shape, sizeof(*shape), &load->ref);
}

/* Post the pages that are ready for the next slot. */
static void
post_pages(GpuColumnLoad *load)
{
	Size head = load->pages * sizeof(GpuColumnPage);
	Size bytes = load->rows * sizeof(uint64);
	GpuSlot *slot;

	if (load->pages == 0)
		return;
	slot = GpuTakeSlot(&load->ref, COLUMN_PUT, false);
	slot->count = load->pages;
	slot->bytes = bytes;
	slot->weighted = load->any_null;
	memcpy(GpuSlotData(slot), load->page, head);
	memcpy(GpuSlotData(slot) + head, load->value, bytes);
	if (load->any_null)
		memcpy(GpuSlotData(slot) + head + bytes, load->null,
			   GpuNullWords(load->rows) * sizeof(uint64));
	GpuPost(slot);
	start_slot(load);
}

uint64 *
GpuColumnRoom(GpuColumnLoad *load, int rows)
{
	Assert(rows <= MaxHeapTuplesPerPage);
	if (load->pages * sizeof(GpuColumnPage) + load->rows * sizeof(uint64) + PAGE_BYTES > LOAD_BYTES)
		post_pages(load);
	return load->value + load->rows;
}

void
GpuColumnAdd(GpuColumnLoad *load, uint32 page, uint64 lsn, int rows, const bool *null)
{
	int i;

	load->page[load->pages++] = (GpuColumnPage){ .page = page, .rows = rows, .lsn = lsn };
	for (i = 0; i < rows; i++)
		if (null[i])
		{
			int row = load->rows + i;

			load->null[row / 64] |= UINT64CONST(1) << row % 64;
			load->any_null = true;
		}
	load->rows += rows;
}

/* A search for older chunks with the same name as a new chunk. */
typedef struct Older
{
	uint64 chunk;
	uint64 serial; /* serial of the new chunk */
	GpuRef ref;    /* an older chunk; serial 0: no older chunk */
} Older;

static void
find_older(GpuHandle *handle, void *context)
{
	Older *older = context;

	if (handle->serial < older->serial && handle->key.id[0] == older->chunk)
		older->ref = GpuRefOf(handle);
}

/* Free older chunks of the same pages, which another session has loaded meanwhile. */
static void
forget_older(const GpuRef *ref, const StoredName *name)
{
	Older older = { .chunk = name->id[0], .serial = ref->serial };

	do
	{
		older.ref.serial = 0;
		GpuEachChunk(name, find_older, &older);
	}
	while (older.ref.serial != 0 && GpuForgetCached(&older.ref));
}

bool
GpuColumnEnd(GpuColumnLoad *load, uint64 map_lsn, const GpuColumn *column, uint32 chunk)
{
	StoredName name;
	GpuSlot *slot;
	bool done;

	post_pages(load);
	slot = GpuTakeSlot(&load->ref, COLUMN_FINISH, false);
	GpuColumnShapeIn(slot)->map_lsn = map_lsn;
	done = GpuAskOne(slot, NULL, 0) == QB_OK;
	name_copy(column, chunk, &name);
	if (done)
	{
		GpuPublishHandle(&load->ref, &name);
		forget_older(&load->ref, &name);
	}
	GpuDropHandle(&load->ref);
	return done;
}

/* ---- using a chunk ---- */

static void
take_state(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	GpuColumnState *state = (GpuColumnState *) transfer->context + at;

	state->there = GpuIsAnswer(slot);
	state->map_lsn = GpuColumnShapeIn(slot)->map_lsn;
	state->keys = GpuColumnShapeIn(slot)->keys;
	if (!state->there)
		return;
	state->copied = palloc(sizeof(GpuPages));
	memcpy(state->copied, GpuSlotData(slot), sizeof(GpuPages));
}

/*
 * Read the states that the worker publishes in shared memory.  In "ask", the serial of a chunk
 * becomes 0 if its state was published.
 */
static void
take_chunk_states(GpuRef *ask, uint32 count, GpuColumnState *state)
{
	GpuChunkState *chunk_state = palloc(Max(count, 1) * sizeof(GpuChunkState));
	uint32 i;

	GpuReadChunkStates(ask, count, chunk_state);
	for (i = 0; i < count; i++)
	{
		state[i] = (GpuColumnState){ .there = chunk_state[i].first > 0,
									 .map_lsn = chunk_state[i].map_lsn,
									 .keys = chunk_state[i].keys,
									 .first = chunk_state[i].first };
		if (state[i].there)
			ask[i].serial = 0;
	}
	pfree(chunk_state);
}

void
GpuColumnDescribe(const GpuRef *ref, uint32 count, GpuColumnState *state)
{
	GpuRef *ask = palloc(Max(count, 1) * sizeof(GpuRef));
	GpuTransfer transfer = { .ref = ask,
							 .each = true,
							 .op = COLUMN_DESCRIBE,
							 .all = count,
							 .most = 1,
							 .take = take_state,
							 .all_replies = true,
							 .context = state };

	memcpy(ask, ref, count * sizeof(GpuRef));
	take_chunk_states(ask, count, state);
	(void) GpuAskAll(&transfer);
	pfree(ask);
}

void
GpuColumnFreeStates(GpuColumnState *state, uint32 count)
{
	uint32 i;

	for (i = 0; i < count; i++)
		if (state[i].there && state[i].copied)
			pfree(state[i].copied);
	pfree(state);
}

bool
GpuColumnLsns(const GpuRef *ref, uint64 *lsn)
{
	return GpuFetchArray(ref, COLUMN_LSNS, 0, 0, lsn, GPU_CHUNK_PAGES * sizeof(uint64));
}

/*
 * Waits for the reply.  Nothing is done if the chunk is gone, or if its "map_lsn" is no longer
 * "old_lsn".
 */
void
GpuColumnRenew(const GpuRef *ref, uint64 old_lsn, uint64 map_lsn, const GpuPages *pages)
{
	GpuSlot *slot = GpuTakeSlot(ref, COLUMN_RENEW, false);

	GpuColumnShapeIn(slot)->old_lsn = old_lsn;
	GpuColumnShapeIn(slot)->map_lsn = map_lsn;
	memcpy(GpuSlotData(slot), pages, sizeof(*pages));
	(void) GpuAskOne(slot, NULL, 0);
}

void
GpuColumnWant(GpuSlot *slot, const GpuColumnChunk *chunk)
{
	GpuWanted *wanted = (GpuWanted *) GpuSlotData(slot);

	wanted->pages = *chunk->pages;
	wanted->projection = chunk->projection;
	wanted->pair = chunk->pair;
	if (chunk->tests)
		wanted->tests = *chunk->tests;
	else
		memset(&wanted->tests, 0, sizeof(wanted->tests));
	memcpy(wanted->tested, chunk->tested, sizeof(wanted->tested));
}

/* ---- adding keys of cached columns to values on a device ---- */

/* The last known device of a chunk; 0 if it is unknown. */
static int
device_of(const GpuColumnChunk *chunk)
{
	int device = GpuColumnDevice(chunk);

	return device < 0 || device >= GPU_DEVICES_MAX ? 0 : device;
}

/* A chunk with a rank, which is the number of earlier chunks on the chunk's device. */
typedef struct Ranked
{
	uint32 rank;
	uint32 device;
	GpuColumnChunk chunk;
} Ranked;

static int
compare_ranked(const void *a, const void *b)
{
	const Ranked *x = a;
	const Ranked *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->device < y->device ? -1 : x->device > y->device;
}

void
GpuColumnInterleave(GpuColumnChunk *chunk, int chunks)
{
	uint32 before[GPU_DEVICES_MAX] = { 0 };
	Ranked *ranked;
	int i;

	if (gpu_shared->device_count == 1)
		return;
	ranked = palloc(Max(chunks, 1) * sizeof(Ranked));
	for (i = 0; i < chunks; i++)
	{
		ranked[i].device = (uint32) device_of(&chunk[i]);
		ranked[i].rank = before[ranked[i].device]++;
		ranked[i].chunk = chunk[i];
	}
	qsort(ranked, chunks, sizeof(Ranked), compare_ranked);
	for (i = 0; i < chunks; i++)
		chunk[i] = ranked[i].chunk;
	pfree(ranked);
}

/* Chunks whose keys the worker adds to values. */
typedef struct Chunks
{
	const GpuColumnChunk *chunk;
	uint64 last[GPU_DEVICES_MAX]; /* the last chunk of each device */
	int64 *added;
	GpuGroupValues *groups; /* values of groups that receive the keys of all chunks; or NULL */
	GpuGroupValues *const *each_group; /* for each chunk: values that get its keys; or NULL */
	bool complete;
} Chunks;

/* The values of groups that receive the keys of a chunk; NULL: a single value receives them. */
static GpuGroupValues *
groups_of(const Chunks *chunks, uint64 at)
{
	return chunks->each_group ? chunks->each_group[at] : chunks->groups;
}

static GpuGroupValues *
groups_in(GpuSlot *slot)
{
	return &((GpuWantedOfGroups *) GpuSlotData(slot))->all;
}

static void
ask_chunk(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Chunks *chunks = transfer->context;
	const GpuColumnChunk *chunk = &chunks->chunk[at];
	const GpuGroupValues *groups = groups_of(chunks, at);

	slot->other = chunk->ref;
	slot->offset = 0;
	slot->count = chunks->last[device_of(chunk)] == at;
	GpuColumnWant(slot, chunk);
	if (groups == NULL)
		return;
	*groups_in(slot) = *groups;
	memset(groups_in(slot)->added, 0, sizeof(groups->added));
}

/* Add each group's number of added keys in the reply to all->added. */
static void
take_groups(GpuGroupValues *all, GpuSlot *slot)
{
	uint32 i;

	for (i = 0; i < all->groups.count; i++)
		all->added[i] += groups_in(slot)->added[i];
}

/*
 * Take the reply for a chunk.  If the request failed or the chunk is gone, the keys of the chunk's
 * first pages may already be added.
 */
static void
take_chunk(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	Chunks *chunks = transfer->context;

	chunks->complete &= GpuIsAnswer(slot);
	if (groups_of(chunks, at) && GpuIsAnswer(slot))
		take_groups(groups_of(chunks, at), slot);
	if (chunks->added == NULL)
		return;
	*chunks->added += slot->done;
	GpuPagesRemoveBefore(chunks->chunk[at].pages, (uint32) slot->offset);
}

static bool
send_chunks(const GpuRef *ref, bool each, int op, Chunks *all, int chunks)
{
	GpuTransfer transfer = { .ref = ref,
							 .each = each,
							 .op = op,
							 .all = chunks,
							 .most = 1,
							 .ask = ask_chunk,
							 .take = take_chunk,
							 .all_replies = true,
							 .chunks = true,
							 .context = all };
	int i;

	all->complete = true;
	for (i = 0; i < chunks; i++)
		all->last[device_of(&all->chunk[i])] = i;
	(void) GpuAskAll(&transfer);
	return all->complete;
}

bool
GpuColumnSend(const GpuRef *ref, int op, const GpuColumnChunk *chunk, int chunks, int64 *added)
{
	Chunks all = { .chunk = chunk, .added = added };

	if (added)
		*added = 0;
	return send_chunks(ref, false, op, &all, chunks);
}

bool
GpuColumnSendGroups(int op, GpuGroupValues *groups, const GpuColumnChunk *chunk, int chunks)
{
	int64 added = 0;
	Chunks all = { .chunk = chunk, .added = &added, .groups = groups };

	return send_chunks(&groups->value[0], false, op, &all, chunks);
}

bool
GpuColumnSendEach(int op, const GpuRef *ref, GpuGroupValues *const *groups,
				  const GpuColumnChunk *chunk, int chunks, int64 *added)
{
	Chunks all = { .chunk = chunk, .added = added, .each_group = groups };

	*added = 0;
	return send_chunks(ref, true, op, &all, chunks);
}

/* ---- distinct keys of cached columns, and their counts ---- */

static void
ask_counts(GpuSlot *slot, const GpuColumnChunk *chunk, int most)
{
	Assert(most <= GPU_COUNTS_MAX);
	slot->count = most;
	slot->offset = 0;
	GpuColumnWant(slot, chunk);
}

/* Read a reply; false: the chunk is gone, or the request failed. */
static bool
take_counts(const GpuSlot *slot, const GpuColumnChunk *chunk, int most, GpuKeyCounts *counts)
{
	const uint64 *data = (const uint64 *) GpuSlotData(slot);

	if (!GpuIsAnswer(slot))
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

/* Chunks whose keys are counted.  "index" lists the chunks that have pages left. */
typedef struct Counting
{
	const GpuColumnChunk *chunk;
	uint32 *index;
	int most;
	GpuTakeCounts take;
	void *context;
	bool there;
	bool ended; /* "take" has returned false */
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
	const GpuColumnChunk *chunk = &counting->chunk[counting->index[at]];

	if (counting->ended)
		return;
	if (take_counts(slot, chunk, counting->most, &counting->counts))
		counting->ended = !counting->take(counting->context, &counting->counts);
	else
		counting->there = false;
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
	there = GpuIsAnswer(slot);
	if (there)
		memcpy(many, asked->many, groups->count * sizeof(bool));
	GpuDone(slot);
	return there;
}
