/*
 * build.c
 *		Builds collections of sets by all processes of a parallel scan.
 *
 * Merging collections of sets takes long, because all rows must be sorted.  So the processes that
 * have scanned a table share this work, too.  Each process puts its rows into shared memory.  Then
 * the processes work on shards of elements and shards of set ids (sets/builder.h).  At the end, one
 * process copies the finished collection.
 *
 *	SCAN		each process reads pages, and puts its rows into shared memory as a "run"
 *	ELEMENTS	the elements of each shard receive numbers within the shard
 *	NUMBERS		the numbers of a shard become numbers among all elements
 *	SETS		the sets of each shard of ids are made
 *	DONE		one process has the collection, the other processes have no rows
 *
 * A barrier separates each phase from the next.  A process attaches to the barrier when it begins,
 * so the barrier does not wait for processes that never start.  A process that begins late finds
 * no pages, and helps with the remaining work.  An attached process never waits for a queue of
 * tuples, so it reaches the barrier or fails.  An error in one process ends the wait of all
 * processes.
 *
 * If the leader takes part, it receives the collection, and no rows go through a queue.  If the
 * leader does not take part, one of the workers receives the collection.  If shared memory is
 * short, a process keeps its rows, and these rows are merged like other partial states.  If there
 * is only one run, no collection is built in shared memory.
 *
 * src/scan/sets/build.c
 */
#include "scan/scan.h"

#include "pg/sets_state.h"
#include "pgbase/segment.h"
#include "sets/builder.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/barrier.h"
#include "storage/spin.h"
#include "utils/wait_event.h"

/*
 * Number of shards for each run.  With several shards for each run, all processes finish at about
 * the same time.
 */
#define SHARDS_EACH 4

/* Shared memory for a run and its shards, as a multiple of the size of the run. */
#define ROOM_OF_RUN 2

enum
{
	BUILD_SCAN,
	BUILD_ELEMENTS,
	BUILD_NUMBERS,
	BUILD_SETS,
	BUILD_DONE
};

/*
 * A shard of the work.  "elements" points to low[] and, if elements are wide, high[].  "sets"
 * points to id[], offset[] and rank[].  "room" is the result of qset_shard_room().
 */
typedef struct SharedShard
{
	dsa_pointer elements;
	dsa_pointer sets;
	uint64 universe;
	qset_room room;
	uint64 set_count;
	uint64 element_count;
} SharedShard;

/*
 * The head of a run.  The run's block, with the rows of one process, follows the head.  Only the
 * run that was put last uses "shard".
 */
typedef struct RunHead
{
	dsa_pointer next; /* the run of another process; invalid: none */
	uint64 rows;      /* number of rows, with duplicates */
	SharedShard shard[QSET_MOST_SHARDS];
} RunHead;

#define RUN_HEAD MAXALIGN(sizeof(RunHead))

struct SharedBuild
{
	Barrier barrier;
	slock_t mutex;                     /* guards "leader", "count" and "runs" in the first phase */
	bool leader;                       /* the leader is one of the processes */
	uint32 count;                      /* number of runs */
	dsa_pointer runs;                  /* the run that was put last; invalid: none */
	pg_atomic_uint32 next[BUILD_DONE]; /* for each phase: the next shard to work on */
};

/* The state of one process in a SharedBuild. */
typedef struct Build
{
	SharedBuild *shared;
	dsa_area *area;
	SetsState *sets;
	SharedShard *shard;
	uint64 rows; /* rows of all runs */
	qset_runs runs;
} Build;

Size
SharedBuildSize(int count)
{
	return MAXALIGN(mul_size(count, sizeof(SharedBuild)));
}

/* Initialize the shared memory, before each execution of the scan. */
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

