/*
 * build.c
 *		Building collections of sets by all processes of a parallel scan.
 *
 * Sketches are merged quickly.  A collection of sets is not: all of its rows must be
 * sorted.  So the processes that have scanned a table also share this work.  Each
 * process puts its rows into shared memory.  Then the processes take shares of elements
 * and shares of set ids (sets/parts.h).  At the end one process copies the finished
 * collection.
 *
 *	SCAN		each process reads pages, and at the end puts its part
 *	ELEMENTS	the elements of each share get numbers
 *	NUMBERS		the numbers of a share become numbers among all elements
 *	SETS		the sets of each share of ids are made
 *	DONE		one process has the collection, the others have nothing
 *
 * There is a barrier between two phases.  It does not wait for processes that never
 * start: a process attaches when it begins.  A process that begins late finds no pages,
 * and helps with the work that is left.  An attached process never waits for a queue of
 * tuples, so it reaches the barrier or fails.  An error in one process ends the wait of
 * all.
 *
 * If the leader takes part, it gets the collection, and nothing goes through a queue.
 * Otherwise one of the workers gets it.  If shared memory has no room, a process leaves
 * with its rows, and they are merged like other partial states (share.c).  If there is
 * only one part, nothing is done here.
 *
 * src/scan/build.c
 */
#include "scan/scan.h"

#include "pgbase/segment.h"
#include "sets/parts.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/barrier.h"
#include "storage/spin.h"
#include "utils/wait_event.h"

/*
 * Shares of the work for each process.  Several, so that all processes finish at about
 * the same time.
 */
#define SHARES_EACH 4

/* Shared memory in multiples of the size of a part: the part itself, and its shares. */
#define ROOM_OF_PART 2

enum
{
	BUILD_SCAN,
	BUILD_ELEMENTS,
	BUILD_NUMBERS,
	BUILD_SETS,
	BUILD_DONE
};

/* "elements" has two arrays; "sets" has three, each as long as "room" says. */
typedef struct SharedShare
{
	dsa_pointer elements;
	dsa_pointer sets;
	uint64 universe;
	qset_room room;
	uint64 set_count;
	uint64 element_count;
} SharedShare;

/* The head of a part, whose block follows it.  Only the part that was put last uses "share". */
typedef struct PartHead
{
	dsa_pointer next; /* part of another process, or invalid */
	uint64 rows;      /* rows of this part, with duplicates */
	SharedShare share[QSET_MOST_SHARES];
} PartHead;

#define PART_HEAD MAXALIGN(sizeof(PartHead))

struct SharedBuild
{
	Barrier barrier;
	slock_t mutex;                     /* guards what processes write before the first barrier */
	bool leader;                       /* the leader is among the processes */
	uint32 count;                      /* number of parts */
	dsa_pointer parts;                 /* the part that was put last, or invalid */
	pg_atomic_uint32 next[BUILD_DONE]; /* the next share to take in each phase */
};

/* What one process knows of a SharedBuild. */
typedef struct Build
{
	SharedBuild *shared;
	dsa_area *area;
	SetsState *sets;
	SharedShare *share;
	uint64 rows; /* of all parts */
	qset_parts parts;
} Build;

Size
SharedBuildSize(int count)
{
	return MAXALIGN(mul_size(count, sizeof(SharedBuild)));
}

/* The leader calls this before the first run. */
void
SharedBuildInit(SharedBuild *shared, int count)
{
	int i;
	int phase;

	for (i = 0; i < count; i++)
	{
		memset(&shared[i], 0, sizeof(SharedBuild));
		BarrierInit(&shared[i].barrier, 0);
		SpinLockInit(&shared[i].mutex);
		for (phase = 0; phase < BUILD_DONE; phase++)
			pg_atomic_init_u32(&shared[i].next[phase], 0);
	}
}

static void
free_share(SharedShare *share, dsa_area *area)
{
	if (DsaPointerIsValid(share->elements))
		dsa_free(area, share->elements);
	if (DsaPointerIsValid(share->sets))
		dsa_free(area, share->sets);
}

