/*
 * exact.c
 *		Cached columns for qtop_exact: the worker counts the keys of valid cached pages, and this
 *		process reads all other pages.
 *
 * The worker counts fingerprints.  A number is its own fingerprint, so these counts are the
 * answer.  Other types are refused, because the keys of the fingerprints would have to be
 * found in the table.
 *
 * Without cached columns, qtop_exact runs queries, in which PostgreSQL checks permissions, applies
 * policies and calls hooks.  With cached columns, no query runs.  So cached columns are used only
 * if the user's queries would pass all checks and see all rows.  In all other cases, the queries
 * run, and may raise an error.
 *
 * The leaves of a partitioned table are counted together, even if they have different orders
 * of columns.
 *
 * src/scan/cached/exact.c
 */
#include "scan/cached/cached.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "executor/executor.h"
#include "gpu/column_gpu.h"
#include "miscadmin.h"
#include "pg/top_question.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

/*
 * Cached columns are used if they have at least this fraction of the pages.  A single process
 * reads all other pages.
 */
#define LEAST_FRACTION 0.5

/* A column of a table, its chunks, and its valid pages. */
typedef struct ExactColumn
{
	Relation relation;
	Form_pg_attribute form;
	GpuColumn column;
	TableScanDesc scan;
	BlockNumber blocks;
	uint32 chunks;
	GpuRef *ref; /* for each chunk */
	PageSet pages;
	uint64 count; /* number of pages in "pages" */
} ExactColumn;

/* The tables whose keys are counted: a single table, or the leaves of a partitioned table. */
typedef struct Exact
{
	ExactColumn *column;
	int columns;
	uint64 blocks;          /* pages of all tables */
	uint64 count;           /* valid pages of all tables */
	GpuColumnChunk *wanted; /* the chunks that have valid pages */
	int wanted_count;
} Exact;

/* ---- the conditions for using cached columns ---- */

static bool
may_read(Relation relation, AttrNumber attribute)
{
	Oid schema = RelationGetNamespace(relation);
	AclResult usage;

#if PG_VERSION_NUM >= 160000
	usage = object_aclcheck(NamespaceRelationId, schema, GetUserId(), ACL_USAGE);
#else
	usage = pg_namespace_aclcheck(schema, GetUserId(), ACL_USAGE);
#endif
	return usage == ACLCHECK_OK && CachedMayRead(RelationGetRelid(relation), attribute);
}

/*
 * Returns why cached columns are not used for this column of the named table; NULL: no reason was
 * found here.  A user who may read a table may read its partitions through the table.
 */
static const char *
find_refusal(Relation relation, AttrNumber attribute, const TopQuestion *question)
{
	Form_pg_attribute form = TupleDescAttr(RelationGetDescr(relation), attribute - 1);
	Snapshot snapshot = GetActiveSnapshot();

	if (!KeyTypeIsNumber(question->type) || !CachedTakesKeys(form))
		return "keys of more than 64 bits";
	if (!question->number)
		return "keys that SQL orders in another way than their bits";
	if (question->weight)
		return "weights";
	if (relation->rd_rel->relhassubclass && relation->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return "tables that inherit from it";
	if (!IsMVCCSnapshot(snapshot) || snapshot->takenDuringRecovery)
		return "a snapshot of another kind";
	if (!may_read(relation, attribute) || ExecutorCheckPerms_hook)
		return "permissions";
	if (check_enable_rls(RelationGetRelid(relation), InvalidOid, true) == RLS_ENABLED)
		return "row security";
	return NULL;
}

/* ---- which tables ---- */

/* Open a table, and find its column by the name, which is the same in all partitions. */
static void
add_table(Exact *e, Oid relid, const char *name)
{
	ExactColumn *c = &e->column[e->columns++];
	AttrNumber attribute;

	c->relation = relation_open(relid, NoLock);
	attribute = get_attnum(relid, name);
	if (attribute <= 0)
		elog(ERROR, "table \"%s\" has no column \"%s\"", RelationGetRelationName(c->relation),
			 name);
	c->form = TupleDescAttr(RelationGetDescr(c->relation), attribute - 1);
}

/*
 * Open and lock the tables that have the rows, including partitions that were added since
 * planning.
 */
static void
open_tables(Exact *e, Relation relation, const char *name)
{
	Oid relid = RelationGetRelid(relation);
	List *tables = relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE
					   ? find_all_inheritors(relid, AccessShareLock, NULL)
					   : list_make1_oid(relid);
	ListCell *cell;

	e->column = palloc0(list_length(tables) * sizeof(ExactColumn));
	foreach (cell, tables)
		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE)
			add_table(e, lfirst_oid(cell), name);
}

