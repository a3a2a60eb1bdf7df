/*
 * ring.c
 *		Slots and the queue of requests: see shared.h for their states.
 *
 * Nothing here waits, and nothing can fail.
 *
 * src/gpu/ring.c
 */
#include "gpu/shared.h"

#include "miscadmin.h"

/* Under "ring": put a slot on the list of free ones. */
static void
free_locked(GpuSlot *slot)
{
	GpuHolderAt(slot->proc)->slots--;
	slot->state = SLOT_FREE;
	slot->next = gpu_shared->free_slot;
	gpu_shared->free_slot = GpuSlotIndex(slot);
	gpu_shared->free_count++;
}

/*
 * A slot of a process is free: tell one waiting process of each kind (those with few
 * slots, and others).  The process that had the slot may have changed its kind.
 */
static void
tell_freed(int proc)
{
	ConditionVariableSignal(&gpu_shared->slot_freed[0]);
	if (GpuHolderAt(proc)->slots < GpuFew(gpu_shared->slot_count))
		ConditionVariableBroadcast(&gpu_shared->slot_freed[1]);
	else
		ConditionVariableSignal(&gpu_shared->slot_freed[1]);
}

static GpuHolder *
own_holder(void)
{
	return GpuHolderAt(ProcessNumber(MyProc));
}

/* Does this process have so few slots that it may have one more than others? */
bool
GpuHasFew(void)
{
	return own_holder()->slots < GpuFew(gpu_shared->slot_count);
}

/* Under "ring": slots that all processes of a role have. */
static int
slots_of_role(Oid role)
{
	int slots = 0;
	int i;

	for (i = 0; i < gpu_shared->proc_count; i++)
		if (GpuHolderAt(i)->role == role)
			slots += GpuHolderAt(i)->slots;
	return slots;
}

/* Under "ring": see GpuMayTake(). */
static bool
may_take_slot(const GpuHolder *holder)
{
	int free = gpu_shared->free_count;
	int all = gpu_shared->slot_count;

	return GpuMayTake(free, all, holder->slots, free <= all / 8 ? slots_of_role(holder->role) : 0);
}

/* A slot to be filled, or NULL if there is none for this process. */
GpuSlot *
GpuTrySlot(void)
{
	GpuHolder *holder = own_holder();
	Oid role = GetAuthenticatedUserId();
	GpuSlot *slot = NULL;

	SpinLockAcquire(&gpu_shared->ring);
	holder->role = role;
	if (may_take_slot(holder))
	{
		slot = GpuSlotAt(gpu_shared->free_slot);
		gpu_shared->free_slot = slot->next;
		gpu_shared->free_count--;
		holder->slots++;
		slot->proc = ProcessNumber(MyProc);
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
	int proc = slot->proc;

	SpinLockAcquire(&gpu_shared->ring);
	free_locked(slot);
	SpinLockRelease(&gpu_shared->ring);
	tell_freed(proc);
}

static void
count_pending(const GpuRef *ref, int32 n)
{
	if (ref->serial != 0)
		pg_atomic_fetch_add_u32(&gpu_shared->handle[ref->index].pending, n);
}

/* Give a filled slot to the worker; false, and free, if it takes no requests. */
bool
GpuSubmit(GpuSlot *slot)
{
	bool serving;

	count_pending(&slot->handle, 1);
	count_pending(&slot->other, 1);
	slot->status = QB_OK;
	slot->done = 0;
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
		count_pending(&slot->handle, -1);
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

/* For the worker: is there nothing in the queue? */
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
	int proc = slot->proc;

	count_pending(&slot->handle, -1);
	count_pending(&slot->other, -1);
	SpinLockAcquire(&gpu_shared->ring);
	if (slot->wait && !slot->abandoned)
	{
		latch = &GetPGProcByNumber(proc)->procLatch;
		slot->state = SLOT_DONE;
	}
	else
		free_locked(slot);
	SpinLockRelease(&gpu_shared->ring);
	if (latch)
		SetLatch(latch);
	else
		tell_freed(proc);
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

/* Leave a slot in whatever state it is: nobody waits for its reply any more. */
void
GpuAbandonSlot(GpuSlot *slot)
{
	int proc = slot->proc;
	bool freed;

	SpinLockAcquire(&gpu_shared->ring);
	freed = slot->state == SLOT_DONE || slot->state == SLOT_FILLING;
	if (freed)
		free_locked(slot);
	else
		slot->abandoned = true;
	SpinLockRelease(&gpu_shared->ring);
	if (freed)
		tell_freed(proc);
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
			slot->status = QB_DEVICE_ERROR;
			GpuReply(slot);
		}
	}
	ConditionVariableBroadcast(&gpu_shared->slot_freed[0]);
	ConditionVariableBroadcast(&gpu_shared->slot_freed[1]);
}
