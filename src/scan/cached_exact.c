/*
 * cached_exact.c
 *		Cached columns for qtop_exact: the worker counts all keys exactly, and this
 *		process reads the pages whose copy is not true.
 *
 * A number is its own fingerprint, so the counts of fingerprints are the answer.  Keys of
 * other types would have to be looked for in the table.
 *
 * The queries of qtop_exact check permissions, policies and what hooks ask for.  No query
 * is run here.  So cached columns are used only by those whose queries would pass all checks and
 * see all rows; anybody else is left to the queries, which say what is wrong.
 *
 * src/scan/cached_exact.c
 */
#include "scan/cached.h"

#include "access/relation.h"
#include "access/tableam.h"
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
 * A cached column is used if it has at least this fraction of the pages: one process reads the
 * others.
 */
#define LEAST_SHARE 0.5

/* A column, its chunks, and the pages that are true in them. */
typedef struct Exact
{
	Relation relation;
	Form_pg_attribute form;
	GpuColumn column;
	TableScanDesc scan;
	BlockNumber blocks;
	uint32 chunks;
	GpuRef *ref; /* of each chunk */
	PageSet pages;
	uint64 count;           /* how many pages the set has */
	GpuColumnChunk *wanted; /* of each chunk that has any */
	int wanted_count;
} Exact;

/* ---- may the cached column be used? ---- */

static bool
may_read(const Exact *e)
{
	Oid schema = RelationGetNamespace(e->relation);
	AclResult usage;

#if PG_VERSION_NUM >= 160000
	usage = object_aclcheck(NamespaceRelationId, schema, GetUserId(), ACL_USAGE);
#else
	usage = pg_namespace_aclcheck(schema, GetUserId(), ACL_USAGE);
#endif
	return usage == ACLCHECK_OK && CachedMayRead(RelationGetRelid(e->relation), e->form->attnum);
}

/* Why the cached column is not used; NULL: it is. */
static const char *
find_refusal(const Exact *e, const TopQuestion *question)
{
	Snapshot snapshot = GetActiveSnapshot();
	const char *refusal = CachedTableRefusal(e->relation);

	if (refusal)
		return refusal;
	if (!KeyTypeIsNumber(question->type) || !CachedTakesKeys(e->form))
		return "keys of more than 64 bits";
	if (!question->number)
		return "keys that SQL orders in another way than their bits";
	if (question->weight)
		return "weights";
	if (e->relation->rd_rel->relhassubclass)
		return "tables that inherit from it";
	if (!IsMVCCSnapshot(snapshot) || snapshot->takenDuringRecovery)
		return "a snapshot of another kind";
	if (!may_read(e) || ExecutorCheckPerms_hook)
		return "permissions";
	if (check_enable_rls(RelationGetRelid(e->relation), InvalidOid, true) == RLS_ENABLED)
		return "row security";
	return NULL;
}

/* ---- which pages ---- */

static bool
find_copies(Exact *e)
{
	e->blocks = RelationGetNumberOfBlocks(e->relation);
	e->chunks = CachedChunksOf(e->blocks);
	e->ref = palloc(Max(e->chunks, 1) * sizeof(GpuRef));
	e->column = CachedColumn(e->relation, e->form->attnum, e->form->attcollation);
	return GpuColumnFind(&e->column, e->ref, e->chunks) > 0;
}

/* Find the pages that are true in their chunks. */
static void
find_pages(Exact *e)
{
	GpuPages *pages = CachedAllPages(e->chunks);
	const CachedCheck check = { e->relation, e->blocks, 0, e->chunks, e->ref, pages };
	uint32 chunk;

	CachedTruePages(&check, 1);
	e->pages = (PageSet){ e->chunks, pages };
	e->wanted = palloc(e->chunks * sizeof(GpuColumnChunk));
	for (chunk = 0; chunk < e->chunks; chunk++)
	{
		if (GpuPagesAreNone(&pages[chunk]))
			continue;
		e->wanted[e->wanted_count++] =
			(GpuColumnChunk){ .ref = e->ref[chunk], .pages = &pages[chunk] };
		e->count += GpuPagesCount(&pages[chunk]);
	}
}

/* No fewer keys than there are: all that the chunks have, and as many as other pages can hold. */
static uint64
most_keys(const Exact *e)
{
	int count;
	GpuCachedColumn *copy = GpuColumnList(&count);
	uint64 keys = (e->blocks - e->count) * MaxHeapTuplesPerPage;
	int i;

	for (i = 0; i < count; i++)
		if (memcmp(&copy[i].column, &e->column, sizeof(GpuColumn)) == 0)
			keys += copy[i].bytes / sizeof(uint64);
	pfree(copy);
	return keys;
}

