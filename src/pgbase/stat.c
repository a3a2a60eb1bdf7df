/*
 * stat.c
 *		What backends have done: counting, reading and resetting.
 *
 * A process adds up its counts, which costs an addition to its own memory.  There are two
 * places where the sums of all processes are:
 *
 * - PostgreSQL's cumulative statistics, from PostgreSQL 18 on, with qsketch in
 *   shared_preload_libraries (stat_kind.h).  There is an entry for each database.  A
 *   process brings its counts there when it brings those of tables, at most once a second
 *   and between transactions.  The entry goes with its database, pg_stat_reset() resets
 *   it, and stats_fetch_consistency holds for reading it.
 * - Otherwise shared memory of our own, for all databases, without a file.  A process
 *   brings its counts there at the end of each transaction.
 *
 * src/pgbase/stat.c
 */
#include "pgbase/stat.h"

#include "miscadmin.h"
#include "pgbase/activity.h"
#include "pgbase/stat_kind.h"
#include "pgbase/transaction.h"

uint64 *stat_pending = NULL;

/* ---- in PostgreSQL's cumulative statistics ---- */

#if PG_VERSION_NUM >= 180000

/* The entry of a database in shared memory. */
typedef struct StatEntry
{
	PgStatShared_Common header;
	StatKept kept;
} StatEntry;

static bool use_kind = false;

/* Add the counts of this process to those of its database.  "since" is when the first came. */
static bool
flush_pending(PgStat_EntryRef *ref, bool nowait)
{
	const Stats *pending = ref->pending;
	StatKept *kept = &((StatEntry *) ref->shared_stats)->kept;
	int i;

	if (!pgstat_lock_entry(ref, nowait))
		return false;
	if (kept->since == 0)
		kept->since = pending->since;
	for (i = 0; i < STAT_COUNTERS; i++)
		kept->counter[i] += pending->counter[i];
	pgstat_unlock_entry(ref);
	return true;
}

static void
forget_pending(PgStat_EntryRef *ref)
{
	stat_pending = NULL;
}

static void
set_since(PgStatShared_Common *header, TimestampTz now)
{
	((StatEntry *) header)->kept.since = now;
}

static PgStat_KindInfo kind_info = {
	.name = "qsketch_stat",
	.fixed_amount = false,
	.write_to_file = true,
	.accessed_across_databases = false,
	.shared_size = sizeof(StatEntry),
	.shared_data_off = offsetof(StatEntry, kept),
	.shared_data_len = sizeof(StatKept),
	.pending_size = sizeof(Stats),
	.flush_pending_cb = flush_pending,
	.delete_pending_cb = forget_pending,
	.reset_timestamp_cb = set_since,
};

static void
init_kind(void)
{
	StaticAssertStmt(STAT_COUNTERS <= STAT_ROOM, "the statistics file has room for all counters");
	use_kind = StatKindRegister(STAT_KIND_DATABASE, &kind_info);
}

static uint64 *
attach_kind(void)
{
	Stats *pending = pgstat_prep_pending_entry(STAT_KIND_DATABASE, MyDatabaseId, 0, NULL)->pending;

	pending->since = GetCurrentTransactionStartTimestamp();
	return pending->counter;
}

static void
read_kind(Stats *stats)
{
	const StatKept *kept = StatKindFetch(STAT_KIND_DATABASE, MyDatabaseId);

	if (kept == NULL)
		return;
	stats->since = kept->since;
	memcpy(stats->counter, kept->counter, sizeof(stats->counter));
}

/* The entry is made if it is not there, to have the time of the reset. */
static void
reset_kind(void)
{
	pgstat_get_entry_ref(STAT_KIND_DATABASE, MyDatabaseId, 0, true, NULL);
	pgstat_reset_entry(STAT_KIND_DATABASE, MyDatabaseId, 0, GetCurrentTimestamp());
}

#else

#define use_kind      false
#define init_kind()   ((void) 0)
#define attach_kind() NULL
#define read_kind(to) ((void) 0)
#define reset_kind()  ((void) 0)

#endif

/* ---- in shared memory of our own ---- */

static uint64 own_pending[STAT_COUNTERS];

/* The transaction has ended.  This must not fail. */
static void
tell_own(void)
{
	ActivityShared *shared = ActivityIfMade();
	int i;

	if (stat_pending != own_pending)
		return;
	for (i = 0; shared && i < STAT_COUNTERS; i++)
		if (own_pending[i] > 0)
			pg_atomic_fetch_add_u64(&shared->counter[i], own_pending[i]);
	memset(own_pending, 0, sizeof(own_pending));
	stat_pending = NULL;
}

static bool
read_own(Stats *stats)
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

static bool
reset_own(void)
{
	ActivityShared *shared = ActivityMemory();
	int i;

	if (shared == NULL)
		return false;
	for (i = 0; i < STAT_COUNTERS; i++)
		pg_atomic_write_u64(&shared->counter[i], 0);
	pg_atomic_write_u64(&shared->since, (uint64) GetCurrentTimestamp());
	return true;
}

/* ---- both ---- */

/* Make room for counts that others do not see yet.  This can raise an error. */
void
StatAttach(void)
{
	if (use_kind)
	{
		stat_pending = attach_kind();
		return;
	}
	stat_pending = own_pending;
	ActivityMemory();
}

/* What was counted; false: there is no memory for it, and nothing is counted. */
bool
StatRead(Stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	if (!use_kind)
		return read_own(stats);
	read_kind(stats);
	return true;
}

/* Count anew, without what this process has not told yet; false: there is no memory for it. */
bool
StatReset(void)
{
	if (stat_pending)
		memset(stat_pending, 0, STAT_COUNTERS * sizeof(uint64));
	if (!use_kind)
		return reset_own();
	reset_kind();
	return true;
}

static void
transaction_ends(XactEvent event, void *argument)
{
	if (TransactionHasEnded(event))
		tell_own();
}

/* From _PG_init. */
void
StatInit(void)
{
	init_kind();
	RegisterXactCallback(transaction_ends, NULL);
}
