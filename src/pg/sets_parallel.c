/*
 * sets_parallel.c
 *		All pairs of sets: splits the rows among parallel workers, and returns the pairs in order.
 *
 * The planner cannot split a function that returns rows.  A parallel-aware node in place of the
 * function would not suit most calls of qsets_pairs:
 *
 *	- Below Gather, the order of the pairs is lost.
 *	- On the inner side of a join (FROM collection, qsets_pairs(collection.sets)), each worker
 *	  would run the whole node.
 *	- INSERT has no parallel plans.
 *
 * So the process that pulls the pairs, the leader, starts PostgreSQL's parallel workers itself, as
 * building an index does.  The server's settings limit the number of workers.  The workers report
 * their errors to the leader, and end if the leader's (sub)transaction fails.
 *
 * Parallel mode lasts from the start to the end of one scan.  In parallel mode, nothing may be
 * written.  So a caller may return rows before the scan ends only if the whole query is in
 * parallel mode.  A parallel worker starts no workers.
 *
 * Shared memory:
 *
 * 	a segment		the prepared input (sets/block.h), read only
 * 	SharedPairs		the handle of this segment; the ranges of rows ("shards"), each of about
 * 					the same work; the number of the next shard to take
 * 	queues			for each worker, a queue that sends its pairs to the leader
 *
 * Each process takes a shard, finds the shard's pairs, and takes the next shard.  The leader
 * returns the pairs of shard 0, then the pairs of shard 1, and so on.  Each worker sends its shards
 * in ascending order.  While no pairs of the current shard have arrived, the leader takes shards
 * itself, and keeps up to KEEP pairs of these shards.
 *
 * The leader never waits for ever.  Shards are taken in order, so some process has taken the
 * current shard, or a worker takes this shard next.  The leader has already returned all earlier
 * pairs of that process, so the process is not blocked by a full queue.
 *
 * If shared memory is short, or all segments are in use, the scan has no workers, which is no
 * error.  PostgreSQL raises an error if SegmentsFit() does not know the free size, or if another
 * query takes the memory between SegmentsFit() and the allocation.
 *
 * src/pg/sets_parallel.c
 */
#include "pg/sets_parallel.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "engine/sets_kernels.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "pgbase/segment.h"
#include "port/atomics.h"
#include "storage/dsm.h"
#include "storage/latch.h"
#include "storage/shm_mq.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

/* The maximum number of pairs that the leader keeps for shards after the current shard. */
#define KEEP (64 * PAIRS_BATCH)

typedef struct SharedPairs
{
	dsm_handle block;                    /* segment with the prepared input */
	uint32 shards;                       /* number of shards */
	pg_atomic_uint32 next;               /* number of the next shard to take */
	pg_atomic_uint32 stop;               /* not 0: the leader needs no more pairs */
	uint64 first[FLEXIBLE_ARRAY_MEMBER]; /* rows of shard i: first[i] .. first[i + 1] - 1 */
} SharedPairs;

/* The head of a message in a queue.  The message's pairs follow the head. */
typedef struct Message
{
	uint32 shard; /* number of the shard */
	uint32 pairs; /* number of pairs in the message */
	bool last;    /* true in the last message of a shard */
} Message;

/* The leader's end of a queue. */
typedef struct Source
{
	shm_mq_handle *queue;   /* NULL: no more messages will come */
	const Message *message; /* the message whose pairs are being returned, or NULL */
	uint32 used;            /* number of the message's pairs that have been returned */
} Source;

/* A shard that the leader has taken. */
typedef struct LeaderShard
{
	uint32 shard;
	uint64 end; /* index in "kept" after the last pair of the shard */
} LeaderShard;

struct PairWorkers
{
	ParallelContext *context;
	dsm_segment *block;
	SharedPairs *shared;
	qb_memory memory;
	Source *source;
	uint32 next; /* number of the current shard, whose pairs are returned */
	const ActivityHandle *activity;