/* Free the shared memory, once all other processes are done. */
static void
free_all(SharedBuild *shared, dsa_area *area)
{
	while (DsaPointerIsValid(shared->parts))
	{
		PartHead *head = dsa_get_address(area, shared->parts);
		dsa_pointer next = head->next;
		int i;

		for (i = 0; i < QSET_MOST_SHARES; i++)
			free_share(&head->share[i], area);
		dsa_free(area, shared->parts);
		shared->parts = next;
	}
}

/* Prepare another run.  All processes are gone; the last run may have been cut short. */
void
SharedBuildReset(SharedBuild *shared, dsa_area *area, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (area)
			free_all(&shared[i], area);
	SharedBuildInit(shared, count);
}

/* Begin to take part, before this process has read a page. */
void
SharedBuildJoin(SharedBuild *shared, ScanAggregate *column, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (ScanAggregateState(&column[i], &sets_state_type))
			column[i].phase = BarrierAttach(&shared[i].barrier);
}

/* ---- the phases ---- */

/* Put the rows of this process where all processes see them; false if there is no room. */
static bool
put_part(Build *build)
{
	SharedBuild *shared = build->shared;
	qset_collection placed;
	dsa_pointer place;
	PartHead *head;
	Size bytes;

	if (build->sets->keyed.members == 0)
		return true;
	SetsCheck(qset_builder_place(&build->sets->builder, &placed));
	bytes = PART_HEAD + qset_part_bytes(&placed);
	if (!SegmentHasRoom(ROOM_OF_PART * bytes))
	{
		qset_collection_free(&placed);
		return false;
	}
	head = SegmentPut(build->area, bytes, &place);
	memset(head, 0, sizeof(*head));
	head->rows = build->sets->keyed.members;
	qset_part_write(&placed, (char *) head + PART_HEAD);
	qset_collection_free(&placed);
	SpinLockAcquire(&shared->mutex);
	head->next = shared->parts;
	shared->parts = place;
	shared->count++;
	SpinLockRelease(&shared->mutex);
	return true;
}

/*
 * End the first phase.  Returns false if no part was put, or if there is only one
 * process: then this process keeps its rows.
 */
static bool
end_scan(Build *build)
{
	SharedBuild *shared = build->shared;

	if (build->area == NULL || BarrierParticipants(&shared->barrier) == 1 || !put_part(build))
	{
		BarrierArriveAndDetach(&shared->barrier);
		return false;
	}
	SpinLockAcquire(&shared->mutex);
	shared->leader |= !IsParallelWorker();
	SpinLockRelease(&shared->mutex);
	BarrierArriveAndWait(&shared->barrier, PG_WAIT_EXTENSION);
	return true;
}

/* Open all parts, which are complete by now, and divide the work into shares. */
static void
open_parts(Build *build)
{
	uint32 count = build->shared->count;
	qset_part *part = palloc(count * sizeof(qset_part));
	dsa_pointer place = build->shared->parts;
	uint32 i;

	build->share = ((PartHead *) dsa_get_address(build->area, place))->share;
	for (i = 0; i < count; i++)
	{
		PartHead *head = dsa_get_address(build->area, place);

		qset_part_open(&part[i], (char *) head + PART_HEAD);
		build->rows += head->rows;
		place = head->next;
	}
	build->parts = (qset_parts){ .part = part,
								 .count = count,
								 .memory = &build->sets->keyed.memory,
								 .interrupt = &sets_interrupt };
	SetsCheck(qset_parts_cut(&build->parts, Min(count * SHARES_EACH, QSET_MOST_SHARES)));
}

/* What a share has so far, as a collection. */
static qset_collection
share_view(const Build *build, uint32 number)
{
	const SharedShare *share = &build->share[number];
	qset_collection view = { .wide = build->parts.part[0].rows.wide };

	if (DsaPointerIsValid(share->elements))
	{
		view.low = dsa_get_address(build->area, share->elements);
		view.high = view.wide ? view.low + share->room.universe : NULL;
		view.universe = share->universe;
	}
	if (DsaPointerIsValid(share->sets))
	{
		view.id = dsa_get_address(build->area, share->sets);
		view.offset = (uint64 *) (view.id + share->room.sets);
		view.rank = (uint32 *) (view.offset + share->room.sets + 1);
		view.sets = share->set_count;
		view.elements = share->element_count;
	}
	return view;
}

