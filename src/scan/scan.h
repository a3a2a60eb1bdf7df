/*
 * scan.h
 *		The direct column scan: sketches of columns straight off heap pages.
 *
 * Aggregating a column through the executor costs some 30 ns a row before the
 * sketch sees a key.  For SELECT qsketch_agg(column [, template]), ... FROM
 * table, QSketchScan takes the place of Aggregate over Seq Scan: it reads page
 * after page, decides visibility as a sequential scan does, and takes the
 * columns off the visible tuples into batches of keys.
 *
 *	plan.c		recognizes such queries and offers the path
 *	exec.c		the executor node
 *	pages.c		which tuples of the next page are visible
 *	columns.c	the column's value in those tuples
 *
 * src/scan/scan.h
 */
#ifndef QS_SCAN_H
#define QS_SCAN_H

#include "pg/expanded.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "nodes/extensible.h"
#include "nodes/primnodes.h"

/* qsketch.enable_columnscan */
extern bool columnscan_enabled;

extern void ColumnScanInit(void);

/* exec.c */
extern const CustomScanMethods columnscan_methods;

/* plan.c: the column and the template (or NULL) of a qsketch_agg call. */
extern bool ColumnScanArguments(Aggref *aggref, Var **column, Const **template, Oid *key_type);

/* Visible tuples of one page, good until the next page is read. */
typedef struct PageTuples
{
	int count;
	HeapTupleHeader tuple[MaxHeapTuplesPerPage];
	uint16 length[MaxHeapTuplesPerPage];
} PageTuples;

/* A scan over the pages of a heap. */
typedef struct PageReader
{
	HeapScanDesc scan;
	ParallelBlockTableScanWorkerData worker; /* of a parallel scan */
	bool started;
	BlockNumber next;     /* of a serial scan */
	BlockNumber left;     /* likewise: pages still to read */
	Buffer buffer;        /* pinned: the page of the last tuples */
	bool serializable;    /* conflicts are checked tuple by tuple */
	uint64 pages;         /* read so far */
	uint64 pages_visible; /* of these all-visible */
} PageReader;

extern void PageReaderBegin(PageReader *reader, TableScanDesc scan);
extern bool PageReaderNext(PageReader *reader, PageTuples *tuples);
extern void PageReaderEnd(PageReader *reader);

/* One qsketch_agg of the query. */
typedef struct SketchedColumn
{
	AttrNumber attribute;
	int offset;   /* in tuples without NULLs; -1 if it depends on them */
	Oid key_type; /* as the aggregate sees it */
	Oid collation;
	qs_params params;
	ExpandedSketch *sketch;
} SketchedColumn;

extern void SketchedColumnInit(SketchedColumn *column, TupleDesc descriptor);
extern void SketchedColumnAdd(SketchedColumn *column, Relation relation, const PageTuples *tuples);

#endif
