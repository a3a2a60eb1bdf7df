/*
 * pages.h
 *		Pages of a table, their visible tuples, and the values of columns in these.
 *
 *	pages.c		which tuples of the next page are visible
 *	columns.c	where a column lies in them; expressions of columns
 *
 * src/scan/pages.h
 */
#ifndef QS_SCAN_PAGES_H
#define QS_SCAN_PAGES_H

#include "gpu/column_gpu.h"
#include "pgbase/keytype.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "nodes/execnodes.h"
#include "port/atomics.h"

/*
 * Visible tuples of one page, valid until the next page is read.  Also that next page,
 * which is in no cache yet: handling a tuple prefetches a stride of it.
 */
typedef struct PageTuples
{
	const char *next_page;
	int stride; /* bytes to prefetch with each tuple, whole cache lines; 0: none */
	int count;
	HeapTupleHeader tuple[MaxHeapTuplesPerPage];
} PageTuples;

static inline void
PageTuplesCopy(PageTuples *copy, const PageTuples *tuples)
{
	copy->next_page = tuples->next_page;
	copy->stride = tuples->stride;
	copy->count = tuples->count;
	memcpy(copy->tuple, tuples->tuple, tuples->count * sizeof(tuples->tuple[0]));
}

/* Prefetch the i-th tuple's stride of the next page into the second-level cache. */
static inline void
FetchAhead(const PageTuples *tuples, int i)
{
	int offset = i * tuples->stride;
	int end = Min(offset + tuples->stride, BLCKSZ);

	for (; offset < end; offset += QB_CACHE_LINE)
		__builtin_prefetch(tuples->next_page + offset, 0, 2);
}

/* A set of pages of a table, by chunks. */
typedef struct PageSet
{
	uint32 chunks;
	GpuPages *chunk;
} PageSet;

static inline bool
PageSetHas(const PageSet *set, BlockNumber block)
{
	uint32 chunk = block / GPU_CHUNK_PAGES;

	return chunk < set->chunks && GpuPagesHave(&set->chunk[chunk], block % GPU_CHUNK_PAGES);
}

/* How many pages of the set come one after the other from "block" on, in its chunk. */
static inline BlockNumber
PageSetRun(const PageSet *set, BlockNumber block)
{
	uint32 chunk = block / GPU_CHUNK_PAGES;

	return chunk < set->chunks ? GpuPagesRun(&set->chunk[chunk], block % GPU_CHUNK_PAGES) : 0;
}

/* The pages that a process of a parallel scan reads, if cached columns are used. */
typedef struct ParallelPages
{
	pg_atomic_uint64 *next; /* shared: the number of the next page that nobody has taken */
	uint32 piece;           /* pages that a process takes at a time */
	PageSet without;        /* pages that are taken from cached columns */
	const PageSet *
		own; /* announced as cached, but not counted by the GPU: this process reads them; NULL: none */
	BlockNumber own_next; /* all of "own" before it were read */
	BlockNumber block;    /* "passed" is the number of pages before it that are left */
	uint64 passed;
	uint64 number; /* of the next page that this process takes */
	uint64 end;    /* numbers before this one are its own */
} ParallelPages;

/*
 * Reads blocks of a table one by one.  The buffer of the last block says in which
 * buffer the next one probably is.
 */
typedef struct BlockReader
{
	Relation relation;
	BufferAccessStrategy ring; /* or NULL */
	Buffer last;               /* the buffer of the last block */
	BlockNumber last_block;    /* that block */
	bool consecutive;          /* it was in the buffer that the one before it had said */
} BlockReader;

extern void BlockReaderInit(BlockReader *reader, Relation relation, BufferAccessStrategy ring);
extern Buffer BlockRead(BlockReader *reader, BlockNumber block);

/* Prefetch the headers of so many pages to come, for a caller that reads only headers. */
extern void BlockPrefetchHeaders(const BlockReader *reader, int count);

/* pages.c: a scan over the pages of a heap. */
typedef struct PageReader
{
	HeapScanDesc scan;
	const PageSet *without; /* pages that a serial scan leaves out, or NULL */
	ParallelPages *share;   /* what a parallel scan reads if it uses cached columns, or NULL */
#if PG_VERSION_NUM < 170000
	ParallelBlockTableScanWorkerData worker; /* of a parallel scan */
	BlockReader blocks;
#else
	struct ReadStream *stream; /* of a scan that leaves pages out */
#endif
	bool started;
	BlockNumber next;     /* of a serial scan */
	BlockNumber left;     /* of a serial scan: pages still to come */
	Buffer buffer;        /* pinned: the page of the current tuples */
	Buffer ahead;         /* pinned: the next page */
	bool ahead_is_set;    /* "ahead" was read, even if it is the end of the table */
	bool serializable;    /* conflicts are checked tuple by tuple */
	uint64 pages;         /* read so far */
	uint64 pages_visible; /* those of "pages" that were all-visible */
	uint64 pages_copied;  /* left out: a GPU has their keys */
} PageReader;

extern TableScanDesc BeginTableScan(ScanState *state, ParallelTableScanDesc shared);
extern TableScanDesc BeginOwnScan(Relation relation, Snapshot snapshot);
extern void PageReaderBegin(PageReader *reader, TableScanDesc scan, const PageSet *without,
							uint64 copied, ParallelPages *share);
