/*
 * sets_parallel.h
 *		All pairs of sets: parallel workers that divide the rows among themselves.
 *
 * src/pg/sets_parallel.h
 */
#ifndef QS_PG_SETS_PARALLEL_H
#define QS_PG_SETS_PARALLEL_H

#include "pg/sets_state.h"
#include "pgbase/activity.h"
#include "sets/pairs.h"

/* The maximum number of pairs that are pulled in one call. */
#define PAIRS_BATCH 1024

typedef struct PairWorkers PairWorkers;

extern int PairWorkersPlanned(const qset_plan *plan, int method);
extern PairWorkers *
PairWorkersStart(qset_preparation *preparation, int workers, const ActivityHandle *activity);
extern uint64 PairWorkersNext(PairWorkers *workers, qset_pair *out, uint64 room);
extern void PairWorkersEnd(PairWorkers *workers);
extern int PairWorkersLaunched(const PairWorkers *workers);

#endif
