/*
 * column_client.c
 *		A backend's side of the GPU worker: copies of columns, and calls.
 *
 * A copy is made by posting its pages: whether the worker had memory for them shows at
 * the end.  Then the copy belongs to nobody, as copies of stored values do, and is
 * found by its name.
 *
 * src/gpu/column_client.c
 */
#include "gpu/column_client.h"
#include "gpu/client.h"
#include "gpu/settings.h"
#include "gpu/wait.h"

#include "access/htup_details.h"
#include "utils/timestamp.h"

/* Bytes of a slot for pages and values, which leave room for a bitmap of NULLs. */
#define LOAD_BYTES (GPU_SLOT_BYTES - GPU_SLOT_KEYS / 8)

/* Bytes in a slot that the largest page may take. */
#define PAGE_BYTES (sizeof(GpuColumnPage) + MaxHeapTuplesPerPage * sizeof(uint64))

bool
GpuColumnsExist(void)
{
	return gpu_shared != NULL && pg_atomic_read_u32(&gpu_shared->copies[true].count) > 0 &&
		   gpu_columns_enabled && device_setting != DEVICE_CPU && GpuStateNow() == GPU_READY;
}

/* ---- names ---- */

static void
name_copy(const GpuColumn *column, uint32 range, StoredName *name)
{
	memset(name, 0, sizeof(*name));
	name->family = GPU_FAMILY_COLUMN;
	name->kind = column->database;
	name->id[0] = range;
	memcpy(name->header, column, sizeof(*column));
}

/* What is looked for among the copies, and what was found. */
typedef struct Finding
{
	StoredName name; /* of range 0 */
	GpuRef *ref;     /* of each range, for find_range() */
	uint32 *pages;   /* of each range, for find_pages() */
	uint32 ranges;
	int found;
} Finding;

static void
ref_of(const GpuEntry *entry, GpuRef *ref)
{
	ref->family = entry->family;
	ref->serial = entry->serial;
	ref->index = (int) (entry - gpu_shared->entry);
}

/* Is it a copy of the column, of one of the ranges? */
static bool
is_sought(const GpuEntry *entry, const Finding *finding)
{
	return entry->key.id[0] < finding->ranges && entry->key.kind == finding->name.kind &&
		   memcmp(entry->key.header, finding->name.header, sizeof(finding->name.header)) == 0;
}

static void
find_range(GpuEntry *entry, void *context)
{
	Finding *finding = context;

	if (!is_sought(entry, finding))
		return;
	ref_of(entry, &finding->ref[entry->key.id[0]]);
	finding->found++;
}

static void
find_pages(GpuEntry *entry, void *context)
{
	Finding *finding = context;

	if (is_sought(entry, finding))
		finding->pages[entry->key.id[0]] = entry->pages;
}

int
GpuColumnFind(const GpuColumn *column, GpuRef *ref, uint32 ranges)
{
	Finding finding = { .ref = ref, .ranges = ranges };

	name_copy(column, 0, &finding.name);
	memset(ref, 0, ranges * sizeof(*ref));
	GpuEachCached(GPU_FAMILY_COLUMN, find_range, &finding);
	return finding.found;
}

void
GpuColumnCover(const GpuColumn *column, uint32 *pages, uint32 ranges)
{
	Finding finding = { .pages = palloc0(ranges * sizeof(uint32)), .ranges = ranges };
	uint32 range;

	name_copy(column, 0, &finding.name);
	GpuEachCached(GPU_FAMILY_COLUMN, find_pages, &finding);
	for (range = 0; range < ranges; range++)
		pages[range] = Min(pages[range], finding.pages[range]);
	pfree(finding.pages);
}

typedef struct Listing
{
	GpuColumnCopy *copy;
	int count;
} Listing;

static void
list_copy_of(GpuEntry *entry, void *context)
{
	Listing *listing = context;
	GpuColumnCopy *copy = &listing->copy[listing->count++];

	memset(copy, 0, sizeof(*copy));
	memcpy(&copy->column, entry->key.header, sizeof(copy->column));
	copy->range = (uint32) entry->key.id[0];
	copy->bytes = entry->bytes;
	copy->used = pg_atomic_read_u64(&entry->used_at);
	ref_of(entry, &copy->ref);
}

/* Columns of which parts were pushed out are listed as copies of nothing. */
static void
list_pushed_out(Listing *listing)
{
	GpuPushedOut *out = palloc(GPU_PUSHED_OUT_MAX * sizeof(*out));
	int count = GpuListPushedOut(out);
	int i;

	for (i = 0; i < count; i++)
	{
		GpuColumnCopy *copy = &listing->copy[listing->count++];

		memset(copy, 0, sizeof(*copy));
		memcpy(&copy->column, out[i].column.header, sizeof(copy->column));
		copy->pushed_out = out[i].parts;
		copy->pushed_out_by = out[i].role;
		copy->pushed_out_at = out[i].when;
	}
	pfree(out);
}

GpuColumnCopy *
GpuColumnList(int *count)
{
	Listing listing = { .copy =
							palloc((GPU_ENTRIES + GPU_PUSHED_OUT_MAX) * sizeof(GpuColumnCopy)) };

	if (gpu_shared)
	{
		GpuEachCached(GPU_FAMILY_COLUMN, list_copy_of, &listing);
		list_pushed_out(&listing);
	}
	*count = listing.count;
	return listing.copy;
}

