/*
 * entries.c
 *		The table of values in the worker's hands: who owns which.
 *
 * See shared.h for the states.  Backends find their own entries by scanning
 * the table, which they do only if they have some: "owned" counts them.
 *
 * src/gpu/entries.c
 */
#include "gpu/shared.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#define ENTRY(ref) (&gpu_shared->entry[(ref)->index])

static void
lock_entries(LWLockMode mode)
{
	LWLockAcquire(gpu_shared->entries, mode);
}

static void
unlock_entries(void)
{
	LWLockRelease(gpu_shared->entries);
}

static int
own_number(void)
{
	return ProcessNumber(MyProc);
}

/* ---- functions whose caller holds the lock "entries" ---- */

static bool
is_owned(const GpuEntry *entry)
{
	return entry->state == ENTRY_LIVE || entry->state == ENTRY_LOST;
}

static bool
is_mine(const GpuEntry *entry)
{
	return is_owned(entry) && entry->proc == own_number();
}

static bool
is_named(const GpuEntry *entry, const GpuRef *ref)
{
	return entry->state != ENTRY_UNUSED && entry->serial == ref->serial;
}

static void
disown(GpuEntry *entry)
{
	pg_atomic_fetch_sub_u32(&gpu_shared->owned[entry->proc], 1);
	entry->handed = false;
	memset(&entry->ticket, 0, sizeof(entry->ticket));
}

/* The owner does not need an entry any more. */
static void
doom(GpuEntry *entry)
{
	disown(entry);
	entry->state = ENTRY_DOOMED;
	pg_atomic_fetch_add_u32(&gpu_shared->doomed, 1);
}

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

/* An unused entry, if this process may take one more. */
static GpuEntry *
find_unused(Oid role)
{
	GpuEntry *unused = NULL;
	int free = 0;
	int roles = 0;
	int i;

	for (i = 0; i < GPU_ENTRIES; i++)
	{
		GpuEntry *entry = &gpu_shared->entry[i];

		roles += is_owned(entry) && entry->role == role;
		if (entry->state != ENTRY_UNUSED || pg_atomic_read_u32(&entry->pending) > 0)
			continue;
		free++;
		unused = entry;
	}
	return GpuMayTake(free, GPU_ENTRIES, pg_atomic_read_u32(&gpu_shared->owned[own_number()]),
					  roles)
			   ? unused
			   : NULL;
}

static void
own(GpuEntry *entry, GpuFamily family, Oid role)
{
	entry->family = family;
	entry->serial = ++gpu_shared->last_serial;
	entry->state = ENTRY_LIVE;
	entry->proc = own_number();
	entry->pid = MyProcPid;
	entry->role = role;
	entry->subid = GetCurrentSubTransactionId();
	entry->handed = entry->evicted = false;
	entry->bytes = 0;
	entry->device = -1;
	pg_atomic_fetch_add_u32(&gpu_shared->owned[entry->proc], 1);
}

/* ---- functions that take the lock themselves ---- */

/* The worker has something to do besides requests. */
static void
wake_worker(void)
{
	if (pg_atomic_read_u32(&gpu_shared->doomed) > 0 && GpuStateNow() == GPU_READY)
		SetLatch(gpu_shared->worker_latch);
}

/* An entry of this transaction, or false if there is none for this process. */
bool
GpuNewEntry(GpuFamily family, GpuRef *ref)
{
	Oid role = GetAuthenticatedUserId();
	GpuEntry *entry;

	lock_entries(LW_EXCLUSIVE);
	entry = find_unused(role);
	if (entry)
	{
		own(entry, family, role);
		ref->family = family;
		ref->serial = entry->serial;
		ref->index = (int) (entry - gpu_shared->entry);
	}
	unlock_entries();
	return entry != NULL;
}

/* Drop an entry if it is still this backend's. */
void
GpuDropEntry(const GpuRef *ref)
{
	lock_entries(LW_EXCLUSIVE);
	if (is_named(ENTRY(ref), ref) && is_mine(ENTRY(ref)))
		doom(ENTRY(ref));
	unlock_entries();
	wake_worker();
}

static void
give_to(GpuEntry *entry, const PGPROC *proc)
{
	disown(entry);
	entry->proc = ProcessNumber(proc);
	entry->pid = proc->pid;
	pg_atomic_fetch_add_u32(&gpu_shared->owned[entry->proc], 1);
}