/* ---- counting ---- */

/* The keys of a page's tuples, without NULLs; returns how many. */
static int
read_keys(const Exact *e, const ColumnLocation *location, KeyKind kind, PageTuples *tuples,
		  int64 *key)
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

/* Read the other pages, and have their keys counted. */
static void
add_other_pages(const Exact *e, const GpuRef *ref)
{
	PageTuples *tuples = palloc(sizeof(PageTuples));
	int64 *key = palloc(GPU_SLOT_BYTES);
	int count = 0;
	PageReader reader;
	ColumnLocation location;
	KeyType type;

	ColumnLocationInit(&location, e->form->attnum, RelationGetDescr(e->relation));
	KeyTypeInit(&type, e->form->atttypid, e->form->attcollation);
	PageReaderBegin(&reader, e->scan, &e->pages, e->count, NULL);
	while (PageReaderNext(&reader, tuples))
	{
		if (count + tuples->count > GPU_SLOT_KEYS)
		{
			GpuPostKeys(ref, EXACT_KEYS, (uint64 *) key, NULL, count);
			count = 0;
		}
		count += read_keys(e, &location, type.kind, tuples, key + count);
	}
	GpuPostKeys(ref, EXACT_KEYS, (uint64 *) key, NULL, count);
	PageReaderEnd(&reader);
	pfree(tuples);
	pfree(key);
}

/* Count all keys; NULL: the worker could not. */
static GpuExactKey *
count_keys(const Exact *e, int n, int *count)
{
	GpuExactKey *best = NULL;
	GpuRef ref;

	if (!GpuExactBegin(&ref, most_keys(e)))
		return NULL;
	if (GpuColumnSend(&ref, EXACT_COLUMN, e->wanted, e->wanted_count, NULL))
	{
		add_other_pages(e, &ref);
		best = GpuExactBest(&ref, n, count);
	}
	GpuDropHandle(&ref);
	return best;
}

/*
 * Count with the chunks that were found; NULL: too little of them is true, or the worker
 * could not.  The scan comes first: in a serializable transaction it notes that the table
 * is read, which must not be later than the look at the map.
 */
static GpuExactKey *
count_copied(Exact *e, int n, int *count)
{
	GpuExactKey *best = NULL;
	bool enough;

	e->scan = BeginOwnScan(e->relation, GetActiveSnapshot());
	find_pages(e);
	CachedTestPoint(1);
	enough = e->count >= LEAST_SHARE * e->blocks;
	if (enough)
		best = count_keys(e, n, count);
	table_endscan(e->scan);
	if (best)
		elog(DEBUG1,
			 "qtop_exact has counts of " UINT64_FORMAT " pages from cached columns, and read %u",
			 e->count, (BlockNumber) (e->blocks - e->count));
	else
		elog(DEBUG1, "qtop_exact does not use cached columns: %s",
			 enough ? "the GPU has no room" : "most pages have changed");
	return best;
}

/* Use the cached column, if there is one and it may be used. */
static GpuExactKey *
try_copies(Exact *e, const TopQuestion *question, int *count)
{
	const char *refusal;

	if (!find_copies(e))
		return NULL;
	refusal = find_refusal(e, question);
	if (refusal == NULL)
		return count_copied(e, question->n, count);
	elog(DEBUG1, "qtop_exact does not use cached columns: %s", refusal);
	return NULL;
}

/*
 * The most frequent keys, in their order; NULL: the question is to be answered without cached
 * columns.
 */
static GpuExactKey *
from_copies(const TopQuestion *question, int *count)
{
	GpuExactKey *best = NULL;
	Exact e = { .relation = NULL };
	AttrNumber attribute;

	if (!GpuColumnsExist())
		return NULL;
	attribute = get_attnum(question->relation, question->name);
	if (attribute <= 0)
		return NULL;
	e.relation = relation_open(question->relation, NoLock);
	e.form = TupleDescAttr(RelationGetDescr(e.relation), attribute - 1);
	if (RELKIND_HAS_STORAGE(e.relation->rd_rel->relkind))
		best = try_copies(&e, question, count);
	relation_close(e.relation, NoLock);
	return best;
}

void
CachedExactInit(void)
{
	TopExactFromCached = from_copies;
}
