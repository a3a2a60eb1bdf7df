/*
 * sets_parallel.c
 *		All pairs of sets: sharing the rows among parallel workers.
 *
 * The planner cannot split a function that returns rows, and a parallel-aware
 * node could stand in few of the places where set_pairs is called: below Gather
 * it loses the order of the pairs, on the inner side of a join (FROM collection,
 * set_pairs(collection.sets)) it is run by each worker in full, and in INSERT
 * there are no parallel plans.  So whoever pulls the pairs starts PostgreSQL's
 * parallel workers by itself, as building an index does: the limits of settings,
 * the errors of workers and their end with a (sub)transaction that fails come
 * with them.
 *
 * Parallel mode lasts from the start to the end of one scan.  Nothing may be
 * written meanwhile: a caller that returns rows before the end must run in a
 * query that is in parallel mode itself.  A parallel worker starts none.
 *
 * What is shared
 *
 *	a segment		the prepared input (sets/block.h), once for all; read only
 *	SharedPairs		where it is, ranges of rows ("shares") of about the same work,
 *					and which of them is the next to be taken
 *	a queue each	pairs of a worker, on their way to the leader
 *
 * Everybody takes a share, counts it, and takes the next.  The leader hands out
 * the pairs of share 0, then those of share 1, ...: of each worker they come in
 * that order anyway.  As long as those that are next are not there, it counts
 * shares itself and keeps their pairs, up to KEEP.  So nothing waits for ever:
 * shares are taken in order, so the one that is next has been taken, if any, and
 * who has taken it has nothing left to send that comes before it.
 *
 * Where shared memory is short, or all segments are in use, there are no
 * workers, and that is no error.  (What another query takes between our look and
 * the allocation is one, PostgreSQL's own.)
 *
 * src/pg/sets_parallel.c
 */
#include "pg/sets_pairs.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "engine/sets_kernels.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "pg/pass.h"
#include "port/atomics.h"
#include "storage/dsm.h"
#include "storage/shm_mq.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

/* Keys of the workers' table of contents. */
#define KEY_SHARED 1
#define KEY_QUEUES 2

/* Shares for each process: the last ones to be counted decide how long all wait. */
#define SHARES_EACH 64

/* Bytes of a queue: some milliseconds of a worker that finds many pairs. */
#define QUEUE_BYTES (256 * 1024)

/* Pairs that the leader keeps of shares whose turn has not come. */
#define KEEP (64 * PAIRS_BATCH)

/* Memory is cleared in pieces of this size, between which a query can be cancelled. */
#define CLEAR_BYTES (16 * 1024 * 1024)

/*
 * Milliseconds of a unit of cost, as in parallel_setup_cost: roughly what
 * reading a page takes, which is one such unit.
 */
#define MS_OF_COST 0.01

typedef struct SharedPairs
{
	dsm_handle block;
	uint32 shares;
	pg_atomic_uint32 next;               /* share to be taken */
	pg_atomic_uint32 stop;               /* nobody wants more pairs */
	uint64 first[FLEXIBLE_ARRAY_MEMBER]; /* rows of share i: first[i] .. first[i + 1] - 1 */
} SharedPairs;

/* What goes through a queue. */
typedef struct Message
{
	uint32 share;
	uint32 pairs;
	bool last; /* of the share */
} Message;

/* A queue's end in the leader. */
typedef struct Source
{
	shm_mq_handle *queue;   /* NULL: there comes nothing more */
	const Message *message; /* being handed out, or NULL */
	uint32 used;            /* pairs of it */
} Source;

/* A share that the leader has taken. */
typedef struct OwnShare
{
	uint32 share;
	uint64 end; /* of its pairs in "kept" */
} OwnShare;

struct PairWorkers
{
	ParallelContext *context;
	dsm_segment *block;
	SharedPairs *shared;
	qs_memory memory;
	Source *source;
	uint32 next; /* share whose pairs are handed out */

	/* What the leader counts itself. */
	bool helps;
	qi_job job;
	bool counting; /* the last of its shares is not done */
	OwnShare *own; /* own[own_first .. own_end - 1] are not handed out */
	uint32 own_first;
	uint32 own_end;
	qi_pair *kept;
	uint64 kept_next;
	uint64 kept_end;
};

PGDLLEXPORT void SetsPairsWorker(dsm_segment *segment, shm_toc *toc);

/* ---- worker ---- */

static bool
worker_stop(void *context)
{
	SharedPairs *shared = context;

	CHECK_FOR_INTERRUPTS();
	return pg_atomic_read_u32(&shared->stop) != 0;
}

