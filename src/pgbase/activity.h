/*
 * activity.h
 *		Progress of commands (qsketch_progress) and the counters of qsketch_stat, in shared
 *		memory.
 *
 * src/pgbase/activity.h
 */
#ifndef QS_ACTIVITY_H
#define QS_ACTIVITY_H

#include "postgres.h"

#include "utils/timestamp.h"
#include "port/atomics.h"

/* The counters, in the order of the columns of qsketch_stat. */
typedef enum StatCounter
{
	STAT_SCANS,
	STAT_PAGES,
	STAT_PAGES_VISIBLE,
	STAT_BATCHES_CPU,
	STAT_BATCHES_GPU,
	STAT_KEYS_CPU,
	STAT_KEYS_GPU,
	STAT_SEARCHES_CPU,
	STAT_SEARCHES_GPU,
	STAT_PAIRS,
	STAT_COUNTERS
} StatCounter;

typedef struct Stats
{
	TimestampTz since; /* time of the last reset, or of the creation of the counters */
	uint64 counter[STAT_COUNTERS];
} Stats;

/* Counts of this process that are not in shared memory yet.  NULL: no counts. */
extern uint64 *stat_pending;

extern void StatAttach(void);
extern bool StatRead(Stats *stats);
extern bool StatReset(void);

static inline void
StatCount(StatCounter counter, uint64 count)
{
	if (unlikely(stat_pending == NULL))
		StatAttach();
	stat_pending[counter] += count;
}

/* Count a batch of keys that an engine has processed. */
static inline void
StatCountBatch(bool on_gpu, uint64 keys)
{
	StatCount(on_gpu ? STAT_BATCHES_GPU : STAT_BATCHES_CPU, 1);
	stat_pending[on_gpu ? STAT_KEYS_GPU : STAT_KEYS_CPU] += keys;
}

/* ---- commands that are running: qsketch_progress ---- */

typedef enum ActivityCommand
{
	ACTIVITY_NONE,
	ACTIVITY_SCAN,
	ACTIVITY_PAIRS,
	ACTIVITY_LOAD
} ActivityCommand;

typedef enum ActivityPhase
{
	PHASE_STARTING, /* opening a column scan; for qsets_pairs, preparing the sets */
	PHASE_RUNNING,
	PHASE_MERGING,
	PHASE_FINISHED
} ActivityPhase;

typedef enum ActivityValue
{
	ACTIVITY_PHASE,
	ACTIVITY_ON_GPU,
	ACTIVITY_WORKERS,
	ACTIVITY_TOTAL, /* number of pages or sets; 0: not known yet */
	ACTIVITY_DONE,  /* number of pages or sets that are done */
	ACTIVITY_FOUND, /* number of keys or pairs */
	ACTIVITY_VALUES
} ActivityValue;

/*
 * One command of one process, in shared memory.  Only that process writes the struct.  A reader
 * compares "version" before and after reading the struct.
 */
typedef struct Activity
{
	pg_atomic_uint32 version; /* odd while the command is being changed */
	ActivityCommand command;
	int pid;
	int leader; /* pid of the leader if the process is a parallel worker, else 0 */
	Oid database;
	Oid role;
	Oid relation;
	uint64 id;     /* id of the command, equal in leader and workers */
	uint64 serial; /* number of commands so far in this slot */
	pg_atomic_uint64 value[ACTIVITY_VALUES];
} Activity;

/* A running command.  "at" is NULL if the command has no slot. */
typedef struct ActivityHandle
{
	Activity *at;
	uint64 serial;
} ActivityHandle;

/* Maximum number of visible commands of one process. */
#define ACTIVITY_DEPTH 4

extern void ActivityInit(void);
extern uint64 ActivityNewId(void);
extern ActivityHandle ActivityBegin(ActivityCommand command, Oid relation, uint64 id);
extern void ActivityEnd(ActivityHandle *handle);

/* Report a value, by one atomic store. */
static inline void
ActivitySet(const ActivityHandle *handle, ActivityValue value, uint64 to)
{
	if (handle->at)
		pg_atomic_write_u64(&handle->at->value[value], to);
}

/* ---- shared memory ---- */

typedef struct ActivityShared
{
	/* The counters of qsketch_stat. */
	pg_atomic_uint64 counter[STAT_COUNTERS];
	pg_atomic_uint64 since; /* time of the last reset, or of the creation (a TimestampTz) */
	int processes;
	Activity activity[FLEXIBLE_ARRAY_MEMBER]; /* ACTIVITY_DEPTH for each process */
} ActivityShared;

extern ActivityShared *ActivityMemory(void);

#endif
