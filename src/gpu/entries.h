/*
 * entries.h
 *		What the files of the table of values share: its lock, and whose an entry is.
 *
 *	entries.c			entries of transactions, from their making to their end
 *	entries_cached.c	copies of stored values and of columns, which belong to nobody
 *
 * src/gpu/entries.h
 */
#ifndef QS_GPU_ENTRIES_H
#define QS_GPU_ENTRIES_H

#include "gpu/shared.h"

#include "miscadmin.h"

#define GPU_ENTRY(ref) (&gpu_shared->entry[(ref)->index])

static inline void
GpuLockEntries(LWLockMode mode)
{
	LWLockAcquire(gpu_shared->entries, mode);
}

static inline void
GpuUnlockEntries(void)
{
	LWLockRelease(gpu_shared->entries);
}

static inline int
GpuOwnNumber(void)
{
	return ProcessNumber(MyProc);
}

/* ---- functions whose caller holds the lock ---- */

static inline bool
GpuIsOwned(const GpuEntry *entry)
{
	return entry->state == ENTRY_LIVE || entry->state == ENTRY_LOST;
}

static inline bool
GpuIsMine(const GpuEntry *entry)
{
	return GpuIsOwned(entry) && entry->proc == GpuOwnNumber();
}

static inline bool
GpuIsNamed(const GpuEntry *entry, const GpuRef *ref)
{
	return entry->state != ENTRY_UNUSED && entry->serial == ref->serial;
}

static inline void
GpuDisown(GpuEntry *entry)
{
	pg_atomic_fetch_sub_u32(&gpu_shared->owned[entry->proc], 1);
	entry->handed = false;
	memset(&entry->ticket, 0, sizeof(entry->ticket));
}

/* ---- the caller does not ---- */

/* The worker has something to do besides requests. */
static inline void
GpuWakeForDoomed(void)
{
	if (pg_atomic_read_u32(&gpu_shared->doomed) > 0 && GpuStateNow() == GPU_READY)
		SetLatch(gpu_shared->worker_latch);
}

#endif
