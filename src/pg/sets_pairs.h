/*
 * sets_pairs.h
 *		All pairs of sets: from the arguments of a call to the pairs.
 *
 * src/pg/sets_pairs.h
 */
#ifndef QS_PG_SETS_PAIRS_H
#define QS_PG_SETS_PAIRS_H

#include "pg/sets_state.h"

#include "gpu/sets_gpu.h"
#include "pgbase/activity.h"
#include "sets/pairs.h"

/* Pairs pulled at once. */
#define PAIRS_BATCH 1024

/* ---- sets_request.c ---- */

/* Where the arguments of a form begin that all forms have. */
typedef struct PairsForm
{
	int columns; /* argument: the other collection, or 0 */
	int options; /* argument: min_count; min_jaccard, top and method follow */
} PairsForm;

extern void PairsArguments(FunctionCallInfo fcinfo, PairsForm form, qset_request *request);
extern void PairsCollections(FunctionCallInfo fcinfo, PairsForm form, qset_request *request,
							 SetsReader *reader);
extern void PairsCheckKeys(const qset_request *request);
extern void PairsCollectionsEnd(PairsForm form, SetsReader *reader);
extern void PairsPrepare(qset_preparation *preparation, const qset_request *request);

/* ---- sets_parallel.c ---- */

typedef struct PairWorkers PairWorkers;

extern int PairWorkersPlanned(const qset_plan *plan, int method);
extern PairWorkers *
PairWorkersStart(qset_preparation *preparation, int workers, const ActivityHandle *activity);
extern uint64 PairWorkersNext(PairWorkers *workers, qset_pair *out, uint64 room);
extern void PairWorkersEnd(PairWorkers *workers);
extern int PairWorkersLaunched(const PairWorkers *workers);

/* ---- sets_scan.c ---- */

/* Pairs on their way. */
typedef struct PairScan
{
	qb_memory memory; /* of the context in which it was opened */
	int method;
	int planned;          /* workers */
	int launched;         /* of them */
	PairWorkers *workers; /* who count, or NULL: the job alone does */
	GpuPairs *gpu;        /* or a GPU, or NULL */
	int devices;          /* GPUs that do */
	char why[GPU_TEXT_BYTES];
	StoredName name; /* of the rows, if "named" */
	bool named;
	void *block;
	qset_job job;
	qset_interrupt interrupt; /* of the job: tells how far it is */
	ActivityHandle activity;
	MemoryContextCallback callback; /* ends that */
	bool shown;                     /* to others, and counted */
	uint64 found;                   /* pairs so far */
	int64 *row_id;                  /* by number of set */
	int64 *column_id;

	/* Pairs at hand: in "own", or where the GPU's last reply is. */
	const qset_pair *pair;
	qset_pair *own;
	uint64 room; /* of "own" */
	uint64 count;
	uint64 next;
	bool complete; /* they are all that there are */
} PairScan;

extern PairScan *PairScanCreate(qset_request *request);
extern void PairScanShow(PairScan *scan);
extern bool PairScanOpenKept(PairScan *scan, qset_request *request, Datum rows);
extern bool PairScanOpenGpu(PairScan *scan, const qset_request *request);
extern void PairScanOpen(PairScan *scan, const qset_request *request, bool parallel);
extern void PairScanRewind(PairScan *scan);
extern void PairScanCollect(PairScan *scan);
extern bool PairScanFill(PairScan *scan);
extern void PairScanClose(PairScan *scan);

/* The next pair, or NULL. */
static inline const qset_pair *
PairScanNext(PairScan *scan)
{
	if (unlikely(scan->next == scan->count) && !PairScanFill(scan))
		return NULL;
	return &scan->pair[scan->next++];
}

static inline double
PairJaccard(const qset_pair *pair)
{
	return pair->either == 0 ? 0 : (double) pair->common / pair->either;
}

/* ---- sets_pairs.c ---- */

/* Pairs of what a call asks for, perhaps by parallel workers; NULL if a collection is NULL. */
typedef PairScan *(*OpenPairs)(FunctionCallInfo fcinfo, bool parallel);

extern OpenPairs PairsOpenerOf(PGFunction function);
extern void PairColumns(const PairScan *scan, const qset_pair *pair, Datum *values);

#endif
