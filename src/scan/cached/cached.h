/*
 * cached.h
 *		Cached columns: copies of columns that the GPU worker keeps.  Are they true, and their
 *		use in a scan.
 *
 * qsketch_gpu_load() copies the keys of columns to the worker, in chunks.  A scan then has the
 * worker count the keys of all pages whose copy is true, and reads the other pages.
 *
 * When is the copy of a page true?  Every tuple of a page whose bit in the visibility
 * map is set is visible to every snapshot that was taken before the check of the map.
 * Whoever sets a bit writes WAL, and the LSN of that record becomes the LSN of the
 * map's page.  Whoever inserts, updates or deletes a tuple clears the bit of its page.
 * So there are two ways to tell:
 *
 *	1. The bit was set before the page was copied and is set now, and the map's page
 *	   has the same LSN as then: nobody has set a bit in between, so this bit was not
 *	   cleared either, and the tuples are the same.  One check decides for all pages that a
 *	   page of the map covers (a chunk), 255 MB of the table.
 *	2. The LSN of the map's page has moved, but the bit is set now, and the page itself
 *	   has the LSN that it was copied with: all changes of tuples move that LSN.
 *
 * The bits and the LSN of the map's page are copied together, under its share lock.
 * After that the bit may be cleared: whoever clears it had not committed when the
 * snapshot was taken, so the tuples in the copy are what the snapshot sees.  It may be
 * set, too: then the page is read, as if it were not set.
 *
 * Vacuum sets bits, and from PostgreSQL 19 on also a query that prunes a page while it
 * reads a table: in the WAL record of the pruning, whose LSN both pages get.  Clearing a
 * bit leaves the LSN of the map's page alone until PostgreSQL 18, and moves it in 19
 * (seen in 19rc1).  Neither changes the argument, but there the second way has to tell
 * after each change of a page that was all-visible: the next query looks at the LSN of
 * every page of that chunk that was copied.
 *
 * Several columns of one query have their rows matched page by page, so a page is taken from
 * cached columns only if all of them are true for it.  They may have been copied at different
 * times.  Each is true now, so each has the tuples that the page has now, in the order of
 * their line pointers, which nothing changes as long as the tuples are there.  A page that
 * changes between two checks of the map cannot become all-visible again for what this query's
 * snapshot does not see: until the snapshot is gone, only changes that were undone can pass,
 * and they leave the visible tuples where they were.
 *
 *	check.c		which tables, and which pages now
 *	match.c		which aggregates and conditions they serve, how keys of chunks come to an
 *				aggregate, and how many pages the planner expects from them
 *	use.c		the use in a scan, by one process or in parallel, and why not
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

/* A column whose cached chunks are to be checked, and the result. */
typedef struct CachedCheck
{
	Relation relation;
	BlockNumber blocks; /* pages of the table */
	uint32 first;       /* first chunk to check */
	uint32 count;       /* chunks to check */
	const GpuRef *ref;  /* for each chunk: its copy; serial 0: not cached */
	GpuPages *pages;    /* for each chunk: pages to check, and afterwards the true ones */
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
	const char *refusal; /* why cached columns are not used; NULL: they are */
	int columns;         /* columns that the scan needs: */
	GpuColumn *column;   /* the columns of keys and of conditions */
	int *key;            /* for each aggregate: the number of its column */
	int *id;             /* for each aggregate: the column of its sets' ids; -1: none */
	int group;           /* the number of the grouping column; -1: no GROUP BY */
	PageSet *taken;      /* for each aggregate: pages whose keys were counted from cached columns */
	PageSet all;         /* pages that are in the sets "taken" of all aggregates */
	PageSet uncounted;   /* parallel scan: pages announced as cached, but not counted */
	bool any_uncounted;  /* "uncounted" has pages */
	uint64 pages;        /* pages in "all" */
	bool asked;          /* another partition's scan has requested our chunks for this run */
	bool used;           /* "taken" is filled for this run */
	MemoryContext memory; /* holds the page sets of this run */
};

/* The tests on the rows whose keys an aggregate gets in a run. */
typedef struct CachedTests
{
	qb_selection selection;
	int column[QB_SELECTION_COLUMNS]; /* the scan's numbers of the selection's columns */
	int numbers;                      /* numbers in its lists */
	bool none;                        /* no row passes */
	bool pairs;                       /* the keys come with numbers of another column */
	uint16 pair;                      /* that column's index in the selection */
} CachedTests;

/* The use of cached columns in a run. */
typedef struct CachedRun
{
	CachedColumns *cached;
	Relation relation;
	const WantedRows *rows;
	BlockNumber blocks; /* pages of the table */
	uint32 chunks;
	GpuRef **ref;             /* for each column: the copies of its chunks */
	const CachedTests *tests; /* for each aggregate */
	GpuPages *pages;          /* for each chunk: pages that are true in all columns */
} CachedRun;

/* The keys of a table that an aggregate is to get. */
typedef struct CachedKeys
{
	const CachedRun *run;
	int column; /* number of the keys' column */
	const CachedTests *tests;
	GpuPages *pages; /* for each chunk: the pages; a page whose keys were counted is taken off */
} CachedKeys;

struct ScanGroups;

/* What a run wants of cached columns. */
typedef struct CachedUse
{
	CachedColumns *cached; /* NULL: no columns are cached on a GPU */
	const WantedRows *rows;
	Snapshot snapshot;
	BlockNumber blocks; /* pages of the table */
	ScanAggregate *aggregate;
	int count;
	struct ScanGroups *groups; /* NULL: no GROUP BY */
	bool begun;                /* the groups have rows of other tables already */
	SharedPages *shared; /* where pages are announced to other processes; NULL: a serial scan */
	dsa_area *area;      /* memory of "shared" */
} CachedUse;

/* use.c */
extern Size SharedPagesSize(void);
extern void SharedPagesInit(SharedPages *shared);
extern void SharedPagesReset(SharedPages *shared, dsa_area *area);
extern const char *SharedPagesRefusal(const SharedPages *shared);
extern LeftOut CachedColumnsBegin(const CachedUse *use, int uses);

/* The most sketches that the worker makes for the groups of a scan. */
#define CACHED_STATES_MAX Min(QB_GROUPS_MAX, GPU_HANDLES / 2)

/* What a query asks of cached columns. */
typedef struct CachedQuery
{
	List *clauses; /* of WHERE */
	List *calls;
	bool grouped;
	const Var *group; /* the only grouping column; NULL: no GROUP BY, or more than a column */
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

/* True if this aggregate got the page's keys from a cached column. */
static inline bool
CachedColumnsHave(const CachedColumns *cached, int i, BlockNumber block)
{
	return cached->used && PageSetHas(&cached->taken[i], block);
}

#endif