bool
GpuColumnForget(const GpuRef *ref)
{
	return GpuForgetCached(ref);
}

void
GpuColumnForgetPushedOut(const GpuColumn *column)
{
	StoredName name;

	name_copy(column, 0, &name);
	GpuForgetPushedOut(&name);
}

/* ---- making a copy ---- */

static void
start_slot(GpuColumnLoad *load)
{
	load->pages = load->rows = 0;
	load->any_null = false;
	memset(load->null, 0, GPU_SLOT_KEYS / 8);
}

bool
GpuColumnBegin(GpuColumnLoad *load, Oid relation, uint32 range)
{
	GpuSlot *slot;

	if (load->page == NULL)
	{
		load->page = palloc(GPU_SLOT_BYTES);
		load->value = palloc(GPU_SLOT_BYTES);
		load->null = palloc(GPU_SLOT_KEYS / 8);
	}
	start_slot(load);
	if (!GpuNewEntry(GPU_FAMILY_COLUMN, &load->ref))
		return false;
	slot = GpuTakeSlot(&load->ref, COLUMN_CREATE, false);
	GpuColumnShapeIn(slot)->place = (uint64) relation + range;
	if (GpuAskOne(slot) == QB_OK)
		return true;
	GpuDropEntry(&load->ref);
	return false;
}

/* Send what has come together. */
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

/* Copies that a newer one of the same name replaces. */
typedef struct Older
{
	StoredName name;
	uint64 serial; /* of the newer one */
	GpuRef ref;    /* of an older one; serial 0: none */
} Older;

static void
find_older(GpuEntry *entry, void *context)
{
	Older *older = context;

	if (entry->serial < older->serial && memcmp(&entry->key, &older->name, sizeof(StoredName)) == 0)
		ref_of(entry, &older->ref);
}

/* Forget copies that another session has made of the same range meanwhile. */
static void
forget_older(const GpuRef *ref, const StoredName *name)
{
	Older older = { .name = *name, .serial = ref->serial };

	do
	{
		older.ref.serial = 0;
		GpuEachCached(GPU_FAMILY_COLUMN, find_older, &older);
	}
	while (older.ref.serial != 0 && GpuForgetCached(&older.ref));
}

bool
GpuColumnEnd(GpuColumnLoad *load, uint64 map_lsn, const GpuColumn *column, uint32 range)
{
	StoredName name;
	GpuSlot *slot;
	bool done;

	post_pages(load);
	slot = GpuTakeSlot(&load->ref, COLUMN_FINISH, false);
	GpuColumnShapeIn(slot)->map_lsn = map_lsn;
	done = GpuAskOne(slot) == QB_OK;
	name_copy(column, range, &name);
	if (done)
	{
		GpuPublishEntry(&load->ref, &name);
		forget_older(&load->ref, &name);
	}
	GpuDropEntry(&load->ref);
	return done;
}

/* ---- using a copy ---- */

static void
take_state(const GpuEach *each, const GpuSlot *slot, uint32 i)
{
	GpuColumnState *state = (GpuColumnState *) each->context + i;
	const GpuColumnShape *shape = (const GpuColumnShape *) slot->shape.bytes;

	state->there = true;
	state->map_lsn = shape->map_lsn;
	state->keys = shape->keys;
	memcpy(&state->copied, GpuSlotData(slot), sizeof(state->copied));
}

void
GpuColumnDescribe(const GpuRef *ref, uint32 count, GpuColumnState *state)
{
	GpuEach each = {
		.ref = ref, .count = count, .op = COLUMN_DESCRIBE, .take = take_state, .context = state
	};
	uint32 i;

	for (i = 0; i < count; i++)
		state[i].there = false;
	GpuAskEach(&each);
}

static void
ask_lsns(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	slot->offset = at;
	slot->count = (int) size;
}

static void
take_lsns(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	memcpy((uint64 *) transfer->context + at, GpuSlotData(slot), size * sizeof(uint64));
}

bool
GpuColumnLsns(const GpuRef *ref, uint64 *lsn)
{
	GpuTransfer transfer = { .ref = ref,
							 .op = COLUMN_LSNS,
							 .all = GPU_RANGE_PAGES,
							 .most = GPU_SLOT_KEYS,
							 .ask = ask_lsns,
							 .take = take_lsns,
							 .context = lsn };

	return GpuAskAll(&transfer);
}

/* Wait for the reply: then a copy that is gone gives a status, not an error of the worker. */
void
GpuColumnRenew(const GpuRef *ref, uint64 old_lsn, uint64 map_lsn, const GpuPages *pages)
{
	GpuSlot *slot = GpuTakeSlot(ref, COLUMN_RENEW, false);

	GpuColumnShapeIn(slot)->old_lsn = old_lsn;
	GpuColumnShapeIn(slot)->map_lsn = map_lsn;
	memcpy(GpuSlotData(slot), pages, sizeof(*pages));
	(void) GpuAskOne(slot);
}

void
GpuColumnWant(GpuSlot *slot, const GpuColumnPart *part)
{
	GpuWanted *wanted = (GpuWanted *) GpuSlotData(slot);

	wanted->pages = *part->pages;
	wanted->wish = part->wish;
	wanted->pair = part->pair;
	if (part->tests)
		wanted->tests = *part->tests;
	else
		wanted->tests.columns = wanted->tests.tests = 0;
	memcpy(wanted->tested, part->tested, sizeof(wanted->tested));
}
