/*
 * scan.h
 *		The direct column scan: sketches of columns straight off heap pages.
 *
 * Aggregating a column through the executor costs some 30 ns a row before the
 * sketch sees a key.  For SELECT qsketch_agg(column [, column] [, template])
 * [FILTER (WHERE ...)], ... FROM table [WHERE ...], or another family's aggregate,
 * perhaps with count beside it, QSketchScan takes the place of Aggregate over Seq
 * Scan: it reads page after page, decides visibility as a sequential scan does,
 * keeps the tuples of which the conditions are true, and takes the columns off
 * these into batches of keys.
 *
 *	families.c	what families differ in
 *	match.c		recognizes what can be done so
 *	plan.c		offers it to the planner
 *	reasons.c		says why it was not taken
 *	exec.c		the executor node
 *	setup.c		the columns that it sketches, and permissions
 *	share.c		merges what the processes of a parallel plan made
 *	build.c		has them build collections of sets together
 *	collect.c	hands the sketches of a partition on to the next one
 *	report.c	tells other sessions how far it has come
 *	pages.c		which tuples of the next page are visible
 *	conditions.h	which of these the query wants: conditions.c, operands.c,
 *				select.c, rows.c
 *	keys.c		their keys, into the states
 *	columns.c	the value of a column in a tuple
 *	rowkey.c	the fingerprint of a key of several columns
 *	groups.h	GROUP BY: groups_plan.c, groups_value.c, groups.c, spill.c
 *
 * src/scan/scan.h
 */
#ifndef QS_SCAN_H
#define QS_SCAN_H

#include "pgbase/activity.h"
#include "pg/filter_state.h"
#include "pgbase/recognize.h"
#include "pg/sets_state.h"
#include "pg/sketch_state.h"
#include "pg/top_state.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "utils/dsa.h"

struct ExplainState;

/* qsketch.enable_columnscan */
extern bool columnscan_enabled;

extern void ColumnScanInit(void);

/* worker_partial.c */
extern void WorkerPartialInit(void);

/* exec.c */
extern const CustomScanMethods columnscan_methods;

typedef struct ColumnFamily ColumnFamily;

/* reasons.c: what stood in the way of the last query that was looked at; NULL: nothing. */
extern const char *scan_refusal;

/* It cannot be done so; false. */
static inline bool
ScanRefuse(const char *reason)
{
	scan_refusal = reason;
	return false;
}

extern bool ScanReasonsWanted(const PlannerInfo *root);
extern void ScanTellReasons(PlannerInfo *root, bool scan_not_taken);
extern void ScanReasonsInit(void);

/* match.c: what a call of an aggregate of ours, or of count, that can be done asks for. */
typedef struct ColumnScanCall
{
	const ColumnFamily *family;
	RecognizedAggregate aggregate;
	Var *key;     /* of several columns the first; NULL: count(*) */
	RowExpr *row; /* these columns; NULL: there is one */
	Expr *filter;
	Var *weight; /* integers: weights, or ids of sets; NULL: there are none */
	KeyKind weight_kind;
	Oid weight_cast; /* the function that makes them bigint, if there is one */
	Const *template; /* NULL: the default parameters */
	Const *limit;    /* how many keys are of interest; NULL: it has none */
	Oid key_type;    /* as the transition function sees it */
} ColumnScanCall;

extern bool ColumnScanMatch(Aggref *aggref, ColumnScanCall *call);
extern bool ColumnScanHasAggregates(PlannerInfo *root);
extern List *ColumnScanAggregates(List *expressions, const Var *group);
extern bool ColumnScanTable(PlannerInfo *root, RelOptInfo *rel, List *aggregates);

/*
 * Visible tuples of one page, good until the next page is read; and that page,
 * in no cache yet, of which each tuple's turn may fetch a share.
 */
typedef struct PageTuples
{
	const char *next_page;
	int share; /* bytes, whole cache lines; 0: there is none to be fetched */
	int count;
	HeapTupleHeader tuple[MaxHeapTuplesPerPage];
	uint16 length[MaxHeapTuplesPerPage];
} PageTuples;

static inline void
PageTuplesCopy(PageTuples *copy, const PageTuples *tuples)
{
	copy->next_page = tuples->next_page;
	copy->share = tuples->share;
	copy->count = tuples->count;
	memcpy(copy->tuple, tuples->tuple, tuples->count * sizeof(tuples->tuple[0]));
	memcpy(copy->length, tuples->length, tuples->count * sizeof(tuples->length[0]));
}