	/* The leader's own shards. */
	bool helps; /* the leader may take another shard */
	qset_job job;
	bool counting;             /* the leader has not found all pairs of its last shard */
	LeaderShard *leader_shard; /* shards with pairs to return: leader_first to leader_end - 1 */
	uint32 leader_first;
	uint32 leader_end;
	qset_pair *kept;
	uint64 kept_next;
	uint64 kept_end;
};

/* ---- returning pairs in the order of the shards ---- */

/* Receive the next message of a queue if the message has arrived. */
static void
receive(Source *source)
{
	shm_mq_result result;
	void *message;
	Size bytes;

	if (source->queue == NULL || source->message)
		return;
	result = shm_mq_receive(source->queue, &bytes, &message, true);
	if (result == SHM_MQ_DETACHED)
		source->queue = NULL;
	if (result != SHM_MQ_SUCCESS)
		return;
	source->message = message;
	source->used = 0;
	Assert(bytes == sizeof(Message) + source->message->pairs * sizeof(qset_pair));
}

/* Copy pairs of the current shard from a message to "out", and return their number. */
static uint64
take_message(PairWorkers *w, Source *source, qset_pair *out, uint64 room)
{
	const Message *message = source->message;
	const qset_pair *pair = (const qset_pair *) (message + 1);
	uint32 count = (uint32) Min(room, message->pairs - source->used);

	memcpy(out, pair + source->used, count * sizeof(qset_pair));
	source->used += count;
	if (source->used < message->pairs)
		return count;
	if (message->last)
		w->next++;
	source->message = NULL;
	return count;
}

/*
 * Copy pairs of the current shard and of following shards from the queues to "out", and return
 * their number.  *open: at least one queue may receive more messages.
 */
static uint64
take_messages(PairWorkers *w, qset_pair *out, uint64 room, bool *open)
{
	uint64 count = 0;
	bool again;
	int i;

	do
	{
		again = *open = false;
		for (i = 0; i < w->context->nworkers && count < room; i++)
		{
			Source *source = &w->source[i];

			receive(source);
			*open |= source->queue != NULL;
			if (source->message == NULL || source->message->shard != w->next)
				continue;
			count += take_message(w, source, out + count, room - count);
			again = true;
		}
	}
	while (again && count < room);
	return count;
}

static bool
leader_is_next(const PairWorkers *w)
{
	return w->leader_first < w->leader_end && w->leader_shard[w->leader_first].shard == w->next;
}

/* Find more pairs of the leader's last shard; 0: the shard has no more pairs. */
static uint64
count_leader_pairs(PairWorkers *w, qset_pair *out, uint64 room)
{
	uint64 count;

	SetsCheck(qset_job_next(&w->job, out, room, &count));
	w->counting = count > 0;
	return count;
}

/* Copy pairs of the current shard, which the leader has taken, to "out".  Returns their number. */
static uint64
take_leader_pairs(PairWorkers *w, qset_pair *out, uint64 room)
{
	const LeaderShard *first = &w->leader_shard[w->leader_first];
	uint64 count = Min(room, first->end - w->kept_next);

	memcpy(out, w->kept + w->kept_next, count * sizeof(qset_pair));
	w->kept_next += count;
	if (w->kept_next < first->end)
		return count;
	if (w->counting && w->leader_first == w->leader_end - 1)
	{
		w->kept_next = w->kept_end = w->leader_shard[w->leader_first].end = 0;
		if (count == 0)
			count = count_leader_pairs(w, out, room);
		if (w->counting)
			return count;
	}
	w->next++;
	w->leader_first++;
	if (w->leader_first == w->leader_end)
		w->leader_first = w->leader_end = w->kept_next = w->kept_end = 0;
	return count;
}

/*
 * Find pairs of the leader's unfinished shard, or take a new shard.  False: no shard is left, the
 * leader may not take shards, or the leader might exceed KEEP pairs.
 */