/* Free the shared memory of all runs.  All other processes must be done. */
static void
free_all(SharedBuild *shared, dsa_area *area)
{
	while (DsaPointerIsValid(shared->runs))
	{
		RunHead *head = dsa_get_address(area, shared->runs);
		dsa_pointer next = head->next;
		int i;

		for (i = 0; i < QSET_MOST_SHARDS; i++)
		{
			if (DsaPointerIsValid(head->shard[i].elements))
				dsa_free(area, head->shard[i].elements);
			if (DsaPointerIsValid(head->shard[i].sets))
				dsa_free(area, head->shard[i].sets);
		}
		dsa_free(area, shared->runs);
		shared->runs = next;
	}
}

/*
 * Prepare another execution of the scan.  The workers of the last execution have exited, perhaps
 * before its end.
 */
void
SharedBuildReset(SharedBuild *shared, dsa_area *area, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (area)
			free_all(&shared[i], area);
	SharedBuildInit(shared, count);
}

/* Attach this process, before it has read a page. */
void
SharedBuildJoin(SharedBuild *shared, ScanAggregate *aggregate, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (ScanAggregateState(&aggregate[i], &sets_state_type))
			aggregate[i].phase = BarrierAttach(&shared[i].barrier);
}

/* ---- the phases ---- */

/* Put the rows of this process into shared memory; false: shared memory is short. */
static bool
put_runs(Build *build)
{
	SharedBuild *shared = build->shared;
	qset_collection placed;
	dsa_pointer pointer;
	RunHead *head;
	Size bytes;

	if (build->sets->keyed.count == 0)
		return true;
	SetsCheck(qset_builder_group(&build->sets->builder, &placed));
	bytes = RUN_HEAD + qset_run_bytes(&placed);
	if (!SegmentHasRoom(ROOM_OF_RUN * bytes))
	{
		qset_collection_free(&placed);
		return false;
	}
	head = SegmentPut(build->area, bytes, &pointer);
	memset(head, 0, sizeof(*head));
	head->rows = build->sets->keyed.count;
	qset_run_write(&placed, (char *) head + RUN_HEAD);
	qset_collection_free(&placed);
	SpinLockAcquire(&shared->mutex);
	head->next = shared->runs;
	shared->runs = pointer;
	shared->count++;
	SpinLockRelease(&shared->mutex);
	return true;
}

/*
 * End the first phase.  False: shared memory is short, or there is only one process.  The
 * process then keeps its rows.
 */
