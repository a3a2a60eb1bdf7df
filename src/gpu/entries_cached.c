/*
 * entries_cached.c
 *		The table of values in the worker's hands: copies of stored values and of columns.
 *
 * They belong to nobody, and are found by name.  See shared.h for the states.
 *
 * Columns have at most 7/8 of what all copies may have, in number and in bytes.  Values have
 * the rest, and what columns leave.  Beyond that the copy goes that was not used for the
 * longest time: of the role that needs the room, if it has a fair share or more, or else of
 * the role that has most.  Roles have equal shares of what there is.
 *
 * src/gpu/entries_cached.c
 */
#include "gpu/entries.h"
#include "gpu/settings.h"

#include "utils/timestamp.h"

static bool
is_column(const GpuEntry *entry)
{
	return entry->family == GPU_FAMILY_COLUMN;
}

static void
count_cached(const GpuEntry *entry, int n)
{
	GpuCopies *copies = &gpu_shared->copies[is_column(entry)];

	pg_atomic_fetch_add_u64(&copies->bytes, n * (int64) entry->bytes);
	pg_atomic_fetch_add_u32(&copies->count, n);
}

/* A copy that nobody shall find any more. */
static void
forget(GpuEntry *entry)
{
	count_cached(entry, -1);
	entry->state = ENTRY_DOOMED;
	pg_atomic_fetch_add_u32(&gpu_shared->doomed, 1);
}

/* ---- copies that are pushed out ---- */

/* What is to go, and for whom. */
typedef struct Push
{
	bool column; /* a part of a column, or a value */
	int device;  /* from this device; -1: from any */
	bool number; /* shares are compared by the number of copies, or by bytes */
	bool own;    /* copies of other roles stay */
	Oid role;    /* that needs the room */
} Push;

/* What a role has. */
typedef struct Share
{
	Oid role;
	uint64 amount;
	GpuEntry *oldest;
} Share;

static void
add_to_share(Share *share, int *count, GpuEntry *entry, uint64 amount)
{
	int i;

	for (i = 0; i < *count && share[i].role != entry->role; i++)
		;
	if (i == *count)
		share[(*count)++] = (Share){ .role = entry->role, .oldest = entry };
	share[i].amount += amount;
	if (pg_atomic_read_u64(&entry->used) < pg_atomic_read_u64(&share[i].oldest->used))
		share[i].oldest = entry;
}

/* The shares of all roles in what may go; their number. */
static int
find_shares(const Push *push, Share *share, uint64 *all)
{
	int count = 0;
	int i;

	*all = 0;
	for (i = 0; i < GPU_ENTRIES; i++)
	{
		GpuEntry *entry = &gpu_shared->entry[i];
		uint64 amount = push->number ? 1 : entry->bytes;

		if (entry->state != ENTRY_CACHED || is_column(entry) != push->column ||
			(push->device >= 0 && entry->device != push->device))
			continue;
		add_to_share(share, &count, entry, amount);
		*all += amount;
	}
	return count;
}

/* The copy that is to go, or NULL. */
static GpuEntry *
choose(const Push *push)
{
	static Share share[GPU_ENTRIES];
	uint64 all;
	int count = find_shares(push, share, &all);
	const Share *most = NULL;
	int i;

	for (i = 0; i < count; i++)
	{
		if (share[i].role == push->role && (push->own || share[i].amount * count >= all))
			return share[i].oldest;
		if (most == NULL || share[i].amount > most->amount)
			most = &share[i];
	}
	return most && !push->own ? most->oldest : NULL;
}

static bool
is_same_column(const StoredName *a, const StoredName *b)
{
	return a->kind == b->kind && memcmp(a->header, b->header, sizeof(a->header)) == 0;
}

/* The note of a column, or the one that it may take: unused, or the oldest. */
static GpuPushedOut *
find_pushed_out(const StoredName *column)
{
	GpuPushedOut *found = gpu_shared->pushed_out;
	int i;

	for (i = 0; i < GPU_PUSHED_OUT_MAX; i++)
	{
		GpuPushedOut *out = &gpu_shared->pushed_out[i];

		if (out->parts > 0 && is_same_column(&out->column, column))
			return out;
		if (out->when < found->when)
			found = out;
	}
	return found;
}

/*
 * Note for the owner of a table that a part of a column goes.  For a part that goes for
 * others of its own role, no note of another role is given up.
 */
static void
note_pushed_out(const GpuEntry *entry, Oid role)
{
	GpuPushedOut *out = find_pushed_out(&entry->key);

	if (!is_same_column(&out->column, &entry->key))
	{
		if (entry->role == role && out->parts > 0 && out->from != role)
			return;
		*out = (GpuPushedOut){ .column = entry->key, .from = entry->role };
	}
	out->parts++;
	out->role = role;
	out->when = (uint64) GetCurrentTimestamp();
}

static bool
push_out(const Push *push)
{
	GpuEntry *entry = choose(push);

	if (entry == NULL)
		return false;
	if (push->column)
		note_pushed_out(entry, push->role);
	GpuCount(push->column ? COUNT_COLUMNS_OUT : COUNT_VALUES_OUT, 1);
	forget(entry);
	return true;
}

