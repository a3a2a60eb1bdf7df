/*
 * sets_gather.c
 *		All pairs of sets by parallel workers: returning the pairs in the order of the
 *		shares.  sets_parallel.c describes the whole.
 *
 * src/pg/sets_gather.c
 */
#include "pg/sets_parallel.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

/* Receive the next message of a queue, if it has come. */
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

/* Copy pairs of the current share out of a message. */
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
 * Take pairs of the current share, and of the shares after it, from the queues. *open:
 * more may come out of a queue.
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

/* Count pairs of the share that the leader has taken; 0: the share is done. */
static uint64
count_own(PairWorkers *w, qset_pair *out, uint64 room)
{
	uint64 count;

	SetsCheck(qset_job_next(&w->job, out, room, &count));
	w->counting = count > 0;
	return count;
}

/* Take pairs that the leader has counted itself, of the current share. */
static uint64
take_own(PairWorkers *w, qset_pair *out, uint64 room)
{
	const OwnShare *own = &w->own[w->own_first];
	uint64 count = Min(room, own->end - w->kept_next);

	memcpy(out, w->kept + w->kept_next, count * sizeof(qset_pair));
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

/* Let the leader count: its current share, or a new one.  False: no shares are left, or no room. */
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
		qset_job_share(&w->job, w->shared->first[share], w->shared->first[share + 1], 1);
		w->counting = true;
		if (own_is_next(w))
			return true; /* the share is the current one, so its pairs need not be kept */
	}
	count = count_own(w, w->kept + w->kept_end, PAIRS_BATCH);
	w->kept_end += count;
	w->own[w->own_end - 1].end = w->kept_end;
	return true;
}

/* Wait until a worker sends something. */
static void
wait(PairWorkers *w, bool open)
{
	if (!open)
	{
		/* raises the error of a worker that ended early */
		WaitForParallelWorkersToFinish(w->context);
		elog(ERROR, "lost connection to parallel worker");
	}
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
}

/* Report the rows of all shares that have been taken. */
static void
report(const PairWorkers *w)
{
	uint32 taken = pg_atomic_read_u32(&w->shared->next);

	ActivitySet(w->activity, ACTIVITY_DONE, w->shared->first[Min(taken, w->shared->shares)]);
}

/* Return up to "room" further pairs, in the order of the shares; 0: there are no more. */
uint64
PairWorkersNext(PairWorkers *w, qset_pair *out, uint64 room)
{
	uint64 count = 0;

	while (count == 0 && w->next < w->shared->shares)
	{
		bool open;

		CHECK_FOR_INTERRUPTS();
		report(w);
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
