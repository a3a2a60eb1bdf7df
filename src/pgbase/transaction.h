/*
 * transaction.h
 *		Ends of transactions, for callbacks of RegisterXactCallback().
 *
 * src/pgbase/transaction.h
 */
#ifndef QS_PGBASE_TRANSACTION_H
#define QS_PGBASE_TRANSACTION_H

#include "postgres.h"

#include "access/xact.h"

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