/* A scan over the pages of a heap. */
typedef struct PageReader
{
	HeapScanDesc scan;
#if PG_VERSION_NUM < 170000
	ParallelBlockTableScanWorkerData worker; /* of a parallel scan */
	bool started;
	BlockNumber next; /* of a serial scan */
	BlockNumber left; /* likewise: pages still to read */
#endif
	Buffer buffer;        /* pinned: the page of the last tuples */
	Buffer ahead;         /* likewise: the one after it */
	bool ahead_is_set;    /* even if to the end of the table */
	bool serializable;    /* conflicts are checked tuple by tuple */
	uint64 pages;         /* read so far */
	uint64 pages_visible; /* of these all-visible */
} PageReader;

extern void PageReaderBegin(PageReader *reader, TableScanDesc scan);
extern bool PageReaderNext(PageReader *reader, PageTuples *tuples);
extern void PageReaderEnd(PageReader *reader);

/* Where a column lies in a tuple. */
typedef struct ColumnPlace
{
	AttrNumber attribute;
	int offset;  /* in tuples without NULLs before it; -1 if it varies */
	uint8 align; /* in bytes */
} ColumnPlace;

/* rowkey.c: keys of several columns. */
typedef struct RowKey RowKey;

extern bool RowKeyTakes(const RowExpr *row);
extern RowKey *RowKeyCreate(const RowExpr *row, TupleDesc descriptor);
extern uint32 RowKeyContent(const RowKey *key);
extern uint64 RowKeyFingerprint(const RowKey *key, Relation relation, HeapTupleHeader tuple,
								uint16 length, uint64 seed);

/* One aggregate of the query: ours, of any family, or count. */
typedef struct ScanAggregate
{
	ColumnPlace place;   /* attribute 0: there is none, rows are counted */
	ColumnPlace weight;  /* attribute 0: there is none */
	KeyKind weight_kind; /* its width */
	Oid key_type;
	Oid collation;
	RowKey *row; /* keys of several columns; NULL: of one */
	const ColumnFamily *family;
	const Const *template; /* NULL: the default parameters */
	const Const *limit;    /* NULL: it has none */
	int filter_number;     /* whose tuples it gets; -1: all of them */

	KeyedState *state; /* of this run; NULL: count */
	int64 rows;        /* of count */
	int phase;         /* of building the sets of a parallel scan when this process began */
} ScanAggregate;

/* families.c: what families differ in. */
struct ColumnFamily
{
	const AggregateFunctions *functions;
	bool weights;                                   /* can be columns, too */
	bool (*takes_keys)(const ColumnScanCall *call); /* or ScanRefuse() */
	/*
	 * what merging costs: bytes, of states of so many rows that come from so many
	 * others, who have nothing else to do if they are "together"
	 */
	double (*table_bytes)(const Const *template, double rows, double others, bool together);
	/* A new state; NULL: count. */
	KeyedState *(*start)(const ScanAggregate *column, MemoryContext context, bool partial);
	/*
	 * How many bytes the state of a group takes while keys of so many rows wait to be
	 * counted, 0: they do not wait.  NULL: what is counted at once takes no more.
	 */
	double (*waiting_bytes)(const Const *template, double rows);
};

#define COLUMN_FAMILIES 4

extern const ColumnFamily column_families[COLUMN_FAMILIES];
extern const ColumnFamily column_count; /* count(*) and count(column), beside the others */

/* An empty state, for each run. */
static inline void
ScanAggregateStart(ScanAggregate *column, MemoryContext context, bool partial)
{
	column->rows = 0;
	column->state = column->family->start(column, context, partial);
}

/* Keys so far, or rows of count. */
static inline int64 *
ScanAggregateMembers(ScanAggregate *column)
{
	return column->state ? &column->state->members : &column->rows;
}

/* Count the keys that wait. */
static inline void
ScanAggregateFlush(ScanAggregate *column)
{
	if (column->state)
		StateTypeOf(column->state)->flush(column->state);
}

/* The aggregate's value; a sketch of no keys is NULL. */
static inline Datum
ScanAggregateResult(const ScanAggregate *column, bool *null)
{
	*null = column->state && column->state->members == 0;
	return column->state ? EOHPGetRODatum(&column->state->header) : Int64GetDatum(column->rows);
}

/* The state if it is of this type, else NULL. */
static inline void *
ScanAggregateState(const ScanAggregate *column, const KeyedStateType *type)
{
	return column->state && StateTypeOf(column->state) == type ? column->state : NULL;
}

/* Let keys wait until the new state is read, if it is on the CPU and such that they can. */
static inline void
ScanAggregateWait(ScanAggregate *column, KeptTable *kept)
{
	const SketchState *sketch = ScanAggregateState(column, &sketch_state_type);

	if (sketch && sketch->engine == &qs_engine_cpu)
	{
		column->state->patient = true;
		KeptTableMemory(kept, &column->state->memory);
	}
}

