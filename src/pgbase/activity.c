/*
 * activity.c
 *		Progress of commands (qsketch_progress) and the counters of qsketch_stat, in shared
 *		memory.
 *
 * PostgreSQL's progress views serve only PostgreSQL's commands, so this module has its own shared
 * memory.  If shared_preload_libraries names qsketch, the server allocates this memory at its
 * start.  Otherwise, from PostgreSQL 17 on, the first process that needs the memory creates a named
 * segment.  An older server without preloading has no such memory, and counts nothing.
 *
 * Each process has ACTIVITY_DEPTH slots for its commands, at an index that follows from the
 * process's number.  Only that process writes the slots.  So the slots need no lock, and reporting
 * progress is one store.  A slot becomes free when its command or its transaction ends, or when the
 * subtransaction that began the command is aborted.  If a process ends without freeing its slots,
 * the views skip the slots, because no process has both this number and the pid in the slot.  The
 * next process with this number overwrites the slots.  If SIGKILL ends a process, the server
 * creates all shared memory again.
 *
 * When a parallel worker finishes a scan, the slot keeps the scan until the worker's transaction
 * ends or another command needs the slot.  Until then, the sums over a command's processes include
 * the scan.
 *
 * src/pgbase/activity.c
 */
#include "pgbase/activity.h"

#include "pgbase/process.h"
#include "pgbase/segment.h"
#include "pgbase/version.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/backend_status.h"

/* Bytes that PostgreSQL may allocate in addition to the first named segment of a server. */
#define REGISTRY_BYTES (2 * 1024 * 1024)

/*
 * Part of the segment's name.  LAYOUT must increase when ActivityShared changes.  One server may
 * load two versions of the library, and different layouts need different segments.
 */
#if PG_VERSION_NUM >= 170000
#define LAYOUT 1
#endif

static ActivityShared *shared = NULL;
static bool preloaded = false;

/* For each slot, the subtransaction that began the slot's command.  0: the slot is free. */
static SubTransactionId begun[ACTIVITY_DEPTH];

static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;

/* ---- memory ---- */

static Size
shared_size(void)
{
	return offsetof(ActivityShared, activity) +
		   mul_size(mul_size(MaxBackends, ACTIVITY_DEPTH), sizeof(Activity));
}

static void
init_activity(Activity *activity)
{
	int i;

	pg_atomic_init_u32(&activity->version, 0);
	for (i = 0; i < ACTIVITY_VALUES; i++)
		pg_atomic_init_u64(&activity->value[i], 0);
}

static void
init_shared(void *memory)
{
	ActivityShared *created = memory;
	int i;

	memset(created, 0, shared_size());
	for (i = 0; i < STAT_COUNTERS; i++)
		pg_atomic_init_u64(&created->counter[i], 0);
	pg_atomic_init_u64(&created->since, (uint64) GetCurrentTimestamp());
	created->processes = MaxBackends;
	for (i = 0; i < MaxBackends * ACTIVITY_DEPTH; i++)
		init_activity(&created->activity[i]);
}

static void
request_shared(void)
{
	if (next_request_hook)
		next_request_hook();
	RequestAddinShmemSpace(shared_size());
}

static void
start_shared(void)
{
	bool found;

	if (next_startup_hook)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("qsketch activity", shared_size(), &found);
	if (!found)
		init_shared(shared);
	LWLockRelease(AddinShmemInitLock);
}

/*
 * Return the shared memory, or NULL if the server has none.  Creates a missing named segment if the
 * free shared memory suffices.
 */
ActivityShared *
ActivityMemory(void)
{
#if PG_VERSION_NUM >= 170000
	char name[NAMEDATALEN];
	bool found;

	if (shared == NULL && !preloaded && IsUnderPostmaster &&
		SegmentsFit(shared_size() + REGISTRY_BYTES))
	{
		snprintf(name, sizeof(name), "qsketch activity %d", LAYOUT);
		shared = NamedSegment(name, shared_size(), init_shared, &found);
	}
#endif
	return shared;
}

/* ---- commands that are running ---- */

/* The i-th slot of this process. */
static Activity *
my_slot(int i)
{
	return &shared->activity[ProcessNumber(MyProc) * ACTIVITY_DEPTH + i];
}

/* Make the version odd, so that no reader uses the slot until end_change(). */
static void
begin_change(Activity *activity)
{
	pg_atomic_write_u32(&activity->version, pg_atomic_read_u32(&activity->version) | 1);
	pg_write_barrier();
}

static void
end_change(Activity *activity)
{
	pg_write_barrier();
	pg_atomic_write_u32(&activity->version, pg_atomic_read_u32(&activity->version) + 1);
}

static void
clear(int i)
{
	Activity *activity = my_slot(i);

	begun[i] = InvalidSubTransactionId;
	begin_change(activity);
	activity->command = ACTIVITY_NONE;
	end_change(activity);
}

/* Return the number of a free slot, else of a slot whose command is finished, else -1. */
static int
free_slot(void)
{
	int finished = -1;
	int i;

	for (i = 0; i < ACTIVITY_DEPTH; i++)
	{
		if (begun[i] == InvalidSubTransactionId)
			return i;
		if (pg_atomic_read_u64(&my_slot(i)->value[ACTIVITY_PHASE]) == PHASE_FINISHED)
			finished = i;
	}
	return finished;
}