/* Are there more copies of a kind than may be?  Columns have been looked at before values. */
static bool
are_too_many(bool column, bool number)
{
	uint64 limit = number ? GPU_CACHED_MAX : (uint64) gpu_cache_size << 20;
	uint64 have[2];
	int i;

	for (i = 0; i < 2; i++)
		have[i] = number ? pg_atomic_read_u32(&gpu_shared->copies[i].count)
						 : pg_atomic_read_u64(&gpu_shared->copies[i].bytes);
	return column ? have[true] > GPU_COLUMNS_OF(limit) : have[false] + have[true] > limit;
}

static void
trim(bool column, Oid role)
{
	Push push = { .column = column, .device = -1, .role = role };
	int number;

	for (number = 0; number < 2; number++)
	{
		push.number = number;
		while (are_too_many(column, number) && push_out(&push))
			;
	}
}

/* Keep copies within their limits, after a role has made one. */
static void
trim_all(Oid role)
{
	trim(true, role);
	trim(false, role);
}

/* For the worker: the limits have changed. */
void
GpuTrimCache(void)
{
	GpuLockEntries(LW_EXCLUSIVE);
	trim_all(InvalidOid);
	GpuUnlockEntries();
}

/* For the worker: push a copy off a device, for a role that needs the room; false: there is none. */
bool
GpuEvict(int device, bool column, Oid role, bool own)
{
	Push push = { .column = column, .device = device, .own = own, .role = role };
	bool found;

	GpuLockEntries(LW_EXCLUSIVE);
	found = push_out(&push);
	GpuUnlockEntries();
	return found;
}

/* The columns of which parts were pushed out; room for GPU_PUSHED_OUT_MAX.  Their number. */
int
GpuListPushedOut(GpuPushedOut *list)
{
	int count = 0;
	int i;

	GpuLockEntries(LW_SHARED);
	for (i = 0; i < GPU_PUSHED_OUT_MAX; i++)
		if (gpu_shared->pushed_out[i].parts > 0)
			list[count++] = gpu_shared->pushed_out[i];
	GpuUnlockEntries();
	return count;
}

/* A column is loaded again, or not wanted any more. */
void
GpuForgetPushedOut(const StoredName *column)
{
	GpuPushedOut *out;

	GpuLockEntries(LW_EXCLUSIVE);
	out = find_pushed_out(column);
	if (is_same_column(&out->column, column))
		memset(out, 0, sizeof(*out));
	GpuUnlockEntries();
}

/* ---- finding, publishing, forgetting ---- */

/* The copy of a stored value on a device, if there is one; "device" may be NULL. */
bool
GpuFindCached(const StoredName *key, GpuRef *ref, int *device)
{
	bool found = false;
	int i;

	GpuLockEntries(LW_SHARED);
	for (i = 0; i < GPU_ENTRIES && !found; i++)
	{
		GpuEntry *entry = &gpu_shared->entry[i];

		if (entry->state != ENTRY_CACHED || memcmp(&entry->key, key, sizeof(*key)) != 0)
			continue;
		found = true;
		ref->family = entry->family;
		ref->serial = entry->serial;
		ref->index = i;
		if (device)
			*device = entry->device;
		pg_atomic_write_u64(&entry->used, pg_atomic_add_fetch_u64(&gpu_shared->clock, 1));
	}
	GpuUnlockEntries();
	return found;
}

/* Leave a loaded value to all backends that look up the same value. */
void
GpuPublishEntry(const GpuRef *ref, const StoredName *key)
{
	GpuEntry *entry = GPU_ENTRY(ref);

	GpuLockEntries(LW_EXCLUSIVE);
	if (GpuIsNamed(entry, ref) && GpuIsMine(entry) && entry->state == ENTRY_LIVE)
	{
		GpuDisown(entry);
		entry->state = ENTRY_CACHED;
		entry->key = *key;
		pg_atomic_write_u64(&entry->used, pg_atomic_add_fetch_u64(&gpu_shared->clock, 1));
		pg_atomic_write_u64(&entry->used_at, (uint64) GetCurrentTimestamp());
		count_cached(entry, 1);
		trim_all(entry->role);
	}
	GpuUnlockEntries();
	GpuWakeForDoomed();
}

/* Call a function with each copy of a family.  It must be short, and may not fail. */
void
GpuEachCached(GpuFamily family, void (*visit)(GpuEntry *entry, void *context), void *context)
{
	int i;

	GpuLockEntries(LW_SHARED);
	for (i = 0; i < GPU_ENTRIES; i++)
	{
		GpuEntry *entry = &gpu_shared->entry[i];

		if (entry->state == ENTRY_CACHED && entry->family == family)
			visit(entry, context);
	}
	GpuUnlockEntries();
}

/* Let nobody find a copy any more; false if it is gone already. */
bool
GpuForgetCached(const GpuRef *ref)
{
	bool found;

	GpuLockEntries(LW_EXCLUSIVE);
	found = GPU_ENTRY(ref)->state == ENTRY_CACHED && GpuIsNamed(GPU_ENTRY(ref), ref);
	if (found)
		forget(GPU_ENTRY(ref));
	GpuUnlockEntries();
	GpuWakeForDoomed();
	return found;
}

/* For the worker: a copy is used now. */
void
GpuEntryUsed(int index)
{
	GpuEntry *entry = &gpu_shared->entry[index];

	pg_atomic_write_u64(&entry->used, pg_atomic_add_fetch_u64(&gpu_shared->clock, 1));
	pg_atomic_write_u64(&entry->used_at, (uint64) GetCurrentTimestamp());
}
