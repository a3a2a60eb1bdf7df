/*
 * sets_scan.h
 *		All pairs of sets: a scan that returns pairs, and the arguments of a call.
 *
 * src/pg/sets_scan.h
 */
#ifndef QS_PG_SETS_SCAN_H
#define QS_PG_SETS_SCAN_H

#include "pg/sets_parallel.h"

#include "gpu/sets_gpu.h"

/* A scan that returns pairs. */
typedef struct PairScan
{
	qb_memory memory;         /* allocates in the context in which the scan was created */
	int method;               /* qset_method */
	int planned;              /* number of workers that were planned */
	int launched;             /* number of workers that were started */
	PairWorkers *workers;     /* the workers; NULL: no workers find pairs */
	GpuPairs *gpu;            /* the search on GPUs; NULL: no GPU finds pairs */
	int devices;              /* number of GPUs that search */
	char why[GPU_TEXT_BYTES]; /* reason for using a GPU or the CPU, or empty */
	StoredName name;          /* name of the rows' collection, if "named" */
	bool named;
	bool parallel; /* workers may be started */
	void *block;   /* prepared input of this process's job */
	qset_job job;
	qset_interrupt interrupt; /* the job's callback, which reports progress */
	ActivityHandle activity;
	MemoryContextCallback callback; /* ends "activity" when the context is reset */
	bool reported;    /* PairScanShow() was called: pairs are counted in qsketch_stat */
	uint64 found;     /* number of pairs that were pulled */
	int64 *row_id;    /* ids of the sets in the first collection */
	int64 *column_id; /* ids of the sets in the second collection, or "row_id" */

	const qset_pair *pair; /* pulled pairs, in "buffer" or in the GPU's last reply */
	qset_pair *buffer;
	uint64 room;   /* number of pairs for which "buffer" is allocated */
	uint64 count;  /* number of pairs in "pair" */
	uint64 next;   /* index of the next pair to return */
	bool complete; /* no more pairs can be pulled */

	bool ranked;        /* each set's pairs are returned with their ranks, the best first */
	uint32 *row_size;   /* sizes of the sets in the first collection, or NULL: not needed */
	qset_best best;     /* the pairs of the current set, if "ranked" */
	uint64 ranked_next; /* index in "best" of the next pair to return */
} PairScan;

extern void PairsPrepare(qset_preparation *preparation, const qset_request *request);
extern void PairsGrow(const qb_memory *memory, qset_pair **pair, uint64 count, uint64 *room);
extern PairScan *PairScanCreate(qset_request *request);
extern void PairScanShow(PairScan *scan);
extern bool
PairScanOpen(PairScan *scan, const qset_request *request, GpuPairsOrigin place, Datum rows);
extern void PairScanCollect(PairScan *scan);
extern bool PairScanFill(PairScan *scan);
extern void PairScanClose(PairScan *scan);

/* Return the next pair; NULL: no pair is left. */
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

/* A C function of qsets_pairs or qsets_nearest, and the positions of its arguments. */
typedef struct PairsLayout
{
	PGFunction function;
	int columns; /* position of the second collection; 0: the function has one collection */
	int options; /* position of min_count; min_jaccard, top and method follow */
	bool ranked; /* qsets_nearest: order_by follows method, and rows have a rank */
} PairsLayout;

extern void PairsFilter(FunctionCallInfo fcinfo, int first, qset_filter *filter);
extern qset_order PairsOrder(FunctionCallInfo fcinfo, int argument);

/* The maximum number of columns of a row: a, b, rank (qsets_nearest only), common, jaccard. */
#define PAIRS_MOST_COLUMNS 5

extern const PairsLayout *PairsLayoutOf(PGFunction function);
extern PairScan *PairsOpen(FunctionCallInfo fcinfo, const PairsLayout *layout, bool parallel);
extern bool PairsNextRow(PairScan *scan, Datum *values);

static inline int
PairsColumns(const PairsLayout *layout)
{
	return layout->ranked ? PAIRS_MOST_COLUMNS : PAIRS_MOST_COLUMNS - 1;
}

#endif
