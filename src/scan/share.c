/*
 * share.c
 *		The shared memory of a parallel scan, and how the values of its processes are merged.
 *
 * Each process fills sketches and filters of its own, so counting takes no atomic operations.
 * A process without further pages adds its large values to values in shared memory
 * (pgbase/segment.h).  The leader waits until all other processes have left, and adds the shared
 * values to its own values.  If the leader must also scan other partitions, it does not wait, but
 * adds its values to the shared values.  In this case the last process that leaves receives the
 * shared values.
 *
 * A process that joins after all other processes have left finds no pages, so its values are
 * empty.
 *
 * Finalize Aggregate above Gather merges all other values, such as small sketches, filters and
 * lists, sketches on a device, and states of PostgreSQL's own aggregates.  It receives a row from
 * each process.  NULL in a row stands for an empty value, or for a value that was added to the
 * shared value.  If shared memory is short, Finalize Aggregate merges large values, too.
 *
 * Groups are not merged in shared memory.  Each process returns its groups, and a hash
 * aggregate above Gather merges them.
 *
 * If no process has another scan to do, the processes build the collections of sets together before
 * they leave (scan/sets/build.c).  Then only one process has the sets of all rows.
 *
 * src/scan/share.c
 */
#include "scan/cached/cached.h"
#include "scan/scan.h"

#include "access/parallel.h"
#include "pgbase/segment.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "utils/wait_event.h"

struct SharedScan
{
	uint64 id;     /* the scan's id in qsketch_progress */
	int processes; /* processes of the plan */
	slock_t mutex; /* guards "joined", "running" and "counts" */
	bool joined;   /* a process has joined this run */
	int running;   /* processes that have not left yet */
	ScanCounts counts;
	ConditionVariable changed; /* signaled when a process has left */
};

/*
 * The shared state of the pages.  In memory it follows the SharedScan and precedes the SharedBuild.
 */
SharedPages *
SharedScanPages(SharedScan *shared)
{
	return (SharedPages *) ((char *) shared + MAXALIGN(sizeof(SharedScan)));
}

static SharedBuild *
shared_build(SharedScan *shared)
{
	return (SharedBuild *) ((char *) SharedScanPages(shared) + SharedPagesSize());
}

/*
 * The values that all processes merge, one for each aggregate.  The values follow the SharedBuild
 * in memory.
 */
static SharedValue *
shared_values(SharedScan *shared, int count)
{
	return (SharedValue *) ((char *) shared_build(shared) + SharedBuildSize(count));
}

Size
SharedScanSize(int count)
{
	return add_size(
		MAXALIGN(sizeof(SharedScan)) + SharedPagesSize(),
		add_size(SharedBuildSize(count), MAXALIGN(mul_size(count, sizeof(SharedValue)))));
}

/* Initialize the shared memory.  The leader calls this function before the first run. */
void
SharedScanInit(SharedScan *shared, int count, int processes)
{
	int i;

	memset(shared, 0, sizeof(*shared));
	shared->id = ActivityNewId();
	shared->processes = processes;
	SpinLockInit(&shared->mutex);
	ConditionVariableInit(&shared->changed);
	SharedPagesInit(SharedScanPages(shared));
	SharedBuildInit(shared_build(shared), count);
	for (i = 0; i < count; i++)
		SharedValueInit(&shared_values(shared, count)[i]);
}

/* Prepare another run.  The workers of the last run have exited, perhaps before its end. */
void
SharedScanReset(SharedScan *shared, dsa_area *area, int count)
{
	int i;

	for (i = 0; area && i < count; i++)
		SharedValueReset(&shared_values(shared, count)[i], area);
	shared->running = 0;
	shared->joined = false;
	SharedPagesReset(SharedScanPages(shared), area);
	SharedBuildReset(shared_build(shared), area, count);
}

/* Add this process to the run.  Returns true for the first process. */
bool
SharedScanJoin(SharedScan *shared, ScanAggregate *aggregate, int count)
{
	bool first;

	SharedBuildJoin(shared_build(shared), aggregate, count);
	SpinLockAcquire(&shared->mutex);
	first = !shared->joined;
	shared->joined = true;
	shared->running++;
	SpinLockRelease(&shared->mutex);
	return first;
}

uint64
SharedScanId(const SharedScan *shared)
{
	return shared->id;
}

int
SharedScanProcesses(const SharedScan *shared)
{
	return shared->processes;
}

void
SharedScanCount(SharedScan *shared, const ScanCounts *more)
{
	SpinLockAcquire(&shared->mutex);
	ScanCountsAdd(&shared->counts, more);
	SpinLockRelease(&shared->mutex);
}

ScanCounts
SharedScanCounts(SharedScan *shared)
{
	ScanCounts counts;

	SpinLockAcquire(&shared->mutex);
	counts = shared->counts;
	SpinLockRelease(&shared->mutex);
	return counts;
}

/*
 * True if at least one value has a family whose values are merged in shared memory, and no sketch
 * is on a device.
 */
static bool
are_merged_here(const ScanAggregate *aggregate, int count)
{
	bool any = false;
	int i;

	for (i = 0; i < count; i++)
	{
		if (ScanAggregateIsRemote(&aggregate[i]))
			return false;
		any |= aggregate[i].state && StateTypeOf(aggregate[i].state)->slices;
	}
	return any;
}

static bool
is_last(SharedScan *shared)
{
	bool last;

	SpinLockAcquire(&shared->mutex);
	last = shared->running == 1;
	SpinLockRelease(&shared->mutex);
	return last;
}

/*
 * Remove this process from the running processes.  With "only_last" the process is removed only if
 * no other process is running.  Returns true if the process was removed.  *last: no other process
 * is running.
 */
static bool
try_to_leave(SharedScan *shared, bool only_last, bool *last)
{
	bool left;

	SpinLockAcquire(&shared->mutex);
	*last = shared->running == 1;
	left = *last || !only_last;
	shared->running -= left;
	SpinLockRelease(&shared->mutex);
	if (left)
		ConditionVariableBroadcast(&shared->changed);
	return left;
}

/*
 * Remove this process from the running processes.  With "collects" wait first until no other
 * process is running.  Returns true if this process was the last one.
 */
static bool
leave(SharedScan *shared, bool collects)
{
	bool last;

	while (!try_to_leave(shared, collects, &last))
		ConditionVariableSleep(&shared->changed, PG_WAIT_EXTENSION);
	ConditionVariableCancelSleep();
	return last;
}

/*
 * End this process's part of the scan.  Each process except the last adds its large values to the
 * shared values, which empties its own values.  The last process adds the shared values to its own
 * values.  "collect": no process has another scan to do.  Then all processes build the sets
 * together, and the leader may wait.
 */
void
SharedScanLeave(SharedScan *shared, dsa_area *area, ScanAggregate *aggregate, int count,
				bool collect)
{
	SharedValue *value = shared_values(shared, count);
	bool collects = collect && !IsParallelWorker() && are_merged_here(aggregate, count);
	bool adds;
	int i;

	SharedBuildSets(shared_build(shared), area, aggregate, count, collect);
	adds = area && !collects && !is_last(shared);
	for (i = 0; adds && i < count; i++)
		if (aggregate[i].state)
			(void) SharedValueAdd(&value[i], aggregate[i].state, area);
	if (!leave(shared, collects) || area == NULL)
		return;
	for (i = 0; i < count; i++)
		if (aggregate[i].state)
			SharedValueTake(&value[i], aggregate[i].state, area);
}