static bool
end_scan(Build *build)
{
	SharedBuild *shared = build->shared;

	if (build->area == NULL || BarrierParticipants(&shared->barrier) == 1 || !put_runs(build))
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

/* Open all runs, which are complete now, and divide the work into shards. */
static void
open_runs(Build *build)
{
	uint32 count = build->shared->count;
	qset_run *run = palloc(count * sizeof(qset_run));
	dsa_pointer pointer = build->shared->runs;
	uint32 i;

	build->shard = ((RunHead *) dsa_get_address(build->area, pointer))->shard;
	for (i = 0; i < count; i++)
	{
		RunHead *head = dsa_get_address(build->area, pointer);

		qset_run_open(&run[i], (char *) head + RUN_HEAD);
		build->rows += head->rows;
		pointer = head->next;
	}
	build->runs = (qset_runs){ .run = run, .count = count, .memory = &build->sets->keyed.memory };
	SetsCheck(qset_runs_cut(&build->runs, Min(count * SHARDS_EACH, QSET_MOST_SHARDS)));
}

/* A view of a shard's current content as a collection. */
static qset_collection
shard_view(const Build *build, uint32 number)
{
	const SharedShard *shard = &build->shard[number];
	qset_collection view = { .wide = build->runs.run[0].rows.wide };

	if (DsaPointerIsValid(shard->elements))
	{
		view.low = dsa_get_address(build->area, shard->elements);
		view.high = view.wide ? view.low + shard->room.universe : NULL;
		view.universe = shard->universe;
	}
	if (DsaPointerIsValid(shard->sets))
	{
		view.id = dsa_get_address(build->area, shard->sets);
		view.offset = (uint64 *) (view.id + shard->room.sets);
		view.rank = (uint32 *) (view.offset + shard->room.sets + 1);
		view.sets = shard->set_count;
		view.elements = shard->element_count;
	}
	return view;
}

static void
do_elements(Build *build, uint32 number)
{
	SharedShard *shard = &build->shard[number];
	qset_collection view;

	shard->room = qset_shard_room(&build->runs, number);
	if (shard->room.universe == 0)
		return;
	SegmentPut(build->area, shard->room.universe * sizeof(uint64) * (build->sets->exact ? 1 : 2),
			   &shard->elements);
	view = shard_view(build, number);
	SetsCheck(qset_shard_elements(&build->runs, number, &view));
	shard->universe = view.universe;
}

static void
do_numbers(Build *build, uint32 number)
{
	uint64 first = 0;
	uint32 i;

	for (i = 0; i < number; i++)
		first += build->shard[i].universe;
	qset_shard_number(&build->runs, number, first);
}

static void
do_sets(Build *build, uint32 number)
{
	SharedShard *shard = &build->shard[number];
	qset_collection view;

	if (shard->room.sets == 0)
		return;
	SegmentPut(build->area,
			   (shard->room.sets * 2 + 1) * sizeof(uint64) + shard->room.elements * sizeof(uint32),
			   &shard->sets);
	view = shard_view(build, number);
	SetsCheck(qset_shard_sets(&build->runs, number, &view));
	shard->set_count = view.sets;
	shard->element_count = view.elements;
}

static void
do_shards(Build *build, int phase)
{
	static void (*const work[BUILD_DONE])(Build *, uint32) = {
		NULL,
		do_elements,
		do_numbers,
		do_sets,
	};
	uint32 number;

	while ((number = pg_atomic_fetch_add_u32(&build->shared->next[phase], 1)) <
		   build->runs.cuts.shards)
		work[phase](build, number);
}

/* Join the shards into the collection of this process. */
static void
collect(Build *build)
{
	uint32 shards = build->runs.cuts.shards;
	qset_collection *shard = palloc(shards * sizeof(qset_collection));
	qset_collection whole;
	uint32 i;

	for (i = 0; i < shards; i++)
		shard[i] = shard_view(build, i);
	SetsCheck(qset_runs_join(shard, shards, &build->sets->builder.keys, &whole,
							 &build->sets->keyed.memory));
	SetsBecome(build->sets, &whole, build->rows);
	pfree(shard);
	free_all(build->shared, build->area);
}

/* Build the collection of one aggregate. */
static void
build_sets(Build *build, int phase)
{
	SharedBuild *shared = build->shared;
	bool early = phase == BUILD_SCAN;
	bool last = false;

	if (early && !end_scan(build))
		return;
	Assert(early || build->sets->keyed.count == 0);
	phase = Max(phase, BUILD_ELEMENTS);
	if (phase == BUILD_DONE || shared->count < 2)
	{
		BarrierDetach(&shared->barrier);
		return;
	}
	if (early)
		SetsStartAgain(build->sets); /* the rows are in the run of this process */
	open_runs(build);
	for (; phase < BUILD_DONE; phase++)
	{
		do_shards(build, phase);
		last = BarrierArriveAndWait(&shared->barrier, PG_WAIT_EXTENSION);
	}
	if (shared->leader ? early && !IsParallelWorker() : last)
		collect(build);
	BarrierDetach(&shared->barrier);
	pfree((void *) build->runs.run);
}

/*
 * Build the collections with the other processes, if "together".  Afterwards each collection of
 * this process has the rows of all processes, or no rows.  If shared memory is short, or "together"
 * is false, a collection keeps the rows of this process.
 */
void
SharedBuildSets(SharedBuild *shared, dsa_area *area, ScanAggregate *aggregate, int count,
				bool together)
{
	int i;

	for (i = 0; i < count; i++)
	{
		Build build = { .shared = &shared[i],
						.area = area,
						.sets = ScanAggregateState(&aggregate[i], &sets_state_type) };

		if (build.sets && together)
			build_sets(&build, aggregate[i].phase);
		else if (build.sets)
			BarrierDetach(&shared[i].barrier);
	}
}
