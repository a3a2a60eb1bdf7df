/*
 * ring.c
 *		Slots and the queue of requests: see shared.h for their states.
 *
 * Nothing here waits, and nothing can fail.
 *
 * src/gpu/ring.c
 */
#include "gpu/shared.h"

/* Under "ring": put a slot on the list of free ones. */
static void
free_locked(GpuSlot *slot)
{
	slot->state = SLOT_FREE;
	slot->next = gpu_shared->free_slot;
	gpu_shared->free_slot = GpuSlotIndex(slot);
	gpu_shared->free_count++;
}

/* A slot to be filled, or NULL if there is none. */
GpuSlot *
GpuTrySlot(void)
{
	GpuSlot *slot = NULL;

	SpinLockAcquire(&gpu_shared->ring);
	if (gpu_shared->free_slot >= 0)
	{
		slot = GpuSlotAt(gpu_shared->free_slot);
		gpu_shared->free_slot = slot->next;
		gpu_shared->free_count--;
		slot->state = SLOT_FILLING;
		slot->abandoned = false;
	}
	SpinLockRelease(&gpu_shared->ring);
	return slot;
}

/* Done with a slot. */
void
GpuFreeSlot(GpuSlot *slot)
{
	SpinLockAcquire(&gpu_shared->ring);
	free_locked(slot);
	SpinLockRelease(&gpu_shared->ring);
	ConditionVariableSignal(&gpu_shared->slot_freed);
}

static void
count_pending(const GpuRef *ref, int32 n)
{
	if (ref->serial != 0)
		pg_atomic_fetch_add_u32(&gpu_shared->entry[ref->index].pending, n);
}

/* Give a filled slot to the worker; false, and free, if it takes no requests. */
bool
GpuSubmit(GpuSlot *slot)
{
	bool serving;

	count_pending(&slot->entry, 1);
	count_pending(&slot->other, 1);
	slot->proc = GpuProcNumber(MyProc);
	slot->status = QS_OK;
	slot->gone = false;
	SpinLockAcquire(&gpu_shared->ring);
	serving = gpu_shared->serving;
	if (serving)
	{
		slot->state = SLOT_QUEUED;
		*GpuQueueAt(gpu_shared->queue_tail++) = GpuSlotIndex(slot);
	}
	else
		free_locked(slot);
	SpinLockRelease(&gpu_shared->ring);
	if (serving)
		SetLatch(gpu_shared->worker_latch);
	else
	{
		count_pending(&slot->entry, -1);
		count_pending(&slot->other, -1);
	}
	return serving;
}

/* From now on the worker takes requests. */
void
GpuServeRequests(void)
{
	SpinLockAcquire(&gpu_shared->ring);
	gpu_shared->serving = true;
	SpinLockRelease(&gpu_shared->ring);
}

/* For the worker: does nobody wait for it? */
bool
GpuIsIdle(void)
{
	bool idle;

	SpinLockAcquire(&gpu_shared->ring);
	idle = gpu_shared->queue_head == gpu_shared->queue_tail;
	SpinLockRelease(&gpu_shared->ring);
	return idle;
}

/* The worker's next request, or NULL. */
GpuSlot *
GpuNextRequest(void)
{
	GpuSlot *slot = NULL;

	SpinLockAcquire(&gpu_shared->ring);
	if (gpu_shared->queue_head != gpu_shared->queue_tail)
	{
		slot = GpuSlotAt(*GpuQueueAt(gpu_shared->queue_head++));
		slot->state = SLOT_RUNNING;
	}
	SpinLockRelease(&gpu_shared->ring);
	return slot;
}

/* The worker is done with a request. */
void
GpuReply(GpuSlot *slot)
{
	Latch *latch = NULL;

	count_pending(&slot->entry, -1);
	count_pending(&slot->other, -1);
	SpinLockAcquire(&gpu_shared->ring);
	if (slot->wait && !slot->abandoned)
	{
		latch = &GetPGProcByNumber(slot->proc)->procLatch;
		slot->state = SLOT_DONE;
	}
	else
		free_locked(slot);
	SpinLockRelease(&gpu_shared->ring);
	pg_atomic_fetch_add_u64(&gpu_shared->progress, 1);
	if (latch)
		SetLatch(latch);
	else
		ConditionVariableSignal(&gpu_shared->slot_freed);
}

bool
GpuIsDone(const GpuSlot *slot)
{
	bool done;

	SpinLockAcquire(&gpu_shared->ring);
	done = slot->state == SLOT_DONE;
	SpinLockRelease(&gpu_shared->ring);
	return done;
}

/* Leave a slot, whoever has it: nobody waits for its reply any more. */
void
GpuAbandonSlot(GpuSlot *slot)
{
	bool freed;

	SpinLockAcquire(&gpu_shared->ring);
	freed = slot->state == SLOT_DONE || slot->state == SLOT_FILLING;
	if (freed)
		free_locked(slot);
	else
		slot->abandoned = true;
	SpinLockRelease(&gpu_shared->ring);
	if (freed)
		ConditionVariableSignal(&gpu_shared->slot_freed);
}

/* The worker failed, or starts after a failure: fail what is in its hands. */
void
GpuFailRequests(void)
{
	GpuSlot *slot;
	int i;

	SpinLockAcquire(&gpu_shared->ring);
	gpu_shared->serving = false;
	SpinLockRelease(&gpu_shared->ring);
	while ((slot = GpuNextRequest()) != NULL)
		;
	for (i = 0; i < gpu_shared->slot_count; i++)
	{
		slot = GpuSlotAt(i);
		if (slot->state == SLOT_RUNNING)
		{
			slot->status = QS_DEVICE_ERROR;
			GpuReply(slot);
		}
	}
	ConditionVariableBroadcast(&gpu_shared->slot_freed);
}
