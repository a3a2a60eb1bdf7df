/*
 * pages.h
 *		Pages of a table, and their visible tuples.
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

/*
 * The visible tuples of one page, until the next page is read.  With each tuple, a loop over the
 * tuples also prefetches one stride of the next page, which is in no processor cache yet.
 */
typedef struct PageTuples
{
	const char *next_page;
	int stride; /* bytes to prefetch with each tuple, a multiple of a cache line; 0: none */
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

/* The number of consecutive pages of the set from "block" on, within its chunk. */
static inline BlockNumber
PageSetRun(const PageSet *set, BlockNumber block)
{
	uint32 chunk = block / GPU_CHUNK_PAGES;

	return chunk < set->chunks ? GpuPagesRun(&set->chunk[chunk], block % GPU_CHUNK_PAGES) : 0;
}

/* The pages that a process does not read, because their keys come from cached columns. */
typedef struct LeftOut
{
	PageSet pages;
	const PageSet *uncounted; /* announced but uncounted pages, which this process reads; or NULL */
} LeftOut;

/*
 * Reads blocks of a table one by one.  The last block and its buffer help to guess the buffer
 * of the next block.
 */
typedef struct BlockReader
{
	Relation relation;
	BufferAccessStrategy ring; /* the strategy of the scan, or NULL */
	Buffer last;               /* the buffer of the last block */
	BlockNumber last_block;    /* the last block */
	bool consecutive;          /* "last" was guessed correctly */
} BlockReader;

extern void BlockReaderInit(BlockReader *reader, Relation relation, BufferAccessStrategy ring);
extern Buffer BlockRead(BlockReader *reader, BlockNumber block);

/* Prefetch the headers of the next "count" pages, for a caller that reads only headers. */
extern void BlockPrefetchHeaders(const BlockReader *reader, int count);

/* pages.c: a scan over the pages of a heap. */
typedef struct PageReader
{
	HeapScanDesc scan;
	LeftOut left_out;
	ParallelBlockTableScanWorkerData worker; /* state of a parallel scan */
#if PG_VERSION_NUM < 170000
	BlockReader blocks;
#else
	struct ReadStream *stream; /* stream of a scan that leaves pages out */
#endif
	bool started;
	BlockNumber next;     /* serial: next block; parallel: next block to look up in "uncounted" */
	BlockNumber left;     /* serial scan: number of blocks not yet passed */
	Buffer buffer;        /* pinned: the page of the current tuples */
	Buffer ahead;         /* pinned: the next page */
	bool ahead_is_set;    /* "ahead" was read; it may be invalid at the end of the table */
	bool serializable;    /* serializable transaction: each tuple is checked for conflicts */
	uint64 pages;         /* pages read so far */
	uint64 pages_visible; /* pages read that were all-visible */
	uint64 pages_copied;  /* pages not read, because their keys come from cached columns */
} PageReader;

extern TableScanDesc BeginTableScan(ScanState *state, ParallelTableScanDesc shared);
extern TableScanDesc BeginRelationScan(Relation relation, Snapshot snapshot);
extern void
PageReaderBegin(PageReader *reader, TableScanDesc scan, LeftOut left_out, uint64 copied);
extern bool PageReaderNext(PageReader *reader, PageTuples *tuples);
extern void PageReaderEnd(PageReader *reader);
extern void PageCollectAll(Page page, PageTuples *tuples);
extern void PageTuplesSpreadPrefetch(PageTuples *tuples, Buffer next);

#endif
