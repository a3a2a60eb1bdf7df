/*
 * share.c
 *		Merging the sketches of a parallel scan's processes.
 *
 * Each process has sketches of its own, which takes no atomic operations, and
 * when it runs out of pages it merges them with those of another, or leaves
 * them to another: in a tree.
 *
 *	The first worker to finish puts its sketches into shared memory and returns
 *	no row.
 *	The next one takes them, adds them to its own and goes on in the same way.
 *	The leader takes whatever lies there until all others have left, and returns
 *	the sum: nothing goes through a queue.  It has nothing else to do but wait for
 *	the others, unless there are further scans (partitions): then it leaves its
 *	sketches, too, and the last of all processes returns them.
 *
 * Collections of sets are built by all processes before that (build.c), so that only
 * one of them has rows.
 *
 * At most one set of sketches lies there at a time, for nobody leaves one
 * without having looked for another.  A process that comes after the last one
 * has left finds no pages and returns a row of NULLs.
 *
 * What stands in the way of merging here is no error: sketches on a device are
 * merged there, and where they are small or shared memory is short a process
 * returns its own row.  Finalize Aggregate above adds up whatever rows come.
 *
 * src/scan/share.c
 */
#include "scan/scan.h"

#include "pgbase/segment.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "utils/wait_event.h"

/* One sketch of a set that a process has left. */
typedef struct LeftColumn
{
	dsa_pointer bytes;
	int64 members;
} LeftColumn;

struct SharedScan
{
	uint64 id;        /* of the scan, for those who watch */
	slock_t mutex;    /* of all that follows */
	bool joined;      /* by any process, in this run */
	int running;      /* processes that have not left yet */
	dsa_pointer left; /* LeftColumn[], to be taken by the next, or invalid */
	ScanCounts counts;
	ConditionVariable changed; /* a process has left */
};

/* The shared state of building sets follows. */
static SharedBuild *
shared_build(SharedScan *shared)
{
	return (SharedBuild *) ((char *) shared + MAXALIGN(sizeof(SharedScan)));
}

Size
SharedScanSize(int count)
{
	return add_size(MAXALIGN(sizeof(SharedScan)), SharedBuildSize(count));
}

/* Before the first run, in the leader. */
void
SharedScanInit(SharedScan *shared, int count)
{
	memset(shared, 0, sizeof(*shared));
	shared->id = ActivityNewId();
	SpinLockInit(&shared->mutex);
	ConditionVariableInit(&shared->changed);
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

/* Before another run, with all processes gone; the last may have been cut short. */
void
SharedScanReset(SharedScan *shared, dsa_area *area, int count)
{
	if (DsaPointerIsValid(shared->left))
		free_set(area, shared->left, count);
	shared->left = InvalidDsaPointer;
	shared->running = 0;
	shared->joined = false;
	SharedBuildReset(shared_build(shared), area, count);
}

/* Begin to take part; true: as the first. */
bool
SharedScanJoin(SharedScan *shared, ScanAggregate *column, int count)
{
	bool first;

	SharedBuildJoin(shared_build(shared), column, count);
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

void
SharedScanCount(SharedScan *shared, const ScanCounts *counts)
{
	SpinLockAcquire(&shared->mutex);
	ScanCountsAdd(&shared->counts, counts);
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

/* Copies of all sketches; invalid if there is no room, or if they are so small that rows do. */
static dsa_pointer
put_set(dsa_area *area, ScanAggregate *column, int count)
{
	Size size = count * sizeof(LeftColumn);
	dsa_pointer set;
	LeftColumn *left;
	int i;

	for (i = 0; i < count; i++)
		size += column[i].state ? StatePassBytes(column[i].state) : 0;
	if (size <= SEGMENT_AT || !SegmentHasRoom(size))
		return InvalidDsaPointer;
	set = dsa_allocate0(area, count * sizeof(LeftColumn));
	left = dsa_get_address(area, set);
	for (i = 0; i < count; i++)
	{
		KeyedState *state = column[i].state;
		Size bytes = state ? StatePassBytes(state) : 0;

		left[i].members = *ScanAggregateMembers(&column[i]);
		if (state)
			StatePass(state, SegmentPut(area, bytes, &left[i].bytes), bytes);
	}
	return set;
}

static void
merge_set(dsa_area *area, dsa_pointer set, ScanAggregate *column, int count)
{
	LeftColumn *left = dsa_get_address(area, set);
	int i;

	for (i = 0; i < count; i++)
	{
		KeyedState *state = column[i].state;

		if (state)
			StateTypeOf(state)->merge(state, dsa_get_address(area, left[i].bytes));
		*ScanAggregateMembers(&column[i]) += left[i].members;
	}
	free_set(area, set, count);
}

/* Is a sketch on a device?  Merging can move it there. */
static bool
is_remote(const ScanAggregate *column, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (ScanAggregateIsRemote(&column[i]))
			return true;
	return false;
}

/* What a process does next, having looked at the shared state. */
typedef enum Step
{
	STEP_TAKE,  /* merge the set that was taken */
	STEP_PUT,   /* copy its sketches, to leave them */
	STEP_WAIT,  /* until another process has left */
	STEP_LEFT,  /* its copy is left to another process */
	STEP_RETURN /* it has left, and returns its sketches */
} Step;

/* One process at its end. */
typedef struct Leaver
{
	bool collects;    /* waits for all others */
	bool apart;       /* cannot merge here */
	dsa_pointer mine; /* copy of its sketches, or invalid */
} Leaver;

/* Look once, and take a set or leave if that is what is to be done. */
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
 * The end of a process's part: false if its sketches were left to another one,
 * else they are to be returned.  "collect": nobody has another scan to do, so sets
 * are built by all, and the leader may wait.
 */
bool
SharedScanLeave(SharedScan *shared, dsa_area *area, ScanAggregate *column, int count, bool collect)
{
	Leaver leaver = { .collects = collect && !IsParallelWorker(), .mine = InvalidDsaPointer };
	dsa_pointer taken;
	Step step;

	SharedBuildSets(shared_build(shared), area, column, count, collect);
	do
	{
		CHECK_FOR_INTERRUPTS();
		leaver.apart = leaver.apart || area == NULL || is_remote(column, count);
		step = look(shared, &leaver, &taken);
		if (step == STEP_TAKE)
		{
			merge_set(area, taken, column, count);
			drop_copy(area, &leaver, count);
		}
		else if (step == STEP_PUT)
		{
			leaver.mine = put_set(area, column, count);
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

/*
 * Aggregate copies the first tuple that it gets, and flattens what is in it.  So the
 * leader, whose sets may be large, has to give it one of NULLs before its own?
 */
bool
SharedScanResultIsLarge(const ScanAggregate *column, int count)
{
	bool large = false;
	int i;

	for (i = 0; i < count && !IsParallelWorker(); i++)
	{
		if (column[i].state == NULL)
			continue;
		if (StateTypeOf(column[i].state) != &sets_state_type)
			return false;
		large |= column[i].state->members > 0;
	}
	return large;
}

/* All values.  "hand_over": sets go to who asked for them, without a copy. */
TupleTableSlot *
SharedScanResult(const ScanAggregate *column, int count, bool hand_over, TupleTableSlot *slot)
{
	int i;

	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	for (i = 0; i < count; i++)
	{
		slot->tts_values[i] = ScanAggregateResult(&column[i], &slot->tts_isnull[i]);
		if (hand_over && ScanAggregateState(&column[i], &sets_state_type))
			slot->tts_values[i] = StateDatum(column[i].state);
	}
	return ExecStoreVirtualTuple(slot);
}
