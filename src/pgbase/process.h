/*
 * process.h
 *		Numbers of processes: indexes of their slots in shared memory.
 *
 * src/pgbase/process.h
 */
#ifndef QS_PGBASE_PROCESS_H
#define QS_PGBASE_PROCESS_H

#include "postgres.h"

#include "storage/proc.h"
#include "access/xact.h"

/* The number of a process, below MaxBackends for every process that runs SQL. */
#if PG_VERSION_NUM >= 170000
#define ProcessNumber(process) GetNumberFromPGProc(process)
#else
#define ProcessNumber(process) ((process)->pgprocno)
#endif

/* ---- ends of transactions, for callbacks of RegisterXactCallback() ---- */

/* Has a transaction of this process ended?  A prepared one has, for its session. */
static inline bool
TransactionHasEnded(XactEvent event)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
		case XACT_EVENT_PREPARE:
			return true;
		default:
			return false;
	}
}

#endif
