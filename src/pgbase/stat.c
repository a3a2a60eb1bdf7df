/*
 * stat.c
 *		What backends have done: counting, reading and resetting.
 *
 * A process adds up its counts, which costs an addition to its own memory, and brings them
 * to shared memory (activity.h) at the end of each transaction, however it ends.  There
 * are the sums of all processes and databases, until the server stops.
 *
 * src/pgbase/stat.c
 */
#include "pgbase/stat.h"

#include "pgbase/activity.h"
#include "pgbase/transaction.h"

uint64 *stat_pending = NULL;

static uint64 pending[STAT_COUNTERS];

/* Make room for counts that others do not see yet.  This can raise an error. */
void
StatAttach(void)
{
	stat_pending = pending;
	ActivityMemory();
}

/* What was counted; false: there is no memory for it, and nothing is counted. */
bool
StatRead(Stats *stats)
{
	ActivityShared *shared = ActivityMemory();
	int i;

	if (shared == NULL)
		return false;
	for (i = 0; i < STAT_COUNTERS; i++)
		stats->counter[i] = pg_atomic_read_u64(&shared->counter[i]);
	stats->since = (TimestampTz) pg_atomic_read_u64(&shared->since);
	return true;
}

/* Count anew, without what this process has not told yet; false: there is no memory for it. */
bool
StatReset(void)
{
	ActivityShared *shared = ActivityMemory();
	int i;

	memset(pending, 0, sizeof(pending));
	if (shared == NULL)
		return false;
	for (i = 0; i < STAT_COUNTERS; i++)
		pg_atomic_write_u64(&shared->counter[i], 0);
	pg_atomic_write_u64(&shared->since, (uint64) GetCurrentTimestamp());
	return true;
}

/* The transaction has ended: tell what it counted.  This must not fail. */
static void
transaction_ends(XactEvent event, void *argument)
{
	ActivityShared *shared = ActivityIfMade();
	int i;

	if (stat_pending == NULL || !TransactionHasEnded(event))
		return;
	for (i = 0; shared && i < STAT_COUNTERS; i++)
		if (pending[i] > 0)
			pg_atomic_fetch_add_u64(&shared->counter[i], pending[i]);
	memset(pending, 0, sizeof(pending));
	stat_pending = NULL;
}

/* From _PG_init. */
void
StatInit(void)
{
	RegisterXactCallback(transaction_ends, NULL);
}
