/*
 * share.c
 *		Merging the sketches of a parallel scan's processes.
 *
 * Each process has sketches of its own, so counting takes no atomic operations.  When
 * it runs out of pages it merges its sketches with those of another process.  The
 * merges form a tree:
 *
 *	The first worker to finish puts its sketches into shared memory and returns
 *	no row.
 *	The next worker takes them, adds them to its own and does the same.
 *	The leader takes what workers have put until all others have left, and returns
 *	the sum, so nothing goes through a queue.  If it has further scans to do
 *	(partitions), it does not wait: it puts its sketches, too, and the last of all
 *	processes returns them.
 *
 * Groups are not merged here.  Each process returns its own, and a hash aggregate above
 * Gather merges them.
 *
 * Collections of sets are built by all processes before that (sets/build.c).  Then only one
 * process has rows.
 *
 * At most one set of sketches is in shared memory at a time, since a process looks for
 * another set before it puts its own.  A process that starts after the last one has
 * left finds no pages and returns a row of NULLs.
 *
 * If processes cannot merge here, that is no error.  Sketches on a device are merged
 * there, and states of PostgreSQL's own aggregates by their own functions.  If sketches are
 * small, or shared memory is short, a process returns its own row.  Finalize Aggregate above
 * adds up all rows.
 *
 * src/scan/share.c
 */
#include "scan/cached/cached.h"
#include "scan/scan.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "pg/sets_state.h"
#include "pgbase/process.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

/* One sketch of a set that a process has put. */
typedef struct LeftColumn
{
	dsa_pointer bytes;
	int64 count;
} LeftColumn;

struct SharedScan
{
	uint64 id;        /* of the scan, in the progress view */
	int processes;    /* of the plan */
	slock_t mutex;    /* guards all fields below */
	bool joined;      /* a process has joined this run */
	int running;      /* processes that have not left yet */
	dsa_pointer left; /* LeftColumn[] for the next process to take, or invalid */
	ScanCounts counts;
	ConditionVariable changed; /* a process has left */
};

/* The shared state of the pages lies behind that of the scan, and behind it that for building sets. */
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

Size
SharedScanSize(int count)
{
	return add_size(MAXALIGN(sizeof(SharedScan)) + SharedPagesSize(), SharedBuildSize(count));
}

/* The leader calls this before the first run. */
void
SharedScanInit(SharedScan *shared, int count, int processes)
{
	memset(shared, 0, sizeof(*shared));
	shared->id = ActivityNewId();
	shared->processes = processes;
	SpinLockInit(&shared->mutex);
	ConditionVariableInit(&shared->changed);
	SharedPagesInit(SharedScanPages(shared));
	SharedBuildInit(shared_build(shared), count);
}

static void
free_set(dsa_area *area, dsa_pointer set, int count)
{
	LeftColumn *column = dsa_get_address(area, set);
	int i;

	for (i = 0; i < count; i++)
		if (DsaPointerIsValid(column[i].bytes))
			dsa_free(area, column[i].bytes);
	dsa_free(area, set);
}

/* Prepare another run.  All processes are gone; the last run may have been cut short. */
void
SharedScanReset(SharedScan *shared, dsa_area *area, int count)
{
	if (DsaPointerIsValid(shared->left))
		free_set(area, shared->left, count);
	shared->left = InvalidDsaPointer;
	shared->running = 0;
	shared->joined = false;
	SharedPagesReset(SharedScanPages(shared), area);
	SharedBuildReset(shared_build(shared), area, count);
}

/* Begin to take part.  True for the first process. */
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

/* Add to the counts of all processes. */
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
 * Copies of all sketches in shared memory.  Invalid if there is no room, or if the
 * sketches are small enough to go through the queue as a row.
 */
static dsa_pointer
put_set(dsa_area *area, ScanAggregate *aggregate, int count)
{
	Size size = count * sizeof(LeftColumn);
	dsa_pointer set;
	LeftColumn *left;
	int i;

	for (i = 0; i < count; i++)
		size += aggregate[i].state ? StatePassBytes(aggregate[i].state) : 0;
	if (size <= SEGMENT_AT || !SegmentHasRoom(size))
		return InvalidDsaPointer;
	set = dsa_allocate0(area, count * sizeof(LeftColumn));
	left = dsa_get_address(area, set);
	for (i = 0; i < count; i++)
	{
		KeyedState *state = aggregate[i].state;
		Size bytes = state ? StatePassBytes(state) : 0;

		left[i].count = *ScanAggregateCount(&aggregate[i]);
		if (state)
			StatePass(state, SegmentPut(area, bytes, &left[i].bytes), bytes);
	}
	return set;
}

