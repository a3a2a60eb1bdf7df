/*
 * sets_parallel.c
 *		All pairs of sets: sharing the rows among parallel workers.
 *
 * The planner cannot split a function that returns rows, and a parallel-aware
 * node could stand in few of the places where qsets_pairs is called: below Gather
 * it loses the order of the pairs, on the inner side of a join (FROM collection,
 * qsets_pairs(collection.sets)) it is run by each worker in full, and in INSERT
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
#include "pg/sets_parallel.h"

#include "access/xact.h"
#include "engine/sets_kernels.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "pgbase/segment.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* Keys of the workers' table of contents. */
#define KEY_SHARED 1
#define KEY_QUEUES 2

/* Shares for each process: the last ones to be counted decide how long all wait. */
#define SHARES_EACH 64

/* Bytes of a queue: some milliseconds of a worker that finds many pairs. */
#define QUEUE_BYTES (256 * 1024)

/* Memory is cleared in pieces of this size, between which a query can be cancelled. */
#define CLEAR_BYTES (16 * 1024 * 1024)

/*
 * Milliseconds of a unit of cost, as in parallel_setup_cost: roughly what
 * reading a page takes, which is one such unit.
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

/* Send the pairs of a share; false: nobody wants them. */
static bool
send_share(qset_job *job, shm_mq_handle *queue, uint32 share)
{
	qset_pair pair[PAIRS_BATCH];
	Message message = { .share = share };
	shm_mq_iovec part[] = { { (const char *) &message, sizeof(message) },
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
		part[1].len = count * sizeof(qset_pair);
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
	qset_interrupt interrupt = { worker_stop, shared };
	shm_mq_handle *queue;
	dsm_segment *block;
	qb_memory memory;
	qset_job job;
	uint32 share;

	shm_mq_set_sender(mine, MyProc);
	queue = shm_mq_attach(mine, segment, NULL);
	block = dsm_attach(shared->block);
	if (block == NULL)
		return; /* the leader is gone */
	SetsCheck(qset_job_open(&job, dsm_segment_address(block), qset_kernels_now(),
							ContextMemory(CurrentMemoryContext, &memory), &interrupt));
	while ((share = pg_atomic_fetch_add_u32(&shared->next, 1)) < shared->shares)
	{
		qset_job_share(&job, shared->first[share], shared->first[share + 1], 1);
		if (!send_share(&job, queue, share))
			break;
	}
	qset_job_close(&job);
	dsm_detach(block);
	shm_mq_detach(queue);
}

/* ---- start ---- */

/*
 * How many workers a plan's rows are worth by this method: each process should
 * have at least as much to do as starting one costs.
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

	if (!SegmentsFit(bytes + others))
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
	SetsCheck(qset_job_split(&w->job, w->shared->first, shares));
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
 * preparation.  NULL, and nothing has been done, if shared memory is short.  How
 * far they are is told in "activity", as long as there are workers.
 */
PairWorkers *
PairWorkersStart(qset_preparation *preparation, int workers, const ActivityHandle *activity)
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
	w->activity = activity;
	ContextMemory(CurrentMemoryContext, &w->memory);
	SetsCheck(qset_fill(preparation, dsm_segment_address(block)));
	qset_prepared_free(preparation);
	SetsCheck(qset_job_open(&w->job, dsm_segment_address(block), qset_kernels_now(), &w->memory,
							&sets_interrupt));
	w->own = palloc(shares * sizeof(OwnShare));
	w->kept = palloc(KEEP * sizeof(qset_pair));
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
	qset_job_close(&w->job);
	dsm_detach(w->block);
}