/* Send the pairs of a share; false: nobody wants them. */
static bool
send_share(qi_job *job, shm_mq_handle *queue, uint32 share)
{
	qi_pair pair[PAIRS_BATCH];
	Message message = { .share = share };
	shm_mq_iovec part[] = { { (const char *) &message, sizeof(message) },
							{ (const char *) pair, 0 } };

	do
	{
		uint64 count;
		qs_status status = qi_job_next(job, pair, PAIRS_BATCH, &count);

		if (status == QS_CANCELLED)
			return false;
		SetsCheck(status);
		message.pairs = (uint32) count;
		message.last = count == 0;
		part[1].len = count * sizeof(qi_pair);
		if (shm_mq_sendv(queue, part, 2, false, message.last) != SHM_MQ_SUCCESS)
			return false;
	}
	while (!message.last);
	return true;
}

/* Entry of a parallel worker. */
void
SetsPairsWorker(dsm_segment *segment, shm_toc *toc)
{
	SharedPairs *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	char *queues = shm_toc_lookup(toc, KEY_QUEUES, false);
	shm_mq *mine = (shm_mq *) (queues + (Size) ParallelWorkerNumber * QUEUE_BYTES);
	qi_interrupt interrupt = { worker_stop, shared };
	shm_mq_handle *queue;
	dsm_segment *block;
	qs_memory memory;
	qi_job job;
	uint32 share;

	shm_mq_set_sender(mine, MyProc);
	queue = shm_mq_attach(mine, segment, NULL);
	block = dsm_attach(shared->block);
	if (block == NULL)
		return; /* the leader is gone */
	SetsCheck(qi_job_open(&job, dsm_segment_address(block), qi_kernels_now(),
						  ContextMemory(CurrentMemoryContext, &memory), &interrupt));
	while ((share = pg_atomic_fetch_add_u32(&shared->next, 1)) < shared->shares)
	{
		qi_job_share(&job, shared->first[share], shared->first[share + 1], 1);
		if (!send_share(&job, queue, share))
			break;
	}
	qi_job_close(&job);
	dsm_detach(block);
	shm_mq_detach(queue);
}

/* ---- start ---- */

/*
 * How many workers a plan's rows are worth by this method: each process should
 * have at least as much to do as starting one costs.
 */
int
PairWorkersPlanned(const qi_plan *plan, int method)
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
shared_size(uint32 shares)
{
	return offsetof(SharedPairs, first) + ((Size) shares + 1) * sizeof(uint64);
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

/* Memory for the prepared input, or NULL if there is no room for it and what else is needed. */
static dsm_segment *
create_block(Size bytes, Size others)
{
	dsm_segment *block;

	if (!PassSegmentsFit(bytes + others))
		return NULL;
	block = dsm_create(bytes, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (block)
		clear(dsm_segment_address(block), bytes);
	return block;
}

/* A context with its memory, in parallel mode; NULL: no segment was left. */
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

/* What workers read: where the input is, and how it is shared. */
static void
create_shared(PairWorkers *w, uint32 shares)
{
	w->shared = shm_toc_allocate(w->context->toc, shared_size(shares));
	w->shared->block = dsm_segment_handle(w->block);
	w->shared->shares = shares;
	pg_atomic_init_u32(&w->shared->next, 0);
	pg_atomic_init_u32(&w->shared->stop, 0);
	SetsCheck(qi_job_split(&w->job, w->shared->first, shares));
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
 * Fill the prepared input where workers see it, start them, and free the
 * preparation.  NULL, and nothing has been done, if shared memory is short.
 */
PairWorkers *
PairWorkersStart(qi_preparation *preparation, int workers)
{
	uint32 shares = (uint32) Min(preparation->plan.rows, (uint64) SHARES_EACH * (workers + 1));
	Size others = shared_size(shares) + mul_size(QUEUE_BYTES, workers);
	dsm_segment *block = create_block(preparation->plan.bytes, others);
	ParallelContext *context;
	PairWorkers *w;

	if (block == NULL)
		return NULL;
	context = create_context(workers, shared_size(shares));
	if (context == NULL)
	{
		dsm_detach(block);
		return NULL;
	}
	w = palloc0(sizeof(PairWorkers));
	w->context = context;
	w->block = block;
	ContextMemory(CurrentMemoryContext, &w->memory);
	SetsCheck(qi_fill(preparation, dsm_segment_address(block)));
	qi_prepared_free(preparation);
	SetsCheck(qi_job_open(&w->job, dsm_segment_address(block), qi_kernels_now(), &w->memory,
						  &sets_interrupt));
	w->own = palloc(shares * sizeof(OwnShare));
	w->kept = palloc(KEEP * sizeof(qi_pair));
	create_shared(w, shares);
	create_queues(w);
	launch(w);
	return w;
}

int
PairWorkersLaunched(const PairWorkers *w)
{
	return w->context->nworkers_launched;
}

/* ---- leader ---- */

/* Have the next message of a queue, if it has come. */
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
	Assert(bytes == sizeof(Message) + source->message->pairs * sizeof(qi_pair));
}

/* Take pairs of the share that is next from a message. */
static uint64
take_message(PairWorkers *w, Source *source, qi_pair *out, uint64 room)
{
	const Message *message = source->message;
	const qi_pair *pair = (const qi_pair *) (message + 1);
	uint32 count = (uint32) Min(room, message->pairs - source->used);

	memcpy(out, pair + source->used, count * sizeof(qi_pair));
	source->used += count;
	if (source->used < message->pairs)
		return count;
	if (message->last)
		w->next++;
	source->message = NULL;
	return count;
}

/*
 * Take what the queues have of the shares that are next.  *open: more may come
 * out of a queue.
 */
static uint64
take_messages(PairWorkers *w, qi_pair *out, uint64 room, bool *open)
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
			if (source->message == NULL || source->message->share != w->next)
				continue;
			count += take_message(w, source, out + count, room - count);
			again = true;
		}
	}
	while (again && count < room);
	return count;
}

