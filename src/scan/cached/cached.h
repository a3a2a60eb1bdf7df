/*
 * cached.h
 *		Cached columns: which cached pages are valid, and how a scan uses them.
 *
 * qsketch_gpu_load() sends the keys of columns to the GPU worker in chunks, and the worker stores
 * the keys.  A scan lets the worker count the keys of all valid cached pages, and reads the other
 * pages.
 *
 * A cached page is valid if it has the tuples that the query's snapshot sees.  If a page's bit in
 * the visibility map is set, every tuple of the page is visible to every snapshot that was taken
 * before the check of the map.  A process that sets a bit writes WAL, and the LSN of this record
 * becomes the LSN of the map's page.  A process that inserts, updates or deletes a tuple clears the
 * bit of its page.  So there are two ways to see that a cached page is valid:
 *
 *	1.  The bit was set before the page was cached and is set now, and the LSN of the map's
 *	   page has not changed.  So no bit was set in between.  If this bit had been cleared in
 *	   between, it could not be set now.  So the bit was not cleared, and the cached page is valid.
 *	   One check is enough for all pages that a page of the map covers (a chunk), 255 MB of the
 *	   table.
 *	2.  The LSN of the map's page has changed, but the bit is set now, and the page has the
 *	   LSN that it had when it was cached: every change of its tuples changes this LSN.
 *
 * The bits and the LSN of the map's page are read together, under its share lock.  A bit may be
 * cleared after this read.  The transaction that clears the bit had not committed when the snapshot
 * was taken, so the snapshot still sees the cached tuples.  A bit may also be set after this read.
 * In this case, the scan reads the page, as if the bit were not set.
 *
 * Vacuum and COPY FREEZE set bits.  From PostgreSQL 19 on, a query also sets a bit when it prunes a
 * page.  The page and the map's page then receive the LSN of the pruning's WAL record.  Up to
 * PostgreSQL 18, clearing a bit does not change the LSN of the map's page; in 19 it does (seen in
 * 19rc1).  Both ways remain correct in 19.  But after each change of an all-visible page, only the
 * second way succeeds, so the next query compares the LSNs of all cached pages of the chunk.
 *
 * A query may need several columns, whose rows are matched page by page.  So a page is used
 * only if it is valid in all of these columns.  The columns may have been cached at different
 * times.  Each valid cached page has the tuples that the page has now, in the order of their line
 * pointers, and nothing changes this order while the tuples exist.  While this query's snapshot
 * exists, a page that changes between two checks of the map can become all-visible again only if
 * its changes were undone.  Such changes do not move the visible tuples.
 *
 *	check.c		which tables can be cached, and which cached pages are valid
 *	match.c		which aggregates and conditions cached columns serve, how an aggregate receives
 *				the keys of chunks, and how many pages the planner expects to be cached
 *	use.c		the use in a scan, serial or parallel, and the reasons against it
 *	groups.c	the use in a scan with GROUP BY
 *	exact.c		the use in qtop_exact
 *	load.c		qsketch_gpu_load, qsketch_gpu_unload, qsketch_gpu_columns
 *
 * src/scan/cached/cached.h
 */
#ifndef QS_SCAN_CACHED_H
#define QS_SCAN_CACHED_H

#include "gpu/column_gpu.h"
#include "scan/scan.h"

/* The LSN and the bits of a page of the visibility map, read under one lock. */
typedef struct MapPage
{
	uint64 lsn;
	GpuPages visible;
} MapPage;

/* The number of chunks of a table that has "blocks" pages. */
static inline uint32
CachedChunksOf(BlockNumber blocks)
{
	return blocks / GPU_CHUNK_PAGES + (blocks % GPU_CHUNK_PAGES != 0);
}

/* A column whose cached chunks are to be checked.  The result is in "pages". */
typedef struct CachedCheck
{
	Relation relation;
	BlockNumber blocks; /* pages of the table */
	uint32 first;       /* first chunk to check */
	uint32 count;       /* chunks to check */
	const GpuRef *ref;  /* for each chunk: its reference; serial 0: not cached */
	GpuPages *pages;    /* for each chunk: pages to check, and afterwards the valid pages */
} CachedCheck;

/* check.c */
extern void CachedTestPoint(int point);
extern const char *CachedTableRefusal(Relation relation);
extern bool CachedTakesKeys(Form_pg_attribute attribute);
extern bool CachedMayRead(Oid relid, AttrNumber attribute);
extern bool CachedMayVanish(Oid relid, AttrNumber attribute);
extern GpuColumn CachedColumn(Relation relation, AttrNumber attribute, Oid collation);
extern bool CachedReadMap(Relation relation, uint32 chunk, BlockNumber blocks, MapPage *map);
extern uint32 CachedVisiblePages(Relation relation, uint32 chunk);
extern GpuPages *CachedAllPages(uint32 chunks);
extern void CachedTruePages(const CachedCheck *check, int checks);
extern bool CachedTakePage(Buffer buffer, PageTuples *tuples, uint64 *lsn);

/* use.c: shared memory in which the processes of a parallel scan agree on the pages to read. */
typedef struct SharedPages SharedPages;

