/*
 * entries.c
 *		The table of values in the worker's hands: who owns which.
 *
 * See shared.h for the states.  Backends find their own entries by scanning
 * the table, which they do only if they have some: "owned" counts them.
 *
 * src/gpu/entries.c
 */
#include "gpu/entries.h"

#include "access/xact.h"

/* The owner does not need an entry any more. */
static void
doom(GpuEntry *entry)
{
	GpuDisown(entry);
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

		roles += GpuIsOwned(entry) && entry->role == role;
		if (entry->state != ENTRY_UNUSED || pg_atomic_read_u32(&entry->pending) > 0)
			continue;
		free++;
		unused = entry;
	}
	return GpuMayTake(free, GPU_ENTRIES, pg_atomic_read_u32(&gpu_shared->owned[GpuOwnNumber()]),
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
	entry->proc = GpuOwnNumber();
	entry->pid = MyProcPid;
	entry->role = role;
	entry->subid = GetCurrentSubTransactionId();
	entry->attached = entry->handed = entry->full = false;
	entry->bytes = 0;
	entry->pages = 0;
	entry->device = -1;
	pg_atomic_fetch_add_u32(&gpu_shared->owned[entry->proc], 1);
}

/* ---- functions that take the lock themselves ---- */

/* An entry of this transaction, or false if there is none for this process. */
bool
GpuNewEntry(GpuFamily family, GpuRef *ref)
{
	Oid role = GetAuthenticatedUserId();
	GpuEntry *entry;

	GpuLockEntries(LW_EXCLUSIVE);
	entry = find_unused(role);
	if (entry)
	{
		own(entry, family, role);
		ref->family = family;
		ref->serial = entry->serial;
		ref->index = (int) (entry - gpu_shared->entry);
	}
	GpuUnlockEntries();
	return entry != NULL;
}

/* Drop an entry if it is still this backend's. */
void
GpuDropEntry(const GpuRef *ref)
{
	GpuLockEntries(LW_EXCLUSIVE);
	if (GpuIsNamed(GPU_ENTRY(ref), ref) && GpuIsMine(GPU_ENTRY(ref)))
		doom(GPU_ENTRY(ref));
	GpuUnlockEntries();
	GpuWakeForDoomed();
}

/* From now on the owner's memory has an entry, and drops it when it goes away itself. */
void
GpuAttachEntry(const GpuRef *ref)
{
	GpuLockEntries(LW_EXCLUSIVE);
	if (GpuIsNamed(GPU_ENTRY(ref), ref) && GpuIsMine(GPU_ENTRY(ref)))
		GPU_ENTRY(ref)->attached = true;
	GpuUnlockEntries();
}

static void
give_to(GpuEntry *entry, const PGPROC *proc)
{
	GpuDisown(entry);
	entry->proc = ProcessNumber(proc);
	entry->pid = proc->pid;
	entry->attached = false;
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
	GpuEntry *entry = GPU_ENTRY(ref);

	GpuLockEntries(LW_EXCLUSIVE);
	if (GpuIsNamed(entry, ref) && GpuIsMine(entry))
	{
		if (combiner() != MyProc)
			entry->subid = InvalidSubTransactionId;
		give_to(entry, combiner());
		entry->handed = true;
		entry->ticket = *ticket;
		entry->shape = *shape;
	}
	GpuUnlockEntries();
}

/* Was an entry handed to this backend, or by this parallel worker to its leader? */
static bool
is_handed(const GpuEntry *entry)
{
	return GpuIsOwned(entry) && entry->handed && entry->proc == ProcessNumber(combiner());
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

	GpuLockEntries(LW_EXCLUSIVE);
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
	GpuUnlockEntries();
	return found;
}

static bool
owns_none(void)
{
	return gpu_shared == NULL || MyProc == NULL || GpuOwnNumber() >= gpu_shared->proc_count ||
		   pg_atomic_read_u32(&gpu_shared->owned[GpuOwnNumber()]) == 0;
}

