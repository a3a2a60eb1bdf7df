/*
 * worker.c
 *		The background worker that owns the GPUs: start, loop, pieces of requests, end.
 *
 * The worker starts when the server accepts connections, so that no query waits for a CUDA context
 * to be created.  It serves requests in pieces.  Pieces for one device are served one after
 * another, while kernels and copies of earlier pieces still run.  Pieces for several devices are
 * served at the same time (coroutine.h).  The worker ends
 *
 *	with code 0		when the server shuts down, or if no device is usable: the postmaster does
 *					not start it again, and the CPU does all work
 *	with code 1		after the failure of the last device, after a raised error, or if another
 *					process terminates it: the postmaster starts it again, without its values
 *
 * This file also drops handles at the ends of transactions.
 *
 * src/gpu/worker/worker.c
 */
#include "gpu/client.h"
#include "gpu/worker/coroutine.h"
#include "gpu/gpu.h"
#include "gpu/worker/worker.h"
#include "pgbase/process.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "portability/instr_time.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/pidfile.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#define RESTART_SECONDS 2
#define FAULT_SLOW_US   20000

/*
 * A piece of a request takes milliseconds.  If it takes longer than HANGS_MS, its device is assumed
 * to hang.
 */
#define HANGS_MS 10000

/* The handlers of requests, by family. */
static const GpuHandler *const handlers[GPU_FAMILIES] = {
	[GPU_FAMILY_SKETCH] = &gpu_sketch_handler, [GPU_FAMILY_SETS] = &gpu_sets_handler,
	[GPU_FAMILY_FILTER] = &gpu_filter_handler, [GPU_FAMILY_COLUMN] = &gpu_column_handler,
	[GPU_FAMILY_EXACT] = &gpu_exact_handler,   [GPU_FAMILY_MEMBERSHIPS] = &gpu_memberships_handler,
};

/* Register the worker, while the postmaster loads the module. */
static void
register_worker(void)
{
	BackgroundWorker worker = { 0 };

	strlcpy(worker.bgw_name, "qsketch GPU worker", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "qsketch GPU worker", BGW_MAXLEN);
	strlcpy(worker.bgw_library_name, "qsketch", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "GpuWorkerMain", BGW_MAXLEN);
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = RESTART_SECONDS;
	RegisterBackgroundWorker(&worker);
}

static void
set_state(GpuWorkerState state)
{
	pg_write_barrier();
	pg_atomic_write_u32(&gpu_shared->state, state);
}

/* At the worker's exit: fail all requests, so that no backend waits, and reset all handles. */
static void
worker_ends(int code, Datum argument)
{
	int i;

	LWLockReleaseAll();
	if (code != 0)
		set_state(GPU_FAILED);
	else if (GpuStateNow() != GPU_NONE)
		set_state(GPU_OFF);
	for (i = 0; i < GPU_DEVICES_MAX; i++)
		GpuEndUse(i);
	GpuFailRequests();
	GpuResetHandles();
	gpu_shared->worker_pid = 0;
}

/* End the worker with code 1.  The postmaster starts it again. */
static void
fail(const char *reason)
{
	strlcpy(gpu_shared->reason, reason, GPU_TEXT_BYTES);
	ereport(LOG, (errmsg("qsketch GPU worker ends: %s", reason),
				  errdetail("Queries with data on the GPU fail. The worker will be restarted.")));
	proc_exit(1);
}

/*
 * True if the server is shutting down.  The postmaster writes its state into postmaster.pid before
 * it terminates the worker.
 */
static bool
server_stops(void)
{
	char line[MAXPGPATH] = "";
	FILE *file = AllocateFile("postmaster.pid", "r");
	int i;

	if (file == NULL)
		return false;
	for (i = 0; i < LOCK_FILE_LINE_PM_STATUS; i++)
		if (fgets(line, sizeof(line), file) == NULL)
			line[0] = '\0';
	FreeFile(file);
	return strncmp(line, PM_STATUS_STOPPING, strlen(PM_STATUS_STOPPING)) == 0;
}

static void
start_worker(void)
{
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	gpu_shared->worker_pid = MyProcPid;
	gpu_shared->worker_latch = MyLatch;
	before_shmem_exit(worker_ends, 0);
	set_state(GPU_STARTING);
	GpuFailRequests();
	GpuResetHandles();
	CurrentMemoryContext = TopMemoryContext;
	gpu_handlers = handlers;
	GpuStartScheduling();
}

/*
 * True if a value that a request names still exists.  Its handle may be pending free, because the
 * value may have been evicted after the request was sent.
 */
static bool
is_there(const GpuRef *ref)
{
	GpuHandle *handle = &gpu_shared->handle[ref->index];
	bool there;

	LWLockAcquire(gpu_shared->handles, LW_SHARED);
	there = handle->serial == ref->serial && handle->state != HANDLE_UNUSED &&
			handle->state != HANDLE_LOST;
	LWLockRelease(gpu_shared->handles);
	return there;
}

