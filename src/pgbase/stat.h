/*
 * stat.h
 *		What backends have done: the counters of qsketch_stat.
 *
 * src/pgbase/stat.h
 */
#ifndef QS_PGBASE_STAT_H
#define QS_PGBASE_STAT_H

#include "postgres.h"

#include "utils/timestamp.h"

/* In the order of the columns of qsketch_stat. */
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
	TimestampTz since; /* when the counters were zero */
	uint64 counter[STAT_COUNTERS];
} Stats;

/* Counts of this process that the others do not see yet; NULL: none. */
extern uint64 *stat_pending;

extern void StatInit(void);
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

/* A batch of keys that an engine has taken. */
static inline void
StatCountBatch(bool on_gpu, uint64 keys)
{
	StatCount(on_gpu ? STAT_BATCHES_GPU : STAT_BATCHES_CPU, 1);
	stat_pending[on_gpu ? STAT_KEYS_GPU : STAT_KEYS_CPU] += keys;
}

#endif
