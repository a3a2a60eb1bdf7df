/*
 * init.c
 *		Start of the GPU part in each process, and what ends of transactions do.
 *
 * Without shared_preload_libraries there are only the settings of backends, so that
 * statements that set them work on any server.  All runs on the CPU then.
 *
 * src/gpu/init.c
 */
#include "gpu/gpu.h"
#include "gpu/settings.h"
#include "gpu/wait.h"
#include "gpu/worker.h"

#include "miscadmin.h"
#include "pgbase/transaction.h"

/* A transaction ends: the worker's values that belong to it go. */
static void
transaction_ends(XactEvent event, void *argument)
{
	if (TransactionHasEnded(event))
	{
		GpuLeaveSlots();
		GpuDropAllHandles();
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
		GpuDropSubHandles(self, parent);
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