static bool
count_ahead(PairWorkers *w)
{
	uint64 count;

	if (!w->helps || w->kept_end + PAIRS_BATCH > KEEP)
		return false;
	if (!w->counting)
	{
		uint32 shard = pg_atomic_fetch_add_u32(&w->shared->next, 1);

		if (shard >= w->shared->shards)
		{
			w->helps = false;
			return false;
		}
		w->leader_shard[w->leader_end++] = (LeaderShard){ shard, w->kept_end };
		qset_job_shard(&w->job, w->shared->first[shard], w->shared->first[shard + 1], 1);
		w->counting = true;
		if (leader_is_next(w))
			return true; /* take_leader_pairs() finds the pairs of the current shard */
	}
	count = count_leader_pairs(w, w->kept + w->kept_end, PAIRS_BATCH);
	w->kept_end += count;
	w->leader_shard[w->leader_end - 1].end = w->kept_end;
	return true;
}

/* Wait for a message from a worker; "open" false: no message can arrive, so raise an error. */
static void
wait(PairWorkers *w, bool open)
{
	if (!open)
	{
		/* If a worker failed, this call raises the worker's error. */
		WaitForParallelWorkersToFinish(w->context);
		elog(ERROR, "lost connection to parallel worker");
	}
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
}

/* Report the number of rows in all shards that have been taken. */
static void
report(const PairWorkers *w)
{
	uint32 taken = pg_atomic_read_u32(&w->shared->next);

	ActivitySet(w->activity, ACTIVITY_DONE, w->shared->first[Min(taken, w->shared->shards)]);
}

/* Write up to "room" pairs, in the order of the shards; returns their number, or 0 at the end. */
uint64
PairWorkersNext(PairWorkers *w, qset_pair *out, uint64 room)
{
	uint64 count = 0;

	while (count == 0 && w->next < w->shared->shards)
	{
		bool open;

		CHECK_FOR_INTERRUPTS();
		report(w);
		if (leader_is_next(w))
		{
			count = take_leader_pairs(w, out, room);
			continue;
		}
		count = take_messages(w, out, room, &open);
		if (count == 0 && !leader_is_next(w) && w->next < w->shared->shards && !count_ahead(w))
			wait(w, open);
	}
	return count;
}

/* ---- splitting the rows ---- */

/* Keys in the table of contents (shm_toc) of the parallel context. */
#define KEY_SHARED 1
#define KEY_QUEUES 2

/* The number of shards per process.  With more shards, the leader waits less for the last shard. */
#define SHARDS_EACH 64

/* Bytes of a queue.  A worker that finds many pairs fills a queue in some milliseconds. */
#define QUEUE_BYTES (256 * 1024)

/* Bytes of shared memory that are cleared between two checks for interrupts. */
#define CLEAR_BYTES (16 * 1024 * 1024)

/*
 * Milliseconds for a unit of the planner's costs, such as parallel_setup_cost.  The unit is the
 * cost of reading a page.
 */
#define MS_OF_COST 0.01

PGDLLEXPORT void SetsPairsWorker(dsm_segment *segment, shm_toc *toc);

/* ---- worker ---- */

static bool
worker_stop(void *context)
{
	SharedPairs *shared = context;

	CHECK_FOR_INTERRUPTS();
	return pg_atomic_read_u32(&shared->stop) != 0;
}

/* Send the pairs of a shard to the leader; false: the leader needs no more pairs. */
static bool
send_shard(qset_job *job, shm_mq_handle *queue, uint32 shard)
{
	qset_pair pair[PAIRS_BATCH];
	Message message = { .shard = shard };
	shm_mq_iovec iov[] = { { (const char *) &message, sizeof(message) },
						   { (const char *) pair, 0 } };

	do
	{
		uint64 count;
		qb_status status = qset_job_next(job, pair, PAIRS_BATCH, &count);

		if (status == QB_CANCELLED)
			return false;
		SetsCheck(status);
		message.pairs = (uint32) count;
		message.last = count == 0;
		iov[1].len = count * sizeof(qset_pair);
		if (shm_mq_sendv(queue, iov, 2, false, message.last) != SHM_MQ_SUCCESS)
			return false;
	}
	while (!message.last);
	return true;
}