static inline bool
ScanAggregateWaits(const ScanAggregate *column)
{
	return column->state && column->state->patient;
}

/* Why will a call of an aggregate not count on a GPU?  NULL: it may, or nobody can say. */
extern const char *ColumnGpuReason(const Aggref *aggref);

/* Is it a sketch whose counters are on a device? */
static inline bool
ScanAggregateIsRemote(const ScanAggregate *column)
{
	const SketchState *sketch = ScanAggregateState(column, &sketch_state_type);

	return sketch && sketch->sketch.remote;
}

static inline bool
ScanAggregateIsOnCpu(const ScanAggregate *column)
{
	const SketchState *sketch = ScanAggregateState(column, &sketch_state_type);
	const FilterState *filter = ScanAggregateState(column, &filter_state_type);

	return (sketch == NULL || sketch->engine == &qs_engine_cpu) &&
		   (filter == NULL || filter->engine == &qf_engine_cpu);
}

/* What EXPLAIN ANALYZE tells. */
typedef struct ScanCounts
{
	bool any; /* some run was counted, if only as nothing */
	uint64 keys;
	uint64 batches; /* of keys, given to an engine */
	uint64 pages;
	uint64 pages_visible; /* of these all-visible */
	bool on_cpu;          /* some sketches were made there */
	bool on_gpu;
} ScanCounts;

static inline void
ScanCountsAdd(ScanCounts *counts, const ScanCounts *more)
{
	counts->any |= more->any;
	counts->keys += more->keys;
	counts->batches += more->batches;
	counts->pages += more->pages;
	counts->pages_visible += more->pages_visible;
	counts->on_cpu |= more->on_cpu;
	counts->on_gpu |= more->on_gpu;
}

/* collect.c: sketches that scans of several tables fill one after the other. */
typedef struct ScanHandover ScanHandover;

extern ScanHandover *ScanHandoverOf(EState *estate, int param);
extern bool
ScanHandoverTake(ScanHandover *handover, ScanAggregate *column, int count, MemoryContext *context);
extern void ScanHandoverGive(ScanHandover *handover, ScanAggregate *column);
extern Path *ScanCollectPath(RelOptInfo *rel, PathTarget *target, bool parallel_safe, int param);
extern void ScanCollectInit(void);

/* share.c: what the processes of a parallel scan share. */
typedef struct SharedScan SharedScan;

extern Size SharedScanSize(int count);
extern void SharedScanInit(SharedScan *shared, int count);
extern void SharedScanReset(SharedScan *shared, dsa_area *area, int count);
extern bool SharedScanJoin(SharedScan *shared, ScanAggregate *column, int count);
extern uint64 SharedScanId(const SharedScan *shared);
extern bool
SharedScanLeave(SharedScan *shared, dsa_area *area, ScanAggregate *column, int count, bool collect);
extern bool SharedScanResultIsLarge(const ScanAggregate *column, int count);
extern TupleTableSlot *
SharedScanResult(const ScanAggregate *column, int count, bool hand_over, TupleTableSlot *slot);
extern void SharedScanCount(SharedScan *shared, const ScanCounts *counts);
extern ScanCounts SharedScanCounts(SharedScan *shared);

/* build.c: building the collections of sets of a parallel scan, one for each column. */
typedef struct SharedBuild SharedBuild;

extern Size SharedBuildSize(int count);
extern void SharedBuildInit(SharedBuild *shared, int count);
extern void SharedBuildReset(SharedBuild *shared, dsa_area *area, int count);
extern void SharedBuildJoin(SharedBuild *shared, ScanAggregate *column, int count);
extern void SharedBuildSets(SharedBuild *shared, dsa_area *area, ScanAggregate *column, int count,
							bool together);

/* report.c */
extern ActivityHandle ScanReportBegin(const PageReader *reader, const SharedScan *shared);
extern void ScanReport(const ActivityHandle *activity, const PageReader *reader,
					   const ScanAggregate *column, int count);
extern void ScanReportRun(const ScanCounts *run, bool first);
extern void ScanCountKeys(ScanCounts *counts, const ScanAggregate *column, int count);
extern bool
ScanCountsTold(const ScanCounts *counts, const PlanState *node, const struct ExplainState *es);
extern void ScanExplainCounts(const ScanCounts *counts, struct ExplainState *es);

/* setup.c */
extern bool ScanReturnsOneRow(const CustomScan *scan);
extern void ScanAggregateInit(ScanAggregate *column, Aggref *aggref, TupleDesc descriptor);

/* columns.c */
extern void ColumnPlaceInit(ColumnPlace *place, AttrNumber attribute, TupleDesc descriptor);

/* keys.c */
extern void ScanAggregateAdd(ScanAggregate *column, Relation relation, PageTuples *tuples);

#endif
