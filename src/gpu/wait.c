/*
 * wait.c
 *		Waiting for the GPU worker: for a free slot, for a reply.
 *
 * Each wait serves interrupts, and ends with an error when the worker fails.  Waits
 * are bounded: a backend gives up if the worker finishes no piece of anybody's request
 * for qsketch.gpu_timeout.  Pieces are short, and processes take turns (schedule.c): as
 * long as pieces are finished, the request of this process gets on, too.
 *
 * Slots with awaited replies are noted here until the replies are read.  They are
 * left to the worker if the query ends before.
 *
 * src/gpu/wait.c
 */
#include "gpu/wait.h"
#include "gpu/gpu.h"
#include "gpu/settings.h"

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/* Longest sleep between two looks at whether the worker still makes progress. */
#define POLL_MS 1000

/* Longest sleep of a wait for a slot: another process may get the slot that was freed. */
#define SLOT_POLL_MS 100

/* Measures how long the worker has made no progress. */
typedef struct Watch
{
	uint64 progress;
	TimestampTz since;
} Watch;

static GpuSlot *held[GPU_HELD_MAX];

/* The wait events, which have names from PostgreSQL 17 on. */
static uint32
wait_event(const char *name, uint32 *event)
{
#if PG_VERSION_NUM >= 170000
	if (*event == 0)
		*event = WaitEventExtensionNew(name);
	return *event;
#else
	return PG_WAIT_EXTENSION;
#endif
}

static uint32
slot_event(void)
{
	static uint32 event = 0;

	return wait_event("QsketchGpuSlot", &event);
}

static uint32
reply_event(void)
{
	static uint32 event = 0;

	return wait_event("QsketchGpuReply", &event);
}

static uint32
start_event(void)
{
	static uint32 event = 0;

	return wait_event("QsketchGpuStart", &event);
}

/* The worker failed while this query had a value there. */
void
GpuRaiseLost(void)
{
	char reason[GPU_TEXT_BYTES];

	strlcpy(reason, gpu_shared->reason, sizeof(reason));
	ereport(ERROR,
			(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
			 errmsg("GPU operation failed: %s", reason[0] ? reason : "the GPU worker has ended"),
			 errdetail("The query had data on the GPU."),
			 errhint("Repeat the query, with qsketch.device = cpu to do without the GPU.")));
}

static void
start_watch(Watch *watch)
{
	watch->progress = pg_atomic_read_u64(&gpu_shared->progress);
	watch->since = GetCurrentTimestamp();
}

/* Before each sleep: is there still something to wait for? */
static void
check_watch(Watch *watch)
{
	uint64 progress = pg_atomic_read_u64(&gpu_shared->progress);
	TimestampTz now = GetCurrentTimestamp();

	CHECK_FOR_INTERRUPTS();
	if (GpuStateNow() != GPU_READY)
		GpuRaiseLost();
	if (progress != watch->progress)
		start_watch(watch);
	else if (TimestampDifferenceExceeds(watch->since, now, gpu_timeout * 1000))
		ereport(ERROR,
				(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
				 errmsg("GPU worker made no progress for %d s", gpu_timeout),
				 errhint("Set qsketch.device to cpu, or qsketch.gpu_timeout to a longer time.")));
}

static GpuSlot *
wait_for_slot(void)
{
	GpuSlot *slot;
	Watch watch;
	instr_time start;
	instr_time end;

	INSTR_TIME_SET_CURRENT(start);
	start_watch(&watch);
	for (;;)
	{
		check_watch(&watch);
		slot = GpuTrySlot();
		if (slot)
			break;
		ConditionVariableTimedSleep(&gpu_shared->slot_freed[GpuHasFew() ? 0 : 1], SLOT_POLL_MS,
									slot_event());
	}
	ConditionVariableCancelSleep();
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	GpuCount(COUNT_RING_WAITS, 1);
	GpuCount(COUNT_RING_WAIT_US, (int64) INSTR_TIME_GET_MICROSEC(end));
	return slot;
}

GpuSlot *
GpuTakeSlot(const GpuRef *ref, int op, bool try)
{
	GpuSlot *slot = GpuTrySlot();

	if (slot == NULL && try)
		return NULL;
	if (slot == NULL)
		slot = wait_for_slot();
	slot->op = op;
	slot->handle = *ref;
	slot->other.serial = 0;
	slot->wait = false;
	return slot;
}

void
GpuPost(GpuSlot *slot)
{
	if (!GpuSubmit(slot))
		GpuRaiseLost();
}

static GpuSlot **
find_held(const GpuSlot *slot)
{
	int i;

	for (i = 0; i < GPU_HELD_MAX; i++)
		if (held[i] == slot)
			return &held[i];
	elog(ERROR, "GPU slot is not held");
	return NULL;
}

void
GpuAsk(GpuSlot *slot)
{
	slot->wait = true;
	*find_held(NULL) = slot;
	if (!GpuSubmit(slot))
	{
		*find_held(slot) = NULL;
		GpuRaiseLost();
	}
}

void
GpuAwait(GpuSlot *slot)
{
	Watch watch;

	start_watch(&watch);
	while (!GpuIsDone(slot))
	{
		check_watch(&watch);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, POLL_MS,
						 reply_event());
		ResetLatch(MyLatch);
	}
	if (slot->status == QB_DEVICE_ERROR)
		GpuRaiseLost();
}

void
GpuDone(GpuSlot *slot)
{
	*find_held(slot) = NULL;
	GpuFreeSlot(slot);
}

void
GpuLeaveSlots(void)
{
	int i;

	for (i = 0; i < GPU_HELD_MAX; i++)
	{
		GpuSlot *slot = held[i];

		held[i] = NULL;
		if (slot)
			GpuAbandonSlot(slot);
	}
}

bool
GpuAwaitStart(void)
{
	TimestampTz start = GetCurrentTimestamp();

	while ((GpuStateNow() == GPU_STARTING || GpuStateNow() == GPU_FAILED) &&
		   !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), gpu_timeout * 1000))
	{
		CHECK_FOR_INTERRUPTS();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 20,
						 start_event());
		ResetLatch(MyLatch);
	}
	return GpuStateNow() == GPU_READY;
}
