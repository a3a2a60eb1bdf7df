/*
 * worker.c
 *		The background worker that owns the GPUs: start, loop, end.
 *
 * The worker starts as soon as the server accepts connections, so that no query pays
 * for creating a CUDA context.  It serves requests in pieces: one after the other of a device,
 * while kernels and copies that it has started go on, and those of several devices at the same
 * time (coroutine.h).  It ends
 *
 *	with code 0		when the server shuts down, or if there is no usable device: the
 *					postmaster then leaves it, and all runs on the CPU
 *	with code 1		after an error of the device, or if somebody else terminates it: the
 *					postmaster starts it again, without any of the values it had
 *
 * src/gpu/worker.c
 */
#include "gpu/worker.h"
#include "gpu/coroutine.h"
#include "gpu/settings.h"

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
#include "utils/wait_event.h"

#define RESTART_SECONDS 2
#define FAULT_SLOW_US   20000

/* Register the worker, while the postmaster loads the module. */
void
GpuRegisterWorker(void)
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

/* However the worker ends, nobody is left waiting for it. */
static void
worker_ends(int code, Datum argument)
{
	LWLockReleaseAll();
	if (code != 0)
		set_state(GPU_FAILED);
	else if (GpuStateNow() != GPU_NONE)
		set_state(GPU_OFF);
	GpuFailRequests();
	GpuResetHandles();
	gpu_shared->worker_pid = 0;
}

/* End, to be started again. */
static void
fail(const char *reason)
{
	strlcpy(gpu_shared->reason, reason, GPU_TEXT_BYTES);
	ereport(LOG, (errmsg("qsketch GPU worker ends: %s", reason),
				  errdetail("Queries with data on the GPU fail. The worker will be restarted.")));
	proc_exit(1);
}

/* Is the server shutting down?  The postmaster notes that in its file before it ends the worker. */
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
	GpuStartScheduling();
}

/* What is being served in each coroutine. */
typedef struct Piece
{
	GpuSlot *slot[GPU_TOGETHER];
	uint32 devices; /* that it needs; 0: nothing is being served */
} Piece;

static Piece piece[GPU_DEVICES_MAX];

/* Serve a request, or a piece of it, or several requests that may be served together. */
static void
serve_piece(int number)
{
	Piece *p = &piece[number];
	int count = GpuTogether(p->slot, lengthof(p->slot));
	instr_time start;
	instr_time passed;
	const char *error;
	int i;

	INSTR_TIME_SET_CURRENT(start);
	if (gpu_fault == FAULT_SLOW)
		pg_usleep(FAULT_SLOW_US);
	error = GpuServe(p->slot, &count);
	if (error)
	{
		GpuCount(COUNT_RESTARTS, 1);
		fail(error);
	}
	INSTR_TIME_SET_CURRENT(passed);
	INSTR_TIME_SUBTRACT(passed, start);
	pg_atomic_fetch_add_u64(&gpu_shared->progress, 1);
	for (i = 0; i < count; i++)
		GpuEndScheduled(p->slot[i], i == 0 ? INSTR_TIME_GET_MICROSEC(passed) : 0);
	p->devices = 0;
}

uint32
GpuBusyDevices(void)
{
	uint32 busy = 0;
	int i;

	for (i = 0; i < GPU_DEVICES_MAX; i++)
		if (i != GpuCoroutine())
			busy |= piece[i].devices;
	return busy;
}

const GpuSlot *
GpuServed(void)
{
	return piece[GpuCoroutine()].slot[0];
}

/* Begin to serve a request, if there is one for devices that are not busy. */
static bool
start_piece(void)
{
	uint32 devices;
	GpuSlot *slot;
	int number;

	if (gpu_fault == FAULT_HANG || ShutdownRequestPending || ConfigReloadPending)
		return false;
	slot = GpuNextScheduled(GpuBusyDevices(), &devices);
	if (slot == NULL)
		return false;
	number = pg_rightmost_one_pos32(devices);
	piece[number].slot[0] = slot;
	piece[number].devices = devices;
	GpuStartCoroutine(number, serve_piece);
	return true;
}

/* Serve requests until there are none, or something else is to be done. */
static void
serve_all(void)
{
	int i;

	for (;;)
	{
		while (start_piece())
			(void) GpuFreePending();
		if (GpuBusyDevices() == 0)
			return;
		for (i = 0; i < gpu_shared->device_count; i++)
			if (piece[i].devices != 0)
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
			GpuLimitMemory();
			GpuTrimCache();
		}
		serve_all();
		if (!GpuFreePending())
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1, PG_WAIT_EXTENSION);
	}
}

void
GpuWorkerMain(Datum argument)
{
	char reason[GPU_TEXT_BYTES] = "";

	start_worker();
	gpu_shared->device_count = GpuOpenDevices(reason);
	if (gpu_shared->device_count == 0)
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