/* The main function of a parallel worker. */
void
SetsPairsWorker(dsm_segment *segment, shm_toc *toc)
{
	SharedPairs *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	char *queues = shm_toc_lookup(toc, KEY_QUEUES, false);
	shm_mq *mine = (shm_mq *) (queues + (Size) ParallelWorkerNumber * QUEUE_BYTES);
	qset_interrupt interrupt = { worker_stop, shared };
	shm_mq_handle *queue;
	dsm_segment *block;
	qb_memory memory;
	qset_job job;
	uint32 shard;

	shm_mq_set_sender(mine, MyProc);
	queue = shm_mq_attach(mine, segment, NULL);
	block = dsm_attach(shared->block);
	if (block == NULL)
		return; /* the leader has ended */
	SetsCheck(qset_job_open(&job, dsm_segment_address(block), qset_kernels_now(),
							ContextMemory(CurrentMemoryContext, &memory), &interrupt));
	while ((shard = pg_atomic_fetch_add_u32(&shared->next, 1)) < shared->shards)
	{
		qset_job_shard(&job, shared->first[shard], shared->first[shard + 1], 1);
		if (!send_shard(&job, queue, shard))
			break;
	}
	qset_job_close(&job);
	dsm_detach(block);
	shm_mq_detach(queue);
}

/* ---- start ---- */

/*
 * The number of workers that are worth starting for this method.  Each process should have at least
 * as much work as starting a worker costs.
 */
int
PairWorkersPlanned(const qset_plan *plan, int method)
{
	double ms = (plan->cost[method] - plan->build[method]) / 1e6;
	double setup = parallel_setup_cost * MS_OF_COST;
	double most = max_parallel_workers_per_gather;

	if (plan->cost[method] < 0 || IsParallelWorker() || !ActiveSnapshotSet() ||
		!INTERRUPTS_CAN_BE_PROCESSED())
		return 0;
	if (setup > 0)
		most = Min(most, ms / setup - 1);
	most = Min(most, (double) plan->rows - 1);
	return (int) Max(most, 0);
}

static Size
shared_size(uint32 shards)
{
	return offsetof(SharedPairs, first) + ((Size) shards + 1) * sizeof(uint64);
}

static void
clear(char *memory, Size bytes)
{
	Size at;

	for (at = 0; at < bytes; at += CLEAR_BYTES)
	{
		CHECK_FOR_INTERRUPTS();
		memset(memory + at, 0, Min(bytes - at, CLEAR_BYTES));
	}
}

/*
 * Create a zeroed segment of "bytes" bytes for the prepared input.  NULL: no segment is free, or
 * less than bytes + others of shared memory are free.
 */