/* After a failed request that changes a value: mark the value lost, and drop its data. */
static void
lose_value(const GpuHandler *handler, GpuSlot *slot)
{
	if (!slot->gone)
		strlcpy(gpu_shared->reason, qb_status_text(slot->status), GPU_TEXT_BYTES);
	if (GpuLoseHandle(&slot->handle))
		handler->drop(slot->handle.index);
}

/* True if data of a value are on one of the devices (bits: 1 << index). */
static bool
is_on(const GpuRef *ref, uint32 devices)
{
	GpuLocation location;

	if (ref->serial == 0 || devices == 0 || !is_there(ref))
		return false;
	location = GpuHandlerOf(ref->family)->location(ref->index);
	return location.on_device && (devices & (1U << location.device | location.replicas)) != 0;
}

/*
 * True if data of a value are on a failed device.  A cached value is then dropped.  For any other
 * value, its backend raises an error.
 */
static bool
is_on_failed_device(GpuSlot *slot, const GpuRef *ref)
{
	if (!is_on(ref, GpuLostDevices()))
		return false;
	if (!GpuForgetCached(ref) && GpuLoseHandle(ref))
		slot->status = QB_DEVICE_ERROR;
	slot->gone = true;
	return true;
}

/* True if a request needs a value that is on a failed device.  The request is then not served. */
static bool
needs_failed_device(GpuSlot *slot)
{
	bool handle = is_on_failed_device(slot, &slot->handle);
	bool other = is_on_failed_device(slot, &slot->other);

	if (other && !slot->wait)
		(void) GpuLoseHandle(&slot->handle);
	return handle || other;
}

/*
 * Call the handler for a piece of a request, or for several requests together.  *count becomes the
 * number of served requests.
 */
static qb_status
call_handler(const GpuHandler *handler, GpuSlot *const *slot, int *count)
{
	qb_status status;

	if (gpu_fault == FAULT_ERROR && handler->faulty >> slot[0]->op & 1)
		return QB_DEVICE_ERROR;
	if (gpu_fault == FAULT_LOST && (is_on(&slot[0]->handle, 1U << GPU_FAULTY_DEVICE) ||
									is_on(&slot[0]->other, 1U << GPU_FAULTY_DEVICE)))
		return QB_DEVICE_ERROR;
	status = *count > 1 ? handler->serve_all(slot, count) : QB_NO_MEMORY;
	if (*count > 1 && (status == QB_OK || status == QB_DEVICE_ERROR))
		return status;
	*count = 1;
	return handler->serve(slot[0]);
}

/*
 * The device that served a request: the device that was chosen for it, the device of its chunk if
 * it adds the chunk's keys, or the device of its value.
 */
static int
device_of(const GpuHandler *handler, const GpuSlot *slot)
{
	const GpuRef *ref = handler->adds >> slot->op & 1 ? &slot->other : &slot->handle;

	if (handler->chooses >> slot->op & 1)
		return GpuCoroutine();
	return GpuHandlerOf(ref->family)->location(ref->index).device;
}

/*
 * Handle the failure of a request's device.  The values of the request may be incomplete, and
 * become LOST.  Cached values are reported as gone, because backends can load them again.  If no
 * other device is left, the worker ends.
 */
static void
lose_device(const GpuHandler *handler, GpuSlot *slot)
{
	const char *error = GpuLoseDevice(device_of(handler, slot));

	GpuCount(COUNT_RESTARTS, 1);
	if (GpuChooseDevice(-1) < 0)
		fail(error);
	strlcpy(gpu_shared->reason, error, GPU_TEXT_BYTES);
	slot->gone = !GpuLoseHandle(&slot->handle);
	if (slot->gone)
		slot->status = QB_OK;
	if (slot->other.serial != 0)
		(void) GpuLoseHandle(&slot->other);
}

/*
 * Check a request, and serve a piece of it.  Several requests may be served together; *count
 * becomes the number of served requests.
 */
static void
serve(GpuSlot *const *slots, int *count)
{
	GpuSlot *slot = slots[0];
	const GpuHandler *handler = GpuHandlerOf(slot->handle.family);
	int index = slot->handle.index;
	int i;

	slot->more = false;
	slot->gone = !is_there(&slot->handle) || (slot->other.serial != 0 && !is_there(&slot->other));
	if (slot->gone && !slot->wait)
		lose_value(handler, slot);
	if (slot->gone || slot->abandoned || GpuIsMoot(slot) || needs_failed_device(slot))
	{
		*count = 1;
		return;
	}
	GpuMakeRoomFor(index);
	slot->status = call_handler(handler, slots, count);
	if (slot->status != QB_OK)
		slot->more = false;
	if (slot->status == QB_DEVICE_ERROR)
		lose_device(handler, slot);
	else if (slot->status != QB_OK && !slot->wait)
		lose_value(handler, slot);
	GpuShowLocation(index);
	for (i = 1; i < *count; i++)
	{
		slots[i]->status = slot->status;
		slots[i]->gone = slot->gone;
		slots[i]->more = false;
	}
}

