/*
 * init.c
 *		Start of the GPU part in each process, and what ends of transactions do.
 *
 * Without shared_preload_libraries there are only the settings of backends,
 * so that they can be set anywhere, and all runs on the CPU.
 *
 * src/gpu/init.c
 */
#include "gpu/gpu.h"
#include "gpu/settings.h"
#include "gpu/wait.h"
#include "gpu/worker.h"

#include "access/xact.h"
#include "miscadmin.h"

/* The end of a transaction: whatever of it is with the worker goes. */
static void
transaction_ends(XactEvent event, void *argument)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
		case XACT_EVENT_PREPARE:
			GpuLeaveSlots();
			GpuDropAllEntries();
			break;
		default:
			break;
	}
}

static void
subtransaction_ends(SubXactEvent event, SubTransactionId self, SubTransactionId parent,
					void *argument)
{
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		GpuRaiseSubEntries(self, parent);
	if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		GpuLeaveSlots();
		GpuDropSubEntries(self);
	}
}

void
GpuInit(void)
{
	GpuDefineSettings();
	if (!process_shared_preload_libraries_in_progress || gpu_worker_kind == WORKER_OFF)
		return;
	GpuRequestShared();
	GpuRegisterWorker();
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
}