/* The process that combines the partial states of this one. */
static const PGPROC *
combiner(void)
{
	return MyProc->lockGroupLeader ? MyProc->lockGroupLeader : MyProc;
}

/* Give an entry to whoever redeems its ticket; until then to the leader, who outlives workers. */
void
GpuHandEntry(const GpuRef *ref, const TicketNumber *ticket, const GpuShape *shape)
{
	GpuEntry *entry = ENTRY(ref);

	lock_entries(LW_EXCLUSIVE);
	if (is_named(entry, ref) && is_mine(entry))
	{
		if (combiner() != MyProc)
			entry->subid = InvalidSubTransactionId;
		give_to(entry, combiner());
		entry->handed = true;
		entry->ticket = *ticket;
		entry->shape = *shape;
	}
	unlock_entries();
}

/* Was an entry handed to this backend, or by this parallel worker to its leader? */
static bool
is_handed(const GpuEntry *entry)
{
	return is_owned(entry) && entry->handed && entry->proc == ProcessNumber(combiner());
}

/*
 * Take an entry of this name that was handed over: the leader, or the parallel worker
 * that handed it.  False if there is none.
 */
bool
GpuAdoptEntry(GpuFamily family, const TicketNumber *ticket, GpuRef *ref, GpuShape *shape)
{
	bool found = false;
	int i;

	lock_entries(LW_EXCLUSIVE);
	for (i = 0; i < GPU_ENTRIES && !found; i++)
	{
		GpuEntry *entry = &gpu_shared->entry[i];

		if (!is_handed(entry) || entry->family != family ||
			memcmp(&entry->ticket, ticket, sizeof(*ticket)) != 0)
			continue;
		found = true;
		ref->serial = entry->serial;
		ref->index = i;
		ref->family = family;
		*shape = entry->shape;
		give_to(entry, MyProc);
		entry->subid = GetCurrentSubTransactionId();
	}
	unlock_entries();
	return found;
}

static bool
owns_none(void)
{
	return gpu_shared == NULL || MyProc == NULL || own_number() >= gpu_shared->proc_count ||
		   pg_atomic_read_u32(&gpu_shared->owned[own_number()]) == 0;
}

/* Drop the entries of this backend in a subtransaction, or all. */
static void
drop_own(SubTransactionId subid)
{
	int i;

	if (owns_none())
		return;
	lock_entries(LW_EXCLUSIVE);
	for (i = 0; i < GPU_ENTRIES; i++)
	{
		GpuEntry *entry = &gpu_shared->entry[i];

		if (is_mine(entry) && (subid == InvalidSubTransactionId || entry->subid == subid ||
							   entry->subid == InvalidSubTransactionId))
			doom(entry);
	}
	unlock_entries();
	wake_worker();
}

void
GpuDropAllEntries(void)
{
	drop_own(InvalidSubTransactionId);
}

/*
 * A subtransaction is rolled back: drop its entries, and entries handed over that
 * nobody has adopted.  Parallel queries start no subtransactions, so entries that were
 * handed over came from a query inside this one.
 */
void
GpuDropSubEntries(SubTransactionId subid)
{
	drop_own(subid);
}

/* A subtransaction became part of its parent. */
void
GpuRaiseSubEntries(SubTransactionId from, SubTransactionId to)
{
	int i;

	if (owns_none())
		return;
	lock_entries(LW_EXCLUSIVE);
	for (i = 0; i < GPU_ENTRIES; i++)
		if (is_mine(&gpu_shared->entry[i]) && gpu_shared->entry[i].subid == from)
			gpu_shared->entry[i].subid = to;
	unlock_entries();
}

/* The copy of a stored value on a device, if there is one; "device" may be NULL. */
bool
GpuFindCached(const StoredName *key, GpuRef *ref, int *device)
{
	bool found = false;
	int i;

	lock_entries(LW_SHARED);
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
	unlock_entries();
	return found;
}

