/*
 * build.c
 *		Building collections of sets by all processes of a parallel scan.
 *
 * Sketches are merged in a moment; sets must be sorted, every row of them.  So the
 * processes that have scanned a table go on together: each puts its rows into
 * shared memory, and they take turns at shares of elements and of set ids
 * (sets/parts.h), until one of them copies what is finished.
 *
 *	SCAN		reading pages; at the end each has put its part
 *	ELEMENTS	shares of elements get numbers
 *	NUMBERS		these become numbers among all elements
 *	SETS		shares of ids get their sets
 *	DONE		one has the whole, the others have nothing
 *
 * Between two phases stands a barrier.  Who never comes is not waited for: a process
 * attaches when it begins, and one that begins late finds no pages, and helps with
 * what is left.  Nobody who is attached waits for a queue of tuples, so each of
 * them comes to the barrier or fails, and an error of one ends the wait of all.
 *
 * If the leader takes part it has the whole, and nothing goes through a queue; else
 * any of the others has it.  Where there is no room in shared memory a process
 * leaves with its rows; they are merged as other partial states are (share.c).  With
 * one part there is nothing to be done.
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

/* Shares for each process, so that all are done at about the same time. */
#define SHARES_EACH 4

/* Shared memory for the shares of a part, in its size, and for itself. */
#define ROOM_OF_PART 2

enum
{
	BUILD_SCAN,
	BUILD_ELEMENTS,
	BUILD_NUMBERS,
	BUILD_SETS,
	BUILD_DONE
};

/* Two arrays for elements; three for sets, each as long as there was room for. */
typedef struct SharedShare
{
	dsa_pointer elements;
	dsa_pointer sets;
	uint64 universe;
	qset_room room;
	uint64 set_count;
	uint64 element_count;
} SharedShare;

/* A part: this, and its block behind it.  The shares lie in the last one that was put. */
typedef struct PartHead
{
	dsa_pointer next; /* of another process, or invalid */
	uint64 rows;      /* duplicates among them */
	SharedShare share[QSET_MOST_SHARES];
} PartHead;

#define PART_HEAD MAXALIGN(sizeof(PartHead))

struct SharedBuild
{
	Barrier barrier;
	slock_t mutex;     /* of what processes put, and say, before the first barrier */
	bool leader;       /* is among them */
	uint32 count;      /* parts */
	dsa_pointer parts; /* the last one that was put, or invalid */
	pg_atomic_uint32 next[BUILD_DONE]; /* share to be taken */
};

/* What one process sees of it. */
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

/* Before the first run, in the leader. */
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

/* Free what is there, once everybody else is done. */
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

/* Before another run, with all processes gone; the last may have been cut short. */
void
SharedBuildReset(SharedBuild *shared, dsa_area *area, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (area)
			free_all(&shared[i], area);
	SharedBuildInit(shared, count);
}

/* Begin to take part, with no page read so far. */
void
SharedBuildJoin(SharedBuild *shared, ScanAggregate *column, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (ScanAggregateState(&column[i], &sets_state_type))
			column[i].phase = BarrierAttach(&shared[i].barrier);
}

/* ---- the phases ---- */

/* Put the rows of this process where all see them; false if there is no room. */
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
 * The end of the first phase.  False if there is nothing to be done together, or
 * not by this process: then its rows are still its own.
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

/* Look at all parts, which are there now, and cut them. */
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

/* A share as the collection that it is so far. */
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

/* Take shares until there are no more. */
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

/* Have the whole. */
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

/* One column's collection. */
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
		SetsStartAgain(build->sets); /* its rows are in its part */
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
 * The end of a process's part of the scan: of each collection it has all rows, or
 * none, or its own, if there was no room or they are not to be built together.
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
