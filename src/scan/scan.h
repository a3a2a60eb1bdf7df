/*
 * scan.h
 *		The direct column scan: sketches of columns straight off heap pages.
 *
 * Aggregating a column through the executor costs some 30 ns a row before the
 * sketch sees a key.  For SELECT qsketch_agg(column [, column] [, template]),
 * ... FROM table, or another family's aggregate, QSketchScan takes the place of
 * Aggregate over Seq Scan: it
 * reads page after page, decides visibility as a sequential scan does, and takes
 * the columns off the visible tuples into batches of keys.
 *
 *	families.c	what families differ in
 *	match.c		recognizes what can be done so
 *	plan.c		offers it to the planner
 *	exec.c		the executor node
 *	share.c		merges what the processes of a parallel plan made
 *	pages.c		which tuples of the next page are visible
 *	columns.c	the column's value in those tuples
 *
 * src/scan/scan.h
 */
#ifndef QS_SCAN_H
#define QS_SCAN_H

#include "pg/filter_expanded.h"
#include "pg/recognize.h"
#include "pg/sets_expanded.h"
#include "pg/sketch_expanded.h"
#include "pg/sketch_top_expanded.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "utils/dsa.h"

/* qsketch.enable_columnscan */
extern bool columnscan_enabled;

extern void ColumnScanInit(void);

/* exec.c */
extern const CustomScanMethods columnscan_methods;

typedef struct ColumnFamily ColumnFamily;

/* match.c: what a qsketch_agg call that can be done asks for. */
typedef struct ColumnScanCall
{
	const ColumnFamily *family;
	RecognizedAggregate aggregate;
	Var *key;
	Var *weight; /* integers: weights, or ids of sets; NULL: there are none */
	KeyKind weight_kind;
	Oid weight_cast; /* the function that makes them bigint, if there is one */
	Const *template; /* NULL: the default parameters */
	Const *limit;    /* how many keys are of interest; NULL: it has none */
	Oid key_type;    /* as the transition function sees it */
} ColumnScanCall;

extern bool ColumnScanMatch(Aggref *aggref, ColumnScanCall *call);
extern void ColumnScanCheckShared(PlannerInfo *root);
extern List *ColumnScanAggregates(List *expressions);
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

/* One qsketch_agg of the query. */
typedef struct SketchedColumn
{
	ColumnPlace place;
	ColumnPlace weight;  /* attribute 0: there is none */
	KeyKind weight_kind; /* its width */
	Oid key_type;
	Oid collation;
	const ColumnFamily *family;
	const Const *template; /* NULL: the default parameters */
	const Const *limit;    /* NULL: it has none */

	/* The state of this run, one of these, and what is the same in all. */
	ExpandedSketch *sketch;
	ExpandedFilter *filter;
	ExpandedSets *sets;
	ExpandedTop *top;
	ExpandedObjectHeader *header;
	KeyBuffer *buffer; /* NULL: sets have their own */
	const KeyType *key;
	int64 *members;
	const int64 *batches;
} SketchedColumn;

/* families.c: what families differ in. */
struct ColumnFamily
{
	const AggregateFunctions *functions;
	bool weights; /* can be columns, too */
	bool (*takes_keys)(const ColumnScanCall *call);
	/* what merging costs: bytes, of states of so many rows that come from so many others */
	double (*table_bytes)(const Const *template, double rows, double others);
	void (*start)(SketchedColumn *column, MemoryContext context, bool partial);
	void (*make_room)(SketchedColumn *column);
	void (*flush)(SketchedColumn *column);

	/* How a state gets to another process, in shared memory, and into its state. */
	Size (*pass_bytes)(SketchedColumn *column);
	void (*pass)(SketchedColumn *column, void *place, Size bytes);
	void (*merge)(SketchedColumn *column, void *place);
};

#define COLUMN_FAMILIES 4

extern const ColumnFamily column_families[COLUMN_FAMILIES];

/* Is its state on a device? */
static inline bool
SketchedColumnIsRemote(const SketchedColumn *column)
{
	return column->sketch && column->sketch->sketch.remote;
}

static inline bool
SketchedColumnIsOnCpu(const SketchedColumn *column)
{
	return column->sketch == NULL || column->sketch->engine == &qs_engine_cpu;
}

/* What EXPLAIN ANALYZE tells. */
typedef struct ScanCounts
{
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
	counts->keys += more->keys;
	counts->batches += more->batches;
	counts->pages += more->pages;
	counts->pages_visible += more->pages_visible;
	counts->on_cpu |= more->on_cpu;
	counts->on_gpu |= more->on_gpu;
}

/* share.c: what the processes of a parallel scan share. */
typedef struct SharedScan SharedScan;

extern Size SharedScanSize(void);
extern void SharedScanInit(SharedScan *shared);
extern void SharedScanReset(SharedScan *shared, dsa_area *area, int count);
extern void SharedScanJoin(SharedScan *shared);
extern bool SharedScanLeave(SharedScan *shared, dsa_area *area, SketchedColumn *column, int count,
							bool collect);
extern void SharedScanCount(SharedScan *shared, const ScanCounts *counts);
extern ScanCounts SharedScanCounts(SharedScan *shared);

extern void ColumnPlaceInit(ColumnPlace *place, AttrNumber attribute, TupleDesc descriptor);
extern void SketchedColumnAdd(SketchedColumn *column, Relation relation, const PageTuples *tuples);

#endif