/* Leave a loaded value to all backends that look up the same value. */
void
GpuPublishEntry(const GpuRef *ref, const StoredName *key)
{
	GpuEntry *entry = ENTRY(ref);

	lock_entries(LW_EXCLUSIVE);
	if (is_named(entry, ref) && is_mine(entry) && entry->state == ENTRY_LIVE)
	{
		disown(entry);
		entry->state = ENTRY_CACHED;
		entry->key = *key;
		pg_atomic_write_u64(&entry->used, pg_atomic_add_fetch_u64(&gpu_shared->clock, 1));
		pg_atomic_write_u64(&entry->used_at, (uint64) GetCurrentTimestamp());
		count_cached(entry, 1);
	}
	unlock_entries();
	if (GpuStateNow() == GPU_READY)
		SetLatch(gpu_shared->worker_latch); /* there may be too much now */
}

/* Call a function with each copy of a family.  It must be short, and may not fail. */
void
GpuEachCached(GpuFamily family, void (*visit)(GpuEntry *entry, void *context), void *context)
{
	int i;

	lock_entries(LW_SHARED);
	for (i = 0; i < GPU_ENTRIES; i++)
	{
		GpuEntry *entry = &gpu_shared->entry[i];

		if (entry->state == ENTRY_CACHED && entry->family == family)
			visit(entry, context);
	}
	unlock_entries();
}

/* Let nobody find a copy any more; false if it is gone already. */
bool
GpuForgetCached(const GpuRef *ref)
{
	bool found;

	lock_entries(LW_EXCLUSIVE);
	found = ENTRY(ref)->state == ENTRY_CACHED && is_named(ENTRY(ref), ref);
	if (found)
		forget(ENTRY(ref));
	unlock_entries();
	wake_worker();
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

/* For the worker: doomed entries that no request names. */
int
GpuTakeDoomed(int *index, int room)
{
	int count = 0;
	int i;

	lock_entries(LW_SHARED);
	for (i = 0; i < GPU_ENTRIES && count < room; i++)
		if (gpu_shared->entry[i].state == ENTRY_DOOMED &&
			pg_atomic_read_u32(&gpu_shared->entry[i].pending) == 0)
			index[count++] = i;
	unlock_entries();
	return count;
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

	lock_entries(LW_EXCLUSIVE);
	for (i = 0; i < GPU_ENTRIES; i++)
	{
		GpuEntry *entry = &gpu_shared->entry[i];

		if (entry->state == ENTRY_CACHED && (device < 0 || entry->device == device) &&
			(!oldest || pg_atomic_read_u64(&entry->used) < pg_atomic_read_u64(&oldest->used)))
			oldest = entry;
	}
	if (oldest)
		forget(oldest);
	unlock_entries();
	return oldest != NULL;
}

/* For the worker: a doomed entry's value is freed. */
void
GpuEntryFreed(int index)
{
	lock_entries(LW_EXCLUSIVE);
	Assert(gpu_shared->entry[index].state == ENTRY_DOOMED);
	gpu_shared->entry[index].state = ENTRY_UNUSED;
	gpu_shared->entry[index].bytes = 0;
	pg_atomic_fetch_sub_u32(&gpu_shared->doomed, 1);
	unlock_entries();
}

/* For the worker: keys on their way to a value are lost; was it live? */
bool
GpuLoseEntry(const GpuRef *ref)
{
	bool live;

	lock_entries(LW_EXCLUSIVE);
	live = is_named(ENTRY(ref), ref) && ENTRY(ref)->state == ENTRY_LIVE;
	if (live)
		ENTRY(ref)->state = ENTRY_LOST;
	unlock_entries();
	return live;
}

/* For the worker: all values are gone. */
void
GpuResetEntries(void)
{
	int i;

	lock_entries(LW_EXCLUSIVE);
	for (i = 0; i < GPU_ENTRIES; i++)
	{
		GpuEntry *entry = &gpu_shared->entry[i];

		entry->bytes = 0;
		if (entry->state == ENTRY_LIVE)
			entry->state = ENTRY_LOST;
		else if (entry->state != ENTRY_LOST)
			entry->state = ENTRY_UNUSED;
	}
	pg_atomic_write_u32(&gpu_shared->doomed, 0);
	pg_atomic_write_u64(&gpu_shared->cache_now, 0);
	pg_atomic_write_u32(&gpu_shared->cached, 0);
	pg_atomic_write_u32(&gpu_shared->columns, 0);
	unlock_entries();
}
