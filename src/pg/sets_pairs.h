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

/* How many pairs are pulled at once. */
#define PAIRS_BATCH 1024

/* ---- sets_request.c ---- */

/* The positions of the arguments in one form of the function. */
typedef struct PairsForm
{
	int columns; /* position of the other collection, or 0 */
	int options; /* position of min_count; min_jaccard, top and method follow */
} PairsForm;

extern void PairsFilter(FunctionCallInfo fcinfo, int first, qset_filter *filter);
extern qset_order PairsOrder(FunctionCallInfo fcinfo, int argument);
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

/* A scan that returns pairs. */
typedef struct PairScan
{
	qb_memory memory; /* allocates in the context in which the scan was opened */
	int method;
	int planned;          /* workers that were planned */
	int launched;         /* workers that were started */
	PairWorkers *workers; /* the workers that count; NULL: none */
	GpuPairs *gpu;        /* the GPU's search; NULL: none */
	int devices;          /* number of GPUs that search */
	char why[GPU_TEXT_BYTES];
	StoredName name; /* of the rows, if "named" */
	bool named;
	void *block;
	qset_job job;
	qset_interrupt interrupt; /* the job calls it to report progress */
	ActivityHandle activity;
	MemoryContextCallback callback; /* ends "activity" */
	bool shown;                     /* "activity" is visible to others, and the pairs are counted */
	uint64 found;                   /* number of pairs so far */
	int64 *row_id;                  /* ids by number of set */
	int64 *column_id;

	/* Pairs at hand: in "own", or where the GPU's last reply is. */
	const qset_pair *pair;
	qset_pair *own;
	uint64 room; /* of "own" */
	uint64 count;
	uint64 next;
	bool complete; /* "pair" has all pairs that there are */
} PairScan;

extern PairScan *PairScanCreate(qset_request *request);
extern void PairScanShow(PairScan *scan);
extern bool PairScanOpenKept(PairScan *scan, qset_request *request, Datum rows);
extern bool PairScanOpenGpu(PairScan *scan, const qset_request *request);
extern void PairScanOpen(PairScan *scan, const qset_request *request, bool parallel);
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

/* Open the pairs that a call asks for; NULL if a collection is NULL. */
typedef PairScan *(*OpenPairs)(FunctionCallInfo fcinfo, bool parallel);

extern OpenPairs PairsOpenerOf(PGFunction function);
extern void PairColumns(const PairScan *scan, const qset_pair *pair, Datum *values);

#endif
