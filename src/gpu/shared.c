/*
 * shared.c
 *		The shared memory of GPU worker and backends: size, layout, first state; slots and queue.
 *
 * The size depends on settings that are fixed at server start.  GpuShared is followed by the queue,
 * the slots, the holders of slots, and the data of the slots.  The data begin on a page boundary,
 * because the worker page-locks them.
 *
 * The functions of this file do not wait, and cannot fail after the start.
 *
 * src/gpu/shared.c
 */
#include "gpu/shared.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#define PAGE 4096

GpuShared *gpu_shared = NULL;

/* A process, with the number of slots that it holds. */
typedef struct GpuHolder
{
	int slots;
	Oid role; /* login role of the process */
} GpuHolder;

/* Addresses of the arrays that follow GpuShared. */
static int *queue;
static GpuSlot *slots;
static GpuHolder *holders;
static uint8 *data;

static int buffer_size; /* kB: qsketch.gpu_buffer_size */

static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;

static int
slot_count(void)
{
	return Max(4, (int) ((Size) buffer_size * 1024 / GPU_SLOT_BYTES));
}

static Size
shared_size(void)
{
	return MAXALIGN(offsetof(GpuShared, handle_count) + MaxBackends * sizeof(pg_atomic_uint32));
}

static Size
data_size(void)
{
	return slot_count() * GPU_SLOT_BYTES;
}

static Size
total_size(void)
{
	return shared_size() + MAXALIGN(slot_count() * sizeof(int)) +
		   MAXALIGN(slot_count() * sizeof(GpuSlot)) + MAXALIGN(MaxBackends * sizeof(GpuHolder)) +
		   PAGE + data_size();
}

static void
request_shared(void)
{
	if (next_request_hook)
		next_request_hook();
	RequestAddinShmemSpace(total_size());
	RequestNamedLWLockTranche("qsketch", 1);
}

static void
init_handles(void)
{
	int i;

	gpu_shared->handles = &GetNamedLWLockTranche("qsketch")->lock;
	pg_atomic_init_u32(&gpu_shared->pending_frees, 0);
	pg_atomic_init_u64(&gpu_shared->clock, 0);
	for (i = 0; i < lengthof(gpu_shared->cache_usage); i++)
	{
		pg_atomic_init_u32(&gpu_shared->cache_usage[i].count, 0);
		pg_atomic_init_u64(&gpu_shared->cache_usage[i].bytes, 0);
	}
	for (i = 0; i < GPU_HANDLES; i++)
	{
		pg_atomic_init_u64(&gpu_shared->handle[i].used, 0);
		pg_atomic_init_u64(&gpu_shared->handle[i].used_at, 0);
		pg_atomic_init_u32(&gpu_shared->handle[i].pending, 0);
	}
	if (!pg_strong_random(gpu_shared->secret, sizeof(gpu_shared->secret)))
		elog(ERROR, "could not get random numbers");
	gpu_shared->proc_count = MaxBackends;
	for (i = 0; i < MaxBackends; i++)
		pg_atomic_init_u32(&gpu_shared->handle_count[i], 0);
}

static void
init_slots(void)
{
	int i;

	SpinLockInit(&gpu_shared->ring);
	for (i = 0; i < lengthof(gpu_shared->slot_freed); i++)
		ConditionVariableInit(&gpu_shared->slot_freed[i]);
	gpu_shared->slot_count = gpu_shared->free_count = slot_count();
	for (i = 0; i < slot_count(); i++)
		slots[i].next = i + 1 < slot_count() ? i + 1 : -1;
}

static void
init_shared(void)
{
	int i;

	memset(gpu_shared, 0, shared_size());
	memset(slots, 0, slot_count() * sizeof(GpuSlot));
	memset(holders, 0, MaxBackends * sizeof(GpuHolder));
	pg_atomic_init_u32(&gpu_shared->state, GPU_STARTING);
	pg_atomic_init_u64(&gpu_shared->progress, 0);
	for (i = 0; i < GPU_DEVICES_MAX; i++)
	{
		pg_atomic_init_u64(&gpu_shared->device[i].memory_used, 0);
		pg_atomic_init_u64(&gpu_shared->device[i].values, 0);
	}
	for (i = 0; i < GPU_COUNTERS; i++)
		pg_atomic_init_u64(&gpu_shared->counter[i], 0);
	pg_atomic_init_u64(&gpu_shared->since, (uint64) GetCurrentTimestamp());
	init_slots();
	init_handles();
}