/* Drop all entries of this backend. */
void
GpuDropAllEntries(void)
{
	int i;

	if (owns_none())
		return;
	GpuLockEntries(LW_EXCLUSIVE);
	for (i = 0; i < GPU_ENTRIES; i++)
		if (GpuIsMine(&gpu_shared->entry[i]))
			doom(&gpu_shared->entry[i]);
	GpuUnlockEntries();
	GpuWakeForDoomed();
}

/*
 * A subtransaction is rolled back: drop its entries that no memory has, and entries
 * handed over that nobody has adopted.  Parallel queries start no subtransactions, so entries
 * that were handed over came from a query inside this one.
 *
 * Entries that memory has go with it.  It may belong to a cursor that is older than the
 * subtransaction and was first read in it.  So these entries become the parent's.
 */
void
GpuDropSubEntries(SubTransactionId subid, SubTransactionId parent)
{
	int i;

	if (owns_none())
		return;
	GpuLockEntries(LW_EXCLUSIVE);
	for (i = 0; i < GPU_ENTRIES; i++)
	{
		GpuEntry *entry = &gpu_shared->entry[i];

		if (!GpuIsMine(entry) || (entry->subid != subid && entry->subid != InvalidSubTransactionId))
			continue;
		if (entry->attached)
			entry->subid = parent;
		else
			doom(entry);
	}
	GpuUnlockEntries();
	GpuWakeForDoomed();
}

/* A subtransaction became part of its parent. */
void
GpuRaiseSubEntries(SubTransactionId from, SubTransactionId to)
{
	int i;

	if (owns_none())
		return;
	GpuLockEntries(LW_EXCLUSIVE);
	for (i = 0; i < GPU_ENTRIES; i++)
		if (GpuIsMine(&gpu_shared->entry[i]) && gpu_shared->entry[i].subid == from)
			gpu_shared->entry[i].subid = to;
	GpuUnlockEntries();
}

/* For the worker: doomed entries that no request names. */
int
GpuTakeDoomed(int *index, int room)
{
	int count = 0;
	int i;

	GpuLockEntries(LW_SHARED);
	for (i = 0; i < GPU_ENTRIES && count < room; i++)
		if (gpu_shared->entry[i].state == ENTRY_DOOMED &&
			pg_atomic_read_u32(&gpu_shared->entry[i].pending) == 0)
			index[count++] = i;
	GpuUnlockEntries();
	return count;
}

/* For the worker: a doomed entry's value is freed. */
void
GpuEntryFreed(int index)
{
	GpuLockEntries(LW_EXCLUSIVE);
	Assert(gpu_shared->entry[index].state == ENTRY_DOOMED);
	gpu_shared->entry[index].state = ENTRY_UNUSED;
	gpu_shared->entry[index].bytes = 0;
	pg_atomic_fetch_sub_u32(&gpu_shared->doomed, 1);
	GpuUnlockEntries();
}

/* For the worker: keys on their way to a value are lost; was it live? */
bool
GpuLoseEntry(const GpuRef *ref)
{
	bool live;

	GpuLockEntries(LW_EXCLUSIVE);
	live = GpuIsNamed(GPU_ENTRY(ref), ref) && GPU_ENTRY(ref)->state == ENTRY_LIVE;
	if (live)
		GPU_ENTRY(ref)->state = ENTRY_LOST;
	GpuUnlockEntries();
	return live;
}

/* For the worker: all values are gone. */
void
GpuResetEntries(void)
{
	int i;

	GpuLockEntries(LW_EXCLUSIVE);
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
	memset(gpu_shared->pushed_out, 0, sizeof(gpu_shared->pushed_out));
	for (i = 0; i < lengthof(gpu_shared->copies); i++)
	{
		pg_atomic_write_u32(&gpu_shared->copies[i].count, 0);
		pg_atomic_write_u64(&gpu_shared->copies[i].bytes, 0);
	}
	GpuUnlockEntries();
}
