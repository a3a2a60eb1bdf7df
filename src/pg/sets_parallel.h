/*
 * sets_parallel.h
 *		All pairs of sets: parallel workers that share out the rows.
 *
 * src/pg/sets_parallel.h
 */
#ifndef QS_PG_SETS_PARALLEL_H
#define QS_PG_SETS_PARALLEL_H

#include "pg/sets_state.h"
#include "pgbase/activity.h"
#include "sets/pairs.h"

/* How many pairs are pulled at once. */
#define PAIRS_BATCH 1024

typedef struct PairWorkers PairWorkers;

extern int PairWorkersPlanned(const qset_plan *plan, int method);
extern PairWorkers *
PairWorkersStart(qset_preparation *preparation, int workers, const ActivityHandle *activity);
extern uint64 PairWorkersNext(PairWorkers *workers, qset_pair *out, uint64 room);
extern void PairWorkersEnd(PairWorkers *workers);
extern int PairWorkersLaunched(const PairWorkers *workers);

#endif