static void
close_tables(const Exact *e)
{
	int i;

	for (i = 0; i < e->columns; i++)
		relation_close(e->column[i].relation, NoLock);
}

/* ---- which pages ---- */

/* Find the chunks of a column.  Returns the number of cached chunks. */
static uint32
find_chunks(ExactColumn *c)
{
	if (!RELKIND_HAS_STORAGE(c->relation->rd_rel->relkind))
		return 0;
	c->blocks = RelationGetNumberOfBlocks(c->relation);
	c->chunks = CachedChunksOf(c->blocks);
	c->ref = palloc(Max(c->chunks, 1) * sizeof(GpuRef));
	c->column = CachedColumn(c->relation, c->form->attnum, c->form->attcollation);
	return GpuColumnFind(&c->column, c->ref, c->chunks);
}

static bool
find_cached_chunks(Exact *e)
{
	uint64 found = 0;
	uint64 chunks = 0;
	int i;

	for (i = 0; i < e->columns; i++)
	{
		CHECK_FOR_INTERRUPTS();
		found += find_chunks(&e->column[i]);
		chunks += e->column[i].chunks;
		e->blocks += e->column[i].blocks;
	}
	e->wanted = palloc_extended(Max(chunks, 1) * sizeof(GpuColumnChunk), MCXT_ALLOC_HUGE);
	return found > 0;
}

/* Find the valid pages of a table's cached chunks. */
static void
find_pages(Exact *e, ExactColumn *c)
{
	GpuPages *pages = CachedAllPages(c->chunks);
	const CachedCheck check = { c->relation, c->blocks, 0, c->chunks, c->ref, pages };
	uint32 chunk;

	CachedTruePages(&check, 1);
	c->pages = (PageSet){ c->chunks, pages };
	for (chunk = 0; chunk < c->chunks; chunk++)
	{
		if (GpuPagesAreNone(&pages[chunk]))
			continue;
		e->wanted[e->wanted_count++] =
			(GpuColumnChunk){ .ref = c->ref[chunk], .pages = &pages[chunk] };
		c->count += GpuPagesCount(&pages[chunk]);
	}
	e->count += c->count;
}

static bool
has_column(const Exact *e, const GpuColumn *column)
{
	int i;

	for (i = 0; i < e->columns; i++)
		if (memcmp(column, &e->column[i].column, sizeof(GpuColumn)) == 0)
			return true;
	return false;
}

/*
 * An upper limit of the number of keys: all keys of the chunks, and MaxHeapTuplesPerPage keys on
 * each page that is read.
 */
static uint64
most_keys(const Exact *e)
{
	int count;
	GpuCachedColumn *cached = GpuColumnList(&count);
	uint64 keys = (e->blocks - e->count) * MaxHeapTuplesPerPage;
	int i;

	for (i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (has_column(e, &cached[i].column))
			keys += cached[i].bytes / sizeof(uint64);
	}
	pfree(cached);
	return keys;
}

/* ---- counting ---- */

/* Read the keys of a page's tuples, without NULLs.  Returns the number of keys. */
static int
read_keys(const ColumnLocation *location, KeyKind kind, PageTuples *tuples, int64 *key)
{
	int count = 0;
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		FetchAhead(tuples, i);
		count += ColumnGetNumber(location, kind, tuples->tuple[i], &key[count]);
	}
	return count;
}

/*
 * Read the pages of a table that have no valid cached page, and send their keys to the worker.
 * "key": a buffer for the keys of a slot.
 */
static void
add_other_pages(const ExactColumn *c, const GpuRef *ref, PageTuples *tuples, int64 *key)
{
	int count = 0;
	PageReader reader;
	ColumnLocation location;
	KeyType type;

	ColumnLocationInit(&location, c->form->attnum, RelationGetDescr(c->relation));
	KeyTypeInit(&type, c->form->atttypid, c->form->attcollation);
	PageReaderBegin(&reader, c->scan, (LeftOut){ .pages = c->pages }, c->count);
	while (PageReaderNext(&reader, tuples))
	{
		if (count + tuples->count > GPU_SLOT_KEYS)
		{
			GpuPostKeys(ref, EXACT_KEYS, (uint64 *) key, NULL, count);
			count = 0;
		}
		count += read_keys(&location, type.kind, tuples, key + count);
	}
	GpuPostKeys(ref, EXACT_KEYS, (uint64 *) key, NULL, count);
	PageReaderEnd(&reader);
}