/*
 * For each coroutine: the request that it begins to serve, and the time when it began to serve a
 * piece; time 0: it serves no piece.
 */
static GpuSlot *starting[GPU_DEVICES_MAX];
static TimestampTz serving_since[GPU_DEVICES_MAX];

/*
 * Count progress, unless a device hangs.  Backends wait as long as progress is counted.  If a
 * device hangs, the backends that wait for it must notice.
 */
static void
tell_progress(void)
{
	TimestampTz now = GetCurrentTimestamp();
	int i;

	for (i = 0; i < gpu_shared->device_count; i++)
		if (serving_since[i] != 0 && TimestampDifferenceExceeds(serving_since[i], now, HANGS_MS))
			return;
	pg_atomic_fetch_add_u64(&gpu_shared->progress, 1);
}

/*
 * Serve a piece of the request starting[number], or several requests together.  Then count the time
 * of the piece, and end the requests that are complete.
 */
static void
serve_piece(int number)
{
	GpuSlot *slots[GPU_TOGETHER] = { starting[number] };
	int all = GpuTogether(slots, lengthof(slots));
	int count = all;
	instr_time start;
	instr_time passed;
	int i;

	for (i = 0; i < all; i++)
		GpuBeginScheduled(slots[i]);
	serving_since[number] = GetCurrentTimestamp();
	INSTR_TIME_SET_CURRENT(start);
	if (gpu_fault == FAULT_SLOW)
		pg_usleep(FAULT_SLOW_US);
	serve(slots, &count);
	INSTR_TIME_SET_CURRENT(passed);
	INSTR_TIME_SUBTRACT(passed, start);
	serving_since[number] = 0;
	tell_progress();
	for (i = 0; i < count; i++)
		GpuEndScheduled(slots[i], i == 0 ? INSTR_TIME_GET_MICROSEC(passed) : 0);
	for (; i < all; i++)
		GpuLeaveScheduled(slots[i]);
}

/*
 * True if the worker may begin no request: it simulates a hang, must end, or must read its
 * settings.
 */
static bool
is_stopped(void)
{
	return gpu_fault == FAULT_HANG || ShutdownRequestPending || ConfigReloadPending;
}

/* Begin to serve a request on devices that are not busy; false: none, or is_stopped() is true. */
static bool
start_piece(void)
{
	uint32 devices;
	GpuSlot *slot;

	if (is_stopped())
		return false;
	slot = GpuNextScheduled(GpuBusyDevices(), &devices);
	if (slot == NULL)
		return false;
	starting[pg_rightmost_one_pos32(devices)] = slot;
	GpuStartCoroutine(devices, serve_piece);
	return true;
}

/* Serve requests until no request is left, or is_stopped() is true. */
static void
serve_all(void)
{
	int i;

	for (;;)
	{
		while (start_piece())
			(void) GpuFreePending();
		if (GpuBusyDevices() == 0 && (is_stopped() || !GpuHasRequests()))
			return;
		for (i = 0; i < gpu_shared->device_count; i++)
			GpuResumeCoroutine(i);
	}
}

static void
run_worker(void)
{
	while (!ShutdownRequestPending)
	{
		ResetLatch(MyLatch);
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			GpuReopenDevices();
			GpuLimitMemory();
			GpuTrimCache();
		}
		serve_all();
		if (!GpuFreePending())
			PollLatch(-1, PG_WAIT_EXTENSION);
	}
}

void
GpuWorkerMain(Datum argument)
{
	char reason[GPU_TEXT_BYTES] = "";

	start_worker();
	if (!GpuOpenDevices(reason))
	{
		strlcpy(gpu_shared->reason, reason, GPU_TEXT_BYTES);
		set_state(GPU_NONE);
		ereport(LOG, (errmsg("qsketch has no usable GPU, all is done on the CPU: %s", reason)));
		proc_exit(0);
	}
	GpuServeRequests();
	set_state(GPU_READY);
	run_worker();
	if (!server_stops())
		fail("the GPU worker was terminated");
	proc_exit(0);
}

/*
 * ---- start of the GPU part in each process, and ends of transactions ----
 *
 * Without shared_preload_libraries, only the settings of backends are defined, so that statements
 * that set them work on any server.  All work is then done on the CPU.
 */

/* At the end of a transaction: drop all handles of this backend. */
static void
transaction_ends(XactEvent event, void *argument)
{
	if (TransactionHasEnded(event))
	{
		GpuLeaveSlots();
		GpuDropHandles(InvalidSubTransactionId, InvalidSubTransactionId);
	}
}

static void
subtransaction_ends(SubXactEvent event, SubTransactionId self, SubTransactionId parent,
					void *argument)
{
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		GpuRaiseSubHandles(self, parent);
	if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		GpuLeaveSlots();
		GpuDropHandles(self, parent);
	}
}

void
GpuInit(void)
{
	GpuDefineSettings();
	if (!process_shared_preload_libraries_in_progress || gpu_worker_kind == WORKER_OFF)
		return;
	GpuRequestShared(gpu_buffer_size);
	register_worker();
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
}
