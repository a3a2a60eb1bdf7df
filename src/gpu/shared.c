/*
 * shared.c
 *		The shared memory of GPU worker and backends: size, layout, first state.
 *
 * The size depends on settings that are fixed at server start.  Behind GpuShared
 * stand the queue, the slots, and their holders.  The data of the slots follow on a
 * page boundary, because the worker page-locks them.
 *
 * src/gpu/shared.c
 */
#include "gpu/settings.h"
#include "gpu/shared.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#define PAGE 4096

GpuShared *gpu_shared = NULL;

/* What lies behind GpuShared, by address. */
static int *queue;
static GpuSlot *slots;
static GpuHolder *holders;
static uint8 *data;

static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;

static int
slot_count(void)
{
	return Max(4, (int) ((Size) gpu_buffer_size * 1024 / GPU_SLOT_BYTES));
}

static Size
shared_size(void)
{
	return MAXALIGN(offsetof(GpuShared, owned) + MaxBackends * sizeof(pg_atomic_uint32));
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
	for (i = 0; i < lengthof(gpu_shared->copies); i++)
	{
		pg_atomic_init_u32(&gpu_shared->copies[i].count, 0);
		pg_atomic_init_u64(&gpu_shared->copies[i].bytes, 0);
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
		pg_atomic_init_u32(&gpu_shared->owned[i], 0);
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

/* Called while the postmaster loads the module. */
void
GpuRequestShared(void)
{
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

/* The index in the queue of the request with this number. */
int *
GpuQueueAt(uint64 number)
{
	return &queue[number % gpu_shared->slot_count];
}

/* How many slots a process that runs SQL has. */
GpuHolder *
GpuHolderAt(int proc)
{
	return &holders[proc];
}