extern bool PageReaderNext(PageReader *reader, PageTuples *tuples);
extern void PageReaderEnd(PageReader *reader);
extern void PageCollectAll(Page page, PageTuples *tuples);
extern void PageTuplesShareOut(PageTuples *tuples, Buffer next);

/* ---- columns ---- */

/* An expression of a table's columns, evaluated for a tuple. */
typedef struct ColumnExpression ColumnExpression;

/* The attribute of an expression, since no tuple has so many. */
#define COLUMN_NOWHERE PG_INT16_MAX

/* Where a column lies in a tuple, or the expression that has the value instead. */
typedef struct ColumnLocation
{
	AttrNumber attribute;
	int16 length; /* of the type; -1: it varies */
	int offset;   /* in tuples that have no NULL up to it; -1 if it varies */
	uint8 align;  /* in bytes */
	bool by_value;
	TupleDesc descriptor;
	ColumnExpression *expression; /* NULL: it is a column */
} ColumnLocation;

extern Var *ScanColumnOf(Expr *expr);
extern void
ColumnLocationInit(ColumnLocation *location, AttrNumber attribute, TupleDesc descriptor);
extern void
ColumnLocationOf(ColumnLocation *location, Expr *expr, EState *estate, Relation relation);
extern int ColumnWalk(Expr *expr, TupleDesc descriptor);
extern ColumnExpression *ColumnExpressionCreate(Expr *expr, EState *estate, Relation relation);
extern const ColumnLocation *ColumnExpressionColumn(const ColumnExpression *expression);
extern MemoryContext ColumnExpressionMemory(const ColumnExpression *expression);
extern bool ColumnExpressionRead(ColumnExpression *expression, HeapTupleHeader tuple, Datum *value);
extern bool ColumnExpressionAt(ColumnExpression *expression, Datum input, Datum *value);
extern bool ColumnGetAny(const ColumnLocation *location, HeapTupleHeader header, Datum *value);

/* Does a bitmap of NULLs say that none of the first attributes is NULL? */
static inline bool
ColumnNoneNull(const uint8 *bitmap, int attributes)
{
	int i;

	for (i = 0; i < attributes; i++)
		if (att_isnull(i, bitmap))
			return false;
	return true;
}

/* Is the column at its fixed offset in this tuple? */
static inline bool
ColumnAtOffset(const ColumnLocation *location, HeapTupleHeader tuple)
{
	return HeapTupleHeaderGetNatts(tuple) >= location->attribute &&
		   (!(tuple->t_infomask & HEAP_HASNULL) ||
			ColumnNoneNull(tuple->t_bits, location->attribute));
}

static inline const char *
ColumnAt(const ColumnLocation *location, HeapTupleHeader tuple)
{
	return (const char *) tuple + tuple->t_hoff + location->offset;
}

/* The string at a fixed offset, behind its padding. */
static inline const struct varlena *
ColumnStringAt(const ColumnLocation *location, HeapTupleHeader tuple)
{
	const char *value = ColumnAt(location, tuple);

	if (!VARATT_NOT_PAD_BYTE(value))
		value = (const char *) TYPEALIGN(location->align, value);
	return (const struct varlena *) value;
}

/* Read a value, at its fixed offset or elsewhere; false: NULL. */
static inline bool
ColumnGet(const ColumnLocation *location, HeapTupleHeader tuple, Datum *value)
{
	if (unlikely(location->offset < 0 || !ColumnAtOffset(location, tuple)))
		return ColumnGetAny(location, tuple, value);
	*value = location->length > 0
				 ? fetch_att(ColumnAt(location, tuple), location->by_value, location->length)
				 : PointerGetDatum(ColumnStringAt(location, tuple));
	return true;
}

/*
 * Is the column NULL?  Only the bitmap of NULLs is read, unless the tuple is too short
 * for the column.
 */
static inline bool
ColumnIsNull(const ColumnLocation *location, HeapTupleHeader tuple)
{
	Datum value;

	if (unlikely(HeapTupleHeaderGetNatts(tuple) < location->attribute))
		return !ColumnGetAny(location, tuple, &value);
	return (tuple->t_infomask & HEAP_HASNULL) && att_isnull(location->attribute - 1, tuple->t_bits);
}

/* Read a number, at its fixed offset or elsewhere; false: NULL. */
static pg_attribute_always_inline bool
ColumnGetNumber(const ColumnLocation *location, KeyKind kind, HeapTupleHeader tuple, int64 *number)
{
	Datum value;

	if (likely(location->offset >= 0 && ColumnAtOffset(location, tuple)))
	{
		*number = KeyNumberAt(ColumnAt(location, tuple), kind);
		return true;
	}
	if (!ColumnGetAny(location, tuple, &value))
		return false;
	*number = KeyNumber(kind, value);
	return true;
}

/*
 * A string where it lies, or NULL if the column is NULL.  A compressed or out of line
 * value is returned as it is stored.
 */
static inline const struct varlena *
ColumnGetString(const ColumnLocation *location, HeapTupleHeader tuple)
{
	Datum any;

	if (unlikely(location->offset < 0 || !ColumnAtOffset(location, tuple)))
		return ColumnGetAny(location, tuple, &any) ? (const struct varlena *) DatumGetPointer(any)
												   : NULL;
	return ColumnStringAt(location, tuple);
}

#endif