static dsm_segment *
create_block(Size bytes, Size others)
{
	dsm_segment *block;

	if (!SegmentsFit(bytes + others))
		return NULL;
	block = dsm_create(bytes, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (block)
		clear(dsm_segment_address(block), bytes);
	return block;
}

/*
 * Enter parallel mode, and create a parallel context with "shared" bytes and the queues.  NULL: no
 * segment was free, and parallel mode has ended.
 */
static ParallelContext *
create_context(int workers, Size shared)
{
	ParallelContext *context;

	EnterParallelMode();
	context = CreateParallelContext("$libdir/qsketch", "SetsPairsWorker", workers);
	shm_toc_estimate_chunk(&context->estimator, shared);
	shm_toc_estimate_chunk(&context->estimator, mul_size(QUEUE_BYTES, workers));
	shm_toc_estimate_keys(&context->estimator, 2);
	InitializeParallelDSM(context);
	if (context->seg)
		return context;
	DestroyParallelContext(context);
	ExitParallelMode();
	return NULL;
}

static void
create_queues(PairWorkers *w)
{
	int workers = w->context->nworkers;
	char *queues = shm_toc_allocate(w->context->toc, (Size) QUEUE_BYTES * workers);
	int i;

	w->source = palloc0(workers * sizeof(Source));
	for (i = 0; i < workers; i++)
	{
		shm_mq *queue = shm_mq_create(queues + (Size) QUEUE_BYTES * i, QUEUE_BYTES);

		shm_mq_set_receiver(queue, MyProc);
		w->source[i].queue = shm_mq_attach(queue, w->context->seg, NULL);
	}
	shm_toc_insert(w->context->toc, KEY_QUEUES, queues);
}

/* Create the SharedPairs for the workers. */
static void
create_shared(PairWorkers *w, uint32 shards)
{
	w->shared = shm_toc_allocate(w->context->toc, shared_size(shards));
	w->shared->block = dsm_segment_handle(w->block);
	w->shared->shards = shards;
	pg_atomic_init_u32(&w->shared->next, 0);
	pg_atomic_init_u32(&w->shared->stop, 0);
	SetsCheck(qset_job_split(&w->job, w->shared->first, shards));
	shm_toc_insert(w->context->toc, KEY_SHARED, w->shared);
}

static void
launch(PairWorkers *w)
{
	int i;

	LaunchParallelWorkers(w->context);
	for (i = 0; i < w->context->nworkers; i++)
	{
		Source *source = &w->source[i];

		if (i < w->context->nworkers_launched)
			shm_mq_set_handle(source->queue, w->context->worker[i].bgwhandle);
		else
			source->queue = NULL;
	}
	w->helps = parallel_leader_participation || w->context->nworkers_launched == 0;
	ereport(DEBUG1, (errmsg_internal("launched %d of %d parallel workers for pairs of sets",
									 w->context->nworkers_launched, w->context->nworkers)));
}

/*
 * Write the prepared input into shared memory, start workers, and free the preparation.  NULL:
 * shared memory or a segment is missing, and the preparation is unchanged.  Progress is reported in
 * "activity" until PairWorkersEnd().
 */
PairWorkers *
PairWorkersStart(qset_preparation *preparation, int workers, const ActivityHandle *activity)
{
	uint32 shards = (uint32) Min(preparation->plan.rows, (uint64) SHARDS_EACH * (workers + 1));
	Size others = shared_size(shards) + mul_size(QUEUE_BYTES, workers);
	dsm_segment *block = create_block(preparation->plan.bytes, others);
	ParallelContext *context;
	PairWorkers *w;

	if (block == NULL)
		return NULL;
	context = create_context(workers, shared_size(shards));
	if (context == NULL)
	{
		dsm_detach(block);
		return NULL;
	}
	w = palloc0(sizeof(PairWorkers));
	w->context = context;
	w->block = block;
	w->activity = activity;
	ContextMemory(CurrentMemoryContext, &w->memory);
	SetsCheck(qset_fill(preparation, dsm_segment_address(block)));
	qset_prepared_free(preparation);
	SetsCheck(
		qset_job_open(&w->job, dsm_segment_address(block), qset_kernels_now(), &w->memory, NULL));
	w->leader_shard = palloc(shards * sizeof(LeaderShard));
	w->kept = palloc(KEEP * sizeof(qset_pair));
	create_shared(w, shards);
	create_queues(w);
	launch(w);
	return w;
}

int
PairWorkersLaunched(const PairWorkers *w)
{
	return w->context->nworkers_launched;
}

/* End the workers, even if they have not found all pairs, and free the shared memory. */
void
PairWorkersEnd(PairWorkers *w)
{
	int i;

	pg_atomic_write_u32(&w->shared->stop, 1);
	for (i = 0; i < w->context->nworkers_launched; i++)
		if (w->source[i].queue)
			shm_mq_detach(w->source[i].queue);
	WaitForParallelWorkersToFinish(w->context);
	DestroyParallelContext(w->context);
	ExitParallelMode();
	qset_job_close(&w->job);
	dsm_detach(w->block);
}