static void
do_elements(Build *build, uint32 number)
{
	SharedShare *share = &build->share[number];
	qset_collection view;

	share->room = qset_share_room(&build->parts, number);
	if (share->room.universe == 0)
		return;
	SegmentPut(build->area, share->room.universe * sizeof(uint64) * (build->sets->exact ? 1 : 2),
			   &share->elements);
	view = share_view(build, number);
	SetsCheck(qset_share_elements(&build->parts, number, &view));
	share->universe = view.universe;
}

static void
do_numbers(Build *build, uint32 number)
{
	uint64 first = 0;
	uint32 i;

	for (i = 0; i < number; i++)
		first += build->share[i].universe;
	SetsCheck(qset_share_number(&build->parts, number, first));
}

static void
do_sets(Build *build, uint32 number)
{
	SharedShare *share = &build->share[number];
	qset_collection view;

	if (share->room.sets == 0)
		return;
	SegmentPut(build->area,
			   (share->room.sets * 2 + 1) * sizeof(uint64) + share->room.elements * sizeof(uint32),
			   &share->sets);
	view = share_view(build, number);
	SetsCheck(qset_share_sets(&build->parts, number, &view));
	share->set_count = view.sets;
	share->element_count = view.elements;
}

static void
do_shares(Build *build, int phase)
{
	static void (*const work[BUILD_DONE])(Build *, uint32) = {
		NULL,
		do_elements,
		do_numbers,
		do_sets,
	};
	uint32 number;

	while ((number = pg_atomic_fetch_add_u32(&build->shared->next[phase], 1)) <
		   build->parts.cuts.shares)
		work[phase](build, number);
}

/* Join the shares into the collection of this process. */
static void
collect(Build *build)
{
	uint32 shares = build->parts.cuts.shares;
	qset_collection *share = palloc(shares * sizeof(qset_collection));
	qset_collection whole;
	uint32 i;

	for (i = 0; i < shares; i++)
		share[i] = share_view(build, i);
	SetsCheck(qset_parts_join(share, shares, &build->sets->builder.keys, &whole,
							  &build->sets->keyed.memory, &sets_interrupt));
	SetsBecome(build->sets, &whole, build->rows);
	pfree(share);
	free_all(build->shared, build->area);
}

/* Build the collection of one column. */
static void
build_sets(Build *build, int phase)
{
	SharedBuild *shared = build->shared;
	bool early = phase == BUILD_SCAN;
	bool last = false;

	if (early && !end_scan(build))
		return;
	Assert(early || build->sets->keyed.members == 0);
	phase = Max(phase, BUILD_ELEMENTS);
	if (phase == BUILD_DONE || shared->count < 2)
	{
		BarrierDetach(&shared->barrier);
		return;
	}
	if (early)
		SetsStartAgain(build->sets); /* the rows are in this process's part */
	open_parts(build);
	for (; phase < BUILD_DONE; phase++)
	{
		do_shares(build, phase);
		last = BarrierArriveAndWait(&shared->barrier, PG_WAIT_EXTENSION);
	}
	if (shared->leader ? early && !IsParallelWorker() : last)
		collect(build);
	BarrierDetach(&shared->barrier);
	pfree((void *) build->parts.part);
}

/*
 * End a process's part of the scan.  Afterwards each of its collections has the rows of
 * all processes or none.  It keeps the rows of this process if there was no room, or if
 * the processes do not build together.
 */
void
SharedBuildSets(SharedBuild *shared, dsa_area *area, ScanAggregate *column, int count,
				bool together)
{
	int i;

	for (i = 0; i < count; i++)
	{
		Build build = { .shared = &shared[i],
						.area = area,
						.sets = ScanAggregateState(&column[i], &sets_state_type) };

		if (build.sets && together)
			build_sets(&build, column[i].phase);
		else if (build.sets)
			BarrierDetach(&shared[i].barrier);
	}
}