static bool
own_is_next(const PairWorkers *w)
{
	return w->own_first < w->own_end && w->own[w->own_first].share == w->next;
}

/* Pairs of the share that the leader is counting; 0: it is done. */
static uint64
count_own(PairWorkers *w, qi_pair *out, uint64 room)
{
	uint64 count;

	SetsCheck(qi_job_next(&w->job, out, room, &count));
	w->counting = count > 0;
	return count;
}

/* Take pairs of the leader's own share, which is next. */
static uint64
take_own(PairWorkers *w, qi_pair *out, uint64 room)
{
	const OwnShare *own = &w->own[w->own_first];
	uint64 count = Min(room, own->end - w->kept_next);

	memcpy(out, w->kept + w->kept_next, count * sizeof(qi_pair));
	w->kept_next += count;
	if (w->kept_next < own->end)
		return count;
	if (w->counting && w->own_first == w->own_end - 1)
	{
		w->kept_next = w->kept_end = w->own[w->own_first].end = 0;
		if (count == 0)
			count = count_own(w, out, room);
		if (w->counting)
			return count;
	}
	w->next++;
	w->own_first++;
	if (w->own_first == w->own_end)
		w->own_first = w->own_end = w->kept_next = w->kept_end = 0;
	return count;
}

/* Go on counting a share of the leader's, or begin one; false: there is none, or no room. */
static bool
count_ahead(PairWorkers *w)
{
	uint64 count;

	if (!w->helps || w->kept_end + PAIRS_BATCH > KEEP)
		return false;
	if (!w->counting)
	{
		uint32 share = pg_atomic_fetch_add_u32(&w->shared->next, 1);

		if (share >= w->shared->shares)
		{
			w->helps = false;
			return false;
		}
		w->own[w->own_end++] = (OwnShare){ share, w->kept_end };
		qi_job_share(&w->job, w->shared->first[share], w->shared->first[share + 1], 1);
		w->counting = true;
		if (own_is_next(w))
			return true; /* need not be kept */
	}
	count = count_own(w, w->kept + w->kept_end, PAIRS_BATCH);
	w->kept_end += count;
	w->own[w->own_end - 1].end = w->kept_end;
	return true;
}

/* Wait until something comes. */
static void
wait(PairWorkers *w, bool open)
{
	if (!open)
	{
		/* raises the error of a worker that ended before its time */
		WaitForParallelWorkersToFinish(w->context);
		elog(ERROR, "lost connection to parallel worker");
	}
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
}

/* The next pairs, up to "room" of them, in the order of all; 0: there are no more. */
uint64
PairWorkersNext(PairWorkers *w, qi_pair *out, uint64 room)
{
	uint64 count = 0;

	while (count == 0 && w->next < w->shared->shares)
	{
		bool open;

		CHECK_FOR_INTERRUPTS();
		if (own_is_next(w))
		{
			count = take_own(w, out, room);
			continue;
		}
		count = take_messages(w, out, room, &open);
		if (count == 0 && !own_is_next(w) && w->next < w->shared->shares && !count_ahead(w))
			wait(w, open);
	}
	return count;
}

/* Let the workers go, whether they are done or not. */
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
	qi_job_close(&w->job);
	dsm_detach(w->block);
}