/* The cached columns of a scan. */
struct CachedColumns
{
	const char *refusal; /* why cached columns are not used; NULL: no reason is known */
	int columns;         /* number of columns that the scan needs */
	GpuColumn *column;   /* the columns of keys, of conditions and of GROUP BY */
	int *key;            /* for each aggregate: the number of its column */
	int *id;             /* for each aggregate: the number of its column of set ids; -1: none */
	int group;           /* the number of the grouping column; -1: no GROUP BY */
	PageSet *taken;      /* for each aggregate: pages whose keys were counted from cached columns */
	PageSet all;         /* pages whose keys were counted for all aggregates or groups */
	PageSet uncounted;   /* parallel scan: pages announced as cached, but not counted */
	bool any_uncounted;  /* "uncounted" has pages */
	uint64 pages;        /* pages in "all" */
	bool asked;          /* the first of several scans has requested this scan's chunks */
	bool used;           /* this run may use cached columns */
	MemoryContext memory; /* holds the page sets of this run */
};

/* The tests that rows must pass in a run before an aggregate counts their keys. */
typedef struct CachedTests
{
	qb_selection selection;
	int column[QB_SELECTION_COLUMNS]; /* for each column of the selection: its number in the scan */
	int numbers;                      /* count of numbers in the lists of the selection */
	bool none;                        /* no row passes */
	bool pairs;                       /* each key is returned with a number of another column */
	uint16 pair;                      /* index of the other column in the selection */
} CachedTests;

/* The use of cached columns in a run. */
typedef struct CachedRun
{
	CachedColumns *cached;
	Relation relation;
	const WantedRows *rows;
	BlockNumber blocks; /* pages of the table */
	uint32 chunks;
	GpuRef **ref;             /* for each column: the references of its chunks */
	const CachedTests *tests; /* for each aggregate */
	GpuPages *pages;          /* for each chunk: valid pages, and in the end the counted pages */
} CachedRun;

/* The keys of a column that are requested from the worker. */
typedef struct CachedKeys
{
	const CachedRun *run;
	int column; /* number of the keys' column */
	const CachedTests *tests;
	GpuPages *pages; /* for each chunk: the pages whose keys were not counted yet */
} CachedKeys;

struct ScanGroups;

/* What a run needs to use cached columns. */
typedef struct CachedUse
{
	CachedColumns *cached; /* NULL: this process may use no cached columns */
	const WantedRows *rows;
	Snapshot snapshot;
	BlockNumber blocks; /* pages of the table */
	ScanAggregate *aggregate;
	int count;
	struct ScanGroups *groups; /* NULL: no GROUP BY */
	bool begun;                /* the groups already have rows of other tables */
	SharedPages *shared; /* where pages are announced to other processes; NULL: a serial scan */
	dsa_area *area;      /* memory of "shared" */
} CachedUse;

/* use.c */
extern Size SharedPagesSize(void);
extern void SharedPagesInit(SharedPages *shared);
extern void SharedPagesReset(SharedPages *shared, dsa_area *area);
extern const char *SharedPagesRefusal(const SharedPages *shared);
extern LeftOut CachedColumnsBegin(const CachedUse *use, int uses);

/* Maximum number of sketches that the worker makes for the groups of a scan. */
#define CACHED_STATES_MAX Min(QB_GROUPS_MAX, GPU_HANDLES / 2)

/* The parts of a query that decide whether it uses cached columns. */
typedef struct CachedQuery
{
	List *clauses; /* of WHERE */
	List *calls;
	bool grouped;
	const Var *group; /* the only grouping column; NULL: no GROUP BY, or not by a single column */
	bool parallel;
} CachedQuery;

/* match.c */
extern const char *
CachedColumnsNeed(CachedColumns *cached, Relation relation, const CachedQuery *query);
extern bool CachedTestsColumn(CachedTests *tests, int column, uint16 *position);
extern bool CachedTestsAdd(CachedTests *tests, int column, const qb_test *test);
extern bool CachedTestsPair(CachedTests *tests, int column);
extern bool CachedConditionsTests(const CachedRun *run, int filter, CachedTests *tests);

extern bool CachedCountsValues(const ScanAggregate *aggregate);
extern const char *CachedStatesRefusal(const ScanAggregate *aggregate, int count);

/* groups.c */
extern const char *
CachedGroupsTake(const CachedRun *run, int runs, struct ScanGroups *groups, int count);

/* match.c */
extern GpuColumnChunk CachedChunk(const CachedKeys *keys, uint32 chunk);
extern GpuPages *CachedPages(const CachedRun *run);
extern GpuColumnChunk *CachedChunks(const CachedKeys *keys, int tables, int *wanted_count);
extern void CachedTake(const CachedKeys *keys, int tables, ScanAggregate *aggregate);

/* use.c */
extern CachedColumns *CachedColumnsCreate(Relation relation, const CustomScan *plan,
										  const ScanAggregate *aggregate, int count);
extern void
CachedColumnsExplain(const CachedColumns *cached, Relation relation, struct ExplainState *es);

/* match.c */
extern double ScanCopiedFraction(PlannerInfo *root, const RelOptInfo *table, List *calls,
								 const Var *group, double groups, bool parallel);

/* True if the i-th aggregate received the page's keys from a cached column. */
static inline bool
CachedColumnsHave(const CachedColumns *cached, int i, BlockNumber block)
{
	return cached->used && PageSetHas(&cached->taken[i], block);
}

#endif
