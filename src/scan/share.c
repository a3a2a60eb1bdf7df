/*
 * share.c
 *		Merging the sketches of a parallel scan's processes.
 *
 * Each process has sketches of its own, which takes no atomic operations, and
 * when it runs out of pages it merges them with those of another, or leaves
 * them to another: in a tree, and nobody waits.
 *
 *	The first to finish puts its sketches into shared memory and returns no row.
 *	The next one takes them, adds them to its own and goes on in the same way.
 *	The last one has them all and returns them.
 *
 * At most one set of sketches lies there at a time, for nobody leaves one
 * without having looked for another.  A process that comes after the last one
 * has left finds no pages and returns a row of NULLs.
 *
 * What stands in the way of merging here is no error: sketches on a device are
 * merged there, and where shared memory is short a process returns its own
 * row.  Finalize Aggregate above adds up whatever rows come.
 *
 * src/scan/share.c
 */
#include "scan/scan.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "storage/spin.h"

/* One sketch of a set that a process has left. */
typedef struct LeftColumn
{
	dsa_pointer bytes;
	int64 members;
} LeftColumn;

struct SharedScan
{
	slock_t mutex;    /* of all that follows */
	int running;      /* processes that have not left yet */
	dsa_pointer left; /* LeftColumn[], to be taken by the next, or invalid */
	ScanCounts counts;
};

Size
SharedScanSize(void)
{
	return MAXALIGN(sizeof(SharedScan));
}

/* Before the first run, in the leader. */
void
SharedScanInit(SharedScan *shared)
{
	memset(shared, 0, sizeof(*shared));
	SpinLockInit(&shared->mutex);
}

static void
free_set(dsa_area *area, dsa_pointer set, int count)
{
	LeftColumn *column = dsa_get_address(area, set);
	int i;

	for (i = 0; i < count; i++)
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
}

void
SharedScanJoin(SharedScan *shared)
{
	SpinLockAcquire(&shared->mutex);
	shared->running++;
	SpinLockRelease(&shared->mutex);
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

/* Copies of all sketches; invalid if there is no room. */
static dsa_pointer
put_set(dsa_area *area, const SketchedColumn *column, int count)
{
	Size size = count * sizeof(LeftColumn);
	dsa_pointer set;
	LeftColumn *left;
	int i;

	for (i = 0; i < count; i++)
		size += SketchFlatSize(&column[i].sketch->sketch);
	if (!PassHasRoom(size))
		return InvalidDsaPointer;
	set = dsa_allocate0(area, count * sizeof(LeftColumn));
	left = dsa_get_address(area, set);
	for (i = 0; i < count; i++)
	{
		const qs_sketch *sketch = &column[i].sketch->sketch;

		left[i].members = column[i].sketch->members;
		left[i].bytes = PassPut(area, sketch, SketchFlatSize(sketch));
	}
	return set;
}

static void
merge_set(dsa_area *area, dsa_pointer set, SketchedColumn *column, int count)
{
	LeftColumn *left = dsa_get_address(area, set);
	int i;

	for (i = 0; i < count; i++)
	{
		PassedSketch passed;

		PassGet(&passed, area, left[i].bytes);
		ExpandedMerge(column[i].sketch, &passed.view);
		column[i].sketch->members += left[i].members;
	}
	free_set(area, set, count);
}

/* Is a sketch on a device?  Merging can move it there. */
static bool
is_remote(const SketchedColumn *column, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (column[i].sketch->sketch.remote)
			return true;
	return false;
}

/*
 * Merge with what the others have left, and leave: with *last set nobody else
 * is in the scan.  Returns the copy of all sketches that was put for the next
 * process (or was not needed, if this is the last), or an invalid pointer.
 */
static dsa_pointer
merge_and_leave(SharedScan *shared, dsa_area *area, SketchedColumn *column, int count, bool *last)
{
	dsa_pointer mine = InvalidDsaPointer;
	bool apart = area == NULL;

	for (;;)
	{
		dsa_pointer left;
		bool leave;

		CHECK_FOR_INTERRUPTS();
		apart = apart || is_remote(column, count);
		SpinLockAcquire(&shared->mutex);
		left = shared->left;
		*last = shared->running == 1;
		leave = !DsaPointerIsValid(left) && (*last || apart || DsaPointerIsValid(mine));
		shared->left = leave && !*last ? mine : InvalidDsaPointer;
		shared->running -= leave;
		SpinLockRelease(&shared->mutex);
		if (leave)
			return mine;
		if (DsaPointerIsValid(left))
		{
			merge_set(area, left, column, count);
			if (DsaPointerIsValid(mine))
				free_set(area, mine, count);
			mine = InvalidDsaPointer;
			continue;
		}
		mine = put_set(area, column, count);
		apart = !DsaPointerIsValid(mine);
	}
}

/* The copy is what will be passed on; the set that held it goes. */
static void
keep_copies(dsa_area *area, dsa_pointer set, SketchedColumn *column, int count)
{
	LeftColumn *left = dsa_get_address(area, set);
	int i;

	for (i = 0; i < count; i++)
		column[i].sketch->passed = left[i].bytes;
	dsa_free(area, set);
}

/*
 * The end of a process's part: false if its sketches were left to another one,
 * else they are to be returned.
 */
bool
SharedScanLeave(SharedScan *shared, dsa_area *area, SketchedColumn *column, int count)
{
	bool last;
	dsa_pointer copy = merge_and_leave(shared, area, column, count, &last);

	if (!DsaPointerIsValid(copy))
		return true;
	if (!last)
		return false;
	if (IsParallelWorker())
		keep_copies(area, copy, column, count);
	else
		free_set(area, copy, count);
	return true;
}
