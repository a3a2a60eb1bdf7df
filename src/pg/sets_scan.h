/*
 * sets_scan.h
 *		All pairs of sets: what its files share, from the arguments of a call to the pairs.
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
	qb_memory memory; /* allocates in the context in which the scan was opened */
	int method;
	int planned;          /* workers that were planned */
	int launched;         /* workers that were started */
	PairWorkers *workers; /* the workers that count; NULL: none */
	GpuPairs *gpu;        /* the GPU's search; NULL: none */
	int devices;          /* number of GPUs that search */
	char why[GPU_TEXT_BYTES];
	StoredName name; /* name of the rows' collection, if "named" */
	bool named;
	bool parallel; /* workers may be started */
	void *block;
	qset_job job;
	qset_interrupt interrupt; /* the job calls it to report progress */
	ActivityHandle activity;
	MemoryContextCallback callback; /* ends "activity" when the context goes */
	bool reported;                  /* "activity" is visible to others, and the pairs are counted */
	uint64 found;                   /* number of pairs so far */
	int64 *row_id;                  /* the set's id by its number */
	int64 *column_id;

	/* The pairs at hand, in "buffer" or in the GPU's last reply. */
	const qset_pair *pair;
	qset_pair *buffer;
	uint64 room; /* number of pairs that "buffer" has room for */
	uint64 count;
	uint64 next;
	bool complete; /* "pair" has all pairs of the scan */

	/* True: each set has its best pairs, and these are the current set's, the best first. */
	bool ranked;
	uint32 *row_size; /* NULL: the order needs no sizes */
	qset_best best;
	uint64 ranked_next;
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

/* One of our functions that return pairs, and the positions of its arguments. */
typedef struct PairsLayout
{
	PGFunction function;
	int columns; /* position of the other collection, or 0 */
	int options; /* position of min_count; min_jaccard, top and method follow */
	bool ranked; /* order_by follows; each set has its best pairs, with their ranks */
} PairsLayout;

extern void PairsFilter(FunctionCallInfo fcinfo, int first, qset_filter *filter);
extern qset_order PairsOrder(FunctionCallInfo fcinfo, int argument);

/* Columns of a row: a, b, [rank,] common, jaccard. */
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