static void
merge_set(dsa_area *area, dsa_pointer set, ScanAggregate *aggregate, int count)
{
	LeftColumn *left = dsa_get_address(area, set);
	int i;

	for (i = 0; i < count; i++)
	{
		KeyedState *state = aggregate[i].state;

		if (state)
			StateMergePassed(state, dsa_get_address(area, left[i].bytes));
		*ScanAggregateCount(&aggregate[i]) += left[i].count;
	}
	free_set(area, set, count);
}

/*
 * Is there anything that is not merged here?  Merging another sketch can move it to a
 * device.
 */
static bool
is_apart(const ScanAggregate *aggregate, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (ScanAggregateIsRemote(&aggregate[i]) || aggregate[i].builtin)
			return true;
	return false;
}

/* What a process does next, after a look at the shared state. */
typedef enum Step
{
	STEP_TAKE,  /* merge the set that it took */
	STEP_PUT,   /* copy its sketches, so that it can leave them */
	STEP_WAIT,  /* wait until another process has left */
	STEP_LEFT,  /* it has left, and another process takes its copy */
	STEP_RETURN /* it has left, and returns its sketches */
} Step;

/* A process that has no more pages. */
typedef struct Leaver
{
	bool collects;    /* it waits for all other processes */
	bool apart;       /* it cannot merge here */
	dsa_pointer mine; /* copy of its sketches, or invalid */
} Leaver;

/* Look once.  Take a set if there is one, else leave if this process can. */
static Step
look(SharedScan *shared, const Leaver *leaver, dsa_pointer *taken)
{
	Step step;

	SpinLockAcquire(&shared->mutex);
	*taken = shared->left;
	if (DsaPointerIsValid(*taken))
		step = STEP_TAKE;
	else if (leaver->apart || shared->running == 1)
		step = STEP_RETURN;
	else if (leaver->collects)
		step = STEP_WAIT;
	else
		step = DsaPointerIsValid(leaver->mine) ? STEP_LEFT : STEP_PUT;
	shared->left = step == STEP_LEFT ? leaver->mine : InvalidDsaPointer;
	if (step == STEP_LEFT || step == STEP_RETURN)
		shared->running--;
	SpinLockRelease(&shared->mutex);
	if (step == STEP_LEFT || step == STEP_RETURN)
		ConditionVariableBroadcast(&shared->changed);
	return step;
}

static void
drop_copy(dsa_area *area, Leaver *leaver, int count)
{
	if (DsaPointerIsValid(leaver->mine))
		free_set(area, leaver->mine, count);
	leaver->mine = InvalidDsaPointer;
}

/*
 * End a process's part of the scan.  False: its sketches were left to another process.
 * True: it has to return them.  "collect": no process has another scan to do, so all
 * build the sets, and the leader may wait.
 */
bool
SharedScanLeave(SharedScan *shared, dsa_area *area, ScanAggregate *aggregate, int count,
				bool collect)
{
	Leaver leaver = { .collects = collect && !IsParallelWorker(), .mine = InvalidDsaPointer };
	dsa_pointer taken;
	Step step;

	SharedBuildSets(shared_build(shared), area, aggregate, count, collect);
	do
	{
		CHECK_FOR_INTERRUPTS();
		leaver.apart = leaver.apart || area == NULL || is_apart(aggregate, count);
		step = look(shared, &leaver, &taken);
		if (step == STEP_TAKE)
		{
			merge_set(area, taken, aggregate, count);
			drop_copy(area, &leaver, count);
		}
		else if (step == STEP_PUT)
		{
			leaver.mine = put_set(area, aggregate, count);
			leaver.apart = !DsaPointerIsValid(leaver.mine);
		}
		else if (step == STEP_WAIT)
			ConditionVariableSleep(&shared->changed, PG_WAIT_EXTENSION);
	}
	while (step != STEP_LEFT && step != STEP_RETURN);
	ConditionVariableCancelSleep();
	if (step == STEP_RETURN)
		drop_copy(area, &leaver, count);
	return step == STEP_RETURN;
}