static void
start_shared(void)
{
	bool found;
	uint8 *at;

	if (next_startup_hook)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	gpu_shared = ShmemInitStruct("qsketch", total_size(), &found);
	at = (uint8 *) gpu_shared + shared_size();
	queue = (int *) at;
	at += MAXALIGN(slot_count() * sizeof(int));
	slots = (GpuSlot *) at;
	at += MAXALIGN(slot_count() * sizeof(GpuSlot));
	holders = (GpuHolder *) at;
	at += MAXALIGN(MaxBackends * sizeof(GpuHolder));
	data = (uint8 *) TYPEALIGN(PAGE, at);
	if (!found)
		init_shared();
	LWLockRelease(AddinShmemInitLock);
}

/*
 * Request the shared memory, while the postmaster loads the module.  "kilobytes" is the size of the
 * slots' data.
 */
void
GpuRequestShared(int kilobytes)
{
	buffer_size = kilobytes;
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_shared;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_shared;
}

GpuSlot *
GpuSlotAt(int index)
{
	return &slots[index];
}

int
GpuSlotIndex(const GpuSlot *slot)
{
	return (int) (slot - slots);
}

uint8 *
GpuSlotData(const GpuSlot *slot)
{
	return data + GpuSlotIndex(slot) * GPU_SLOT_BYTES;
}

/* The data of all slots, for page-locking. */
uint8 *
GpuAllData(Size *bytes)
{
	*bytes = data_size();
	return data;
}

/* The entry of the queue for the request with this number. */
static int *
queue_at(uint64 number)
{
	return &queue[number % gpu_shared->slot_count];
}

/* ---- slots and the queue of requests: see shared.h for their states ---- */

/* Under "ring": put a slot on the list of free slots. */
static void
free_locked(GpuSlot *slot)
{
	holders[slot->proc].slots--;
	slot->state = SLOT_FREE;
	slot->next = gpu_shared->free_slot;
	gpu_shared->free_slot = GpuSlotIndex(slot);
	gpu_shared->free_count++;
}

/*
 * Wake waiting processes after a slot of process "proc" was freed: one process with few slots, and
 * one process with more slots.  If "proc" now has few slots, all processes in slot_freed[1] are
 * woken, because "proc" may still wait in slot_freed[1].
 */
static void
tell_freed(int proc)
{
	ConditionVariableSignal(&gpu_shared->slot_freed[0]);
	if (holders[proc].slots < GpuFew(gpu_shared->slot_count))
		ConditionVariableBroadcast(&gpu_shared->slot_freed[1]);
	else
		ConditionVariableSignal(&gpu_shared->slot_freed[1]);
}

static GpuHolder *
my_holder(void)
{
	return &holders[ProcessNumber(MyProc)];
}

/*
 * True if this process has few slots.  Such a process may take a slot when other processes may not.
 */
bool
GpuHasFew(void)
{
	return my_holder()->slots < GpuFew(gpu_shared->slot_count);
}

/* Under "ring": the number of slots that all processes of a role hold. */
static int
slots_of_role(Oid role)
{
	int slots = 0;
	int i;

	for (i = 0; i < gpu_shared->proc_count; i++)
		if (holders[i].role == role)
			slots += holders[i].slots;
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

/* Take a slot to write a request; NULL: this process may take no slot now. */
GpuSlot *
GpuTrySlot(void)
{
	GpuHolder *holder = my_holder();
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

/*
 * Put a filled slot into the queue.  False: the worker accepts no requests, and the slot was freed.
 */
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
		*queue_at(gpu_shared->queue_tail++) = GpuSlotIndex(slot);
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

/* Let backends queue requests from now on. */
void
GpuServeRequests(void)
{
	SpinLockAcquire(&gpu_shared->ring);
	gpu_shared->serving = true;
	SpinLockRelease(&gpu_shared->ring);
}

/* For the worker: true if the queue is empty. */
bool
GpuIsIdle(void)
{
	bool idle;

	SpinLockAcquire(&gpu_shared->ring);
	idle = gpu_shared->queue_head == gpu_shared->queue_tail;
	SpinLockRelease(&gpu_shared->ring);
	return idle;
}

/* For the worker: the next request of the queue; NULL: the queue is empty. */
GpuSlot *
GpuNextRequest(void)
{
	GpuSlot *slot = NULL;

	SpinLockAcquire(&gpu_shared->ring);
	if (gpu_shared->queue_head != gpu_shared->queue_tail)
	{
		slot = GpuSlotAt(*queue_at(gpu_shared->queue_head++));
		slot->state = SLOT_RUNNING;
	}
	SpinLockRelease(&gpu_shared->ring);
	return slot;
}

/* For the worker: end a request, and wake its backend or free the slot. */
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

/* Give up a slot in any state, when its reply is no longer needed. */
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

/* When the worker ends or starts: fail all queued and running requests. */
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
