/*
 * sets_parallel.h
 *		All pairs of sets by parallel workers: what starting them
 *		(sets_parallel.c, which says how all works) and handing out their pairs
 *		(sets_gather.c) share.
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

/* Pairs that the leader keeps of shares whose turn has not come. */
#define KEEP (64 * PAIRS_BATCH)

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
	qb_memory memory;
	Source *source;
	uint32 next; /* share whose pairs are handed out */
	const ActivityHandle *activity;

	/* What the leader counts itself. */
	bool helps;
	qset_job job;
	bool counting; /* the last of its shares is not done */
	OwnShare *own; /* own[own_first .. own_end - 1] are not handed out */
	uint32 own_first;
	uint32 own_end;
	qset_pair *kept;
	uint64 kept_next;
	uint64 kept_end;
};

#endif
