/*
 * process.h
 *		Processes: their numbers, ends of transactions, waits, secrets and nonces.
 *
 * src/pgbase/process.h
 */
#ifndef QS_PGBASE_PROCESS_H
#define QS_PGBASE_PROCESS_H

#include "postgres.h"

#include "access/xact.h"
#include "storage/proc.h"

/* The number of a process, below MaxBackends for every process that runs SQL. */
#if PG_VERSION_NUM >= 170000
#define ProcessNumber(process) GetNumberFromPGProc(process)
#else
#define ProcessNumber(process) ((process)->pgprocno)
#endif

/* ---- ends of transactions, for callbacks of RegisterXactCallback() ---- */

/*
 * True if the event ends a transaction of this process.  PREPARE TRANSACTION ends a transaction,
 * too.
 */
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

/* ---- waits ---- */

/*
 * Wait for the latch for "timeout" milliseconds (-1: without limit), but first poll the latch for a
 * tenth of a millisecond.  A process that sets a polled latch makes no system call, because the
 * polling process does not sleep.
 */
extern void PollLatch(long timeout, uint32 event);

/*
 * ---- the secret of this process (base/slot.h), and nonces: a different number for each state ----
 */

extern void SecretInit(void);
extern void NonceInit(void);
extern uint64 NonceNew(void);

#endif