static void
add_all_other_pages(const Exact *e, const GpuRef *ref)
{
	PageTuples *tuples = palloc(sizeof(PageTuples));
	int64 *key = palloc(GPU_SLOT_BYTES);
	int i;

	for (i = 0; i < e->columns; i++)
		add_other_pages(&e->column[i], ref, tuples, key);
	pfree(tuples);
	pfree(key);
}

/* Count all keys; NULL: no handle is free, a device has no memory, or a chunk is gone. */
static GpuExactKey *
count_keys(const Exact *e, int n, int *count)
{
	GpuExactKey *best = NULL;
	GpuRef ref;

	if (!GpuExactBegin(&ref, most_keys(e)))
		return NULL;
	GpuColumnInterleave(e->wanted, e->wanted_count);
	if (GpuColumnSend(&ref, EXACT_COLUMN, e->wanted, e->wanted_count, NULL))
	{
		add_all_other_pages(e, &ref);
		best = GpuExactBest(&ref, n, count);
	}
	GpuDropHandle(&ref);
	return best;
}

/*
 * Begin the table scans, and find the valid pages of all tables.  In a serializable transaction,
 * beginning a scan registers the read of the table.  The registration must precede the check of the
 * map.
 */
static void
find_all_pages(Exact *e)
{
	int i;

	for (i = 0; i < e->columns; i++)
		e->column[i].scan = BeginRelationScan(e->column[i].relation, GetActiveSnapshot());
	for (i = 0; i < e->columns; i++)
	{
		CHECK_FOR_INTERRUPTS();
		find_pages(e, &e->column[i]);
	}
}

/*
 * Count all keys with the help of the cached chunks; NULL: too few pages are valid, or count_keys()
 * failed.
 */
static GpuExactKey *
count_copied(Exact *e, int n, int *count)
{
	GpuExactKey *best = NULL;
	bool enough;
	int i;

	find_all_pages(e);
	CachedTestPoint(1);
	enough = e->count >= LEAST_FRACTION * e->blocks;
	if (enough)
		best = count_keys(e, n, count);
	for (i = 0; i < e->columns; i++)
		table_endscan(e->column[i].scan);
	if (best)
		elog(DEBUG1,
			 "qtop_exact has counts of " UINT64_FORMAT
			 " pages from cached columns, and read " UINT64_FORMAT,
			 e->count, e->blocks - e->count);
	else
		elog(DEBUG1, "qtop_exact does not use cached columns: %s",
			 enough ? "the GPU has no room" : "most pages have changed or are not cached");
	return best;
}

/*
 * Count all keys with the help of cached columns; NULL: no chunk is cached, cached columns are
 * refused, or count_copied() failed.
 */
static GpuExactKey *
try_cached_columns(Exact *e, const TopQuestion *question, const char *refusal, int *count)
{
	int i;

	if (!find_cached_chunks(e))
		return NULL;
	for (i = 0; i < e->columns && refusal == NULL; i++)
		refusal = CachedTableRefusal(e->column[i].relation);
	if (refusal == NULL)
		return count_copied(e, question->n, count);
	elog(DEBUG1, "qtop_exact does not use cached columns: %s", refusal);
	return NULL;
}

/* The most frequent keys, in order; NULL: qtop_exact must run its queries. */
static GpuExactKey *
exact_from_cached(const TopQuestion *question, int *count)
{
	AttrNumber attribute;
	Relation relation;
	const char *refusal;
	GpuExactKey *best;
	Exact e = { .columns = 0 };

	if (!GpuColumnsExist())
		return NULL;
	attribute = get_attnum(question->relation, question->name);
	if (attribute <= 0)
		return NULL;
	relation = relation_open(question->relation, NoLock);
	refusal = find_refusal(relation, attribute, question);
	open_tables(&e, relation, question->name);
	best = try_cached_columns(&e, question, refusal, count);
	close_tables(&e);
	relation_close(relation, NoLock);
	return best;
}

void
CachedExactInit(void)
{
	TopExactFromCached = exact_from_cached;
}
