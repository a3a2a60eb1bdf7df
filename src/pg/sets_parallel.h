/*
 * sets_parallel.h
 *		All pairs of sets by parallel workers: what sets_parallel.c, which starts
 *		them and describes the whole, and sets_gather.c, which returns their pairs,
 *		share.
 *
 * src/pg/sets_parallel.h
 */
#ifndef QS_PG_SETS_PARALLEL_H
#define QS_PG_SETS_PARALLEL_H

#include "pg/sets_pairs.h"

#include "access/parallel.h"
#include "port/atomics.h"
#include "storage/dsm.h"
#include "storage/shm_mq.h"

/* How many pairs of later shares the leader keeps at most. */
#define KEEP (64 * PAIRS_BATCH)

typedef struct SharedPairs
{
	dsm_handle block;
	uint32 shares;
	pg_atomic_uint32 next;               /* the next share to take */
	pg_atomic_uint32 stop;               /* the leader wants no more pairs */
	uint64 first[FLEXIBLE_ARRAY_MEMBER]; /* rows of share i: first[i] .. first[i + 1] - 1 */
} SharedPairs;

/* The head of a message in a queue; its pairs follow. */
typedef struct Message
{
	uint32 share;
	uint32 pairs;
	bool last; /* the last message of its share */
} Message;

/* The leader's end of a queue. */
typedef struct Source
{
	shm_mq_handle *queue;   /* NULL: nothing more will come */
	const Message *message; /* the message whose pairs are being returned, or NULL */
	uint32 used;            /* pairs of the message that were returned */
} Source;

/* A share that the leader has taken. */
typedef struct OwnShare
{
	uint32 share;
	uint64 end; /* where its pairs end in "kept" */
} OwnShare;

struct PairWorkers
{
	ParallelContext *context;
	dsm_segment *block;
	SharedPairs *shared;
	qb_memory memory;
	Source *source;
	uint32 next; /* the current share, whose pairs are returned */
	const ActivityHandle *activity;

	/* What the leader itself has counted. */
	bool helps;
	qset_job job;
	bool counting; /* the last of its shares is not finished */
	OwnShare *own; /* own[own_first .. own_end - 1] have not been returned */
	uint32 own_first;
	uint32 own_end;
	qset_pair *kept;
	uint64 kept_next;
	uint64 kept_end;
};

#endif
