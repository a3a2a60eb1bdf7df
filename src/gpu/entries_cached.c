/*
 * entries_cached.c
 *		The table of values in the worker's hands: copies of stored values and of columns.
 *
 * They belong to nobody, and are found by name.  See shared.h for the states.
 *
 * src/gpu/entries_cached.c
 */
#include "gpu/entries.h"

#include "utils/timestamp.h"

static void
count_cached(const GpuEntry *entry, int n)
{
	pg_atomic_fetch_add_u64(&gpu_shared->cache_now, n * (int64) entry->bytes);
	pg_atomic_fetch_add_u32(&gpu_shared->cached, n);
	if (entry->family == GPU_FAMILY_COLUMN)
		pg_atomic_fetch_add_u32(&gpu_shared->columns, n);
}

/* A copy that nobody shall find any more. */
static void
forget(GpuEntry *entry)
{
	count_cached(entry, -1);
	entry->state = ENTRY_DOOMED;
	pg_atomic_fetch_add_u32(&gpu_shared->doomed, 1);
}

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
	}
	GpuUnlockEntries();
	if (GpuStateNow() == GPU_READY)
		SetLatch(gpu_shared->worker_latch); /* there may be too much now */
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

/*
 * For the worker: doom the cached entry of a device (-1: of any) that was not
 * used for the longest time; false if there is none.
 */
bool
GpuEvictOldest(int device)
{
	GpuEntry *oldest = NULL;
	int i;

	GpuLockEntries(LW_EXCLUSIVE);
	for (i = 0; i < GPU_ENTRIES; i++)
	{
		GpuEntry *entry = &gpu_shared->entry[i];

		if (entry->state == ENTRY_CACHED && (device < 0 || entry->device == device) &&
			(!oldest || pg_atomic_read_u64(&entry->used) < pg_atomic_read_u64(&oldest->used)))
			oldest = entry;
	}
	if (oldest)
		forget(oldest);
	GpuUnlockEntries();
	return oldest != NULL;
}