static void
describe(Activity *activity, ActivityCommand command, Oid relation, uint64 id)
{
	int i;

	begin_change(activity);
	activity->command = command;
	activity->pid = MyProcPid;
	activity->leader = MyProc->lockGroupLeader && MyProc->lockGroupLeader != MyProc
						   ? MyProc->lockGroupLeader->pid
						   : 0;
	activity->database = MyDatabaseId;
	activity->role =
		MyBEEntry && OidIsValid(MyBEEntry->st_userid) ? MyBEEntry->st_userid : GetSessionUserId();
	activity->relation = relation;
	activity->id = id;
	activity->serial++;
	for (i = 0; i < ACTIVITY_VALUES; i++)
		pg_atomic_write_u64(&activity->value[i], 0);
	end_change(activity);
}

/* Return a new id for a command, unique among the running commands of this server. */
uint64
ActivityNewId(void)
{
	static uint32 count;

	return (uint64) MyProcPid << 32 | ++count;
}

/*
 * Report that this process begins a command.  "id" is the id that the processes of a parallel
 * command share.  0: assign a new id.
 */
ActivityHandle
ActivityBegin(ActivityCommand command, Oid relation, uint64 id)
{
	ActivityHandle handle = { NULL };
	int i;

	if (!pgstat_track_activities || ActivityMemory() == NULL ||
		ProcessNumber(MyProc) >= shared->processes || (i = free_slot()) < 0)
		return handle;
	begun[i] = GetCurrentSubTransactionId();
	handle.at = my_slot(i);
	describe(handle.at, command, relation, id ? id : ActivityNewId());
	handle.serial = handle.at->serial;
	return handle;
}

/* Report that a command has ended, unless its slot is free or has another command already. */
void
ActivityEnd(ActivityHandle *handle)
{
	Activity *activity = handle->at;

	handle->at = NULL;
	if (activity == NULL || activity->serial != handle->serial ||
		activity->command == ACTIVITY_NONE)
		return;
	if (IsParallelWorker())
		pg_atomic_write_u64(&activity->value[ACTIVITY_PHASE], PHASE_FINISHED);
	else
		clear((int) (activity - my_slot(0)));
}

/* End the commands that the subtransaction "first", or any subtransaction below it, began. */
static void
clear_from(SubTransactionId first)
{
	int i;

	for (i = 0; i < ACTIVITY_DEPTH; i++)
		if (begun[i] >= first)
			clear(i);
}

/*
 * ---- what backends have done: counting, reading and resetting ----
 *
 * A process counts in its own memory.  At the end of each transaction, committed or aborted, the
 * process adds its counts to the shared counters.  The shared counters are sums over all processes
 * and databases, since the last reset or the creation of the counters.
 */

uint64 *stat_pending = NULL;

static uint64 pending[STAT_COUNTERS];

/* Prepare this process for counting.  May raise an error. */
void
StatAttach(void)
{
	stat_pending = pending;
	ActivityMemory();
}

/* Read the shared counters.  False: nothing is counted, because there is no shared memory. */
bool
StatRead(Stats *stats)
{
	int i;

	if (ActivityMemory() == NULL)
		return false;
	for (i = 0; i < STAT_COUNTERS; i++)
		stats->counter[i] = pg_atomic_read_u64(&shared->counter[i]);
	stats->since = (TimestampTz) pg_atomic_read_u64(&shared->since);
	return true;
}

/*
 * Set the shared counters to zero, and discard this process's counts that are not in shared memory
 * yet.  False: there is no shared memory.
 */
bool
StatReset(void)
{
	int i;

	memset(pending, 0, sizeof(pending));
	if (ActivityMemory() == NULL)
		return false;
	for (i = 0; i < STAT_COUNTERS; i++)
		pg_atomic_write_u64(&shared->counter[i], 0);
	pg_atomic_write_u64(&shared->since, (uint64) GetCurrentTimestamp());
	return true;
}

/*
 * Add this process's counts to the shared counters.  The function must not raise an error, because
 * it runs at the end of a transaction.
 */
static void
flush_counts(void)
{
	int i;

	if (stat_pending == NULL)
		return;
	for (i = 0; shared && i < STAT_COUNTERS; i++)
		if (pending[i] > 0)
			pg_atomic_fetch_add_u64(&shared->counter[i], pending[i]);
	memset(pending, 0, sizeof(pending));
	stat_pending = NULL;
}

/* ---- ends of transactions ---- */

static void
transaction_ends(XactEvent event, void *argument)
{
	if (!TransactionHasEnded(event))
		return;
	flush_counts();
	clear_from(TopSubTransactionId);
}

static void
subtransaction_ends(SubXactEvent event, SubTransactionId self, SubTransactionId parent,
					void *argument)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		clear_from(self);
}

/* Called by _PG_init. */
void
ActivityInit(void)
{
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
	if (!process_shared_preload_libraries_in_progress)
		return;
	preloaded = true;
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_shared;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_shared;
}
